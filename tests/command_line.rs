//! The command line for questions about the past: the same answers from a server and from its
//! directory, exit codes that scripts can rely on, and messages that say what to do next.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::manifests::widgets;
use hindsight_tests::server::{Server, binary, hindsight, stdout, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Exit code, arguments, and a part of standard error.
const CODES: &str = "
0 log                                          |
0 log configmap/a -n default                   |
0 log --since 999999                           | revision 999999 has not happened yet; the newest is
0 log configmap/never -n default               | nothing happened in this log to configmap/never in default
0 log --since 1 --until 9999-01-01T00:00:00Z   |
0 log --verb delete --user admin               |
0 log --user nobody                            | that matches
2 log --since yesterday                        | RFC 3339
0 why configmap/a                              |
0 why namespace/default                        |
0 get namespaces                               |
0 get configmap/b                              |
0 get configmaps --as-of 2026-01-31T12:00:00Z  | no configmaps found in default as of 2026-01-31T12:00:00Z: there was no namespace default
0 get pods -A                                  | no pods found in any namespace
1 get configmaps --as-of 9126-01-31T12:00:00Z  | is in the future: it is now
3 why configmap/never                          | look in another namespace with -n
3 why configmap/a --uid nope                   | no object of this name had the uid nope
3 get configmap/never                          | `hindsight log configmap/never --data-dir
3 get configmap/a                              | `hindsight why configmap/a --data-dir
3 get configmap b -n kube-system               | configmaps kube-system/b does not exist; `hindsight log configmap/b -n kube-system --data-dir
1 why nothing/a                                | was ever defined
1 log nothing                                  | kubectl api-resources
1 get configmap/a --as-of 999999               | : ask for that one, or an earlier one
3 why configmap never                          | look in another namespace with -n
0 why configmap b -n default                   |
0 log configmap a                              |
2 log configmap/a b                            | give only one
2 get configmap/a b                            | Usage: hindsight get
2 get configmaps,secrets                       | one kind at a time
2 log configmaps,secrets                       | one kind at a time
2 serve --keep-kind secrets                    | Usage: hindsight serve
2 why configmap                                | give KIND/NAME, such as configmap/settings
2 log configmap/a/b                            | expected KIND or KIND/NAME
2 get configmap/a --as-of yesterday            | RFC 3339
2 log --uid=                                   | it is empty; give a value, or leave it out
2 log --user=                                  | it is empty; give a value, or leave it out
2 log --verb=                                  | it is empty; give a value, or leave it out
2 log --namespace=                             | it is empty; give a value, or leave it out
2 why configmap/b --uid=                       | it is empty; give a value, or leave it out
2 why configmap/b -n=                          | it is empty; give a value, or leave it out
2 get configmaps --namespace=                  | it is empty; give a value, or leave it out
2 plan configmap/b --namespace=                | it is empty; give a value, or leave it out
1 plan configmap/b --as-of 999999              | has not happened yet; the newest is
1 plan configmap/b --as-of 9126-01-31T12:00:00Z | is in the future: it is now
1 replay --until 999999                        | has not happened yet; the newest is
2 log --output tree                            | possible values
2 log --follow --until 9                       | cannot be used with
";

/// A server with a ConfigMap that was deleted and one that exists.
fn some_past() -> Server {
    let server = Server::start();
    for name in ["a", "b"] {
        server.kubectl(&["create", "configmap", name, "--from-literal=k=v"]);
    }
    server.kubectl(&["delete", "configmap", "a"]);
    server
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn check_codes(directory: &Path) {
    for question in ["log", "why", "get", "plan"] {
        let output = hindsight(directory, &[question, "configmap", ""]);
        assert_eq!(output.status.code(), Some(2), "{question}");
    }
    for line in CODES.trim().lines() {
        let (head, expected) = line.split_once('|').expect("a bar");
        let head = words(head);
        let output = hindsight(directory, &head[1..]);
        let code = output.status.code().map(|code| code.to_string());
        let said = text(&output.stderr);
        assert_eq!(code.as_deref(), Some(head[0]), "{line}\n{said}");
        assert!(said.contains(expected.trim()), "{line}\n{said}");
        assert_eq!(
            said.is_empty(),
            expected.trim().is_empty(),
            "{line}\n{said}"
        );
    }
}

/// A ConfigMap with many members, whose names begin with this letter.
fn wide(letter: &str) -> String {
    let data = (0..200).map(|at| (format!("{letter}{at}"), Value::from("")));
    let data: serde_json::Map<_, _> = data.collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wide"}, "data": data})
        .to_string()
}

/// The answers to questions about this directory; no question changes the log.
fn answers(directory: &Path) -> Vec<String> {
    let asked = [
        "log",
        "log -o json",
        "log configmap/a -n default -o json",
        "log configmap/a",
        "log configmap/never -o json",
        "log --since 3 configmaps",
        "log configmap/b",
        "log configmap/b --since 6 -o json",
        "log --since 4 --until 6 -o json",
        "log --verb delete",
        "log -n default",
        "log configmap/wide",
        "log configmap/wide -o json",
        "why configmap/again",
        "why configmap/again -o json",
        "why configmap/a",
        "why configmap/a -o json",
        "why configmap/b -o json",
        "why configmap/held",
        "why configmap/owned",
        "why configmap/never -o json",
        "get configmaps -o json",
        "get configmaps -A -o yaml",
        "get secrets -o json",
        "get secrets -o yaml",
        "get namespaces -o name",
        "get configmaps -A -o name",
        "get configmaps -A",
        "get configmap/b -A -o json",
        "get configmap/a --as-of 5 -o yaml",
    ];
    let answer = |line: &&str| text(&hindsight(directory, &words(line)).stdout);
    asked.iter().map(answer).collect()
}

#[test]
fn a_server_and_its_directory_give_the_same_answers_and_exit_codes() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for name in ["a", "b"] {
        server.kubectl(&["create", "configmap", name, "--from-literal=k=v"]);
    }
    server.kubectl(&["label", "configmap", "b", "x=y"]);
    for _ in 0..2 {
        server.kubectl(&["create", "configmap", "again"]);
        server.kubectl(&["delete", "configmap", "again"]);
    }
    server.kubectl(&["create", "configmap", "again"]);
    server.kubectl(&["delete", "configmap", "a"]);
    server.kubectl_with(&["create", "-f", "-"], &wide("a"));
    server.kubectl_with(&["replace", "-f", "-"], &wide("b"));
    for metadata in [
        "{name: held, finalizers: [x.io/hold]}",
        "{name: owned, ownerReferences: [{apiVersion: x.io/v1, kind: Ghost, name: g, uid: u}]}",
    ] {
        let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n");
        server.kubectl_with(&["create", "-f", "-"], &map);
    }
    server.kubectl(&["delete", "configmap", "held", "--wait=false"]);
    check_codes(&directory);
    let online = answers(&directory);
    for reason in ["waits for x.io/hold", "whether its owner Ghost g exists"] {
        assert!(
            online.iter().any(|answer| answer.contains(reason)),
            "{reason}"
        );
    }
    assert!(online.iter().any(|answer| answer.contains("and 300 more")));
    assert_eq!(server.signal("TERM"), Some(0));
    check_codes(&directory);
    assert_eq!(answers(&directory), online);
}

#[test]
fn what_happens_is_followed_while_it_happens() {
    let server = some_past();
    let follow = |arguments: &str| {
        let mut command = Command::new(binary("hindsight"));
        command.args(words(arguments)).stdout(Stdio::piped());
        command.arg("--data-dir").arg(server.directory());
        let mut process = command.spawn().expect("it starts");
        let lines = BufReader::new(process.stdout.take().expect("an output")).lines();
        (process, lines.map(|line| line.expect("a line")))
    };
    let (mut one, mut lines) = follow("log configmap/b -f");
    assert!(lines.next().expect("what was").contains("created"));
    let (mut all, mut documents) = follow("log configmaps --follow -o json");
    for _ in ["a created", "b created", "a deleted"] {
        let line = documents.next().expect("what was");
        let document: Value = serde_json::from_str(&line).expect("a document a line");
        assert_eq!(document["user"], "admin", "{line}");
    }
    server.kubectl(&["create", "configmap", "c"]);
    server.kubectl(&["label", "configmap", "b", "x=y"]);
    let line = lines.next().expect("what is new");
    assert!(
        line.contains("default/b: updated metadata.labels"),
        "{line}"
    );
    for name in ["default/c", "default/b"] {
        let line = documents.next().expect("what is new");
        assert!(line.contains(name), "{line}");
    }
    for process in [&mut one, &mut all] {
        process.kill().expect("it runs");
        process.wait().expect("it ends");
    }
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let other = Server::start_on(&directory);
    assert_eq!(other.signal("TERM"), Some(0));
    let refused = hindsight(&directory, &["log", "--follow"]);
    let why = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(1) && why.contains("no server is running on"),
        "{why}"
    );
}

#[test]
fn the_log_as_json_is_one_list_of_what_the_text_tells() {
    let server = some_past();
    let list = |arguments: &str| -> Vec<Value> {
        let printed = stdout(&server.hindsight(&words(arguments)));
        serde_json::from_str(&printed).expect("a list")
    };
    let entries = list("log configmap/a -o json");
    let events: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["events"][0].as_str())
        .collect();
    assert_eq!(events, ["created", "deleted [requested]"]);
    let text = stdout(&server.hindsight(&["log", "configmap/a"]));
    assert_eq!(text.lines().count(), entries.len());
    let uid = entries[0]["uid"].as_str().expect("a uid").to_owned();
    assert_eq!(list(&format!("log --uid {uid} -o json")), entries);
    let later = entries[1]["revision"].as_u64().expect("a revision");
    assert_eq!(
        list(&format!("log configmap/a --since {later} -o json")),
        entries[1..]
    );
    assert_eq!(list("log configmap/never -o json"), [0; 0]);
}

#[test]
fn what_was_deleted_is_brought_back_from_the_past() {
    let server = some_past();
    let log = stdout(&server.hindsight(&words("log configmap/a -o json")));
    let log: Value = serde_json::from_str(&log).expect("JSON");
    let then = log[0]["revision"].to_string();
    for asked in ["configmap/a", "configmaps"] {
        let manifest = ["get", asked, "--as-of", &then, "-o", "manifest"];
        let manifest = stdout(&server.hindsight(&manifest));
        server.kubectl_with(&["create", "-f", "-"], &manifest);
        let value = server.kubectl(&["get", "configmap", "a", "-o", "jsonpath={.data.k}"]);
        assert_eq!(value, "v");
        server.kubectl(&["delete", "configmap", "a"]);
    }
    let prefix = format!("/as-of/{then}");
    let config = std::fs::read_to_string(server.kubeconfig()).expect("a kubeconfig");
    let address = config
        .lines()
        .find_map(|line| line.trim().strip_prefix("server: "));
    let address = format!("{}{prefix}", address.expect("an address").trim_matches('"'));
    let names = server.kubectl(&["--server", &address, "get", "configmaps", "-o", "name"]);
    assert_eq!(names, "configmap/a\n");
}

#[test]
fn an_object_is_explained_after_its_definition_is_gone() {
    for (scope, namespace) in [("Namespaced", "default"), ("Cluster", "")] {
        let server = Server::start();
        server.define(&widgets("{type: object}").replace("Namespaced", scope));
        let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";
        server.kubectl_with(&["create", "-f", "-"], widget);
        server.kubectl(&["delete", "crd", "widgets.example.com"]);
        let why = stdout(&server.hindsight(&["why", "widgets.example.com/w", "-o", "json"]));
        let why: Value = serde_json::from_str(&why).expect("JSON");
        assert_eq!(
            (&why["state"], &why["rule"]),
            (&"deleted".into(), &"crd-deleted".into())
        );
        assert_eq!(why["root"]["verb"], "delete");
        let named =
            ["apiVersion", "kind", "namespace"].map(|member| why["object"][member].as_str());
        assert_eq!(
            named,
            [Some("example.com/v1"), Some("Widget"), Some(namespace)]
        );
        let log = stdout(&server.hindsight(&["log", "widgets.example.com/w"]));
        assert_eq!(
            log.lines().filter(|line| line.contains("created")).count(),
            1,
            "{log}"
        );
    }
}

#[test]
fn a_directory_without_a_log_is_said_to_be_none_and_left_alone() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    for arguments in [
        vec!["log"],
        vec!["why", "pod/a"],
        vec!["get", "pods"],
        vec!["verify"],
    ] {
        let output = hindsight(temporary.path(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(
            said.contains("contains no event log; give the --data-dir"),
            "{said}"
        );
    }
    let left = std::fs::read_dir(temporary.path())
        .expect("a folder")
        .count();
    assert_eq!(left, 0);
}

#[test]
fn a_reader_that_goes_away_ends_the_log_and_not_with_an_error() {
    let server = some_past();
    let mut child = Command::new(binary("hindsight"))
        .args(["log", "--data-dir"])
        .arg(server.directory())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new())
    );
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("hindsight"));
    command.args(arguments).output().expect("it runs")
}

#[test]
fn every_subcommand_has_examples_in_its_help() {
    let help = stdout(&run(&["--help"]));
    assert!(help.contains("Exit codes: 0 done; 1 failed"));
    let (_, list) = help.split_once("Commands:\n").expect("subcommands");
    let rows = list.lines().map_while(|line| line.strip_prefix("  "));
    let named = rows.filter(|row| !row.starts_with(' '));
    let named = named.filter_map(|row| row.split(' ').next());
    let subcommands: Vec<&str> = named.filter(|name| *name != "help").collect();
    assert!(subcommands.contains(&"completions"), "{help}");
    for subcommand in subcommands {
        let help = stdout(&run(&[subcommand, "--help"]));
        let (_, examples) = help.split_once("Examples:").expect(subcommand);
        let example = format!("hindsight {subcommand}");
        assert!(examples.contains(&example), "{subcommand}: {help}");
    }
}

#[test]
fn shells_complete_subcommands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(&["completions", shell]));
        for word in ["serve", "why", "as-of", "all-namespaces", "data-dir"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let script = stdout(&run(&["completions", "bash"]));
    let checked = Command::new("bash").args(["-n", "-c", &script]).status();
    assert!(checked.expect("bash runs").success());
    assert_eq!(run(&["completions", "cobol"]).status.code(), Some(2));
}

/// The storage engine writes when it opens a database: among others, over what it treats as torn.
#[test]
fn verify_leaves_a_damaged_directory_as_it_was() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for index in 0..20 {
        server.kubectl(&["create", "configmap", &format!("c{index}")]);
    }
    assert_eq!(server.signal("TERM"), Some(0));
    let database = directory.join("events/db");
    let whole = std::fs::read(&database).expect("read");
    let frame = whole.windows(4).rposition(|bytes| bytes == b"HSLF");
    let mut damaged = whole.clone();
    damaged[frame.expect("a frame") + 20] ^= 1;
    std::fs::write(&database, &damaged).expect("written");
    let mended = stdout(&hindsight(&directory, &["verify"]));
    assert!(mended.contains("intact"), "the journal has it: {mended}");
    std::fs::remove_file(directory.join("events/journal")).expect("removed");
    let verified = hindsight(&directory, &["verify"]);
    assert_eq!(
        verified.status.code(),
        Some(1),
        "{}",
        text(&verified.stdout)
    );
    assert!(
        std::fs::read(&database).expect("read") == damaged,
        "it was changed"
    );
    assert!(!directory.join("verifying").exists());
    std::fs::write(&database, &whole).expect("written");
    assert!(stdout(&hindsight(&directory, &["verify"])).contains("intact"));
}

#[test]
fn a_parameter_that_cannot_be_read_is_not_taken_for_none() {
    let server = Server::start();
    for query in [
        "state?asOf=yesterday",
        "log?from=-1",
        "kind?kind=pods&asOf=1.5",
        "plan?kind=namespaces&name=default&propagationPolicy=Nonsense",
    ] {
        let refused =
            server.kubectl_fails(&["get", "--raw", &format!("/hindsight/v1/{query}")], "");
        assert!(refused.contains("is invalid"), "{query}: {refused}");
    }
    for (query, why) in [
        ("log?uid=", "uid is empty"),
        ("log?user", "user is empty"),
        ("log?verb=&from=1", "verb is empty"),
        ("why?kind=configmap&name=a&namespace=", "namespace is empty"),
        ("plan?kind=namespace&name=", "name is empty"),
        ("state?asOf=", "asOf is empty"),
        ("state?asOf=9126-01-31T12:00:00Z", "is in the future"),
    ] {
        let refused =
            server.kubectl_fails(&["get", "--raw", &format!("/hindsight/v1/{query}")], "");
        assert!(refused.contains(why), "{query}: {refused}");
    }
    for question in ["state", "backup"] {
        let path = format!("/hindsight/v1/{question}");
        let refused = server.kubectl_fails(&["create", "--raw", &path, "-f", "-"], "{}");
        assert!(refused.contains("only GET"), "{question}: {refused}");
    }
}

#[test]
fn an_address_that_is_taken_is_told_before_anything_is_made() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let refused = hindsight(&directory, &["serve", "--listen", &address]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("another address with --listen"), "{said}");
    assert!(!directory.exists(), "nothing was made");
}
