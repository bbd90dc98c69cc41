//! The queue of objects to look at, each at most once.

use std::collections::{BTreeSet, VecDeque};

/// First in, first out, without duplicates. Some of what it holds may be gone: that is found out when its
/// turn comes.
#[derive(Debug, Clone)]
pub(crate) struct Queue<T> {
    order: VecDeque<T>,
    members: BTreeSet<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            order: VecDeque::new(),
            members: BTreeSet::new(),
        }
    }
}

impl<T: Ord + Clone> Queue<T> {
    pub(crate) fn push(&mut self, one: T) {
        if self.members.insert(one.clone()) {
            self.order.push_back(one);
        }
    }

    pub(crate) fn extend(&mut self, many: impl IntoIterator<Item = T>) {
        many.into_iter().for_each(|one| self.push(one));
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let one = self.order.pop_front()?;
        self.members.remove(&one);
        Some(one)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.order.iter()
    }
}
