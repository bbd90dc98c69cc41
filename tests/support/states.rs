//! Explores every state that a small ownership graph can reach, each by itself. Suppose that from
//! each state every step leads to a smaller one, from which the naive evaluator ends in the same
//! place, and that the evaluator has nothing to do where no step is due. Then every order of steps
//! ends where the evaluator does, after any number of requests at any moments. See
//! docs/decisions/0026-every-state-by-itself.md.

use crate::graphs::Counts;
use crate::packed::{self, Packed};
use crate::point::{EVERY_REQUEST, Point};
use crate::reference::{Thing, World};
use crate::rules;
use crate::shape::{Edge, Shape, Special};
use hindsight_core::command::{Collect, Intent, Target};
use hindsight_gc::{Step, due};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// The most steps that the naive evaluator may take; no graph of four objects needs as many.
const STEPS_MAX: usize = 100;
/// The most states whose ends are remembered, some 40 bytes each.
const KNOWN_MAX: usize = 8_000_000;

/// A hash that stands for a world; no two worlds of a graph are expected to share one.
type Fingerprint = u64;

/// Where the naive evaluator ends from each world.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    hasher: RandomState,
    known: HashMap<Fingerprint, Fingerprint>,
}

impl Ends {
    fn fingerprint<T: Hash>(&self, of: &T) -> Fingerprint {
        self.hasher.hash_one(of)
    }

    /// Where the naive evaluator ends from this world.
    fn of(&mut self, mut world: World) -> Fingerprint {
        let mut way = Vec::new();
        let mut here = self.fingerprint(&world);
        let end = loop {
            if let Some(end) = self.known.get(&here) {
                break *end;
            }
            way.push(here);
            assert!(way.len() < STEPS_MAX, "it comes to no rest: {world:?}");
            if !world.step() {
                break here;
            }
            here = self.fingerprint(&world);
        };
        if self.known.len() + way.len() > KNOWN_MAX {
            self.known.clear();
        }
        self.known.extend(way.into_iter().map(|here| (here, end)));
        end
    }
}

/// The exploration of all states of one graph.
struct States<'a> {
    shape: &'a Shape,
    requests: Requests,
    ends: &'a mut Ends,
    /// The steps due in each world, which must not depend on how the world was reached.
    due: HashMap<Fingerprint, Fingerprint>,
    counts: Counts,
}

/// Which requests are made in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    /// Those that lead to the next state.
    Few,
    /// Everything.
    All,
}

/// Explores all states of the graph except those that belong to others: with an object less, unless
/// nobody owned it and nothing was special about it, or with a reference less.
pub(crate) fn explore(empty: &Point, shape: &Shape, requests: Requests, ends: &mut Ends) -> Counts {
    let mut states = States {
        shape,
        requests,
        ends,
        due: HashMap::new(),
        counts: Counts::default(),
    };
    states.counts.graphs = 1;
    states.walk(&empty.build(shape), 0);
    states.counts
}

