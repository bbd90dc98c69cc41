//! A directory that is moved or removed under an open log, one that is opened a second time, and a link that is
//! switched to another directory.

use super::rot::frames;
use crate::{Error, SledStorage, Storage};
use std::fs;
use std::path::Path;

type Happen = fn(&Path);

const HAPPENED: &[(&str, Happen)] = &[
    ("the database is removed", |at| {
        fs::remove_file(at.join("events/db")).expect("removed");
    }),
    ("the journal is removed", |at| {
        fs::remove_file(at.join("events/journal")).expect("removed");
    }),
    ("everything is removed", |at| {
        fs::remove_dir_all(at).expect("removed");
    }),
    ("the directory is moved", |at| {
        fs::rename(at, at.with_extension("moved")).expect("moved");
    }),
    ("the database is replaced", |at| {
        let copy = at.join("events/copy");
        fs::copy(at.join("events/db"), &copy).expect("copied");
        fs::rename(copy, at.join("events/db")).expect("replaced");
    }),
];

/// A short record is made durable by the journal, and one that is longer than that by the database.
#[test]
fn nothing_is_durable_in_a_database_that_is_not_where_it_was() {
    let (one, two) = (&frames()[0], &frames()[1]);
    let long = vec![7; 2 << 20];
    for (name, happen) in HAPPENED {
        for record in [&*two.1, &long] {
            let temporary = tempfile::tempdir().expect("a directory");
            let at = temporary.path().join("data");
            let storage = SledStorage::open(&at.join("events")).expect("opened");
            storage.append(one.0, &one.1).expect("appended");
            storage.sync().expect("synced");
            happen(&at);
            let (length, appended) = (record.len(), storage.append(two.0, record));
            let refused = appended.and_then(|()| storage.sync().map(drop));
            let refused = refused.expect_err(name);
            assert!(
                matches!(refused, Error::Gone(_)),
                "{name}, {length}: {refused}"
            );
        }
    }
}

#[test]
fn a_second_opening_is_refused_and_takes_nothing_from_the_first() {
    let temporary = tempfile::tempdir().expect("a directory");
    let events = temporary.path().join("events");
    let reserve = events.with_extension("reserve");
    let first = SledStorage::open(&events).expect("opened");
    let snapshot = events.join("snap.1.generating");
    fs::write(&snapshot, b"").expect("the first is writing one");
    let refused = SledStorage::open(&events).expect_err("it is open");
    assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    assert!(reserve.exists() && snapshot.exists());
    drop(first);
    SledStorage::open(&events).expect("free again");
}

#[cfg(unix)]
mod switched {
    use super::super::beside::kept_beside;
    use super::super::script::{self, Commands, Silent};
    use super::*;
    use crate::{Log, Purpose, Reader, Writer};
    use std::num::NonZeroU64;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    /// A log in this directory, with a snapshot every ten commits.
    fn started(at: &Path) -> (Writer, Arc<SledStorage>) {
        let storage = Arc::new(SledStorage::open(&at.join("events")).expect("opened"));
        let dynamic = Arc::clone(&storage) as Arc<dyn Storage>;
        let mut log = Log::open(dynamic, script::empty()).expect("opened");
        log.keep_snapshots(kept_beside(at), NonZeroU64::new(10), None)
            .expect("started");
        (log.start(Box::new(Silent)).expect("started"), storage)
    }

    fn write(writer: &Writer, commands: &mut Commands, submissions: usize) {
        for _ in 0..submissions {
            script::submit(writer, &Arc::default(), commands.submission()).expect("written");
        }
    }

    /// The usual way to put a log that was restored beside another in its place.
    #[test]
    fn nothing_of_a_log_gets_to_where_the_link_leads_later() {
        let temporary = tempfile::tempdir().expect("a directory");
        let [own, other, link] =
            ["own", "other", "current"].map(|name| temporary.path().join(name));
        let (writer, storage) = started(&other);
        write(&writer, &mut Commands::default(), 5);
        drop((writer, storage));
        let before = kept_beside(&other).revisions().expect("listed");
        fs::remove_file(other.join("events.reserve")).expect("removed");
        fs::create_dir(&own).expect("made");
        symlink(&own, &link).expect("linked");
        let (writer, storage) = started(&link);
        let mut commands = Commands::default();
        write(&writer, &mut commands, 5);
        fs::remove_file(&link).expect("removed");
        symlink(&other, &link).expect("switched");
        write(&writer, &mut commands, 60);
        // So much that blocks are allocated, and with them the reserve.
        storage.ensure_space(4 << 20, Purpose::Writes);
        drop((writer, storage));
        let kept = |at: &Path| kept_beside(at).revisions().expect("listed");
        assert!(kept(&own).first() > before.first(), "it has gone on");
        assert_eq!(kept(&other), before);
        assert!(!other.join("events.reserve").exists());
        let opened = SledStorage::open(&other.join("events")).expect("opened");
        let reader = Reader::new(Arc::new(opened)).with_snapshots(kept_beside(&other));
        reader.check_end().expect("all is of one log");
    }
}
