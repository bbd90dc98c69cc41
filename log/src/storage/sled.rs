//! Frames in sled. Its `flush` does not fsync, so this file does: the database file after every
//! flush, and the directories when they are new. See `docs/decisions/0004-sled-with-our-own-fsync.md`.

mod foreign;
mod frames;
mod place;
mod settings;

use super::room::{self, Room};
use super::witness::WitnessFile;
use super::{Purpose, Storage, Stored};
use crate::{Error, Tail, chain, frame, private};
use foreign::{Found, refuse_foreign, refuse_no_files};
use frames::Frames;
use hindsight_core::Revision;
use place::Place;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Fixed for ever: it is part of the database's own configuration. Large segments and small pieces
/// keep frames out of sled's blob files, which it never syncs.
pub(super) const SEGMENT_BYTES: usize = 8 << 20;
const CACHE_BYTES: u64 = 8 << 20;
const OPEN_ATTEMPTS_MAX: u32 = 500;
const OPEN_PAUSE: Duration = Duration::from_millis(10);
/// Of the trees that frames are in; the number of the format is behind.
const TREE_PREFIX: &str = "frames-";
/// The newest of those trees that this release knows.
pub(crate) const TREE_FORMAT: u8 = 1;
const SNAPSHOT_PREFIX: &str = "snap.";

/// A sled database in a directory.
#[derive(Debug)]
pub struct SledStorage {
    database: ::sled::Db,
    frames: Frames,
    file: File,
    place: Place,
    /// Nothing is written between sled's flush and the sync: the header of a new segment says what
    /// sled takes for stable, which is what was flushed, and must not be durable before that is.
    writing: Mutex<()>,
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
        chain::start_threads()?;
        let reserve = directory.with_extension("reserve");
        room::release(&reserve)?;
        drop_unfinished_snapshots(directory)?;
        settings::drop_unfinished(directory)?;
        sync_what_a_kill_left(&path)?;
        let database = match open_database(directory)? {
            Err(::sled::Error::Corruption { .. }) => {
                quarantine_snapshots(directory)?;
                open_database(directory)?
            }
            other => other,
        }
        .map_err(|error| engine("opening", &error))?;
        refuse_others(&database, found, &path)?;
        let frames = Frames::open(&database)?;
        let file = File::options().write(true).open(&path);
        let file = file.map_err(io("opening the database of"))?;
        let place = Place::of(&path, &file).map_err(io("finding the database of"))?;
        let (witness, witnessed) = open_witness(&tail_of(directory), &frames)?;
        let room = Room::new(file.try_clone().map_err(io("opening"))?, reserve);
        room.keep_reserve();
        let storage = Self {
            database,
            frames,
            file,
            place,
            writing: Mutex::new(()),
            room,
            witness,
            witnessed,
        };
        storage.sync()?;
        sync_directories(directory)?;
        Ok(storage)
    }
}

impl SledStorage {
    /// Refuses a directory in which something else is in the place of a file, before any is opened.
    pub fn check_files(directory: &Path) -> Result<(), Error> {
        WitnessFile::check(&tail_of(directory))?;
        refuse_no_files(directory)
    }

    fn alone(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_durable(&self) -> Result<(), Error> {
        self.frames.syncing();
        self.database
            .flush()
            .map_err(|error| engine("flushing", &error))?;
        self.file
            .sync_data()
            .map_err(Error::io("syncing the event log"))?;
        self.place.check()
    }
}

impl Storage for SledStorage {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        let _writing = self.alone();
        self.frames.append(first, frame, &|| self.make_durable())
    }

    fn replace(&self, first: Revision, last: Revision, frame: &[u8]) -> Result<(), Error> {
        let _writing = self.alone();
        self.frames
            .replace(first, last, frame, &|| self.make_durable())
    }

