//! Decides the waiting submissions, as many as fit into a batch, against the newest state, durable or not.

use super::appender::DECISION_BYTES_MAX;
use super::draft::{Draft, Mark};
use super::space_gate::{
    REWRITTEN_BYTES_MAX, SpaceGate, Unstored, are_deletions, estimated_bytes_of, only_rewrite,
};
use super::{Answer, Batch, Submission, Submitted};
use crate::Poison;
use hindsight_core::invariants::{self, Violation};
use hindsight_core::{Command, Commit, Decision, Rejection, State, Unavailable, decide};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The most commits in a batch; a single submission may exceed it.
const BATCH_COMMITS_MAX: usize = 4096;
/// From so many bytes of commits on, nothing more is decided in a batch. A small patch of a large object makes
/// a whole version of it, and all of a batch are held until it is stored.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// Up to so many bytes, what is submitted together is stored in one record. A longer record takes long to read for
/// whoever needs one commit of it.
const TOGETHER_BYTES_MAX: usize = 8 << 20;

/// Submissions that were decided together, before it is known whether there is disk space for them.
#[derive(Default)]
struct Round {
    /// About the bytes of what they change.
    bytes: usize,
    decided: Vec<Decided>,
    /// The size of the smallest submission that is not a deletion, in bytes.
    smallest_write: Option<usize>,
}

struct Decided {
    answer: Answer,
    /// What is decided again if there is no space for all that came with it, if this only deletes. Everything else is
    /// refused then.
    deletions: Option<Vec<Command>>,
}

pub(super) struct Decider {
    draft: Draft,
    poison: Poison,
    space: SpaceGate,
    /// Limit of what is decided together, in bytes. A larger decision is refused.
    decision_bytes_max: usize,
}

impl Decider {
    pub(super) const fn new(state: State, poison: Poison, space: SpaceGate) -> Self {
        Self {
            draft: Draft::new(state),
            poison,
            space,
            decision_bytes_max: DECISION_BYTES_MAX,
        }
    }

    /// Decides the first submission, and as many of the rest as fit into a batch. On a full disk each that
    /// changes something is a batch of its own: one for which there is no space takes no other along.
    pub(super) fn batch(
        &mut self,
        first: Submission,
        mut rest: impl Iterator<Item = Submission>,
    ) -> Batch {
        let start = self.draft.mark();
        let mut round = Round::default();
        let mut next = Some(first);
        self.space.check_space();
        while let Some(submission) = next {
            self.decide_submission(submission, &mut round);
            let takes_more = self.draft.changes().len() < BATCH_COMMITS_MAX
                && round.bytes < BATCH_BYTES_MAX
                && (self.space.admits_writes() || self.draft.changes().is_empty());
            next = takes_more.then(|| rest.next()).flatten();
        }
        let (round, unstored) = self.fit(round, start);
        let answers = round.decided.into_iter().map(|one| one.answer);
        self.draft.batch(answers.collect(), unstored)
    }

    /// Takes space for the whole round. If there is none, then for what of it only deletes, and else for nothing: what
    /// has no space is refused.
    fn fit(&mut self, mut round: Round, start: Mark) -> (Round, Unstored) {
        if let Some(unstored) = self.space.admit(round.bytes, round.smallest_write) {
            return (round, unstored);
        }
        if round.decided.len() > 1 {
            round = self.only_deletions(round, &start);
            if let Some(unstored) = self.space.admit(round.bytes, round.smallest_write) {
                return (round, unstored);
            }
        }
        self.draft.back_to(start);
        for one in &mut round.decided {
            one.answer.outcome = Err(Unavailable::Full);
        }
        (round, self.space.take(0))
    }

    fn decide_submission(&mut self, Submission { commands, reply }: Submission, round: &mut Round) {
        let is_deletion = are_deletions(&commands);
        if !is_deletion && !self.space.admits_writes() {
            let outcome = Err(Unavailable::Full);
            round.decided.push(Decided {
                answer: Answer { reply, outcome },
                deletions: None,
            });
            return;
        }
        let deletions = is_deletion.then(|| commands.clone());
        let is_rewriting = only_rewrite(&commands);
        let (outcome, bytes) = self.decide_together(commands);
        round.bytes += bytes;
        let deletions = deletions.filter(|_| !is_rewriting || bytes <= REWRITTEN_BYTES_MAX);
        if deletions.is_none() && bytes > 0 {
            let smallest = round.smallest_write.map_or(bytes, |known| known.min(bytes));
            round.smallest_write = Some(smallest);
        }
        round.decided.push(Decided {
            answer: Answer { reply, outcome },
            deletions,
        });
    }

