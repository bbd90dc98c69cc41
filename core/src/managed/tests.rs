//! Who owns which fields after commands are decided.

use super::Managed;
use crate::command::{
    AdmissionBasis, Admitted, Create, FieldValidation, Intent, Patch, PatchObject, Propagation,
};
use crate::testing::World;
use crate::{Decision, Rejection};
use serde_json::{Value, json};

fn entry(manager: &str, operation: &str, time: &str, fields: Value) -> Value {
    json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time,
        "fieldsType": "FieldsV1", "fieldsV1": fields})
}

fn world(manager: &str, data: Value) -> World {
    let mut world = World::new();
    world.manager(manager);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": data});
    world.create("configmaps", object).expect("created");
    world
}

fn patch_as(world: &mut World, manager: &str, patch: Value) {
    world.manager(manager);
    world
        .patch("configmaps", "a", Patch::Merge(patch))
        .expect("patched");
}

fn apply(
    world: &mut World,
    manager: &str,
    data: Value,
    force: bool,
) -> Result<Decision, Rejection> {
    world.manager(manager);
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": data});
    world.patch("configmaps", "a", applied(config, force))
}

fn applied(config: Value, force: bool) -> Patch {
    Patch::Apply {
        config,
        force,
        complaint: None,
    }
}

/// Returns manager, time and fields of each entry.
fn managed_fields(world: &World) -> Vec<(String, Value, Value)> {
    let document = world.get("configmaps", "a").expect("an object").document();
    let list = document.pointer("/metadata/managedFields");
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    let told = entries.map(|entry| {
        let manager = entry["manager"].as_str().expect("a name").to_owned();
        (manager, entry["time"].clone(), entry["fieldsV1"].clone())
    });
    told.collect()
}

fn holders(world: &World) -> Vec<(String, Value)> {
    let entries = managed_fields(world).into_iter();
    entries
        .map(|(manager, _, fields)| (manager, fields))
        .collect()
}

#[test]
fn a_zero_is_owned_by_who_applies_it_and_by_nobody_else() {
    for (value, is_applied, is_owned) in [(0, false, false), (5, false, true), (0, true, true)] {
        let mut world = World::new();
        world.manager("m");
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "a", "labels": {"l": "v"}}, "value": value});
        let written = if is_applied {
            world.patch("priorityclasses", "a", applied(class, false))
        } else {
            world.create("priorityclasses", class)
        };
        written.expect("written");
        let document = world.get("priorityclasses", "a").expect("there").document();
        let fields = &document["metadata"]["managedFields"][0]["fieldsV1"];
        assert!(fields["f:metadata"]["f:labels"].is_object(), "{document}");
        assert_eq!(fields.get("f:value").is_some(), is_owned, "{document}");
    }
}

#[test]
fn a_list_is_read_and_written_in_order() {
    let early = "2020-01-01T00:00:00Z";
    let late = "2021-01-01T00:00:00Z";
    let fields = || json!({"f:data": {"f:k": {}}});
    let through = |mut entry: Value, subresource: &str| {
        entry["subresource"] = json!(subresource);
        entry
    };
    let in_order = json!([
        entry("z", "Apply", early, fields()),
        entry("a", "Apply", late, fields()),
        entry("b", "Apply", late, fields()),
        entry("a", "Update", early, fields()),
        through(entry("a", "Update", early, fields()), "status"),
        entry("a", "Update", late, fields()),
    ]);
    // The entry at 3 and the last one have the same identity, so a list can have only one of them.
    let mut list = in_order.as_array().expect("a list").clone();
    list.remove(3);
    let expected = Value::from(list.clone());
    list.reverse();
    let managed = Managed::read(Some(&list.into())).expect("a readable list");
    assert_eq!(managed.list(), Some(expected));
    assert_eq!(Managed::default().list(), None);
}

#[test]
fn what_is_no_list_is_told() {
    let good = entry("a", "Update", "2020-01-01T00:00:00Z", json!({"f:data": {}}));
    let operation = "operation must be `Apply` or `Update`";
    let set = "error decoding versioned set of managed fields entry 1";
    for (member, value, why) in [
        ("manager", json!("b"), ""),
        ("fieldsV1", Value::Null, ""),
        ("time", Value::Null, ""),
        (
            "time",
            json!("soon"),
            "error decoding time of managed fields entry 1",
        ),
        ("operation", json!("Guess"), operation),
        ("operation", Value::Null, operation),
        ("apiVersion", json!(""), "apiVersion must not be empty"),
        (
            "fieldsType",
            json!("FieldsV2"),
            "invalid fieldsType \"FieldsV2\" in managed fields entry 1",
        ),
        (
            "fieldsType",
            Value::Null,
            "missing fieldsType in managed fields entry 1",
        ),
        ("fieldsV1", json!({"data": {}}), set),
        ("fieldsV1", json!({"k:{": {}}), set),
        ("fieldsV1", json!([]), set),
    ] {
        let mut changed = good.clone();
        changed[member] = value.clone();
        let found = super::unreadable(Some(&json!([good, changed])));
        assert_eq!(found.unwrap_or_default(), why, "{member}: {value}");
    }
    for list in [json!({}), json!("x"), json!([1]), json!([null])] {
        assert!(super::unreadable(Some(&list)).is_some(), "{list}");
    }
    for list in [None, Some(&Value::Null)] {
        assert_eq!(super::unreadable(list), None);
    }
}

