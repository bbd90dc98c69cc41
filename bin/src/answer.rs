//! Answers to questions about the log, as the server sends them and `-o json` prints them. Other programs read
//! them, so members keep their names.

use hindsight_core::object::Name;
use hindsight_core::{Revision, State};
use hindsight_projector::RequestDetails;
use serde::{Deserialize, Serialize};

/// The prefix of the paths at which a server answers questions about its log.
pub(crate) const PATHS: &str = "/hindsight/v1/";
/// Where it sends a backup.
pub(crate) const BACKUP_PATH: &str = "/hindsight/v1/backup";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One commit, or one restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogEntry {
    pub(crate) revision: Revision,
    pub(crate) time: String,
    pub(crate) user: String,
    pub(crate) verb: String,
    #[serde(flatten)]
    pub(crate) request: RequestDetails,
    /// The object's path; empty for a restore of a backup.
    pub(crate) object: String,
    pub(crate) uid: String,
    pub(crate) events: Vec<String>,
    /// How many more events there were about finalizers and owners, if any.
    #[serde(default, rename = "moreEvents", skip_serializing_if = "is_zero")]
    pub(crate) more_events: usize,
    /// What an update changed, if that was asked for.
    pub(crate) changed: Option<Vec<String>>,
    /// How many more members an update changed, if any.
    #[serde(default, rename = "moreChanged", skip_serializing_if = "is_zero")]
    pub(crate) more_changed: usize,
}

/// A page of the log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogPage {
    pub(crate) entries: Vec<LogEntry>,
    /// Where the next page begins; `None` on the last page.
    pub(crate) next: Option<Revision>,
    /// Where to continue later, for what happens after the last page.
    pub(crate) end: Revision,
    /// The revision from which on nothing is missing.
    pub(crate) floor: Revision,
    /// On a last page without entries, the last restore if there was one from the beginning of the page on:
    /// what it lost may be what was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) restored: Option<Revision>,
}

/// What a deletion would do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PlanAnswer {
    Found(Planned),
    /// The object does not exist.
    Missing(Unplanned),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Planned {
    /// The revision of the state that the deletion is decided on.
    pub(crate) revision: Revision,
    /// Always true.
    pub(crate) found: bool,
    pub(crate) entries: Vec<PlannedCommit>,
    /// How many objects it would remove; a lower bound if the plan is not complete.
    pub(crate) deleted: usize,
    /// Objects that would be left in deletion; unknown, and empty, if the plan is not complete.
    pub(crate) waiting: Vec<Waiting>,
    /// How many other objects are removed with it or without it, if any.
    #[serde(default, rename = "goingAlready", skip_serializing_if = "is_zero")]
    pub(crate) going_already: usize,
    /// Whether the plan is complete: nothing more follows.
    pub(crate) complete: bool,
    /// What follows once clients let go of the waiting objects; absent if it is known to be nothing.
    #[serde(default, rename = "onceLetGo", skip_serializing_if = "Option::is_none")]
    pub(crate) once_let_go: Option<OnceLetGo>,
}

/// What would be removed once clients let go of what they hold in deletion.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OnceLetGo {
    /// Objects that do not wait themselves, in the order in which they are removed.
    pub(crate) deleted: Vec<String>,
    /// Whether nothing more follows.
    pub(crate) complete: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unplanned {
    pub(crate) revision: Revision,
    /// Always false.
    pub(crate) found: bool,
    /// Whether objects of the kind are in namespaces.
    pub(crate) namespaced: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlannedCommit {
    pub(crate) object: String,
    pub(crate) uid: String,
    pub(crate) events: Vec<String>,
    /// How many more events there were about finalizers and owners, if any.
    #[serde(default, rename = "moreEvents", skip_serializing_if = "is_zero")]
    pub(crate) more_events: usize,
}

/// An object that would be left in deletion.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Waiting {
    pub(crate) object: String,
    pub(crate) finalizers: Vec<Name>,
    /// Everything that it would wait for, in words.
    #[serde(default)]
    pub(crate) held_by: Vec<String>,
}

/// The state that the log folds to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StateAnswer {
    pub(crate) revision: Revision,
    pub(crate) hash: String,
}

impl StateAnswer {
    pub(crate) fn of(state: &State) -> Self {
        Self {
            revision: state.revision,
            hash: state.hash(),
        }
    }
}

/// Whether an owner exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnerAnswer {
    pub(crate) there: bool,
    /// Whether it waits in foreground deletion, so that its dependents are deleted at once.
    #[serde(default)]
    pub(crate) waits: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::Why;
    use serde_json::{from_value, json};

    /// The type reads this document and writes the same, with no member more or less.
    fn same<T: Serialize + serde::de::DeserializeOwned>(text: &str) {
        let written: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let read: T = serde_json::from_str(text).expect("an answer");
        assert_eq!(json!(read), written);
    }

    #[test]
    fn answers_are_as_the_page_about_the_past_shows_them() {
        let page = include_str!("../../docs/time-travel.md");
        let blocks = page.split("```json\n").skip(1);
        let blocks: Vec<&str> = blocks.filter_map(|one| one.split("```").next()).collect();
        let [why, plan, log] = blocks[..] else {
            panic!("{blocks:?}");
        };
        same::<Why>(why);
        same::<PlanAnswer>(plan);
        same::<LogPage>(log);
    }

    #[test]
    fn a_plan_without_one_of_its_members_is_not_taken_for_another_answer() {
        let missing = json!({"revision": 7, "found": false, "namespaced": true});
        let read = from_value(missing.clone()).expect("an answer");
        assert!(matches!(read, PlanAnswer::Missing(_)));
        assert_eq!(json!(read), missing);
        let found = json!({"revision": 7, "found": true, "entries": [], "deleted": 1,
            "waiting": [{"object": "a", "finalizers": ["b"], "heldBy": ["b"]}], "complete": true});
        let read = from_value(found.clone()).expect("an answer");
        assert!(matches!(read, PlanAnswer::Found(_)));
        assert_eq!(json!(read), found);
        for member in ["entries", "deleted", "waiting", "complete"] {
            let mut less = found.clone();
            less.as_object_mut().expect("an object").remove(member);
            assert!(from_value::<PlanAnswer>(less).is_err(), "{member}");
        }
    }
}
