//! Drives the collector as the product's driver does: one batch at a time, on what was published when
//! it looked.

use super::options::Bug;
use super::server::{Answer, Published};
use hindsight_core::{Rejection, State, Time};
use hindsight_gc::{Collector, Step};
use hindsight_log::Reader;
use std::collections::{BTreeMap, VecDeque};

/// The collector within one lifetime of the process.
#[derive(Debug)]
pub struct Collecting {
    /// What is broken on purpose.
    bug: Option<Bug>,
    collector: Collector,
    state: State,
    inbox: VecDeque<Published>,
    /// Numbers of the commands that were submitted and not settled, in order.
    in_flight: Vec<u64>,
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
            in_flight: Vec::new(),
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
        let own = self.in_flight.contains(&number);
        if own {
            self.answered.insert(number, answer.clone());
        }
        own
    }

    /// The next steps; none while earlier ones are still under way.
    pub fn turn(&mut self, now: Time, limit: usize) -> Vec<Step> {
        if !self.settle_batch() {
            return Vec::new();
        }
        self.observe_waiting();
        let batch = self.collector.next_batch(&self.state, now, limit);
        self.idle = batch.is_empty();
        batch
    }

    /// Records that these commands are under way.
    pub fn note_submitted(&mut self, numbers: Vec<u64>) {
        self.in_flight = numbers;
    }

    /// Settles the last batch once all of it is answered; false if it is not.
    fn settle_batch(&mut self) -> bool {
        if self.answered.len() < self.in_flight.len() {
            return false;
        }
        let answers = std::mem::take(&mut self.answered);
        self.in_flight.clear();
        for answer in answers.into_values() {
            match answer {
                Answer::Decided(decided) => self.settle(decided.as_ref().map(drop)),
                _ if self.bug == Some(Bug::CollectorForgets) => self.refuse(),
                Answer::TurnedAway | Answer::Unknown => self.collector.postpone(1),
            }
        }
        if self.bug == Some(Bug::CollectorStops) {
            self.refuse();
        }
        true
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
