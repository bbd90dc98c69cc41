//! Backups of the log of the script: restored, damaged, or made while the log is written to.

mod forged;

use super::disk::Disk;
use super::script::{self, Silent};
use crate::frame::{self, Format};
use crate::{
    Base, Entry, Error, Log, MemoryStorage, Reader, Records, Restore, RestoreStep, Restored,
    Snapshots, Storage, Tail, Writer, copy_backup, thin, verify,
};
pub(super) use forged::first_format;
use forged::{entry, parts};
use hindsight_core::{Command, FutureRevision, Revision, State, Time};
use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::sync::Arc;

pub(super) const BUMP: NonZeroU64 = NonZeroU64::new(1000).expect("not zero");
/// When backups are made, and restored.
pub(super) const MADE: Time = Time(5);
pub(super) const RESTORED: Time = Time(7_000_000);
/// Where a log then continues, and what that is after a restored log of this newest revision.
const CONTINUED: u64 = RESTORED.0.unsigned_abs() + BUMP.get();

fn continued(newest: u64) -> u64 {
    newest + 1 + RESTORED.0.abs_diff(MADE.0) + BUMP.get()
}

fn logged() -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    assert!(script::run(&disk).is_empty());
    disk
}

/// A log of a few frames.
pub(super) fn short() -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    let writer = script::open(&disk);
    let mut commands = script::Commands::default();
    for _ in 0..12 {
        script::submit(&writer, &disk, commands.submission()).expect("written");
    }
    drop::<Writer>(writer);
    disk
}

pub(super) fn backup_of(reader: &Reader) -> Vec<u8> {
    let mut file = Vec::new();
    let made = reader.backup(MADE, &mut file, |_, _| {});
    let made = made.expect("made");
    assert_eq!(made.bytes, file.len() as u64);
    file
}

/// A log that was restored from a backup.
pub(super) struct Target {
    pub(super) storage: Arc<dyn Storage>,
    snapshots: Snapshots,
    _directory: tempfile::TempDir,
}

impl Target {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self {
            storage: Arc::new(MemoryStorage::default()),
            snapshots: Snapshots::at(directory.path().join("snapshots")),
            _directory: directory,
        }
    }

    fn take(&self, file: &[u8]) -> Result<Restored, Error> {
        self.restore(BUMP).run(file, |_| {})
    }

    pub(super) fn restore(&self, bump: NonZeroU64) -> Restore<'_> {
        Restore {
            storage: &self.storage,
            snapshots: &self.snapshots,
            bump,
            time: RESTORED,
        }
    }

    pub(super) fn restored(file: &[u8]) -> (Self, Restored) {
        let target = Self::new();
        let restored = target.take(file).expect("restored");
        (target, restored)
    }

    fn opened(&self) -> Log {
        Log::open(Arc::clone(&self.storage), script::empty()).expect("opened")
    }

    pub(super) fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.storage) as _)
    }
}

fn at(reader: &Reader, revision: Revision) -> State {
    reader.state_at(script::empty(), revision).expect("folded")
}

/// The hash of the state, as if it had this revision.
fn hash_at(state: &State, revision: Revision) -> String {
    let mut state = state.clone();
    state.revision = revision;
    state.hash()
}

