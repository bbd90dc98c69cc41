//! Objects whose end comes with the clock.

use hindsight_core::object::Object;
use hindsight_core::{ObjectKey, State, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// When each of some objects is due.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadlines {
    by_key: BTreeMap<ObjectKey, Time>,
    by_time: BTreeSet<(Time, ObjectKey)>,
}

impl Deadlines {
    /// Replaces the deadline of an object; without one it is never due.
    pub(crate) fn set(&mut self, key: &ObjectKey, deadline: Option<Time>) {
        if let Some(before) = self.by_key.remove(key) {
            self.by_time.remove(&(before, key.clone()));
        }
        if let Some(deadline) = deadline {
            self.by_key.insert(key.clone(), deadline);
            self.by_time.insert((deadline, key.clone()));
        }
    }

    pub(crate) fn of(&self, key: &ObjectKey) -> Option<Time> {
        self.by_key.get(key).copied()
    }

    /// Those whose deadline is this time or comes before it, the earliest first.
    pub(crate) fn up_to(&self, time: Time) -> impl Iterator<Item = &ObjectKey> {
        let due = self.by_time.iter();
        let due = due.take_while(move |(deadline, _)| *deadline <= time);
        due.map(|(_, key)| key)
    }

    /// Those whose deadline comes after this time, the last first.
    pub(crate) fn after(&self, time: Time) -> impl Iterator<Item = &ObjectKey> {
        let later = self.by_time.iter().rev();
        let later = later.take_while(move |(deadline, _)| *deadline > time);
        later.map(|(_, key)| key)
    }

    /// Of the first `limit` objects that are due, those that exist and are not in deletion; the earliest first.
    pub(crate) fn due<'a>(
        &self,
        state: &'a State,
        now: Time,
        limit: usize,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let due = self.up_to(now).take(limit);
        let due = due.filter_map(|key| state.get(key));
        due.filter(|object| !object.is_deleting())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{empty, put};
    use serde_json::json;

    #[test]
    fn what_is_due_comes_in_the_order_of_deadlines_and_the_last_one_set_counts() {
        let mut state = empty();
        let mut make = |name: &str| {
            let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "n"}});
            put(&mut state, ("", "configmaps"), document).key.clone()
        };
        let [a, b, c, d] = ["a", "b", "c", "d"].map(&mut make);
        let mut deadlines = Deadlines::default();
        for (key, time) in [(&a, 30), (&b, 20), (&c, 10), (&d, 10), (&c, 20), (&a, 10)] {
            deadlines.set(key, Some(Time(time)));
        }
        deadlines.set(&d, None);
        let due = |now, limit| -> Vec<&ObjectKey> {
            let due = deadlines.due(&state, Time(now), limit);
            due.map(|object| &object.key).collect()
        };
        assert_eq!(due(9, 9), [&a; 0]);
        assert_eq!(due(10, 9), [&a]);
        assert_eq!(due(20, 9), [&a, &b, &c]);
        assert_eq!(due(20, 2), [&a, &b]);
        let after = |time| -> Vec<&ObjectKey> { deadlines.after(Time(time)).collect() };
        assert_eq!(after(10), [&c, &b]);
        assert_eq!(after(20), [&a; 0]);
    }
}
