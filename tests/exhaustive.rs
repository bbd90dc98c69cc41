//! Every small ownership graph, every deletion or two, every order of the collector's steps: all of
//! them end in the same place, and the naive evaluator ends there too.
//!
//! `HINDSIGHT_OBJECTS` (3) sets how large the graphs are, `HINDSIGHT_FIRST` (0) with which graph
//! to begin, `HINDSIGHT_STRIDE` how many to step over between two that are looked at.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{Cause, Change, Intent, State, apply, builtin, decide, invariants};
use hindsight_gc::due;
use hindsight_projector::OwnershipGraph;
use hindsight_tests::dice::number;
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy, Reference, World};
use hindsight_tests::world::command;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

const NAMESPACE: &str = "n1";
const POLICIES: [Policy; 3] = [Policy::Background, Policy::Foreground, Policy::Orphan];

/// Who refers to whom, and what else is special about each object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// `edges[i][j]`: 0 for none, 1 for a reference of `i` to `j`, 2 for a blocking one.
    edges: Vec<Vec<usize>>,
    specials: Vec<Special>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Special {
    None,
    /// A finalizer of somebody else.
    Held,
    /// Refers to a uid that never existed, too.
    Dangling,
    /// Cluster-scoped.
    Cluster,
}

const SPECIALS: [Special; 4] = [
    Special::None,
    Special::Held,
    Special::Dangling,
    Special::Cluster,
];

impl Shape {
    /// The shape with this number, of this many objects.
    fn nth(objects: usize, mut number: u64) -> Self {
        let mut digit = |base: u64| {
            let digit = number % base;
            number /= base;
            usize::try_from(digit).expect("small")
        };
        let mut row = || (0..objects).map(|_| digit(3)).collect();
        let edges = (0..objects).map(|_| row()).collect();
        let specials = (0..objects).map(|_| SPECIALS[digit(4)]).collect();
        Self { edges, specials }
    }

    fn count(objects: usize) -> u64 {
        let objects = u32::try_from(objects).expect("small");
        3_u64.pow(objects * objects) * 4_u64.pow(objects)
    }

    /// Whether no renumbering of the objects comes before it: one of each class is enough.
    fn is_canonical(&self) -> bool {
        permutations(self.specials.len()).iter().all(|order| {
            let edges = order
                .iter()
                .map(|i| order.iter().map(|j| self.edges[*i][*j]).collect());
            let specials = order.iter().map(|i| self.specials[*i]);
            let other = Self {
                edges: edges.collect(),
                specials: specials.collect(),
            };
            *self <= other
        })
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(vec![Vec::new()], |found, next| {
        let insert = |order: Vec<usize>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, next);
                order
            })
        };
        found.into_iter().flat_map(insert).collect()
    })
}

/// A point in a run.
#[derive(Clone)]
struct Point {
    state: State,
    graph: OwnershipGraph,
    commands: u64,
}

impl Point {
    fn new() -> Self {
        let state = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
        let graph = OwnershipGraph::rebuild(&state);
        let empty = Self {
            state,
            graph,
            commands: 0,
        };
        empty.after(naive::create_namespace(NAMESPACE), Cause::Request)
    }