#[test]
fn a_restored_log_has_the_state_of_the_backup_at_a_later_revision_and_all_its_past() {
    let reader = Reader::new(logged());
    let newest = reader.newest().expect("read");
    let (target, restored) = Target::restored(&backup_of(&reader));
    let jumped = Revision(CONTINUED);
    assert_eq!(restored.revision, jumped);
    assert_eq!(restored.backup.tail.revision, newest);
    let log = target.opened();
    let state = log.state();
    assert_eq!((log.restored(), state.revision), (jumped, jumped));
    assert_eq!(hash_at(state, newest), at(&reader, newest).hash());
    let base = target.reader().base(script::empty()).expect("folded");
    target.snapshots.write(&base).expect("written");
    let found = target.snapshots.newest(&script::empty()).expect("usable");
    let log = Log::open_from(Arc::clone(&target.storage), found).expect("opened");
    assert_eq!(log.restored(), jumped, "from a snapshot too");
    let again = target.reader();
    for revision in (1..=newest.0).step_by(97).map(Revision) {
        assert_eq!(at(&again, revision).hash(), at(&reader, revision).hash());
    }
    for revision in [newest.next(), jumped.previous()] {
        assert_eq!(at(&again, revision).revision, newest, "{revision}");
    }
    let future = again.state_at(script::empty(), jumped.next());
    assert!(
        matches!(future, Err(Error::Future(FutureRevision { asked, newest }))
        if (asked, newest) == (jumped.next(), jumped))
    );
    let now = again
        .state_at_time(script::empty(), RESTORED)
        .expect("read");
    assert_eq!(now.revision, jumped);
    let before = again
        .state_at_time(script::empty(), Time(6_999_999))
        .expect("read");
    assert_eq!(before.revision, newest);
    let all = |reader: &Reader| {
        let commits = reader.scan(Revision(1)).collect::<Result<Vec<_>, _>>();
        commits.expect("readable")
    };
    assert_eq!(all(&again), all(&reader));
}

#[test]
fn a_restore_tells_of_each_frame_when_it_is_written_and_when_it_is_read_back() {
    let file = backup_of(&Reader::new(logged()));
    let mut told = Vec::new();
    let target = Target::new();
    let restored = target.restore(BUMP).run(&*file, |step| told.push(step));
    let frames = usize::try_from(restored.expect("restored").backup.frames).expect("few");
    assert!(frames > 1);
    let mut expected = vec![RestoreStep::Written; frames];
    expected.resize(2 * frames, RestoreStep::Checked);
    assert_eq!(told, expected);
}

#[test]
fn revisions_of_a_restored_log_never_go_down_and_it_can_be_restored_again() {
    let mut target = Target::restored(&backup_of(&Reader::new(short()))).0;
    let mut last = Revision::ZERO;
    for seed in 200..203 {
        let log = target.opened();
        let newest = log.state().revision;
        assert_eq!(log.restored(), newest);
        let disk = Arc::new(Disk::default());
        let writer = log.start(Box::new(Silent)).expect("started");
        let name = format!("r{newest}");
        let object = serde_json::json!({"metadata": {"name": name}});
        let create = script::create("configmaps", "default", object);
        let command = Command {
            seed: [seed; 16],
            ..script::Commands::default().command(create)
        };
        let written = script::submit(&writer, &disk, vec![command]).expect("written");
        assert_eq!(written, newest.next());
        assert!(last < written, "{last} {written}");
        last = written;
        drop(writer);
        verify(&target.reader(), |_| {}).expect("intact");
        let (next, restored) = Target::restored(&backup_of(&target.reader()));
        assert_eq!(restored.revision, Revision(continued(written.0)));
        target = next;
    }
}

#[test]
fn an_empty_log_can_be_put_back_too() {
    let nothing = Reader::new(Arc::new(MemoryStorage::default()));
    let (target, restored) = Target::restored(&backup_of(&nothing));
    assert_eq!(restored.revision, Revision(CONTINUED));
    assert_eq!(target.opened().state().revision, restored.revision);
    // That log begins with the mark of the restore.
    Target::restored(&backup_of(&target.reader()));
}

/// Restores onto this disk.
fn restore_onto(disk: &Arc<Disk>, file: &[u8]) -> Result<Restored, Error> {
    let (storage, target) = (Arc::clone(disk) as Arc<dyn Storage>, Target::new());
    let restore = Restore {
        storage: &storage,
        ..target.restore(BUMP)
    };
    restore.run(file, |_| {})
}

