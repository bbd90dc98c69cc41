//! What the command line prints: bounded in the server's memory, complete or a failure, and usable by
//! the next command.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_log::DirectoryLock;
use hindsight_tests::manifests::dependent;
use hindsight_tests::server::{Server, binary, hindsight, stdout, text};
use hindsight_tests::vitals::peak_mib;
use hindsight_tests::wait::wait_until;
use serde_json::Value;
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// ConfigMaps, with this many members each.
fn configmaps(count: usize, members: usize) -> String {
    let mut data = String::new();
    for member in 0..members {
        write!(data, "k{member}: '',").expect("written");
    }
    let mut manifest = String::new();
    for index in 0..count {
        let name = format!("{{name: c{index:03}}}");
        writeln!(
            manifest,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name}\ndata: {{{data}}}"
        )
        .expect("written");
    }
    manifest
}

#[test]
fn a_list_of_more_than_one_piece_is_the_same_from_a_server_and_from_its_directory() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl_with(&["create", "-f", "-"], &configmaps(230, 1));
    let asked = ["-o json", "-o yaml", "-o name", "-o text", "-o manifest"];
    let printed = || -> Vec<String> {
        let get = |form: &&str| stdout(&hindsight(&directory, &words(&format!("get cm {form}"))));
        asked.iter().map(get).collect()
    };
    let online = printed();
    assert_eq!(server.signal("TERM"), Some(0));
    assert_eq!(printed(), online);
    let list: Value = serde_json::from_str(&online[0]).expect("a list");
    let items = list["items"].as_array().expect("items");
    assert_eq!(
        (items.len(), &items[229]["metadata"]["name"]),
        (230, &"c229".into())
    );
    assert_eq!(online[2].lines().nth(100), Some("configmap/c100"));
}

/// Parsed into trees, these objects take many times the memory of their text.
#[test]
fn a_server_that_is_asked_for_objects_holds_no_trees_of_them() {
    let server = Server::start();
    server.kubectl_with(&["create", "-f", "-"], &configmaps(20, 60_000));
    let before = peak_mib(server.pid());
    for form in ["json", "name"] {
        stdout(&server.hindsight(&["get", "configmaps", "-o", form]));
    }
    let grown = peak_mib(server.pid()).saturating_sub(before);
    assert!(grown < 60, "{before} MiB have grown by {grown}");
    let path = "/hindsight/v1/objects?kind=configmaps";
    server.kubectl_fails(&["get", "--raw", path], "");
}

/// Runs a command with this as standard output; returns the exit code and standard error.
fn printed_to(place: Stdio, directory: &Path, arguments: &str) -> (Option<i32>, String) {
    let mut command = Command::new(binary("hindsight"));
    command
        .args(words(arguments))
        .env("HINDSIGHT_DATA_DIR", directory);
    let child = command.stdout(place).stderr(Stdio::piped()).spawn();
    let output = child
        .expect("it starts")
        .wait_with_output()
        .expect("it ends");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn an_answer_that_is_not_written_whole_is_a_failure_and_says_so() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a"]);
    let full = || {
        OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("there")
    };
    let check = |arguments: &str| {
        let (code, said) = printed_to(full().into(), &directory, arguments);
        assert_eq!(code, Some(1), "{arguments}: {said}");
        let told = said.matches("No space left on device").count();
        assert_eq!(told, 1, "{arguments}: {said}");
        assert!(!said.contains("--data-dir"), "{arguments}: {said}");
    };
    let asked = [
        "log",
        "log -o json",
        "why configmap/a",
        "why configmap/a -o json",
        "plan configmap/a",
        "get namespaces",
    ];
    let forms = ["json", "yaml", "manifest", "name"];
    let forms = forms.map(|form| format!("get configmap/a -o {form}"));
    let others = [
        "replay",
        "backup -",
        "completions bash",
        "--help",
        "--version",
    ];
    let asked = asked
        .into_iter()
        .chain(forms.iter().map(String::as_str))
        .chain(others);
    let asked: Vec<&str> = asked.collect();
    asked.iter().for_each(|arguments| check(arguments));
    assert_eq!(server.signal("TERM"), Some(0));
    for arguments in asked.into_iter().chain(["verify", "verify -o json"]) {
        check(arguments);
    }
}

