//! Webhooks and `managedFields`, the account of which manager owns which field: a webhook's change
//! makes nobody the owner of a field, whoever writes. Source: upstream's `create.go`, `update.go` and
//! `patch.go`, which note who writes what before they ask, and
//! `managedFieldsValidatingAdmissionController`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::admission::{Scene, map};
use hindsight_tests::http::Answer as Answered;
use hindsight_tests::http::{MAPS, MERGE};
use hindsight_tests::webhook::Answer;
use serde_json::{Value, json};

const APPLY: &str = "application/apply-patch+yaml";
const ITEM: &str = "/api/v1/namespaces/default/configmaps/a";

/// A scene whose webhook sets these keys of every ConfigMap, whatever is sent.
fn overruled(data: Value) -> Scene {
    let scene = Scene::new(move |_, request| {
        let mut all = request["object"]["data"].clone();
        let members = data.as_object().expect("an object").iter();
        members.for_each(|(key, value)| all[key] = value.clone());
        Answer::patch(&json!([{"op": "add", "path": "/data", "value": all}]))
    });
    scene.configure("mutating", &[("/overrule", json!({}))]);
    scene
}

fn send_apply(scene: &Scene, query: &str, data: Value) -> Answered {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": data});
    let path = format!("{ITEM}?{query}");
    scene
        .client
        .send("PATCH", &path, APPLY, &config.to_string())
}

fn apply(scene: &Scene, manager: &str, data: Value) -> Value {
    let answer = send_apply(scene, &format!("fieldManager={manager}"), data);
    assert!(answer.code < 300, "{}", answer.text);
    answer.json()
}

/// The entries as `manager operation` and the fields below `data`, sorted by operation, then manager.
/// This is the order of `managedFields` except for the time, which has a resolution of seconds.
fn owners(object: &Value) -> Vec<(String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut entries: Vec<&Value> = entries.into_iter().flatten().collect();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    entries.sort_by_key(|entry| (text(&entry["operation"]), text(&entry["manager"])));
    let read = |entry: &&Value| {
        let who = format!("{} {}", text(&entry["manager"]), text(&entry["operation"]));
        (who, entry["fieldsV1"]["f:data"].clone())
    };
    entries.iter().map(read).collect()
}

fn held(who: &str, fields: Value) -> (String, Value) {
    (who.to_owned(), fields)
}

#[test]
fn a_webhook_that_changes_what_is_applied_takes_nothing_and_holds_nothing() {
    let scene = overruled(json!({"k": "hooked", "hook": "w"}));
    let applied = [held("m Apply", json!({"f:k": {}, "f:l": {}}))];
    let made = apply(&scene, "m", json!({"k": "v", "l": "v"}));
    let all = json!({"k": "hooked", "l": "v", "hook": "w"});
    assert_eq!((&made["data"], &owners(&made)[..]), (&all, &applied[..]));
    let again = apply(&scene, "m", json!({"k": "v", "l": "v"}));
    assert_eq!(again, made, "the webhook undoes it, so nothing was new");
    let changed = apply(&scene, "m", json!({"k": "w", "l": "w"}));
    let all = json!({"k": "hooked", "l": "w", "hook": "w"});
    assert_eq!(
        (&changed["data"], &owners(&changed)[..]),
        (&all, &applied[..])
    );
    let left = apply(&scene, "m", json!({"l": "w"}));
    assert_eq!(left["data"], all, "the webhook says it again");
    assert_eq!(owners(&left), [held("m Apply", json!({"f:l": {}}))]);
}

#[test]
fn what_a_webhook_added_may_be_taken_and_what_it_changed_is_still_its_managers() {
    let scene = overruled(json!({"k": "hooked", "hook": "w"}));
    apply(&scene, "m", json!({"k": "v"}));
    let taken = apply(&scene, "n", json!({"hook": "n"}));
    assert_eq!(taken["data"], json!({"k": "hooked", "hook": "w"}));
    let both = [
        held("m Apply", json!({"f:k": {}})),
        held("n Apply", json!({"f:hook": {}})),
    ];
    assert_eq!(owners(&taken), both);
    scene.webhook.take();
    let refused = send_apply(&scene, "fieldManager=n", json!({"hook": "w", "k": "n"}));
    assert_eq!(refused.code, 409, "{}", refused.text);
    assert!(scene.webhook.take().is_empty(), "there was nothing to ask");
    let shared = apply(&scene, "n", json!({"hook": "w", "k": "hooked"}));
    let both = [
        held("m Apply", json!({"f:k": {}})),
        held("n Apply", json!({"f:hook": {}, "f:k": {}})),
    ];
    assert_eq!(owners(&shared), both, "it is what both would have now");
}

