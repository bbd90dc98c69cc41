//! Looks at every state of the graphs of a family. Of each state it is checked that
//! - a step that is due stays due, and does the same, after every other step that is due, and two of
//!   them write one object only if both take references from it. So they commute;
//! - what holds at rest holds where nothing is due.
//!
//! Every step makes a world smaller, so by Newman's lemma all orders of steps end in one place.

use super::family::{Extra, Family, Graphs, Group, Relation, Traits, has};
use super::{Due, LANES, Lanes, OBJECTS, Packed, Step};
use crate::graphs::{Counts, share};
use std::fmt::Display;

/// In which way the deletion of an object was requested: not at all, background, foreground, orphan.
type Fates = [Lanes; 4];

/// How the states of some graphs are laid out: all states of the first, then those of the next.
struct Layout {
    fates: [Fates; OBJECTS],
    /// The lanes of each graph.
    graphs: Vec<Lanes>,
}

impl Layout {
    /// For objects with these numbers of fates, of which the second is only for those with four.
    fn new(fates: [usize; OBJECTS]) -> Self {
        let states: usize = fates.iter().product();
        let count = LANES / states;
        let fate = |lane: usize, object: usize| {
            let before: usize = fates[..object].iter().product();
            match (lane % states / before % fates[object], fates[object]) {
                (0, _) => 0,
                (fate, 3) => fate + 1,
                (fate, _) => fate,
            }
        };
        let of = |object: usize, one: usize| {
            Lanes::of((0..states * count).filter(|lane| fate(*lane, object) == one))
        };
        Self {
            fates: std::array::from_fn(|object| std::array::from_fn(|one| of(object, one))),
            graphs: (0..count)
                .map(|graph| Lanes::of(graph * states..(graph + 1) * states))
                .collect(),
        }
    }
}

/// Everything that is the same for all graphs.
struct Sweep {
    /// By the objects that have four fates, a bit for each.
    layouts: Vec<Layout>,
    steps: Vec<Step>,
}

impl Sweep {
    fn new(objects: usize) -> Self {
        let fates = |four: usize, one: usize| {
            if one < objects {
                3 + (four >> one & 1)
            } else {
                1
            }
        };
        let layouts = (0..1_usize << objects)
            .map(|four| Layout::new(std::array::from_fn(|one| fates(four, one))));
        Self {
            layouts: layouts.collect(),
            steps: Step::all(),
        }
    }

    /// Looks at all graphs of a class.
    fn look(&self, group: &Group, owners: Relation) -> Counts {
        let four = group.traits.iter().enumerate();
        let four = four.map(|(one, traits)| usize::from(can_go(*traits, owners, one)) << one);
        let layout = &self.layouts[four.sum::<usize>()];
        let mut counts = Counts::default();
        let mut blocking: Vec<Relation> = Vec::new();
        let mut graphs = group.blocking(owners).peekable();
        while let Some(next) = graphs.next() {
            blocking.push(next);
            if blocking.len() == layout.graphs.len() || graphs.peek().is_none() {
                let (worlds, lanes) = lay_out(group, owners, &blocking, layout);
                counts.graphs += blocking.len() as u64;
                counts.add(&self.check(&worlds, lanes));
                blocking.clear();
            }
        }
        counts
    }

    fn check(&self, worlds: &Packed, lanes: Lanes) -> Counts {
        let due = worlds.due();
        refuse(worlds, lanes & due.collisions(), &"two steps on one object");
        let mut idle = lanes;
        let mut counts = Counts {
            states: lanes.count(),
            ..Counts::default()
        };
        for step in &self.steps {
            let at = due.of(*step) & lanes;
            if at.is_any() {
                counts.steps += at.count();
                idle = idle.without(at);
                Self::check_step(worlds, &due, *step, at);
            }
        }
        refuse(
            worlds,
            idle & worlds.unrest(),
            &"nothing is due, but it is not at rest",
        );
        counts
    }

    fn check_step(worlds: &Packed, due: &Due, step: Step, at: Lanes) {
        let mut next = worlds.clone();
        next.take(step, due);
        let disturbed = at & due.disturbed(step, &next.due());
        refuse(
            worlds,
            disturbed,
            &format_args!("{step:?} changes what else is due"),
        );
    }
}

/// Whether the object has a state of this graph in which it was deleted in the background: it stays, or
/// it is nobody's dependent. Otherwise that state belongs to a graph with an object less.
fn can_go(traits: Traits, owners: Relation, one: usize) -> bool {
    let mut others = 0..OBJECTS;
    let refers = traits.extra != Extra::None || others.any(|other| has(owners, one, other));
    traits.held || !refers
}

/// All states of the graphs with these blocking references, and the lanes in which they are.
fn lay_out(
    group: &Group,
    owners: Relation,
    blocking: &[Relation],
    layout: &Layout,
) -> (Packed, Lanes) {
    let scope = |one: usize| group.traits.get(one).is_some_and(|traits| traits.cluster);
    let mut worlds = Packed::empty(std::array::from_fn(scope));
    let graphs = || blocking.iter().zip(&layout.graphs);
    let lanes = graphs().fold(Lanes::NONE, |all, (_, lanes)| all | *lanes);
    for (one, traits) in group.traits.iter().enumerate() {
        let [live, background, foreground, orphan] = layout.fates[one].map(|fate| fate & lanes);
        let here = lanes.without(background.without(Lanes::all(traits.held)));
        worlds.here[one] = here;
        worlds.deleting[one] = here.without(live);
        worlds.foreground[one] = foreground;
        worlds.orphan[one] = orphan;
        worlds.held[one] = here & Lanes::all(traits.held);
        worlds.absent[one] =
            here & Lanes::all(matches!(traits.extra, Extra::Absent | Extra::AbsentBlocked));
        worlds.absent_blocked[one] = here & Lanes::all(traits.extra == Extra::AbsentBlocked);
        worlds.unknown[one] = here & Lanes::all(traits.extra == Extra::Unknown);
        for owner in 0..OBJECTS {
            worlds.owners[one][owner] = here & Lanes::all(has(owners, one, owner));
            for (_, lanes) in graphs().filter(|(set, _)| has(**set, one, owner)) {
                worlds.blocked[one][owner] |= here & *lanes;
            }
        }
    }
    (worlds, lanes)
}

/// Stops at the first of these worlds.
fn refuse(worlds: &Packed, lanes: Lanes, why: &dyn Display) {
    if lanes.is_any() {
        let world = lanes.worlds().next().expect("there is one");
        panic!("{why}: {:#066b}, {:?}", worlds.world(world), worlds.cluster);
    }
}

/// Looks at the classes of a family with the numbers from `from` to `until`, every `stride`th, with the
/// work shared among the processors.
pub fn explore_all(family: &Family, (from, until): (u64, u64), stride: usize) -> Counts {
    let (graphs, sweep) = (Graphs::of(family), Sweep::new(family.objects));
    let until = until.min(graphs.count());
    share((from..until).step_by(stride), |numbers| {
        let mut counts = Counts::default();
        for (group, owners) in numbers.map(|number| graphs.class(number)) {
            counts.add(&sweep.look(group, owners));
        }
        counts
    })
}
