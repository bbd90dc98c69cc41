//! Backups and restores that are killed at any call, and the order in which their parts become
//! durable: a file or a directory under its final name is complete.

use super::calls::{count, killed_in, life, made};
use super::verify;
use hindsight_log::DirectoryLock;
use hindsight_tests::cuts::{Call, read};
use hindsight_tests::dice::number;
use hindsight_tests::disk::{Disk, skipped};
use hindsight_tests::server::{Server, binary, hindsight, serve, stdout, text};
use hindsight_tests::strace::{
    complete_record, recorded, recorded_whole, with_fault_of, with_recorded_fault,
};
use hindsight_tests::wait::wait_until;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The calls that change files, or what is in a directory.
const CALLS: &[&str] = &[
    "write",
    "pwrite64",
    "sync_file_range",
    "fdatasync",
    "fsync",
    "fallocate",
    "ftruncate",
    "mkdir",
    "rename",
    "unlink",
    "unlinkat",
    "rmdir",
];
/// Files that are derived, or only lock, and need no sync.
const NEEDS_NO_SYNC: &[&str] = &["lock", "events.place", "events.reserve"];
/// The head of a backup; the rest is the same in any two backups of one log.
const HEAD_BYTES: usize = 30;

/// A log that was thinned, a backup of it, and one of an older state.
struct Fixture {
    _temporary: tempfile::TempDir,
    place: PathBuf,
    source: PathBuf,
    file: PathBuf,
    older: Vec<u8>,
    newer: Vec<u8>,
}

impl Fixture {
    fn new() -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let place = temporary.path().canonicalize().expect("a path");
        let (source, file) = (place.join("data"), place.join("backups/log.backup"));
        fs::create_dir(place.join("backups")).expect("made");
        life(&source, "a");
        let backed_up = || {
            stdout(&backup(&source, &file).output().expect("it runs"));
            fs::read(&file).expect("a backup")
        };
        let older = backed_up();
        life(&source, "b");
        let newer = backed_up();
        assert!(
            verify(&source).contains("history is complete from"),
            "it was thinned"
        );
        Self {
            _temporary: temporary,
            place,
            source,
            file,
            older,
            newer,
        }
    }

    /// All files in the folder of the backups.
    fn names(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.place.join("backups")).expect("there");
        found.map(|one| one.expect("readable").path()).collect()
    }

    fn file_is_whole(&self, place: &str) -> bool {
        let found = fs::read(&self.file).expect("it keeps its name");
        let is_new = found.get(HEAD_BYTES..) == self.newer.get(HEAD_BYTES..);
        assert!(is_new || found == self.older, "{place}: neither is whole");
        is_new
    }
}

fn backup(source: &Path, file: &Path) -> Command {
    let mut command = Command::new(binary("hindsight"));
    command.args(["backup", "--force"]).arg(file);
    command.arg("--data-dir").arg(source);
    command
}

fn restore(file: &Path, target: &Path) -> Command {
    let mut command = Command::new(binary("hindsight"));
    command.arg("restore").arg(file);
    command.arg("--data-dir").arg(target);
    command
}

/// Runs a command and returns its record.
fn ran(run: &mut Command, record: &Path) -> String {
    stdout(&run.output().expect("it runs"));
    complete_record(record)
}

/// Runs a command again and again, each time killed at another call; returns a summary.
fn killed_at_each(command: &Command, place: &Path, mut check: impl FnMut(&str)) -> String {
    let apart = usize::try_from(number("HINDSIGHT_CALLS_APART", 12)).expect("small");
    let record = place.join("record");
    let Some(mut run) = recorded(command, &CALLS.join(","), &record) else {
        return "nothing".into();
    };
    let record = ran(&mut run, &record);
    check("not killed");
    let counts = count(made(&record, CALLS, place));
    let mut of_calls: BTreeMap<&str, usize> = BTreeMap::new();
    for (kind, count) in &counts {
        let mut killed = |at: &usize| {
            let run = killed_in(command, place, kind, *at)
                .expect("as before")
                .output();
            check(&format!("{kind:?} {at}"));
            !run.expect("it runs").status.success()
        };
        let kills = (1..=*count).step_by(apart).filter(|at| killed(at)).count();
        *of_calls.entry(&kind.0).or_default() += kills;
    }
    // Some names of the engine's files are new in each run.
    let is_hit = |kills: &usize| *kills > 0;
    assert!(of_calls.values().all(is_hit), "{of_calls:?} of {counts:?}");
    let all: usize = of_calls.values().sum();
    format!("{all} kills, one at every {apart} of each of {counts:?}")
}

