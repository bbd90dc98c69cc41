//! Enumerates the small ownership graphs by number.

/// One ownership graph: which object refers to which, and what is special about each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// `edges[i][j]`: how `i` refers to `j`.
    pub edges: Vec<Vec<Edge>>,
    /// What is special, for each object.
    pub specials: Vec<Special>,
}

/// How one object refers to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// Nothing.
    None,
    /// It is owned by the other.
    Owned,
    /// It is owned by the other and blocks its deletion.
    Blocks,
}

/// What is special about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Special {
    /// Nothing.
    None,
    /// It has a client's finalizer.
    Held,
    /// It also refers to a UID that never existed.
    Dangling,
    /// It is cluster-scoped.
    Cluster,
    /// It also refers to an object of a kind that is not served.
    Unresolvable,
    /// It has the finalizer `orphan`: however it is deleted, it orphans its dependents.
    Orphans,
    /// It has the finalizer `foregroundDeletion`: however it is deleted, it waits for its dependents.
    Waits,
    /// It refers to a UID that never existed, and blocks its deletion.
    DanglingBlocks,
    /// It refers to a UID that never existed, and has a client's finalizer.
    DanglingHeld,
    /// It is cluster-scoped, and refers to a UID that never existed.
    ClusterDangling,
    /// It is cluster-scoped, and refers to an object of a kind that is not served.
    ClusterUnresolvable,
}

impl Special {
    /// Whether the object is cluster-scoped.
    pub(crate) const fn is_cluster(self) -> bool {
        matches!(
            self,
            Self::Cluster | Self::ClusterDangling | Self::ClusterUnresolvable
        )
    }
}

/// All graphs of this many objects whose edges and specials are among these.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// How many objects.
    pub objects: usize,
    /// The edges between objects.
    pub edges: &'static [Edge],
    /// What may be special about objects.
    pub specials: &'static [Special],
}

/// All edges.
pub const EDGES: &[Edge] = &[Edge::None, Edge::Owned, Edge::Blocks];
/// The specials of objects without a deletion policy of their own.
pub const SPECIALS: &[Special] = &[
    Special::None,
    Special::Held,
    Special::Dangling,
    Special::Cluster,
    Special::Unresolvable,
];
/// The specials of objects that may have a deletion policy of their own.
pub const POLICIES: &[Special] = &[
    Special::None,
    Special::Held,
    Special::Dangling,
    Special::Orphans,
    Special::Waits,
];
/// The specials that combine two others.
pub const CROSSED: &[Special] = &[
    Special::None,
    Special::DanglingBlocks,
    Special::DanglingHeld,
    Special::ClusterDangling,
    Special::ClusterUnresolvable,
];
/// All specials.
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
    /// The number of graphs, with renumbered ones counted separately.
    pub fn count(&self) -> u64 {
        let power = |base: usize, exponent: usize| {
            let exponent = u32::try_from(exponent).expect("small");
            u64::try_from(base).expect("small").pow(exponent)
        };
        power(self.edges.len(), self.objects * self.objects)
            * power(self.specials.len(), self.objects)
    }

    /// The graph with this number; `None` if a renumbering of its objects comes before it, since one
    /// of each class is enough.
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

    /// The same graph renumbered: the object `order[i]` becomes `i`.
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

/// Every order of `count` numbers, the ascending one first.
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
        // Binary relations on this many unlabelled points, OEIS A000595.
        assert_eq!([1, 2, 3, 4].map(directed), [2, 10, 104, 3044]);
    }
}
