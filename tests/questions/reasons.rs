//! What `why` tells beside the chain of causes.

use super::{ask_online_and_offline, assert_printed};
use hindsight_tests::manifests::{dependent, widgets};
use hindsight_tests::server::{Server, text};
use serde_json::json;

#[test]
fn who_asked_how_and_with_what_is_told() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    server.kubectl(&["run", "p", "--image=x"]);
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let path = "/api/v1/namespaces/default/pods/p/eviction";
    server.kubectl_with(&["create", "--raw", path, "-f", "-"], &eviction.to_string());
    let questions = ["why pod/p", "why pod/p -o json", "log pod/p -o json"];
    let told = ask_online_and_offline(server, &directory, &questions);
    assert_printed(&told[0], " by admin (create eviction) with kubectl/");
    for answer in &told[1..] {
        let told = text(&answer.stdout).replace(": ", ":");
        assert!(told.contains(r#""subresource":"eviction""#), "{told}");
        assert!(told.contains(r#""userAgent":"kubectl/"#), "{told}");
    }
}

#[test]
fn of_what_lost_its_owners_one_by_one_every_owner_is_told() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let made = |name: &str, metadata: &str| {
        let manifest =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{metadata}}}\n");
        let args = ["create", "-f", "-", "-o", "jsonpath={.metadata.uid}"];
        let uid = server.kubectl_with(&args, &manifest);
        format!("{{apiVersion: v1, kind: ConfigMap, name: {name}, uid: {uid}}}")
    };
    let a = made("a", ", finalizers: [x.io/hold]");
    let b = made("b", "");
    made("kid", &format!(", ownerReferences: [{a}, {b}]"));
    server.kubectl(&["delete", "configmap", "a", "--wait=false"]);
    let released = r#"{"metadata":{"finalizers":null}}"#;
    server.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", released]);
    let one_is_left = "--for=jsonpath={.metadata.ownerReferences[0].name}=b";
    server.kubectl(&["wait", "configmap/kid", one_is_left]);
    server.kubectl(&["delete", "configmap", "b"]);
    server.kubectl(&["wait", "configmap/kid", "--for=delete"]);

    let answers = ask_online_and_offline(server, &directory, &["why configmap/kid"]);
    let said = text(&answers[0].stdout);
    let told = said
        .lines()
        .find(|line| line.contains("ConfigMap a was an owner until"));
    let told = told.expect("it is told");
    assert!(
        told.contains(": gone since revision ") && told.ends_with("(delete)"),
        "{told}"
    );
    assert_printed(&answers[0], "configmaps default/b deleted [requested]");
}

/// Not even the kind of the owner exists any more, or the version that the reference names.
#[test]
fn what_became_of_an_owner_is_told_after_the_end_of_its_kind() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let definition = widgets("{type: object}");
    server.define(&definition);
    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";
    server.kubectl_with(&["create", "-f", "-"], widget);
    server.kubectl(&["create", "configmap", "a"]);
    let owners = [
        ("v1", "ConfigMap", "a", server.uid("cm/a")),
        ("example.com/v1", "Widget", "w", server.uid("widget/w")),
    ];
    let references = owners.map(|(api_version, kind, name, uid)| {
        format!("{{apiVersion: {api_version}, kind: {kind}, name: {name}, uid: {uid}}}")
    });
    server.kubectl(&["delete", "cm/a", "widget/w"]);
    let kid = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: kid, ownerReferences: [{}]}}\n",
        references.join(", ")
    );
    server.kubectl_with(&["create", "-f", "-"], &kid);
    server.kubectl(&["wait", "cm/kid", "--for=delete"]);
    let told = |server| {
        let answers = ask_online_and_offline(server, &directory, &["why cm/kid"]);
        let said = text(&answers[0].stdout);
        let line = said.lines().find(|line| line.contains("of its owners"));
        line.unwrap_or(&said).to_owned()
    };
    let told_at_first = told(server);
    assert!(
        told_at_first.contains("Widget w is gone since revision "),
        "{told_at_first}"
    );

    let server = Server::start_on(&directory);
    server.kubectl(&["delete", "crd", "widgets.example.com"]);
    assert_eq!(told(server), told_at_first);

    let server = Server::start_on(&directory);
    server.define(&definition.replace("name: v1,", "name: v2,"));
    assert_eq!(told(server), told_at_first);
}

#[test]
fn whoever_named_one_owner_by_the_uid_of_another_is_told() {
    let temporary = tempfile::tempdir().expect("a directory");
    let server = Server::start_on(temporary.path());
    server.kubectl(&["create", "configmap", "there"]);
    server.kubectl(&["create", "namespace", "elsewhere"]);
    let uid = server.uid("configmap/there");
    for (name, owner, kind, uid, namespace) in [
        ("of-name", "other", "ConfigMap", &*uid, "default"),
        ("of-kind", "there", "Secret", &uid, "default"),
        ("of-uid", "there", "ConfigMap", "made-up", "default"),
        ("of-place", "there", "ConfigMap", &uid, "elsewhere"),
    ] {
        let map = dependent(name, owner, uid)
            .replace("kind: ConfigMap, name", &format!("kind: {kind}, name"));
        server.kubectl_with(&["-n", namespace, "create", "-f", "-"], &map);
        let (gone, named) = ("--for=delete", format!("cm/{name}"));
        server.kubectl(&["-n", namespace, "wait", &named, gone, "--timeout=120s"]);
    }
    let told = ask_online_and_offline(
        server,
        temporary.path(),
        &[
            "why cm/of-name",
            "why cm/of-kind",
            "why cm/of-uid",
            "why cm/of-place -n elsewhere",
            "why cm/there",
        ],
    );
    let then = format!("the ConfigMap there that existed then had the uid {uid};");
    for (told, expected) in told.iter().zip([
        "its reference to ConfigMap other has the uid of ConfigMap there;",
        "its reference to Secret there has the uid of ConfigMap there;",
        &format!("its reference to ConfigMap there has the uid made-up, and {then}"),
        "its reference to ConfigMap there has the uid of ConfigMap there in default; an owner must be in the same \
         namespace, or in none",
    ]) {
        assert_printed(told, expected);
    }
    assert!(!text(&told[4].stdout).contains("reference"), "{told:?}");
}
