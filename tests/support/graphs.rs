//! Explores all that can become of one small ownership graph: every request, at every moment, and
//! every order of the collector's steps. All orders must end in the same place, and the naive
//! evaluator must end there too, from every point on the way.

use crate::point::{EVERY_REQUEST, Point};
use crate::reference::{Thing, World};
use crate::rules;
use crate::shape::{
    CROSSED, EDGES, EVERYTHING, Edge, Family, POLICIES, SPECIALS, Shape, Special, permutations,
};
use crate::states::{self, Ends, Requests};
use hindsight_gc::due;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Mutex;
use std::thread;

const REQUESTS: usize = 2;
/// The most steps that the collector may take to come to rest; no graph of four objects needs as
/// many.
const STEPS_MAX: usize = 100;
/// The most states that are remembered from one graph to the next, some 500 bytes each.
const KNOWN_MAX: usize = 4_000_000;

/// How much was explored.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Graphs; those that differ only in their numbering count once.
    pub graphs: u64,
    /// Requests that were made.
    pub requests: u64,
    /// States that the collector was run from.
    pub states: u64,
    /// Steps that it took.
    pub steps: u64,
}

/// Where the collector comes to rest, by state.
type Rests = HashMap<World, Rc<Vec<Thing>>>;

/// Known states with fewer objects than their graph had: many graphs lead to the same ones.
#[derive(Debug, Default)]
struct Known(HashMap<World, Future>);

/// What is known of a state.
#[derive(Debug, Clone)]
struct Future {
    /// Where the collector comes to rest from it.
    rest: Rc<Vec<Thing>>,
    /// How many requests in a row were explored from it.
    asked: usize,
}

impl Known {
    /// Where a state comes to rest, if at least this many requests were explored from it.
    fn rest(&self, world: &World, asked: usize) -> Option<Rc<Vec<Thing>>> {
        let future = self.0.get(world)?;
        (future.asked >= asked).then(|| Rc::clone(&future.rest))
    }

    fn learn(&mut self, world: &World, rest: &Rc<Vec<Thing>>, asked: usize) {
        if self.0.len() < KNOWN_MAX {
            let rest = Rc::clone(rest);
            self.0.insert(world.clone(), Future { rest, asked });
        }
    }
}

/// The exploration of one graph.
struct Exploration<'a> {
    shape: &'a Shape,
    known: &'a mut Known,
    rests: Rests,
    /// States reached for the first time since the last requests.
    new: Vec<Point>,
    /// How many more requests in a row will be made.
    left: usize,
    counts: Counts,
}

impl Exploration<'_> {
    /// Where the collector comes to rest from a point; panics unless every order of its steps ends
    /// there.
    fn rest(&mut self, point: &Point, depth: usize) -> Rc<Vec<Thing>> {
        assert!(depth < STEPS_MAX, "it comes to no rest: {:?}", self.shape);
        let world = point.world();
        if let Some(rest) = self.rests.get(&world) {
            return Rc::clone(rest);
        }
        if let Some(rest) = self.known.rest(&world, self.left) {
            return rest;
        }
        let steps = due(&point.graph, &point.state);
        self.counts.states += 1;
        self.counts.steps += steps.len() as u64;
        let mut expected = world.clone();
        assert!(expected.settle(), "the naive evaluator comes to rest");
        let rest = Rc::new(expected.visible());
        if steps.is_empty() {
            assert_eq!(world.visible(), *rest, "{:?}", self.shape);
            assert_eq!(rules::check_at_rest(&world), Ok(()), "{:?}", self.shape);
        }
        for step in steps {
            let next = point.after(step.intent, step.cause);
            let other = self.rest(&next, depth + 1);
            assert_eq!(other, rest, "{:?} from {world:?}", self.shape);
        }
        // The namespace counts as one more object.
        if world.things.len() <= self.shape.specials.len() {
            self.known.learn(&world, &rest, self.left);
        }
        self.rests.insert(world, Rc::clone(&rest));
        self.new.push(point.clone());
        rest
    }

    /// Makes every request at every one of these points.
    fn ask(&mut self, points: &[Point]) {
        for point in points {
            for index in 0..self.shape.specials.len() {
                for request in EVERY_REQUEST {
                    if let Some(next) = point.asked(self.shape, index, request) {
                        self.counts.requests += 1;
                        self.rest(&next, 0);
                    }
                }
            }
        }
    }
}

/// How a graph is explored. Names, UIDs and the order of creation follow from the number of an
/// object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// All runs with two requests, in one numbering of the objects.
    Runs,
    /// The same in every numbering; all numberings must end in the same place but for the numbers.
    Numberings,
    /// Every state by itself, and every request in it.
    States,
    /// The same, but only with those requests that lead to the states.
    StatesAlone,
}

/// What is remembered from one graph to the next.
#[derive(Debug, Default)]
struct Memory {
    known: Known,
    ends: Ends,
}

/// Explores a graph that is built in `empty`; panics if two orders of steps, or two numberings, end
/// in different places.
fn explore(empty: &Point, shape: &Shape, look: Look, memory: &mut Memory) -> Counts {
    let ends = &mut memory.ends;
    match look {
        Look::Runs => explore_one(empty, shape, &mut memory.known).1,
        Look::Numberings => explore_all_numberings(empty, shape),
        Look::States => states::explore(empty, shape, Requests::All, ends),
        Look::StatesAlone => states::explore(empty, shape, Requests::Few, ends),
    }
}

