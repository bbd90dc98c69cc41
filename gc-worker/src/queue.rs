//! What is to be looked at, each at most once.

use std::collections::BTreeSet;
use std::ops::Bound;

/// A round: members have their turns in their own order, and the first follows the last. When they came in does
/// not matter. Some may be gone by then: that is found out when their turn comes.
#[derive(Debug, Clone)]
pub(crate) struct Queue<T> {
    members: BTreeSet<T>,
    /// The one that had its turn last.
    last: Option<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            members: BTreeSet::new(),
            last: None,
        }
    }
}

impl<T: Ord + Clone> Queue<T> {
    pub(crate) fn push(&mut self, one: T) {
        self.members.insert(one);
    }

    /// Goes on behind this one, or with the first of all.
    pub(crate) fn go_on_after(&mut self, last: Option<T>) {
        self.last = last;
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.last.as_ref();
        let begin = last.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.members.range((begin, Bound::Unbounded)).next();
        let next = later.or_else(|| self.members.first())?.clone();
        self.members.remove(&next);
        self.last = Some(next.clone());
        Some(next)
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.members.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_came_first_all_have_their_turns_in_one_order_from_where_it_goes_on() {
        for (last, expected) in [
            (None, [1, 2, 3, 4]),
            (Some(2), [3, 4, 1, 2]),
            (Some(9), [1, 2, 3, 4]),
        ] {
            let mut queue = Queue::default();
            for one in [3, 1, 4, 3, 2] {
                queue.push(one);
            }
            queue.go_on_after(last);
            let turns: Vec<i32> = std::iter::from_fn(|| queue.pop()).collect();
            assert_eq!(turns, expected, "{last:?}");
        }
    }
}
