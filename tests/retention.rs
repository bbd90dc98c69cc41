//! A server that keeps little history: what it reports about what it dropped, with snapshots and
//! without.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::manifests::{dependent, widgets};
use hindsight_tests::server::{Server, hindsight, serve, stdout, text};
use hindsight_tests::wait::wait_until;
use std::path::Path;
use std::process::Stdio;

/// A server that takes snapshots often, and keeps no more history than that requires.
fn start(directory: &Path) -> Server {
    let mut command = serve(directory);
    command.args(["--snapshot-every", "20", "--keep-history-bytes", "1B"]);
    Server::start_with(command, directory).expect("it starts")
}

/// What the log comes to from its first commit on: no snapshot is read for it.
fn replayed(directory: &Path) -> String {
    stdout(&hindsight(directory, &["replay"]))
}

/// The state that a server starts with: from a snapshot, if it finds one. It is killed, so it writes none.
fn served(directory: &Path) -> String {
    let server = start(directory);
    let state = stdout(&server.hindsight(&["replay"]));
    assert_eq!(server.signal("KILL"), None);
    state
}

/// Plays a history of objects that are changed, and one that is deleted early.
fn history(directory: &Path) {
    let server = start(directory);
    server.kubectl(&["create", "configmap", "early"]);
    server.kubectl(&["delete", "configmap", "early"]);
    server.kubectl(&["create", "configmap", "owner"]);
    let kid = dependent("kid", "owner", &server.uid("configmap/owner"));
    server.kubectl_with(&["create", "-f", "-"], &kid);
    server.kubectl(&["delete", "configmap", "owner"]);
    server.kubectl(&["wait", "configmap/kid", "--for=delete", "--timeout=120s"]);
    let why = server.hindsight(&["why", "configmap/kid"]);
    assert!(!stdout(&why).contains("may be missing"), "all is kept");
    server.kubectl(&["create", "configmap", "lasting"]);
    let held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [x.io/hold]}\n";
    server.kubectl_with(&["create", "-f", "-"], held);
    server.kubectl(&["delete", "configmap", "held", "--wait=false"]);
    server.kubectl(&["label", "configmap", "held", "between=both"]);
    let again = [
        "delete",
        "configmap",
        "held",
        "--wait=false",
        "--cascade=foreground",
    ];
    server.kubectl(&again);
    for round in 0..40 {
        let label = format!("round={round}");
        server.kubectl(&["label", "--overwrite", "configmap", "lasting", &label]);
    }
    assert_eq!(server.signal("TERM"), Some(0));
}

/// Options that cannot be intended, and a part of the refusal.
const ABSURD: &[(&str, &str)] = &[
    (
        "--keep-history=0s",
        "leave the option out to keep everything",
    ),
    ("--keep-history=-1d", "such as 90d"),
    (
        "--keep-history -5d",
        "'-5d' for '--keep-history <AGE>': an age is a number with a unit, without a sign; give an age such as 90d",
    ),
    ("--keep-history --keep-kind", "such as 90d"),
    ("--event-ttl -5d", "give an age such as 1h"),
    ("--keep-history=", "such as 90d"),
    ("--keep-history=5parsecs", "such as 90d"),
    ("--keep-history=99999999999999999999d", "such as 90d"),
    ("--keep-history=500000000000y", "longer than the limit of"),
    ("--keep-history=292278y", "longer than the limit of"),
    (
        "--keep-history-bytes=0",
        "leave the option out to keep everything",
    ),
    ("--keep-history-bytes=-1", "such as 10GiB"),
    (
        "--keep-history-bytes -5GiB",
        "'-5GiB' for '--keep-history-bytes <SIZE>': expected a number with a unit",
    ),
    ("--keep-history-bytes=1XB", "such as 10GiB"),
    (
        "--keep-history-bytes 10",
        "a unit is needed, such as 10GiB (10B for bytes)",
    ),
    (
        "--keep-history-bytes=much",
        "'much' for '--keep-history-bytes <SIZE>': expected a number with a unit",
    ),
    (
        "--keep-history-bytes=99999999999999999999EiB",
        "no log can be that large",
    ),
    ("--keep-history-bytes=8EiB", "no log can be that large"),
    ("--keep-history-bytes=18446744073709551616", "such as 10GiB"),
    ("--keep-kind=pod", "did you mean pods?"),
    ("--keep-kind=deployments", "did you mean deployments.apps?"),
    ("--keep-kind=nonsense", "name it PLURAL or PLURAL.GROUP"),
    ("--keep-kind=.example.com", "name it PLURAL or PLURAL.GROUP"),
    (
        "--keep-kind=networkpolicy.networking.k8s.io",
        "did you mean networkpolicies.networking.k8s.io?",
    ),
    (
        "--keep-kind=role.rbac.authorization.k8s.io",
        "did you mean roles.rbac.authorization.k8s.io?",
    ),
    (
        "--keep-kind=secrets,leases.v1.coordination.k8s.io",
        "did you mean leases.coordination.k8s.io?",
    ),
    (
        "--keep-kind=deployments.v1.apps",
        "did you mean deployments.apps?",
    ),
    ("--keep-kind=pods.v1.", "did you mean pods?"),
    (
        "--keep-kind=Widgets.Example.com",
        "did you mean widgets.example.com?",
    ),
    ("--snapshot-every=-1", "--snapshot-every"),
    (
        "--keep-history=15us",
        "leave the option out to keep everything",
    ),
    ("--keep-kind=secrets", "add --keep-history or"),
    (
        "--keep-history=90d --snapshot-every=0",
        "give a number of commits",
    ),
    (
        "--keep-history-bytes=1GiB --snapshot-every=0",
        "give a number of commits",
    ),
];

