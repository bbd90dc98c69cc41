//! What the messages of errors advise.

use crate::layout::{JOURNAL, LOCK, RESERVE, RESERVE_WITHIN, SPARE, SPARE_WITHIN, TAIL};
use crate::storage::sled::NEW_LOG_BYTES;
use crate::system_error::is_without_descriptors;
use hindsight_core::Revision;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;

/// How to continue without what was lost behind this revision.
pub(super) const fn without_lost(newest: Revision) -> &'static str {
    if newest.0 == 0 {
        return "if events was moved, move it back, or, to begin with an empty log,";
    }
    "to continue without them, save the rest with `hindsight backup --intact FILE` and restore that, or"
}

/// What to do with the records up to this revision, which only the journal has.
pub(super) const fn with_journal(newest: Revision) -> &'static str {
    if newest.0 == 0 {
        return "";
    }
    "to continue with what the journal has, save that with `hindsight backup --intact FILE` and restore it, or, "
}

/// What is known of the log in whose place a link leads nowhere, and what to do if the journal has it up to this revision.
pub(super) fn at_link(newest: Revision) -> String {
    let (known, needless) = match newest {
        Revision::ZERO => (
            ", so it is unknown whether there is an event log".into(),
            "if there never was a log",
        ),
        newest => (
            format!("; the journal has the log up to revision {newest}"),
            "to have the next start make the database again from the journal",
        ),
    };
    format!(
        "{known}; if a file system or a disk is missing, mount it; if what it leads to was moved, move it back; or, \
         {}{needless}, remove the link",
        with_journal(newest)
    )
}

/// What to do about something else in the place of a file.
pub(super) fn in_place_of(path: &Path) -> &'static str {
    let name = path.file_name().and_then(|name| name.to_str());
    match name.unwrap_or_default() {
        RESERVE | SPARE | RESERVE_WITHIN | SPARE_WITHIN | LOCK => {
            "move it elsewhere, or remove it: the next start makes the file again"
        }
        TAIL => {
            "put the original file back, or restore a copy of the whole data directory, or, to accept the log as it \
             is, put an empty file in its place"
        }
        JOURNAL => {
            "put the original file back, or restore a copy of the whole data directory, or save what the database \
             has with `hindsight backup --intact FILE` and restore that"
        }
        _ => "put the original file back, or restore a copy of the whole data directory",
    }
}

/// What to do about an error of the operating system.
pub(super) fn on_system(source: &std::io::Error) -> Cow<'static, str> {
    let advice = match source.kind() {
        _ if is_without_descriptors(source) => {
            "; too many files are open: raise the limit (`ulimit -n`), or stop some processes"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            let mib = NEW_LOG_BYTES >> 20;
            return format!(
                "; free some disk space, or make a new log in another data directory: it needs {mib} MiB, and more for \
                 what is restored into it"
            )
            .into();
        }
        ErrorKind::OutOfMemory => {
            "; give this program more memory (`ulimit -v` in a shell, MemoryMax= in a systemd unit), or stop some others"
        }
        ErrorKind::FileTooLarge => "; raise the limit on file size (`ulimit -f`)",
        ErrorKind::WouldBlock => {
            "; too many threads or processes are running: stop some, or raise the limit"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "; the file system is read-only: make it writable, or name another data directory; if it became \
             so by itself, look for disk errors in the system log"
        }
        ErrorKind::NotADirectory => "; a part of this path is not a directory: name another one",
        ErrorKind::AlreadyExists => {
            "; its place is taken by what is no directory, such as a link that leads nowhere: remove that, or name \
             another data directory"
        }
        ErrorKind::PermissionDenied => {
            "; give this user read and write permission there, or run as a user that has it"
        }
        _ => {
            "; check that the file or directory exists and is accessible, and look for disk errors in the \
             system log"
        }
    };
    advice.into()
}