    fn sync(&self) -> Result<(), Error> {
        let _writing = self.alone();
        self.make_durable()
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
fn open_witness(tail: &Path, frames: &Frames) -> Result<(WitnessFile, Option<Tail>), Error> {
    let newest = newest(frames)?;
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

/// As far as the last frame says; it is not checked yet.
fn newest(frames: &Frames) -> Result<Revision, Error> {
    let last = frames.at_or_before(Revision(u64::MAX))?;
    Ok(last.map_or(Revision::ZERO, |(first, bytes)| {
        frame::end(first, &bytes).map_or(first, Revision::previous)
    }))
}

/// Whoever writes to a database has it locked, also where somebody has removed the lock of the directory.
/// Where it is this process that has just dropped it, sled's threads let go of it a moment later.
fn wait_until_free(database: &Path) -> Result<(), Error> {
    let file = match File::open(database) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(Error::io("opening the event log"))?,
    };
    for _ in 0..OPEN_ATTEMPTS_MAX {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(OPEN_PAUSE),
            // sled asks too, and says what the system answered.
            _ => return Ok(()),
        }
    }
    Err(Error::Locked {
        directory: database.to_owned(),
        holder: "a process that has it open".into(),
    })
}

fn open_database(directory: &Path) -> Result<::sled::Result<::sled::Db>, Error> {
    wait_until_free(&directory.join("db"))?;
    let config = ::sled::Config::new()
        .path(directory)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None);
    Ok(attempt(&config))
}

/// Over damaged files sled may panic instead of refusing.
fn attempt(config: &::sled::Config) -> ::sled::Result<::sled::Db> {
    catch_unwind(AssertUnwindSafe(|| config.open())).unwrap_or_else(|_| {
        let reason = "its files are damaged so that it cannot read them";
        let error = std::io::Error::new(ErrorKind::InvalidData, reason);
        Err(::sled::Error::Io(error))
    })
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
        }),
        None if found == Found::Written => Err(Error::Foreign(path.to_owned())),
        _ => Ok(()),
    }
}

fn open_tree(database: &::sled::Db, name: &str) -> Result<::sled::Tree, Error> {
    database
        .open_tree(name)
        .map_err(|error| engine("opening", &error))
}

fn engine(what: &'static str, error: &::sled::Error) -> Error {
    if let ::sled::Error::Io(source) = error
        && matches!(
            source.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        )
    {
        let source = std::io::Error::new(source.kind(), source.to_string());
        return Error::Io {
            what: what.into(),
            source,
        };
    }
    Error::Engine {
        what,
        reason: error.to_string(),
    }
}

/// sled mistakes a half-written snapshot for a whole one; it can do without any.
fn drop_unfinished_snapshots(directory: &Path) -> Result<(), Error> {
    for path in snapshots(directory)? {
        if path.to_string_lossy().ends_with(".generating") {
            std::fs::remove_file(&path).map_err(Error::io("removing an unfinished snapshot"))?;
        }
    }
    Ok(())
}

/// A damaged snapshot keeps sled from opening although every record is there.
fn quarantine_snapshots(directory: &Path) -> Result<(), Error> {
    for path in snapshots(directory)? {
        let mut aside = path.clone().into_os_string();
        aside.push(".damaged");
        let aside = directory
            .join("..")
            .join(PathBuf::from(aside).file_name().unwrap_or_default());
        tracing::warn!(file = %path.display(), "a side file of the storage engine is set aside");
        std::fs::rename(&path, aside).map_err(Error::io("setting a damaged snapshot aside"))?;
    }
    Ok(())
}

fn snapshots(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut paths = entries(directory)?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(SNAPSHOT_PREFIX)
    });
    Ok(paths)
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
/// is done every time and for all.
fn sync_directories(directory: &Path) -> Result<(), Error> {
    let directory = directory
        .canonicalize()
        .map_err(Error::io("finding the data directory"))?;
    let own = ["conf", "blobs"].map(|name| directory.join(name));
    let own = own
        .iter()
        .map(PathBuf::as_path)
        .filter(|path| path.exists());
    for path in own.chain(directory.ancestors()) {
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
