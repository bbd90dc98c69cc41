//! Which system calls the program makes, and in which order.

use super::{create, wait_until};
use hindsight_tests::server::{Server, binary, serve, stdout};
use hindsight_tests::strace::{Strace, complete_record, recorded};
use hindsight_tests::wire::Caller;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SYNCS: &str = "fsync,fdatasync";
const WRITES: usize = 5;
/// The calls that may end a request, answer it, and sync.
const READS: &[&str] = &["read", "readv", "recvfrom", "recvmsg"];
const ANSWERS: &[&str] = &["write", "writev", "sendto", "sendmsg"];
const SYNC: &str = "fdatasync";
const SEEK: &str = "lseek";
/// The call with which the engine reads its database, and the one that tells the system to drop its
/// cache of it.
const READ_AT: &str = "pread64";
const FORGET: &str = "fadvise64";
/// Those by which a file is copied.
const COPIES: &[&str] = &["copy_file_range", "sendfile"];
/// How often the journal must begin again, and the most writes that it takes.
const ROUNDS: usize = 2;
const WRITES_MAX: usize = 10_000;

/// How often a file was synced, according to a record.
fn synced(record: &str, path: &Path) -> usize {
    let path = format!("<{}>", path.display());
    let lines = record.lines();
    lines
        .filter(|line| line.contains("sync(") && line.contains(&path))
        .count()
}

/// The record of a start and a stop, and their data directory, which is `relative` to the temporary
/// one.
fn recorded_start(temporary: &Path, relative: &str, calls: &str) -> Option<(String, PathBuf)> {
    let record = temporary.join("record");
    let mut command = recorded(&serve(Path::new(relative)), calls, &record)?;
    command.current_dir(temporary);
    let directory = temporary.join(relative);
    let server = Server::start_with(command, &directory).expect("started");
    let ended = [server.pid().to_string(), "+++".into()];
    assert_eq!(server.signal("TERM"), Some(0));
    let read = || std::fs::read_to_string(&record).expect("the record");
    wait_until("the end of the record", || {
        let is_it = |line: &str| line.split_whitespace().take(2).eq(&ended);
        read().lines().any(is_it)
    });
    Some((read(), directory))
}

#[test]
fn a_start_syncs_the_database_and_every_directory_above_it() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let Some((record, directory)) = recorded_start(temporary.path(), "made/by/it", SYNCS) else {
        return;
    };
    let events = directory.join("events");
    let above = directory.ancestors().take(4);
    for path in [&*events.join("db"), &events].into_iter().chain(above) {
        let times = synced(&record, path);
        assert!(times > 0, "{} is not synced", path.display());
    }
}

/// After a failed sync the page cache shows what the disk never had, and a later sync finds nothing
/// to write.
#[test]
fn what_a_start_reads_of_the_database_is_what_the_disk_has() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let calls = format!("{SYNCS},{FORGET},{READ_AT}");
    let start = || recorded_start(temporary.path(), "data", &calls);
    let (Some(_), Some((record, directory))) = (start(), start()) else {
        return;
    };
    let database = directory.join("events").join("db");
    let calls = Call::all(&record);
    let of = |name: &'static str| {
        let about = calls.iter().filter(|call| call.is_about(&database));
        let named = about.filter(move |call| call.name == name);
        named.map(|call| call.begin)
    };
    let forgot = of(FORGET).next().expect("it is to be forgotten");
    assert!(of("fsync").any(|sync| sync < forgot), "{record}");
    assert!(
        of(READ_AT).next().is_some_and(|read| read > forgot),
        "{record}"
    );
    let witness = directory.join("events.tail");
    let mut calls = calls.iter().filter(|call| call.is_about(&witness));
    let first = calls.next().map(|call| call.name);
    assert_eq!(first, Some("fsync"), "{record}");
    assert_eq!(calls.next().map(|call| call.name), Some(FORGET), "{record}");
}

/// The same of what is verified, and of what a restore reads back. After a kill the journal has the newest records.
#[test]
fn what_is_checked_is_what_the_disk_has() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let [data, restored, backup] =
        ["data", "restored", "b"].map(|name| temporary.path().join(name));
    assert_eq!(Server::start_on(&data).signal("KILL"), None);
    let backup = backup.to_str().expect("UTF-8");
    let verified = ["events/db", "events/journal", "events.tail"];
    for (arguments, directory, files, reads) in [
        (&["verify"][..], &data, &verified[..], COPIES),
        // What is restored then.
        (&["backup", backup], &data, &[], COPIES),
        (
            &["restore", backup],
            &restored,
            &["restoring/events/db"],
            &[READ_AT],
        ),
    ] {
        let record = temporary.path().join(arguments[0]);
        let mut command = Command::new(binary("hindsight"));
        command.args(arguments).arg("--data-dir").arg(directory);
        let traced = format!("execve,{FORGET},{},{READ_AT}", COPIES.join(","));
        let Some(mut command) = recorded(&command, &traced, &record) else {
            return;
        };
        stdout(&command.output().expect("it runs"));
        let record = complete_record(&record);
        let calls = Call::all(&record);
        for file in files.iter().map(|name| directory.join(name)) {
            let mut about = calls.iter().filter(|call| call.is_about(&file));
            about
                .find(|call| call.name == FORGET)
                .expect("it is to be forgotten");
            let read = about.find(|call| reads.contains(&call.name));
            assert!(read.is_some(), "{} {record}", file.display());
        }
    }
}