    /// The deletions of a round, decided again without its writes, which they may depend on. Each for which there is no
    /// space beside those before it is refused alone.
    fn only_deletions(&mut self, mut round: Round, start: &Mark) -> Round {
        self.draft.back_to(start.clone());
        round.bytes = 0;
        round.smallest_write = None;
        for one in &mut round.decided {
            one.answer.outcome = Err(Unavailable::Full);
            let Some(commands) = one.deletions.take() else {
                continue;
            };
            let before = self.draft.mark();
            let (outcome, bytes) = self.decide_together(commands);
            if self.space.has_space(round.bytes + bytes) {
                round.bytes += bytes;
                one.answer.outcome = outcome;
            } else {
                self.draft.back_to(before);
            }
        }
        round
    }

    /// Decides what was submitted together, and returns about how many bytes it takes. A crash leaves all of it or
    /// nothing, unless it is too much for one record.
    fn decide_together(&mut self, commands: Vec<Command>) -> (Submitted, usize) {
        let before = self.draft.changes().len();
        let outcome = self.decide_all(commands);
        let together = self.draft.changes().get(before..).unwrap_or_default();
        let bytes = estimated_bytes_of(together);
        if bytes <= TOGETHER_BYTES_MAX {
            self.draft.join_from(before);
        }
        (outcome, bytes)
    }

    fn decide_all(&mut self, commands: Vec<Command>) -> Submitted {
        let mut answers = Vec::with_capacity(commands.len());
        for command in commands {
            if let Some(reason) = self.poison.reason() {
                return Err(Unavailable::Poisoned(reason.to_owned()));
            }
            answers.push(self.decide_one(command)?);
        }
        Ok(answers)
    }

    /// Decides one command. A panic is a defect; it poisons the log, so that no half-decided state is
    /// used.
    fn decide_one(&mut self, command: Command) -> Result<Result<Decision, Rejection>, Unavailable> {
        let state = self.draft.state();
        let Ok(decided) = catch_unwind(AssertUnwindSafe(|| decide(state, command))) else {
            let reason = "a decision ended in a panic";
            self.poison.set(reason.into());
            return Err(Unavailable::Poisoned(reason.into()));
        };
        Ok(decided.and_then(|decision| {
            self.check_size(&decision)?;
            match self.apply_all(&decision.commits) {
                Ok(()) => Ok(decision),
                Err(violation) => Err(refusal(&violation)),
            }
        }))
    }

    /// Refuses what could not be stored as one record: the log would fail at it, and those who asked would ask
    /// again after the next start.
    fn check_size(&self, decision: &Decision) -> Result<(), Rejection> {
        let bytes = Commit::estimated_bytes_of_all(decision.commits.iter().map(|one| &**one));
        if bytes <= self.decision_bytes_max {
            return Ok(());
        }
        Err(Rejection::TooLarge(format!(
            "nothing was written: what has to be written together would take about {bytes} bytes, and a record \
             may take {}",
            self.decision_bytes_max
        )))
    }

    /// Applies all commits of a decision, or none.
    fn apply_all(&mut self, commits: &[Arc<Commit>]) -> Result<(), Violation> {
        // While a mark exists, every step copies what it touches; of a single commit there is nothing to undo.
        let before = (commits.len() > 1).then(|| self.draft.mark());
        for (index, commit) in commits.iter().enumerate() {
            if let Err(violation) = invariants::check(self.draft.state(), commit) {
                if let Some(before) = before {
                    self.draft.back_to(before);
                }
                return Err(violation);
            }
            self.draft.push(commit, index > 0);
        }
        Ok(())
    }
}

