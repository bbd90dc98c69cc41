//! `hindsight plan`: a deletion does what the plan says that it would, and asking changes nothing.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::manifests::widgets;
use hindsight_tests::server::{Server, hindsight, stdout, text};
use hindsight_tests::wait::wait_until;
use serde_json::{Value, json};
use std::time::Duration;

const ANYTHING: &str = "{type: object, x-kubernetes-preserve-unknown-fields: true}";

/// Creates an owner, two dependents of it, one of which a finalizer holds, and an object without an
/// owner.
fn family(server: &Server) {
    server.kubectl(&["create", "namespace", "team"]);
    server.kubectl(&["create", "configmap", "owner", "-n", "team"]);
    server.kubectl(&["create", "configmap", "stranger", "-n", "team"]);
    let read = ["get", "configmap", "owner", "-n", "team", "-o", "json"];
    let owner: Value = serde_json::from_str(&server.kubectl(&read)).expect("JSON");
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"]});
    for (name, finalizers) in [("free", json!([])), ("held", json!(["x.io/hold"]))] {
        let metadata = json!({"name": name, "namespace": "team", "finalizers": finalizers,
            "ownerReferences": [owner]});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let made = server.try_kubectl(&["create", "-f", "-"], &object.to_string());
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
}

fn document(server: &Server, arguments: &[&str]) -> Value {
    let mut command = vec!["plan"];
    command.extend(arguments);
    command.extend(["-o", "json"]);
    let output = server.hindsight(&command);
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// The objects and what happens to them, sorted.
fn sorted_entries(entries: &Value) -> Vec<String> {
    let entries = entries.as_array().expect("a list");
    let told = entries
        .iter()
        .map(|one| format!("{} {}", one["object"], one["events"]));
    let mut told: Vec<String> = told.collect();
    told.sort();
    told
}

/// What happened from a revision on, once there are this many entries.
fn logged_entries(server: &Server, from: u64, count: usize) -> Vec<String> {
    let mut entries = Value::Null;
    wait_until(&format!("{count} entries from {from} on"), || {
        let log = server.hindsight(&["log", "--since", &from.to_string(), "-o", "json"]);
        entries = serde_json::from_str(&stdout(&log)).expect("JSON");
        entries.as_array().is_some_and(|all| all.len() >= count)
    });
    sorted_entries(&entries)
}

#[test]
fn what_is_foretold_is_what_happens_and_nothing_does_until_then() {
    for policy in ["background", "foreground", "orphan"] {
        let server = Server::start();
        family(&server);
        let before = server.kubectl(&["get", "configmaps", "-n", "team", "-o", "json"]);
        let plan = document(
            &server,
            &["configmap/owner", "-n", "team", "--cascade", policy],
        );
        let after = server.kubectl(&["get", "configmaps", "-n", "team", "-o", "json"]);
        assert_eq!(before, after, "nothing was done");

        let revision = plan["revision"].as_u64().expect("a revision");
        let cascade = format!("--cascade={policy}");
        let delete = [
            "delete",
            "configmap",
            "owner",
            "-n",
            "team",
            "--wait=false",
            &cascade,
        ];
        server.kubectl(&delete);
        let foretold = sorted_entries(&plan["entries"]);
        assert_eq!(
            logged_entries(&server, revision + 1, foretold.len()),
            foretold,
            "{policy}"
        );
    }
}

#[test]
fn a_plan_names_what_would_wait_and_for_what() {
    let server = Server::start();
    family(&server);
    let plan = document(&server, &["configmap", "owner", "-n", "team"]);
    assert_eq!(plan["deleted"], 2, "{plan}");
    let waiting = json!([{"object": "configmaps team/held", "finalizers": ["x.io/hold"],
        "heldBy": ["x.io/hold"]}]);
    assert_eq!(plan["waiting"], waiting);
    let said = stdout(&server.hindsight(&["plan", "namespace/team"]));
    assert!(
        said.contains("would delete 3 objects and leave 2 waiting; nothing was done"),
        "{said}"
    );
    assert!(
        said.contains("configmaps team/held waits for x.io/hold"),
        "{said}"
    );
    assert!(
        said.contains("namespaces team waits for its contents"),
        "{said}"
    );
    let held = ["delete", "configmap", "held", "-n", "team", "--wait=false"];
    server.kubectl(&held);
    let again = document(&server, &["configmap/held", "-n", "team"]);
    assert_eq!(again["waiting"], waiting, "it is asked for once more");
}

fn held(server: &Server, kind: &str, name: &str, spec: &Value) {
    let metadata = json!({"name": name, "namespace": "team", "finalizers": ["x.io/hold"]});
    let version = if kind == "Pod" {
        "v1"
    } else {
        "example.com/v1"
    };
    let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
    server.kubectl_with(&["create", "-f", "-"], &object.to_string());
}

/// In a namespace pods are deleted first: nothing else is touched while one is held.
#[test]
fn what_follows_when_nobody_holds_them_any_more_is_foretold() {
    let server = Server::start();
    server.kubectl(&["create", "namespace", "team"]);
    server.kubectl(&["create", "configmap", "settings", "-n", "team"]);
    server.kubectl(&["create", "configmap", "elsewhere"]);
    held(
        &server,
        "Pod",
        "run",
        &json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}),
    );
    let plan = document(&server, &["namespace/team"]);
    assert_eq!(
        (&plan["deleted"], plan["waiting"].as_array().map(Vec::len)),
        (&json!(0), Some(2))
    );
    let later = json!({"deleted": ["configmaps team/settings"], "complete": true});
    assert_eq!(plan["onceLetGo"], later, "{plan}");
    let said = stdout(&server.hindsight(&["plan", "namespace/team"]));
    let told = "once nothing holds them, 1 more object goes\n  configmaps team/settings\n";
    assert!(said.ends_with(told), "{said}");

    server.kubectl(&["delete", "namespace", "team", "--wait=false"]);
    let why = ["why", "configmap/settings", "-n", "team"];
    let said = stdout(&server.hindsight(&why));
    assert!(
        said.contains("its namespace team has been terminating since 2"),
        "{said}"
    );
    // What is removed with the namespace is removed without this second deletion too.
    let plan = document(&server, &["configmap/elsewhere"]);
    assert_eq!(plan.get("onceLetGo"), None, "{plan}");

    let taken_off = [
        r#"--patch={"metadata":{"finalizers":null}}"#,
        "--type=merge",
    ];
    server.kubectl(&[&["patch", "pod", "run", "-n", "team"][..], &taken_off].concat());
    let stopped = [
        "delete",
        "pod",
        "run",
        "-n",
        "team",
        "--grace-period=0",
        "--force",
    ];
    server.kubectl(&stopped);
    server.kubectl(&["wait", "namespace/team", "--for=delete", "--timeout=120s"]);
}

