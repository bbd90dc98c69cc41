//! Updates and patches, through `decide` and `apply`.

mod custom;

use crate::command::{FieldValidation, Intent, Patch, PatchObject};
use crate::testing::World;
use crate::{Actor, Command, Event, Outcome, Rejection, draft};
use serde_json::{Value, json};
use std::sync::Arc;

fn with_map(metadata: Value) -> (World, Value) {
    let mut world = World::new();
    let mut map = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    for (key, value) in metadata.as_object().expect("an object") {
        map["metadata"][key] = value.clone();
    }
    let made = world.create("configmaps", map).expect("created");
    let document = made.outcome.object().document();
    (world, document)
}

#[test]
fn a_replace_with_a_stale_revision_conflicts() {
    let (mut world, mut map) = with_map(json!({}));
    map["data"]["k"] = json!("w");
    world
        .update("configmaps", "", map.clone())
        .expect("the first wins");
    let stale = world
        .update("configmaps", "", map.clone())
        .expect_err("the second loses");
    assert!(
        stale.to_string().contains("the object has been modified"),
        "{stale}"
    );
    map["metadata"]["resourceVersion"] = json!("");
    map["data"]["k"] = json!("x");
    world
        .update("configmaps", "", map)
        .expect("without a revision the last writer wins");
}

#[test]
fn a_replace_is_of_the_kind_of_its_key() {
    let (mut world, mut map) = with_map(json!({}));
    map["kind"] = json!("Secret");
    let refused = world.update("configmaps", "", map).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "Secret in version \"v1\" cannot be handled as a ConfigMap"
    );
    let scale = json!({"kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": 5}});
    let refused = world.update("deployments", "scale", scale);
    assert_eq!(
        refused.expect_err("refused").to_string(),
        "Deployment in version \"v1\" cannot be handled as a Scale"
    );
}

#[test]
fn a_write_that_changes_nothing_moves_nothing() {
    let (mut world, map) = with_map(json!({}));
    let before = world.state.revision;
    let decision = world.update("configmaps", "", map).expect("accepted");
    assert!(decision.commits.is_empty());
    let same = Patch::Merge(json!({"data": {"k": "v"}}));
    world.patch("configmaps", "a", same).expect("accepted");
    assert_eq!(world.state.revision, before);
}

#[test]
fn another_identity_conflicts_in_a_replace_and_is_invalid_in_a_patch() {
    let (mut world, mut map) = with_map(json!({}));
    map["metadata"]["uid"] = json!("other");
    let replaced = world.update("configmaps", "", map).expect_err("refused");
    assert!(matches!(replaced, Rejection::Conflict { .. }));
    let patch = Patch::Merge(json!({"metadata": {"uid": "other"}}));
    let patched = world.patch("configmaps", "a", patch).expect_err("refused");
    assert!(matches!(patched, Rejection::Invalid { .. }), "{patched}");
}

#[test]
fn a_lease_is_made_by_put_and_needs_a_revision_afterwards() {
    let mut world = World::new();
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
    let made = world
        .update("leases", "", lease.clone())
        .expect("created by PUT");
    assert!(matches!(made.outcome, Outcome::Created(_)));
    let refused = world.update("leases", "", lease).expect_err("no revision");
    assert!(
        refused
            .to_string()
            .contains("must be specified for an update"),
        "{refused}"
    );
}

#[test]
fn the_update_that_empties_the_finalizers_of_a_deleting_object_removes_it() {
    let (mut world, _) = with_map(json!({"finalizers": ["x/y"]}));
    world.delete("configmaps", "a", None).expect("marked");
    let stored = world.get("configmaps", "a").expect("held");
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let decision = world.patch("configmaps", "a", patch).expect("removed");
    assert!(world.get("configmaps", "a").is_none());
    assert_eq!(decision.outcome.object().revision, stored.revision);
    assert!(matches!(
        decision.commits[0].events[..],
        [Event::FinalizerRemoved { .. }, Event::ObjectDeleted { .. }]
    ));
}

#[test]
fn a_deleting_object_gains_no_finalizer() {
    let (mut world, _) = with_map(json!({"finalizers": ["x/y"]}));
    world.delete("configmaps", "a", None).expect("marked");
    let patch = Patch::Merge(json!({"metadata": {"finalizers": ["x/y", "x/z"]}}));
    let refused = world.patch("configmaps", "a", patch).expect_err("refused");
    assert!(
        refused
            .to_string()
            .contains("no new finalizers can be added"),
        "{refused}"
    );
}

