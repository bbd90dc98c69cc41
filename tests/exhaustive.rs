//! Every small ownership graph, every two requests, the second at every moment, every order of the
//! collector's steps: all of them end in the same place, and from every point on the way the naive
//! evaluator ends there too.
//!
//! `HINDSIGHT_STRIDE` sets how many graphs are stepped over between two that are looked at, where
//! there are too many for all; 1 takes all of up to three objects, and of four objects those in
//! which nothing is special and every reference blocks. `HINDSIGHT_FOUR` is the stride over all the
//! others of four objects (0, the default, leaves them out).
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test tells what it saw, and stops where its ground is not what it expects"
)]

use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{Cause, Change, Intent, State, apply, builtin, decide, invariants};
use hindsight_gc::due;
use hindsight_projector::OwnershipGraph;
use hindsight_tests::dice::number;
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy, Reference, Thing, World};
use hindsight_tests::shape::{EDGES, Edge, Family, SPECIALS, Shape, Special};
use hindsight_tests::world::command;
use serde_json::json;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

/// A third of the time is memory otherwise.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NAMESPACE: &str = "n1";
const POLICIES: [Policy; 3] = [Policy::Background, Policy::Foreground, Policy::Orphan];
/// Of somebody else.
const HOLD: &str = "x/hold";
const REQUESTS: usize = 2;
/// The collector's steps to rest; no graph of four objects needs so many.
const STEPS_MAX: usize = 100;

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
                Special::Held => vec![HOLD.to_owned()],
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
        _ => (Kind::ConfigMap, NAMESPACE, name),
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
    let nobody = |kind| Reference {
        kind,
        name: "nobody".into(),
        uid: "made-up".into(),
        blocks: false,
    };
    match shape.specials[index] {
        Special::Dangling => owners.push(nobody(Kind::ConfigMap)),
        Special::Unresolvable => owners.push(nobody(Kind::Unknown)),
        Special::None | Special::Held | Special::Cluster => {}
    }
    owners
}

/// What a client asks for.
#[derive(Debug, Clone, Copy)]
enum Request {
    Delete(Policy),
    /// Somebody else's finalizer is taken away.
    Release,
}

const EVERY_REQUEST: [Request; 4] = [
    Request::Delete(POLICIES[0]),
    Request::Delete(POLICIES[1]),
    Request::Delete(POLICIES[2]),
    Request::Release,
];

#[derive(Debug, Default)]
struct Counts {
    graphs: u64,
    requests: u64,
    states: u64,
    steps: u64,
}

/// All that can become of one graph.
struct Future<'a> {
    shape: &'a Shape,
    /// Where the collector comes to rest from each state.
    rests: BTreeMap<World, Rc<Vec<Thing>>>,
    /// States that were not there before.
    new: Vec<Point>,
    counts: Counts,
}

impl Future<'_> {
    /// Where every order of the collector's steps ends.
    fn rest(&mut self, point: &Point, depth: usize) -> Rc<Vec<Thing>> {
        assert!(depth < STEPS_MAX, "it comes to no rest: {:?}", self.shape);
        let world = naive::world(&point.state);
        if let Some(rest) = self.rests.get(&world) {
            return Rc::clone(rest);
        }
        let steps = due(&point.graph, &point.state);
        self.counts.states += 1;
        self.counts.steps += steps.len() as u64;
        let mut expected = world.clone();
        assert!(expected.settle(), "the naive evaluator comes to rest");
        let rest = Rc::new(expected.visible());
        if steps.is_empty() {
            assert_eq!(world.visible(), *rest, "{:?}", self.shape);
        }
        for step in steps {
            let next = point.after(step.intent, step.cause);
            let other = self.rest(&next, depth + 1);
            assert_eq!(other, rest, "{:?} from {world:?}", self.shape);
        }
        self.rests.insert(world, Rc::clone(&rest));
        self.new.push(point.clone());
        rest
    }

    /// Every request, at every one of these points.
    fn ask(&mut self, points: &[Point]) {
        for point in points {
            for index in 0..self.shape.specials.len() {
                for request in EVERY_REQUEST {
                    if let Some(next) = self.asked(point, index, request) {
                        self.counts.requests += 1;
                        self.rest(&next, 0);
                    }
                }
            }
        }
    }

    /// The point after a request, which the naive evaluator answers in the same way.
    fn asked(&self, point: &Point, index: usize, request: Request) -> Option<Point> {
        let (kind, namespace, name) = place(self.shape, index);
        let key = naive::key(kind, namespace, &name);
        let object = point.state.get(&key)?;
        let (uid, mut expected) = (object.meta.uid.as_str(), naive::world(&point.state));
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
        let next = point.after(intent, Cause::Request);
        expected.things.sort();
        let shape = self.shape;
        assert_eq!(
            naive::world(&next.state),
            expected,
            "{shape:?} {request:?} {index}"
        );
        Some(next)
    }
}

fn explore(empty: &Point, shape: &Shape) -> Counts {
    let mut future = Future {
        shape,
        rests: BTreeMap::new(),
        new: Vec::new(),
        counts: Counts::default(),
    };
    future.counts.graphs = 1;
    future.rest(&empty.build(shape), 0);
    for _ in 0..REQUESTS {
        let points = std::mem::take(&mut future.new);
        future.ask(&points);
    }
    future.counts
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.graphs += other.graphs;
        self.requests += other.requests;
        self.states += other.states;
        self.steps += other.steps;
    }
}

/// Graphs of a family, the work shared among the processors.
fn every(family: Family, stride: u64) -> Counts {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = |first: u64| {
        let empty = Point::new();
        let mut counts = Counts::default();
        let mut number = first * stride;
        while number < family.count() {
            if let Some(shape) = family.nth(number) {
                counts.add(&explore(&empty, &shape));
            }
            number += stride * threads;
        }
        counts
    };
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || part(first)))
            .collect();
        let mut counts = Counts::default();
        for part in parts {
            counts.add(&part.join().expect("no graph ends in two places"));
        }
        counts
    })
}

fn tell(what: &str, counts: &Counts) {
    let Counts {
        graphs,
        requests,
        states,
        steps,
    } = counts;
    assert!(*graphs > 0, "nothing was looked at");
    println!("{what}: {graphs} graphs, {requests} requests, {states} states, {steps} steps");
}

const fn of(objects: usize) -> Family {
    Family {
        objects,
        edges: EDGES,
        specials: SPECIALS,
    }
}

#[test]
fn every_order_of_steps_ends_in_one_place() {
    let stride = number("HINDSIGHT_STRIDE", 997);
    tell("1 object", &every(of(1), 1));
    tell("2 objects", &every(of(2), 1));
    tell("3 objects", &every(of(3), stride));
    let plain = Family {
        objects: 4,
        edges: &[Edge::None, Edge::Blocks],
        specials: &[Special::None],
    };
    tell("4 objects, nothing special", &every(plain, stride));
    let four = number("HINDSIGHT_FOUR", 0);
    if four > 0 {
        tell("4 objects", &every(of(4), four));
    }
}