#[test]
fn a_log_is_not_restored_over() {
    let disk = Arc::new(Disk::default());
    restore_onto(&disk, &backup_of(&Reader::new(short()))).expect("restored");
    let other = Arc::new(Disk::default());
    let object = serde_json::json!({"metadata": {"name": "other"}});
    let create = script::create("namespaces", "", object);
    let command = script::Commands::default().command(create);
    script::submit(&script::open(&other), &other, vec![command]).expect("written");
    let before = disk.frames();
    assert_eq!(other.frames()[0].0, before[0].0, "where the first one is");
    let refused = restore_onto(&disk, &backup_of(&Reader::new(other)));
    let told = refused.expect_err("refused").to_string();
    assert!(told.contains("already contains a log"), "{told}");
    assert!(disk.frames() == before, "it was written to");
}

#[test]
fn on_a_full_disk_a_restore_writes_no_more_than_there_is_room_for() {
    const SPACE: usize = 64 << 10;
    let file = backup_of(&Reader::new(logged()));
    let disk = Arc::new(Disk::default());
    disk.set_space(SPACE);
    let error = restore_onto(&disk, &file).expect_err("refused");
    let is_full =
        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::StorageFull);
    assert!(is_full, "{error}");
    assert!((1..=SPACE).contains(&disk.used()), "{}", disk.used());
}

#[test]
fn a_log_of_which_clients_could_not_read_the_revisions_is_not_begun() {
    let file = backup_of(&Reader::new(short()));
    let most = (1 << 62) - 1 - RESTORED.0.unsigned_abs();
    for (bump, is_begun) in [
        (u64::MAX, false),
        (u64::MAX >> 1, false),
        (most + 1, false),
        (most, true),
    ] {
        let target = Target::new();
        let bump = NonZeroU64::new(bump).expect("not zero");
        let made = target.restore(bump).run(&*file, |_| {});
        let is_refused = matches!(made, Err(Error::Bump { .. }));
        assert_eq!((made.is_ok(), is_refused), (is_begun, !is_begun), "{bump}");
        let found = target.storage.at_or_after(Revision::ZERO).expect("read");
        assert_eq!(found.is_some(), is_begun, "{bump}: nothing is copied first");
    }
}

#[test]
fn every_damaged_byte_and_every_cut_of_a_backup_is_refused() {
    let file = backup_of(&Reader::new(short()));
    let step = if super::is_long() { 1 } else { 61 };
    let near =
        |place: &usize| *place < 80 || *place + 80 > file.len() || place.is_multiple_of(step);
    let refused = |damaged: &[u8], what: &str| {
        copy_backup(damaged, std::io::sink(), |_, _| {}).expect_err(what);
        Target::new().take(damaged).expect_err(what);
    };
    for place in (0..file.len()).filter(near) {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << (place % 8);
        refused(&damaged, &format!("byte {place}"));
        refused(&file[..place], &format!("cut at {place}"));
    }
    let mut longer = file.clone();
    longer.push(0);
    refused(&longer, "longer");
    copy_backup(&*file, std::io::sink(), |_, _| {}).expect("it is whole itself");
}

#[test]
fn a_length_is_believed_only_as_far_as_there_are_bytes() {
    for length in [5_u32, 1 << 20, (64 << 20) + 1, u32::MAX] {
        for kind in 0..6 {
            let mut file = b"HSBK\x01".to_vec();
            file.push(kind);
            file.extend_from_slice(&length.to_le_bytes());
            file.extend_from_slice(b"abcd");
            let error = Target::new().take(&file).expect_err("refused");
            assert!(matches!(error, Error::Backup(_)), "{error}");
        }
    }
}

/// The log of the script, of which the first half is thinned.
fn thinned() -> Arc<Disk> {
    let disk = logged();
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    let middle = at(&reader, Revision(500));
    let end = reader.frames(middle.revision).next();
    let end = end.expect("a frame").expect("intact").links.end.previous();
    thin(&*disk, &reader, end, script::empty(), &[]).expect("thinned");
    disk
}