#[test]
fn a_definition_says_which_instance_holds_it() {
    let server = Server::start();
    server.kubectl(&["create", "namespace", "team"]);
    server.define(&widgets(ANYTHING));
    held(&server, "Widget", "w", &json!({}));
    let holder = "customresourcecleanup.apiextensions.k8s.io: 1 instance left; \
        widgets.example.com team/w waits for x.io/hold";
    let definition = "crd/widgets.example.com";
    let plan = stdout(&server.hindsight(&["plan", definition]));
    assert!(plan.contains(&format!("waits for {holder}")), "{plan}");
    server.kubectl(&["delete", definition, "--wait=false"]);
    wait_until(&format!("a word of {holder}"), || {
        let said = stdout(&server.hindsight(&["why", definition]));
        said.contains(&format!("waits for {holder}"))
    });
}

#[test]
fn what_goes_says_what_it_waits_for_and_what_stays_who_owns_it() {
    let server = Server::start();
    family(&server);
    let ghost = json!({"apiVersion": "x.io/v1", "kind": "Ghost", "name": "g", "uid": "u"});
    for object in [
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "run", "namespace": "team"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "haunted",
            "namespace": "team", "ownerReferences": [ghost]}}),
    ] {
        server.kubectl_with(&["create", "-f", "-"], &object.to_string());
    }
    let why = |subject: &str| stdout(&server.hindsight(&["why", subject, "-n", "team"]));
    let plan = stdout(&server.hindsight(&["plan", "pod/run", "-n", "team"]));
    let node = "waits for its node, which has 30 s to stop it";
    assert!(plan.contains(&format!("pods team/run {node}")), "{plan}");
    let owned = why("configmap/free");
    assert!(
        owned.contains("its owner ConfigMap owner exists"),
        "{owned}"
    );
    let haunted = why("configmap/haunted");
    let unknown = "whether its owner Ghost g exists is unknown: x.io/v1 is not served";
    assert!(haunted.contains(unknown), "{haunted}");

    server.kubectl(&["delete", "namespace", "team", "--wait=false"]);
    let mut said = String::new();
    wait_until("what is in the namespace", || {
        said = why("namespace/team");
        said.contains("pods. has 1 resource instances")
    });
    assert!(said.starts_with("Namespace team is deleting"), "{said}");
    assert!(said.contains("waits for its contents: "), "{said}");
    let finalizers = "finalizers remaining: x.io/hold";
    assert!(said.contains(finalizers), "{said}");
    let run = why("pod/run");
    assert!(run.contains(node), "{run}");
}