#[test]
fn who_changes_a_field_holds_it_and_the_others_do_not() {
    let mut world = world("maker", json!({"k": "v", "l": "v"}));
    let made = managed_fields(&world);
    patch_as(&mut world, "writer", json!({"data": {"k": "w", "m": "m"}}));
    let (maker, writer) = (&managed_fields(&world)[0], &managed_fields(&world)[1]);
    assert_eq!(maker.2, json!({"f:data": {".": {}, "f:l": {}}}));
    assert_eq!((&maker.0, &maker.1), (&made[0].0, &made[0].1));
    assert_eq!(writer.0, "writer");
    assert_eq!(writer.2, json!({"f:data": {"f:k": {}, "f:m": {}}}));
    patch_as(&mut world, "maker", json!({"data": {"m": null}}));
    assert_eq!(managed_fields(&world)[1].2, json!({"f:data": {"f:k": {}}}));
    assert_eq!(managed_fields(&world)[0].1, made[0].1, "nothing was gained");
}

#[test]
fn without_a_name_no_managed_fields_are_kept() {
    let mut nameless = world("", json!({"k": "v"}));
    assert!(managed_fields(&nameless).is_empty());
    patch_as(&mut nameless, "writer", json!({"data": {"k": "w"}}));
    assert!(managed_fields(&nameless).is_empty(), "nor begun later");
    apply(&mut nameless, "one", json!({"l": "v"}), false).expect("applied");
    let names: Vec<String> = holders(&nameless).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["one", "before-first-apply"]);

    let mut named = world("maker", json!({"k": "v"}));
    let before = managed_fields(&named);
    patch_as(&mut named, "", json!({"data": {"k": "w", "l": "w"}}));
    assert_eq!(managed_fields(&named), before);
    let refused = apply(&mut named, "", json!({"k": "x"}), true);
    assert!(matches!(refused, Err(Rejection::Invalid { .. })));
}

#[test]
fn a_deletion_that_waits_leaves_managed_fields_alone() {
    let mut world = world("maker", json!({"k": "v"}));
    patch_as(
        &mut world,
        "maker",
        json!({"metadata": {"finalizers": ["a/b"]}}),
    );
    let before = managed_fields(&world);
    world
        .delete("configmaps", "a", Some(Propagation::Foreground))
        .expect("marked");
    assert_eq!(managed_fields(&world), before);
}

#[test]
fn ten_who_update_are_told_apart() {
    let mut world = world("maker", json!({"k": "v"}));
    for index in 0..14 {
        let name = format!("w{index}");
        let mut data = serde_json::Map::new();
        data.insert(name.clone(), json!("x"));
        patch_as(&mut world, &name, json!({"data": data}));
        assert!(holders(&world).len() <= 10);
    }
    let (name, fields) = holders(&world).remove(0);
    assert_eq!(name, "ancient-changes");
    let joined = json!({"f:data": {".": {}, "f:k": {}, "f:w0": {}, "f:w1": {}, "f:w2": {}, "f:w3": {},
        "f:w4": {}}});
    assert_eq!(fields, joined);
    assert_eq!(holders(&world).len(), 10);
}

#[test]
fn old_updates_of_several_versions_are_joined_apart() {
    let mut managed = Managed::default();
    for index in 0..12 {
        let mut one = entry(
            &format!("m{index:02}"),
            "Update",
            "2020-01-01T00:00:00Z",
            json!({}),
        );
        one["apiVersion"] = json!(if index % 2 == 0 { "v1" } else { "v2" });
        let mut field = serde_json::Map::new();
        field.insert(format!("f:{index}"), json!({}));
        one["fieldsV1"] = field.into();
        let read = Managed::read(Some(&json!([one]))).expect("readable");
        managed.managers.extend(read.managers);
        managed.times.extend(read.times);
    }
    super::limit::join_oldest(&mut managed);
    let list = managed.list().expect("a list");
    let ancient: Vec<(&Value, &Value)> = list
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| entry["manager"] == "ancient-changes")
        .map(|entry| (&entry["apiVersion"], &entry["fieldsV1"]))
        .collect();
    assert_eq!(
        ancient,
        [
            (&json!("v1"), &json!({"f:0": {}, "f:2": {}})),
            (&json!("v2"), &json!({"f:1": {}, "f:3": {}}))
        ]
    );
    assert_eq!(list.as_array().map(Vec::len), Some(10));
}