#[test]
fn a_reader_that_goes_away_ends_any_output_and_not_with_an_error() {
    let server = Server::start();
    server.kubectl_with(&["create", "-f", "-"], &configmaps(30, 300));
    for arguments in [
        "completions bash",
        "get cm -o json",
        "get cm -o yaml",
        "log -o json",
        "--help",
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = printed_to(writer.into(), server.directory(), arguments);
        assert_eq!(ended, (Some(0), String::new()), "{arguments}");
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let (code, said) = printed_to(writer.into(), server.directory(), "backup -");
    assert_eq!(code, Some(1), "half a backup is none: {said}");
}

#[test]
fn names_are_arguments_of_the_next_command() {
    let server = Server::start();
    server.kubectl(&["create", "namespace", "team"]);
    for namespace in ["default", "team"] {
        server.kubectl(&["create", "configmap", "a", "-n", namespace]);
    }
    server.kubectl(&["create", "deployment", "web", "--image=i"]);
    let names = |arguments: &str| stdout(&server.hindsight(&words(arguments)));
    assert!(names("get ns -o name").contains("namespace/team\n"));
    assert_eq!(names("get deploy -o name"), "deployment.apps/web\n");
    let everywhere = names("get cm -A -o name");
    assert_eq!(everywhere, "-n default configmap/a\n-n team configmap/a\n");
    assert_eq!(names("get cm -n team -o name"), "-n team configmap/a\n");
    assert_eq!(names("get cm -o name"), "configmap/a\n");
    for line in everywhere.lines().chain(["deployment.apps/web"]) {
        let why = names(&format!("why {line}"));
        assert!(why.contains(" is live"), "{line}: {why}");
    }
    let shown = names("get deploy/web -o yaml");
    assert!(
        shown.contains("name: web") && !shown.contains("managedFields"),
        "{shown}"
    );
    assert!(names("get deploy/web -o yaml --show-managed-fields").contains("managedFields"));
}

#[test]
fn why_a_name_was_deleted_is_told_although_somebody_made_it_again() {
    let server = Server::start();
    for _ in 0..2 {
        server.kubectl(&["create", "configmap", "re"]);
        server.kubectl(&["label", "configmap", "re", "x=y"]);
        server.kubectl(&["delete", "configmap", "re"]);
    }
    server.kubectl(&["create", "configmap", "re"]);
    server.kubectl(&["label", "configmap", "re", "x=y"]);
    let asked = |arguments: &str| stdout(&server.hindsight(&words(arguments)));
    let why = asked("why configmap/re");
    assert!(why.starts_with("ConfigMap re in default is live"), "{why}");
    let log = asked("log configmap/re --verb delete -o json");
    let log: Value = serde_json::from_str(&log).expect("a list");
    let told = format!(
        "deleted at revision {}: somebody asked for it",
        log[1]["revision"]
    );
    assert!(why.contains(&told), "{why}");
    let next = why.lines().last().expect("a hint").trim();
    let next = next.strip_prefix("hindsight ").expect("a command");
    assert!(
        next.ends_with(log[1]["uid"].as_str().expect("a uid")),
        "{next}"
    );
    let ran = Command::new(binary("hindsight")).args(words(next)).output();
    let told = stdout(&ran.expect("it runs as it is told"));
    assert!(
        told.contains("is deleted: somebody asked for it (requested)"),
        "{told}"
    );
}

#[test]
fn the_log_is_narrowed_and_says_what_an_update_changed() {
    let server = Server::start();
    server.kubectl(&["create", "namespace", "team"]);
    server.kubectl(&["create", "deployment", "web", "--image=i", "-n", "team"]);
    server.kubectl(&["create", "configmap", "other"]);
    server.kubectl(&["scale", "deployment", "web", "--replicas=3", "-n", "team"]);
    server.kubectl(&["label", "deployment", "web", "x=y", "-n", "team"]);
    let asked = |arguments: &str| stdout(&server.hindsight(&words(arguments)));
    let of_team = asked("log -n team");
    let objects: Vec<&str> = of_team
        .lines()
        .filter_map(|line| words(line).get(3).copied())
        .collect();
    let web = "team/web:";
    assert_eq!(
        objects,
        [
            "namespaces",
            "deployments.apps",
            "deployments.apps",
            "deployments.apps"
        ]
    );
    assert_eq!(of_team.matches(web).count(), 3, "{of_team}");
    for arguments in ["log deploy/web", "log deploy/web -n team"] {
        let told = asked(arguments);
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[1].contains("updated spec.replicas ("), "{told}");
        assert!(
            lines[2].ends_with("updated metadata.labels (patch)"),
            "{told}"
        );
        let revision = words(lines[2])[0];
        let later = asked(&format!("{arguments} --since {revision}"));
        assert_eq!(later.trim_end(), lines[2].trim_end());
        let time = words(lines[1])[1];
        let until = asked(&format!("{arguments} --until {time}"));
        assert_eq!(until.lines().collect::<Vec<_>>(), lines[..2]);
    }
    assert_eq!(asked("log --verb create --user admin").lines().count(), 3);
    let refused = server.kubectl_fails(&["get", "--raw", "/hindsight/v1/log?until=soon"], "");
    assert!(refused.contains("until=soon is invalid"), "{refused}");
}

