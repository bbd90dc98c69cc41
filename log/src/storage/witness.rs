//! The witness: a small file beside the database that states how far the log was acknowledged. It is
//! written after every sync, and fsynced about once a second on a thread of its own. A note outlives the
//! process as soon as it is written, and a power cut once it is fsynced, about a second later. See
//! `docs/decisions/0007-a-witness-of-the-tail.md`.
//!
//! ```text
//! magic 4 | format 1 | revision 8 | hash 32 | crc32 4
//! ```
//! The two slots are written in turn, so that a torn write leaves the previous note.

use super::page_cache;
use crate::format::is_known;
use crate::unpoisoned::unpoisoned;
use crate::{Error, Tail, owner_only, regular};
use crossbeam_channel::{Receiver, Sender, bounded};
use hindsight_core::Revision;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const FORMAT: u8 = 1;
const MAGIC: &[u8; 4] = b"HSLT";
/// No disk sector is larger, so a torn write cannot damage both slots.
const SLOT_BYTES: usize = 4096;
const BYTES_MAX: u64 = 2 * SLOT_BYTES as u64;
const NOTE_BYTES: usize = 4 + 1 + 8 + 32;
const SYNC_PAUSE: Duration = Duration::from_secs(1);
const SYNCING: &str = "syncing events.tail";

/// The open file.
#[derive(Debug)]
pub(crate) struct WitnessFile {
    slots: Mutex<Slots>,
    /// `None` only while the file is closed.
    syncer: Option<NoteSyncer>,
}

/// The thread that syncs the file. It ends once both channels are dropped.
#[derive(Debug)]
struct NoteSyncer {
    /// Says that there is something to sync.
    unsynced: Sender<()>,
    /// Never sends; once it is dropped, the thread no longer pauses before a sync.
    open: Sender<()>,
    thread: JoinHandle<()>,
}

/// A note that was read.
#[derive(Debug, Clone, Copy)]
struct Note {
    tail: Tail,
    slot: usize,
}

#[derive(Debug)]
struct Slots {
    file: File,
    second_is_next: bool,
    /// How a write or a sync first failed; shared with the thread that syncs.
    failure: Arc<OnceLock<String>>,
    /// The last revision of the newest note, and of the newest that is known to be synced.
    noted: Revision,
    synced: Revision,
}

impl WitnessFile {
    /// Refuses a file that cannot be a witness. A missing file is accepted.
    pub(crate) fn check(path: &Path) -> Result<(), Error> {
        regular::check(path, BYTES_MAX)
    }

