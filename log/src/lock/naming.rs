//! Writes into the lock file who holds it: if there is no space for that, as soon as there is some.

use crate::Error;
use crate::system_error::is_full;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::fs::File;
use std::io::{Result as IoResult, Seek, Write};
use std::thread::JoinHandle;
use std::time::Duration;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// What is still to be written. Nothing more is written, and its file is closed, once it is dropped.
#[derive(Debug)]
pub(super) struct Naming {
    /// `None` once it is to end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Naming {
    /// Writes the text now, or else leaves it to a thread.
    pub(super) fn begin(file: &File, text: String) -> Result<Option<Self>, Error> {
        match write(file, &text) {
            Err(error) if is_full(&error) => {
                tracing::warn!(
                    %error,
                    "the lock file does not name this process until there is space for that"
                );
                Self::later(file, text).map(Some)
            }
            written => written
                .map(|()| None)
                .map_err(Error::io("writing the lock file")),
        }
    }

    fn later(file: &File, text: String) -> Result<Self, Error> {
        let starting = || Error::io("starting the thread that writes the lock file");
        let file = file.try_clone().map_err(starting())?;
        let (end, ended) = bounded(0);
        let thread = std::thread::Builder::new()
            .name("lock".into())
            .spawn(move || write_at_last(&file, &text, &ended))
            .map_err(starting())?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Naming {
    fn drop(&mut self) {
        drop(self.end.take());
        // Until its copy of the file is closed, the lock is held.
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn write_at_last(file: &File, text: &str, ended: &Receiver<()>) {
    while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        match write(file, text) {
            Ok(()) => return,
            Err(error) if is_full(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "the lock file cannot be written: it does not name this process");
                return;
            }
        }
    }
}

/// Overwritten in place: once truncated, the file might not get its bytes back on a full disk.
fn write(mut file: &File, text: &str) -> IoResult<()> {
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::DirectoryLock;

    /// Every write to this device fails as on a full disk.
    #[test]
    fn a_lock_whose_name_has_no_space_is_given_back_with_it() {
        let temporary = tempfile::tempdir().expect("a directory");
        let mut held = DirectoryLock::acquire(temporary.path()).expect("free");
        let full = File::options().write(true).open("/dev/full");
        let full = full.expect("opened");
        let naming = Naming::begin(&full, "process 1\n".into()).expect("begun");
        assert!(naming.is_some(), "it is written later");
        drop(naming);
        // The same where it has a copy of the lock's own file.
        held.naming = Some(Naming::later(&held.file, "process 1\n".into()).expect("begun"));
        drop(held);
        DirectoryLock::acquire(temporary.path()).expect("free again");
    }
}
