//! The copy of a log that is verified: in its data directory, and gone when it was looked at, also
//! where the command is ended before.

use crate::cli::ask::Source;
use crate::control_plane::snapshots_of;
use crate::restoring::{self, COPY};
use anyhow::Result;
use hindsight_log::{DirectoryLock, Error, Reader, SledStorage};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a shell says of a command that a signal ended.
const BY_SIGNAL: i32 = 128;
/// While it is removed it may still be written.
const ATTEMPTS_MAX: usize = 100;

/// A copy of the log in its data directory, removed when it is dropped.
pub(super) struct Copy {
    directory: PathBuf,
    lock: Option<DirectoryLock>,
    /// A signal came, and the process ends with its code.
    is_ending: Arc<AtomicBool>,
}

impl Copy {
    pub(super) fn of(data: &Path) -> Result<Self, Error> {
        let lock = DirectoryLock::acquire(data)?;
        restoring::settle(data)?;
        SledStorage::check_files(&data.join("events"))?;
        let failed = |source| Error::Io {
            what: format!("copying {} for verification", data.display()),
            source,
        };
        let copy = Self {
            directory: data.join(COPY),
            lock: Some(lock),
            is_ending: Arc::default(),
        };
        let is_ending = Arc::clone(&copy.is_ending);
        remove_on_signal(copy.directory.clone(), is_ending).map_err(failed)?;
        let events = copy.directory.join("events");
        copy_directory(&data.join("events"), &events, &copy.is_ending).map_err(failed)?;
        let tail = data.join("events.tail");
        if tail.exists() {
            std::fs::copy(tail, copy.directory.join("events.tail")).map_err(failed)?;
        }
        Ok(copy)
    }

    pub(super) fn reader(&self) -> Result<Source> {
        let storage = SledStorage::open(&self.directory.join("events"))?;
        let snapshots = snapshots_of(self.directory.parent().unwrap_or(&self.directory));
        Ok(Source::Directory {
            reader: Reader::new(Arc::new(storage)).with_snapshots(snapshots),
            _lock: Some(DirectoryLock::acquire(&self.directory)?),
        })
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What failed did because the copy was taken away.
        while self.is_ending.load(Ordering::Acquire) {
            std::thread::park();
        }
        remove(&self.directory);
        self.lock = None;
    }
}

/// SIGINT and SIGTERM end the process after the copy is gone.
fn remove_on_signal(directory: PathBuf, is_ending: Arc<AtomicBool>) -> std::io::Result<()> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_io().build()?;
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let entered = runtime.enter();
    let [mut interrupt, mut terminate] = kinds.map(|kind| signal(kind).map(|one| (one, kind)));
    drop(entered);
    let wait = async move {
        tokio::select! {
            kind = next(&mut interrupt) => kind,
            kind = next(&mut terminate) => kind,
        }
    };
    let watch = move || {
        let kind = runtime.block_on(wait);
        is_ending.store(true, Ordering::Release);
        for _ in 0..ATTEMPTS_MAX {
            remove(&directory);
            if !directory.exists() {
                break;
            }
        }
        end(kind);
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(watch).map(drop)
}

#[expect(clippy::exit, reason = "whoever is ended by a signal ends")]
fn end(kind: SignalKind) {
    std::process::exit(BY_SIGNAL + kind.as_raw_value());
}

async fn next(signal: &mut std::io::Result<(Signal, SignalKind)>) -> SignalKind {
    if let Ok((signal, kind)) = signal
        && signal.recv().await.is_some()
    {
        return *kind;
    }
    std::future::pending().await
}

fn remove(directory: &Path) {
    if let Err(error) = std::fs::remove_dir_all(directory)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, directory = %directory.display(), "a copy could not be removed");
    }
}

fn copy_directory(from: &Path, to: &Path, is_ending: &AtomicBool) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if is_ending.load(Ordering::Acquire) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let target = to.join(entry.file_name());
        // Of a pipe or a device the end might never come.
        let metadata = std::fs::metadata(entry.path())?;
        if metadata.is_dir() {
            copy_directory(&entry.path(), &target, is_ending)?;
        } else if metadata.is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
