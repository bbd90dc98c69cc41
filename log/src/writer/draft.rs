//! What a batch has come to so far, and the way back.

use super::space_gate::Unstored;
use super::{Answer, Batch};
use hindsight_core::{Change, Commit, Revision, State, apply};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The newest state, with the commits in it that no batch has taken yet.
pub(super) struct Draft {
    state: State,
    changes: Vec<Arc<Change>>,
    /// As in a [`Batch`].
    joined: BTreeSet<Revision>,
}

/// How far a draft was. While this exists, every step of the draft copies what it touches of the state.
#[derive(Clone)]
pub(super) struct Mark {
    state: State,
    changes: usize,
}

impl Draft {
    pub(super) const fn new(state: State) -> Self {
        Self {
            state,
            changes: Vec::new(),
            joined: BTreeSet::new(),
        }
    }

    pub(super) const fn state(&self) -> &State {
        &self.state
    }

    pub(super) const fn changes(&self) -> &[Arc<Change>] {
        self.changes.as_slice()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            state: self.state.clone(),
            changes: self.changes.len(),
        }
    }

    /// Undoes what was pushed since.
    pub(super) fn back_to(&mut self, mark: Mark) {
        // The revisions that are undone are assigned again.
        self.joined.split_off(&mark.state.revision.next());
        self.changes.truncate(mark.changes);
        self.state = mark.state;
    }

    /// Applies a commit; `is_joined` if it belongs to the decision of the one before it.
    pub(super) fn push(&mut self, commit: &Arc<Commit>, is_joined: bool) {
        let previous = apply(&mut self.state, commit);
        if is_joined {
            self.joined.insert(commit.revision);
        }
        let commit = Arc::clone(commit);
        self.changes.push(Arc::new(Change { commit, previous }));
    }

    /// Joins each change from this one on to the one before it, except the first of them.
    pub(super) fn join_from(&mut self, first: usize) {
        let later = self.changes.iter().skip(first + 1);
        self.joined
            .extend(later.map(|change| change.commit.revision));
    }

    /// Hands over what was pushed, with who waits for it and the space that it takes. The state stays.
    pub(super) fn batch(&mut self, answers: Vec<Answer>, unstored: Unstored) -> Batch {
        Batch {
            changes: std::mem::take(&mut self.changes),
            joined: std::mem::take(&mut self.joined),
            state: self.state.clone(),
            answers,
            unstored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::tests::{create, empty};
    use hindsight_core::decide;

    fn push(draft: &mut Draft, name: &str, is_joined: bool) {
        let decision = decide(draft.state(), create(name)).expect("decided");
        draft.push(&decision.commits[0], is_joined);
    }

    fn found(draft: &Draft) -> (usize, Vec<u64>, Revision) {
        let joined = draft.joined.iter().map(|revision| revision.0);
        (draft.changes.len(), joined.collect(), draft.state.revision)
    }

    #[test]
    fn of_what_is_behind_a_mark_nothing_is_left_and_its_revisions_are_assigned_again() {
        // What is joined up to revision 4, and what is left of that.
        for (marked, before) in [(0, vec![]), (1, vec![]), (2, vec![2]), (4, vec![2, 4])] {
            let mut draft = Draft::new(empty());
            let mut mark = draft.mark();
            for (index, is_joined) in [false, true, false, true].into_iter().enumerate() {
                push(&mut draft, &format!("n{index}"), is_joined);
                if index + 1 == marked {
                    mark = draft.mark();
                }
            }
            assert_eq!(found(&draft), (4, vec![2, 4], Revision(4)));
            draft.back_to(mark);
            let revision = Revision(marked as u64);
            assert_eq!(found(&draft), (marked, before.clone(), revision));
            push(&mut draft, "another", false);
            assert_eq!(found(&draft), (marked + 1, before, revision.next()));
        }
    }

    #[test]
    fn what_is_joined_begins_behind_the_first() {
        for (first, expected) in [(0, vec![2, 3]), (1, vec![3]), (2, vec![]), (3, vec![])] {
            let mut draft = Draft::new(empty());
            for name in ["a", "b", "c"] {
                push(&mut draft, name, false);
            }
            draft.join_from(first);
            assert_eq!(found(&draft), (3, expected, Revision(3)));
        }
    }
}
