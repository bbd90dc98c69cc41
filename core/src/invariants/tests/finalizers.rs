//! A client's finalizer is taken by a client, and never by a deletion or by a collector.

use super::{check, commit, deleted, refused, version, world};
use crate::event::{Cause, Event};
use crate::object::ObjectKey;
use crate::testing::World;
use crate::{GroupResource, Revision, Rule};
use serde_json::json;

/// Two objects that a client's finalizer holds: `held` is being deleted, `kept` is not.
fn held() -> World {
    let mut world = world();
    super::create(&mut world, json!({"name": "kept", "finalizers": ["x/y"]}));
    world
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}

fn taken(finalizer: &str) -> Event {
    Event::FinalizerRemoved {
        finalizer: finalizer.into(),
    }
}

#[test]
fn a_removal_takes_a_clients_finalizer_only_with_the_request_of_whoever_lets_go() {
    let world = held();
    let cases = [
        ("held", Cause::Request, None),
        (
            "held",
            Cause::Commit(Revision(1)),
            Some("a collector took x/y"),
        ),
        ("kept", Cause::Request, Some("its deletion took x/y")),
        (
            "kept",
            Cause::Commit(Revision(1)),
            Some("its deletion took x/y"),
        ),
    ];
    for (name, cause, what) in cases {
        let object = world.get("configmaps", name).expect("it is there");
        let events = vec![taken("x/y"), deleted(Rule::Requested, Vec::new())];
        let mut commit = commit(&world, key(name), object.meta.uid.as_str(), events);
        commit.cause = cause;
        match what {
            Some(what) => refused(&world, &commit, what),
            None => assert_eq!(check(&world.state, &commit), Ok(()), "{name}"),
        }
    }
}

#[test]
fn an_update_takes_a_clients_finalizer_only_if_a_client_asks_for_it() {
    let world = held();
    for name in ["held", "kept"] {
        let object = version(&world.state, &key(name), |metadata| {
            metadata["finalizers"] = json!([]);
        });
        let uid = object.meta.uid.as_str().to_owned();
        let events = vec![taken("x/y"), Event::ObjectUpdated { object }];
        let mut commit = commit(&world, key(name), &uid, events);
        assert_eq!(check(&world.state, &commit), Ok(()), "{name}");
        commit.cause = Cause::Commit(Revision(1));
        refused(&world, &commit, "a collector took x/y");
    }
}