/// A call of a thread, with the lines of the record in which it begins and ends, which are the same
/// unless another thread came between.
#[derive(Debug)]
struct Call<'a> {
    name: &'a str,
    about: &'a str,
    begin: usize,
    end: usize,
    result: i64,
}

impl<'a> Call<'a> {
    fn all(record: &'a str) -> Vec<Self> {
        let mut calls = Vec::new();
        let mut begun = BTreeMap::new();
        for (line, text) in record.lines().enumerate() {
            let Some((thread, text)) = text.split_once(' ') else {
                continue;
            };
            let text = text.trim_start();
            let (begin, started) = if text.starts_with("<... ") {
                let Some(started) = begun.remove(thread) else {
                    continue;
                };
                started
            } else {
                (line, text)
            };
            if text.ends_with("<unfinished ...>") {
                begun.insert(thread, (begin, started));
                continue;
            }
            let result = text.rsplit_once(" = ").map(|(_, result)| result);
            let result = result.and_then(|one| one.split_whitespace().next()?.parse().ok());
            if let (Some((name, rest)), Some(result)) = (started.split_once('('), result) {
                calls.push(Self {
                    name,
                    about: rest.split(['>', ',', ')']).next().unwrap_or_default(),
                    begin,
                    end: line,
                    result,
                });
            }
        }
        calls
    }

    /// Whether it is one of these calls on a socket, and some bytes went through it.
    fn is_of(&self, names: &[&str]) -> bool {
        names.contains(&self.name) && self.about.contains("<socket:") && self.result > 0
    }

    fn is_sync_of(&self, file: &Path) -> bool {
        self.name == SYNC && self.is_about(file) && self.result == 0
    }

    fn is_seek_in(&self, file: &Path) -> bool {
        self.name == SEEK && self.is_about(file)
    }

    fn is_about(&self, file: &Path) -> bool {
        self.about.ends_with(&format!("<{}", file.display()))
    }
}

#[test]
fn every_answer_follows_a_sync_of_the_log() {
    let server = Server::start();
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let record = temporary.path().join("record");
    let mut wire = Caller::of(&server).connect().expect("connected");
    create(&mut wire, "before", 1);
    let calls = [READS, ANSWERS, &[SYNC]].concat().join(",");
    let Some(strace) = Strace::record(server.pid(), &calls, &record) else {
        return;
    };
    // Sequentially, so that no two of them share a sync.
    for index in 0..WRITES {
        create(&mut wire, &format!("c{index}"), 1);
    }
    drop(strace);
    let record = std::fs::read_to_string(&record).expect("the record");
    let [journal, database] =
        ["journal", "db"].map(|name| server.directory().join("events").join(name));
    let is_synced = |call: &&Call<'_>| call.is_sync_of(&journal) || call.is_sync_of(&database);
    let calls = Call::all(&record);
    let answers: Vec<&Call<'_>> = calls.iter().filter(|call| call.is_of(ANSWERS)).collect();
    assert!(answers.len() >= WRITES, "{answers:?}\n{record}");
    for answer in answers {
        let before = calls.iter().filter(|call| call.end < answer.begin);
        let asked = before.clone().filter(|call| call.is_of(READS));
        let asked = asked.map(|call| call.end).max();
        let asked = asked.unwrap_or_else(|| panic!("no request before {answer:?}:\n{record}"));
        let mut synced = before.filter(is_synced);
        assert!(
            synced.any(|sync| sync.begin > asked),
            "no sync between the line {asked} and {answer:?}:\n{record}"
        );
    }
}

/// By then the journal's content is synced in the database. What is written over it is not
/// acknowledged earlier.
#[test]
fn the_journal_begins_again_after_a_sync_of_the_database() {
    let server = Server::start();
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let record = temporary.path().join("record");
    let events = server.directory().join("events");
    let [journal, database] = ["journal", "db"].map(|name| events.join(name));
    let calls = format!("{SEEK},{SYNC}");
    let Some(strace) = Strace::record(server.pid(), &calls, &record) else {
        return;
    };
    let mut wire = Caller::of(&server).connect().expect("connected");
    let written = || std::fs::read_to_string(&record).unwrap_or_default();
    let begun = |record: &str| {
        let calls = Call::all(record);
        calls
            .iter()
            .filter(|call| call.is_seek_in(&journal))
            .count()
    };
    let mut count = 0;
    while count % 100 > 0 || begun(&written()) < ROUNDS {
        create(&mut wire, &format!("c{count}"), 1);
        count += 1;
        assert!(count < WRITES_MAX, "it did not begin again");
    }
    drop(strace);
    let record = written();
    let calls = Call::all(&record);
    let mut is_synced = false;
    for call in &calls {
        if call.is_seek_in(&journal) {
            assert!(is_synced, "{call:?} without a sync of the database");
        }
        is_synced = call.is_sync_of(&database) || is_synced && !call.is_sync_of(&journal);
    }
}

/// It is synced by itself, a moment after a write, so that after a power cut it shows how far the log
/// went.
#[test]
fn the_witness_is_synced_soon_after_a_write() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let record = temporary.path().join("record");
    let server = Server::start();
    let mut wire = Caller::of(&server).connect().expect("connected");
    create(&mut wire, "before", 1);
    let Some(tracer) = Strace::record(server.pid(), SYNC, &record) else {
        return;
    };
    create(&mut wire, "after", 1);
    let witness = server.directory().join("events.tail");
    wait_until("the witness is synced", || {
        let told = std::fs::read_to_string(&record).unwrap_or_default();
        synced(&told, &witness) > 0
    });
    drop(tracer);
}
