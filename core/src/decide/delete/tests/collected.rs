//! Deletions by the collector: each rule holds for the owners that it is about, and for no others.

use crate::command::{Patch, Propagation};
use crate::testing::World;
use crate::{Outcome, Rejection, Rule};
use serde_json::{Value, json};

/// An owner in foreground deletion, one that orphans, and one that is not being deleted.
fn world() -> World {
    let mut world = World::new();
    for name in ["waiting", "orphaning", "solid"] {
        let object = json!({"metadata": {"name": name}});
        world.create("configmaps", object).expect("created");
    }
    let mut delete = |name: &str, policy| {
        world
            .delete("configmaps", name, Some(policy))
            .expect("marked");
    };
    delete("waiting", Propagation::Foreground);
    delete("orphaning", Propagation::Orphan);
    world
}

/// A reference to one of them, or to an owner that does not exist.
fn owner(world: &World, name: &str) -> Value {
    let (api_version, at, named) = match name {
        "unknown" => ("nobody.example.com/v1", "", "unknown"),
        "misspelt" => ("v1", "orphaning", "misspelt"),
        name => ("v1", name, name),
    };
    let found = world.get("configmaps", at);
    let uid = found.map_or("nobody".into(), |owner| owner.meta.uid.to_string());
    json!({"apiVersion": api_version, "kind": "ConfigMap", "name": named, "uid": uid})
}

#[test]
fn a_rule_holds_for_its_owners_alone() {
    let (absent, foreground) = (Rule::OwnersAbsent, Rule::OwnerForeground);
    for (owners, rule, goes) in [
        (&["absent"][..], absent, true),
        (&["absent"], foreground, false),
        (&["waiting"], foreground, true),
        (&["waiting"], absent, false),
        (&["waiting", "absent"], foreground, true),
        (&["solid"], absent, false),
        (&["solid", "waiting"], foreground, false),
        (&["unknown"], absent, false),
        (&["unknown", "absent"], absent, false),
        (&["unknown", "waiting"], foreground, false),
        (&["misspelt"], absent, false),
    ] {
        let mut world = world();
        let references: Vec<Value> = owners.iter().map(|name| owner(&world, name)).collect();
        let object = json!({"metadata": {"name": "a", "ownerReferences": references}});
        world.create("configmaps", object).expect("created");
        let collected = world.delete_with("configmaps", "a", |delete| delete.rule = rule);
        assert_eq!(collected.is_ok(), goes, "{owners:?} {rule:?}");
        let is_stale = matches!(collected, Err(Rejection::Stale { .. }));
        assert_eq!(is_stale, !goes, "{owners:?} {rule:?}");
    }
}

#[test]
fn a_namespace_is_marked_first_even_where_nothing_holds_it() {
    let mut world = World::new();
    let object = json!({"metadata": {"name": "n"}});
    world.create("namespaces", object).expect("created");
    let freed = json!({"metadata": {"name": "n"}, "spec": {"finalizers": []}});
    world
        .update("namespaces", "finalize", freed)
        .expect("freed");
    let marked = world.delete("namespaces", "n", None).expect("marked");
    assert!(matches!(marked.outcome, Outcome::Deleting(_)));
    assert!(world.get("namespaces", "n").is_some());
}

/// Anybody may give such a rule with a command; it holds only if the state shows its ground.
#[test]
fn a_rule_that_is_not_about_owners_holds_where_its_ground_is() {
    for rule in [
        Rule::NamespaceDeleted,
        Rule::CrdDeleted,
        Rule::TtlAfterFinished,
        Rule::Policy,
        Rule::ServiceDeleted,
    ] {
        let mut world = World::new();
        let object = json!({"metadata": {"name": "a"}});
        world.create("configmaps", object).expect("created");
        let refused = world.delete_with("configmaps", "a", |delete| delete.rule = rule);
        let is_stale = matches!(refused, Err(Rejection::Stale { .. }));
        assert!(is_stale, "{rule:?}");
    }
    let mut world = World::new();
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    world.create("services", service).expect("created");
    for (name, holds) in [("s", false), ("t", true)] {
        let endpoints = json!({"metadata": {"name": name}});
        world.create("endpoints", endpoints).expect("created");
        let decided = world.delete_with("endpoints", name, |delete| {
            delete.rule = Rule::ServiceDeleted;
        });
        assert_eq!(decided.is_ok(), holds, "{name} {decided:?}");
    }
    let team = json!({"metadata": {"name": "team"}});
    world.create("namespaces", team).expect("created");
    let object = json!({"metadata": {"name": "a"}});
    let created = world.create_in("team", "configmaps", object);
    let key = created.expect("created").outcome.object().key.clone();
    world.delete("namespaces", "team", None).expect("marked");
    for (rule, holds) in [(Rule::CrdDeleted, false), (Rule::NamespaceDeleted, true)] {
        let decided = world.delete_with("configmaps", "a", |delete| {
            delete.rule = rule;
            delete.target.key = key.clone();
        });
        assert_eq!(decided.is_ok(), holds, "{rule:?} {decided:?}");
    }
}

/// Whoever deletes a job before its time to live is over says what becomes of its dependents.
#[test]
fn a_job_at_its_end_goes_unless_somebody_deletes_it_or_gives_it_more_time() {
    let ended = json!({"type": "Complete", "status": "True",
        "lastTransitionTime": "1970-01-01T00:00:00Z"});
    let labels = json!({"metadata": {"labels": {"x": "y"}}});
    let more_time = json!({"spec": {"ttlSecondsAfterFinished": 2_000_000_000}});
    for (change, goes) in [(labels, true), (more_time, false), (Value::Null, false)] {
        let mut world = World::new();
        let created = world.create("jobs", json!({"metadata": {"name": "j"}}));
        let mut job = created.expect("created").outcome.object().document();
        job["spec"]["ttlSecondsAfterFinished"] = json!(0);
        job["status"] = json!({"conditions": [ended]});
        world.find("jobs", job);
        let meanwhile = if change.is_null() {
            world.delete("jobs", "j", Some(Propagation::Orphan))
        } else {
            world.patch("jobs", "j", Patch::Merge(change))
        };
        meanwhile.expect("accepted");
        let collected = world.delete_with("jobs", "j", |delete| {
            delete.rule = Rule::TtlAfterFinished;
            delete.propagation = Some(Propagation::Foreground);
        });
        assert_eq!(collected.is_ok(), goes, "{collected:?}");
    }
}

/// An instance of a definition that goes need not wait any longer, unless its dependents are to stay by now.
#[test]
fn an_instance_that_orphans_by_now_does_not_go_in_the_background() {
    use Propagation::{Background, Foreground, Orphan};
    for (meanwhile, holds) in [(Foreground, true), (Orphan, false)] {
        let mut world = World::new();
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com",
            "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
        let definitions = "customresourcedefinitions";
        world.create(definitions, definition).expect("defined");
        let widget = json!({"metadata": {"name": "w"}});
        world.create("widgets", widget).expect("created");
        let mut delete = |resource: &str, name: &str, policy| {
            let marked = world.delete(resource, name, policy);
            marked.expect("marked");
        };
        delete(definitions, "widgets.example.com", None);
        delete("widgets", "w", Some(Foreground));
        delete("widgets", "w", Some(meanwhile));
        let told = world.delete_with("widgets", "w", |delete| {
            delete.rule = Rule::CrdDeleted;
            delete.propagation = Some(Background);
        });
        assert_eq!(told.is_ok(), holds, "{told:?}");
    }
}
