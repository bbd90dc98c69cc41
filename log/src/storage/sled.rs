//! Frames in sled. Its `flush` does not fsync, so this file does: the database file after every
//! flush, and the directories when they are new. See `docs/decisions/0004-sled-with-our-own-fsync.md`.

mod foreign;
mod frames;
mod hidden;
mod intact;
mod journal;
mod opening;
mod settings;
mod side;
mod values;

use super::reserve::Reserve;
use super::room::{ENGINE_TIMES, Room};
use super::witness::WitnessFile;
use super::{Purpose, Storage, Stored, blocks};
use crate::place::Place;
use crate::{Error, Tail, chain, private};
use foreign::{Found, refuse_foreign, refuse_no_files};
use frames::FrameTrees;
use hindsight_core::Revision;
pub(crate) use intact::extent;
pub use intact::{Intact, Newer};
#[cfg(test)]
pub(crate) use journal::FORMAT as JOURNAL_FORMAT;
use journal::{Journal, Kept, Newest};
use opening::{open_in_room, refuse_short_files, wait_until_free};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Fixed for ever: it is part of the database's own configuration. Large segments and small pieces
/// keep frames out of sled's blob files, which it never syncs.
pub(crate) const SEGMENT_BYTES: usize = 8 << 20;
/// Of the trees that frames are in; the number of the format is behind.
const TREE_PREFIX: &str = "frames-";
/// The newest of those trees that this release knows.
pub(crate) const TREE_FORMAT: u8 = 1;

/// A sled database in a directory.
#[derive(Debug)]
pub struct SledStorage {
    database: ::sled::Db,
    frames: FrameTrees,
    file: File,
    place: Arc<Place>,
    /// Nothing is written between sled's flush and the sync: the header of a new segment says what
    /// sled takes for stable, which is what was flushed, and must not be durable before that is.
    writing: Mutex<Journal>,
    room: Room,
    witness: WitnessFile,
    witnessed: Option<Tail>,
}

impl SledStorage {
    /// Opens or makes the database in `directory`.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let io = |what: &str| Error::io(format!("{what} {}", directory.display()));
        if directory.exists() && !directory.is_dir() {
            return Err(Error::Foreign(directory.to_owned()));
        }
        private::make_own(directory)?;
        Self::check_files(directory)?;
        let path = directory.join("db");
        wait_until_free(&path)?;
        let found = refuse_foreign(directory)?;
        refuse_short_files(&path)?;
        chain::start_threads()?;
        let mut reserve = Reserve::at(directory.with_extension("reserve"));
        sync_what_a_kill_left(&path)?;
        hidden::refuse_hidden(directory)?;
        let database = open_in_room(directory, &mut reserve);
        reserve.keep();
        let database = database.map_err(|error| told_of_records(directory, error))?;
        refuse_others(&database, found, &path)?;
        let frames = FrameTrees::open(&database)?;
        let kept = Kept::of(directory)?;
        reserve.let_go_for(kept.bytes().saturating_mul(ENGINE_TIMES))?;
        let file = File::options().write(true).open(&path);
        let file = file.map_err(io("opening the database of"))?;
        let opened = file.metadata().map_err(io("finding the database of"))?;
        let place = Place::of(&path, &opened).map_err(io("finding the database of"))?;
        let place = Arc::new(place);
        let newest = newest(&frames)?;
        let (witness, witnessed) =
            open_witness(&tail_of(directory), newest.until.max(kept.until()))?;
        let room = file.try_clone().map_err(io("opening"))?;
        let room = Room::new(room, reserve, Arc::clone(&place));
        let mut storage = Self {
            database,
            frames,
            file,
            place,
            writing: Mutex::new(Journal::none()),
            room,
            witness,
            witnessed,
        };
        let newest = storage.take_in(&kept, newest)?;
        storage.make_durable()?;
        storage.writing = Mutex::new(Journal::begin(directory, newest.first)?);
        storage.room.keep_reserve();
        sync_directories(directory)?;
        Ok(storage)
    }

    /// Appends what the journal has and the database lacks.
    fn take_in(&self, kept: &Kept, newest: Newest) -> Result<Newest, Error> {
        let mut newest = newest;
        for (record, frame) in kept.behind(newest)? {
            self.frames
                .append(record.first, frame, &|| self.make_durable())?;
            newest = Newest::of(record.first, frame);
        }
        kept.check_end(newest.until)?;
        Ok(newest)
    }
}