/// The answer to a decision that would violate an invariant. That is a defect, found before it did harm.
fn refusal(violation: &Violation) -> Rejection {
    tracing::error!(%violation, "refused a decision that breaks an invariant");
    Rejection::Internal(format!("nothing was written: {violation}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;
    use crate::writer::tests::{create, empty};
    use hindsight_core::{Intent, Revision, apply};
    use std::collections::BTreeSet;

    /// The commits that get these revisions next must not be joined into a frame with earlier ones.
    #[test]
    fn of_a_decision_that_is_refused_in_its_middle_nothing_is_left() {
        let space = SpaceGate::new(Arc::new(MemoryStorage::default()));
        let mut decider = Decider::new(empty(), Poison::default(), space);
        let mut commits = Vec::new();
        let mut state = empty();
        for name in ["a", "b"] {
            let decision = decide(&state, create(name)).expect("decided");
            for commit in decision.commits {
                apply(&mut state, &commit);
                commits.push(commit);
            }
        }
        let again = Arc::clone(&commits[0]);
        let refused = decider.apply_all(&[&commits[..], &[again]].concat());
        assert_eq!(refused.expect_err("out of order").revision, Revision(1));
        assert_eq!(decider.draft.state().revision, Revision::ZERO);
        let left = decider.draft.batch(Vec::new(), decider.space.take(0));
        assert!(left.changes.is_empty() && left.joined.is_empty());
    }

    #[test]
    fn a_decision_that_no_record_could_hold_is_refused_and_the_next_is_not() {
        let space = SpaceGate::new(Arc::new(MemoryStorage::default()));
        let mut decider = Decider::new(empty(), Poison::default(), space);
        let decision = decide(&empty(), create("a")).expect("decided");
        let bytes = decision.commits[0].estimated_bytes();
        for (limit, is_written) in [(bytes - 1, false), (bytes, true)] {
            decider.decision_bytes_max = limit;
            let decided = decider.decide_one(create("a"));
            let decided = decided.expect("the log has not failed");
            let is_too_large = matches!(&decided, Err(Rejection::TooLarge(_)));
            assert_eq!((decided.is_ok(), is_too_large), (is_written, !is_written));
            assert_eq!(decider.draft.changes().len(), usize::from(is_written));
        }
    }

    const EACH: usize = 250 << 10;

    /// The creation of an object of so many bytes.
    fn large(index: usize) -> Command {
        let mut command = create(&format!("n{index}"));
        if let Intent::Create(create) = &mut command.intent {
            let text = "v".repeat(EACH);
            create.object["metadata"]["annotations"] = serde_json::json!({"a": text});
        }
        command
    }

    fn submission(commands: Vec<Command>) -> Submission {
        let reply = |_| {};
        Submission {
            commands,
            reply: Box::new(reply),
        }
    }

    #[test]
    fn what_is_submitted_together_is_stored_together_unless_it_is_too_much() {
        // As `docs/reliability.md` says.
        let fits = (8 << 20) / EACH - 1;
        for (count, is_joined) in [(1, false), (3, true), (fits, true), (fits + 2, false)] {
            let space = SpaceGate::new(Arc::new(MemoryStorage::default()));
            let mut decider = Decider::new(empty(), Poison::default(), space);
            let other = submission(vec![create("other")]);
            let together = submission((0..count).map(large).collect());
            let batch = decider.batch(other, std::iter::once(together));
            assert_eq!(batch.changes.len(), count + 1);
            let after_first = batch.changes.iter().skip(2);
            let joined = after_first.map(|change| change.commit.revision);
            let joined: BTreeSet<Revision> = joined.filter(|_| is_joined).collect();
            assert_eq!(batch.joined, joined, "{count}");
        }
    }

    #[test]
    fn a_batch_ends_once_it_holds_many_commits() {
        let space = SpaceGate::new(Arc::new(MemoryStorage::default()));
        let mut decider = Decider::new(empty(), Poison::default(), space);
        let each = 64;
        let submission = |index| {
            let names = (0..each).map(|one| create(&format!("n{index}-{one}")));
            submission(names.collect())
        };
        // As `docs/reliability.md` says.
        let most = 4096 / each;
        let mut waiting = (0..most + 2).map(submission);
        let first = waiting.next().expect("one");
        let batch = decider.batch(first, &mut waiting);
        assert_eq!((batch.changes.len(), waiting.len()), (4096, 2));
    }

    #[test]
    fn a_batch_ends_once_it_holds_much() {
        let space = SpaceGate::new(Arc::new(MemoryStorage::default()));
        let mut decider = Decider::new(empty(), Poison::default(), space);
        let large = |index| submission(vec![large(index)]);
        let most = BATCH_BYTES_MAX / EACH + 1;
        let mut waiting = (0..2 * most).map(large);
        let first = waiting.next().expect("one");
        let batch = decider.batch(first, &mut waiting);
        assert_eq!(batch.changes.len(), batch.answers.len());
        assert!((most - 1..=most).contains(&batch.changes.len()));
        assert_eq!(waiting.len(), 2 * most - batch.changes.len());
    }
}
