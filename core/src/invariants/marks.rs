//! Checks what a deletion writes into an object: its mark, when it ends, and the finalizers that hold it.
//! Only another deletion may change these, and only so that the object is removed sooner.

use super::{Checker, Violation};
use crate::Time;
use crate::event::Cause;
use crate::object::{Name, Object, is_collector_finalizer};

const MARKS: &str = "a deletion has a rule, and is never taken back";
const ENDS: &str = "a deletion ends when it says, and only a shorter grace moves that";

impl Checker<'_> {
    pub(super) fn check_unmarked(&self, object: &Object) -> Result<(), Violation> {
        if object.is_deleting() {
            return Err(self.violation(MARKS, "created with a deletion mark"));
        }
        Ok(())
    }

    /// Checks that an object is marked only by a deletion request, and stays marked.
    pub(super) fn check_mark(&self, previous: &Object, object: &Object) -> Result<(), Violation> {
        let is_asked_for = self
            .commit
            .events
            .iter()
            .any(|event| event.deletion_request().is_some());
        if !previous.is_deleting() {
            return self.check_first_mark(object, is_asked_for);
        }
        if !object.is_deleting() || (previous.mark.is_some() && object.mark != previous.mark) {
            return Err(self.violation(MARKS, "its deletion mark was removed or changed"));
        }
        self.check_no_new_finalizer(previous, object, is_asked_for)?;
        self.check_end(previous, object, is_asked_for)
    }

    /// Checks the first mark: the deletion ends now, plus the grace period if the kind has one.
    fn check_first_mark(&self, object: &Object, is_asked_for: bool) -> Result<(), Violation> {
        let Some(end) = object.meta.deletion_timestamp else {
            return Ok(());
        };
        if !is_asked_for {
            return Err(self.violation(MARKS, "marked for deletion without a rule"));
        }
        let grace = grace_of(object);
        if grace > 0 && !self.has_grace() {
            return Err(self.violation(
                ENDS,
                "marked with a grace period, which its kind does not have",
            ));
        }
        if end != self.seconds_on(grace) {
            return Err(self.violation(
                ENDS,
                "the end of its deletion does not match its grace period",
            ));
        }
        Ok(())
    }

    /// Checks that no finalizer is added. Clients may add the collectors' own ones; collectors only with a
    /// deletion.
    fn check_no_new_finalizer(
        &self,
        previous: &Object,
        object: &Object,
        is_asked_for: bool,
    ) -> Result<(), Violation> {
        let is_free = is_asked_for || self.commit.cause == Cause::Request;
        let held = previous.meta.finalizer_set();
        let is_new = |finalizer: &&Name| {
            let is_allowed = is_collector_finalizer(finalizer) && is_free;
            !is_allowed && !held.contains(&***finalizer)
        };
        match object.meta.finalizers.iter().find(is_new) {
            Some(finalizer) => {
                Err(self.violation(MARKS, format!("it gained finalizer {finalizer}")))
            }
            None => Ok(()),
        }
    }

    /// Checks that a later request ends the deletion sooner. If the shorter grace is already over, it ends
    /// now, even where that is later than before.
    fn check_end(
        &self,
        previous: &Object,
        object: &Object,
        is_asked_for: bool,
    ) -> Result<(), Violation> {
        let end = |object: &Object| object.meta.deletion_timestamp;
        let grace_seconds = |object: &Object| object.meta.deletion_grace_period_seconds;
        if end(previous) == end(object) && grace_seconds(previous) == grace_seconds(object) {
            return Ok(());
        }
        let now = Some(self.seconds_on(0));
        let is_shorter = grace_of(object) < grace_of(previous);
        let what = if !is_asked_for {
            "the end of its deletion moved without a deletion request"
        } else if grace_of(object) > grace_of(previous) {
            "its grace period became longer"
        } else if end(object) > end(previous) && !(is_shorter && end(object) == now) {
            "the end of its deletion moved to a later time"
        } else if end(object) < end(previous) && end(object) < now {
            "the end of its deletion is before the request"
        } else {
            return Ok(());
        };
        Err(self.violation(ENDS, what))
    }

    /// The time so many seconds after the commit, with the precision that an object records.
    fn seconds_on(&self, seconds: i64) -> Time {
        self.commit.time.plus_seconds(seconds).whole_seconds()
    }

    fn has_grace(&self) -> bool {
        let kind = self.state.kinds.by_resource(&self.commit.key.resource);
        kind.is_none_or(|kind| kind.strategy.graceful)
    }
}

/// The grace period in seconds; a negative one is read as one second.
fn grace_of(object: &Object) -> i64 {
    let grace = object.meta.deletion_grace_period_seconds.unwrap_or(0);
    if grace < 0 { 1 } else { grace }
}
