//! Which objects a question is about: objects whose kind had another scope, namespaces themselves,
//! kinds whose objects are never stored.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

#[path = "questions/names.rs"]
mod names;
#[path = "questions/reasons.rs"]
mod reasons;

use hindsight_tests::manifests::widgets;
use hindsight_tests::server::{Server, hindsight, stdout, text};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Asks the server and, once it has ended, its directory, and checks that both give the same answer.
fn ask_online_and_offline(server: Server, directory: &Path, questions: &[&str]) -> Vec<Output> {
    let words = |question: &&str| -> Vec<String> {
        question.split_whitespace().map(str::to_owned).collect()
    };
    let questions: Vec<Vec<String>> = questions.iter().map(words).collect();
    let ask = |question: &Vec<String>| {
        let words: Vec<&str> = question.iter().map(String::as_str).collect();
        hindsight(directory, &words)
    };
    let online: Vec<Output> = questions.iter().map(ask).collect();
    assert_eq!(server.signal("TERM"), Some(0));
    for (question, online) in questions.iter().zip(&online) {
        let offline = ask(question);
        let told = |output: &Output| (output.status.code(), text(&output.stdout));
        assert_eq!(told(online), told(&offline), "{question:?}");
    }
    online
}

fn assert_printed(answer: &Output, what: &str) {
    let said = text(&answer.stdout);
    assert!(said.contains(what), "{said}{}", text(&answer.stderr));
}

/// A server that once had a widget, and on which the same resource now has the other scope.
fn scoped_anew(directory: &Path, was_namespaced: bool) -> Server {
    let server = Server::start_on(directory);
    let namespaced = widgets("{type: object}");
    let cluster = namespaced
        .replace("scope: Namespaced", "scope: Cluster")
        .replace(
            "singular: widget, kind: Widget",
            "singular: gizmo, kind: Gizmo",
        );
    let (before, after, kind) = if was_namespaced {
        (namespaced, cluster, "Widget")
    } else {
        (cluster, namespaced, "Gizmo")
    };
    server.kubectl(&["create", "namespace", "team"]);
    server.define(&before);
    let place = if was_namespaced {
        ", namespace: team"
    } else {
        ""
    };
    let object =
        format!("apiVersion: example.com/v1\nkind: {kind}\nmetadata: {{name: w{place}}}\n");
    server.kubectl_with(&["create", "-f", "-"], &object);
    server.kubectl(&["delete", "crd", "widgets.example.com"]);
    server.define(&after);
    server
}

/// Asks about the widget that was in the other scope.
fn assert_told_of_other_scope(
    was_namespaced: bool,
    (why, logs): (&str, &[&str]),
    [why_told, log_told]: [&str; 2],
) {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = scoped_anew(&directory, was_namespaced);
    let questions = [&[why][..], logs].concat();
    let answers = ask_online_and_offline(server, &directory, &questions);
    let (why, logs) = answers.split_first().expect("answers");
    assert_printed(why, why_told);
    for log in logs {
        assert_printed(log, log_told);
    }
}

#[test]
fn what_was_in_a_namespace_is_found_where_its_kind_has_none_now() {
    let why = "why widgets.example.com/w -n team";
    let logs = [
        "log widgets.example.com/w -n team",
        "log widgets.example.com/w",
        "log widgets.example.com -n team",
        "log widgets.example.com",
    ];
    let told = [
        "Widget w in team is deleted",
        "widgets.example.com team/w: created",
    ];
    assert_told_of_other_scope(true, (why, &logs), told);
}

#[test]
fn what_was_in_no_namespace_is_found_where_its_kind_has_one_now() {
    let why = "why widgets.example.com/w";
    let logs = ["log widgets.example.com/w", "log widgets.example.com"];
    let told = ["Gizmo w is deleted", "widgets.example.com w: created"];
    assert_told_of_other_scope(false, (why, &logs), told);
}

/// The definition `gadgets.example.com` of a kind without namespaces.
fn gadgets() -> String {
    let mut definition = widgets("{type: object}");
    for (from, to) in [
        ("widget", "gadget"),
        ("Widget", "Gadget"),
        ("scope: Namespaced", "scope: Cluster"),
    ] {
        definition = definition.replace(from, to);
    }
    definition
}