#[test]
fn whoever_changes_an_applied_object_gets_what_they_changed_and_not_what_a_webhook_did() {
    let scene = overruled(json!({"k": "hooked"}));
    apply(&scene, "m", json!({"k": "v", "l": "v"}));
    let patch = json!({"data": {"u": "u"}}).to_string();
    let path = format!("{ITEM}?fieldManager=u");
    let patched = scene.client.send("PATCH", &path, MERGE, &patch).json();
    let mut all = vec![
        held("m Apply", json!({"f:k": {}, "f:l": {}})),
        held("u Update", json!({"f:u": {}})),
    ];
    assert_eq!(owners(&patched), all);
    let put = json!({"metadata": {"name": "a"}, "data": {"k": "p", "l": "v", "u": "u"}});
    let put = scene.ok("PUT", &format!("{ITEM}?fieldManager=p"), &put);
    assert_eq!(put["data"]["k"], "hooked");
    all[0] = held("m Apply", json!({"f:l": {}}));
    all.insert(1, held("p Update", json!({"f:k": {}})));
    assert_eq!(owners(&put), all, "it was p's before the webhook was asked");
}

#[test]
fn an_account_that_a_webhook_breaks_is_put_back_and_the_client_is_warned() {
    let entry = json!({"manager": "w", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}});
    let with = |member: &str, value: Value| {
        let mut entry = entry.clone();
        entry[member] = value;
        json!([entry])
    };
    let why = "this could be caused by an outdated mutating admission controller; please fix your \
        requests: ";
    for (list, complaint) in [
        (json!([{}]), "operation must be `Apply` or `Update`"),
        (
            with("operation", json!("Guess")),
            "operation must be `Apply` or `Update`",
        ),
        (
            with("apiVersion", json!("")),
            "apiVersion must not be empty",
        ),
        (
            with("fieldsType", json!("FieldsV2")),
            "invalid fieldsType \\\"FieldsV2\\\" in managed fields entry 0",
        ),
        (
            with("fieldsV1", json!({"data": {}})),
            "error decoding versioned set of managed fields entry 0",
        ),
    ] {
        let broken = list.clone();
        let scene = Scene::new(move |_, _| {
            let path = "/metadata/managedFields";
            Answer::patch(&json!([{"op": "add", "path": path, "value": broken}]))
        });
        scene.configure("mutating", &[("/break", json!({}))]);
        for data in [json!({"k": "v"}), json!({"k": "w"})] {
            let answer = send_apply(&scene, "fieldManager=m", data);
            let kept = [held("m Apply", json!({"f:k": {}}))];
            assert_eq!(owners(&answer.json()), kept, "{list}: {}", answer.text);
            let warned = answer.warnings.join("\n");
            assert!(warned.contains(&format!("{why}{complaint}")), "{warned}");
        }
    }
}

#[test]
fn an_account_that_a_webhook_corrects_is_believed() {
    let entry = json!({"manager": "w", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}});
    let corrected = json!([entry]);
    for (list, owned) in [
        (corrected.clone(), corrected),
        (json!([]), Value::Null),
        (Value::Null, Value::Null),
    ] {
        let scene = Scene::new(move |_, _| {
            let path = "/metadata/managedFields";
            Answer::patch(&json!([{"op": "add", "path": path, "value": list}]))
        });
        scene.configure("mutating", &[("/correct", json!({}))]);
        let answer = send_apply(&scene, "fieldManager=m", json!({"k": "v"}));
        assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
        assert_eq!(answer.json()["metadata"]["managedFields"], owned);
    }
}

#[test]
fn a_scale_that_a_webhook_changes_keeps_the_account_of_its_object() {
    let scene = Scene::new(|_, request| {
        let shown = &request["object"]["metadata"]["managedFields"];
        let holders = shown.as_array().map_or(0, Vec::len);
        Answer::patch(&json!([{"op": "replace", "path": "/spec/replicas", "value": 4 + holders}]))
    });
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let labels = json!({"a": "b"});
    let containers = json!([{"name": "c", "image": "i"}]);
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}});
    scene.ok(
        "POST",
        &format!("{deployments}?fieldManager=maker"),
        &deployment,
    );
    let rules = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
        "resources": ["deployments/scale"]}]);
    scene.configure("mutating", &[("/scale", json!({"rules": rules}))]);
    let path = format!("{deployments}/d/scale?fieldManager=scaler");
    let scale = json!({"spec": {"replicas": 2}});
    let scaled = scene.ok("PATCH", &path, &scale);
    assert_eq!(scaled["spec"]["replicas"], 5, "one who holds it was shown");
    let item = format!("{deployments}/d");
    let holds = |count: i64| {
        let object = scene.ok("GET", &item, &Value::Null);
        assert_eq!(object["spec"]["replicas"], count);
        let entries = object["metadata"]["managedFields"].as_array().cloned();
        let entries = entries.unwrap_or_default().into_iter();
        let holds = |entry: &Value| entry["fieldsV1"]["f:spec"].get("f:replicas").is_some();
        let named = |entry: Value| (entry["manager"].clone(), holds(&entry));
        entries.map(named).collect::<Vec<_>>()
    };
    assert_eq!(holds(5), [(json!("maker"), false), (json!("scaler"), true)]);
    let config = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 5}});
    let path = format!("{deployments}/d/scale?fieldManager=m");
    let applied = scene
        .client
        .send("PATCH", &path, APPLY, &config.to_string());
    assert_eq!(applied.json()["spec"]["replicas"], 6, "{}", applied.text);
    let all = [("m", true), ("maker", false), ("scaler", true)];
    assert_eq!(holds(6), all.map(|(name, holds)| (json!(name), holds)));
}