#[test]
fn a_kill_at_any_call_of_a_backup_leaves_the_one_before_it_or_the_whole() {
    let fixture = Fixture::new();
    let command = backup(&fixture.source, &fixture.file);
    let (mut old, mut new) = (0, 0);
    let kills = killed_at_each(&command, &fixture.place, |place| {
        if fixture.file_is_whole(place) {
            new += 1;
        } else {
            old += 1;
        }
        // What the kill left does not hinder the next backup, and the log is unchanged.
        stdout(
            &backup(&fixture.source, &fixture.file)
                .output()
                .expect("it runs"),
        );
        assert!(fixture.file_is_whole(place), "{place}");
        assert_eq!(fixture.names(), [&*fixture.file], "{place}");
        fs::write(&fixture.file, &fixture.older).expect("written");
    });
    println!("{kills}: {old} left the older, {new} the newer");
}

/// The state in a log, up to where its backup ends.
fn replayed(directory: &Path, until: &str) -> String {
    stdout(&hindsight(directory, &["replay", "--until", until]))
}

#[test]
fn a_kill_at_any_call_of_a_restore_leaves_nothing_the_whole_or_what_is_refused() {
    let fixture = Fixture::new();
    let target = fixture.place.join("restored");
    let command = restore(&fixture.file, &target);
    let expected = stdout(&hindsight(&fixture.source, &["replay"]));
    let until = expected.split([' ', ',']).nth(1).expect("a revision");
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let kills = killed_at_each(&command, &fixture.place, |place| {
        let again = || restore(&fixture.file, &target).output().expect("it runs");
        let left = left_by(&hindsight(&target, &["verify", "--deep"]));
        *found.entry(left).or_default() += 1;
        match left {
            WHOLE => refused(&again(), "already contains a log"),
            _ => drop(stdout(&again())),
        }
        verify(&target);
        assert_eq!(replayed(&target, until), expected, "{place}, {left}");
        assert!(!target.join("restoring").exists(), "{place}");
        fs::remove_dir_all(&target).expect("removed");
    });
    println!("{kills}: {found:?}");
}

#[test]
fn a_restore_of_which_only_the_work_stays_has_succeeded() {
    let fixture = Fixture::new();
    let target = fixture.place.join("restored");
    let command = restore(&fixture.file, &target);
    let work = target.join("restoring");
    let kept = |command: &Command| with_fault_of(command, "unlinkat,rmdir", "error=EIO", &work);
    let of_target = |words: &[&str]| {
        let mut command = Command::new(binary("hindsight"));
        command.args(words).arg("--data-dir").arg(&target);
        command
    };
    for command in [
        command,
        of_target(&["verify"]),
        of_target(&["get", "namespaces"]),
    ] {
        let Some(mut kept) = kept(&command) else {
            return;
        };
        let run = kept.output().expect("it runs");
        let told = text(&run.stderr);
        assert!(run.status.success(), "{command:?}: {told}");
        assert!(told.contains("restored stays; "), "{command:?}: {told}");
        assert!(work.exists(), "nothing was refused");
    }
    let kept = kept(&serve(&target)).expect("as before");
    let server = Server::start_with(kept, &target).expect("the log is whole");
    assert_eq!(server.signal("TERM"), Some(0));
    assert!(work.exists(), "nothing was refused");
    verify(&target);
    assert!(!work.exists(), "it is not needed");
}

#[test]
fn a_restore_of_a_bad_backup_says_so_though_its_work_stays() {
    let fixture = Fixture::new();
    let target = fixture.place.join("restored");
    let mut bytes = fixture.newer.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&fixture.file, bytes).expect("written");
    let command = restore(&fixture.file, &target);
    let work = target.join("restoring");
    let Some(mut kept) = with_fault_of(&command, "unlinkat,rmdir", "error=EIO", &work) else {
        return;
    };
    refused(&kept.output().expect("it runs"), "use another backup");
    assert!(work.exists(), "nothing was refused");
    fs::write(&fixture.file, &fixture.newer).expect("written");
    stdout(&restore(&fixture.file, &target).output().expect("it runs"));
    verify(&target);
}

