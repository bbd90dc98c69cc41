//! What a server shows of a history.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result};

/// Every object, by its path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Picture(BTreeMap<String, Seen>);

/// An object; identities are the numbers of creations.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    id: String,
    is_deleting: bool,
    grace: Value,
    finalizers: Value,
    owners: Vec<(String, Value, Value)>,
}

impl Picture {
    pub(super) fn add(&mut self, path: &str, object: &Value, id: &dyn Fn(&str) -> String) {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let owners = owners.map(|one| {
            let blocks = one["blockOwnerDeletion"].clone();
            (id(&text(&one["uid"])), one["name"].clone(), blocks)
        });
        let seen = Seen {
            id: id(&text(&metadata["uid"])),
            is_deleting: metadata.get("deletionTimestamp").is_some(),
            grace: metadata["deletionGracePeriodSeconds"].clone(),
            finalizers: metadata["finalizers"].clone(),
            owners: owners.collect(),
        };
        self.0
            .insert(format!("{path}/{}", text(&metadata["name"])), seen);
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether it differs from the other only in live objects that nobody has looked at since they came to refer to an
    /// owner that waits for its dependents, and in those that depend on them. Kubernetes' collector looks at those whom
    /// the owner has when it begins to wait.
    pub(super) fn is_undecided(&self, other: &Self) -> bool {
        let differ = |(path, seen): &(&String, &Seen)| other.0.get(*path) != Some(*seen);
        let mut left: Vec<&Seen> = self.0.iter().filter(differ).map(|(_, seen)| seen).collect();
        let is_gone = |path: &String| !self.0.contains_key(path);
        if left.is_empty() || other.0.keys().any(is_gone) {
            return false;
        }
        let waiting = self.0.values().filter(|seen| seen.waits());
        let mut explained: BTreeSet<&str> = waiting.map(|seen| seen.id.as_str()).collect();
        loop {
            let before = left.len();
            left.retain(|seen| {
                let mut owners = seen.owners.iter();
                let is_explained =
                    !seen.is_deleting && owners.any(|(id, ..)| explained.contains(id.as_str()));
                if is_explained {
                    explained.insert(&seen.id);
                }
                !is_explained
            });
            if left.is_empty() || left.len() == before {
                return left.is_empty();
            }
        }
    }
}

impl Seen {
    fn waits(&self) -> bool {
        let finalizers = self.finalizers.as_array().into_iter().flatten();
        let mut finalizers = finalizers.filter_map(Value::as_str);
        self.is_deleting && finalizers.any(|one| one == "foregroundDeletion")
    }
}

impl Display for Picture {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0
            .iter()
            .try_for_each(|(path, seen)| writeln!(f, "  {path} {seen:?}"))
    }
}
