//! What one question may read of the log: at most so many versions of objects.

use crate::History;
use hindsight_core::{Commit, GroupResource, ObjectKey, Revision, Uid};
use std::cell::Cell;
use std::iter::from_fn;

/// The most versions of one object that are passed over to find who had its name before, who else
/// requested its deletion, or which owners it had.
const VERSIONS_MAX: usize = 1_000;
/// The same limit for all objects of one question together: chains and versions add up, and do not
/// multiply.
pub(super) const ALL_VERSIONS_MAX: usize = 20_000;
/// The most definitions of one kind among whose instances an owner is looked for.
const DEFINED_MAX: usize = 16;

/// The history, with a budget of versions for one question.
pub(super) struct BoundedHistory<'a, H> {
    history: &'a H,
    /// How many versions the question may still pass over.
    versions_left: Cell<usize>,
}

impl<'a, H: History> BoundedHistory<'a, H> {
    pub(super) const fn of(history: &'a H) -> Self {
        Self {
            history,
            versions_left: Cell::new(ALL_VERSIONS_MAX),
        }
    }

    /// For a loop over the versions of one object: yields once for each that may be passed over, and takes it
    /// from the budget.
    pub(super) fn version_budget(&self) -> impl Iterator<Item = ()> {
        let take_one = || {
            let left = self.versions_left.get().checked_sub(1)?;
            self.versions_left.set(left);
            Some(())
        };
        from_fn(take_one).take(VERSIONS_MAX)
    }

    /// See [`History::commit`].
    pub(super) fn commit(&self, revision: Revision) -> Result<Option<Commit>, H::Error> {
        self.history.commit(revision)
    }

    /// See [`History::floor`].
    pub(super) fn floor(&self) -> Result<Revision, H::Error> {
        self.history.floor()
    }

    /// See [`History::last`].
    pub(super) fn last(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        until: Revision,
    ) -> Result<Option<Commit>, H::Error> {
        self.history.last(key, uid, until)
    }

    /// See [`History::once_defined`]; the latest few.
    pub(super) fn once_defined(
        &self,
        group: &str,
        kind: &str,
    ) -> Result<impl Iterator<Item = GroupResource>, H::Error> {
        let found = self.history.once_defined(group, kind)?;
        Ok(found.into_iter().take(DEFINED_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::chain::{STEPS_MAX, Step, follow};
    use crate::ownership::tests::updated;
    use hindsight_core::{Cause, Event, Rule, command::Propagation};
    use std::convert::Infallible;

    /// An endless cascade, in which each owner was written a hundred times during its deletion.
    #[derive(Default)]
    struct Endless {
        asked: Cell<usize>,
    }

    const WRITES: u64 = 100;

    impl History for Endless {
        type Error = Infallible;

        fn floor(&self) -> Result<Revision, Infallible> {
            Ok(Revision::ZERO)
        }

        /// A mark whose cause is the mark of the owner.
        fn commit(&self, revision: Revision) -> Result<Option<Commit>, Infallible> {
            self.asked.set(self.asked.get() + 1);
            let name = format!("o{revision}");
            let mut commit = (*updated(revision.0, &name, &[]).commit).clone();
            commit.events.push(Event::DeletionRequested {
                rule: Rule::OwnerForeground,
                propagation: Propagation::Foreground,
                grace_period_seconds: None,
                owners: Vec::new(),
                decided_at: revision.previous(),
            });
            commit.cause = Cause::Commit(Revision(revision.0 - WRITES));
            Ok(Some(commit))
        }

        /// Another write of the object. Others had its name, and wrote as often: whoever asks for a name alone
        /// finds these, too.
        fn last(
            &self,
            key: &ObjectKey,
            uid: Option<&Uid>,
            until: Revision,
        ) -> Result<Option<Commit>, Infallible> {
            let versions = if uid.is_some() { 1 } else { 2 };
            self.asked.set(self.asked.get() + versions);
            let commit = updated(until.0, &key.name, &[]).commit;
            Ok(Some((*commit).clone()))
        }

        fn once_defined(&self, _: &str, _: &str) -> Result<Vec<GroupResource>, Infallible> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn steps_and_the_versions_between_them_add_up_and_do_not_multiply() {
        let endless = Endless::default();
        let newest = endless.commit(Revision(WRITES * 20_000));
        let newest = newest.unwrap_or_else(|never| match never {});
        let history = BoundedHistory::of(&endless);
        let mut steps = 0;
        let last = follow(&history, Step::alone(newest.expect("a commit")), |_, _| {
            steps += 1;
            Ok(())
        });
        last.unwrap_or_else(|never| match never {});
        assert_eq!(steps, STEPS_MAX);
        let asked = endless.asked.get();
        assert!(
            asked > ALL_VERSIONS_MAX,
            "{asked}: no version was looked at"
        );
        assert!(asked <= ALL_VERSIONS_MAX + STEPS_MAX + 1, "{asked}");
    }
}
