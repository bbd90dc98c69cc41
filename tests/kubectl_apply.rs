//! The real kubectl with server-side apply.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::manifests::{DEPLOYMENT, widgets};
use hindsight_tests::server::{Server, text};
use serde_json::Value;

/// A list of ports whose key is the port's number.
const WIDGET: &str = "{type: object, properties: {spec: {type: object, properties: {ports: {
  type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port],
  items: {type: object, required: [port], properties: {port: {type: integer}}}}}}}}";
const APPLY: [&str; 4] = ["apply", "--server-side", "-f", "-"];

fn manifest(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {data}\n")
}

fn apply(server: &Server, more: &[&str], manifest: &str) -> String {
    server.kubectl_with(&[&APPLY, more].concat(), manifest)
}

fn read(server: &Server, what: &str) -> Value {
    let shown = server.kubectl(&["get", what, "-o", "json", "--show-managed-fields"]);
    serde_json::from_str(&shown).expect("kubectl prints JSON")
}

#[test]
fn what_is_applied_is_made_kept_and_taken_back() {
    let server = Server::start();
    let both = manifest("{k: v, l: v}");
    assert_eq!(
        apply(&server, &[], &both),
        "configmap/a serverside-applied\n"
    );
    let made = read(&server, "configmap/a");
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!(entry["manager"], "kubectl");
    assert_eq!(entry["operation"], "Apply");
    assert_eq!(made["metadata"]["annotations"], Value::Null);
    assert_eq!(
        apply(&server, &[], &both),
        "configmap/a serverside-applied\n"
    );
    assert_eq!(read(&server, "configmap/a"), made, "nothing was new");
    apply(&server, &[], &manifest("{l: w}"));
    assert_eq!(
        read(&server, "configmap/a")["data"],
        serde_json::json!({"l": "w"})
    );
    let hidden = server.kubectl(&["get", "configmap", "a", "-o", "yaml"]);
    assert!(!hidden.contains("managedFields"), "{hidden}");
}

#[test]
fn a_conflict_is_explained_and_can_be_forced() {
    let server = Server::start();
    apply(
        &server,
        &["--field-manager=first"],
        &manifest("{k: v, l: v}"),
    );
    let other = [&APPLY[..], &["--field-manager=second"]].concat();
    let refused = server.kubectl_fails(&other, &manifest("{k: w, l: w}"));
    for line in [
        "error: Apply failed with 2 conflicts: conflicts with \"first\":",
        "- .data.k",
        "- .data.l",
        "* If you intend to manage all of these fields, please re-run the apply",
    ] {
        assert!(refused.contains(line), "{refused}");
    }
    let forced = [&other[..], &["--force-conflicts"]].concat();
    server.kubectl_with(&forced, &manifest("{k: w, l: w}"));
    assert_eq!(read(&server, "configmap/a")["data"]["k"], "w");
}

#[test]
fn a_dry_run_and_a_difference_write_nothing() {
    let server = Server::start();
    apply(&server, &[], &manifest("{k: v}"));
    let before = read(&server, "configmap/a");
    let dry = apply(
        &server,
        &["--dry-run=server", "-o", "json"],
        &manifest("{k: w}"),
    );
    let dry: Value = serde_json::from_str(&dry).expect("JSON");
    assert_eq!(dry["data"]["k"], "w");
    let difference = server.try_kubectl(&["diff", "--server-side", "-f", "-"], &manifest("{k: w}"));
    assert_eq!(
        difference.status.code(),
        Some(1),
        "{}",
        text(&difference.stderr)
    );
    let shown = text(&difference.stdout);
    assert!(
        shown.contains("-  k: v") && shown.contains("+  k: w"),
        "{shown}"
    );
    assert_eq!(read(&server, "configmap/a"), before);
    let same = server.try_kubectl(&["diff", "--server-side", "-f", "-"], &manifest("{k: v}"));
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
}

#[test]
fn a_client_side_apply_can_go_on_as_a_server_side_one() {
    let server = Server::start();
    server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    let three = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    apply(&server, &[], &three);
    let moved = read(&server, "deployment/web");
    assert_eq!(moved["spec"]["replicas"], 3);
    let entries = moved["metadata"]["managedFields"]
        .as_array()
        .expect("a list");
    let names: Vec<&Value> = entries.iter().map(|entry| &entry["manager"]).collect();
    // kubectl renames its own entry, and keeps another one for its annotation.
    assert!(
        names
            .iter()
            .all(|name| *name == "kubectl" || *name == "kubectl-last-applied")
    );
    assert_eq!(
        entries
            .iter()
            .filter(|entry| entry["manager"] == "kubectl")
            .count(),
        1
    );
    let scaled = server.kubectl(&["scale", "deployment", "web", "--replicas=7"]);
    assert!(scaled.contains("scaled"), "{scaled}");
    let refused = server.kubectl_fails(&APPLY, &three);
    assert!(
        refused.contains("conflict with \"kubectl\" with subresource \"scale\""),
        "{refused}"
    );
}

#[test]
fn custom_resources_are_applied_as_their_schema_says() {
    let server = Server::start();
    apply(&server, &[], &widgets(WIDGET));
    let widget = |ports: &str| {
        format!(
            "apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: g}}\nspec: {{ports: {ports}}}\n"
        )
    };
    apply(&server, &["--field-manager=one"], &widget("[{port: 1}]"));
    apply(&server, &["--field-manager=two"], &widget("[{port: 2}]"));
    let ports = |server: &Server| read(server, "widget/g")["spec"]["ports"].clone();
    assert_eq!(
        ports(&server),
        serde_json::json!([{"port": 1}, {"port": 2}])
    );
    apply(&server, &["--field-manager=one"], &widget("[]"));
    assert_eq!(ports(&server), serde_json::json!([{"port": 2}]));
    let unknown = server.kubectl_fails(
        &[&APPLY[..], &["--validate=false"]].concat(),
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: g}\nspec: {odd: 1}\n",
    );
    assert!(
        unknown.contains(".spec.odd: field not declared in schema"),
        "{unknown}"
    );
}