fn explore_all_numberings(empty: &Point, shape: &Shape) -> Counts {
    let mut counts = Counts::default();
    let mut rests: BTreeMap<World, World> = BTreeMap::new();
    for order in &permutations(shape.specials.len()) {
        let numbered = shape.renumbered(order);
        let (found, more) = explore_one(empty, &numbered, &mut Known::default());
        counts.add(&more);
        let uids = empty.build(&numbered).uids(&numbered);
        for (from, rest) in BTreeMap::from_iter(found) {
            let things = rest.to_vec();
            let rest = with_numbers(&World { things }, &uids, order);
            let from = with_numbers(&from, &uids, order);
            let other = rests.entry(from.clone()).or_insert_with(|| rest.clone());
            assert_eq!(*other, rest, "{shape:?} as {order:?} from {from:?}");
        }
    }
    counts.graphs = 1;
    counts
}

/// The world, with its objects renamed to their original numbers.
fn with_numbers(world: &World, uids: &[String], order: &[usize]) -> World {
    let first = |uid: &String| {
        let index = uids.iter().position(|one| one == uid)?;
        Some(format!("o{}", order[index]))
    };
    let mut things = world.things.clone();
    for thing in &mut things {
        if let Some(name) = first(&thing.uid) {
            thing.uid.clone_from(&name);
            thing.name = name;
        }
        for owner in &mut thing.owners {
            if let Some(name) = first(&owner.uid) {
                owner.uid.clone_from(&name);
                owner.name = name;
            }
        }
        thing.owners.sort();
    }
    things.sort();
    World { things }
}

fn explore_one(empty: &Point, shape: &Shape, known: &mut Known) -> (Rests, Counts) {
    let mut exploration = Exploration {
        shape,
        known,
        rests: Rests::new(),
        new: Vec::new(),
        left: REQUESTS,
        counts: Counts::default(),
    };
    exploration.counts.graphs = 1;
    exploration.rest(&empty.build(shape), 0);
    while exploration.left > 0 {
        exploration.left -= 1;
        let points = std::mem::take(&mut exploration.new);
        exploration.ask(&points);
    }
    (exploration.rests, exploration.counts)
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            graphs,
            requests,
            states,
            steps,
        } = self;
        write!(
            f,
            "{graphs} graphs, {requests} requests, {states} states, {steps} steps"
        )
    }
}

impl Counts {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.graphs += other.graphs;
        self.requests += other.requests;
        self.states += other.states;
        self.steps += other.steps;
    }
}

/// Explores the graphs of a family with the numbers from `from` to `until`, every `stride`th, with
/// the work shared among the processors.
pub fn explore_all(family: Family, look: Look, (from, until): (u64, u64), stride: usize) -> Counts {
    let until = until.min(family.count());
    share((from..until).step_by(stride), |numbers| {
        let empty = Point::default();
        let (mut counts, mut memory) = (Counts::default(), Memory::default());
        for shape in numbers.filter_map(|number| family.nth(number)) {
            counts.add(&explore(&empty, &shape, look, &mut memory));
        }
        counts
    })
}

/// Shares numbers among the processors, and adds up what each counts.
pub(crate) fn share(
    numbers: impl Iterator<Item = u64> + Send,
    part: impl Fn(&mut dyn Iterator<Item = u64>) -> Counts + Sync,
) -> Counts {
    let numbers = Mutex::new(numbers);
    let next = || numbers.lock().expect("no thread panics").next();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let run = || part(&mut std::iter::from_fn(next));
        let parts: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let mut counts = Counts::default();
        for part in parts {
            counts.add(&part.join().expect("no graph ends in two places"));
        }
        counts
    })
}

/// All graphs of this many objects.
pub const fn of(objects: usize) -> Family {
    with_edges(objects, SPECIALS)
}

const fn with_edges(objects: usize, specials: &'static [Special]) -> Family {
    Family {
        objects,
        edges: EDGES,
        specials,
    }
}

/// All graphs of two objects that may have deletion policies of their own.
pub const TWO_WITH_POLICIES: Family = with_edges(2, POLICIES);

/// All graphs of two objects, each of which may be two special things at once.
pub const TWO_CROSSED: Family = with_edges(2, CROSSED);

/// All graphs of two objects, each of which may be any special thing.
pub const TWO_OF_EVERYTHING: Family = with_edges(2, EVERYTHING);

/// Graphs of four objects in which nothing is special.
pub const FOUR_OF_EDGES: Family = with_edges(4, &[Special::None]);

/// Graphs of four objects in which nothing is special and every reference blocks.
pub const PLAIN_FOUR: Family = four_that_block(&[Special::None]);

/// Graphs of four objects in which every reference blocks.
pub const FOUR_THAT_BLOCK: Family = four_that_block(SPECIALS);

const fn four_that_block(specials: &'static [Special]) -> Family {
    Family {
        objects: 4,
        edges: &[Edge::None, Edge::Blocks],
        specials,
    }
}
