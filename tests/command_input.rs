//! What the command line accepts as typed, and the commands that it suggests to type next.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::server::{Server, binary, hindsight, stdout, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a line in a shell, in this directory.
fn typed(line: &str, place: &Path) -> Output {
    let mut command = Command::new("bash");
    let path = binary("hindsight");
    let path = path.parent().expect("a folder").display();
    command.args(["-c", &format!("PATH={path}:$PATH; {line}")]);
    command.current_dir(place).output().expect("bash runs")
}

/// The suggested command that begins with these words, up to the end of the line or the closing
/// backtick.
fn suggested_command(output: &str, begin: &str) -> String {
    let at = output.find(begin).expect("it is said what to type");
    let line = output[at..].split(['\n', '`']).next();
    line.expect("a line").to_owned()
}

#[test]
fn what_is_said_to_be_typed_next_asks_the_same_directory() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let place = temporary.path();
    let server = Server::start_on(&place.join("my data"));
    server.kubectl(&["create", "namespace", "other"]);
    for _ in 0..2 {
        server.kubectl(&["create", "configmap", "x", "-n", "other"]);
        server.kubectl(&["delete", "configmap", "x", "-n", "other"]);
    }
    server.kubectl(&["create", "configmap", "x", "-n", "other"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let asked = "hindsight why cm/x -n other --data-dir 'my data'";
    let output = stdout(&typed(asked, place));
    let next = suggested_command(
        &output,
        "hindsight why cm/x -n other --data-dir 'my data' --uid",
    );
    let output = stdout(&typed(&next, place));
    assert!(output.contains("is deleted"), "{output}");
    let missing = "hindsight get cm/gone --data-dir 'my data'";
    let output = text(&typed(missing, place).stderr);
    for begin in ["hindsight log", "hindsight why"] {
        let next = suggested_command(&output, begin);
        let output = text(&typed(&next, place).stderr);
        assert!(
            !output.contains("contains no event log"),
            "{next}: {output}"
        );
    }
    let output = text(&typed("hindsight why cm/gone --data-dir 'my data'", place).stderr);
    assert!(
        output.contains("`hindsight log KIND --data-dir 'my data'`"),
        "{output}"
    );
    let known = "HINDSIGHT_DATA_DIR='my data' hindsight why cm/x -n other";
    let output = stdout(&typed(known, place));
    assert!(
        output.contains("hindsight why cm/x -n other --uid"),
        "{output}"
    );
}

/// Arguments that are refused, what standard error says of them, and what it does not say.
const REFUSED: &[(&str, &str, &str)] = &[
    ("get pods -l app=x", "/as-of/POINT", "as a value"),
    ("get pods --selector app=x", "/as-of/POINT", "as a value"),
    ("get pods -w", "hindsight log --follow", "as a value"),
    ("log --watch", "hindsight log --follow", "as a value"),
    ("why pods/a -A", "unexpected argument '-A'", "as a value"),
    ("log --since -5m", "or how long ago", "unexpected"),
    ("log --until -5m", "or how long ago", "unexpected"),
    ("get pods --as-of -5m", "or how long ago", "unexpected"),
    ("plan pods/a --as-of -5m", "or how long ago", "unexpected"),
    ("log --as-of 4", "use --until POINT", "as a value"),
    ("log --limit 5", "use --tail N", "as a value"),
    (
        "why cm/a --as-of 4",
        "hindsight get KIND/NAME --as-of",
        "as a value",
    ),
    ("plan cm/a --dry-run", "plan never writes", "as a value"),
    ("get pods -o wide", "/as-of/POINT", "environment"),
    ("get pods -o jsonpath={.x}", "/as-of/POINT", "similar"),
    (
        "get pods -o jsn",
        "a similar value exists: 'json'",
        "/as-of/",
    ),
    ("get pods -o tree", "possible values", "/as-of/POINT"),
    ("gett pods", "similar subcommand", "as a value"),
    ("get pods --all", "exists: '--all-namespaces'", "as a value"),
    ("backup --format json f", "unexpected argument", "similar"),
    ("log --server https://h", "kubectl get --raw", "similar"),
    ("serve data", "with --data-dir DIR", "similar"),
    ("apply", "unrecognized subcommand", "similar"),
    ("history", "hindsight log shows", "similar"),
    (
        "explain cm/a",
        "hindsight why KIND/NAME explains",
        "similar",
    ),
    ("version", "hindsight --version", "similar"),
    ("describe cm/a", "hindsight get shows", "similar"),
    ("list cm", "hindsight get shows", "similar"),
    ("delete cm/a", "hindsight plan KIND/NAME shows", "similar"),
    ("why", "Usage: hindsight why [OPTIONS]", "--data-dir"),
    ("why -w", "Usage: hindsight why [OPTIONS]", "--data-dir"),
    (
        "restore",
        "Usage: hindsight restore [OPTIONS]",
        "--data-dir",
    ),
];

#[test]
fn a_refusal_of_arguments_helps_with_what_was_meant() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    for (line, told, not) in REFUSED {
        let line = format!("HINDSIGHT_DATA_DIR=data hindsight {line}");
        let refused = typed(&line, temporary.path());
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(told), "{line}: {said}");
        assert!(!said.contains(not), "{line}: {said}");
    }
}