    /// Opens or creates the file, and returns the tail that it witnesses.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<Tail>), Error> {
        Self::check(path)?;
        let io = |what: &str| Error::io(format!("{what} {}", path.display()));
        let mut file = owner_only::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io("opening"))?;
        let synced = page_cache::read_from_disk(&file, path);
        synced.map_err(io("syncing"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(Error::reading(path.display().to_string()))?;
        let read = read(&bytes)?;
        if read.is_none() && bytes.iter().any(|byte| *byte != 0) {
            tracing::warn!(file = %path.display(), "the witness of the log's end is damaged; starting a new one");
        }
        // Its notes stay: the log has not been compared with them yet.
        let missing = (2 * SLOT_BYTES).saturating_sub(bytes.len());
        if missing > 0 {
            let blank = vec![0; missing];
            file.write_all(&blank).map_err(io("creating"))?;
            file.sync_all().map_err(io("syncing"))?;
        }
        // A file of its own: the system reports a failed sync once to each that opened the file.
        let synced = File::open(path).map_err(io("opening"))?;
        let failure = Arc::new(OnceLock::new());
        let of_syncs = Arc::clone(&failure);
        let (unsynced, waiting) = bounded(1);
        let (open, closed) = bounded(0);
        let thread = std::thread::Builder::new()
            .name("witness".into())
            .spawn(move || sync_now_and_then(&synced, &of_syncs, &waiting, &closed))
            .map_err(io("starting the sync thread of"))?;
        let slots = Mutex::new(Slots {
            file,
            second_is_next: read.is_some_and(|note| note.slot == 0),
            failure,
            noted: read
                .as_ref()
                .map_or(Revision::ZERO, |note| note.tail.revision),
            synced: Revision::ZERO,
        });
        let opened = Self {
            slots,
            syncer: Some(NoteSyncer {
                unsynced,
                open,
                thread,
            }),
        };
        Ok((opened, read.map(|note| note.tail)))
    }

    /// Bytes that [`Self::open`] will add to the file.
    pub(crate) fn missing_bytes(path: &Path) -> u64 {
        let length = path.metadata().map_or(0, |found| found.len());
        BYTES_MAX.saturating_sub(length)
    }

    /// The tail that the file witnesses, if there is a file. Nothing is changed.
    pub(crate) fn read(path: &Path) -> Result<Option<Tail>, Error> {
        let Some(bytes) = regular::read(path, BYTES_MAX)? else {
            return Ok(None);
        };
        Ok(read(&bytes)?.map(|note| note.tail))
    }

    /// Notes an acknowledged tail. This is only evidence: if it fails, the log continues, until history is dropped.
    pub(crate) fn note(&self, tail: &Tail) {
        unpoisoned(self.slots.lock()).note(tail);
        // A full channel means that a sync is already due.
        if let Some(syncer) = &self.syncer {
            syncer.unsynced.try_send(()).ok();
        }
    }

    /// As [`Self::note`], and syncs the note, because other evidence of that end is about to go. A note that was read is
    /// synced too: a killed process may have left it to the system.
    pub(crate) fn note_durably(&self, tail: &Tail) {
        let mut slots = unpoisoned(self.slots.lock());
        if slots.noted < tail.revision {
            slots.note(tail);
        }
        if let Err(error) = slots.sync() {
            tracing::error!(%error, "cannot sync events.tail, the witness of the log's end");
        }
    }

    /// Syncs the notes, unless one that reaches this revision is synced. If that fails, or once failed, or notes
    /// cannot be written, the history up to there must not be dropped: the next start would take the log for
    /// another one.
    pub(crate) fn ensure_synced(&self, revision: Revision) -> Result<(), Error> {
        let mut slots = unpoisoned(self.slots.lock());
        if slots.synced >= revision {
            return Ok(());
        }
        slots.sync_up_to(revision).map_err(Error::io(SYNCING))
    }

    /// As [`Self::ensure_synced`], for whatever was acknowledged. Fails if any of it could not be noted.
    pub(crate) fn ensure_all_synced(&self, revision: Revision) -> Result<(), Error> {
        let mut slots = unpoisoned(self.slots.lock());
        slots.sync_up_to(revision).map_err(Error::io(SYNCING))
    }

    /// From now on the disk takes no note.
    #[cfg(test)]
    pub(crate) fn fail(&self) {
        let slots = unpoisoned(self.slots.lock());
        slots.failure.set("the disk is gone".into()).ok();
    }

    /// The last revision of the newest note that is known to be synced.
    #[cfg(test)]
    pub(crate) fn synced(&self) -> Revision {
        unpoisoned(self.slots.lock()).synced
    }
}

impl Slots {
    fn note(&mut self, tail: &Tail) {
        if let Err(error) = self.write(tail)
            && self.failure.set(error.to_string()).is_ok()
        {
            tracing::error!(%error, "cannot write events.tail, the witness of the log's end, any more");
        }
    }

    /// Syncs the notes. A sync after one that failed proves nothing: the system forgets what it could not write.
    fn sync(&mut self) -> std::io::Result<()> {
        if let Err(error) = self.file.sync_data() {
            self.failure.set(error.to_string()).ok();
            return Err(error);
        }
        if let Some(failure) = self.failure.get() {
            let why = format!("it could not be written: {failure}");
            return Err(std::io::Error::other(why));
        }
        self.synced = self.noted;
        Ok(())
    }

    /// Syncs the notes, of which the newest, if there is any, must reach this revision.
    fn sync_up_to(&mut self, revision: Revision) -> std::io::Result<()> {
        self.sync()?;
        if self.noted > Revision::ZERO && self.noted < revision {
            let why = format!("it notes no revision behind {}", self.noted);
            return Err(std::io::Error::other(why));
        }
        Ok(())
    }

    fn write(&mut self, tail: &Tail) -> std::io::Result<()> {
        let at = if self.second_is_next { SLOT_BYTES } else { 0 };
        self.file.seek(SeekFrom::Start(at as u64))?;
        self.file.write_all(&sealed(tail))?;
        self.second_is_next = !self.second_is_next;
        self.noted = tail.revision;
        Ok(())
    }
}

