//! The schemas of built-in kinds, derived from `k8s-openapi` when they are first needed.

#[cfg(test)]
mod atomicity;
mod convert;
mod merges;
#[cfg(test)]
mod structures;
mod table;

use crate::unpoisoned::unpoisoned;
use convert::Converter;
use hindsight_core::kind::{BuiltinKinds, BuiltinSchemas, GroupVersionKind};
use hindsight_core::{builtin, schema::Schema};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};

/// The built-in kinds with their schemas: what a control plane opens with.
pub fn builtin_kinds() -> Arc<BuiltinKinds> {
    Arc::new(BuiltinKinds::new(
        builtin::kinds(),
        Some(Box::<Schemas>::default()),
    ))
}

/// The schemas of built-in kinds. Definitions that several kinds use are converted once.
#[derive(Debug, Default)]
struct Schemas {
    definitions: Mutex<Converter>,
}

impl BuiltinSchemas for Schemas {
    fn schema(&self, kind: &GroupVersionKind) -> Option<Arc<Schema>> {
        let (name, mut document) = document(&kind.group, &kind.version, &kind.kind)?;
        merges::annotate(&name, &mut document);
        let mut definitions = unpoisoned(self.definitions.lock());
        Some(definitions.root(&name, &document))
    }
}

/// A kind's name and JSON schema, with the definitions that it refers to under `definitions`.
pub(crate) fn document(group: &str, version: &str, kind: &str) -> Option<(String, Value)> {
    let found = table::KINDS
        .iter()
        .find(|row| (row.0, row.1, row.2) == (group, version, kind));
    found.map(|row| row.3())
}

/// The same for clients, annotated with how lists merge and with the form of some types on the wire. Metadata is
/// required nowhere, as upstream: some clients check what they send, and nobody names a review.
pub(crate) fn annotated(group: &str, version: &str, kind: &str) -> Option<(String, Value)> {
    let (name, mut document) = document(group, version, kind)?;
    if let Some(members) = document.as_object_mut() {
        members.remove("$schema");
    }
    merges::annotate(&name, &mut document);
    require_no_metadata(&mut document);
    let definitions = document
        .get_mut("definitions")
        .and_then(Value::as_object_mut);
    for (name, definition) in definitions.into_iter().flatten() {
        merges::annotate(name, definition);
        require_no_metadata(definition);
        on_the_wire(name, definition);
    }
    Some((name, document))
}

fn require_no_metadata(definition: &mut Value) {
    let Some(members) = definition.as_object_mut() else {
        return;
    };
    let Some(Value::Array(required)) = members.get_mut("required") else {
        return;
    };
    required.retain(|member| member != "metadata");
    if required.is_empty() {
        members.remove("required");
    }
}

/// Describes types whose form on the wire their generated schema does not show. Those that may be anything
/// have no type, as in upstream's `api/openapi-spec`.
fn on_the_wire(name: &str, definition: &mut Value) {
    let Some(members) = definition.as_object_mut() else {
        return;
    };
    match name.rsplit('.').next() {
        Some("IntOrString") => {
            members.insert("format".into(), "int-or-string".into());
            one_of(members, ["integer", "string"]);
        }
        Some("Quantity") => one_of(members, ["string", "number"]),
        Some(
            "JSON"
            | "JSONSchemaPropsOrArray"
            | "JSONSchemaPropsOrBool"
            | "JSONSchemaPropsOrStringArray",
        ) => members.retain(|member, _| member == "description"),
        _ => {}
    }
}

fn one_of(members: &mut Map<String, Value>, types: [&str; 2]) {
    members.remove("x-kubernetes-int-or-string");
    let one = |name: &str| json!({"type": name});
    members.insert("oneOf".into(), types.map(one).to_vec().into());
}

/// What clients are told of a member of every object's metadata.
pub(crate) fn description_in_metadata(member: &str) -> String {
    let (_, schema) = generate::<ObjectMeta>();
    let member = schema.get("properties").and_then(|all| all.get(member));
    let description = member.and_then(|member| member.get("description"));
    let description = description.and_then(Value::as_str).unwrap_or_default();
    description.to_owned()
}

fn generate<T: JsonSchema>() -> (String, Value) {
    let generator = SchemaSettings::draft07().into_generator();
    let schema = generator.into_root_schema_for::<T>();
    (T::schema_name().into_owned(), schema.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::command::{FieldValidation, Patch, PatchObject, Update};
    use hindsight_core::kind::Subresource;
    use hindsight_core::schema::Identity;
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
        assert_eq!(ports.identity, Identity::Map(keys));
        let item = ports.items.as_ref().expect("items");
        let default = |name: &str| item.properties[name].default.clone();
        assert_eq!(default("port"), Some(json!(0)));
        assert_eq!(default("protocol"), Some(json!("TCP")));
        assert_eq!(default("name"), None);
        let owners = &service.properties["metadata"].properties["ownerReferences"];
        assert_eq!(owners.identity, Identity::Map(vec!["uid".into()]));
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
        if let (Identity::Map(keys), Some(items)) = (&schema.identity, &schema.items) {
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
}
