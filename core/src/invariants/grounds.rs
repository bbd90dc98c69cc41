//! Checks that a deletion which no request asked for has grounds. The rule is what a decision claims; its
//! ground must be found in the state.

use super::owners::Hold;
use super::{Checker, Violation};
use crate::Time;
use crate::event::{Cause, Event, Rule};
use crate::object::Object;
use serde_json::Value;

const GROUNDS: &str = "what no request asked for goes by a rule whose ground is there";

impl Checker<'_> {
    /// Checks the ground of a deletion event. A marked object is removed for the reason that it was marked
    /// for, so the removal is not checked again. A second mark changes how the object is deleted and needs
    /// a ground of its own. `owners` says how each owner relates to the object, if the deletion was decided
    /// on owners.
    pub(super) fn check_ground(
        &self,
        previous: &Object,
        event: &Event,
        owners: Option<&[Hold]>,
    ) -> Result<(), Violation> {
        let is_removal = matches!(event, Event::ObjectDeleted { .. });
        let is_explained = is_removal && previous.is_deleting();
        let Some((rule, _)) = event.deletion() else {
            return Ok(());
        };
        if is_explained || self.commit.cause == Cause::Request {
            return Ok(());
        }
        match self.missing_ground(previous, rule, owners) {
            None => Ok(()),
            Some(what) => {
                let what = format!("deleted by rule {}, although {what}", rule.name());
                Err(self.violation(GROUNDS, what))
            }
        }
    }

    fn missing_ground(
        &self,
        previous: &Object,
        rule: Rule,
        owners: Option<&[Hold]>,
    ) -> Option<&'static str> {
        let one_waits = owners.map(|owners| owners.contains(&Hold::Waits));
        let (is_there, what) = match rule {
            Rule::OwnerForeground => (one_waits?, "no owner waits for it"),
            Rule::OwnersAbsent | Rule::NoSuchOwner | Rule::OwnerInOtherNamespace => {
                (!one_waits?, "an owner waits for it")
            }
            Rule::NamespaceDeleted => (
                self.namespace_is_deleting(),
                "its namespace is not being deleted",
            ),
            Rule::CrdDeleted => (
                self.definition_is_deleting(),
                "the definition of its kind is not being deleted",
            ),
            Rule::TtlAfterFinished => (
                is_over(previous, self.commit.time),
                "it is not a finished job whose time to live is over",
            ),
            Rule::Policy => (
                matches!(self.commit.cause, Cause::Policy(_)),
                "it names no policy",
            ),
            Rule::ServiceDeleted => (
                self.service_is_gone(),
                "it is not the Endpoints of a service that is gone",
            ),
            Rule::Requested
            | Rule::RequestedForeground
            | Rule::RequestedOrphan
            | Rule::RequestedCollection => (false, "no request asked for it"),
        };
        (!is_there).then_some(what)
    }

    pub(super) fn namespace_is_deleting(&self) -> bool {
        let home = self.state.namespace(&self.commit.key.namespace);
        home.is_some_and(|home| home.is_deleting())
    }

    fn service_is_gone(&self) -> bool {
        let service = self.commit.key.service();
        service.is_some_and(|service| self.state.get(&service).is_none())
    }

    fn definition_is_deleting(&self) -> bool {
        let definition = self.state.definition_of(&self.commit.key.resource);
        definition.is_some_and(|definition| definition.is_deleting())
    }
}

/// Whether a job has finished, and its time to live has passed since.
fn is_over(object: &Object, now: Time) -> bool {
    let resource = &object.key.resource;
    if (&*resource.group, &*resource.resource) != ("batch", "jobs") {
        return false;
    }
    let job = object.document();
    let time_to_live = job.pointer("/spec/ttlSecondsAfterFinished");
    let ended = ended(&job).zip(time_to_live.and_then(Value::as_i64));
    ended.is_some_and(|(ended, seconds)| ended.plus_seconds(seconds) <= now)
}

/// When the job finished; the first condition that says so counts, as upstream.
fn ended(job: &Value) -> Option<Time> {
    let conditions = job.pointer("/status/conditions")?.as_array()?;
    let says_so = |condition: &&Value| {
        let text = |member: &str| condition.get(member).and_then(Value::as_str);
        matches!(text("type"), Some("Complete" | "Failed")) && text("status") == Some("True")
    };
    let end = conditions.iter().find(says_so)?;
    Time::parse(end.get("lastTransitionTime")?.as_str()?)
}