impl Drop for WitnessFile {
    fn drop(&mut self) {
        let Some(NoteSyncer {
            unsynced,
            open,
            thread,
        }) = self.syncer.take()
        else {
            return;
        };
        drop((unsynced, open));
        if thread.join().is_err() {
            tracing::error!("the thread that syncs events.tail ended in a panic");
        }
    }
}

/// Also syncs at the end, so that a clean shutdown leaves an exact witness.
fn sync_now_and_then(
    file: &File,
    failure: &OnceLock<String>,
    waiting: &Receiver<()>,
    closed: &Receiver<()>,
) {
    while waiting.recv().is_ok() {
        closed.recv_timeout(SYNC_PAUSE).ok();
        if let Err(error) = file.sync_data() {
            failure.set(error.to_string()).ok();
            tracing::error!(%error, "cannot sync events.tail, the witness of the log's end");
        }
    }
}

fn sealed(tail: &Tail) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(NOTE_BYTES + 4);
    bytes.extend_from_slice(MAGIC);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&tail.revision.0.to_le_bytes());
    bytes.extend_from_slice(&tail.hash);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// The newer of the two notes.
fn read(bytes: &[u8]) -> Result<Option<Note>, Error> {
    let mut newest: Option<Note> = None;
    for (slot, bytes) in bytes.chunks(SLOT_BYTES).enumerate().take(2) {
        let Some(tail) = note(bytes)? else { continue };
        if newest.is_none_or(|other| other.tail.revision < tail.revision) {
            newest = Some(Note { tail, slot });
        }
    }
    Ok(newest)
}

