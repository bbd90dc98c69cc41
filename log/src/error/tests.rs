//! Each message of each error goes on with what to do.

use super::*;
use hindsight_core::Time;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::path::Path;

const KINDS: [ErrorKind; 4] = [
    ErrorKind::PermissionDenied,
    ErrorKind::StorageFull,
    ErrorKind::NotFound,
    ErrorKind::Other,
];

fn io(kind: ErrorKind) -> Error {
    Error::io("opening /data")(kind.into())
}

/// A new variant does not compile until it has a number here, and then needs a row in the test below.
const fn variant(error: &Error) -> usize {
    match error {
        Error::Locked { .. } => 0,
        Error::Corrupt { .. } => 1,
        Error::Lost { .. } => 2,
        Error::Unwitnessed { .. } => 3,
        Error::Diverged { .. } => 4,
        Error::Pruned(_) => 5,
        Error::Future(_) => 6,
        Error::Snapshot { .. } => 7,
        Error::Backup(_) => 8,
        Error::Overtaken { .. } => 9,
        Error::UnfinishedRestore(_) => 10,
        Error::NewerFormat { .. } => 11,
        Error::Closed => 12,
        Error::Foreign(_) => 13,
        Error::NotAFile(_) => 14,
        Error::Damaged { .. } => 15,
        Error::Unopened { .. } => 16,
        Error::Gone(_) => 17,
        Error::ReadOnly(_) => 18,
        Error::ShortFiles { .. } => 19,
        Error::Clock => 20,
        Error::Io { .. } => 21,
        Error::Gap { .. } => 22,
        Error::NoState { .. } => 23,
        Error::PrunedTime(_) => 24,
        Error::OtherSnapshot { .. } => 25,
        Error::TooLong { .. } => 26,
        Error::Defect { .. } => 27,
        Error::Read { .. } => 28,
        Error::Bump { .. } => 29,
        Error::Missing { .. } => 30,
        Error::Dangling { .. } => 31,
        Error::Denied { .. } => 32,
        Error::NewerSnapshot { .. } => 33,
        Error::NewerBackup { .. } => 34,
        Error::Engine { .. } => VARIANTS - 1,
    }
}
const VARIANTS: usize = 36;

#[test]
fn who_opens_a_directory_again_is_not_told_to_stop_itself() {
    let id = std::process::id();
    for (holder, told) in [
        (
            "this process".into(),
            "by this process, which has opened it already; close it first",
        ),
        ("this process at https://here".into(), "by this process, "),
        (format!("process {id}"), "; stop it, or name"),
        (
            "a command that reads it".into(),
            "by a command that reads it; stop it",
        ),
    ] {
        let directory = PathBuf::from("/data");
        let said = Error::Locked { directory, holder }.to_string();
        assert!(said.contains(told), "{said}");
    }
}

const BEFORE: PrunedTime = PrunedTime {
    asked: Time(0),
    floor: Revision(9),
};

