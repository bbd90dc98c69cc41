//! Creates, through `decide` and `apply`.

use crate::command::{Create, FieldValidation, Intent, Patch, PatchObject};
use crate::testing::{World, builtin_kind};
use crate::{
    Actor, Command, Decision, GroupResource, ObjectKey, Outcome, Rejection, apply, decide,
    decide_before_storage, draft,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn the_server_owns_identity_and_times() {
    let mut world = World::new();
    let sent = json!({"metadata": {"name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z", "labels": {"k": "v"}}});
    let Outcome::Created(object) = world.create("configmaps", sent).expect("created").outcome
    else {
        panic!("not created")
    };
    let read = object.document();
    assert_ne!(read["metadata"]["uid"], "mine");
    assert_eq!(read["metadata"]["deletionTimestamp"], json!(null));
    assert_eq!(
        read["metadata"]["resourceVersion"],
        object.revision.to_string()
    );
    assert_eq!(read["metadata"]["labels"]["k"], "v");
    assert_eq!(
        (&read["apiVersion"], &read["kind"]),
        (&json!("v1"), &json!("ConfigMap"))
    );
}

#[test]
fn a_taken_name_is_refused_also_while_its_holder_goes() {
    let mut world = World::new();
    let map = json!({"metadata": {"name": "a", "finalizers": ["x/y"]}});
    world.create("configmaps", map.clone()).expect("created");
    let taken = world.create("configmaps", map.clone()).expect_err("taken");
    assert_eq!(taken.to_string(), "configmaps \"a\" already exists");
    world.delete("configmaps", "a", None).expect("marked");
    let going = world.create("configmaps", map).expect_err("taken");
    assert_eq!(
        going.to_string(),
        "object is being deleted: configmaps \"a\" already exists"
    );
}

/// Otherwise the object would be where nobody looks for it: neither its dependents nor what is in the namespace.
#[test]
fn an_object_is_made_in_a_namespace_if_and_only_if_its_kind_is() {
    let mut world = World::new();
    for (resource, namespace, refused) in [
        (
            "namespaces",
            "default",
            Some("namespaces are not in a namespace: the key must name none, and not \"default\""),
        ),
        (
            "nodes",
            "missing",
            Some("nodes are not in a namespace: the key must name none, and not \"missing\""),
        ),
        ("nodes", "", None),
        ("configmaps", "", Some("namespaces \"\" not found")),
        ("configmaps", "default", None),
    ] {
        for is_applied in [false, true] {
            let (name, kind) = (format!("n{is_applied}"), builtin_kind(resource).kind);
            let key = ObjectKey::new(GroupResource::new("", resource), namespace, &name);
            let object = json!({"apiVersion": "v1", "kind": &*kind, "metadata": {"name": name}});
            let intent = if is_applied {
                Intent::Patch(PatchObject {
                    key,
                    version: "v1".into(),
                    subresource: None,
                    patch: Patch::Apply {
                        config: object,
                        force: false,
                        complaint: None,
                    },
                    validation: FieldValidation::Strict,
                })
            } else {
                Intent::Create(Create {
                    key,
                    version: "v1".into(),
                    object,
                    validation: FieldValidation::Strict,
                })
            };
            world.manager("m");
            let made = world.run(intent).err().map(|refused| refused.to_string());
            assert_eq!(
                made.as_deref(),
                refused,
                "{resource} {namespace:?} {is_applied}"
            );
        }
    }
}

/// A kubelet registers its node with addresses and capacity in one request.
#[test]
fn a_new_node_keeps_its_status_and_nobody_owns_it() {
    let mut world = World::new();
    world.manager("kubelet");
    let status = json!({"allocatable": {"cpu": "4"}});
    let range = json!({"cidrs": ["10.0.0.0/16"]});
    let claim = json!({"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}});
    for (resource, spec, is_kept) in [
        ("nodes", json!({"podCIDR": "10.0.0.0/24"}), true),
        ("servicecidrs", range, true),
        ("persistentvolumeclaims", claim, false),
    ] {
        let sent = json!({"metadata": {"name": "a"}, "spec": spec, "status": status});
        let made = world.create(resource, sent).expect(resource);
        let made = made.outcome.object().document();
        let kept = &made["status"]["allocatable"];
        assert_eq!(kept == &status["allocatable"], is_kept, "{resource}");
        let fields = &made["metadata"]["managedFields"][0]["fieldsV1"];
        assert!(fields.get("f:spec").is_some(), "{resource}: {fields}");
        assert!(fields.get("f:status").is_none(), "{resource}: {fields}");
    }
}

#[test]
fn generated_names_extend_their_prefix() {
    let mut world = World::new();
    let made = world.create("configmaps", json!({"metadata": {"generateName": "job-"}}));
    let name = made.expect("created").outcome.object().key.name.to_string();
    assert!(name.starts_with("job-") && name.len() == 9, "{name}");
}

#[test]
fn an_object_is_made_of_the_kind_and_with_the_name_of_its_key() {
    let mut world = World::new();
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com",
        "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    world
        .create("customresourcedefinitions", definition)
        .expect("defined");
    let mut create = |resource: (&str, &str), name: &str, object: Value| {
        let made = world.run(Intent::Create(Create {
            key: ObjectKey::new(GroupResource::new(resource.0, resource.1), "default", name),
            version: "v1".into(),
            object,
            validation: FieldValidation::Strict,
        }));
        made.err().map(|refused| refused.to_string())
    };
    let (maps, widgets) = (("", "configmaps"), ("example.com", "widgets"));
    let named = |kind: &str, name: &str| json!({"kind": kind, "metadata": {"name": name}});
    for (resource, name, object, refused) in [
        (
            maps,
            "b",
            named("ConfigMap", "a"),
            "the name of the object (a) does not match the name on the URL (b)",
        ),
        (
            maps,
            "b",
            json!({"metadata": {"generateName": "a"}}),
            "the name of the object (b based on URL) was undeterminable: name must be provided",
        ),
        (
            maps,
            "",
            named("Secret", "a"),
            "Secret in version \"v1\" cannot be handled as a ConfigMap",
        ),
        (
            maps,
            "a",
            named("Secret", "a"),
            "Secret in version \"v1\" cannot be handled as a ConfigMap",
        ),
        (
            widgets,
            "a",
            named("Gadget", "a"),
            "Gadget.example.com \"a\" is invalid: kind: Invalid value: \"Gadget\": must be Widget",
        ),
    ] {
        assert_eq!(create(resource, name, object).as_deref(), Some(refused));
    }
    for (resource, name, object) in [
        (maps, "", named("", "a")),
        (maps, "b", named("ConfigMap", "b")),
        (
            maps,
            "c",
            json!({"apiVersion": "x.io/v9", "metadata": {"name": "c"}}),
        ),
        (widgets, "a", named("Widget", "a")),
    ] {
        assert_eq!(create(resource, name, object), None);
    }
}

#[test]
fn creates_need_a_live_namespace() {
    let mut world = World::new();
    let map = json!({"metadata": {"name": "a"}});
    let missing = world
        .create_in("none", "configmaps", map.clone())
        .expect_err("no namespace");
    assert_eq!(missing.to_string(), "namespaces \"none\" not found");
    world
        .create("namespaces", json!({"metadata": {"name": "going"}}))
        .expect("created");
    world.delete("namespaces", "going", None).expect("marked");
    let refused = world
        .create_in("going", "configmaps", map)
        .expect_err("terminating");
    assert!(
        matches!(refused, Rejection::Forbidden { causes, .. } if causes[0].reason == "NamespaceTerminating")
    );
}

#[test]
fn bad_metadata_is_refused_with_every_cause() {
    let mut world = World::new();
    let bad = json!({"metadata": {"name": "A", "labels": {"-": "v"}, "finalizers": ["foo"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "n", "uid": "u"}]}});
    let Err(Rejection::Invalid { causes, .. }) = world.create("configmaps", bad) else {
        panic!("not refused")
    };
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "metadata.name",
            "metadata.labels",
            "metadata.ownerReferences.kind",
            "metadata.finalizers[0]"
        ]
    );
}

