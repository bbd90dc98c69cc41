//! The program under kills, power cuts, failing calls and a full disk: everything that was answered
//! is there afterwards, without manual repair. `docs/reliability.md` has the commands that run for
//! hours.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

#[path = "faults/backups.rs"]
mod backups;
#[path = "faults/calls.rs"]
mod calls;
#[path = "faults/closes.rs"]
mod closes;
#[path = "faults/copying.rs"]
mod copying;
#[path = "faults/cuts.rs"]
mod cuts;
#[path = "faults/full.rs"]
mod full;
#[path = "faults/kubeconfigs.rs"]
mod kubeconfigs;
#[path = "faults/long_files.rs"]
mod long_files;
#[path = "faults/read_only.rs"]
mod read_only;
#[path = "faults/reserve.rs"]
mod reserve;
#[path = "faults/short.rs"]
mod short;
#[path = "faults/snapshots.rs"]
mod snapshots;
#[path = "faults/starts.rs"]
mod starts;
#[path = "faults/threads.rs"]
mod threads;
#[path = "faults/witness.rs"]
mod witness;
#[path = "faults/writes.rs"]
mod writes;

use hindsight_tests::dice::{Dice, number};
use hindsight_tests::disk::{Disk, skipped};
use hindsight_tests::recorder::{Ledger, Recorder};
use hindsight_tests::server::{Server, binary, hindsight, serve, stdout, text};
use hindsight_tests::strace::{Strace, with_fault, with_fault_of};
use hindsight_tests::wire::{Caller, request};
use std::net::TcpStream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Cycles on one directory before it is replaced, which keeps lists short.
const CYCLES_PER_DIRECTORY: u64 = 20;
/// Long enough for some hundred writes.
const WORK_MILLIS_MAX: u64 = 700;
/// How long tokio keeps a thread that has nothing to do, unless it is told otherwise.
const THREADS_END: Duration = Duration::from_secs(10);

/// A data directory over several lives of its server.
struct History {
    directory: PathBuf,
    ledger: Ledger,
    /// Flags of its server: every other directory's server thins its log as soon as it can.
    flags: &'static [&'static str],
    /// How long the last start took until the server was ready.
    start_time: Duration,
}

const RETENTION_FLAGS: &[&str] = &["--snapshot-every", "60", "--keep-history-bytes", "100KB"];

impl History {
    fn new(directory: PathBuf, number: u64) -> Self {
        Self {
            directory,
            ledger: Ledger::default(),
            flags: if number.is_multiple_of(2) {
                RETENTION_FLAGS
            } else {
                &[]
            },
            start_time: Duration::ZERO,
        }
    }

    fn command(&self) -> Command {
        let mut command = serve(&self.directory);
        command.args(self.flags);
        command
    }

    fn start(&self) -> Server {
        let mut command = self.command();
        command.stderr(Stdio::inherit());
        Server::start_with(command, &self.directory)
            .unwrap_or_else(|ended| panic!("the server did not start: {:?}", ended.status))
    }

    /// Lets clients write for a while, ends the server with `end` while they do, and records what
    /// they were answered.
    fn work(&mut self, cycle: u64, dice: &mut Dice, end: impl FnOnce(Server)) {
        let begun = Instant::now();
        let server = self.start();
        self.start_time = begun.elapsed();
        self.ledger.check(&server);
        let recorder = Recorder::start(&server, &format!("n{cycle}"), dice.roll(u64::MAX));
        std::thread::sleep(Duration::from_millis(dice.roll(WORK_MILLIS_MAX)));
        end(server);
        self.ledger.extend(recorder.stop());
    }

    /// Checks that all answered writes are there; returns how many, and whether the log was thinned.
    fn end(mut self) -> (u64, bool) {
        let server = self.start();
        self.ledger.check(&server);
        assert_eq!(server.signal("TERM"), Some(0));
        let is_thinned = verify(&self.directory).contains("history is complete from");
        (self.ledger.answered, is_thinned)
    }
}

/// Lives through so many cycles, a few of them in each directory, and says what came of it. The history of a
/// directory, by its number and its cycles, gives what [`History::end`] does; none if there can be no disk.
#[expect(clippy::print_stdout, reason = "tells how much was tried")]
fn live(
    what: &str,
    cycles: u64,
    mut history: impl FnMut(&Path, u64, Range<u64>) -> Option<(u64, bool)>,
) {
    let (mut answered, mut cycle, mut directories, mut thinned) = (0, 0, 0, 0);
    let cycles_of_one = CYCLES_PER_DIRECTORY.min(cycles.div_ceil(2));
    while cycle < cycles {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let end = cycles.min(cycle + cycles_of_one);
        let Some((more, is_thinned)) = history(temporary.path(), directories, cycle..end) else {
            return skipped(what, "a file cannot be mounted as a disk here");
        };
        (cycle, directories) = (end, directories + 1);
        answered += more;
        thinned += u64::from(is_thinned);
    }
    assert!(answered > 0, "no write was answered");
    println!(
        "{cycle} {what}, {answered} answered writes, all there; {thinned} of {directories} logs were thinned"
    );
}

