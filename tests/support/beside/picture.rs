//! A picture of the objects that a server shows after the steps of a history, and how two pictures
//! may differ.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result};

/// Every object, by its path.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Picture(BTreeMap<String, Seen>);

/// A known reason why another collector may have left other objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excuse {
    /// A dependent that was added to an owner already waiting was not looked at. Kubernetes'
    /// collector looks at the dependents that the owner has when it begins to wait.
    Undecided,
    /// It mistook a chain for a cycle, and let an owner go that should have waited. Source:
    /// `attemptToDeleteItem`, whose cycle detection has false positives, as it says itself.
    Unblocked,
}

/// An object; UIDs are replaced by the numbers of creations.
#[derive(Debug)]
struct Seen {
    id: String,
    is_deleting: bool,
    grace: Value,
    finalizers: Value,
    owners: Vec<(String, Value, Value)>,
}

/// The references of an object that is being deleted are not compared: they depend on which of its
/// owners was gone first.
impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        let same_owners = || self.owners == other.owners;
        (&self.id, self.is_deleting, &self.grace) == (&other.id, other.is_deleting, &other.grace)
            && self.finalizers == other.finalizers
            && (self.is_deleting || same_owners())
    }
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

    /// The reason why this picture may differ from `other`, which is how it should be.
    pub(super) fn excuse(&self, other: &Self) -> Option<Excuse> {
        let both = self.0.iter();
        let mut both = both.filter_map(|(path, seen)| Some((seen, other.0.get(path)?)));
        if both.any(|(seen, wanted)| seen.is_unblocked(wanted)) {
            return Some(Excuse::Unblocked);
        }
        self.is_undecided(other).then_some(Excuse::Undecided)
    }

    /// Whether it differs from the other only in live objects that refer to a waiting owner, and in
    /// dependents of those.
    fn is_undecided(&self, other: &Self) -> bool {
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
    /// Whether a reference that blocks in the other picture no longer blocks here.
    fn is_unblocked(&self, other: &Self) -> bool {
        let blocks = |one: &(String, Value, Value)| one.2 == Value::Bool(true);
        let of = |id: &str| other.owners.iter().find(|one| one.0 == id);
        let mut owners = self.owners.iter();
        owners.any(|one| !blocks(one) && of(&one.0).is_some_and(blocks))
    }

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
