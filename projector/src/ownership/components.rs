//! The strongly connected components of a graph, each found once and only where somebody asks. Whatever is
//! known of a component follows from its members and from what is known of the components that it leads to.
//! An object in no cycle is a component by itself.

use hindsight_core::Uid;
use std::collections::BTreeMap;

/// What is known of each component that has been found: Tarjan's algorithm, without recursion.
#[derive(Debug)]
pub struct Components<T, K = Uid> {
    place: BTreeMap<K, usize>,
    known: Vec<T>,
}

impl<T, K> Default for Components<T, K> {
    fn default() -> Self {
        Self {
            place: BTreeMap::new(),
            known: Vec::new(),
        }
    }
}

/// An object on the path that is being followed.
struct Visit<K> {
    next: Vec<K>,
    number: usize,
    /// The lowest number that is reached from it: lower than its own if it is in a component with that.
    lowest: usize,
    /// How many components had been reached before it.
    reached: usize,
}

/// The objects whose components are not closed yet.
struct Search<K> {
    path: Vec<Visit<K>>,
    open: Vec<K>,
    /// Their places in `open`.
    numbers: BTreeMap<K, usize>,
    /// Components that are reached from them.
    reached: Vec<usize>,
}

impl<K: Ord + Clone> Search<K> {
    const fn new() -> Self {
        Self {
            path: Vec::new(),
            open: Vec::new(),
            numbers: BTreeMap::new(),
            reached: Vec::new(),
        }
    }

    fn visit(&mut self, uid: K, next: Vec<K>) {
        let number = self.open.len();
        self.path.push(Visit {
            next,
            number,
            lowest: number,
            reached: self.reached.len(),
        });
        self.numbers.insert(uid.clone(), number);
        self.open.push(uid);
    }

    /// Ends the last visit. Returns the members of its component and the components that this leads to, if
    /// it was where the component was entered.
    fn leave(&mut self) -> Option<(Vec<K>, Vec<usize>)> {
        let visit = self.path.pop()?;
        if visit.lowest < visit.number {
            if let Some(before) = self.path.last_mut() {
                before.lowest = before.lowest.min(visit.lowest);
            }
            return None;
        }
        let members = self.open.split_off(visit.number);
        for uid in &members {
            self.numbers.remove(uid);
        }
        let mut reached = self.reached.split_off(visit.reached);
        reached.sort_unstable();
        reached.dedup();
        Some((members, reached))
    }
}

impl<T, K: Ord + Clone> Components<T, K> {
    /// What is known of the component of this object. `next` are the objects that one leads to; `summarize`
    /// gets the members of a component and what is known of those that it leads to.
    pub fn find(
        &mut self,
        from: &K,
        next: impl Fn(&K) -> Vec<K>,
        summarize: impl Fn(&[K], &[&T]) -> T,
    ) -> Option<&T> {
        let mut search = Search::new();
        if !self.place.contains_key(from) {
            search.visit(from.clone(), next(from));
        }
        while let Some(visit) = search.path.last_mut() {
            let Some(uid) = visit.next.pop() else {
                if let Some((members, reached)) = search.leave() {
                    search
                        .reached
                        .push(self.close(members, &reached, &summarize));
                }
                continue;
            };
            if let Some(place) = self.place.get(&uid) {
                search.reached.push(*place);
            } else if let Some(number) = search.numbers.get(&uid) {
                visit.lowest = visit.lowest.min(*number);
            } else {
                let next = next(&uid);
                search.visit(uid, next);
            }
        }
        self.known.get(*self.place.get(from)?)
    }

    /// The number of objects that were visited.
    pub fn visited(&self) -> usize {
        self.place.len()
    }

    fn close(
        &mut self,
        members: Vec<K>,
        reached: &[usize],
        summarize: &impl Fn(&[K], &[&T]) -> T,
    ) -> usize {
        let reached: Vec<&T> = reached
            .iter()
            .filter_map(|place| self.known.get(*place))
            .collect();
        let known = summarize(&members, &reached);
        let place = self.known.len();
        self.known.push(known);
        self.place
            .extend(members.into_iter().map(|uid| (uid, place)));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::cmp::Ordering;
    use std::collections::BTreeSet;

    /// The members of a component, and everything that they lead to.
    #[derive(Debug, PartialEq, Eq)]
    struct Known {
        members: BTreeSet<Uid>,
        beyond: BTreeSet<Uid>,
    }

    fn summarize(members: &[Uid], reached: &[&Known]) -> Known {
        let beyond = reached.iter().flat_map(|one| &one.members | &one.beyond);
        Known {
            members: members.iter().cloned().collect(),
            beyond: beyond.collect(),
        }
    }

    /// Every graph of four objects, none or all of which lead to themselves, from every object: compared
    /// with what each reaches.
    #[test]
    fn components_are_those_who_reach_each_other() {
        let uids = ["a", "b", "c", "d"].map(Uid::from);
        for graph in 0..1_u32 << 13 {
            let place = |from: usize, to: usize| match to.cmp(&from) {
                Ordering::Less => 3 * from + to,
                Ordering::Greater => 3 * from + to - 1,
                Ordering::Equal => 12,
            };
            let leads = |from: usize, to: usize| graph >> place(from, to) & 1 == 1;
            let mut reach = [[false; 4]; 4];
            for (from, row) in reach.iter_mut().enumerate() {
                for (to, one) in row.iter_mut().enumerate() {
                    *one = leads(from, to);
                }
            }
            for by in 0..4 {
                for from in 0..4 {
                    for to in 0..4 {
                        reach[from][to] |= reach[from][by] && reach[by][to];
                    }
                }
            }
            let steps = Cell::new(0);
            let next = |uid: &Uid| {
                steps.set(steps.get() + 1);
                let from = uids.iter().position(|one| one == uid).expect("a number");
                let next = (0..4).filter(|to| leads(from, *to));
                next.map(|to| uids[to].clone()).collect()
            };
            let mut components = Components::default();
            for from in 0..4 {
                let with = |to: usize| to == from || (reach[from][to] && reach[to][from]);
                let named = |is: &dyn Fn(usize) -> bool| {
                    let found = (0..4).filter(|to| is(*to));
                    found.map(|to| uids[to].clone()).collect()
                };
                let expected = Known {
                    members: named(&with),
                    beyond: named(&|to| reach[from][to] && !with(to)),
                };
                let found = components.find(&uids[from], next, summarize);
                assert_eq!(found, Some(&expected), "{graph:b} from {from}");
            }
            assert_eq!(steps.get(), 4, "each object is visited once");
        }
    }
}