fn verify(directory: &Path) -> String {
    let report = stdout(&hindsight(directory, &["verify", "--deep"]));
    assert!(report.contains("intact"), "{report}");
    report
}

#[test]
fn kills_at_any_time_lose_nothing_that_was_answered() {
    let mut dice = Dice(number("HINDSIGHT_SEED", 1));
    live(
        "kills",
        number("HINDSIGHT_KILLS", 4),
        |at, number, cycles| {
            let mut history = History::new(at.join("data"), number);
            for cycle in cycles {
                history.work(cycle, &mut dice, |server| {
                    server.signal("KILL");
                });
            }
            Some(history.end())
        },
    );
}

#[test]
fn power_cuts_lose_nothing_that_was_answered() {
    let mut dice = Dice(number("HINDSIGHT_SEED", 1));
    let cuts = number("HINDSIGHT_CUTS", 2);
    let (mut again, mut hit) = (0, 0);
    live("power cuts", cuts, |at, number, cycles| {
        let disk = Disk::on_a_file(&at.join("disk"), 256)?;
        let mut history = History::new(at.join("disk/data"), number);
        let last = cycles.end - 1;
        for cycle in cycles {
            history.work(cycle, &mut dice, |server| cut(&disk, server));
            if dice.roll(4) == 0 || cycle == last {
                again += 1;
                hit += u64::from(cut_while_starting(&disk, &history, &mut dice));
            }
        }
        Some(history.end())
    });
    println!("{again} cut again while starting, {hit} of them before the server was ready");
}

fn cut(disk: &Disk, server: Server) {
    disk.cut_power();
    server.signal("KILL");
    disk.remount();
}

/// Cuts the power again while the first cut is recovered from; returns whether that was before the server was ready,
/// as it mostly is within the time that a start takes.
fn cut_while_starting(disk: &Disk, history: &History, dice: &mut Dice) -> bool {
    let (armed, mut command) = (disk.armed(), history.command());
    let mut starting = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("hindsight serve starts");
    let micros = u64::try_from(history.start_time.as_micros()).expect("a short start");
    std::thread::sleep(Duration::from_micros(dice.roll(micros)));
    armed.cut_power();
    starting.kill().expect("killed");
    let told = starting.wait_with_output().expect("ended");
    disk.remount();
    !text(&told.stdout).contains("ready")
}

#[test]
fn a_server_for_which_there_are_no_threads_ends_with_a_message() {
    for at in [1, 2, 3, 16] {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary.path().join("data");
        let calls = "clone,clone3";
        let Some(mut command) = with_fault(&serve(&directory), calls, "error=EAGAIN", at) else {
            return;
        };
        command.stderr(Stdio::piped());
        let ended = Server::start_with(command, &directory).expect_err("it ends");
        let message = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "thread {at}: {message}");
        assert!(
            message.contains("raise their limit"),
            "thread {at}: {message}"
        );
        let server = Server::start_on(&directory);
        server.kubectl(&["create", "configmap", "a"]);
    }
}

/// A thread of the runtime that has nothing to do ends after some seconds, unless it is told to stay. What was to be done
/// by one that cannot be started would wait for ever, and everybody with it.
#[test]
fn a_moment_without_new_threads_holds_nothing_up_later() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start_on(&temporary.path().join("data"));
    std::thread::sleep(THREADS_END + Duration::from_secs(1));
    let Some(tracer) = Strace::attach(server.pid(), "clone,clone3", "error=EAGAIN") else {
        return;
    };
    let documents = ["get", "--raw", "/api", "--request-timeout=60s"];
    server.try_kubectl(&documents, "");
    drop(tracer);
    server.kubectl(&documents);
}

/// When a call on this file first failed, according to a record.
fn failed_at(record: &str, file: &Path) -> Option<SystemTime> {
    let of_it = format!("<{}>", file.display());
    let failed = |line: &&str| line.contains("(INJECTED)") && line.contains(&of_it);
    let mut words = record.lines().find(failed)?.split_whitespace();
    let seconds = words.nth(1)?.parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds))
}

