//! Errors of the system, and the order of concurrent writes.

use super::database::BEFORE_SYNC;
use super::journal::JournalContents;
use super::opening::start::open_witness;
use super::opening::sync_before_reading;
use super::page_table::SideFiles;
use super::reconcile::not_yet_stored;
use super::*;
use crate::Poison;
use crate::poison::tests::logged;
use crate::storage::synced::Synced;
use rustix::io::Errno;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, TryLockError};

/// Flushes, each with something to write, while other writes wait.
const SYNCS: u64 = 20;

/// Restoring a backup would lose what came after it, and gain nothing.
#[test]
fn what_the_system_refused_advises_no_backup() {
    let message = |error: Errno| {
        let error = ::sled::Error::Io(error.into());
        engine(EngineCall::Open, error).to_string()
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

/// What a link leads to here can be read and not written, by any user.
#[test]
fn a_database_that_cannot_be_written_is_named() {
    let temporary = tempfile::tempdir().expect("a directory");
    let path = temporary.path().join("db");
    std::os::unix::fs::symlink("/proc/sys/kernel/osrelease", &path).expect("made");
    let refused = sync_before_reading(&path).expect_err("it cannot be written");
    let named = format!("opening {}: ", path.display());
    assert!(refused.to_string().starts_with(&named), "{refused}");
}

/// What is intact is looked for while the directory is locked, and no start has refused these by then.
#[test]
fn a_side_file_that_is_no_file_is_refused_and_a_longer_one_than_any_is_not_read() {
    let temporary = tempfile::tempdir().expect("a directory");
    let [database, side] = ["db", "snap.0A"].map(|name| temporary.path().join(name));
    std::fs::write(&database, "").expect("written");
    std::fs::create_dir(&side).expect("made");
    let refused = SideFiles::of(temporary.path()).expect_err("it is no file");
    assert!(
        matches!(&refused, Error::NotAFile(path) if *path == side),
        "{refused}"
    );
    std::fs::remove_dir(&side).expect("removed");
    // Of a log without pages, up to its beginning.
    let table = [1, 0, 0, 0, 0, 0, 0, 0, 0];
    let checksum = crc32fast::hash(&table).to_le_bytes();
    let whole = [&table[..], &9_u64.to_le_bytes(), &checksum].concat();
    std::fs::write(&side, whole).expect("written");
    for (length, unfit) in [(7, vec![]), (6, vec![side])] {
        std::fs::write(&database, vec![0; length]).expect("written");
        let found = SideFiles::of(temporary.path()).expect("compared");
        assert_eq!(found.unfit, unfit, "{length}");
    }
}

/// A start reads some of the files itself, before the engine does.
#[test]
fn over_a_bad_sector_it_is_told_how_far_the_log_is_intact() {
    let temporary = tempfile::tempdir().expect("a directory");
    let events = temporary.path().join("events");
    drop(SledStorage::open(&events).expect("made"));
    let told = |error: Error| {
        SledStorage::explain_unreadable(&events, &error).map(|error| error.to_string())
    };
    let read = |errno: Errno| Error::reading("the event log")(errno.into());
    for errno in [Errno::IO, Errno::NODATA, Errno::UCLEAN] {
        let told = told(read(errno)).expect("told");
        for part in ["does not give back", "intact up to revision 0", "--intact"] {
            assert!(told.contains(part), "{told}");
        }
    }
    assert_eq!(told(read(Errno::ACCESS)), None);
    // Its text alone does not make it an error of reading.
    for what in ["syncing the event log", "reading the event log"] {
        assert_eq!(told(Error::io(what)(Errno::IO.into())), None, "{what}");
    }
}

/// A start reads it several times, and who only reads starts no new one.
#[test]
fn a_damaged_witness_is_told_of_once_and_where_a_new_one_is_started() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (events, tail) = (
        temporary.path().join("events"),
        temporary.path().join("events.tail"),
    );
    drop(SledStorage::open(&events).expect("made"));
    let damage = || std::fs::write(&tail, [7; 1 << 10]).expect("written");
    damage();
    let (intact, told) = logged(|| Intact::of(&events, |_, _| {}));
    assert!(intact.is_ok_and(|found| found.broken.is_none()));
    assert_eq!(told, 0, "nothing is started");
    let (opened, told) = logged(|| SledStorage::open(&events));
    opened.expect("opened");
    assert_eq!(told, 1);
}

/// Of what is in the place of a directory the system says neither that it is there nor that it is not.
#[test]
fn what_cannot_be_examined_is_not_taken_for_absent() {
    let temporary = tempfile::tempdir().expect("a directory");
    let file = temporary.path().join("file");
    std::fs::write(&file, "").expect("written");
    let (events, tail) = (file.join("events"), file.join("events.tail"));
    for refused in [
        open_witness(&tail, Revision(7)).map(drop),
        SledStorage::open(&events).map(drop),
        hidden::refuse_hidden(&events, Revision(7)),
    ] {
        let told = refused.expect_err("unknown").to_string();
        assert!(told.starts_with("examining "), "{told}");
        assert!(told.contains("not a directory"), "{told}");
    }
}

type Write = fn(&SledStorage) -> Result<(), Error>;

#[test]
fn nobody_writes_between_a_flush_and_its_sync() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
    let writes: [(&str, Write); 4] = [
        ("append", |one| one.append(Revision(1000), &[7; 100])),
        ("replace", |one| {
            one.replace(Revision(1), Witnessed::up_to(Revision(1)), &[7])
        }),
        ("tidy", |one| one.tidy().map(drop)),
        ("sync", Storage::sync),
    ];
    let (order, begun) = (Mutex::new(Vec::new()), Barrier::new(writes.len() + 1));
    let did = |what| order.lock().expect("unpoisoned").push(what);
    std::thread::scope(|scope| {
        let alone = storage.lock_journal();
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
            let frame = (revision, [7; 100][..].into());
            let appended = storage.database.frames.append(&[frame], &|| Ok(0));
            appended
                .and_then(|()| storage.database.make_durable())
                .expect("durable");
        }
        did("all are durable");
        drop(alone);
    });
    let order = order.into_inner().expect("unpoisoned");
    assert_eq!(order.first(), Some(&"all are durable"), "{order:?}");
}