#[test]
fn a_revision_may_not_be_chosen() {
    let mut world = World::new();
    for (revision, fits) in [("7", false), ("0", true), ("abc", true)] {
        let map = json!({"metadata": {"generateName": "a-", "resourceVersion": revision}});
        assert_eq!(world.create("configmaps", map).is_ok(), fits, "{revision}");
    }
}

#[test]
fn exact_repetitions_of_an_owner_are_dropped_with_a_warning() {
    let mut world = World::new();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    let map = json!({"metadata": {"name": "a", "ownerReferences": [owner, owner]}});
    let made = world.create("configmaps", map).expect("created");
    assert_eq!(made.outcome.object().meta.owner_references.len(), 1);
    assert!(
        made.warnings[0].ends_with("duplicate UID(s) observed: u"),
        "{:?}",
        made.warnings
    );
}

/// The refusal of a creation, as one word.
fn refusal(world: &mut World, namespace: &str, metadata: &Value) -> &'static str {
    let created = world.create_in(namespace, "configmaps", json!({"metadata": metadata}));
    match created.err() {
        None => "created",
        Some(Rejection::NotFound { .. }) => "no namespace",
        Some(Rejection::Invalid { .. }) => "invalid",
        Some(Rejection::Internal(_)) => "a version",
        Some(Rejection::AlreadyExists { .. }) => "taken",
        Some(_) => "otherwise",
    }
}