/// After a failed sync everything is refused until the process has ended. A restart alone would not
/// show a violation, because the page cache still holds what the disk never took; so the times of the
/// answers are compared with the time of the failed sync, and of half of the servers the power is cut
/// once they have ended. With one client, no answer to an earlier write is on its way at the time of
/// the failure; with more, nothing can be said about answers to writes begun before.
#[test]
fn after_a_failed_sync_nothing_is_answered_the_server_ends_and_a_restart_has_all_that_was() {
    let (first, mut cuts) = (number("HINDSIGHT_SEED", 1), 0);
    let count = number("HINDSIGHT_FAILED_SYNCS", 6);
    let last = first + count - 1;
    for at in first..=last {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        // With one client and with more.
        let is_cut = at % 4 < 2;
        let disk = is_cut.then(|| Disk::on_a_file(&temporary.path().join("disk"), 256));
        let disk = disk.flatten();
        let place = disk.as_ref().map_or("data", |_| "disk/data");
        let directory = temporary.path().join(place);
        let record = temporary.path().join("record");
        let server = Server::try_start_on(&directory).expect("it starts");
        let fault = format!("error=EIO:when={at}+");
        let tracer = Strace::attach_and_record(server.pid(), "fdatasync", &fault, &record);
        let Some(tracer) = tracer else {
            return;
        };
        let is_one = at % 2 == 0;
        let clients = if is_one { 1 } else { 8 };
        let recorder = Recorder::with_clients(clients, &server, "n", at);
        let (code, said) = server.ended();
        drop(tracer);
        if let Some(disk) = &disk {
            disk.cut_power();
            disk.remount();
            cuts += 1;
        }
        assert_eq!(code, Some(1), "call {at}: {said}");
        assert!(said.contains("the event log failed"), "{said}");
        let mut ledger = recorder.stop();
        let record = std::fs::read_to_string(&record).expect("the record");
        // Once the journal is full, it is the database that is synced.
        let files = ["events/journal", "events/db"].map(|file| directory.join(file));
        let failed = files
            .iter()
            .filter_map(|file| failed_at(&record, file))
            .min();
        let failed = failed.unwrap_or_else(|| panic!("no sync failed:\n{record}"));
        if let Some((begun, told)) = ledger.newest {
            assert!(begun < failed, "call {at}: written after a failed sync");
            assert!(!is_one || told < failed, "call {at}: answered after it");
        }
        let server = Server::start_on(&directory);
        ledger.check(&server);
        server.kubectl(&["create", "configmap", "a"]);
    }
    println!("the syncs of a thread that failed first: {first} to {last}");
    println!("{count} failed syncs, nothing answered after them; {cuts} power cuts after them");
    if cuts == 0 {
        let why = "a file cannot be mounted as a disk here";
        skipped("a power cut after a failed sync", why);
    }
}

/// A connection on which nothing is sent keeps the log open for as long as a handshake may take.
#[test]
fn a_sync_that_fails_after_everybody_has_left_is_in_the_exit_code() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::try_start_on(&directory).expect("it starts");
    let caller = Caller::of(&server);
    let [mut probe, mut writing] = [(), ()].map(|()| caller.connect().expect("connected"));
    let mut is_ready = || probe.ask("GET", "/readyz", "").expect("an answer").code == 200;
    let late = "error=EIO:delay_enter=20000000";
    let Some(tracer) = Strace::attach(server.pid(), "fdatasync", late) else {
        return;
    };
    let path = "/api/v1/namespaces/default/configmaps";
    let write = request("POST", path, r#"{"metadata": {"name": "late"}}"#);
    writing.send(write.as_bytes()).expect("sent");
    while is_ready() {
        std::thread::sleep(Duration::from_millis(100));
    }
    let silent = TcpStream::connect(caller.address()).expect("connected");
    is_ready();
    server.send("TERM");
    let (code, said) = server.ended();
    drop((tracer, silent));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the event log failed"), "{said}");
}

/// The storage engine writes when it opens, so what is verified is a copy.
#[test]
fn a_log_whose_directory_cannot_be_examined_once_is_not_verified_in_its_place() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    assert_eq!(Server::start_on(&directory).signal("TERM"), Some(0));
    let mut command = Command::new(binary("hindsight"));
    command.args(["verify", "--data-dir"]).arg(&directory);
    let Some(mut once) = with_fault_of(&command, "statx", "error=EIO:when=1", &directory) else {
        return;
    };
    let run = once.output().expect("it runs");
    let told = text(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{told}");
    assert!(told.contains("examining "), "{told}");
    verify(&directory);
}
