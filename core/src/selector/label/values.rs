//! The values that a requirement names, in little more memory than their text takes: a query of 60 KB may name 15,000 of
//! them, and a watch holds them as long as it lasts.

use std::collections::BTreeSet;

/// Values in order, each of them once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Values {
    /// All of them, one behind the other.
    text: Box<str>,
    /// Where each of them ends.
    ends: Box<[usize]>,
}

impl From<BTreeSet<String>> for Values {
    fn from(values: BTreeSet<String>) -> Self {
        let mut text = String::new();
        let end = |value: &String| {
            text.push_str(value);
            text.len()
        };
        let ends = values.iter().map(end).collect();
        Self {
            text: text.into(),
            ends,
        }
    }
}

impl Values {
    pub(super) fn contains(&self, wanted: &str) -> bool {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.at(middle).cmp(wanted) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|index| self.at(index))
    }

    /// The value with this index; empty if there is none.
    fn at(&self, index: usize) -> &str {
        let end = |index: usize| self.ends.get(index).copied();
        let begin = index.checked_sub(1).and_then(end).unwrap_or_default();
        let found = self.text.get(begin..end(index).unwrap_or_default());
        found.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LabelSelector, Operator};
    use super::*;

    #[test]
    fn values_are_found_and_told_in_their_order() {
        for texts in [&["b", "", "a", "ab", "b"][..], &[""], &[]] {
            let set: BTreeSet<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            let values = Values::from(set.clone());
            assert!(values.iter().eq(set.iter()), "{set:?}");
            for wanted in ["", "a", "ab", "abc", "b", "c"] {
                assert_eq!(values.contains(wanted), set.contains(wanted), "{wanted}");
            }
        }
    }

    #[test]
    fn what_is_held_of_many_short_values_is_little_more_than_their_text() {
        let names: Vec<String> = (0..15_000).map(|number| format!("{number:x}")).collect();
        let text = format!("a in ({})", names.join(","));
        let selector = LabelSelector::parse(&text).expect("a selector");
        let [requirement] = &*selector.requirements else {
            panic!("one requirement");
        };
        let Operator::In(values) = &requirement.operator else {
            panic!("a list");
        };
        assert!(names.iter().all(|name| values.contains(name)));
        let held = size_of_val(&*values.text) + size_of_val(&*values.ends);
        assert!(held < 3 * text.len(), "{held} of {}", text.len());
    }
}