#[test]
fn what_storage_alone_refuses_comes_last() {
    let mut world = World::new();
    let rows = [
        ("default", json!({"name": "a"}), "created"),
        (
            "nowhere",
            json!({"name": "A", "resourceVersion": "7"}),
            "no namespace",
        ),
        (
            "default",
            json!({"name": "A", "resourceVersion": "7"}),
            "invalid",
        ),
        (
            "default",
            json!({"name": "a", "labels": {"a b": "c"}}),
            "invalid",
        ),
        (
            "default",
            json!({"name": "a", "resourceVersion": "7"}),
            "a version",
        ),
        (
            "default",
            json!({"name": "a", "resourceVersion": "+7"}),
            "taken",
        ),
        ("default", json!({"name": "a"}), "taken"),
        ("default", json!({"name": "b", "generation": -1}), "invalid"),
        ("default", json!({"name": "b", "generation": 7}), "created"),
    ];
    for (namespace, metadata, expected) in rows {
        let found = refusal(&mut world, namespace, &metadata);
        assert_eq!(found, expected, "{namespace} {metadata}");
    }
}

#[test]
fn the_own_finalizers_of_a_namespace_have_names_as_all_others() {
    let mut world = World::new();
    let namespace =
        |tokens: &Value| json!({"metadata": {"name": "n"}, "spec": {"finalizers": tokens}});
    let causes = |refused: Rejection| {
        let Rejection::Invalid { causes, .. } = refused else {
            return vec![refused.to_string()];
        };
        causes.into_iter().map(|one| one.field).collect()
    };
    let (field, second) = ("spec.finalizers", "spec.finalizers[1]");
    for (name, expected) in [("bogus", 1), ("", 3), ("a b", 2), ("a b/c", 1)] {
        let refused = world.create("namespaces", namespace(&json!([name])));
        let refused = causes(refused.expect_err(name));
        assert_eq!(refused, vec![field; expected], "{name}");
    }
    let created = world.create("namespaces", namespace(&json!(["x/y"])));
    let created = created.expect("created").outcome.object().document();
    assert_eq!(created["spec"]["finalizers"], json!(["x/y", "kubernetes"]));
    let refused = world.update(
        "namespaces",
        "finalize",
        namespace(&json!(["orphan", "bogus"])),
    );
    assert_eq!(causes(refused.expect_err("bogus")), [second]);
    let emptied = world.update("namespaces", "finalize", namespace(&json!([])));
    let emptied = emptied.expect("it is live").outcome.object().document();
    assert_eq!(emptied["spec"], json!({}));
}