fn note(slot: &[u8]) -> Result<Option<Tail>, Error> {
    let (Some(body), Some(checksum)) = (
        slot.get(..NOTE_BYTES),
        slot.get(NOTE_BYTES..)
            .and_then(|rest| rest.first_chunk::<4>()),
    ) else {
        return Ok(None);
    };
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Ok(None);
    }
    let Some(body) = body.strip_prefix(MAGIC) else {
        return Ok(None);
    };
    let Some(([format], body)) = body.split_first_chunk::<1>() else {
        return Ok(None);
    };
    if !is_known(*format, FORMAT, None)? {
        return Ok(None);
    }
    let parts = body.split_first_chunk::<8>().and_then(|(revision, hash)| {
        let hash = *hash.first_chunk::<32>()?;
        let revision = Revision(u64::from_le_bytes(*revision));
        Some(Tail { revision, hash })
    });
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(revision: u64) -> Tail {
        Tail {
            revision: Revision(revision),
            hash: [u8::try_from(revision).expect("small"); 32],
        }
    }

    fn witnessed(path: &Path) -> Option<Tail> {
        WitnessFile::open(path).expect("opened").1
    }

    #[test]
    fn the_newest_note_is_read_back_and_a_torn_one_gives_the_one_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("tail");
        assert_eq!(witnessed(&path), None);
        for revision in 1..6 {
            let (file, _) = WitnessFile::open(&path).expect("opened");
            file.note(&tail(revision));
            drop(file);
            let whole = std::fs::read(&path).expect("read");
            assert_eq!(witnessed(&path), Some(tail(revision)));
            let newest_at = if revision % 2 == 1 { 0 } else { SLOT_BYTES };
            for bit in newest_at * 8..(newest_at + NOTE_BYTES + 4) * 8 {
                let mut damaged = whole.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let found = read(&damaged).expect("readable").map(|note| note.tail);
                let before = (revision > 1).then(|| tail(revision - 1));
                assert_eq!(found, before, "bit {bit}");
            }
        }
    }

    #[test]
    fn what_a_file_that_was_cut_still_notes_is_noted_at_every_start() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("tail");
        for revision in [1, 2] {
            let (file, _) = WitnessFile::open(&path).expect("opened");
            file.note(&tail(revision));
        }
        let whole = std::fs::read(&path).expect("read");
        for (length, noted) in [
            (0, None),
            (NOTE_BYTES, None),
            (NOTE_BYTES + 4, Some(tail(1))),
            (SLOT_BYTES + NOTE_BYTES, Some(tail(1))),
            (SLOT_BYTES + NOTE_BYTES + 4, Some(tail(2))),
            (2 * SLOT_BYTES - 1, Some(tail(2))),
        ] {
            std::fs::write(&path, &whole[..length]).expect("written");
            for start in 1..=3 {
                assert_eq!(witnessed(&path), noted, "{length}, start {start}");
                let bytes = std::fs::metadata(&path).expect("there").len();
                assert_eq!(bytes, 2 * SLOT_BYTES as u64);
            }
        }
    }

    #[test]
    fn notes_are_synced_before_what_they_name_is_dropped() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, _) = WitnessFile::open(&directory.path().join("tail")).expect("opened");
        for (noted, dropped, synced) in [(5, 3, 5), (7, 5, 5), (7, 6, 7)] {
            file.note(&tail(noted));
            file.ensure_synced(Revision(dropped)).expect("synced");
            assert_eq!(unpoisoned(file.slots.lock()).synced, Revision(synced));
        }
        file.note_durably(&tail(8));
        assert_eq!(unpoisoned(file.slots.lock()).synced, Revision(8));
        let failure = Arc::clone(&unpoisoned(file.slots.lock()).failure);
        failure.set("the disk is gone".into()).expect("the first");
        file.ensure_synced(Revision(8)).expect("it is synced");
        assert!(file.ensure_all_synced(Revision(8)).is_err());
        assert!(file.ensure_synced(Revision(9)).is_err());
    }

    #[test]
    fn what_no_note_reaches_is_not_dropped_unless_there_is_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, _) = WitnessFile::open(&directory.path().join("tail")).expect("opened");
        let ensured = |revision: u64| {
            let revision = Revision(revision);
            [
                file.ensure_synced(revision),
                file.ensure_all_synced(revision),
            ]
            .map(|one| one.is_ok())
        };
        assert_eq!(ensured(6), [true, true], "no note could be lost");
        file.note(&tail(5));
        assert_eq!(ensured(6), [false, false]);
        assert_eq!(ensured(5), [true, true]);
    }

    /// A sync succeeds then, because there is nothing to sync.
    #[test]
    fn after_a_note_that_could_not_be_written_nothing_it_would_name_is_dropped() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("tail");
        let (file, _) = WitnessFile::open(&path).expect("opened");
        file.note(&tail(7));
        // Whatever is written to it fails.
        unpoisoned(file.slots.lock()).file = File::open(&path).expect("opened");
        file.note(&tail(8));
        assert!(file.ensure_synced(Revision(8)).is_err());
    }

    /// Linux syncs no device that is not a disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_sync_that_failed_on_its_thread_is_not_made_up_for_by_a_later_one() {
        let device = File::open("/dev/null").expect("opened");
        let failure = OnceLock::new();
        let (unsynced, waiting) = bounded(1);
        let (open, closed) = bounded(0);
        unsynced.send(()).expect("received");
        drop((unsynced, open));
        sync_now_and_then(&device, &failure, &waiting, &closed);
        assert!(failure.get().is_some());
    }

    #[test]
    fn a_newer_format_is_refused_and_no_format_is_damage() {
        let numbered = |format: u8| {
            let mut bytes = sealed(&tail(1));
            bytes[4] = format;
            let checksum = crc32fast::hash(&bytes[..NOTE_BYTES]).to_le_bytes();
            bytes[NOTE_BYTES..].copy_from_slice(&checksum);
            bytes
        };
        assert_eq!(note(&numbered(FORMAT)).expect("known"), Some(tail(1)));
        assert_eq!(note(&numbered(0)).expect("damaged"), None);
        let error = note(&numbered(FORMAT + 1)).expect_err("refused");
        assert!(matches!(
            error,
            Error::NewerFormat {
                found: 2,
                known: 1,
                ..
            }
        ));
    }

    /// That it is synced at all is shown where its calls are seen.
    #[test]
    fn notes_are_synced_as_late_as_the_page_says() {
        let page = include_str!("../../../docs/reliability.md");
        let words: Vec<&str> = page.split_whitespace().collect();
        let promise = "`events.tail`, which is synced about a second later.";
        assert!(words.join(" ").contains(promise));
        assert_eq!(SYNC_PAUSE, Duration::from_secs(1));
    }
}
