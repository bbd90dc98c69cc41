//! Drives the collector as the product's driver does: one batch at a time, on what was published when
//! it looked. Of the steps that advance deletions the first part is submitted, and the next if there is no
//! room for that; the rest comes again.

use super::options::Bug;
use super::server::{Answer, Published};
use hindsight_core::{Rejection, State, Time};
use hindsight_gc::{Collector, Step, in_parts, split_advancing};
use hindsight_log::Reader;
use std::collections::{BTreeMap, VecDeque};
use std::vec::IntoIter;

/// What the collector submits in one turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// Steps that advance deletions, and others.
    pub parts: [Vec<Step>; 2],
    /// What of a batch it is.
    pub what: &'static str,
}

/// The collector within one lifetime of the process.
#[derive(Debug)]
pub struct Collecting {
    /// What is broken on purpose.
    bug: Option<Bug>,
    collector: Collector,
    state: State,
    inbox: VecDeque<Published>,
    /// Numbers of the commands of the part that was submitted and is not settled, in order.
    advancing: Vec<u64>,
    /// The parts after it, which are not submitted.
    parts: IntoIter<Vec<Step>>,
    /// The same of the steps that advance no deletion.
    others: Vec<u64>,
    answered: BTreeMap<u64, Answer>,
    /// Whether there is nothing to do until something is published.
    pub idle: bool,
}

impl Collecting {
    /// Starts from a whole state, and recalls from the log what the state does not say.
    pub fn new(state: &State, reader: &Reader, bug: Option<Bug>) -> Self {
        let mut collector = Collector::new(state);
        collector.recall(reader.scan_back(state.revision)).ok();
        Self {
            bug,
            collector,
            state: state.clone(),
            inbox: VecDeque::new(),
            advancing: Vec::new(),
            parts: Vec::new().into_iter(),
            others: Vec::new(),
            answered: BTreeMap::new(),
            idle: false,
        }
    }

    /// Queues a durable batch, which is observed at the collector's next turn.
    pub fn observe(&mut self, published: Published) {
        self.inbox.push_back(published);
        self.idle = false;
    }

    /// The graph, after everything published so far is observed.
    pub fn graph(&mut self) -> &hindsight_projector::OwnershipGraph {
        self.observe_waiting();
        self.collector.graph()
    }

    /// Records the answer to a command; true if the command was the collector's own.
    pub fn note_answer(&mut self, number: u64, answer: &Answer) -> bool {
        let own = self.advancing.contains(&number) || self.others.contains(&number);
        if own {
            self.answered.insert(number, answer.clone());
        }
        own
    }

    /// What is submitted next, in two parts; nothing while earlier steps are under way. Parts end once their
    /// objects take `bytes_max` bytes.
    pub fn turn(&mut self, now: Time, limit: usize, bytes_max: usize) -> Turn {
        let Some(has_room) = self.settle_part(|it| &mut it.advancing) else {
            return Turn::default();
        };
        if !has_room && let Some(part) = self.parts.next() {
            return Turn {
                parts: [part, Vec::new()],
                what: "next part",
            };
        }
        let rest = std::mem::take(&mut self.parts);
        self.collector.requeue(rest.map(|part| part.len()).sum());
        if self.settle_part(|it| &mut it.others).is_none() {
            return Turn::default();
        }
        if self.bug == Some(Bug::CollectorStops) {
            self.refuse();
        }
        self.observe_waiting();
        self.next_batch(now, limit, bytes_max)
    }

    fn next_batch(&mut self, now: Time, limit: usize, bytes_max: usize) -> Turn {
        let mut batch = self.collector.next_batch(&self.state, now, limit);
        self.idle = batch.is_empty();
        if self.bug == Some(Bug::CollectorStops) {
            batch.pop();
        }
        let [advancing, others] = split_advancing(batch);
        self.parts = in_parts(advancing, &self.state, bytes_max).into_iter();
        let first = self.parts.next().unwrap_or_default();
        Turn {
            parts: [first, others],
            what: match self.parts.len() {
                0 => "whole batch",
                _ => "first part",
            },
        }
    }

    /// Records that these commands of the last turn are under way.
    pub fn note_submitted(&mut self, [advancing, others]: [Vec<u64>; 2]) {
        self.advancing = advancing;
        self.others.extend(others);
    }

    /// Settles one of the two parts once all of it is answered, and tells whether there was room for it; `None` if
    /// it is not answered.
    fn settle_part(&mut self, of: fn(&mut Self) -> &mut Vec<u64>) -> Option<bool> {
        let numbers = std::mem::take(of(self));
        if !numbers.iter().all(|one| self.answered.contains_key(one)) {
            *of(self) = numbers;
            return None;
        }
        let answers = numbers.iter().map(|one| self.answered.remove(one));
        let answers: Vec<Answer> = answers.flatten().collect();
        let mut has_room = true;
        for answer in answers {
            has_room &= !matches!(answer, Answer::NoRoom | Answer::Unknown);
            match answer {
                Answer::Decided(decided) => self.settle(decided.as_ref().map(drop)),
                _ if self.bug == Some(Bug::CollectorForgets) => self.refuse(),
                Answer::Overloaded | Answer::NoRoom | Answer::Unknown => self.collector.postpone(1),
            }
        }
        Some(has_room)
    }

    fn settle(&mut self, answer: Result<(), &Rejection>) {
        self.collector.settle(std::iter::once(answer));
    }

    /// Settles a step as refused for good.
    fn refuse(&mut self) {
        self.settle(Err(&Rejection::Unprocessable));
    }

    fn observe_waiting(&mut self) {
        for (state, changes) in self.inbox.drain(..) {
            for change in &changes {
                self.collector.observe(change);
            }
            self.state = state;
        }
    }
}