/// Large limits, and kinds that may be defined some day.
const AMPLE: &[&str] = &[
    "--keep-history=292000y",
    "--keep-history-bytes=9223372036854775807B",
    "--keep-kind=widgets.example.com,events.events.k8s.io",
    "--snapshot-every=18446744073709551615",
];

#[test]
fn a_retention_that_nobody_can_mean_is_refused_before_anything_is_dropped() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    for (option, message) in ABSURD {
        let mut command = serve(&directory);
        command.args(option.split(' ')).stderr(Stdio::piped());
        let refused = Server::start_with(command, &directory).expect_err(option);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{option}: {said}");
        assert!(said.contains(message), "{option}: {said}");
        assert!(!directory.exists(), "{option}");
    }
    let mut command = serve(&directory);
    command.args(AMPLE);
    let server = Server::start_with(command, &directory).expect("it starts");
    server.kubectl(&["create", "configmap", "a"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let verified = stdout(&hindsight(&directory, &["verify", "-o", "json"]));
    let verified: serde_json::Value = serde_json::from_str(&verified).expect("JSON");
    assert_eq!(verified["floor"], 0, "{verified}");
}

fn are_expired(server: &Server, questions: &[&str]) {
    for question in questions {
        let path = format!("/hindsight/v1/{question}");
        let said = server.kubectl_fails(&["get", "--raw", &path], "");
        let is_told = said.contains("(Expired)") && said.contains("is no longer kept");
        assert!(is_told, "{said}");
    }
}

/// That nothing happened is said only of what is kept in full.
fn check_what_is_said_of_nothing(directory: &Path, floor: u64) {
    let nothing = "nothing that is kept happened in this log from 9 on up to 20 that matches";
    for (since, is_thinned) in [(9, true), (floor, false)] {
        let (since, until) = (since.to_string(), (since + 11).to_string());
        let asked = ["log", "--since", &since, "--until", &until, "--user", "x"];
        let log = hindsight(directory, &asked);
        let said = text(&log.stderr);
        assert_eq!(said.contains(nothing), is_thinned, "{said}");
        assert!(said.contains("happened in this log from"), "{said}");
    }
}

/// The revision from which on everything is kept.
fn floor(directory: &Path) -> u64 {
    let verified = stdout(&hindsight(directory, &["verify", "--deep", "-o", "json"]));
    let verified: serde_json::Value = serde_json::from_str(&verified).expect("JSON");
    verified["floor"].as_u64().expect("a floor")
}

/// Checks that only periods which begin before the floor are said to be incomplete: `later` is behind it. Returns the time
/// of the newest entry.
fn check_periods(directory: &Path, later: &str, complete: &str) -> String {
    let since = |since: &str| hindsight(directory, &["log", "--since", since]);
    assert_eq!(text(&since(later).stderr), "", "all of it is kept");
    let newest = hindsight(directory, &["log", "--tail", "1", "-o", "json"]);
    let newest: serde_json::Value = serde_json::from_str(&stdout(&newest)).expect("JSON");
    let newest = newest[0]["time"].as_str().expect("a time").to_owned();
    assert_eq!(text(&since(&newest).stderr), "");
    assert!(text(&since("2020-01-01").stderr).contains(complete));
    newest
}

#[test]
fn what_was_dropped_is_refused_by_its_floor_and_what_is_kept_is_explained() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    history(&directory);
    let floor = floor(&directory);
    assert!(floor > 20, "{floor}");

    let named = format!("revision 12 is no longer kept: everything from revision {floor} on");
    for question in ["get configmaps --as-of 12", "replay --until 12"] {
        let words: Vec<&str> = question.split(' ').collect();
        let early = hindsight(&directory, &words);
        let message = text(&early.stderr);
        assert_eq!(early.status.code(), Some(1), "{message}");
        assert!(message.contains(&named), "{message}");
    }
    check_what_is_said_of_nothing(&directory, floor);
    let later = (floor + 1).to_string();
    stdout(&hindsight(
        &directory,
        &["get", "configmaps", "--as-of", &later],
    ));
    let why = stdout(&hindsight(&directory, &["why", "configmap/early"]));
    assert!(
        why.contains("deleted: somebody asked for it (requested)"),
        "{why}"
    );
    let why = stdout(&hindsight(&directory, &["why", "configmap/kid"]));
    let missing =
        format!("Earlier owners may be missing: history is complete only from revision {floor} on");
    assert!(why.contains(&missing), "{why}");
    let server = start(&directory);
    are_expired(&server, &["state?asOf=12", "kind?kind=configmap&asOf=12"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let log = hindsight(&directory, &["log", "configmap/lasting"]);
    let complete = format!("history is complete from revision {floor} on");
    assert!(text(&log.stderr).contains(&complete), "{log:?}");
    let newest = check_periods(&directory, &later, &complete);
    let [kept, unkept] = [&*newest, "2020-01-01"].map(|since| ["log", "--since", since]);
    let log = stdout(&log);
    assert!((1..40).contains(&log.lines().count()), "{log}");

    // Both deletions are kept; changes between them are not reported with them.
    let held = stdout(&hindsight(
        &directory,
        &["log", "configmap/held", "-o", "json"],
    ));
    let held: serde_json::Value = serde_json::from_str(&held).expect("JSON");
    let held = held.as_array().expect("a list");
    assert!(
        held.len() >= 2 && held.iter().all(|one| one["changed"].is_null()),
        "{held:?}"
    );

    let server = start(&directory);
    let asked = server.hindsight(&["log", "configmap/lasting"]);
    assert!(text(&asked.stderr).contains("history is complete from"));
    assert!(text(&server.hindsight(&unkept).stderr).contains("history is complete from"));
    assert_eq!(text(&server.hindsight(&kept).stderr), "");
    let past = server.kubectl_fails(&["get", "--raw", "/as-of/12/api/v1/configmaps"], "");
    assert!(past.contains(&named), "{past}");
    let watch = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=12&timeoutSeconds=1";
    let watched = server.try_kubectl(&["get", "--raw", watch], "");
    let watched = text(&watched.stdout) + &text(&watched.stderr);
    assert!(
        watched.contains("no longer kept") || watched.contains("410"),
        "{watched}"
    );
}

/// Renames a kind, of which there is an object, and plays a history that is long enough for that to be thinned. Returns
/// the revision of the new name.
fn renamed(directory: &Path) -> u64 {
    let server = start(directory);
    let called = |short: &str| {
        let names = format!("kind: Widget, shortNames: [{short}]");
        widgets("{type: object}").replace("kind: Widget", &names)
    };
    server.define(&called("wold"));
    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";
    server.kubectl_with(&["create", "-f", "-"], widget);
    server.define(&called("wnew"));
    let why = stdout(&server.hindsight(&["why", "wold/w"]));
    assert!(why.contains("Widget w in default is live"), "{why}");
    let version = "jsonpath={.metadata.resourceVersion}";
    let version = server.kubectl(&["get", "crd", "widgets.example.com", "-o", version]);
    server.kubectl(&["create", "configmap", "lasting"]);
    for round in 0..60 {
        let label = format!("round={round}");
        server.kubectl(&["label", "--overwrite", "configmap", "lasting", &label]);
    }
    assert_eq!(server.signal("TERM"), Some(0));
    version.trim().parse().expect("a revision")
}

#[test]
fn of_a_name_that_may_have_been_dropped_it_is_not_said_that_nothing_ever_had_it() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let renamed = renamed(&directory);
    let verified = stdout(&hindsight(&directory, &["verify", "-o", "json"]));
    let verified: serde_json::Value = serde_json::from_str(&verified).expect("JSON");
    let floor = verified["floor"].as_u64().expect("a floor");
    assert!(floor > renamed, "{floor} {renamed}");
    let kept = format!("in what is kept: history is complete only from revision {floor} on");
    let ask = || {
        for (code, kind, told) in [
            (1, "wold", &*kept),
            (1, "nosuch", &*kept),
            (0, "wnew", "Widget w in default is live"),
            (0, "widgets.example.com", "Widget w in default is live"),
        ] {
            let asked = hindsight(&directory, &["why", &format!("{kind}/w")]);
            let said = text(&asked.stdout) + &text(&asked.stderr);
            assert_eq!(asked.status.code(), Some(code), "{kind}: {said}");
            assert!(said.contains(told), "{kind}: {said}");
            assert!(!said.contains("was ever defined"), "{kind}: {said}");
        }
        let log = hindsight(&directory, &["log", "wold"]);
        assert!(text(&log.stderr).contains(&*kept), "{log:?}");
    };
    ask();
    let server = Server::start_on(&directory);
    ask();
    assert_eq!(server.signal("TERM"), Some(0));
}

#[test]
fn without_its_snapshots_a_thinned_log_comes_to_the_same_state() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    history(&directory);
    assert!(floor(&directory) > 20, "it is thinned");
    let snapshots = directory.join("snapshots");
    assert!(std::fs::read_dir(&snapshots).expect("there").count() > 0);
    let before = served(&directory);
    std::fs::remove_dir_all(&snapshots).expect("removed");
    assert_eq!(served(&directory), before);
    assert_eq!(replayed(&directory), before);
    let server = start(&directory);
    let label = server.kubectl(&[
        "get",
        "configmap",
        "lasting",
        "-o",
        "jsonpath={.metadata.labels.round}",
    ]);
    assert_eq!(label, "39");
}