/// An error of every variant.
fn all() -> Vec<Error> {
    let [revision, asked, damaged, newest, floor] = [7, 7, 7, 6, 9].map(Revision);
    let (path, directory) = (PathBuf::from("/data/x"), PathBuf::from("/data"));
    let (source, bump) = (|| BoxedError::from("of the reason"), NonZeroU64::MIN);
    let (pruned, future) = (Pruned { asked, floor }, FutureRevision { asked, newest });
    let told = [
        Error::Closed,
        Error::Locked {
            directory: directory.clone(),
            holder: "process 1".into(),
        },
        Error::corrupt(revision, source()),
        Error::Diverged { revision },
        Error::OtherSnapshot { revision },
        Error::Pruned(pruned),
        Error::PrunedTime(BEFORE),
        Error::Future(future),
        Error::Snapshot {
            path: path.clone(),
            source: source(),
        },
        Error::Backup(source()),
        Error::Bump { bump },
        Error::Overtaken { floor },
        Error::NoState { damaged, floor },
        Error::UnfinishedRestore(directory.clone()),
        Error::NewerFormat {
            found: 9,
            known: 4,
            revision: Some(revision),
        },
        Error::NewerSnapshot {
            path: path.clone(),
            found: 9,
            known: 4,
        },
        Error::NewerBackup { found: 9, known: 4 },
        Error::Foreign(directory),
        Error::NotAFile(path.clone()),
        Error::TooLong {
            path: path.clone(),
            longest: 90,
        },
        Error::defect("encoding a record", source()),
        Error::Damaged {
            path: path.clone(),
            at: 512,
        },
        Error::Unopened {
            until: newest,
            broken: Some(Box::new(Error::corrupt(revision, source()))),
            source: source(),
        },
        Error::Gone(path.clone()),
        Error::ReadOnly(path),
        Error::ShortFiles {
            limit: 1,
            needed: 2,
        },
        Error::Clock,
        Error::engine(EngineCall::Write, source()),
        Error::reading("/data")(ErrorKind::Other.into()),
        Error::Denied {
            what: "opening /data".into(),
            source: ErrorKind::PermissionDenied.into(),
        },
    ];
    let told = told.into_iter().chain(too_short(revision, newest));
    told.chain(KINDS.map(io)).collect()
}

/// Those of a log that does not end where it should.
fn too_short(acknowledged: Revision, newest: Revision) -> [Error; 6] {
    let path = PathBuf::from("/data/x");
    let dangling = |newest| Error::Dangling {
        path: path.clone(),
        newest,
    };
    [
        dangling(Revision::ZERO),
        dangling(newest),
        Error::Lost {
            acknowledged,
            newest,
        },
        Error::Missing {
            database: path.clone(),
            acknowledged,
            newest,
        },
        Error::Gap {
            revision: acknowledged,
            newest,
        },
        Error::Unwitnessed { newest },
    ]
}

#[test]
fn every_message_goes_on_with_what_to_do() {
    let told = all();
    let variants: BTreeSet<usize> = told.iter().map(variant).collect();
    assert_eq!(variants.len(), VARIANTS);
    for error in told.iter().map(ToString::to_string) {
        let advice = error.split_once(';').map_or("", |(_, advice)| advice);
        assert!(advice.trim().len() > 20, "{error}");
    }
}

#[test]
fn an_error_of_the_system_says_what_can_be_done_about_it() {
    for (kind, advice) in [
        (
            ErrorKind::ReadOnlyFilesystem,
            "the file system is read-only",
        ),
        (
            ErrorKind::NotADirectory,
            "a part of this path is not a directory",
        ),
        (
            ErrorKind::AlreadyExists,
            "its place is taken by what is no directory",
        ),
        (
            ErrorKind::PermissionDenied,
            "give this user read and write permission",
        ),
        (ErrorKind::OutOfMemory, "give this program more memory"),
        (ErrorKind::Other, "look for disk errors"),
    ] {
        let told = Error::io("creating d")(kind.into()).to_string();
        assert!(told.starts_with("creating d: "), "{told}");
        assert!(told.contains(advice), "{told}");
    }
}

#[test]
fn what_is_in_the_place_of_a_file_is_removed_only_where_the_file_is_made_again() {
    const REMOVED: &str = "remove it: the next start makes the file again";
    for (name, advice) in [
        ("events.reserve", REMOVED),
        ("events.place", REMOVED),
        ("events/reserve", REMOVED),
        ("events/place", REMOVED),
        ("events.tail", "put an empty file in its place"),
        ("events/journal", "`hindsight backup --intact FILE`"),
        ("events/db", "put the original file back, or restore a copy"),
        ("lock", REMOVED),
    ] {
        let (path, longest) = (Path::new("/data").join(name), 90);
        for error in [
            Error::NotAFile(path.clone()),
            Error::TooLong { path, longest },
        ] {
            let told = error.to_string();
            assert!(told.contains(advice), "{told}");
            assert_eq!(told.contains(REMOVED), advice == REMOVED, "{told}");
        }
    }
}
