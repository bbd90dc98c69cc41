//! Every state that a small ownership graph can come to, each by itself. Where from each of them every
//! step leads to a smaller one, from which the naive evaluator ends in the same place, and it has nothing
//! to do where no step is due, then every order of steps ends where it says: after any number of
//! requests, at any moments. See docs/decisions/0026-every-state-by-itself.md.

use crate::graphs::Counts;
use crate::point::{EVERY_REQUEST, Point};
use crate::reference::{Thing, World};
use crate::rules;
use crate::shape::{Edge, Shape, Special};
use hindsight_core::command::{Intent, Target};
use hindsight_gc::{Step, due};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// Steps of the naive evaluator; no graph of four objects needs so many.
const STEPS_MAX: usize = 100;
/// States of which it is remembered where they end, some 40 bytes each.
const KNOWN_MAX: usize = 8_000_000;

/// Stands for a world; of the worlds of a graph no two have the same.
type Print = u64;

/// Where worlds end.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    hasher: RandomState,
    known: HashMap<Print, Print>,
}

impl Ends {
    fn print<T: Hash>(&self, of: &T) -> Print {
        self.hasher.hash_one(of)
    }

    /// Where the naive evaluator ends.
    fn of(&mut self, mut world: World) -> Print {
        let mut way = Vec::new();
        let mut here = self.print(&world);
        let end = loop {
            if let Some(end) = self.known.get(&here) {
                break *end;
            }
            way.push(here);
            assert!(way.len() < STEPS_MAX, "it comes to no rest: {world:?}");
            if !world.step() {
                break here;
            }
            here = self.print(&world);
        };
        if self.known.len() + way.len() > KNOWN_MAX {
            self.known.clear();
        }
        self.known.extend(way.into_iter().map(|here| (here, end)));
        end
    }
}

/// All states that a graph can come to.
struct States<'a> {
    shape: &'a Shape,
    requests: Requests,
    ends: &'a mut Ends,
    /// What is due in each world, however it was come to.
    due: HashMap<Print, Print>,
    counts: Counts,
}

/// What is asked in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    /// What leads to the next state.
    Few,
    /// Everything.
    All,
}

/// Looks at all states in which the graph can be, but those of others: with an object less, unless
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
    /// This state, and those in which more is asked of the objects from `first` on.
    fn walk(&mut self, point: &Point, first: usize) {
        self.look(point);
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
                if index >= first && self.is_one_more(point, &next, index) {
                    self.walk(&next, index + 1);
                }
            }
        }
    }

    /// Whether the object was not asked to go before, and this is still a state of the graph.
    fn is_one_more(&self, point: &Point, next: &Point, index: usize) -> bool {
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

    /// Every step that is due, alone.
    fn look(&mut self, point: &Point) {
        let world = point.world();
        let steps = self.due(point, &world);
        let end = self.ends.of(world.clone());
        self.counts.states += 1;
        self.counts.steps += steps.len() as u64;
        if steps.is_empty() {
            assert_eq!(self.ends.print(&world), end, "{world:?} is not at rest");
            assert_eq!(rules::at_rest(&world), Ok(()), "{:?}", self.shape);
        }
        for step in steps {
            let next = point.after(step.intent, step.cause);
            let after = next.world();
            if self.requests == Requests::All {
                self.due(&next, &after);
            }
            assert!(size(&after) < size(&world), "{world:?} grows to {after:?}");
            let same = self.ends.of(after.clone()) == end;
            assert!(same, "{world:?} and {after:?} end in two places");
        }
    }

    /// The steps that are due, which nothing but the world itself has a part in.
    fn due(&mut self, point: &Point, world: &World) -> Vec<Step> {
        let steps = due(&point.graph, &point.state);
        let mut told: Vec<_> = steps.iter().map(|step| told(&step.intent)).collect();
        told.sort();
        let (world, told) = (self.ends.print(world), self.ends.print(&told));
        let first = *self.due.entry(world).or_insert(told);
        assert_eq!(first, told, "{:?}: {steps:?}", self.shape);
        steps
    }
}

/// Whom a step acts on, and how; revisions left out, which are different on each way.
fn told(intent: &Intent) -> (&'static str, Vec<String>) {
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
        Intent::DropOwners(drop) => {
            let owners = drop.owners.iter().map(|one| one.uid.to_string());
            (
                "drop",
                one(&drop.dependent).into_iter().chain(owners).collect(),
            )
        }
        Intent::Unblock(target) => ("unblock", one(target)),
        Intent::Release(release) => {
            let finalizer = release.finalizer.to_string();
            ("release", [one(&release.owner), vec![finalizer]].concat())
        }
        Intent::Untie(knot) => ("untie", uids(&knot.members)),
        other => panic!("no step of the collector: {other:?}"),
    }
}

/// What every step makes less of, the first first: objects, those that live, what holds them, what they
/// block.
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