#[test]
fn help_is_wrapped_where_a_terminal_is_wide() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    for subcommand in ["serve", "log", "get", "backup", "verify"] {
        let line = format!("COLUMNS=400 hindsight {subcommand} --help");
        let said = stdout(&typed(&line, temporary.path()));
        let long = said.lines().find(|line| line.len() > 100);
        assert_eq!(long, None, "{subcommand}");
    }
}

#[test]
fn a_value_that_nobody_typed_is_said_to_be_from_the_environment() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    for (line, variable) in [
        (
            "HINDSIGHT_KUBECONFIG= hindsight serve",
            Some("HINDSIGHT_KUBECONFIG"),
        ),
        ("hindsight serve --kubeconfig=", None),
        (
            "HINDSIGHT_KUBECONFIG=x hindsight serve --keep-history=x",
            None,
        ),
        (
            "HINDSIGHT_KEEP_KIND=secrets hindsight serve",
            Some("HINDSIGHT_KEEP_KIND"),
        ),
        ("hindsight serve --keep-kind secrets", None),
        (
            "HINDSIGHT_SNAPSHOT_EVERY=0 hindsight serve --keep-history 90d",
            Some("HINDSIGHT_SNAPSHOT_EVERY"),
        ),
        ("hindsight log -A -n default", None),
    ] {
        let refused = typed(line, temporary.path());
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{line}: {said}");
        let (_, named) = said.split_once("environment variable ").unzip();
        let named = named.and_then(|named| named.split_once(';'));
        assert_eq!(named.unzip().0, variable, "{line}: {said}");
    }
}

#[test]
fn shells_offer_files_only_where_files_are_meant() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let script = |shell: &str| {
        let line = format!("hindsight completions {shell}");
        stdout(&typed(&line, temporary.path()))
    };
    let bash = script("bash");
    for (option, files) in [("--as-of)", 0), ("--user)", 0), ("--kubeconfig)", 1)] {
        let at = bash.find(option).expect("it is completed");
        let end = at + bash[at..].find("return 0").expect("an end");
        let offered = bash[at..end].matches("compgen -f").count();
        assert_eq!(offered, files, "{}", &bash[at..end]);
    }
    let fish = script("fish");
    let is_of = |line: &&str| line.contains("-l as-of ");
    for line in fish.lines().filter(is_of) {
        assert!(line.contains(" -r -f"), "{line}");
    }
    assert!(fish.lines().any(|line| is_of(&line)));
}

#[test]
fn a_job_is_brought_back_from_the_past() {
    let server = Server::start();
    let pods = "spec: {template: {metadata: {labels: {app: a}}, spec: {restartPolicy: Never, \
                containers: [{name: c, image: i}]}}}";
    let job = format!("apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\n{pods}\n");
    let labels = || {
        let own = server.kubectl(&["get", "job", "j", "-o", "jsonpath={.metadata.labels}"]);
        let path = "jsonpath={.spec.template.metadata.labels}";
        (own, server.kubectl(&["get", "job", "j", "-o", path]))
    };
    server.kubectl_with(&["create", "-f", "-"], &job);
    let (uid, before) = (server.uid("job/j"), labels());
    let manifest = stdout(&server.hindsight(&["get", "job/j", "-o", "manifest"]));
    server.kubectl(&["delete", "job", "j"]);
    server.kubectl_with(&["create", "-f", "-"], &manifest);
    let (own, of_pods) = labels();
    assert_eq!(of_pods, before.1.replace(&uid, &server.uid("job/j")));
    assert!(
        before.0.contains("job-name") && !own.contains(&uid),
        "{own}"
    );
}

