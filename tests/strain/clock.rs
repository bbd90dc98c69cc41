//! A wall clock that jumps, or cannot be right.

use super::{MAPS, map, member};
use hindsight_tests::disk::skipped;
use hindsight_tests::preload::library;
use hindsight_tests::recorder::stored;
use hindsight_tests::server::{Server, binary, hindsight, serve, stdout, text};
use hindsight_tests::wire::{Caller, request};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TEN_YEARS: i64 = 10 * 365 * 86_400;
/// The objects that are created, and how far ahead the clock is then, in seconds.
const JUMPS: [(&str, i64); 5] = [
    ("a", 0),
    ("b", -TEN_YEARS),
    ("c", TEN_YEARS),
    ("d", -1),
    ("e", 0),
];

/// A library that is preloaded into the server, and the file that says how far its clock is ahead.
struct Clock {
    library: PathBuf,
    ahead: PathBuf,
}

impl Clock {
    fn make(folder: &Path) -> Option<Self> {
        Some(Self {
            library: library("strain/clock.c", folder)?,
            ahead: folder.join("ahead"),
        })
    }

    fn set(&self, seconds: i64) {
        let beside = self.ahead.with_extension("new");
        std::fs::write(&beside, seconds.to_string()).expect("written");
        std::fs::rename(beside, &self.ahead).expect("renamed");
    }

    fn start(&self, directory: &Path) -> Server {
        let mut command = self.serve(directory);
        command.stderr(Stdio::inherit());
        Server::start_with(command, directory).expect("started")
    }

    fn serve(&self, directory: &Path) -> Command {
        let mut command = serve(directory);
        command.env("LD_PRELOAD", &self.library);
        command.env("HINDSIGHT_TEST_CLOCK", &self.ahead);
        command.stderr(Stdio::piped());
        command
    }
}

#[test]
fn a_clock_by_which_nothing_can_be_served_is_told() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let Some(clock) = Clock::make(temporary.path()) else {
        return skipped("a clock before 1970", "there is no C compiler");
    };
    let directory = temporary.path().join("data");
    clock.set(-10 * TEN_YEARS);
    let refused = Server::start_with(clock.serve(&directory), &directory).expect_err("refused");
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{message}");
    assert!(
        message.contains("is before the year 1970; set it"),
        "{message}"
    );
    clock.set(1000 * TEN_YEARS);
    let mut command = clock.serve(&directory);
    let warnings = temporary.path().join("warnings");
    command.stderr(std::fs::File::create(&warnings).expect("made"));
    let server = Server::start_with(command, &directory).expect("started");
    assert_eq!(server.signal("TERM"), Some(0));
    let warned = std::fs::read_to_string(warnings).expect("read");
    assert!(
        warned.contains("this server's certificates are valid from 1975"),
        "{warned}"
    );
}

#[test]
fn by_a_clock_before_1970_nothing_is_verified_or_restored() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let Some(clock) = Clock::make(temporary.path()) else {
        return skipped("a clock before 1970", "there is no C compiler");
    };
    let [data, other, file] = ["data", "other", "file"].map(|name| temporary.path().join(name));
    let file = file.to_str().expect("UTF-8");
    assert_eq!(Server::start_on(&data).signal("TERM"), Some(0));
    stdout(&hindsight(&data, &["backup", file]));
    clock.set(-10 * TEN_YEARS);
    for (directory, arguments) in [
        (&data, ["verify"].as_slice()),
        (&data, &["verify", "--in-place"]),
        (&other, &["restore", file]),
    ] {
        let mut command = Command::new(binary("hindsight"));
        command.args(arguments).arg("--data-dir").arg(directory);
        command.env("LD_PRELOAD", &clock.library);
        command.env("HINDSIGHT_TEST_CLOCK", &clock.ahead);
        let refused = command.output().expect("it runs");
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}: {message}");
        let is_told =
            message.starts_with("hindsight: the clock of this machine is before the year 1970");
        assert!(is_told, "{arguments:?}: {message}");
    }
    assert!(!other.exists() && !data.join("verifying").exists());
}

#[test]
fn a_clock_that_jumps_moves_times_and_no_order() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let Some(clock) = Clock::make(temporary.path()) else {
        return skipped("a clock that jumps", "there is no C compiler");
    };
    clock.set(0);
    let directory = temporary.path().join("data");
    let server = clock.start(&directory);
    let caller = Caller::of(&server);
    let mut watch = caller.connect().expect("connected");
    let path = format!("{MAPS}?watch=1&resourceVersion=1");
    watch
        .send(request("GET", &path, "").as_bytes())
        .expect("sent");
    watch.head().expect("an answer");
    let mut wire = caller.connect().expect("connected");
    let made = JUMPS.map(|(name, ahead)| {
        clock.set(ahead);
        let reply = wire.ask("POST", MAPS, &map(name, 1)).expect("an answer");
        assert_eq!(reply.code, 201, "{}", reply.body);
        let year: i64 = member(&reply.body, "creationTimestamp")[..4]
            .parse()
            .expect("a year");
        let date = wire.date();
        assert!(date.contains(&format!(" {year} ")), "{year}: {date}");
        let revision: u64 = member(&reply.body, "resourceVersion")
            .parse()
            .expect("a number");
        (year, revision)
    });
    let [a, b, c, ..] = made.map(|(year, _)| year);
    assert!(b < a - 8 && c > a + 8, "the clock did not jump: {made:?}");
    assert!(made.is_sorted_by(|one, next| one.1 < next.1), "{made:?}");
    for (name, _) in JUMPS {
        let mut event = watch.event().expect("readable").expect("an event");
        while member(&event, "name") == "kube-root-ca.crt" {
            event = watch.event().expect("readable").expect("an event");
        }
        assert_eq!(member(&event, "name"), name);
    }
    server.signal("KILL");
    clock.set(-TEN_YEARS);
    let server = clock.start(&directory);
    let found = stored(&server);
    for ((name, _), (_, revision)) in JUMPS.iter().zip(made) {
        assert_eq!(found.get(*name), Some(&revision.to_string()), "{name}");
    }
    let mut wire = Caller::of(&server).connect().expect("connected");
    let later = wire.ask("POST", MAPS, &map("f", 1)).expect("an answer");
    let later: u64 = member(&later.body, "resourceVersion")
        .parse()
        .expect("a number");
    assert!(later > made[4].1, "{later}");
    assert_eq!(server.signal("TERM"), Some(0));
    let report = stdout(&hindsight(&directory, &["verify"]));
    assert!(report.contains("intact"), "{report}");
}