fn damage_snapshots(directory: &Path) {
    for file in std::fs::read_dir(directory.join("snapshots")).expect("there") {
        let path = file.expect("readable").path();
        let mut bytes = std::fs::read(&path).expect("read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).expect("written");
    }
}

#[test]
fn a_question_that_sets_a_damaged_snapshot_aside_says_so_once() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    history(&directory);
    damage_snapshots(&directory);
    let asked = || hindsight(&directory, &["get", "configmaps"]);
    let first = asked();
    let told = text(&first.stderr);
    assert!(told.contains("a damaged snapshot was set aside"), "{told}");
    let second = asked();
    assert_eq!(
        (text(&second.stderr), stdout(&second)),
        (String::new(), stdout(&first))
    );
}

#[test]
fn a_damaged_snapshot_is_set_aside_and_the_server_starts_as_if_there_were_none() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    history(&directory);
    let before = served(&directory);
    damage_snapshots(&directory);
    assert_eq!(served(&directory), before);
    assert_eq!(replayed(&directory), before);
    let files = std::fs::read_dir(directory.join("snapshots")).expect("there");
    let names = files.map(|file| file.expect("readable").path());
    assert!(
        names
            .filter(|path| path.extension() == Some("damaged".as_ref()))
            .count()
            > 0
    );
}