#[test]
fn a_restore_that_cannot_move_what_it_made_to_its_place_leaves_nothing() {
    let fixture = Fixture::new();
    let target = fixture.place.join("restored");
    let command = restore(&fixture.file, &target);
    let made = target.join("restoring/events");
    let Some(mut stuck) = with_fault_of(&command, "rename", "error=EIO", &made) else {
        return;
    };
    refused(&stuck.output().expect("it runs"), "moving ");
    assert!(!target.exists(), "it was made for that");
    stdout(&restore(&fixture.file, &target).output().expect("it runs"));
    verify(&target);
}

#[test]
fn a_backup_that_a_signal_ends_while_it_is_synced_replaces_nothing() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let place = temporary.path().canonicalize().expect("a path");
    let [source, file, unfinished, record] =
        ["source", "file", "file.unfinished", "record"].map(|name| place.join(name));
    // Beside a server, the backup syncs nothing but its file.
    let _server = Server::start_on(&source);
    let command = backup(&source, &file);
    stdout(&backup(&source, &file).output().expect("it runs"));
    let before = fs::read(&file).expect("a backup");
    // Longer than the signal takes to come. The tracer holds the end of the process back as long.
    let fault = "delay_enter=10000000";
    let Some(mut slow) = with_recorded_fault(&command, "fsync", fault, 1, &record) else {
        return;
    };
    let made = slow.stderr(Stdio::piped()).spawn().expect("it starts");
    wait_until("it is synced", || {
        let calls = fs::read_to_string(&record).unwrap_or_default();
        calls.contains(&format!("<{}>", unfinished.display()))
    });
    let mut kill = Command::new("kill");
    let sent = kill.args(["-INT", &made.id().to_string()]).status();
    assert!(sent.expect("it runs").success());
    let ended = made.wait_with_output().expect("it ends");
    let told = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{told}");
    assert!(told.contains("was not written"), "{told}");
    assert_eq!(fs::read(&file).expect("it stays"), before);
    assert!(!unfinished.exists());
}

/// The storage engine is not asked, whose lock would keep it out.
#[test]
fn what_is_intact_of_a_log_is_not_saved_while_it_is_written_though_its_lock_was_removed() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let [source, file] = ["source", "file"].map(|name| temporary.path().join(name));
    let server = Server::start_on(&source);
    fs::remove_file(DirectoryLock::path(&source)).expect("removed");
    let saved = || backup(&source, &file).arg("--intact").output();
    let beside = saved().expect("it runs");
    refused(&beside, "events/db is in use by a process that has it open");
    assert!(!file.exists());
    assert_eq!(server.signal("TERM"), Some(0));
    stdout(&saved().expect("it runs"));
}

/// Nothing can be moved onto a mounted file system, nor can that be moved out of the way.
#[test]
fn a_file_system_of_its_own_gets_a_restored_log_by_what_the_refusal_says() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let [source, file, new, target] =
        ["source", "file", "new", "target"].map(|name| temporary.path().join(name));
    let events = target.join("events");
    let Some(_disk) = Disk::in_memory(&events, 128) else {
        skipped("a restore beside a mount", "nothing can be mounted here");
        return;
    };
    fs::create_dir(events.join("lost+found")).expect("made");
    life(&source, "a");
    stdout(&backup(&source, &file).output().expect("it runs"));
    let refusal = || {
        let output = restore(&file, &target).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        text(&output.stderr)
    };
    let told = refusal();
    assert!(told.contains("though it has none; remove it"), "{told}");
    let advised = |told: &str| -> Vec<String> {
        let quoted = told.split('`').skip(1).step_by(2);
        let named = |command: &str| command.replace("NEW", new.to_str().expect("UTF-8"));
        quoted.map(named).collect()
    };
    let commands = advised(&told);
    let [first, then] = commands.as_slice() else {
        panic!("{told}");
    };
    stdout(&restore(&file, &new).output().expect("it runs"));
    let run = |command: &str| {
        let mut shell = Command::new("sh");
        stdout(&shell.args(["-c", command]).output().expect("it runs"));
    };
    run(first);
    let half = hindsight(&target, &["verify"]);
    assert!(text(&half.stderr).contains("are lost"), "{half:?}");
    run(then);
    verify(&target);
    let expected = stdout(&hindsight(&source, &["replay"]));
    let until = expected.split([' ', ',']).nth(1).expect("a revision");
    assert_eq!(replayed(&target, until), expected);
    life(&target, "b");
    let told = refusal();
    assert!(told.contains("files in events out of it, then"), "{told}");
    assert_eq!(advised(&told), commands);
}

