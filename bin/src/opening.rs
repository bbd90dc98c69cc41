//! How a data directory is opened, to be written or only to be read, and what its log is folded into.

use crate::data_dir::DataDir;
use crate::{OpenError, effects, restoring};
use hindsight_core::State;
use hindsight_core::kind::BuiltinKinds;
use hindsight_log::{
    DirectoryLock, Error, Found, Intact, Reader, SledStorage, Storage, overwrite_in_place,
};
use std::path::Path;
use std::sync::Arc;
#[cfg(not(feature = "http"))]
use std::sync::LazyLock;

/// The state before the first commit, for use without an open control plane.
pub(crate) fn empty_state() -> State {
    State::new(builtin_kinds())
}

/// With the HTTP surface, built-in kinds have the schemas that bodies are checked against.
#[cfg(feature = "http")]
fn builtin_kinds() -> Arc<BuiltinKinds> {
    hindsight_api::builtin_kinds()
}

#[cfg(not(feature = "http"))]
fn builtin_kinds() -> Arc<BuiltinKinds> {
    static KINDS: LazyLock<Arc<BuiltinKinds>> =
        LazyLock::new(|| Arc::new(BuiltinKinds::new(hindsight_core::builtin::kinds(), None)));
    Arc::clone(&KINDS)
}

/// Opens a data directory. The lock comes first: nothing is read or written before it is held. All is then in the
/// directory that it locks, and not where the path leads by now.
pub(crate) fn open_directory(directory: &Path) -> Result<(DirectoryLock, Arc<dyn Storage>), Error> {
    effects::check_clock()?;
    let lock = DirectoryLock::acquire(directory)?;
    restoring::check(lock.directory())?;
    let data = DataDir(lock.directory());
    // Refused before anything is made: what is made would be in the way of what is moved back.
    if find(lock.directory())? != Found::Database {
        overwrite_in_place(lock.directory(), &[]);
    }
    let storage: Arc<dyn Storage> = Arc::new(SledStorage::open(&data.events())?);
    if restoring::is_left(data) {
        let reader = Reader::new(Arc::<dyn Storage>::clone(&storage));
        // Beside a log that is refused, all stays as it is.
        if reader.with_snapshots(data.snapshots()).check_end().is_ok() {
            restoring::settle(lock.directory())?;
        }
    }
    Ok((lock, storage))
}

/// A log that was opened without a check of its end.
pub(crate) struct Unchecked {
    pub(crate) reader: Reader,
    pub(crate) lock: Option<DirectoryLock>,
    /// How far it is intact, if what follows was left out.
    pub(crate) extent: Option<String>,
}

impl Unchecked {
    /// Opens the log. `progress` receives how many bytes of the database were read, if that is read without the
    /// storage engine.
    pub(crate) fn open(directory: &Path, progress: &dyn Fn(u64)) -> Result<Self, Error> {
        let (reader, lock, extent) = match open_directory(directory) {
            Ok((lock, storage)) => (Reader::new(storage), Some(lock), None),
            Err(Error::ReadOnly(_)) => {
                let lock = DirectoryLock::acquire_to_read(directory)?;
                let locked = lock.as_ref().map_or(directory, DirectoryLock::directory);
                let (reader, extent) = whole(locked, progress)?;
                (reader, lock, extent)
            }
            Err(error) => return Err(error),
        };
        let directory = lock.as_ref().map_or(directory, DirectoryLock::directory);
        Ok(Self {
            reader: reader.with_snapshots(DataDir(directory).snapshots()),
            lock,
            extent,
        })
    }
}

/// The log as a start would find it, for a directory that cannot be written to: there the storage engine cannot
/// open it. Also says how far it is intact, if a start would drop the rest.
fn whole(directory: &Path, progress: &dyn Fn(u64)) -> Result<(Reader, Option<String>), Error> {
    let found = intact(directory, progress)?;
    if !found.has_all_acknowledged() {
        return found.broken.map_or(Ok((found.reader, None)), Err);
    }
    let extent = found.broken.is_some().then(|| found.extent());
    Ok((found.reader, extent))
}

/// The records before the first damaged one.
pub(crate) fn intact(directory: &Path, progress: &dyn Fn(u64)) -> Result<Intact, Error> {
    let data = DataDir(directory);
    let found = Intact::of(&data.events(), |done, _| progress(done))?;
    Ok(found.beside(&data.snapshots()))
}

/// Refuses a directory without a log. Asked before the directory is locked: in one of somebody else no lock file is made.
pub(crate) fn check_log(directory: &Path) -> Result<(), OpenError> {
    if restoring::is_unfinished(directory)? {
        // Refuses it, and first of all what is there of somebody else.
        restoring::check(directory)?;
    }
    if has_log(directory)? {
        return Ok(());
    }
    SledStorage::check_ours(&DataDir(directory).events())?;
    Err(OpenError::NoLog(directory.to_owned()))
}

/// Whether there is a log in the directory: its database, or a journal from which a start makes that again. Refuses one
/// that misses its database, as a start does.
pub(crate) fn has_log(directory: &Path) -> Result<bool, Error> {
    Ok(find(directory)? != Found::Nothing)
}

/// What there is of a log in the data directory; see [`SledStorage::find`].
pub(crate) fn find(directory: &Path) -> Result<Found, Error> {
    let data = DataDir(directory);
    let found = SledStorage::find(&data.events(), &data.snapshots());
    found.map_err(|error| match error {
        Error::Io { what, source } => {
            let place = directory.display();
            let what = format!("looking for the event log in {place}: {what}");
            Error::Io { what, source }.in_data_directory(directory)
        }
        other => other,
    })
}