#[test]
fn a_log_that_is_damaged_or_has_lost_its_end_has_no_backup() {
    let frames = short().frames();
    let tail = Tail {
        revision: Revision(1 << 20),
        hash: [1; 32],
    };
    let lost = Disk::holding(frames.clone(), Some(tail));
    let mut damaged = frames.clone();
    let bytes = Arc::make_mut(&mut damaged[3].1);
    bytes[70] ^= 1;
    let mut missing = frames;
    missing.remove(2);
    for disk in [
        lost,
        Disk::holding(damaged, None),
        Disk::holding(missing, None),
    ] {
        let made = Reader::new(Arc::new(disk)).backup(Time(5), std::io::sink(), |_, _| {});
        made.expect_err("refused");
    }
}

#[test]
fn a_log_without_its_beginning_has_no_backup_whatever_is_left_first() {
    let (thinned, restored) = (thinned(), Arc::new(Disk::default()));
    let file = backup_of(&Reader::new(Arc::clone(&thinned) as Arc<dyn Records>));
    restore_onto(&restored, &file).expect("restored");
    let mark = restored.frames().len() - 1;
    for (disk, gone) in [(&thinned, 1), (&restored, 1), (&restored, mark)] {
        let frames = disk.frames();
        let (format, _) = frame::payload(&frames[gone].1);
        assert_eq!(format, Some(Format::Placeholder), "{gone}");
        let left = Disk::holding(frames[gone..].to_vec(), None);
        let made = Reader::new(Arc::new(left)).backup(MADE, std::io::sink(), |_, _| {});
        let error = made.expect_err("refused");
        assert!(matches!(error, Error::Corrupt { .. }), "{gone}: {error}");
    }
}

/// Whether each question about this log, from the first revision on and from this one, is refused as damage.
fn refuses_questions(reader: &Reader, from: Revision) -> bool {
    let empty = script::empty;
    let newest = reader.newest().expect("read");
    let told = [
        reader.state_at(empty(), from).err(),
        reader.newest_state(empty()).err(),
        reader.state_at_time(empty(), Time(i64::MAX)).err(),
        reader.scan(from).find_map(Result::err),
        reader.entries(Revision(1)).find_map(Result::err),
        reader.scan_all(from).find_map(Result::err),
        reader.changes(empty(), from, newest, |_| {}).err(),
    ];
    let is_missing = |one: Option<Error>| {
        one.is_some_and(|one| {
            matches!(one, Error::Corrupt { .. }) && one.to_string().contains("missing")
        })
    };
    told.into_iter().all(is_missing)
}

#[test]
fn a_log_without_its_beginning_answers_no_question_about_what_it_lacks() {
    let disk = short();
    let restored = Arc::new(Disk::default());
    let file = backup_of(&Reader::new(Arc::clone(&disk) as Arc<dyn Records>));
    restore_onto(&restored, &file).expect("restored");
    let mark = restored.frames().len() - 1;
    for (disk, gone) in [(&disk, 1), (&disk, 3), (&restored, mark)] {
        let frames = disk.frames();
        let left = Disk::holding(frames[gone..].to_vec(), None);
        let reader = Reader::new(Arc::new(left));
        let before = frames[gone].0.previous();
        for from in [Revision(1), before] {
            assert!(refuses_questions(&reader, from), "{gone}: {from}");
        }
        let rest = reader.scan(frames[gone].0);
        assert_eq!(rest.filter_map(Result::err).count(), 0, "{gone}");
    }
}

#[test]
fn a_log_that_was_restored_from_an_empty_one_begins_with_the_mark_of_that() {
    let restored = Arc::new(Disk::default());
    let file = backup_of(&Reader::new(Arc::new(Disk::default())));
    restore_onto(&restored, &file).expect("restored");
    let reader = Reader::new(restored);
    let entries = reader.entries(Revision(1));
    let entries = entries.collect::<Result<Vec<_>, _>>().expect("whole");
    assert!(matches!(entries[..], [Entry::Restored { .. }]));
    let state = reader.newest_state(script::empty()).expect("folded");
    assert_eq!(Ok(state.revision), reader.newest().map_err(drop));
}