#[test]
fn annotations_are_as_long_as_their_keys_and_values_together() {
    // Upstream: `TotalAnnotationSizeLimitB`.
    let most = 256 * 1024;
    let half = most / 2;
    for (name, lengths, fits) in [
        ("one", vec![most], true),
        ("one-too-long", vec![most + 1], false),
        ("two", vec![half, half], true),
        ("two-too-long", vec![half, half + 1], false),
    ] {
        let annotation = |(index, length): (usize, usize)| {
            let key = format!("key{index}");
            let value = "v".repeat(length - key.len());
            (key, Value::from(value))
        };
        let annotations: serde_json::Map<_, _> =
            lengths.into_iter().enumerate().map(annotation).collect();
        let map = json!({"metadata": {"name": name, "annotations": annotations}});
        match World::new().create("configmaps", map) {
            Ok(_) => assert!(fits, "{name}"),
            Err(Rejection::Invalid { causes, .. }) => {
                assert!(!fits, "{name}");
                assert_eq!(causes.len(), 1);
                assert_eq!(causes[0].field, "metadata.annotations");
                assert_eq!(causes[0].reason, "FieldValueTooLong");
                assert_eq!(
                    causes[0].message,
                    "Too long: may not be more than 262144 bytes"
                );
            }
            Err(other) => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn a_token_that_is_no_text_is_an_empty_one_which_no_namespace_may_have() {
    for token in [json!(null), json!("")] {
        let mut world = World::new();
        let namespace = json!({"metadata": {"name": "n"}, "spec": {"finalizers": [token]}});
        let refused = world.create("namespaces", namespace).expect_err("refused");
        let Rejection::Invalid { causes, .. } = refused else {
            panic!("{refused}")
        };
        assert!(
            causes.iter().any(|cause| cause.field == "spec.finalizers"),
            "{causes:?}"
        );
    }
}

#[test]
fn what_mutating_admission_is_shown_of_a_job_selects_nothing_yet() {
    let world = World::new();
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    let object = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}});
    let command = || {
        let create = Create {
            key: world.key("jobs", ""),
            version: "v1".into(),
            object: object.clone(),
            validation: FieldValidation::Warn,
        };
        let actor = Arc::new(Actor::new("tester"));
        Command::new(actor, world.now(), [200; 16], Intent::Create(create))
    };
    let selector = |decided: Result<Decision, Rejection>| {
        let document = decided.expect("valid").outcome.object().document();
        let labels = document.pointer("/spec/selector/matchLabels").cloned();
        labels.map(|labels| {
            labels == json!({"batch.kubernetes.io/controller-uid": document["metadata"]["uid"]})
        })
    };
    assert_eq!(selector(draft(&world.state, command())), None);
    assert_eq!(
        selector(decide_before_storage(&world.state, command())),
        Some(true)
    );
    assert_eq!(selector(decide(&world.state, command())), Some(true));
}

#[test]
fn objects_that_are_created_from_one_seed_have_different_uids() {
    let mut world = World::new();
    let create = |world: &World, resource: &str, name: &str| {
        let create = Create {
            key: world.key(resource, ""),
            version: "v1".into(),
            object: json!({"metadata": {"name": name}}),
            validation: FieldValidation::Warn,
        };
        let actor = Arc::new(Actor::new("tester"));
        let command = Command::new(actor, world.now(), [200; 16], Intent::Create(create));
        decide(&world.state, command)
    };
    let mut uids = BTreeSet::new();
    for (resource, name) in [("configmaps", "a"), ("configmaps", "b"), ("secrets", "a")] {
        let decided = create(&world, resource, name).expect("created");
        uids.insert(decided.outcome.object().meta.uid.clone());
        for commit in &decided.commits {
            drop(apply(&mut world.state, commit));
        }
    }
    assert_eq!(uids.len(), 3);
    // Whoever sends a command again is told what came of it.
    let again = create(&world, "configmaps", "a").expect_err("sent again");
    assert!(matches!(again, Rejection::AlreadyExists { .. }), "{again}");
}