#[test]
fn a_kind_whose_definition_is_gone_goes_by_all_its_names_and_what_never_was_one_is_none() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "namespace", "team"]);
    let short = "kind: Widget, shortNames: [wd]";
    server.define(&widgets("{type: object}").replace("kind: Widget", short));
    server.kubectl_with(&["create", "-f", "-"], &gadgets());
    let established = "--for=condition=Established";
    server.kubectl(&["wait", "crd/gadgets.example.com", established]);
    let objects = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: team}\n---\n\
        apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\n";
    server.kubectl_with(&["create", "-f", "-"], objects);
    server.kubectl(&[
        "delete",
        "crd",
        "widgets.example.com",
        "gadgets.example.com",
    ]);
    let (mut questions, mut expected) = (Vec::new(), Vec::new());
    let mut ask = |question: String, answer: &'static str| {
        questions.push(question);
        expected.push(answer);
    };
    for name in [
        "widgets.example.com",
        "widget.example.com",
        "Widget.example.com",
        "wd.example.com",
        "widgets.v1.example.com",
        "widgets",
    ] {
        ask(
            format!("why {name}/w -n team"),
            "Widget w in team is deleted",
        );
        ask(
            format!("log {name}/w -n team"),
            "widgets.example.com team/w: created",
        );
    }
    ask("why gadget.example.com/g".into(), "Gadget g is deleted");
    ask(
        "log gadgets.example.com -n team".into(),
        "gadgets.example.com g: created",
    );
    let none = "none of this name was ever defined";
    for name in [
        "widgets.v2.example.com",
        "nosuch.thing.io",
        "deployments.v2.apps",
    ] {
        ask(format!("why {name}/w -n team"), none);
        ask(format!("log {name} -n team"), none);
    }
    let questions: Vec<&str> = questions.iter().map(String::as_str).collect();
    let answers = ask_online_and_offline(server, &directory, &questions);
    for ((question, answer), expected) in questions.iter().zip(&answers).zip(expected) {
        let code = i32::from(expected == none);
        assert_eq!(answer.status.code(), Some(code), "{question}");
        let said = text(&answer.stdout) + &text(&answer.stderr);
        assert!(said.contains(expected), "{question}: {said}");
    }
}

#[test]
fn of_two_kinds_of_one_name_the_one_is_meant_that_has_the_object() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let make = |group: &str, name: &str| {
        let definition = widgets("{type: object}").replace("example.com", group);
        server.kubectl_with(&["create", "-f", "-"], &definition);
        let (established, named) = (
            "--for=condition=Established",
            format!("crd/widgets.{group}"),
        );
        server.kubectl(&["wait", &named, established]);
        let object = format!("apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: {name}}}\n");
        server.kubectl_with(&["create", "-f", "-"], &object);
    };
    make("gone.example", "before");
    server.kubectl(&["delete", "crd", "widgets.gone.example"]);
    make("a.example", "one");
    make("b.example", "two");
    let both = "apiVersion: a.example/v1\nkind: Widget\nmetadata: {name: two}\n";
    server.kubectl_with(&["create", "-f", "-"], both);
    server.kubectl(&["delete", "widgets.a.example/two"]);
    let mut questions = vec!["why widget/two".to_owned()];
    let other = "  widgets.b.example default/two exists too, of another kind of this name; to ask about that, name the \
                 kind as widgets.b.example\n";
    let mut expected = vec![other.to_owned()];
    for (name, group, fate) in [
        ("before", "gone", "deleted"),
        ("one", "a", "live"),
        ("two", "b", "live"),
    ] {
        let kind = if name == "two" {
            "widgets.b.example"
        } else {
            "widget"
        };
        questions.push(format!("why {kind}/{name}"));
        expected.push(format!("Widget {name} in default is {fate}"));
        if fate == "live" {
            questions.push(format!("log widgets/{name}"));
            expected.push(format!("widgets.{group}.example default/{name}: created"));
        }
    }
    questions.push("why widget/none".into());
    expected.push("no object of this name ever existed in default".into());
    let questions: Vec<&str> = questions.iter().map(String::as_str).collect();
    let answers = ask_online_and_offline(server, &directory, &questions);
    for ((question, answer), expected) in questions.iter().zip(&answers).zip(expected) {
        let said = text(&answer.stdout) + &text(&answer.stderr);
        assert!(said.contains(&expected), "{question}: {said}");
    }
}