/// A log, and a snapshot of its end that is intact, names that end, and holds an earlier state.
fn with_forged_snapshot() -> (Reader, Snapshots, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let reader = Reader::new(short()).with_snapshots(snapshots.clone());
    let mut base = reader.base(script::empty()).expect("folded");
    let newest = base.state.revision;
    base.state = at(&reader, Revision(newest.0 / 2));
    base.state.revision = newest;
    snapshots.write(&base).expect("written");
    snapshots.read(newest, &script::empty()).expect("intact");
    (reader, snapshots, directory)
}

#[test]
fn no_state_is_restored_from_a_snapshot() {
    let (reader, snapshots, _directory) = with_forged_snapshot();
    let folded = Reader::new(Arc::clone(reader.records()));
    let folded = folded.base(script::empty()).expect("folded").state;
    let newest = folded.revision;
    let file = backup_of(&reader);
    let kinds: Vec<u8> = parts(&file).iter().map(|part| part[0]).collect();
    assert!(!kinds.contains(&2), "no snapshot is in it: {kinds:?}");
    // As backups were made that had one, in pieces.
    let snapshot = std::fs::read(snapshots.path(newest)).expect("read");
    let pieces = snapshot.chunks(snapshot.len() / 2 + 1);
    let pieces = pieces.map(|piece| entry(2, &[&newest.0.to_le_bytes()[..], piece].concat()));
    let (head, rest) = file[5..].split_at(parts(&file)[0].len());
    let pieces = pieces.collect::<Vec<_>>().concat();
    let forged = [&file[..5], head, &pieces, rest].concat();
    let mut copied = Vec::new();
    copy_backup(&*forged, &mut copied, |_, _| {}).expect("copied");
    assert_eq!(copied, forged);
    for file in [file, forged] {
        let (target, _) = Target::restored(&file);
        assert_eq!(target.snapshots.revisions().expect("listed"), []);
        let next = target.snapshots.newest(&script::empty());
        let base = next.unwrap_or_else(|| Base::empty(script::empty()));
        let opened = Log::open_from(Arc::clone(&target.storage), base);
        let log = opened.expect("opened");
        assert_eq!(hash_at(log.state(), newest), folded.hash());
    }
}

#[test]
fn a_log_is_not_restored_beside_snapshots_of_another() {
    let (reader, snapshots, _directory) = with_forged_snapshot();
    let target = Target::new();
    let restore = Restore {
        snapshots: &snapshots,
        ..target.restore(BUMP)
    };
    let error = restore.run(&*backup_of(&reader), |_| {});
    let error = error.expect_err("refused").to_string();
    assert!(error.contains("already contains snapshots"), "{error}");
    let found = target.storage.at_or_after(Revision::ZERO);
    assert!(found.expect("read").is_none(), "nothing was written");
}

#[test]
fn a_backup_under_writes_holds_everything_that_was_acknowledged_before_it_began() {
    let disk = Arc::new(Disk::default());
    let storage: Arc<dyn Storage> = Arc::<Disk>::clone(&disk);
    let log = Log::open(storage, script::empty()).expect("opened");
    let reader = log.reader.clone();
    let writer = log.start(Box::new(Silent)).expect("started");
    let told = std::sync::atomic::AtomicU64::new(0);
    let files = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut commands = script::Commands::default();
            for _ in 0..150 {
                let newest = script::submit(&writer, &disk, commands.submission());
                let newest = newest.expect("written").0;
                told.fetch_max(newest, std::sync::atomic::Ordering::SeqCst);
            }
        });
        let mut files = Vec::new();
        while !writing.is_finished() || files.is_empty() {
            let acknowledged = told.load(std::sync::atomic::Ordering::SeqCst);
            files.push((acknowledged, backup_of(&reader)));
        }
        files
    });
    for (acknowledged, file) in files.iter().step_by(1 + files.len() / 12) {
        let (target, restored) = Target::restored(file);
        let newest = restored.backup.tail.revision;
        assert!(newest.0 >= *acknowledged, "{newest} {acknowledged}");
        let log = target.opened();
        assert_eq!(hash_at(log.state(), newest), at(&reader, newest).hash());
    }
}
