//! A point in the run of a small ownership graph: the real state and the real projection after some
//! commands.

use crate::naive;
use crate::reference::{Kind, Policy, Reference, Thing, World};
use crate::shape::{Edge, Shape, Special};
use crate::world::command;
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{Cause, Change, Intent, Revision, State, apply, builtin, decide, invariants};
use hindsight_projector::OwnershipGraph;
use serde_json::json;
use std::rc::Rc;
use std::sync::Arc;

const NAMESPACE: &str = "n1";
/// A client's finalizer.
pub(crate) const HOLD: &str = "x/hold";

/// A point in a run.
#[derive(Debug, Clone)]
pub struct Point {
    pub(crate) state: State,
    pub(crate) graph: OwnershipGraph,
    /// The namespace as the naive world represents it. Every point has the same one, and reading it
    /// is slow.
    namespace: Option<(Revision, Rc<Thing>)>,
    commands: u64,
}

impl Default for Point {
    /// An empty namespace.
    fn default() -> Self {
        let state = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
        let graph = OwnershipGraph::rebuild(&state);
        let mut point = Self {
            state,
            graph,
            namespace: None,
            commands: 0,
        };
        point = point.after(naive::create_namespace(NAMESPACE), Cause::Request);
        let made = point.state.namespace(NAMESPACE).expect("it was made");
        point.namespace = Some((made.revision, Rc::new(naive::thing(made))));
        point
    }
}

impl Point {
    pub(crate) fn after(&self, intent: Intent, cause: Cause) -> Self {
        let mut next = self.clone();
        next.commands += 1;
        let decided = decide(&self.state, command(next.commands, intent, cause));
        for commit in decided.expect("it is accepted").commits {
            invariants::check(&next.state, &commit).expect("no decision breaks an invariant");
            let previous = apply(&mut next.state, &commit);
            next.graph.apply(&Change { commit, previous });
        }
        next
    }

    /// The state as the naive world represents it.
    pub(crate) fn world(&self) -> World {
        naive::world_by(&self.state, |object| match &self.namespace {
            Some((revision, thing)) if *revision == object.revision => Thing::clone(thing),
            _ => naive::thing(object),
        })
    }

    pub(crate) fn build(&self, shape: &Shape) -> Self {
        let mut point = self.clone();
        for index in 0..shape.specials.len() {
            let (kind, namespace, name) = place(shape, index);
            let object = json!({"metadata": {"name": name}});
            point = point.after(naive::create(kind, namespace, object), Cause::Request);
        }
        let uids = point.uids(shape);
        for (index, special) in shape.specials.iter().enumerate() {
            let finalizers = match special {
                Special::Held | Special::DanglingHeld => vec![HOLD.to_owned()],
                Special::Orphans => vec!["orphan".to_owned()],
                Special::Waits => vec!["foregroundDeletion".to_owned()],
                _ => Vec::new(),
            };
            let change = json!({"metadata": {
                "ownerReferences": naive::references(&owners(shape, &uids, index)),
                "finalizers": naive::list(&finalizers),
            }});
            let (kind, namespace, name) = place(shape, index);
            let key = naive::key(kind, namespace, &name);
            point = point.after(naive::patch(key, change), Cause::Request);
        }
        point
    }

    pub(crate) fn uids(&self, shape: &Shape) -> Vec<String> {
        let uid = |index| {
            let (kind, namespace, name) = place(shape, index);
            let found = self.state.get(&naive::key(kind, namespace, &name));
            found.expect("it was made").meta.uid.to_string()
        };
        (0..shape.specials.len()).map(uid).collect()
    }

    /// Whether the deletion of an object was requested; `None` if the object does not exist.
    pub(crate) fn is_deleting(&self, shape: &Shape, index: usize) -> Option<bool> {
        let (kind, namespace, name) = place(shape, index);
        let object = self.state.get(&naive::key(kind, namespace, &name));
        object.map(|object| object.is_deleting())
    }

    /// The point after a request; panics unless the naive evaluator answers the request in the same
    /// way.
    pub(crate) fn asked(&self, shape: &Shape, index: usize, request: Request) -> Option<Self> {
        let (kind, namespace, name) = place(shape, index);
        let key = naive::key(kind, namespace, &name);
        let object = self.state.get(&key)?;
        let (uid, mut expected) = (object.meta.uid.as_str(), self.world());
        let intent = match request {
            Request::Delete(policy) => {
                expected.delete(uid, Some(policy));
                naive::delete(key, Some(policy))
            }
            Request::Release => {
                let mut finalizers = expected.get(uid)?.finalizers.clone();
                let held = finalizers.len();
                finalizers.retain(|one| one != HOLD);
                if finalizers.len() == held {
                    return None;
                }
                expected.set_finalizers(uid, &finalizers);
                let change = json!({"metadata": {"finalizers": naive::list(&finalizers)}});
                naive::patch(key, change)
            }
        };
        let next = self.after(intent, Cause::Request);
        expected.things.sort();
        assert_eq!(next.world(), expected, "{shape:?} {request:?} {index}");
        Some(next)
    }
}

/// A client's request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Request {
    Delete(Policy),
    /// Removes the client's finalizer.
    Release,
}

pub(crate) const EVERY_REQUEST: [Request; 4] = [
    Request::Delete(Policy::Background),
    Request::Delete(Policy::Foreground),
    Request::Delete(Policy::Orphan),
    Request::Release,
];

fn place(shape: &Shape, index: usize) -> (Kind, &'static str, String) {
    let name = format!("o{index}");
    if shape.specials[index].is_cluster() {
        (Kind::PriorityClass, "", name)
    } else {
        (Kind::ConfigMap, NAMESPACE, name)
    }
}

fn owners(shape: &Shape, uids: &[String], index: usize) -> Vec<Reference> {
    let edges = shape.edges[index].iter().enumerate();
    let mut owners: Vec<Reference> = edges
        .filter(|(_, edge)| **edge != Edge::None)
        .map(|(owner, edge)| {
            let (kind, _, name) = place(shape, owner);
            Reference {
                kind,
                name,
                uid: uids[owner].clone(),
                blocks: *edge == Edge::Blocks,
            }
        })
        .collect();
    let nobody = |kind, blocks| Reference {
        kind,
        name: "nobody".into(),
        uid: "made-up".into(),
        blocks,
    };
    match shape.specials[index] {
        Special::Dangling | Special::DanglingHeld => owners.push(nobody(Kind::ConfigMap, false)),
        Special::DanglingBlocks => owners.push(nobody(Kind::ConfigMap, true)),
        Special::ClusterDangling => owners.push(nobody(Kind::PriorityClass, false)),
        Special::Unresolvable | Special::ClusterUnresolvable => {
            owners.push(nobody(Kind::Unknown, false));
        }
        Special::None | Special::Held | Special::Cluster | Special::Orphans | Special::Waits => {}
    }
    owners
}
