//! Crashes, failing disks and bit rot, injected on purpose: the state of the log after each of them.
//!
//! `HINDSIGHT_LONG=1 cargo test -p hindsight-log --release faults` goes through all states of which the
//! usual run takes a sample.

mod ahead;
mod backups;
mod beginnings;
mod beside;
mod blanked;
mod changes;
mod continuations;
mod copies;
mod crashes;
mod cut_short;
mod damaged;
mod decisions;
mod disk;
mod failures;
mod fixtures;
mod floors;
mod full;
mod lagging;
mod mixed;
mod moved;
mod newer;
#[cfg(unix)]
mod no_files;
mod overtaken;
mod pinned;
mod questions;
mod refusals;
mod retention;
mod rot;
pub(crate) mod script;
mod side_files;
mod slow;
mod snapshots;
mod thinning;
mod times;
mod together;
mod unusable;
mod waiting;

/// Whether to go through all states.
fn is_long() -> bool {
    option_env!("HINDSIGHT_LONG").is_some()
}