impl SledStorage {
    /// Refuses a directory in which something else is in the place of a file, before any is opened.
    pub fn check_files(directory: &Path) -> Result<(), Error> {
        WitnessFile::check(&tail_of(directory))?;
        refuse_no_files(directory)
    }

    fn alone(&self) -> MutexGuard<'_, Journal> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is synced in the database the journal need not have.
    fn settle(&self, journal: &mut Journal) -> Result<(), Error> {
        if self.frames.is_synced() {
            journal.begin_again()?;
        }
        Ok(())
    }

    /// Tells how many bytes it wrote.
    fn make_durable(&self) -> Result<usize, Error> {
        self.frames.syncing();
        let written = self.database.flush();
        let written = written.map_err(|error| engine("flushing", error))?;
        self.file
            .sync_data()
            .map_err(Error::io("syncing the event log"))?;
        self.place.check()?;
        Ok(written)
    }
}

impl Storage for SledStorage {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        let mut journal = self.alone();
        self.frames.append(first, frame, &|| self.make_durable())?;
        journal.add(first, frame);
        self.settle(&mut journal)
    }

    fn replace(&self, first: Revision, last: Revision, frame: &[u8]) -> Result<(), Error> {
        let mut journal = self.alone();
        if journal.reaches(last) {
            self.make_durable()?;
            journal.blank(first, last)?;
        }
        journal.pass();
        self.frames
            .replace(first, last, frame, &|| self.make_durable())
    }

    fn tidy(&self) -> Result<bool, Error> {
        let mut journal = self.alone();
        let is_left = self.frames.move_pages(&|| self.make_durable())?;
        self.settle(&mut journal)?;
        Ok(is_left)
    }

    fn sync(&self) -> Result<(), Error> {
        let mut journal = self.alone();
        if journal.holds_all() {
            journal.sync()?;
            return self.place.check();
        }
        self.make_durable()?;
        journal.begin_again()
    }

    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.frames.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.frames.at_or_before(until)
    }

    fn has_room(&self, bytes: usize, purpose: Purpose) -> bool {
        self.room.take(bytes, purpose)
    }

    fn witness(&self, tail: &Tail) {
        self.witness.note(tail);
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(self.witnessed)
    }
}

fn tail_of(directory: &Path) -> PathBuf {
    directory.with_extension("tail")
}

/// It is made, and durable, before there is a frame. So where there are frames and it is missing, somebody
/// took it away, or took the database alone. Empty or blank it may be after a power cut, until it is synced
/// for the first time; and whoever takes the log as it is makes it so.
fn open_witness(tail: &Path, newest: Revision) -> Result<(WitnessFile, Option<Tail>), Error> {
    if newest > Revision::ZERO && !tail.exists() {
        return Err(Error::Unwitnessed { newest });
    }
    let opened = WitnessFile::open(tail)?;
    if newest > Revision::ZERO && opened.1.is_none() {
        tracing::warn!(
            file = %tail.display(),
            revision = %newest,
            "nothing witnesses the end of the log: it is taken as it is, up to this revision, and whether \
             more was acknowledged is not known"
        );
    }
    Ok(opened)
}

/// Where the engine gives up, the bytes of its file tell which record it is.
fn told_of_records(directory: &Path, error: Error) -> Error {
    let Error::Engine { source, .. } = error else {
        return error;
    };
    match Intact::of(directory, |_, _| {}) {
        Ok(Intact { until, broken, .. }) => Error::Unopened {
            until,
            broken: broken.map(Box::new),
            source,
        },
        Err(_) => Error::Engine {
            what: "opening",
            source,
        },
    }
}

fn newest(frames: &FrameTrees) -> Result<Newest, Error> {
    let last = frames.at_or_before(Revision(u64::MAX))?;
    Ok(last.map_or_else(Newest::default, |(first, bytes)| Newest::of(first, &bytes)))
}

/// A log of a newer release looks empty to this one, and so does a database of somebody else, or one of
/// which sled read nothing; what a first start left is empty.
fn refuse_others(database: &::sled::Db, found: Found, path: &Path) -> Result<(), Error> {
    let formats = database.tree_names().into_iter().filter_map(|name| {
        let name = std::str::from_utf8(&name).ok()?;
        name.strip_prefix(TREE_PREFIX)?.parse::<u8>().ok()
    });
    match formats.max() {
        Some(found) if found > TREE_FORMAT => Err(Error::NewerFormat {
            found,
            known: TREE_FORMAT,
            revision: None,
        }),
        None if found == Found::Written => Err(Error::Foreign(path.to_owned())),
        _ => Ok(()),
    }
}