/// Lines of `verb path | body | operation | options`; a path with a name starts with `/` and the
/// name.
const OPTIONS: &str = r#"
POST   ?fieldManager=me                              | {"metadata": {"name": "b"}} | CREATE | {"kind": "CreateOptions", "fieldManager": "me"}
POST   ?fieldValidation=Strict&dryRun=All            | {"metadata": {"name": "c"}} | CREATE | {"kind": "CreateOptions", "fieldValidation": "Strict", "dryRun": ["All"]}
POST   ?force=true                                   | {"metadata": {"name": "d"}} | CREATE | {"kind": "CreateOptions"}
PUT    /a?fieldManager=me&fieldValidation=Ignore     | {"metadata": {"name": "a"}} | UPDATE | {"kind": "UpdateOptions", "fieldManager": "me", "fieldValidation": "Ignore"}
MERGE  /a?fieldManager=me&dryRun=All                 | {"data": {"k": "v"}} | UPDATE | {"kind": "UpdateOptions", "fieldManager": "me", "dryRun": ["All"]}
APPLY  /a?fieldManager=me&force=true                 | {"data": {"k": "v"}} | UPDATE | {"kind": "UpdateOptions", "fieldManager": "me"}
APPLY  /a?fieldManager=me&fieldValidation=Strict&dryRun=All | {"data": {"k": "v"}} | UPDATE | {"kind": "UpdateOptions", "fieldManager": "me", "fieldValidation": "Strict", "dryRun": ["All"]}
APPLY  /e?fieldManager=me&force=true&fieldValidation=Warn   | {"data": {"k": "v"}} | CREATE | {"kind": "CreateOptions", "fieldManager": "me", "fieldValidation": "Warn"}
DELETE /a?dryRun=All&propagationPolicy=Orphan        | null | DELETE | {"kind": "DeleteOptions", "dryRun": ["All"], "propagationPolicy": "Orphan"}
DELETE /a                                            | {"gracePeriodSeconds": 0, "orphanDependents": false} | DELETE | {"kind": "DeleteOptions", "gracePeriodSeconds": 0, "orphanDependents": false}
"#;

#[test]
fn webhooks_are_shown_the_options_of_the_operation_and_never_those_of_a_patch() {
    let scene = Scene::new(|_, _| Answer::allow());
    scene.ok("POST", MAPS, &map("a"));
    scene.configure("mutating", &[("/m", json!({}))]);
    scene.configure("validating", &[("/v", json!({}))]);
    for line in OPTIONS.lines().filter(|line| !line.is_empty()) {
        let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let (verb, path) = columns[0].split_once(' ').expect("a verb and a path");
        let path = path.trim();
        let mut body: Value = serde_json::from_str(columns[1]).unwrap_or_default();
        let (method, media) = match verb {
            "MERGE" => ("PATCH", MERGE),
            "APPLY" => ("PATCH", APPLY),
            other => (other, "application/json"),
        };
        if verb == "APPLY" {
            body["apiVersion"] = json!("v1");
            body["kind"] = json!("ConfigMap");
            body["metadata"] = json!({"name": &path[1..2]});
        }
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = scene
            .client
            .send(method, &format!("{MAPS}{path}"), media, &text);
        assert!(answer.code < 300, "{line}: {}", answer.text);
        let mut options: Value = serde_json::from_str(columns[3]).expect(line);
        options["apiVersion"] = json!("meta.k8s.io/v1");
        let asked = scene.webhook.take();
        assert_eq!(asked.len(), 2, "{line}");
        for (path, request) in asked {
            assert_eq!(request["operation"], columns[2], "{line}");
            assert_eq!(request["options"], options, "{path}: {line}");
            assert_eq!(request["dryRun"], options.get("dryRun").is_some());
        }
    }
}
