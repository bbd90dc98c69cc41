//! The state machine and its collector, in one thread and without storage.

use crate::causes::Causes;
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Actor, Cause, Change, Command, Decision, Event, Intent, Rejection, State, Time, apply, builtin,
    decide,
};
use hindsight_gc::{Collector, Orders, Step};
use hindsight_projector::Audit;
use std::convert::Infallible;
use std::sync::{Arc, LazyLock};

/// The command with this number; the clock ticks once per command.
pub fn command(number: u64, intent: Intent, cause: Cause) -> Command {
    static ACTOR: LazyLock<Arc<Actor>> = LazyLock::new(|| Arc::new(Actor::new("tester")));
    let actor = Arc::clone(&ACTOR);
    Command {
        cause,
        ..Command::new(actor, second(number), seed(0, number), intent)
    }
}

fn seed(uids: u64, number: u64) -> [u8; 16] {
    let mut seed = [0; 16];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed[8..].copy_from_slice(&uids.to_le_bytes());
    seed
}

fn second(number: u64) -> Time {
    Time(
        i64::try_from(number)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000_000),
    )
}

/// A world that is driven by hand.
#[derive(Debug)]
pub struct World {
    /// The state.
    pub state: State,
    /// Every change so far.
    pub changes: Vec<Arc<Change>>,
    collector: Collector,
    /// Steps of the collector that are not decided yet.
    planned: Vec<Step>,
    audit: Audit,
    orders: Orders,
    causes: Causes,
    requests: u64,
    uids: u64,
}

impl World {
    /// An empty world with the built-in kinds.
    pub fn new() -> Self {
        Self::with_uids(0)
    }

    /// A world whose UIDs differ from those of a world with another number.
    pub fn with_uids(uids: u64) -> Self {
        // The table of kinds is the same for all worlds, and slow to build.
        static EMPTY: LazyLock<State> =
            LazyLock::new(|| State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None))));
        let state = State::clone(&EMPTY);
        let collector = Collector::new(&state);
        let audit = Audit::new(state.clone());
        Self {
            state,
            changes: Vec::new(),
            collector,
            planned: Vec::new(),
            audit,
            orders: Orders::default(),
            causes: Causes::default(),
            requests: 0,
            uids,
        }
    }

    /// Decides and applies a client's request.
    pub fn run(&mut self, intent: Intent) -> Result<Decision, Rejection> {
        let command = self.request(intent);
        self.carry_out(command)
    }

    /// The same for another user.
    pub fn run_by(&mut self, user: &str, intent: Intent) -> Result<Decision, Rejection> {
        let command = self.request(intent);
        self.carry_out(Command {
            actor: Arc::new(Actor::new(user)),
            ..command
        })
    }

    /// The next request. Its UID depends on the requests before it alone, not on what the collector did.
    fn request(&mut self, intent: Intent) -> Command {
        self.requests += 1;
        let command = command(self.requests, intent, Cause::Request);
        Command {
            time: self.now(),
            seed: seed(self.uids, self.requests),
            ..command
        }
    }

    fn step(&mut self, step: Step) -> Result<Decision, Rejection> {
        let seed = seed(!self.uids, self.state.revision.0);
        let command = step.command(self.now(), seed);
        self.carry_out(command)
    }

    fn carry_out(&mut self, command: Command) -> Result<Decision, Rejection> {
        let decision = decide(&self.state, command)?;
        for commit in &decision.commits {
            let parted = self.orders.observe(&self.state, commit);
            parted.expect("the order of steps does not matter");
            self.audit
                .check_and_apply(commit)
                .expect("no decision breaks a rule");
            self.causes
                .take(commit)
                .expect("removals name their causes");
            let previous = apply(&mut self.state, commit);
            let commit = Arc::clone(commit);
            let change = Change { commit, previous };
            self.collector.observe(&change);
            self.changes.push(Arc::new(change));
        }
        Ok(decision)
    }

    fn now(&self) -> Time {
        second(self.requests + self.state.revision.0)
    }

    /// Collects until it rests, `limit` steps at a time; panics if it never does.
    pub fn settle(&mut self, limit: usize) {
        for _ in 0..100_000 {
            if !self.turn(limit) {
                return;
            }
        }
        panic!("the collector does not come to rest");
    }

    /// Plans one batch of the collector, to be decided at its next turn, whatever happens before that.
    pub fn plan(&mut self, limit: usize) {
        if self.planned.is_empty() {
            self.planned = self.collector.next_batch(&self.state, self.now(), limit);
            self.causes.plan(self.state.revision);
        }
    }

    /// The same with a restart before each batch: collects until a batch writes nothing.
    pub fn settle_with_restarts(&mut self, limit: usize) {
        for _ in 0..100_000 {
            self.restart();
            let before = self.state.revision;
            self.turn(limit);
            if self.state.revision == before {
                return;
            }
        }
        panic!("the collector does not come to rest");
    }

    /// Runs one batch of the collector; false if nothing is due.
    pub fn turn(&mut self, limit: usize) -> bool {
        self.plan(limit);
        let batch = std::mem::take(&mut self.planned);
        if batch.is_empty() {
            return false;
        }
        let answers: Vec<Result<Decision, Rejection>> =
            batch.into_iter().map(|step| self.step(step)).collect();
        self.collector
            .settle(answers.iter().map(|answer| answer.as_ref().map(|_| ())));
        true
    }

    /// What happened, for the message of a failing test.
    pub fn history(&self) -> String {
        tell(&self.changes)
    }

    /// Replaces the collector by one as after a restart.
    pub fn restart(&mut self) {
        self.planned.clear();
        self.collector = Collector::new(&self.state);
        let back = self.changes.iter().rev();
        let back = back.map(|change| Ok::<_, Infallible>(Arc::clone(&change.commit)));
        self.collector.recall(back).expect("it reads");
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// What happened, one line per commit.
pub fn tell(changes: &[Arc<Change>]) -> String {
    let line = |change: &Arc<Change>| {
        let commit = &change.commit;
        let facts: Vec<String> = commit.events.iter().map(fact).collect();
        format!(
            "{:>5} {} {} {}\n",
            commit.revision,
            commit.key,
            commit.uid,
            facts.join(", ")
        )
    };
    changes.iter().map(line).collect()
}

fn fact(event: &Event) -> String {
    let name = format!("{event:?}");
    let name = name.split([' ', '{']).next().unwrap_or_default().to_owned();
    match event {
        Event::FinalizerAdded { finalizer } | Event::FinalizerRemoved { finalizer } => {
            format!("{name} {finalizer}")
        }
        Event::OwnerAdded { owner }
        | Event::OwnerRemoved { owner }
        | Event::OwnerChanged { to: owner, .. } => format!("{name} {} {}", owner.name, owner.uid),
        Event::DeletionRequested { rule, .. } | Event::ObjectDeleted { rule, .. } => {
            format!("{name} {}", rule.name())
        }
        Event::ObjectCreated { .. } | Event::ObjectUpdated { .. } => name,
    }
}