#[test]
fn what_admission_adds_is_nobodys() {
    let mut world = world("maker", json!({"k": "v"}));
    let stored = world.get("configmaps", "a").expect("an object");
    let mut object = stored.document();
    let mut owned = managed_fields(&world);
    object["data"]["webhook"] = json!("w");
    let intent = Intent::Patch(PatchObject {
        key: stored.key.clone(),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"data": {"k": "w"}})),
        validation: FieldValidation::Warn,
    });
    let admitted = Admitted {
        seen: AdmissionBasis::At(stored.revision),
        object: Some(object),
    };
    world.run_admitted(intent, Some(admitted)).expect("written");
    let now = managed_fields(&world);
    assert_eq!(now, std::mem::take(&mut owned));

    let admitted = Admitted {
        seen: AdmissionBasis::Absent,
        object: Some(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b",
            "managedFields": [entry("m", "Update", "2020-01-01T00:00:00Z", json!({"f:data": {}}))]},
            "data": {"webhook": "w"}}),
        ),
    };
    let intent = Intent::Create(Create {
        key: world.key("configmaps", ""),
        version: "v1".into(),
        object: json!({}),
        validation: FieldValidation::Warn,
    });
    world.run_admitted(intent, Some(admitted)).expect("created");
    let made = world.get("configmaps", "b").expect("an object").document();
    let fields = made.pointer("/metadata/managedFields/0/fieldsV1");
    assert_eq!(fields, Some(&json!({"f:data": {}})));
}

#[test]
fn a_write_that_admission_undoes_is_none_also_when_time_has_passed() {
    let mut world = world("maker", json!({"k": "v"}));
    let stored = world.get("configmaps", "a").expect("an object");
    let list = |time: &str, fields: Value| json!([entry("maker", "Update", time, fields)]);
    let fields = json!({"f:data": {".": {}, "f:k": {}}});
    let later = "2040-01-01T00:00:00Z";
    for (list, written) in [
        (list(later, fields), 0),
        (list(later, json!({"f:data": {".": {}, "f:l": {}}})), 1),
    ] {
        let mut object = stored.document();
        object["metadata"]["managedFields"] = list.clone();
        let admitted = Admitted {
            seen: AdmissionBasis::At(stored.revision),
            object: Some(object),
        };
        let intent = Intent::Patch(PatchObject {
            key: stored.key.clone(),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"data": {"k": "w"}})),
            validation: FieldValidation::Warn,
        });
        let decision = world.run_admitted(intent, Some(admitted));
        assert_eq!(decision.expect("decided").commits.len(), written, "{list}");
    }
}

#[test]
fn a_configuration_of_what_is_not_there_is_admitted_as_a_creation() {
    let mut world = World::new();
    world.manager("one");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"k": "mutated"}});
    let intent = Intent::Patch(PatchObject {
        key: world.key("configmaps", "a"),
        version: "v1".into(),
        subresource: None,
        patch: applied(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
            false,
        ),
        validation: FieldValidation::Warn,
    });
    let admitted = Admitted {
        seen: AdmissionBasis::Absent,
        object: Some(object),
    };
    world.run_admitted(intent, Some(admitted)).expect("created");
    let made = world.get("configmaps", "a").expect("an object").document();
    assert_eq!(made["data"]["k"], "mutated");
}

#[test]
fn a_strict_client_hears_of_its_text_after_conflicts_and_before_anything_else() {
    let mut world = world("maker", json!({"k": "v"}));
    world.manager("one");
    for (namespace, name, data, force, heard) in [
        ("default", "a", json!({"k": "w"}), false, false),
        ("default", "a", json!({"k": "w"}), true, true),
        ("default", "a", json!({"l": "w"}), false, true),
        ("default", "b", json!({"l": "w"}), false, true),
        ("other", "c", json!({"l": "w"}), false, true),
    ] {
        let mut key = world.key("configmaps", name);
        key.namespace = namespace.into();
        let patched = world.run(Intent::Patch(PatchObject {
            key,
            version: "v1".into(),
            subresource: None,
            patch: Patch::Apply {
                config: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                    "data": data}),
                force,
                complaint: Some("said twice".into()),
            },
            validation: FieldValidation::Strict,
        }));
        let refusal = patched.expect_err("a refusal");
        let expected = Rejection::BadRequest("said twice".into());
        assert_eq!(refusal == expected, heard, "{name}: {refusal}");
    }
}

#[test]
fn time_passes_only_for_those_who_gain_something() {
    let mut world = World::new();
    let mut times = Vec::new();
    for (manager, data) in [
        ("one", json!({"k": "v"})),
        ("one", json!({"k": "v"})),
        ("one", json!({"k": "w"})),
        ("two", json!({"k": "w"})),
    ] {
        world.advance(100);
        apply(&mut world, manager, data, false).expect("applied");
        let entry = managed_fields(&world)
            .into_iter()
            .find(|entry| entry.0 == manager);
        times.push(entry.expect("an entry").1);
    }
    assert_eq!(times[0], times[1]);
    assert_ne!(times[1], times[2]);
    assert_eq!(times[3], Value::Null);
}