/// Longer than what may be written without a sync, and than the journal.
const LARGE_BYTES: usize = 2 << 20;

/// Each of them flushes and syncs the database, the third in the middle of what it removes.
const SYNCING: [(&str, Write); 4] = [
    ("append", |one| {
        let appended = (1..=100).try_for_each(|first| one.append(Revision(first), &[7; 10 << 10]));
        appended.and_then(|()| one.append(Revision(101), &vec![7; LARGE_BYTES]))
    }),
    ("sync", Storage::sync),
    ("replace", |one| {
        one.replace(Revision(1), Witnessed::up_to(Revision(101)), &[7])
    }),
    ("tidy", |one| one.tidy().map(drop)),
];

#[test]
fn whoever_flushes_lets_nobody_write_before_the_sync() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = Arc::new(SledStorage::open(&temporary.path().join("events")).expect("opened"));
    let excludes = Rc::new(RefCell::new(Vec::new()));
    let (seen, watched) = (Rc::clone(&excludes), Arc::downgrade(&storage));
    BEFORE_SYNC.set(Some(Box::new(move || {
        let Some(storage) = watched.upgrade() else {
            return;
        };
        let locked = storage.journal.try_lock();
        let is_locked = matches!(locked, Err(TryLockError::WouldBlock));
        seen.borrow_mut().push(is_locked);
    })));
    for (name, write) in SYNCING {
        write(&storage).expect(name);
        let excludes = excludes.take();
        let is_alone = !excludes.is_empty() && excludes.iter().all(|one| *one);
        assert!(is_alone, "{name}: {excludes:?}");
    }
    BEFORE_SYNC.set(None);
}