#[test]
fn a_custom_kind_with_the_name_of_a_built_in_one_is_found_with_and_without_a_server() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let renamed = [
        ("widget", "service"),
        ("Widget", "Service"),
        ("example.com", "a.example"),
    ];
    let definition = renamed
        .into_iter()
        .fold(widgets("{type: object}"), |text, (from, to)| {
            text.replace(from, to)
        });
    server.kubectl_with(&["create", "-f", "-"], &definition);
    let established = "--for=condition=Established";
    server.kubectl(&["wait", "crd/services.a.example", established]);
    let object = "apiVersion: a.example/v1\nkind: Service\nmetadata: {name: one}\n";
    server.kubectl_with(&["create", "-f", "-"], object);
    let questions = ["log service/one", "log services", "why service/one"];
    let answers = ask_online_and_offline(server, &directory, &questions);
    for log in answers.iter().take(2) {
        assert_printed(log, "services.a.example default/one: created");
    }
}

#[test]
fn one_of_a_name_is_found_by_its_uid_or_its_namespace_whatever_scope_it_had() {
    let temporary = tempfile::tempdir().expect("a directory");
    let server = scoped_anew(&temporary.path().join("data"), true);
    let log = stdout(&server.hindsight(&["log", "-n", "team", "-o", "json"]));
    let log: Value = serde_json::from_str(&log).expect("JSON");
    let log = log.as_array().expect("a list");
    let widget = log
        .iter()
        .find(|one| one["object"] == "widgets.example.com team/w");
    let uid = widget.expect("the widget")["uid"].as_str().expect("a uid");
    let gizmo = "apiVersion: example.com/v1\nkind: Gizmo\nmetadata: {name: w}\n";
    server.kubectl_with(&["create", "-f", "-"], gizmo);
    let (named, uid) = (&["why", "widgets.example.com/w"][..], ["--uid", uid]);
    let (gizmo, widget) = ("Gizmo w is live", "Widget w in team is deleted");
    for (arguments, expected) in [
        (&[][..], gizmo),
        (&["-n", "team"], widget),
        (&["-n", "default"], gizmo),
        (&[&["-n", "team"], &uid[..]].concat(), widget),
    ] {
        let told = stdout(&server.hindsight(&[named, arguments].concat()));
        assert!(told.starts_with(expected), "{arguments:?}: {told}");
    }
}

#[test]
fn a_kind_without_namespaces_is_told_whole_whichever_namespace_is_named() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for name in ["one", "two"] {
        server.kubectl(&["create", "namespace", name]);
    }
    server.kubectl(&["create", "priorityclass", "high", "--value=7"]);
    let kinds = [
        (
            "namespaces",
            ["namespaces one: created", "namespaces two: "],
        ),
        ("namespace/two", ["namespaces two: created"; 2]),
        ("priorityclasses", [" high: created"; 2]),
    ];
    let questions = kinds.map(|(kind, _)| [format!("log {kind}"), format!("log {kind} -n one")]);
    let questions: Vec<&str> = questions.iter().flatten().map(String::as_str).collect();
    let questions = [&questions[..], &["log -n one"]].concat();
    let answers = ask_online_and_offline(server, &directory, &questions);
    for ((kind, expected), told) in kinds.iter().zip(answers.chunks_exact(2)) {
        let [whole, of_one] = [&told[0], &told[1]].map(|answer| text(&answer.stdout));
        assert_eq!(whole, of_one, "{kind}");
        for line in expected {
            assert!(of_one.contains(line), "{kind}: {of_one}");
        }
    }
    let of_one = text(&answers[6].stdout);
    assert_eq!(of_one.lines().count(), 1, "{of_one}");
    assert!(of_one.contains("namespaces one: created"), "{of_one}");
}

