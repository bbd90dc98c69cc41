//! Since when the kind of a reference is served, for who followed the log and for who reads it back.

use super::*;
use hindsight_core::{Actor, Cause, Change, Event, GroupResource, Request, Time};
use std::convert::Infallible;
use std::sync::Arc;

const MAPS: (&str, &str) = ("", "configmaps");
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// A history and the graph that follows it.
#[derive(Default)]
struct Followed {
    graph: OwnershipGraph,
    changes: Vec<Change>,
}

impl Followed {
    fn commit(&mut self, (group, resource): (&str, &str), name: &str, body: Option<String>) {
        let revision = Revision(self.changes.len() as u64 + 1);
        let key = ObjectKey::new(GroupResource::new(group, resource), "", name);
        let uid = Uid::from(name);
        let before = self.graph.object(&uid).cloned();
        let events = match body {
            None => vec![Event::ObjectDeleted {
                rule: hindsight_core::Rule::Requested,
                owners: Vec::new(),
                decided_at: Revision::ZERO,
            }],
            Some(body) => {
                let object = Object::from_body(key.clone(), body.into(), revision, None);
                written(before.as_deref(), Arc::new(object.expect("readable")))
            }
        };
        let commit = Commit {
            revision,
            time: Time(0),
            actor: Arc::new(Actor::new("")),
            request: Arc::new(Request::default()),
            cause: Cause::Request,
            key,
            uid,
            events,
        };
        let change = Change {
            commit: Arc::new(commit),
            previous: before,
        };
        self.graph.apply(&change);
        self.changes.push(change);
    }

    fn map(&mut self, name: &str, owners: &[(&str, &str)]) {
        let owners = owners.iter().map(|(version, uid)| {
            format!(r#"{{"apiVersion":"{version}","kind":"B","name":"g","uid":"{uid}"}}"#)
        });
        let owners: Vec<String> = owners.collect();
        let owners = owners.join(",");
        let metadata =
            format!(r#"{{"name":"{name}","uid":"{name}","ownerReferences":[{owners}]}}"#);
        let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{metadata}}}"#);
        self.commit(MAPS, name, Some(body));
    }

    /// The definition of the kind `B`, which serves these of its versions.
    fn define(&mut self, served: &[&str], is_established: bool) {
        let versions = ["v1", "v2"].map(|name| {
            let (served, storage) = (served.contains(&name), name == "v1");
            format!(r#"{{"name":"{name}","served":{served},"storage":{storage}}}"#)
        });
        let versions = versions.join(",");
        let established = if is_established { "True" } else { "False" };
        let body = format!(
            r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
            "metadata":{{"name":"bs.e.io","uid":"bs.e.io"}},
            "spec":{{"group":"e.io","scope":"Cluster","names":{{"plural":"bs","kind":"B"}},
                "versions":[{versions}]}},
            "status":{{"conditions":[{{"type":"Established","status":"{established}"}}]}}}}"#
        );
        self.commit(DEFINITIONS, "bs.e.io", Some(body));
    }

    /// Since when the kind of the first reference of each object is served, if that is told. Whoever reads
    /// the log back finds the same.
    fn arrivals(&self, names: [&str; 2]) -> [Option<u64>; 2] {
        let mut recalled = self.graph.clone();
        recalled.arrivals.arrived.clear();
        let back = self.changes.iter().rev();
        let back = back.map(|change| Ok::<_, Infallible>(&*change.commit));
        recalled.recall(back).expect("it reads");
        assert_eq!(recalled.arrivals, self.graph.arrivals);
        names.map(|name| {
            let uid = Uid::from(name);
            let reference = self.graph.object(&uid)?.owners().first()?;
            Some(self.graph.arrived_at(reference, &uid)?.0)
        })
    }
}

fn written(before: Option<&Object>, object: Arc<Object>) -> Vec<Event> {
    let Some(before) = before else {
        return vec![Event::ObjectCreated { object }];
    };
    let is_new = |owner: &&OwnerReference| !before.owners().contains(owner);
    let new = object.owners().iter().filter(is_new).cloned();
    let mut events: Vec<Event> = new.map(|owner| Event::OwnerAdded { owner }).collect();
    events.push(Event::ObjectUpdated { object });
    events
}

#[test]
fn a_kind_arrives_for_the_references_that_were_there_before() {
    let mut world = Followed::default();
    let arrivals = |world: &Followed| world.arrivals(["early", "late"]);
    world.map("early", &[("e.io/v1", "g")]);
    assert_eq!(arrivals(&world), [None, None]);
    world.define(&["v1"], true);
    world.map("late", &[("e.io/v1", "g")]);
    world.define(&["v1", "v2"], true);
    world.map("early", &[("e.io/v1", "g"), ("e.io/v2", "h")]);
    assert_eq!(arrivals(&world), [Some(2), None]);
    world.define(&["v2"], true);
    assert_eq!(arrivals(&world), [None, None], "it is unknown again");
    world.define(&["v1", "v2"], true);
    assert_eq!(arrivals(&world), [Some(7), Some(7)]);
    world.map("early", &[("e.io/v1", "other")]);
    assert_eq!(arrivals(&world), [None, Some(7)], "it is another reference");
    world.commit(DEFINITIONS, "bs.e.io", None);
    assert_eq!(arrivals(&world), [None, None]);
    world.define(&["v1"], true);
    assert_eq!(arrivals(&world), [Some(10), Some(10)]);
    world.commit(MAPS, "early", None);
    world.commit(MAPS, "late", None);
    assert!(world.graph.arrivals.arrived.is_empty());
}

#[test]
fn a_definition_whose_names_are_not_accepted_brings_no_kind_and_takes_none() {
    let mut world = Followed::default();
    let arrivals = |world: &Followed| world.arrivals(["early", "late"]);
    world.map("early", &[("e.io/v1", "g")]);
    world.define(&["v1"], false);
    world.map("late", &[("e.io/v1", "g")]);
    assert_eq!(arrivals(&world), [None, None]);
    world.define(&["v1"], true);
    assert_eq!(arrivals(&world), [Some(4), Some(4)]);
    world.define(&[], false);
    assert_eq!(arrivals(&world), [Some(4), Some(4)]);
}

#[test]
fn nothing_is_read_where_all_owners_are_there() {
    let mut world = Followed::default();
    let owner = r#"{"apiVersion":"e.io/v1","kind":"B","metadata":{"name":"g","uid":"g"}}"#;
    world.commit(("e.io", "bs"), "g", Some(owner.into()));
    world.map("early", &[("e.io/v1", "g")]);
    world.define(&["v1"], true);
    let mut graph = world.graph.clone();
    graph.arrivals.arrived.clear();
    assert_eq!(graph.recall([Err::<&Commit, _>("read too far")]), Ok(()));
}

/// Whoever has its uid is there, but it is of another kind with the same name.
#[test]
fn an_owner_of_another_group_is_not_the_one_that_is_named() {
    let mut world = Followed::default();
    let owner = r#"{"apiVersion":"b.io/v1","kind":"B","metadata":{"name":"g","uid":"g"}}"#;
    world.commit(("b.io", "bs"), "g", Some(owner.into()));
    world.map("early", &[("e.io/v1", "g")]);
    world.define(&["v1"], true);
    world.map("late", &[("e.io/v1", "g")]);
    assert_eq!(world.arrivals(["early", "late"]), [Some(3), None]);
}