/// Readers find frames also while these pass from the pending ones into the database.
#[test]
fn who_reads_misses_nothing_while_frames_reach_the_database() {
    const FRAMES: u64 = 4_000;
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
    let appended = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looked = 0;
            loop {
                let last = appended.load(Ordering::Acquire);
                // One that is pending, one that no longer is, and an old one.
                for one in [last, last / 2, last.saturating_sub(600)] {
                    let one = Revision(one.max(1));
                    let found = [storage.at_or_after(one), storage.at_or_before(one)];
                    let found = found.map(|found| found.expect("read").map(|(first, _)| first));
                    assert!(last == 0 || found == [Some(one); 2], "{one}: {found:?}");
                    looked += 1;
                }
                if last == FRAMES {
                    return looked;
                }
            }
        });
        for first in 1..=FRAMES {
            let frame = storage.append(Revision(first), &[7; 900]);
            frame.expect("appended");
            appended.store(first, Ordering::Release);
        }
        assert!(reader.join().expect("it missed nothing") > 100);
    });
    let pending = storage.pending.at_or_after(Revision(1));
    assert!(!pending.excludes_database);
    assert!(
        pending
            .frame
            .is_some_and(|(first, _)| first > Revision(600))
    );
}

#[test]
fn after_a_clean_end_the_database_has_everything_and_after_a_failure_it_is_left_as_it_is() {
    for fails in [false, true] {
        let temporary = tempfile::tempdir().expect("a directory");
        let events = temporary.path().join("events");
        let (database, elsewhere) = (events.join("db"), events.join("moved"));
        let storage = SledStorage::open(&events).expect("opened");
        storage.append(Revision(1), &[7; 9]).expect("appended");
        if fails {
            std::fs::rename(&database, &elsewhere).expect("moved");
            storage.sync().expect_err("the database has no name");
        }
        drop(storage);
        if fails {
            std::fs::rename(&elsewhere, &database).expect("moved back");
        }
        std::fs::remove_file(events.join(crate::layout::JOURNAL)).expect("removed");
        let storage = SledStorage::open(&events).expect("opened");
        let found = storage.at_or_after(Revision::ZERO).expect("read");
        assert_eq!(found.is_some(), !fails);
    }
}

/// So a start needs no space on a full disk.
#[test]
fn after_a_clean_end_a_start_takes_nothing_from_the_journal() {
    let temporary = tempfile::tempdir().expect("a directory");
    let events = temporary.path().join("events");
    let storage = SledStorage::open(&events).expect("opened");
    for first in 1..=3 {
        storage.append(Revision(first), &[7; 9]).expect("appended");
        storage.sync().expect("synced");
    }
    let journal = JournalContents::of(&events).expect("read");
    let (three, _) = not_yet_stored(&storage.database.frames, &journal).expect("it follows");
    assert_eq!(three.len(), 3, "they are in the journal alone");
    drop(storage);
    let storage = SledStorage::open(&events).expect("opened");
    let (none, newest) = not_yet_stored(&storage.database.frames, &journal).expect("it has all");
    assert!(none.is_empty() && newest.first == Revision(3));
}

/// A release that knows only the older format refuses the database by this.
#[test]
fn a_database_says_what_format_it_has() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
    let trees = storage.database.engine.tree_names();
    let newest = format!("{TREE_PREFIX}{TREE_FORMAT}");
    assert!(trees.iter().any(|name| **name == *newest.as_bytes()));
}

/// Whoever replaces has asked before, and the witness is no part of the log.
#[test]
fn a_witness_that_fails_after_it_was_asked_does_not_poison_the_log() {
    for is_stored in [false, true] {
        let temporary = tempfile::tempdir().expect("a directory");
        let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
        storage.append(Revision(1), &[7; 100]).expect("appended");
        storage.sync().expect("synced");
        storage.witness(&Tail {
            revision: Revision(1),
            hash: [7; 32],
        });
        if is_stored {
            let stored = storage.write(|journal| storage.store(journal));
            stored.expect("stored");
        }
        let storage = Arc::new(storage);
        let poison = Poison::default();
        let inner = Arc::clone(&storage) as Arc<dyn Storage>;
        let synced = Synced::new(inner, Revision(1), poison.clone());
        let witnessed = synced.ensure_witnessed(Revision(1)).expect("synced");
        storage.witness.fail();
        let replaced = synced.replace(Revision(1), witnessed, &[7; 10]);
        replaced.expect("replaced");
        let refused = synced.ensure_witnessed(Revision(2));
        refused.expect_err("no note is written any more");
        synced.sync().expect("synced");
        assert_eq!(poison.reason(), None);
    }
}