impl States<'_> {
    /// Explores this state, and those reached by further requests on the objects from `first` on.
    fn walk(&mut self, point: &Point, first: usize) {
        self.check_steps(point);
        let asked = if self.requests == Requests::All {
            0
        } else {
            first
        };
        for index in asked..self.shape.specials.len() {
            for request in EVERY_REQUEST {
                let Some(next) = point.asked(self.shape, index, request) else {
                    continue;
                };
                self.counts.requests += 1;
                if index >= first && self.is_first_deletion(point, &next, index) {
                    self.walk(&next, index + 1);
                }
            }
        }
    }

    /// Whether the request first deletes the object, and leads to a state that still belongs to this
    /// graph.
    fn is_first_deletion(&self, point: &Point, next: &Point, index: usize) -> bool {
        let lives = |point: &Point| point.is_deleting(self.shape, index);
        let plain = matches!(self.shape.specials[index], Special::None | Special::Cluster)
            && self.shape.edges[index]
                .iter()
                .all(|edge| *edge == Edge::None);
        match (lives(point), lives(next)) {
            (Some(false), None) => plain,
            (Some(false), Some(deleting)) => deleting,
            (Some(true) | None, _) => false,
        }
    }

    /// Takes every due step by itself, and checks where it leads.
    fn check_steps(&mut self, point: &Point) {
        let world = point.world();
        let steps = self.due(point, &world);
        let end = self.ends.of(world.clone());
        self.counts.states += 1;
        self.counts.steps += steps.len() as u64;
        if steps.is_empty() {
            assert_eq!(
                self.ends.fingerprint(&world),
                end,
                "{world:?} is not at rest"
            );
            assert_eq!(rules::check_at_rest(&world), Ok(()), "{:?}", self.shape);
        }
        let mut afters = Vec::new();
        for step in steps {
            let next = point.after(step.intent, step.cause);
            let after = next.world();
            afters.push(self.packed(&after).world(0));
            if self.requests == Requests::All {
                self.due(&next, &after);
            }
            assert!(size(&after) < size(&world), "{world:?} grows to {after:?}");
            let same = self.ends.of(after.clone()) == end;
            assert!(same, "{world:?} and {after:?} end in two places");
        }
        afters.sort_unstable();
        let packed = self.packed_steps(&world);
        assert_eq!(
            packed, afters,
            "the packed collector does something else in {world:?}"
        );
    }

    fn packed(&self, world: &World) -> Packed {
        let is_cluster = |one: &Special| one.is_cluster();
        let scope = |one: usize| self.shape.specials.get(one).is_some_and(is_cluster);
        Packed::of(world, std::array::from_fn(scope))
    }

    /// Where each step of a packed collector leads, in order.
    fn packed_steps(&self, world: &World) -> Vec<u64> {
        let packed = self.packed(world);
        let due = packed.due();
        let after = |step: packed::Step| {
            let mut next = packed.clone();
            next.take(step, &due);
            next.world(0)
        };
        let is_due = |step: &packed::Step| due.of(*step).has(0);
        let mut found: Vec<_> = packed::Step::all()
            .into_iter()
            .filter(is_due)
            .map(after)
            .collect();
        found.sort_unstable();
        found
    }

    /// The steps that are due; panics if they depend on anything but the world itself.
    fn due(&mut self, point: &Point, world: &World) -> Vec<Step> {
        let steps = due(&point.graph, &point.state);
        let mut effects: Vec<_> = steps.iter().map(|step| effect_of(&step.intent)).collect();
        effects.sort();
        let (world, effects) = (
            self.ends.fingerprint(world),
            self.ends.fingerprint(&effects),
        );
        let first = *self.due.entry(world).or_insert(effects);
        assert_eq!(first, effects, "{:?}: {steps:?}", self.shape);
        steps
    }
}

/// What a step does to which objects. Revisions are left out, because they differ on each way.
fn effect_of(intent: &Intent) -> (&'static str, Vec<String>) {
    let uids = |targets: &[Target]| -> Vec<String> {
        let uids = targets.iter().filter_map(|one| one.uid.as_ref());
        uids.map(ToString::to_string).collect()
    };
    let one = |target: &Target| uids(std::slice::from_ref(target));
    match intent {
        Intent::Delete(delete) => {
            let policy = format!("{:?}", delete.propagation);
            ("delete", [one(&delete.target), vec![policy]].concat())
        }
        Intent::Collect(Collect::DropOwners(drop)) => {
            let owners = drop.owners.iter().map(|one| one.uid.to_string());
            (
                "drop",
                one(&drop.dependent).into_iter().chain(owners).collect(),
            )
        }
        Intent::Collect(Collect::Unblock(intent)) => ("unblock", one(&intent.dependent)),
        Intent::Collect(Collect::Release(release)) => {
            let finalizer = release.finalizer.name().to_owned();
            ("release", [one(&release.owner), vec![finalizer]].concat())
        }
        Intent::Collect(Collect::BreakDeadlock(deadlock)) => ("break", uids(&deadlock.members)),
        other => panic!("no step of the collector: {other:?}"),
    }
}

/// A measure that every step makes smaller, compared in this order: objects, live objects, finalizers
/// and references, and blocking references.
fn size(world: &World) -> (usize, usize, usize, usize) {
    let things = &world.things;
    let sum = |of: fn(&Thing) -> usize| things.iter().map(of).sum::<usize>();
    let blocks = |one: &Thing| one.owners.iter().filter(|owner| owner.blocks).count();
    (
        things.len(),
        things.iter().filter(|one| !one.deleting).count(),
        sum(|one| one.finalizers.len() + one.owners.len()),
        sum(blocks),
    )
}
