//! Pipes, devices and directories in the place of files, and files that are too long: they are refused by
//! name, without waiting for them or reading them.

use super::beside::{kept_beside, thinning_life};
use super::disk::Disk;
use super::refusals::after;
use super::rot::open;
use super::script::{self, Commands};
use crate::{DirectoryLock, Error, Intact, Reader, Snapshots};
use hindsight_core::Revision;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const LENGTH: u64 = 3 << 30;
const TOO_LONG: &str = "a file that is too long";

fn pipe(at: &Path) {
    let made = Command::new("mkfifo").arg(at).status();
    assert!(made.expect("mkfifo runs").success());
}

/// Makes something at a path.
type Make = fn(&Path);

/// Things that are not regular files: reading them never ends, or is not possible.
const NO_FILES: [(&str, Make); 3] = [
    ("a pipe", pipe),
    ("a device", |at| symlink("/dev/zero", at).expect("made")),
    ("a directory", |at| fs::create_dir(at).expect("made")),
];

fn long(at: &Path) {
    let made = File::create(at).and_then(|file| file.set_len(LENGTH));
    made.expect("made");
}

#[test]
fn what_is_in_the_place_of_a_file_of_the_log_is_refused_by_name_and_not_read() {
    let names = [
        "events.tail",
        "events.reserve",
        "events.place",
        "lock",
        "events/db",
        "events/conf",
        "events/journal",
        "events/snap.0A",
    ];
    let no_files = names.map(|name| NO_FILES.map(|(what, make)| (name, what, make)));
    let read_whole = ["events.tail", "events/conf", "events/journal"];
    let too_long = read_whole.map(|name| (name, TOO_LONG, long as Make));
    for (name, what, make) in no_files.into_iter().flatten().chain(too_long) {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path().join(name);
        after(temporary.path(), |_| {
            fs::remove_file(&at).ok();
            make(&at);
        });
        for _ in 0..2 {
            let locked = DirectoryLock::acquire(temporary.path());
            let opened = locked.and_then(|_lock| open(temporary.path()));
            let error = opened.expect_err(what);
            let told = match &error {
                Error::NotAFile(path) => Some((path, false)),
                Error::TooLong { path, .. } => Some((path, true)),
                _ => None,
            };
            let expected = Some((&at, what == TOO_LONG));
            assert_eq!(told, expected, "{name}, {what}: {error}");
        }
    }
}

/// The lock of the directory is held meanwhile.
#[test]
fn who_saves_what_is_intact_waits_for_nothing_that_is_in_the_place_of_the_database() {
    for (what, make) in NO_FILES.into_iter().rev() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path().join("events/db");
        after(temporary.path(), |_| {
            fs::remove_file(&at).ok();
            make(&at);
        });
        let found = Intact::of(&temporary.path().join("events"), |_, _| {});
        let error = found.expect_err(what);
        let told = matches!(&error, Error::NotAFile(path) if *path == at);
        assert!(told, "{what}: {error}");
    }
}

#[test]
fn who_asks_for_a_lock_waits_for_nothing_that_is_in_its_place() {
    for (what, make) in NO_FILES {
        let temporary = tempfile::tempdir().expect("a directory");
        let directory = temporary.path();
        let at = DirectoryLock::path(directory);
        make(&at);
        let asked = DirectoryLock::check(directory);
        let read = DirectoryLock::acquire_to_read(directory);
        for refused in [asked, read.map(drop)] {
            let error = refused.expect_err(what);
            let told = matches!(&error, Error::NotAFile(path) if *path == at);
            assert!(told, "{what}: {error}");
        }
        assert_eq!(DirectoryLock::holder(directory), None, "{what}");
    }
}

#[test]
fn what_is_in_the_place_of_a_snapshot_is_passed_over_and_left_as_it_is() {
    for (what, make) in NO_FILES {
        let directory = tempfile::tempdir().expect("a directory");
        let snapshots = Snapshots::at(directory.path().to_owned());
        let at = directory.path().join("00000000000000000007.snapshot");
        make(&at);
        let error = snapshots
            .read(Revision(7), &script::empty())
            .expect_err(what);
        assert!(
            error
                .to_string()
                .contains("7.snapshot: it is not a regular"),
            "{error}"
        );
        assert!(snapshots.newest(&script::empty()).is_none(), "{what}");
        assert_eq!(snapshots.revisions().expect("listed"), [], "{what}");
        assert!(fs::symlink_metadata(at).is_ok(), "{what}");
    }
}

/// The name of a foreign file, and how it is made; the second path is that of a snapshot.
type Theirs = (&'static str, fn(&Path, &Path));

#[test]
fn what_others_keep_beside_snapshots_stops_neither_them_nor_thinning() {
    let copied = |from: &Path, to: &Path| assert!(fs::copy(from, to).is_ok());
    let a_directory = |_: &Path, to: &Path| fs::create_dir(to).expect("made");
    // It opens, but reading it is refused, so what it holds is unknown.
    let unread = |_: &Path, to: &Path| symlink("/proc/self/mem", to).expect("made");
    let theirs: [Theirs; 6] = [
        ("00000000000000099999.snapshot", a_directory),
        ("00000000000000000001.snapshot", a_directory),
        ("00000000000000099999.snapshot", unread),
        ("+0000000000000099999.snapshot", copied),
        ("7.snapshot", copied),
        ("7.unfinished", copied),
    ];
    for (name, put) in theirs {
        let temporary = tempfile::tempdir().expect("a directory");
        let snapshots = kept_beside(temporary.path());
        let disk = Arc::new(Disk::default());
        let mut commands = Commands::default();
        thinning_life(&disk, &snapshots, &mut commands, 100);
        let before = snapshots.revisions().expect("listed")[0];
        let at = temporary.path().join("snapshots").join(name);
        put(&snapshots.path(before), &at);
        let newest = thinning_life(&disk, &snapshots, &mut commands, 300);
        let found = snapshots.revisions_up_to(newest).expect("listed");
        assert!(found.len() == 2 && found[0] > before, "{name}: {found:?}");
        let floor = Reader::new(disk).floor().expect("read");
        assert!(before <= floor && floor <= found[1], "{name}: {floor}");
        assert!(fs::symlink_metadata(at).is_ok(), "{name}");
    }
}

#[test]
fn a_directory_of_snapshots_is_closed_to_others_unless_they_keep_files_there() {
    for (theirs, expected) in [(None, 0o700), (Some("notes.txt"), 0o755)] {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path().join("snapshots");
        fs::create_dir(&at).expect("made");
        fs::set_permissions(&at, Permissions::from_mode(0o755)).expect("opened");
        if let Some(theirs) = theirs {
            fs::write(at.join(theirs), "of somebody else").expect("written");
        }
        let snapshots = Snapshots::at(at.clone());
        let base = crate::Base::empty(script::empty());
        snapshots.write(&base).expect("written");
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&at), expected, "{theirs:?}");
        assert_eq!(mode(&snapshots.path(Revision::ZERO)), 0o600);
    }
}

/// Otherwise empty blocks would be read to the end of the file.
#[test]
fn a_snapshot_that_goes_on_with_nothing_is_damaged_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let base = crate::Base::empty(script::empty());
    snapshots.write(&base).expect("written");
    let path = directory.path().join("00000000000000000000.snapshot");
    let whole = File::options().write(true).open(path).expect("opened");
    whole.set_len(LENGTH).expect("longer");
    let error = snapshots.read(Revision::ZERO, &script::empty());
    let error = error.expect_err("damaged").to_string();
    assert!(error.contains("impossible length"), "{error}");
}