#[test]
fn the_past_is_planned_on_too_by_a_server_and_on_a_directory() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    family(&server);
    let revision = document(&server, &["configmap/owner", "-n", "team"])["revision"].to_string();
    server.kubectl(&["delete", "configmap", "stranger", "-n", "team"]);
    let then = [
        "plan",
        "configmap/stranger",
        "-n",
        "team",
        "--as-of",
        &revision,
    ];
    let asked = stdout(&server.hindsight(&then));
    assert!(
        asked.contains("configmaps team/stranger: deleted [requested]"),
        "{asked}"
    );
    let now = server.hindsight(&["plan", "configmap/stranger", "-n", "team"]);
    assert_eq!(now.status.code(), Some(3));
    assert!(
        text(&now.stderr).contains("with --as-of"),
        "{}",
        text(&now.stderr)
    );
    assert_eq!(server.signal("TERM"), Some(0));
    assert_eq!(stdout(&hindsight(&directory, &then)), asked);
}

fn config_map(server: &Server, name: &str, owners: &Value) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": owners}});
    server.kubectl_with(&["create", "-f", "-"], &object.to_string());
}

/// A reference to a ConfigMap that names it with this version and kind.
fn reference(server: &Server, version: &str, kind: &str, name: &str) -> Value {
    let uid = server.uid(&format!("configmap/{name}"));
    json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid})
}

#[test]
fn in_the_middle_of_a_cascade_a_plan_tells_of_what_it_adds() {
    let server = Server::start();
    config_map(&server, "bystander", &json!([]));
    config_map(&server, "top", &json!([]));
    let top = reference(&server, "v1", "ConfigMap", "top");
    config_map(&server, "middle", &json!([top]));
    let middle = reference(&server, "v1", "ConfigMap", "middle");
    config_map(&server, "leaf", &json!([middle]));
    server.kubectl(&["delete", "configmap", "top"]);
    server.kubectl(&["wait", "configmap/leaf", "--for=delete", "--timeout=120s"]);
    let log = server.hindsight(&["log", "--verb", "delete", "-o", "json"]);
    let log: Value = serde_json::from_str(&stdout(&log)).expect("JSON");
    let deleted = log[0]["revision"].as_u64().expect("a revision");
    for (gone, going) in [(0, 2), (1, 1), (2, 0)] {
        let then = (deleted + gone).to_string();
        let plan = document(&server, &["configmap/bystander", "--as-of", &then]);
        let expected = ["\"configmaps default/bystander\" [\"deleted [requested]\"]"];
        assert_eq!(sorted_entries(&plan["entries"]), expected, "{plan}");
        assert_eq!(
            (&plan["deleted"], &plan["waiting"]),
            (&json!(1), &json!([]))
        );
        assert_eq!(plan["goingAlready"].as_u64().unwrap_or(0), going, "{plan}");
    }
    let then = deleted.to_string();
    let said = stdout(&server.hindsight(&["plan", "cm/bystander", "--as-of", &then]));
    assert!(
        said.contains("would delete 1 object and leave 0 waiting"),
        "{said}"
    );
    assert!(
        said.ends_with("2 more objects are being deleted anyway\n"),
        "{said}"
    );
}