    fn after(&self, intent: Intent, cause: Cause) -> Self {
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

    fn build(&self, shape: &Shape) -> Self {
        let mut point = self.clone();
        for index in 0..shape.specials.len() {
            let (kind, namespace, name) = place(shape, index);
            let object = json!({"metadata": {"name": name}});
            point = point.after(naive::create(kind, namespace, object), Cause::Request);
        }
        let uids = point.uids(shape);
        for (index, special) in shape.specials.iter().enumerate() {
            let finalizers = match special {
                Special::Held => vec!["x/hold".to_owned()],
                Special::None | Special::Dangling | Special::Cluster => Vec::new(),
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

    fn uids(&self, shape: &Shape) -> Vec<String> {
        let uid = |index| {
            let (kind, namespace, name) = place(shape, index);
            let found = self.state.get(&naive::key(kind, namespace, &name));
            found.expect("it was made").meta.uid.to_string()
        };
        (0..shape.specials.len()).map(uid).collect()
    }
}

fn place(shape: &Shape, index: usize) -> (Kind, &'static str, String) {
    let name = format!("o{index}");
    match shape.specials[index] {
        Special::Cluster => (Kind::PriorityClass, "", name),
        Special::None | Special::Held | Special::Dangling => (Kind::ConfigMap, NAMESPACE, name),
    }
}

fn owners(shape: &Shape, uids: &[String], index: usize) -> Vec<Reference> {
    let edges = shape.edges[index].iter().enumerate();
    let mut owners: Vec<Reference> = edges
        .filter(|(_, edge)| **edge > 0)
        .map(|(owner, edge)| {
            let (kind, _, name) = place(shape, owner);
            Reference {
                kind,
                name,
                uid: uids[owner].clone(),
                blocks: *edge == 2,
            }
        })
        .collect();
    if shape.specials[index] == Special::Dangling {
        owners.push(Reference {
            kind: Kind::ConfigMap,
            name: "nobody".into(),
            uid: "made-up".into(),
            blocks: false,
        });
    }
    owners
}

#[derive(Default)]
struct Counts {
    shapes: u64,
    runs: u64,
    states: u64,
}

/// Every order of the collector's steps from here.
fn explore(from: Point, expected: &World, counts: &mut Counts, context: &dyn Fn() -> String) {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(point) = open.pop() {
        let world = naive::world(&point.state);
        if !seen.insert(world.clone()) {
            continue;
        }
        let steps = due(&point.graph, &point.state);
        if steps.is_empty() {
            assert_eq!(world.visible(), expected.visible(), "{}", context());
        }
        for step in steps {
            open.push(point.after(step.intent, step.cause));
        }
    }
    counts.runs += 1;
    counts.states += seen.len() as u64;
}

/// Requests in this order, before the collector has looked at anything.
fn run(built: &Point, shape: &Shape, requests: &[(usize, Policy)], counts: &mut Counts) {
    let mut point = built.clone();
    let mut expected = naive::world(&built.state);
    for (index, policy) in requests {
        let (kind, namespace, name) = place(shape, *index);
        let key = naive::key(kind, namespace, &name);
        let Some(object) = point.state.get(&key) else {
            return;
        };
        expected.delete(object.meta.uid.as_str(), Some(*policy));
        point = point.after(naive::delete(key, Some(*policy)), Cause::Request);
    }
    assert!(expected.settle(), "the naive evaluator comes to rest");
    let context = || format!("{shape:?} {requests:?}");
    explore(point, &expected, counts, &context);
}

fn every_request(empty: &Point, shape: &Shape, counts: &mut Counts) {
    let built = empty.build(shape);
    let deletes: Vec<(usize, Policy)> = (0..shape.specials.len())
        .flat_map(|index| POLICIES.map(|policy| (index, policy)))
        .collect();
    counts.shapes += 1;
    run(&built, shape, &[], counts);
    for first in &deletes {
        run(&built, shape, &[*first], counts);
        for second in &deletes {
            run(&built, shape, &[*first, *second], counts);
        }
    }
}

#[test]
fn every_order_of_steps_ends_in_one_place() {
    let largest = usize::try_from(number("HINDSIGHT_OBJECTS", 3)).expect("small");
    let first = number("HINDSIGHT_FIRST", 0);
    // All graphs of two objects; of the larger ones so many that the tests stay short.
    let stride = number("HINDSIGHT_STRIDE", 401);
    let empty = Point::new();
    let mut counts = Counts::default();
    for objects in 1..=largest {
        let step = if objects <= 2 { 1 } else { stride };
        let mut index = first;
        while index < Shape::count(objects) {
            let shape = Shape::nth(objects, index);
            if shape.is_canonical() {
                every_request(&empty, &shape, &mut counts);
            }
            index += step;
        }
    }
    println!(
        "{} graphs of up to {largest} objects, {} runs, {} states visited",
        counts.shapes, counts.runs, counts.states
    );
}