const WHOLE: &str = "the whole";

/// What a killed restore has left, as `hindsight verify` reports it.
fn left_by(verified: &Output) -> &'static str {
    let said = text(&verified.stderr);
    if verified.status.success() {
        WHOLE
    } else if said.contains("was not finished") {
        assert!(said.contains("hindsight restore"), "{said}");
        "what is refused"
    } else {
        assert!(said.contains("contains no event log; give"), "{said}");
        "nothing"
    }
}

fn refused(output: &Output, why: &str) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(why), "{message}");
}

/// The names and files that are not durable yet, at a point of a record.
#[derive(Debug, Default)]
struct Undurable {
    made: BTreeSet<PathBuf>,
    /// Names that were added since their directory was synced.
    names: BTreeSet<PathBuf>,
    /// Files that were changed since they were synced.
    changed: BTreeSet<PathBuf>,
    syncing: BTreeMap<u32, PathBuf>,
}

impl Undurable {
    fn name(&mut self, path: &Path) {
        if self.made.insert(path.to_owned()) {
            self.names.insert(path.to_owned());
        }
    }

    fn take(&mut self, call: &Call) {
        match call {
            Call::Opened { path, is_new, .. } if *is_new => self.name(path),
            Call::MadeDirectory(path) => self.name(path),
            Call::Wrote { path, .. }
            | Call::Truncated { path, .. }
            | Call::Extended { path, .. } => {
                self.changed.insert(path.clone());
            }
            Call::Removed(path) | Call::Other(path) => {
                self.made.remove(path);
                self.names.remove(path);
                self.changed.remove(path);
            }
            Call::Renamed(from, to) => {
                self.take(&Call::Removed(from.clone()));
                self.made.remove(to);
                self.name(to);
            }
            Call::SyncBegan { thread, path } => {
                self.changed.remove(path);
                self.syncing.insert(*thread, path.clone());
            }
            Call::SyncEnded { thread } => {
                let directory = self.syncing.remove(thread);
                let is_in = |name: &PathBuf| name.parent() == directory.as_deref();
                self.names.retain(|name| !is_in(name));
            }
            Call::Opened { .. } | Call::Sought { .. } => {}
        }
    }

    /// What is not durable below this directory, without what needs no sync.
    fn below(&self, root: &Path) -> Vec<&PathBuf> {
        let matters = |path: &&PathBuf| {
            let needs_no_sync = |name: &&str| path.ends_with(name);
            path.starts_with(root) && !NEEDS_NO_SYNC.iter().any(needs_no_sync)
        };
        let all = self.names.iter().chain(&self.changed);
        all.chain(self.syncing.values()).filter(matters).collect()
    }
}

/// Checks that the final name is given only when all that belongs to it is durable, and is itself
/// durable at the end.
fn is_named_last(command: &Command, place: &Path, root: &Path, last: &Path) {
    let record = place.join("record");
    let calls = format!("openat,{}", CALLS.join(","));
    let Some(mut run) = recorded_whole(command, &calls, &record) else {
        return;
    };
    let record = ran(&mut run, &record);
    let (mut files, mut is_named) = (Undurable::default(), false);
    for call in read(&record).into_iter().flat_map(|(_, calls)| calls) {
        if let Call::Renamed(from, to) = &call
            && to == last
        {
            files.names.remove(from);
            assert_eq!(
                files.below(root),
                Vec::<&PathBuf>::new(),
                "not durable before"
            );
            is_named = true;
            files.take(&call);
            continue;
        }
        files.take(&call);
        let others = files
            .below(root)
            .into_iter()
            .find(|one| *one != last && !one.is_dir());
        assert!(
            !is_named || others.is_none(),
            "{others:?} after the end: {call:?}"
        );
    }
    assert!(is_named, "{} got no name", last.display());
    assert_eq!(
        files.below(root),
        Vec::<&PathBuf>::new(),
        "not durable at the end"
    );
}

#[test]
fn backups_and_restores_are_durable_before_they_have_their_names() {
    let fixture = Fixture::new();
    let (place, backups) = (&fixture.place, fixture.place.join("backups"));
    is_named_last(
        &backup(&fixture.source, &fixture.file),
        place,
        &backups,
        &fixture.file,
    );
    let target = place.join("restored");
    let command = restore(&fixture.file, &target);
    is_named_last(&command, place, &target, &target.join("events"));
}