#[test]
fn what_begins_with_a_tab_is_read_back_by_kubectl() {
    let server = Server::start();
    let data = json!({"makefile": "all:\n\techo\n", "tabs": "\ta\n>\t", "late": "\n\tb\n"});
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data});
    server.kubectl_with(&["create", "-f", "-"], &map.to_string());
    for arguments in [
        ["get", "configmap/m", "-o", "manifest"].as_slice(),
        &["get", "configmap/m", "-o", "yaml"],
    ] {
        let printed = stdout(&server.hindsight(arguments));
        let read = ["label", "--local", "-f", "-", "x=y", "-o", "json"];
        let read: Value =
            serde_json::from_str(&server.kubectl_with(&read, &printed)).expect("JSON");
        assert_eq!(read["data"], data, "{printed}");
    }
}

/// Exit code, arguments, and a part of the output, the same from a server and from its directory.
const EXPECTED_OUTPUT: &str = "
0 why configmaps.v1./b                  | ConfigMap b in default is live
0 why cm.v1./b                          | ConfigMap b in default is live
0 log deployments.v1.apps/web           | deployments.apps default/web: created
0 why deployments.v1.apps/web           | Deployment web in default is live
1 why deployments.v9.apps/web           | none of this name was ever defined
0 get configmaps.v1.                    | b
1 get configmaps.v2.                    | there is no kind
1 get widgets.example.com               | one that was defined at another time is found with a point
1 plan widgets.example.com/w            | one that was defined at another time is found with a point
1 why confgmap/b                        | (did you mean configmap?), and none of this name
1 log Secretss                          | (did you mean secrets?), and none of this name
1 get deploymnts.apps                   | (did you mean deployments.apps?) in this state
1 plan pdo/b                            | (did you mean pod?) in this state
1 get all                               | (several kinds have this category: give one at a time
1 log widgets                           | none of this name was ever defined
1 log widgets.example.com               | none of this name was ever defined
1 why widgets.example.com/w             | none of this name was ever defined
0 log --since 1h                        | configmaps default/a: created
0 log --until 1h                        | nothing happened in this log up to
0 log --since 2026-01-31                | configmaps default/a: created
0 log --since 9999-01-31                | 9999-01-31T00:00:00.000000Z is in the future: it is now
0 log cm/b --tail 1                     | configmaps default/b: updated
0 log --verb DELETE                     | verbs are create, update, patch, delete, deletecollection, restore
0 log -A                                | configmaps default/a: created
2 log -A -n default                     | cannot be used with
2 log --tail 0                          | expected a number from 1 to 10000
2 log --tail -1                         | expected a number from 1 to 10000
2 get cm -n default -A                  | cannot be used with
2 get cm/b --as-of -5                   | expected a revision, such as 42
2 plan cm/b --as-of -5                  | expected a revision, such as 42
2 log --since -1                        | expected a revision, such as 42
2 log --since 5 --until 3               | --since 5 is after --until 3; exchange them
2 log --since 1h --until 2h             | ; exchange them
0 log --since 3 --until 3               |
2 log --as-of 3                         | to end it at a point, use --until POINT
2 replay --until -1                     | expected a whole number
2 serve --snapshot-every -1             | expected a whole number
2 restore /nowhere --bump-revision -1   | expected a whole number above 0
2 restore /nowhere --bump-revision 18446744073709551616 | too few revisions would be left
2 log --tail 5 --since lately           | or how long ago, such as 90m
3 get cm/b --as-of 1h                   | configmaps default/b did not exist as of 2
3 get cm/b --as-of 0                    | configmaps default/b did not exist at revision 0: there was no namespace default; `hindsight log cm/b
3 get cm/b --as-of 0                    | whether and why it was deleted
3 get cm/c -n nosuch                    | configmaps nosuch/c does not exist: there is no namespace nosuch; `hindsight log cm/c -n nosuch
3 get cm/a -A                           | configmaps a does not exist in any namespace; `hindsight log
3 get cm/a -A                           | `hindsight why cm/a -n NAMESPACE
3 get ns/gone                           | namespaces gone does not exist; `hindsight log
0 get deploy -n nosuch                  | no deployments.apps found in nosuch: there is no namespace nosuch
0 get deploy -n kube-system             | no deployments.apps found in kube-system
2 get cm -n default,other               | ask about one at a time
2 log -n default,other                  | ask about one at a time
2 why cm/a -n default,other             | ask about one at a time
2 plan cm/a -n default,other            | ask about one at a time
3 get cm/b --as-of 2026-01-31           | did not exist as of 2026-01-31T00:00:00.000000Z
0 get cm/b --as-of 0s                   | b
1 get cm/b --as-of 9126-01-31           | is in the future: it is now
3 plan cm/b --as-of 1h                  | there was no cm b to delete
0 why configmaps default/b              | ConfigMap b in default is live
0 log configmaps default/b              | configmaps default/b: created
0 get configmaps default/b              | b
0 plan configmaps default/b             | configmaps default/b: deleted
2 why configmaps default/b -n other     | two namespaces are given, default before the name and other with -n
2 log configmaps default/b -A           | leave -A out
2 get configmaps default/b -A           | leave -A out
2 get configmaps default/b/c            | expected NAME or NAMESPACE/NAME
3 get configmaps kube-system/b          | `hindsight log configmaps/b -n kube-system
3 why configmaps kube-system/b          | ever existed in kube-system in this log; look in another namespace with -n
3 why ns/gone                           | ever existed in this log; look for the name with
3 plan configmaps kube-system/b         | to delete in kube-system; look in another namespace with -n
3 plan ns/gone                          | to delete; look at another time
3 plan cm/a                             | with --as-of; `hindsight why cm/a --data-dir
3 plan cm/a -n kube-system              | `hindsight why cm/a -n kube-system --data-dir
1 backup /nowhere/x                     | name a file in a directory that exists
1 backup /                              | hindsight: / is a directory; name a file
1 backup /dev/null                      | hindsight: /dev/null is not a regular file; name another, or use - for
1 backup /dev/null/x                    | name a file in a directory that exists
1 restore /                             | hindsight: / is a directory; name a file that
2 restore x --bump-revision 9223372036854775807 | skip fewer, at most 4607182418800017407
2 restore x --bump-revision 4607182418800017408 | skip fewer, at most 4607182418800017407
1 restore /nowhere --bump-revision 4607182418800017407 | name a file that `hindsight backup` wrote
1 restore /nowhere                      | name a file that `hindsight backup` wrote
1 serve --token-auth-file /nowhere      | or leave --token-auth-file out
";

fn check_output(directory: &Path) {
    for line in EXPECTED_OUTPUT.trim().lines() {
        let (head, expected) = line.split_once('|').expect("a bar");
        let head: Vec<&str> = head.split_whitespace().collect();
        let output = hindsight(directory, &head[1..]);
        let code = output.status.code().map(|code| code.to_string());
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(code.as_deref(), Some(head[0]), "{line}\n{printed}");
        assert!(printed.contains(expected.trim()), "{line}\n{printed}");
    }
}

#[test]
fn what_may_be_typed_is_read_the_same_by_a_server_and_by_its_directory() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for name in ["a", "b"] {
        server.kubectl(&["create", "configmap", name]);
    }
    server.kubectl(&["delete", "configmap", "a"]);
    server.kubectl(&["create", "deployment", "web", "--image", "i"]);
    server.kubectl(&["label", "configmap", "b", "x=y"]);
    check_output(&directory);
    assert_eq!(server.signal("TERM"), Some(0));
    check_output(&directory);
}