/// Plays the README's example: an owner and its child, both deleted. Returns the child's last
/// revision.
fn owner_and_child(server: &Server) -> String {
    server.kubectl(&["create", "configmap", "owner"]);
    let child = dependent("child", "owner", &server.uid("configmap/owner"));
    server.kubectl_with(&["create", "-f", "-"], &child);
    let revision = [
        "get",
        "configmap",
        "child",
        "-o",
        "jsonpath={.metadata.resourceVersion}",
    ];
    let revision = server.kubectl(&revision);
    server.kubectl(&["delete", "configmap", "owner"]);
    let gone = ["wait", "configmap/child", "--for=delete", "--timeout=120s"];
    server.kubectl(&gone);
    revision
}

#[test]
fn what_went_with_its_owner_is_brought_back_and_stays() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let then = owner_and_child(&server);
    let manifest = words("get configmap/child -o manifest --as-of");
    let manifest: Vec<&str> = manifest.into_iter().chain([then.as_str()]).collect();
    let online = server.hindsight(&manifest);
    let told = text(&online.stderr);
    assert!(
        told.contains("left out of the manifest: ConfigMap child: owner ConfigMap owner"),
        "{told}"
    );
    let manifest_text = stdout(&online);
    server.kubectl_with(&["create", "-f", "-"], &manifest_text);
    // Once the collector has removed a later object, it has seen this one as well.
    server.kubectl_with(
        &["create", "-f", "-"],
        &dependent("doomed", "owner", "nobody"),
    );
    server.kubectl(&["wait", "configmap/doomed", "--for=delete", "--timeout=120s"]);
    assert_eq!(
        server.kubectl(&["get", "configmap", "child", "-o", "name"]),
        "configmap/child\n"
    );
    assert_eq!(server.signal("TERM"), Some(0));
    let offline = hindsight(&directory, &manifest);
    assert_eq!(
        (stdout(&offline), text(&offline.stderr)),
        (manifest_text, told)
    );
}

#[test]
fn another_command_that_holds_the_directory_is_named_and_is_no_server() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    assert_eq!(Server::start_on(&directory).signal("TERM"), Some(0));
    let held = DirectoryLock::acquire(&directory).expect("free");
    for arguments in ["log", "verify"] {
        let refused = hindsight(&directory, &[arguments]);
        let said = text(&refused.stderr);
        let holder = format!("in use by process {}, which answers no", std::process::id());
        assert!(said.contains(&holder), "{arguments}: {said}");
        assert!(!said.contains(" at https://"), "{arguments}: {said}");
    }
    drop(held);
    stdout(&hindsight(&directory, &["log"]));
}

/// Revisions jump at a restore, so a count of them does not measure the work that is left.
#[test]
fn nothing_promises_days_after_a_restore() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let (first, second) = (
        temporary.path().join("first"),
        temporary.path().join("second"),
    );
    let backup = temporary.path().join("backup");
    let backup = backup.to_str().expect("a path");
    assert_eq!(Server::start_on(&first).signal("TERM"), Some(0));
    stdout(&hindsight(&first, &["backup", backup]));
    stdout(&hindsight(&second, &["restore", backup]));
    let program = binary("hindsight");
    for subcommand in ["verify", "replay", "backup --force"] {
        let file = if subcommand == "verify" || subcommand == "replay" {
            ""
        } else {
            backup
        };
        let line = format!("{} {subcommand} {file}", program.display());
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("HINDSIGHT_DATA_DIR", &second);
        let shown = text(&command.output().expect("a terminal").stdout);
        assert!(
            shown.contains("frames") || shown.contains("commits"),
            "{shown}"
        );
        assert!(!shown.contains("1,000,0"), "{shown}");
    }
}

