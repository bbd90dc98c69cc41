//! The process: one server per directory, clean stops, and nothing acknowledged is lost by a kill.

use hindsight_tests::server::{Server, hindsight, serve, stdout, text};
use std::os::unix::fs::PermissionsExt;

fn state_hash(directory: &std::path::Path) -> String {
    stdout(&hindsight(directory, &["replay", "-o", "json"]))
}

#[test]
fn a_second_server_on_the_same_directory_is_refused_and_told_who_holds_it() {
    let server = Server::start();
    let second = serve(server.directory()).output().expect("it runs");
    assert_eq!(second.status.code(), Some(1));
    let message = text(&second.stderr);
    assert!(message.contains(&server.pid().to_string()), "{message}");
}

#[test]
fn both_stop_signals_end_it_cleanly() {
    for signal in ["INT", "TERM"] {
        assert_eq!(Server::start().signal(signal), Some(0), "{signal}");
    }
}

#[test]
fn what_was_answered_survives_a_kill() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    for index in 0..20 {
        server.kubectl(&["create", "configmap", &format!("c{index}")]);
    }
    let before = state_hash(&directory);
    assert_eq!(server.signal("KILL"), None);
    assert_eq!(
        state_hash(&directory),
        before,
        "the log alone gives the same state"
    );
    let server = Server::start_on(&directory);
    let names = server.kubectl(&["get", "configmaps", "-o", "name"]);
    assert_eq!(names.lines().count(), 20);
}

#[test]
fn a_cascade_that_was_cut_short_goes_on_after_the_restart() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "namespace", "work"]);
    let manifest: String = (0..200)
        .map(|index| {
            format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{index}, namespace: work}}}}\n")
        })
        .collect();
    server.kubectl_with(&["create", "-f", "-"], &manifest);
    server.kubectl(&["delete", "namespace", "work", "--wait=false"]);
    server.signal("KILL");
    let server = Server::start_on(&directory);
    server.kubectl(&["wait", "namespace/work", "--for=delete", "--timeout=20s"]);
}

#[test]
fn the_past_can_be_read_while_it_runs_and_after() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a", "--from-literal=k=old"]);
    let then = server.kubectl(&[
        "get",
        "configmap",
        "a",
        "-o",
        "jsonpath={.metadata.resourceVersion}",
    ]);
    server.kubectl(&["delete", "configmap", "a"]);
    let path = format!("/as-of/{then}/api/v1/namespaces/default/configmaps/a");
    assert!(server.kubectl(&["get", "--raw", &path]).contains("old"));
    let refused = server.kubectl_fails(&["delete", "--raw", &path], "");
    assert!(refused.to_lowercase().contains("not allow"), "{refused}");
    let asked = ["get", "configmap", "a", "--as-of", &then, "-o", "json"];
    let online = stdout(&server.hindsight(&asked));
    assert_eq!(server.signal("TERM"), Some(0));
    assert_eq!(stdout(&hindsight(&directory, &asked)), online);
}

#[test]
fn a_log_that_a_server_left_is_sound() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a"]);
    server.signal("TERM");
    let report = stdout(&hindsight(&directory, &["verify", "--deep"]));
    assert!(report.contains("allowed by the rules"), "{report}");
}

#[test]
fn secrets_on_disk_are_for_their_owner_only() {
    let server = Server::start();
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path)
            .expect("it exists")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(server.directory()), 0o700);
    assert_eq!(mode(&server.kubeconfig()), 0o600);
}
