//! Sets of fields, and the operations on them.

use super::Element;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A set of paths, as a tree. That a field is in the set implies nothing about fields above or
/// below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    /// Sorted by element; no node is empty.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: Element,
    /// The field itself is in the set.
    pub(super) member: bool,
    pub(super) below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    pub(crate) const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn find(&self, element: &Element) -> Result<usize, usize> {
        // Most sets are built in order, so try the end first.
        match self.nodes.last() {
            Some(last) if last.element < *element => Err(self.nodes.len()),
            _ => self
                .nodes
                .binary_search_by(|node| node.element.cmp(element)),
        }
    }

    pub(super) fn get(&self, element: &Element) -> Option<&Node> {
        self.nodes.get(self.find(element).ok()?)
    }

    /// Returns the part of the set at and below its first `count` elements.
    pub(super) fn first(&self, count: usize) -> Self {
        Self {
            nodes: self.nodes.iter().take(count).cloned().collect(),
        }
    }

    /// The set of these parts, each as in [`Self::insert`], in whatever order they come and however often
    /// a field does.
    pub(super) fn of_parts(parts: Vec<(Element, bool, Self)>) -> Self {
        let nodes = parts.into_iter().map(|(element, member, below)| Node {
            element,
            member,
            below,
        });
        Self::of_nodes(nodes.filter(|node| !node.is_empty()).collect())
    }

    fn of_nodes(mut nodes: Vec<Node>) -> Self {
        nodes.sort_by(|one, other| one.element.cmp(&other.element));
        let mut merged: Vec<Node> = Vec::with_capacity(nodes.len());
        let mut repeated = BTreeSet::new();
        for node in nodes {
            let place = merged.len().saturating_sub(1);
            match merged.last_mut() {
                Some(last) if last.element == node.element => {
                    last.member |= node.member;
                    last.below.nodes.extend(node.below.nodes);
                    repeated.insert(place);
                }
                _ => merged.push(node),
            }
        }
        for place in repeated {
            if let Some(node) = merged.get_mut(place) {
                node.below = Self::of_nodes(std::mem::take(&mut node.below.nodes));
            }
        }
        Self { nodes: merged }
    }

    /// Adds the fields below a field, and the field itself if `member` is set. Fast where fields come in
    /// order.
    pub(super) fn insert(&mut self, element: Element, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        let node = Node {
            element,
            member,
            below,
        };
        match self.find(&node.element) {
            Err(place) => self.nodes.insert(place, node),
            Ok(place) => {
                if let Some(old) = self.nodes.get_mut(place) {
                    old.member |= node.member;
                    old.below = old.below.union(&node.below);
                }
            }
        }
    }

    /// Returns the fields that are in at least one of the two sets.
    pub(crate) fn union(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        self.join(other, |pair| match pair {
            Pair::Left(node) | Pair::Right(node) => Some(node.clone()),
            Pair::Both(left, right) => Some(Node {
                element: left.element.clone(),
                member: left.member || right.member,
                below: left.below.union(&right.below),
            }),
        })
    }

    /// Returns the fields that are in both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.join(other, |pair| match pair {
            Pair::Left(_) | Pair::Right(_) => None,
            Pair::Both(left, right) => Some(Node {
                element: left.element.clone(),
                member: left.member && right.member,
                below: left.below.intersection(&right.below),
            }),
        })
    }

    /// Returns the fields that are not in the other set. Fields below a field of the other set
    /// stay.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.without(other, |left, right| Node {
            element: left.element.clone(),
            member: left.member && !right.member,
            below: left.below.difference(&right.below),
        })
    }

    fn without(&self, other: &Self, both: impl Fn(&Node, &Node) -> Node) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        self.join(other, |pair| match pair {
            Pair::Left(node) => Some(node.clone()),
            Pair::Right(_) => None,
            Pair::Both(left, right) => Some(both(left, right)),
        })
    }

    /// Removes the fields at these paths (names joined by dots) and everything below them.
    pub(crate) fn forget(&mut self, paths: &[&str]) {
        for path in paths {
            self.forget_one(path);
        }
    }

    fn forget_one(&mut self, path: &str) {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        let Ok(place) = self.find(&Element::field(name)) else {
            return;
        };
        let is_left = match (self.nodes.get_mut(place), rest) {
            (Some(node), Some(rest)) => {
                node.below.forget_one(rest);
                !node.is_empty()
            }
            _ => false,
        };
        if !is_left {
            self.nodes.remove(place);
        }
    }

    /// Returns the number of fields.
    pub(crate) fn count(&self) -> usize {
        let one = |node: &Node| usize::from(node.member) + node.below.count();
        self.nodes.iter().map(one).sum()
    }

    /// Returns the paths of the fields in the notation of conflicts, the fields of a map before
    /// those below them. Returns at most `count_max` paths and stops at about `bytes_max` bytes,
    /// since a path may be much longer than the value at its end.
    pub(crate) fn paths(&self, (count_max, mut bytes_max): (usize, usize)) -> Vec<String> {
        let mut found = Vec::new();
        self.add_paths("", &mut found, &mut bytes_max);
        found.truncate(count_max);
        found
    }

    fn add_paths(&self, above: &str, found: &mut Vec<String>, room: &mut usize) {
        let path = |node: &Node| format!("{above}{}", node.element);
        for node in self.nodes.iter().filter(|node| node.member) {
            if *room == 0 {
                return;
            }
            let path = path(node);
            *room = room.saturating_sub(path.len());
            found.push(path);
        }
        for node in self.nodes.iter().filter(|node| !node.below.is_empty()) {
            if *room == 0 {
                return;
            }
            node.below.add_paths(&path(node), found, room);
        }
    }

    /// Walks through both sets in order and builds a set of what `keep` returns.
    fn join<'a>(&'a self, other: &'a Self, keep: impl Fn(Pair<'a>) -> Option<Node>) -> Self {
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        let mut nodes = Vec::new();
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Self { nodes },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(left), Some(right)) => left.element.cmp(&right.element),
            };
            let pair = match order {
                Ordering::Less => left.next().map(Pair::Left),
                Ordering::Greater => right.next().map(Pair::Right),
                Ordering::Equal => left.next().zip(right.next()).map(Pair::both),
            };
            nodes.extend(pair.and_then(&keep).filter(|node| !node.is_empty()));
        }
    }
}

/// A field and the sets that contain it: the left one, the right one or both.
enum Pair<'a> {
    Left(&'a Node),
    Right(&'a Node),
    Both(&'a Node, &'a Node),
}

impl<'a> Pair<'a> {
    const fn both((left, right): (&'a Node, &'a Node)) -> Self {
        Self::Both(left, right)
    }
}
