//! The schemas of built-in kinds, checked against what upstream decodes and serves.

mod atomicity;
mod structures;

use super::*;
use hindsight_core::command::{FieldValidation, Patch, PatchObject, Update};
use hindsight_core::kind::Subresource;
use hindsight_core::schema::ItemIdentity;
use hindsight_core::{
    Actor, Cause, Command, Commit, Event, GroupResource, Intent, Object, ObjectKey, Request,
    Revision, State, Time, apply, decide,
};
use std::collections::BTreeSet;

#[test]
fn every_built_in_kind_has_a_schema() {
    for kind in builtin::kinds() {
        let version = &kind.versions[0].name;
        let found = document(&kind.resource.group, version, &kind.kind);
        assert!(
            found.is_some(),
            "{} {version} {}",
            kind.resource.group,
            kind.kind
        );
    }
}

/// An earlier release accepted any text as a quantity.
#[test]
fn what_an_earlier_release_stored_may_stay_as_it_is() {
    let mut state = State::new(builtin_kinds());
    let key = ObjectKey::new(GroupResource::new("", "pods"), "default", "a");
    let spec = json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "lots"}}}]});
    let document = json!({"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {"name": "a",
        "namespace": "default", "uid": "u", "finalizers": ["x.io/hold"]}});
    let object = Object::from_value(key.clone(), document.clone(), Revision(1), None);
    let actor = Arc::new(Actor::new("t"));
    let stored = Commit {
        revision: Revision(1),
        time: Time(0),
        actor: Arc::clone(&actor),
        request: Arc::new(Request::default()),
        cause: Cause::Request,
        key: key.clone(),
        uid: "u".into(),
        events: vec![Event::ObjectCreated {
            object: Arc::new(object.expect("an object")),
        }],
    };
    apply(&mut state, &Arc::new(stored));
    let is_taken = |intent| {
        let command = Command::new(Arc::clone(&actor), Time(0), [0; 16], intent);
        decide(&state, command).is_ok()
    };
    let patched = |subresource, change| {
        is_taken(Intent::Patch(PatchObject {
            key: key.clone(),
            version: "v1".into(),
            subresource,
            patch: Patch::Merge(change),
            validation: FieldValidation::Strict,
        }))
    };
    assert!(patched(None, json!({"metadata": {"finalizers": null}})));
    assert!(patched(
        Some(Subresource::Status),
        json!({"status": {"phase": "Failed"}})
    ));
    let limits =
        |cpu: &str| json!([{"name": "c", "image": "i", "resources": {"limits": {"cpu": cpu}}}]);
    assert!(patched(
        None,
        json!({"spec": {"containers": limits("lots")}})
    ));
    assert!(!patched(
        None,
        json!({"spec": {"containers": limits("more")}})
    ));
    let mut labelled = document;
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert!(is_taken(Intent::Update(Update {
        key: key.clone(),
        version: "v1".into(),
        subresource: None,
        object: labelled,
        validation: FieldValidation::Strict,
    })));
}

#[test]
fn unknown_fields_and_wrong_types_are_found_at_any_depth() {
    let schemas = Schemas::default();
    let gvk = GroupVersionKind::parse("apps/v1", "Deployment").expect("a kind");
    let schema = schemas.schema(&gvk).expect("a schema");
    let mut deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "nam": "b", "annotations": {"any": "key"}},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "c", "imag": "x", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"port": "web"}}}]}}}});
    let unknown = schema.prune(&mut deployment);
    assert_eq!(
        unknown,
        ["metadata.nam", "spec.template.spec.containers[0].imag"]
    );
    assert!(
        schema.validate(&deployment).is_empty(),
        "{:?}",
        schema.validate(&deployment)
    );
    deployment["spec"]["replicas"] = json!("three");
    assert_eq!(schema.validate(&deployment).len(), 1);
}

/// The path of a field, values that it takes, and values that it refuses. Source: Go's `encoding/json`,
/// which reads the digits of an integer as they are written, and `IntOrString`.
const INTEGERS: &[(&str, &[&str], &[&str])] = &[
    (
        "/spec/replicas",
        &["0", "-1", "2147483647", "-2147483648", "null"],
        &[
            "2147483648",
            "-2147483649",
            "1.0",
            "1e3",
            "1E0",
            "1.5",
            "\"1\"",
            "true",
        ],
    ),
    (
        "/spec/template/spec/terminationGracePeriodSeconds",
        &["0", "9223372036854775807", "-9223372036854775808", "null"],
        &[
            "9223372036854775808",
            "-9223372036854775809",
            "1e30",
            "1.0",
            "1e3",
            "1.5",
        ],
    ),
    (
        "/spec/strategy/rollingUpdate/maxSurge",
        &["1", "\"25%\"", "-2147483648", "null"],
        &["2147483648", "1.0", "1e1", "1.5", "true", "{}", "[1]"],
    ),
];

