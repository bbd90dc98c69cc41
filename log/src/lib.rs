//! The durable event log: one writer that decides and appends, frames chained by their hashes, recovery
//! and verification. A write is acknowledged only after the fsync of its frame.
//!
//! Open a [`Log`] on a [`Storage`], submit commands to its [`Writer`], read its [`Records`] with its
//! [`Reader`].

mod backup;
mod base;
mod chain;
mod clock;
mod codec;
mod copy_on_write;
mod descriptors;
mod error;
#[cfg(test)]
mod faults;
mod format;
mod frame;
mod framing;
pub mod layout;
mod lock;
mod log;
mod owner_only;
mod packing;
mod parallel;
mod parts;
mod place;
mod poison;
mod reader;
pub mod regular;
mod remote_fs;
mod retention;
mod snapshot;
mod storage;
mod system_error;
mod tail;
mod unpoisoned;
mod verify;
mod whole_file;
mod writer;

pub use backup::{
    BACKUP_MAGIC, BUMP_MAX, Backup, DEFAULT_BUMP, Restore, RestoreStep, Restored, Unchecked,
    copy_backup,
};
pub use base::Base;
pub use clock::Clock;
pub use copy_on_write::overwrite_in_place;
pub use descriptors::raise_descriptor_limit;
pub use error::{EngineCall, Error};
pub use lock::DirectoryLock;
pub use log::Log;
pub use owner_only::make_private;
pub use parts::{check_part, check_parts};
pub use place::{above, device, sync_directory};
pub use poison::Poison;
pub use reader::{Entry, Loan, Reader};
pub use retention::{Keeping, Retention, thin};
pub use snapshot::Snapshots;
pub use storage::memory::MemoryStorage;
pub use storage::page_cache::read_from_disk;
pub use storage::sled::{Found, Intact, NEW_LOG_BYTES, Newer, SledStorage, is_read_by_database};
pub use storage::{Purpose, Records, Storage, Stored, Witnessed, is_closing_engine};
pub use system_error::is_without_descriptors;
pub use tail::Tail;
pub use verify::{Report, state_at_floor, verify};
pub use whole_file::WholeFile;
pub use writer::{Publish, Reply, Stages, Writer};