#[test]
fn what_is_never_stored_is_not_looked_for() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for refused in ask_online_and_offline(server, &directory, &["get tokenreviews", "get bindings"])
    {
        assert_eq!(refused.status.code(), Some(1));
        assert!(text(&refused.stderr).contains("never stored"));
    }
}

#[test]
fn a_question_over_http_names_its_object_and_takes_what_it_looks_at() {
    let server = Server::start();
    for (query, why) in [
        ("why?kind=configmap", "name one object"),
        ("plan?kind=configmap", "name one object"),
        ("why?kind=configmap&name=a&asOf=3", "does not take \"asOf\""),
        (
            "plan?kind=configmap&name=a&asof=3",
            "does not take \"asof\"",
        ),
        ("log?asOf=3", "use until"),
        (
            "log?since=abc",
            "since=abc is invalid; give a revision, such as 42, or an RFC 3339 time",
        ),
        (
            "log?from=2026-01-31T12:00:00Z",
            "is invalid; give a revision, such as 42\n",
        ),
    ] {
        let path = format!("/hindsight/v1/{query}");
        let refused = server.kubectl_fails(&["get", "--raw", &path], "");
        assert!(refused.contains(why), "{query}: {refused}");
    }
}

#[test]
fn no_name_that_a_user_wrote_passes_for_a_line_of_an_answer() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let forged = r#""g\nforged\e[2K\u202e""#;
    let owner = format!("{{apiVersion: x.io/v1, kind: Ghost, name: {forged}, uid: u}}");
    for (version, kind, metadata) in [
        (
            "v1",
            "ConfigMap",
            format!("{{name: owned, ownerReferences: [{owner}]}}"),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            format!("{{name: {forged}}}"),
        ),
    ] {
        let manifest = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\n");
        server.kubectl_with(&["create", "-f", "-"], &manifest);
    }
    let asked = [
        "log",
        "why configmap/owned",
        "get clusterroles",
        "get clusterroles -o name",
    ];
    for answer in ask_online_and_offline(server, &directory, &asked) {
        let said = text(&answer.stdout);
        let is_printed = |one: char| one == '\n' || (!one.is_control() && one != '\u{202e}');
        assert!(said.chars().all(is_printed), "{said:?}");
        assert!(said.contains(r"g\nforged\u{1b}[2K\u{202e}"), "{said}");
    }
}

#[test]
fn a_question_about_revisions_that_a_restore_skipped_says_so() {
    let temporary = tempfile::tempdir().expect("a directory");
    let place = |name: &str| temporary.path().join(name);
    let (first, second, file) = (place("first"), place("second"), place("backup"));
    let file = file.to_str().expect("UTF-8");
    let server = Server::start_on(&first);
    server.kubectl(&["create", "configmap", "kept"]);
    let told = stdout(&server.hindsight(&["backup", file, "-o", "json"]));
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let newest = told["revision"].as_u64().expect("a revision");
    assert_eq!(server.signal("TERM"), Some(0));
    let told = stdout(&hindsight(&second, &["restore", file, "-o", "json"]));
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let restored = told["revision"].as_u64().expect("a revision");
    let hint = format!(
        "a backup of revision {newest} was restored at {restored}; what happened between is not in this log"
    );
    let check = || {
        for (asked, is_told) in [(newest, false), (newest + 1, true), (restored, false)] {
            let asked = asked.to_string();
            for question in [
                ["get", "configmaps", "--as-of", asked.as_str()].as_slice(),
                &["plan", "configmap/kept", "--as-of", &asked],
                &["replay", "--until", &asked],
            ] {
                let answer = hindsight(&second, question);
                stdout(&answer);
                let said = text(&answer.stderr);
                assert_eq!(said.contains(&hint), is_told, "{question:?}: {said}");
            }
        }
    };
    check();
    let server = Server::start_on(&second);
    server.kubectl(&["create", "configmap", "new"]);
    check();
    drop(server);
}