#[test]
fn status_and_spec_keep_out_of_each_others_way() {
    let mut world = World::new();
    let spec = json!({"replicas": 1, "selector": {}, "template": {}});
    let made = world.create(
        "deployments",
        json!({"metadata": {"name": "d"}, "spec": spec,
        "status": {"replicas": 9}}),
    );
    let mut deployment = made.expect("created").outcome.object().document();
    assert_eq!(deployment["status"], json!({}));
    assert_eq!(deployment["metadata"]["generation"], 1);
    deployment["status"] = json!({"replicas": 1});
    deployment["spec"]["replicas"] = json!(5);
    let decision = world
        .update("deployments", "status", deployment.clone())
        .expect("accepted");
    let stored = decision.outcome.object().document();
    assert_eq!(
        (&stored["spec"]["replicas"], &stored["status"]["replicas"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(stored["metadata"]["generation"], 1);
    deployment["metadata"]["resourceVersion"] = json!("");
    deployment["status"] = json!(null);
    let decision = world
        .update("deployments", "", deployment)
        .expect("accepted");
    let stored = decision.outcome.object().document();
    assert_eq!(
        (&stored["spec"]["replicas"], &stored["status"]["replicas"]),
        (&json!(5), &json!(1))
    );
    assert_eq!(stored["metadata"]["generation"], 2);
}

#[test]
fn scale_writes_the_count_alone() {
    let mut world = World::new();
    world
        .create(
            "deployments",
            json!({"metadata": {"name": "d"}, "spec": {}}),
        )
        .expect("created");
    let scale = json!({"metadata": {"name": "d"}, "spec": {"replicas": 4}});
    let decision = world
        .update("deployments", "scale", scale)
        .expect("accepted");
    assert_eq!(decision.outcome.object().document()["spec"]["replicas"], 4);
}

#[test]
fn every_finalizer_and_owner_change_is_a_fact() {
    let (mut world, _) = with_map(json!({"finalizers": ["x/a"]}));
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    let patch =
        Patch::Merge(json!({"metadata": {"finalizers": ["x/b"], "ownerReferences": [owner]}}));
    let decision = world.patch("configmaps", "a", patch).expect("accepted");
    assert!(matches!(
        decision.commits[0].events[..],
        [
            Event::FinalizerAdded { .. },
            Event::FinalizerRemoved { .. },
            Event::OwnerAdded { .. },
            Event::ObjectUpdated { .. }
        ]
    ));
}

fn request() -> (World, Value) {
    let mut world = World::new();
    let request = json!({"metadata": {"name": "r"}, "spec": {"request": "Zg==", "username": "root",
        "signerName": "example.com/s", "usages": ["client auth"]}});
    let made = world
        .create("certificatesigningrequests", request)
        .expect("created");
    let document = made.outcome.object().document();
    (world, document)
}

#[test]
fn a_certificate_is_approved_through_the_approval_alone_and_for_good() {
    let (mut world, mut request) = request();
    let resource = "certificatesigningrequests";
    assert_ne!(request["spec"]["username"], "root");
    request["metadata"]["resourceVersion"] = json!("");
    request["spec"]["signerName"] = json!("example.com/other");
    let approved = json!({"conditions": [{"type": "Approved", "status": "True"}],
        "certificate": "Zg=="});
    request["status"] = approved;
    let refused = world.update(resource, "status", request.clone());
    let refused = refused
        .expect_err("no verdict through the status")
        .to_string();
    assert!(
        refused.contains("may not add a condition of type \"Approved\""),
        "{refused}"
    );
    let written = world
        .update(resource, "", request.clone())
        .expect("accepted");
    assert_eq!(written.commits.len(), 0, "spec and status stay");
    let written = world.update(resource, "approval", request.clone());
    let document = written.expect("approved").outcome.object().document();
    assert_eq!(document["status"]["certificate"], Value::Null);
    assert!(document["status"]["conditions"][0]["lastUpdateTime"].is_string());
    assert_eq!(document["spec"]["signerName"], "example.com/s");
    request["status"] = json!({"conditions": []});
    let refused = world
        .update(resource, "approval", request)
        .expect_err("for good");
    assert!(refused.to_string().contains("may not remove"), "{refused}");
}

#[test]
fn a_pod_is_bound_once_and_to_a_node() {
    let mut world = World::new();
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    world.create("pods", pod).expect("created");
    let mut bind = |target: Value| {
        let metadata = json!({"name": "p", "annotations": {"by": "me"}});
        world.update(
            "pods",
            "binding",
            json!({"metadata": metadata, "target": target}),
        )
    };
    for wrong in [json!({"kind": "Pod", "name": "n"}), json!({"kind": "Node"})] {
        let refused = bind(wrong).expect_err("not a node");
        assert!(matches!(refused, Rejection::Invalid { .. }), "{refused}");
    }
    let bound = bind(json!({"kind": "Node", "name": "n"})).expect("bound");
    let document = bound.outcome.object().document();
    assert_eq!(document["spec"]["nodeName"], "n");
    assert_eq!(document["metadata"]["annotations"]["by"], "me");
    let condition = &document["status"]["conditions"][0];
    assert_eq!(condition["type"], "PodScheduled");
    assert_eq!(condition.get("lastProbeTime"), None, "it is not set");
    let refused = bind(json!({"name": "m"}))
        .expect_err("bound already")
        .to_string();
    assert_eq!(
        refused,
        "Operation cannot be fulfilled on pods/binding \"p\": pod p is already \
        assigned to node \"n\""
    );
}

#[test]
fn a_patch_in_another_form_changes_the_stored_one() {
    let mut world = World::new();
    let spec = json!({"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3});
    let resource = "horizontalpodautoscalers";
    let scaler = json!({"metadata": {"name": "a"}, "spec": spec});
    world.create(resource, scaler).expect("created");
    let patch = Patch::Merge(json!({"spec": {"targetCPUUtilizationPercentage": 70}}));
    let intent = PatchObject {
        key: world.key(resource, "a"),
        version: "v1".into(),
        subresource: None,
        patch,
        validation: FieldValidation::Strict,
    };
    let patched = world.run(Intent::Patch(intent)).expect("patched");
    let document = patched.outcome.object().document();
    assert_eq!(document["apiVersion"], "autoscaling/v2");
    let target = &document["spec"]["metrics"][0]["resource"]["target"];
    assert_eq!(
        *target,
        json!({"type": "Utilization", "averageUtilization": 70})
    );
}

/// Webhooks are shown the corrected draft, so a fault that is corrected could not be found again.
#[test]
fn a_draft_is_refused_for_what_it_puts_right_and_for_nothing_else() {
    let mut world = World::new();
    let map = json!({"metadata": {"name": "a", "finalizers": ["x.y/z"]}});
    world.create("configmaps", map).expect("created");
    for (metadata, drafted) in [
        (json!({"uid": "other"}), false),
        (json!({"deletionTimestamp": "2024-01-01T00:00:00Z"}), false),
        (json!({"deletionGracePeriodSeconds": 3}), false),
        (json!({"annotations": {"a/b/c": "d"}}), true),
        (json!({"labels": {"a": "b"}}), true),
    ] {
        let intent = Intent::Patch(PatchObject {
            key: world.key("configmaps", "a"),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"metadata": metadata})),
            validation: FieldValidation::Warn,
        });
        let command = Command::new(Arc::new(Actor::new("u")), world.now(), [9; 16], intent);
        let drawn = draft(&world.state, command);
        assert_eq!(drawn.is_ok(), drafted, "{metadata}: {drawn:?}");
    }
}

#[test]
fn a_default_that_came_after_an_object_was_stored_is_no_change_of_it() {
    let mut world = World::new();
    let labels = json!({"a": "b"});
    let pod = json!({"serviceAccountName": "s", "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"labels": labels}, "spec": pod});
    let metadata = json!({"name": "d", "namespace": "default", "uid": "u", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z"});
    let spec = json!({"selector": {"matchLabels": labels}, "template": pod});
    let document =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec});
    world.find("deployments", document);
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"k": "v"}}}));
    let written = world.patch("deployments", "d", labelled).expect("taken");
    let document = written.outcome.object().document();
    assert_eq!(document["metadata"]["generation"], 1);
    assert_eq!(document["spec"]["revisionHistoryLimit"], 10);
    let scaled = Patch::Merge(json!({"spec": {"replicas": 2}}));
    let written = world.patch("deployments", "d", scaled).expect("taken");
    assert_eq!(
        written.outcome.object().document()["metadata"]["generation"],
        2
    );
}

#[test]
fn a_number_that_an_older_release_stored_with_a_point_is_no_change() {
    let mut world = World::new();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"metadata": {"name": "gauges.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "gauges", "kind": "Gauge"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}}]}});
    let made = world.create("customresourcedefinitions", definition);
    made.expect("created");
    let metadata = json!({"name": "g", "namespace": "default", "uid": "u", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z"});
    let gauge = json!({"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": metadata,
        "spec": {"a": 1.0}});
    world.find("gauges", gauge);
    let same = Patch::Merge(json!({"spec": {"a": 1}}));
    let written = world.patch("gauges", "g", same).expect("taken");
    assert!(written.commits.is_empty());
    let annotated = Patch::Merge(json!({"metadata": {"annotations": {"k": "v"}}}));
    let written = world.patch("gauges", "g", annotated).expect("taken");
    let document = written.outcome.object().document();
    assert_eq!(document["metadata"]["generation"], 1);
    assert_eq!(document["spec"]["a"].to_string(), "1");
}
