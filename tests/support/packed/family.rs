//! Families of ownership graphs, one of each class of those that differ only in their numbering.

use super::OBJECTS;
use crate::shape::permutations;

/// What is special about an object, besides its references to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits {
    /// It has a client's finalizer.
    pub held: bool,
    /// It is cluster-scoped.
    pub cluster: bool,
    /// What else it refers to.
    pub extra: Extra,
}

/// A reference to none of the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extra {
    /// There is none.
    #[default]
    None,
    /// To a UID that never existed.
    Absent,
    /// The same, and it blocks.
    AbsentBlocked,
    /// To an object of a kind that is not served.
    Unknown,
}

/// All graphs of this many objects, each of one of these kinds.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// How many objects, up to four.
    pub objects: usize,
    /// What may be special about objects.
    pub kinds: &'static [Traits],
    /// Graphs in which all objects are of the first kinds, this many, are left out.
    pub known: usize,
}

/// The graphs of a family, in classes that differ only in what blocks. A class has a number.
#[derive(Debug)]
pub(super) struct Graphs {
    objects: usize,
    groups: Vec<Group>,
}

/// The graphs whose objects are of these kinds, in this order.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) traits: Vec<Traits>,
    renumberings: Vec<Renumbering>,
}

/// Relations as they are after a renumbering of the objects, for each byte of a relation.
#[derive(Debug)]
struct Renumbering([Vec<u16>; 2]);

/// Who refers to whom: a bit for each pair, row by row.
pub(super) type Relation = u16;

impl Family {
    /// The number of classes of graphs, each of which shares everything but what blocks; renumbered ones
    /// are counted separately.
    pub fn count(&self) -> u64 {
        Graphs::of(self).count()
    }
}

impl Graphs {
    pub(super) fn of(family: &Family) -> Self {
        let orders = permutations(family.objects);
        let groups = selections(family).into_iter().map(|kinds| {
            let keeps = |order: &&Vec<usize>| {
                let mut pairs = order.iter().zip(&kinds);
                pairs.all(|(from, kind)| kinds[*from] == *kind)
            };
            Group {
                traits: kinds.iter().map(|kind| family.kinds[*kind]).collect(),
                renumberings: orders
                    .iter()
                    .filter(keeps)
                    .map(|order| Renumbering::new(order))
                    .collect(),
            }
        });
        Self {
            objects: family.objects,
            groups: groups.collect(),
        }
    }

    fn cells(&self) -> usize {
        self.objects * self.objects
    }

    /// How many classes of graphs there are, with renumbered ones counted separately.
    pub(super) fn count(&self) -> u64 {
        (self.groups.len() as u64) << self.cells()
    }

    /// A class of graphs: the kinds of the objects, and who refers to whom.
    pub(super) fn class(&self, number: u64) -> (&Group, Relation) {
        let group = usize::try_from(number >> self.cells()).expect("a small number");
        let set = (0..self.cells()).filter(|bit| number >> bit & 1 == 1);
        let owners = set.map(|bit| cell(bit / self.objects, bit % self.objects));
        (&self.groups[group], owners.sum())
    }
}

/// The kinds of the objects in every combination, as places in the family's list. Those of the first
/// kinds come first.
fn selections(family: &Family) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..family.objects {
        let more = all.iter().flat_map(|begun| {
            let last = begun.last().map_or(family.kinds.len(), |last| last + 1);
            (0..last).map(|kind| [begun.as_slice(), &[kind]].concat())
        });
        all = more.collect();
    }
    all.retain(|kinds| kinds.iter().any(|kind| *kind >= family.known));
    all.sort();
    all
}

impl Group {
    /// What blocks, one relation for each graph of a class: nothing if a renumbering of the class comes
    /// before it.
    pub(super) fn blocking(&self, owners: Relation) -> impl Iterator<Item = Relation> {
        let all = &self.renumberings;
        let is_first = all.iter().all(|one| one.apply(owners) >= owners);
        let same = all.iter().filter(move |one| one.apply(owners) == owners);
        let same: Vec<_> = same.collect();
        let subsets = is_first.then(|| subsets(owners)).into_iter().flatten();
        subsets.filter(move |set| same.iter().all(|one| one.apply(*set) >= *set))
    }
}

impl Renumbering {
    /// The object `order[i]` becomes `i`.
    fn new(order: &[usize]) -> Self {
        let place = |object| order.iter().position(|one| *one == object);
        let moved = |bit: usize| {
            let at = place(bit / OBJECTS).zip(place(bit % OBJECTS));
            at.map_or(0, |(row, column)| cell(row, column))
        };
        let half = |first: usize| {
            let bits = |byte: u16| (0..8).filter(move |bit| byte >> bit & 1 == 1);
            let bytes = 0..=u16::from(u8::MAX);
            bytes
                .map(|byte| bits(byte).map(|bit| moved(first + bit)).sum())
                .collect()
        };
        Self([half(0), half(8)])
    }

    fn apply(&self, relation: Relation) -> Relation {
        let [low, high] = relation.to_le_bytes();
        self.0[0][usize::from(low)] | self.0[1][usize::from(high)]
    }
}

/// The relation of one pair.
pub(super) const fn cell(one: usize, other: usize) -> Relation {
    1 << (OBJECTS * one + other)
}

/// Whether the pair is in the relation.
pub(super) const fn has(relation: Relation, one: usize, other: usize) -> bool {
    relation & cell(one, other) != 0
}

/// Every part of a relation, the whole first.
fn subsets(of: Relation) -> impl Iterator<Item = Relation> {
    std::iter::successors(Some(of), move |set| {
        set.checked_sub(1).map(|next| next & of)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::EVERY_KIND;

    /// Burnside's lemma: the graphs that each numbering leaves as they are, on average.
    #[test]
    fn graphs_are_counted_as_mathematicians_do() {
        let count = |objects, kinds, known| {
            let graphs = Graphs::of(&Family {
                objects,
                kinds,
                known,
            });
            let classes = (0..graphs.count()).map(|number| graphs.class(number));
            let graphs = classes.map(|(group, owners)| group.blocking(owners).count());
            graphs.sum::<usize>()
        };
        let of = |objects, kinds: usize| count(objects, &EVERY_KIND[..kinds], 0);
        assert_eq!([1, 2, 3].map(|objects| of(objects, 1)), [3, 45, 3_411]);
        assert_eq!([1, 2].map(|objects| of(objects, 2)), [6, 171]);
        let some = count(2, &EVERY_KIND[..2], 1);
        assert_eq!(
            some,
            of(2, 2) - of(2, 1),
            "those of the first kind are left out"
        );
    }
}