fn open_tree(database: &::sled::Db, name: &str) -> Result<::sled::Tree, Error> {
    database
        .open_tree(name)
        .map_err(|error| engine("opening", error))
}

/// What the system refused is no fault of the database, whatever a bad disk is.
fn engine(what: &'static str, error: ::sled::Error) -> Error {
    match error {
        ::sled::Error::Io(source) if is_of_the_system(&source) => Error::Io {
            what: format!("{what} the event log"),
            source,
        },
        other => Error::engine(what, other),
    }
}

fn is_of_the_system(source: &std::io::Error) -> bool {
    let is_told = matches!(
        source.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::NotADirectory
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::WouldBlock
            | ErrorKind::OutOfMemory
    );
    is_told || blocks::is_full(source) || blocks::is_without_descriptors(source)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(directory).map_err(Error::io("reading the data directory"))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths
        .collect::<Result<_, _>>()
        .map_err(Error::io("reading the data directory"))
}

/// sled goes on from what it reads, some of which may be in memory only, and blanks what that replaces.
fn sync_what_a_kill_left(database: &Path) -> Result<(), Error> {
    let synced = match File::open(database) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.and_then(|file| file.sync_all()),
    };
    synced.map_err(Error::io("syncing the event log"))
}

/// A new file is only there after a crash if its directory was synced, and so is a new directory.
/// Which of them are new, and whether the process that made them came so far, is not known, so this
/// is done every time and for all; but for those of another file system, which are older than it is there,
/// and some of which know no sync.
fn sync_directories(directory: &Path) -> Result<(), Error> {
    let directory = directory
        .canonicalize()
        .map_err(Error::io("finding the data directory"))?;
    let own = ["conf", "blobs"].map(|name| directory.join(name));
    let own = own
        .iter()
        .map(PathBuf::as_path)
        .filter(|path| path.exists());
    let device = device(&directory);
    let above = directory.ancestors();
    let above = above.take_while(|path| self::device(path) == device);
    for path in own.chain(above) {
        let file = match File::open(path) {
            // What may not be read was not made by this user.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => continue,
            other => other.map_err(Error::io("opening the data directory"))?,
        };
        file.sync_all()
            .map_err(Error::io("syncing the data directory"))?;
    }
    Ok(())
}

#[cfg(unix)]
fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().map(|found| found.dev()).ok()
}

#[cfg(not(unix))]
fn device(_: &Path) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::sync::Barrier;

    /// Flushes, each with something to write, while others wait.
    const SYNCS: u64 = 20;

    /// Whoever restores one loses what came after it, and gains nothing.
    #[test]
    fn what_the_system_refused_advises_no_backup() {
        let message = |error: Errno| {
            let error = ::sled::Error::Io(error.into());
            engine("opening", error).to_string()
        };
        for error in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::ACCESS,
            Errno::NOTDIR,
            Errno::NOSPC,
            Errno::FBIG,
        ] {
            let message = message(error);
            assert!(!message.contains("backup"), "{message}");
        }
        assert!(message(Errno::MFILE).contains("ulimit -n"));
        assert!(message(Errno::FBIG).contains("ulimit -f"));
        assert!(message(Errno::IO).contains("restore a backup"));
    }

    type Write = fn(&SledStorage) -> Result<(), Error>;

    #[test]
    fn nobody_writes_between_a_flush_and_its_sync() {
        let temporary = tempfile::tempdir().expect("a directory");
        let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
        let writes: [(&str, Write); 3] = [
            ("append", |one| one.append(Revision(1000), &[7; 100])),
            ("replace", |one| one.replace(Revision(1), Revision(1), &[7])),
            ("sync", Storage::sync),
        ];
        let (order, begun) = (Mutex::new(Vec::new()), Barrier::new(writes.len() + 1));
        let did = |what| order.lock().expect("unpoisoned").push(what);
        std::thread::scope(|scope| {
            let alone = storage.alone();
            for (name, write) in writes {
                let (storage, begun, did) = (&storage, &begun, &did);
                scope.spawn(move || {
                    begun.wait();
                    write(storage).expect(name);
                    did(name);
                });
            }
            begun.wait();
            for revision in (1..=SYNCS).map(Revision) {
                let appended = storage.frames.append(revision, &[7; 100], &|| Ok(0));
                appended
                    .and_then(|()| storage.make_durable())
                    .expect("durable");
            }
            did("all are durable");
            drop(alone);
        });
        let order = order.into_inner().expect("unpoisoned");
        assert_eq!(order.first(), Some(&"all are durable"), "{order:?}");
    }
}