#[test]
fn the_newest_of_the_log_is_printed_alone_and_followed() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for name in ["a", "b", "c"] {
        server.kubectl(&["create", "configmap", name]);
    }
    let newest = |arguments: &[&str]| -> Vec<String> {
        let asked = [&["log", "configmaps", "-n", "default"], arguments].concat();
        let printed = stdout(&hindsight(&directory, &asked));
        printed.lines().map(str::to_owned).collect()
    };
    let check = || {
        let all = newest(&[]);
        assert_eq!(newest(&["--tail", "2"]), all[all.len() - 2..]);
        assert_eq!(newest(&["--tail", "10"]), all);
    };
    check();
    let mut follow = Command::new(binary("hindsight"));
    follow.args(["log", "configmaps", "-n", "default", "-f", "--tail", "1"]);
    follow
        .arg("--data-dir")
        .arg(&directory)
        .stdout(Stdio::piped());
    let mut follow = follow.spawn().expect("it starts");
    let mut lines = BufReader::new(follow.stdout.take().expect("an output")).lines();
    let mut next = || lines.next().expect("more").expect("a line");
    assert!(next().contains("default/c: created"));
    for name in ["d", "e"] {
        server.kubectl(&["create", "configmap", name]);
        assert!(next().contains(&format!("default/{name}: created")));
    }
    follow.kill().expect("it runs");
    follow.wait().expect("it ends");
    assert_eq!(server.signal("TERM"), Some(0));
    check();
}