#[test]
fn help_is_not_wrapped_twice_and_has_examples_everywhere() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary("hindsight"));
        stdout(&command.args(arguments).output().expect("it runs"))
    };
    for subcommand in [
        "serve",
        "log",
        "why",
        "get",
        "plan",
        "verify",
        "replay",
        "backup",
        "restore",
        "completions",
    ] {
        let help = run(&[subcommand, "--help"]);
        let examples = help.split_once("Examples:\n").expect(subcommand).1;
        for line in examples.lines() {
            assert!(line.len() <= 80, "{subcommand}: {line}");
        }
    }
}

/// Starts `hindsight log --follow` with its output in a pipe.
fn followed(directory: &Path) -> Child {
    let mut command = Command::new(binary("hindsight"));
    command.args(["log", "configmaps", "--follow"]);
    command.arg("--data-dir").arg(directory);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

/// Waits for the process and returns its exit code, if there is one.
fn ended(process: &mut Child) -> Option<i32> {
    let mut status = None;
    wait_until("the end of it", || {
        status = process.try_wait().expect("it is ours");
        status.is_some()
    });
    status.and_then(|status| status.code())
}

#[test]
fn a_follower_whose_reader_is_gone_ends_although_nothing_happens() {
    let server = Server::start();
    server.kubectl(&["create", "configmap", "a"]);
    let mut process = followed(server.directory());
    let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert!(line.contains("default/a: created"), "{line}");
    drop(output);
    assert_eq!(ended(&mut process), Some(0));
}

#[test]
fn a_server_that_is_started_again_is_followed_on() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a"]);
    let mut process = followed(&directory);
    let lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
    let mut lines = lines.map(|line| line.expect("a line"));
    assert!(
        lines
            .next()
            .expect("what was")
            .contains("default/a: created")
    );
    assert_eq!(server.signal("TERM"), Some(0));
    let next = Server::start_on(&directory);
    next.kubectl(&["create", "configmap", "b"]);
    let line = lines.next().unwrap_or_default();
    drop(lines);
    let code = ended(&mut process);
    assert!(line.contains("default/b: created"), "{line:?} {code:?}");
    assert_eq!(code, Some(0));
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_looked_at_is_not_one_without_a_log() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let events = temporary.path().join("events");
    std::os::unix::fs::symlink(&events, &events).expect("a link to itself");
    for arguments in [["log"].as_slice(), &["verify"], &["why", "pod/a"]] {
        let output = hindsight(temporary.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains("looking for the event log in "), "{said}");
    }
}

#[test]
fn a_backup_that_is_ended_leaves_no_part_of_the_log() {
    let server = Server::start();
    let temporary = tempfile::tempdir().expect("a directory");
    let file = temporary.path().join("b");
    let unfinished = temporary.path().join("b.unfinished");
    // A stopped server keeps its clients waiting.
    server.send("STOP");
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        // Under nohup this test would pass an ignored SIGHUP on.
        let mut backup = Command::new("env");
        backup.arg("--default-signal=HUP").arg(binary("hindsight"));
        backup.arg("backup").arg(&file).arg("--data-dir");
        let backup = backup.arg(server.directory()).stderr(Stdio::piped());
        let backup = backup.spawn().expect("it starts");
        wait_until("what is not finished", || unfinished.exists());
        let mut kill = Command::new("kill");
        let sent = kill.args(["-s", signal, &backup.id().to_string()]).status();
        assert!(sent.expect("it runs").success());
        let ended = backup.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(code), "{signal}");
        let told = text(&ended.stderr);
        assert!(told.contains("was not written"), "{told}");
        let left = temporary.path().read_dir().expect("readable").count();
        assert_eq!(left, 0, "{signal}");
    }
    server.send("CONT");
}
