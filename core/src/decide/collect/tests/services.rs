//! The `Endpoints` of a `Service` go with it, so what was planned below them is stale if a request may have changed
//! whether the `Service` goes.

use super::{absent, is_stale, prune, target};
use crate::command::{Basis, Collect, Patch, Release, Seen};
use crate::object::{Object, ServerFinalizer};
use crate::testing::World;
use crate::{Decision, Intent, Rejection};
use serde_json::{Value, json};
use std::sync::Arc;

fn make(world: &mut World, resource: &str, metadata: Value) -> Arc<Object> {
    let created = world.create(resource, json!({"metadata": metadata}));
    Arc::clone(created.expect("created").outcome.object())
}

fn owned_by(version: &str, kind: &str, owner: &Object) -> Value {
    json!({"apiVersion": version, "kind": kind, "name": &*owner.key.name,
        "uid": owner.meta.uid.as_str()})
}

fn named(name: &str) -> Value {
    json!({"name": name})
}

fn owned(name: &str, owners: &[Value]) -> Value {
    json!({"name": name, "ownerReferences": owners})
}

/// What prunes `a`, which is owned by `d` and by an owner that is gone, if a request comes between the plan and its
/// decision. `d` belongs to the endpoints `s`.
fn pruned_after(request: impl FnOnce(&mut World)) -> Result<Decision, Rejection> {
    let mut world = World::new();
    for name in ["s", "t"] {
        make(&mut world, "services", named(name));
    }
    let endpoints = make(&mut world, "endpoints", named("s"));
    let owner = owned_by("v1", "Endpoints", &endpoints);
    let d = make(&mut world, "configmaps", owned("d", &[owner]));
    let owner = owned_by("v1", "ConfigMap", &d);
    let a = make(&mut world, "configmaps", owned("a", &[owner, absent()]));
    let basis = Basis {
        above: [d.key.clone()].into(),
        seen: Some(Seen::of(&a)),
        ..Basis::at(world.state.revision)
    };
    request(&mut world);
    prune(&mut world, (target(&a), basis))
}

#[test]
fn a_request_about_a_service_is_about_what_is_below_its_endpoints() {
    let loses_its_owner = |name: &'static str| {
        move |world: &mut World| {
            let owners = json!({"metadata": {"ownerReferences": [absent()]}});
            let changed = world.patch("services", name, Patch::Merge(owners));
            changed.expect("changed");
        }
    };
    is_stale(pruned_after(loses_its_owner("s")));
    pruned_after(loses_its_owner("t")).expect("nothing is below it");
    let goes = |name: &'static str| {
        move |world: &mut World| {
            world.delete("services", name, None).expect("gone");
        }
    };
    is_stale(pruned_after(goes("s")));
    pruned_after(goes("t")).expect("nothing is below it");
}

#[test]
fn a_service_that_comes_after_a_plan_is_decided_before_its_endpoints() {
    for (name, is_above) in [("s", true), ("t", false)] {
        let mut world = World::new();
        let solid = make(&mut world, "configmaps", named("solid"));
        let owners = [owned_by("v1", "ConfigMap", &solid), absent()];
        let endpoints = make(&mut world, "endpoints", owned("s", &owners));
        let basis = Basis {
            above: [solid.key.clone()].into(),
            seen: Some(Seen::of(&endpoints)),
            ..Basis::at(world.state.revision)
        };
        make(&mut world, "services", owned(name, &[absent()]));
        let pruned = prune(&mut world, (target(&endpoints), basis));
        if is_above {
            is_stale(pruned);
        } else {
            pruned.expect("nothing above it was decided");
        }
    }
}

#[test]
fn who_comes_to_refer_to_endpoints_is_below_the_definition_that_owns_their_service() {
    for (name, is_below) in [("s", true), ("t", false)] {
        let mut world = World::new();
        let definition = world.define_things(&[]);
        let version = "apiextensions.k8s.io/v1";
        let owner = owned_by(version, "CustomResourceDefinition", &definition);
        make(&mut world, "services", owned("s", &[owner]));
        let endpoints = make(&mut world, "endpoints", named(name));
        make(&mut world, "configmaps", named("z"));
        let marked = world.delete("customresourcedefinitions", "things.x.io", None);
        let planned = Intent::Collect(Collect::Release(Release {
            owner: target(marked.expect("marked").outcome.object()),
            finalizer: ServerFinalizer::Definition,
            basis: Basis::at(world.state.revision),
        }));
        let owner = owned_by("v1", "Endpoints", &endpoints);
        let owners = json!({"metadata": {"ownerReferences": [owner]}});
        let changed = world.patch("configmaps", "z", Patch::Merge(owners));
        changed.expect("changed");
        let released = world.run(planned);
        if is_below {
            is_stale(released);
        } else {
            released.expect("it is below nothing that goes");
        }
    }
}
