//! What clients sent, were answered and read: the history that the checkers judge.

use super::server::Answer;
use hindsight_core::{Command, Decision, Intent, Object, ObjectKey, Rejection, Revision};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One command, from being sent to being answered.
#[derive(Debug)]
pub struct Operation {
    /// Its number, which is also in `request.uri` of what it writes.
    pub number: u64,
    /// The client that sent it; `None` for the collector.
    pub client: Option<usize>,
    /// The command.
    pub command: Command,
    /// The tick at which it was sent.
    pub sent: u64,
    /// The newest revision that was visible then.
    pub base: Revision,
    /// The outcome of a dry run at that moment.
    pub dry_run: Option<Result<Decision, Rejection>>,
    /// How it ended.
    pub end: End,
}

/// How a command ended.
#[derive(Debug)]
pub enum End {
    /// Not answered yet.
    Pending,
    /// The server failed meanwhile: whether the command was carried out is not known.
    Unknown,
    /// Turned away without being decided: too much waited, or there was no room.
    TurnedAway,
    /// Carried out or refused.
    Answered {
        /// The tick of the answer.
        at: u64,
        /// The newest revision that was visible then.
        newest: Revision,
        /// The decision, or why it was refused.
        answer: Result<Decision, Rejection>,
    },
}

/// One read.
#[derive(Debug)]
pub struct Read {
    /// The tick of the read.
    pub at: u64,
    /// The revision of the state that answered.
    pub revision: Revision,
    /// The object that was looked for.
    pub key: ObjectKey,
    /// The version that was found.
    pub found: Option<Arc<Object>>,
}

/// Everything that was sent and read.
#[derive(Debug, Default)]
pub struct Clients {
    /// Every command, by its number.
    pub operations: BTreeMap<u64, Operation>,
    /// Every read, in order.
    pub reads: Vec<Read>,
    /// The numbers of the commands that are not answered yet.
    pending: BTreeSet<u64>,
    /// The last command of each client.
    last: BTreeMap<usize, u64>,
    /// A clock that ticks with everything that can be seen from outside.
    ticks: u64,
}

impl Clients {
    /// Advances the clock by one tick and returns it.
    pub fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    /// Records that a command is sent.
    pub fn send(&mut self, operation: Operation) {
        self.pending.insert(operation.number);
        if let Some(client) = operation.client {
            self.last.insert(client, operation.number);
        }
        self.operations.insert(operation.number, operation);
    }

    /// The number of the next command.
    pub fn next_number(&self) -> u64 {
        self.operations.len() as u64 + 1
    }

    /// Whether this client waits for an answer.
    pub fn is_waiting(&self, client: usize) -> bool {
        self.pending().any(|one| one.client == Some(client))
    }

    /// The last intent of this client, if its outcome is unknown or it was turned away.
    pub fn unanswered_intent(&self, client: usize) -> Option<Intent> {
        let last = self.operations.get(self.last.get(&client)?)?;
        matches!(last.end, End::Unknown | End::TurnedAway).then(|| last.command.intent.clone())
    }

    /// The commands that are not answered yet.
    pub fn pending(&self) -> impl Iterator<Item = &Operation> {
        let numbers = self.pending.iter();
        numbers.filter_map(|number| self.operations.get(number))
    }

    /// Records that a command is answered.
    pub fn answer(&mut self, number: u64, answer: Answer, newest: Revision) {
        let at = self.tick();
        self.pending.remove(&number);
        if let Some(operation) = self.operations.get_mut(&number) {
            operation.end = match answer {
                Answer::Unknown => End::Unknown,
                Answer::Overloaded | Answer::NoRoom => End::TurnedAway,
                Answer::Decided(answer) => End::Answered { at, newest, answer },
            };
        }
    }

    /// The server is gone: the outcome of every pending command stays unknown.
    pub fn forget_pending(&mut self) {
        for number in std::mem::take(&mut self.pending) {
            if let Some(operation) = self.operations.get_mut(&number) {
                operation.end = End::Unknown;
            }
        }
    }
}

impl Operation {
    /// The answer's tick, the visible revision and the decision, if the command was accepted.
    pub fn done(&self) -> Option<(u64, Revision, &Decision)> {
        match &self.end {
            End::Answered {
                at,
                newest,
                answer: Ok(decision),
            } => Some((*at, *newest, decision)),
            _ => None,
        }
    }

    /// Whether the command must not have written anything.
    pub fn wrote_nothing(&self) -> bool {
        matches!(self.end, End::TurnedAway) || self.refused().is_some()
    }

    /// The visible revision and the rejection, if the command was refused.
    pub fn refused(&self) -> Option<(Revision, &Rejection)> {
        match &self.end {
            End::Answered {
                newest,
                answer: Err(rejection),
                ..
            } => Some((*newest, rejection)),
            _ => None,
        }
    }
}