#[test]
fn an_owner_that_was_there_before_is_known_to_have_been() {
    let server = Server::start();
    for name in ["a", "g"] {
        config_map(&server, name, &json!([]));
    }
    // As long as one of its owners is of a kind that is not served, the dependent stays.
    let owners = json!([
        reference(&server, "v1", "ConfigMap", "a"),
        reference(&server, "nope.io/v1", "Nope", "g")
    ]);
    config_map(&server, "d", &owners);
    server.kubectl(&["delete", "configmap", "a"]);
    let plan = document(&server, &["configmap/g", "--cascade", "orphan"]);
    server.kubectl(&["delete", "configmap", "g", "--cascade=orphan"]);
    let foretold = sorted_entries(&plan["entries"]);
    assert!(
        foretold.iter().any(|one| one.contains("owners-absent")),
        "{foretold:?}"
    );
    let from = plan["revision"].as_u64().expect("a revision") + 1;
    assert_eq!(logged_entries(&server, from, foretold.len()), foretold);
}

/// A namespace may be held by tokens in `spec.finalizers` other than the controller's.
#[test]
fn tokens_of_others_are_let_go_in_what_is_foretold() {
    let server = Server::start();
    let team = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"},
        "spec": {"finalizers": ["kubernetes", "x.io/token"]}});
    server.kubectl_with(&["create", "-f", "-"], &team.to_string());
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": "team",
        "uid": server.uid("namespace/team")});
    let dependent = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1,
        "metadata": {"name": "urgent", "ownerReferences": [owner]}});
    server.kubectl_with(&["create", "-f", "-"], &dependent.to_string());
    let plan = document(&server, &["namespace/team"]);
    let behind = "priorityclasses.scheduling.k8s.io urgent";
    let later = json!({"deleted": [behind], "complete": true});
    assert_eq!(plan["onceLetGo"], later, "{plan}");
}

/// A job whose time is over by now is nothing that goes in any case, where it was not over then.
#[test]
fn a_plan_for_the_past_of_a_directory_is_made_at_the_time_of_then() {
    const TTL_SECONDS: u64 = 3;
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "owner"]);
    let uid = server.uid("configmap/owner");
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j",
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]},
        "spec": {"ttlSecondsAfterFinished": TTL_SECONDS, "template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i"}]}}}});
    let made = server.kubectl_with(&["create", "-f", "-", "-o", "json"], &job.to_string());
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let ended = &made["metadata"]["creationTimestamp"];
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": ended});
    let status = json!({"status": {"startTime": ended, "completionTime": ended,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}});
    let patch = [
        "patch",
        "job",
        "j",
        "--subresource=status",
        "--type=merge",
        "-o",
        "json",
        "-p",
    ];
    let ended = server.kubectl(&[&patch[..], &[&status.to_string()]].concat());
    let ended: Value = serde_json::from_str(&ended).expect("JSON");
    let then = ended["metadata"]["resourceVersion"].as_str().expect("one");
    server.signal("TERM");
    std::thread::sleep(Duration::from_secs(TTL_SECONDS + 1));
    let told = stdout(&hindsight(
        &directory,
        &["plan", "configmap/owner", "--as-of", then],
    ));
    assert!(
        told.contains("default/j: deleted [owners-absent]"),
        "{told}"
    );
}
