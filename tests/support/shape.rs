//! Every small ownership graph, by number.

/// Who refers to whom, and what else is special about each object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// `edges[i][j]`: what `i` has to do with `j`.
    pub edges: Vec<Vec<Edge>>,
    /// One for each object.
    pub specials: Vec<Special>,
}

/// What one object has to do with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// Nothing.
    None,
    /// It is owned by it.
    Owned,
    /// It is, and blocks its deletion.
    Blocks,
}

/// What else an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Special {
    /// Nothing.
    None,
    /// It has a finalizer of somebody else.
    Held,
    /// It refers to a uid that never existed, too.
    Dangling,
    /// It is cluster-scoped.
    Cluster,
    /// It refers to an object of a kind that nobody serves, too.
    Unresolvable,
    /// It has the finalizer with which it orphans its dependents, whoever deletes it.
    Orphans,
    /// It has the one with which it waits for them.
    Waits,
    /// It refers to a uid that never existed, and blocks its deletion.
    DanglingBlocks,
    /// It refers to a uid that never existed, and has a finalizer of somebody else.
    DanglingHeld,
    /// It is cluster-scoped, and refers to a uid that never existed.
    ClusterDangling,
    /// It is cluster-scoped, and refers to an object of a kind that nobody serves.
    ClusterUnresolvable,
}

/// All graphs of so many objects whose edges and specials are of these.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// How many objects.
    pub objects: usize,
    /// What they may have to do with each other.
    pub edges: &'static [Edge],
    /// What they may be.
    pub specials: &'static [Special],
}

/// All there are.
pub const EDGES: &[Edge] = &[Edge::None, Edge::Owned, Edge::Blocks];
/// What an object may be that has no policy of its own.
pub const SPECIALS: &[Special] = &[
    Special::None,
    Special::Held,
    Special::Dangling,
    Special::Cluster,
    Special::Unresolvable,
];
/// What the policy of its own may be that an object has.
pub const POLICIES: &[Special] = &[
    Special::None,
    Special::Held,
    Special::Dangling,
    Special::Orphans,
    Special::Waits,
];
/// What it may be of two things at once.
pub const CROSSED: &[Special] = &[
    Special::None,
    Special::DanglingBlocks,
    Special::DanglingHeld,
    Special::ClusterDangling,
    Special::ClusterUnresolvable,
];
/// What it may be of all that.
pub const EVERYTHING: &[Special] = &[
    Special::None,
    Special::Held,
    Special::Dangling,
    Special::Cluster,
    Special::Unresolvable,
    Special::Orphans,
    Special::Waits,
    Special::DanglingBlocks,
    Special::DanglingHeld,
    Special::ClusterDangling,
    Special::ClusterUnresolvable,
];

impl Family {
    /// How many graphs there are, renumbered ones counted too.
    pub fn count(&self) -> u64 {
        let power = |base: usize, exponent: usize| {
            let exponent = u32::try_from(exponent).expect("small");
            u64::try_from(base).expect("small").pow(exponent)
        };
        power(self.edges.len(), self.objects * self.objects)
            * power(self.specials.len(), self.objects)
    }

    /// The graph with this number, unless a renumbering of its objects comes before it: one of each
    /// class is enough.
    pub fn nth(&self, mut number: u64) -> Option<Shape> {
        let mut digit = |base: usize| {
            let base = u64::try_from(base).expect("small");
            let digit = number % base;
            number /= base;
            usize::try_from(digit).expect("small")
        };
        let objects = 0..self.objects;
        let mut edge = |_| self.edges[digit(self.edges.len())];
        let edges = objects
            .clone()
            .map(|_| objects.clone().map(&mut edge).collect());
        let edges = edges.collect();
        let specials = objects.map(|_| self.specials[digit(self.specials.len())]);
        let specials = specials.collect();
        Some(Shape { edges, specials }).filter(Shape::is_canonical)
    }
}

impl Shape {
    fn is_canonical(&self) -> bool {
        let orders = permutations(self.specials.len());
        orders.iter().all(|order| *self <= self.renumbered(order))
    }

    /// The same graph, in which what was `order[i]` is now `i`.
    #[must_use]
    pub fn renumbered(&self, order: &[usize]) -> Self {
        let edges = order
            .iter()
            .map(|i| order.iter().map(|j| self.edges[*i][*j]).collect());
        let specials = order.iter().map(|i| self.specials[*i]);
        Self {
            edges: edges.collect(),
            specials: specials.collect(),
        }
    }
}

/// Every order of so many, as they are first.
pub fn permutations(count: usize) -> Vec<Vec<usize>> {
    (0..count).rev().fold(vec![Vec::new()], |found, next| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_counted_as_mathematicians_do() {
        let directed = |objects| {
            let family = Family {
                objects,
                edges: &[Edge::None, Edge::Owned],
                specials: &[Special::None],
            };
            let shapes = (0..family.count()).filter_map(|number| family.nth(number));
            shapes.count()
        };
        // Binary relations on so many unlabelled points, OEIS A000595.
        assert_eq!([1, 2, 3, 4].map(directed), [2, 10, 104, 3044]);
    }
}