#[test]
fn a_server_that_keeps_history_for_moments_or_of_a_version_says_so() {
    let temporary = tempfile::tempdir().expect("a directory");
    let doubts = [
        "less than an hour",
        "less than 1.0 MiB",
        "nothing of widgets.example.com",
    ];
    for (options, told) in [
        ("--keep-history 1s", [true, false, false]),
        ("--keep-history 90d", [false, false, false]),
        ("--keep-history-bytes 1B", [false, true, false]),
        ("--keep-history-bytes 10GiB", [false, false, false]),
        (
            "--keep-history 90d --keep-kind widgets.v1.example.com",
            [false, false, true],
        ),
        (
            "--keep-history 90d --keep-kind widgets.example.com",
            [false, false, false],
        ),
    ] {
        let mut command = serve(temporary.path());
        command.args(options.split(' ')).stderr(Stdio::piped());
        let server = Server::start_with(command, temporary.path()).expect("it starts");
        server.send("TERM");
        let (_, said) = server.ended();
        let is_told = doubts.map(|what| said.contains(what));
        assert_eq!(is_told, told, "{options}: {said}");
    }
}

/// The state of then is kept for some minutes because it was asked for; the commits that led to it are not.
#[test]
fn a_plan_for_the_past_is_refused_once_that_is_dropped_although_its_state_is_kept() {
    let temporary = tempfile::tempdir().expect("a directory");
    let server = start(&temporary.path().join("data"));
    server.kubectl(&["create", "configmap", "lasting"]);
    let change = |round: usize| {
        let label = format!("round={round}");
        server.kubectl(&["label", "--overwrite", "configmap", "lasting", &label]);
    };
    change(0);
    let revision = "jsonpath={.metadata.resourceVersion}";
    let then = server.kubectl(&["get", "configmap", "lasting", "-o", revision]);
    change(1);
    let plan = || server.hindsight(&["plan", "configmap/lasting", "--as-of", &then]);
    let told = stdout(&plan());
    assert!(told.contains("would delete 1 object"), "{told}");
    (2..45).for_each(change);
    wait_until("what led to that state is dropped", || {
        let refused = text(&plan().stderr);
        refused.contains(&format!("revision {then} is no longer kept"))
    });
}