#[test]
fn columns_are_as_wide_as_revisions_are_after_a_restore() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let place = temporary.path();
    let server = Server::start_on(&place.join("old"));
    server.kubectl(&["create", "configmap", "before"]);
    stdout(&typed("hindsight backup m.backup --data-dir old", place));
    assert_eq!(server.signal("TERM"), Some(0));
    stdout(&typed("hindsight restore m.backup --data-dir new", place));
    let server = Server::start_on(&place.join("new"));
    server.kubectl(&["create", "configmap", "later"]);
    let check = || {
        for (asked, begin) in [
            ("log configmaps -n default", "  20"),
            ("log configmaps -n default --tail 5", "  20"),
            ("get configmaps", "  "),
        ] {
            let line = format!("hindsight {asked} --data-dir new");
            let output = stdout(&typed(&line, place));
            let columns: BTreeSet<_> = output.lines().map(|line| line.rfind(begin)).collect();
            assert!(
                columns.len() == 1 && output.contains("before") && output.contains("later"),
                "{output}"
            );
        }
    };
    check();
    assert_eq!(server.signal("TERM"), Some(0));
    check();
}

#[test]
fn a_file_is_not_taken_for_a_directory() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let place = temporary.path();
    let server = Server::start_on(&place.join("data"));
    stdout(&typed("hindsight backup my.backup --data-dir data", place));
    assert_eq!(server.signal("TERM"), Some(0));
    std::fs::write(place.join("crd.yaml"), "kind: X\n").expect("written");
    let first =
        "my.backup is a backup; restore it first: hindsight restore my.backup --data-dir NEW";
    for (line, told) in [
        ("log --data-dir my.backup", first),
        ("verify --data-dir my.backup", first),
        ("serve --data-dir my.backup", first),
        (
            "get pods --data-dir crd.yaml",
            "crd.yaml is a file, not a directory",
        ),
        (
            "restore my.backup --data-dir crd.yaml",
            "crd.yaml is a file, not a directory",
        ),
        ("log --data-dir missing", "contains no event log"),
    ] {
        let refused = typed(&format!("hindsight {line}"), place);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains(told), "{line}: {said}");
    }
}

#[test]
fn a_backup_replaces_no_part_of_the_directory_that_it_is_made_of() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let data = temporary.path().join("data");
    let parts = [
        "lock",
        "events.tail",
        "events.reserve",
        "events.place",
        "admin.kubeconfig",
        "events/db",
        "events/conf",
        "events/journal",
        "events/new",
        "snapshots/new",
        "pki/ca.key",
        "pki/new",
    ];
    let refuse_all = || {
        for file in parts.map(|part| data.join(part)) {
            let name = file.to_str().expect("UTF-8");
            let refused = hindsight(&data, &["backup", "--force", name]);
            let said = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(1), "{said}");
            assert!(said.contains("name a file outside of "), "{said}");
            let is_replaced = std::fs::read(&file).is_ok_and(|found| found.starts_with(b"HSBK"));
            assert!(!is_replaced, "{name}");
        }
    };
    let server = Server::start_on(&data);
    refuse_all();
    assert_eq!(server.signal("TERM"), Some(0));
    let read = || parts.map(|part| std::fs::read(data.join(part)).ok());
    let before = read();
    refuse_all();
    assert!(read() == before, "a part was changed");
}