#[test]
fn integers_are_those_that_go_decodes() {
    let schemas = Schemas::default();
    let gvk = GroupVersionKind::parse("apps/v1", "Deployment").expect("a kind");
    let schema = schemas.schema(&gvk).expect("a schema");
    for (pointer, good, bad) in INTEGERS {
        let causes = |text: &str| {
            let number: Value = serde_json::from_str(text).expect("JSON");
            let nest = |inner, name: &str| json!({ name: inner });
            let document = pointer.rsplit('/').filter(|one| !one.is_empty());
            schema.validate(&document.fold(number, nest))
        };
        for text in *good {
            assert!(causes(text).is_empty(), "{pointer} {text}");
        }
        for text in *bad {
            assert_eq!(causes(text).len(), 1, "{pointer} {text}");
        }
    }
}

#[test]
fn items_of_lists_have_keys_and_what_stands_for_an_absent_one() {
    let schemas = Schemas::default();
    let gvk = GroupVersionKind::parse("v1", "Service").expect("a kind");
    let service = schemas.schema(&gvk).expect("a schema");
    let spec = &service.properties["spec"];
    assert!(spec.properties["selector"].atomic);
    assert!(!spec.atomic);
    let ports = &spec.properties["ports"];
    let keys = ["port", "protocol"].map(Into::into).to_vec();
    assert_eq!(ports.identity, ItemIdentity::Map(keys));
    let item = ports.items.as_ref().expect("items");
    let default = |name: &str| item.properties[name].default.clone();
    assert_eq!(default("port"), Some(json!(0)));
    assert_eq!(default("protocol"), Some(json!("TCP")));
    assert_eq!(default("name"), None);
    let owners = &service.properties["metadata"].properties["ownerReferences"];
    assert_eq!(owners.identity, ItemIdentity::Map(vec!["uid".into()]));
    assert!(owners.items.as_ref().expect("items").atomic);
}

/// Collects list keys that the items do not have as members. Schemas are shared, so each is visited once.
fn unknown_keys<'a>(
    schema: &'a Schema,
    seen: &mut BTreeSet<*const Schema>,
    found: &mut Vec<&'a Arc<str>>,
) {
    if !seen.insert(std::ptr::from_ref(schema)) {
        return;
    }
    if let (ItemIdentity::Map(keys), Some(items)) = (&schema.identity, &schema.items) {
        let unknown = keys
            .iter()
            .filter(|key| !items.properties.contains_key(&***key));
        found.extend(unknown);
    }
    let below = schema.properties.values().chain(&schema.items);
    below
        .chain(&schema.additional)
        .for_each(|below| unknown_keys(below, seen, found));
}

#[test]
fn every_key_of_a_list_is_a_member_of_its_items() {
    let schemas = Schemas::default();
    for kind in builtin::kinds() {
        for version in &kind.versions {
            let gvk = GroupVersionKind {
                group: Arc::clone(&kind.resource.group),
                version: Arc::clone(&version.name),
                kind: Arc::clone(&kind.kind),
            };
            let schema = schemas.schema(&gvk).expect("a schema");
            let mut keys = Vec::new();
            unknown_keys(&schema, &mut BTreeSet::new(), &mut keys);
            assert!(keys.is_empty(), "{gvk:?}: {keys:?}");
        }
    }
}

#[test]
fn a_reference_may_be_told_apart_where_its_type_is_not() {
    let schemas = Schemas::default();
    let atomic = |kind: &str, member: &str| {
        let gvk = GroupVersionKind::parse("v1", kind).expect("a kind");
        let schema = schemas.schema(&gvk).expect("a schema");
        schema.properties["spec"].properties[member].atomic
    };
    assert!(!atomic("PersistentVolume", "claimRef"));
    assert!(atomic("PersistentVolumeClaim", "dataSource"));
}

#[test]
fn schemas_that_contain_themselves_end() {
    let schemas = Schemas::default();
    let gvk = GroupVersionKind::parse("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let schema = schemas.schema(&gvk.expect("a kind")).expect("a schema");
    let mut definition = json!({"spec": {"versions": [{"name": "v1", "schema":
        {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}}}}]}});
    assert!(schema.prune(&mut definition).is_empty());
}
