//! What clients sent, were told and read: the history that the checkers judge.

use super::server::Answer;
use hindsight_core::{Command, Decision, Intent, ObjectKey, Rejection, Revision, Uid};
use std::collections::{BTreeMap, BTreeSet};

/// One command, from being sent to being answered.
#[derive(Debug)]
pub struct Operation {
    /// Its number, which is also in `request.id` of what it writes.
    pub number: u64,
    /// Who sent it; nobody for the collector.
    pub client: Option<usize>,
    /// What it was.
    pub command: Command,
    /// When it was sent.
    pub sent: u64,
    /// What was visible then.
    pub base: Revision,
    /// What a dry run said then.
    pub dry: Option<Result<Decision, Rejection>>,
    /// What became of it.
    pub end: End,
}

/// What became of a command.
#[derive(Debug)]
pub enum End {
    /// Not answered yet.
    Pending,
    /// The server failed meanwhile: done or not, nobody was told.
    Unknown,
    /// Nothing was done: too much waited, or there was no room.
    TurnedAway,
    /// Answered.
    Answered {
        /// When.
        at: u64,
        /// What was visible then.
        newest: Revision,
        /// With what.
        answer: Result<Decision, Rejection>,
    },
}

/// One read.
#[derive(Debug)]
pub struct Read {
    /// When.
    pub at: u64,
    /// The state that answered.
    pub revision: Revision,
    /// What was looked for.
    pub key: ObjectKey,
    /// What was there.
    pub found: Option<(Uid, Revision)>,
}

/// Everything that was sent and read.
#[derive(Debug, Default)]
pub struct Clients {
    /// By number.
    pub operations: BTreeMap<u64, Operation>,
    /// In order.
    pub reads: Vec<Read>,
    /// Numbers of those that are not answered.
    pending: BTreeSet<u64>,
    /// The last command of each client.
    last: BTreeMap<usize, u64>,
    /// One number for everything that can be seen from outside.
    ticks: u64,
}

impl Clients {
    /// The next moment.
    pub fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    /// A command is sent.
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
    pub fn waits(&self, client: usize) -> bool {
        self.pending().any(|one| one.client == Some(client))
    }

    /// What this client sent last, where nobody told it what became of that, or nothing did.
    pub fn unheard(&self, client: usize) -> Option<Intent> {
        let last = self.operations.get(self.last.get(&client)?)?;
        matches!(last.end, End::Unknown | End::TurnedAway).then(|| last.command.intent.clone())
    }

    /// Commands that are not answered.
    pub fn pending(&self) -> impl Iterator<Item = &Operation> {
        let numbers = self.pending.iter();
        numbers.filter_map(|number| self.operations.get(number))
    }

    /// A command is answered.
    pub fn answer(&mut self, number: u64, answer: Answer, newest: Revision) {
        let at = self.tick();
        self.pending.remove(&number);
        if let Some(operation) = self.operations.get_mut(&number) {
            operation.end = match answer {
                Answer::Unknown => End::Unknown,
                Answer::TurnedAway => End::TurnedAway,
                Answer::Decided(answer) => End::Answered { at, newest, answer },
            };
        }
    }

    /// The server is gone: nobody will hear what became of what is under way.
    pub fn forget_pending(&mut self) {
        for number in std::mem::take(&mut self.pending) {
            if let Some(operation) = self.operations.get_mut(&number) {
                operation.end = End::Unknown;
            }
        }
    }
}

impl Operation {
    /// What it was answered with, where it was done.
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

    /// Whether nothing may come of it.
    pub fn wrote_nothing(&self) -> bool {
        matches!(self.end, End::TurnedAway) || self.refused().is_some()
    }

    /// Why it was refused, where it was.
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
