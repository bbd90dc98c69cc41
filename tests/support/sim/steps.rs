//! The steps of a schedule, which are chosen at random while it runs, or given.

use super::check::Checked;
use super::disk::Fault;
use super::{Simulation, workload};
use crate::dice::Dice;
use crate::naive;
use hindsight_core::Cause;

/// The most simulated microseconds that a step takes.
const STEP_MICROS_MAX: u64 = 2_000_000;
/// Number of seeds that a step's dice may have: few enough to be readable, and enough for one step.
const CHANCES: u64 = 1 << 24;
/// The seed for what is not a step: the beginning and the end of a schedule.
const APART: u64 = CHANCES + 1;

/// One step. Its own dice decide its details, so that it does the same when other steps are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// What is done, and by whom.
    pub act: Act,
    /// The seed of its dice.
    pub chance: u64,
}

/// What is done, and by whom. An act that is not possible, such as a request to a process that is
/// down, does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A client sends a request.
    Request,
    /// A client reads.
    Read,
    /// The writer decides a batch.
    Decide,
    /// The writer makes a batch durable.
    Sync,
    /// The collector takes its turn.
    Collect,
    /// A watch takes its turn.
    Watch,
    /// The process starts.
    Start,
    /// The power fails.
    Cut,
    /// The power will fail at one of the next writes.
    CutSoon,
    /// The process is killed.
    Kill,
    /// The disk will refuse one of the next writes.
    RefuseSoon,
    /// The disk is full.
    Full,
    /// An operator makes room.
    Room,
    /// The next submissions are turned away, as if too much waited.
    Overload,
    /// The next syncs are delayed.
    Slow,
    /// A bit flips.
    Rot,
    /// The disk will refuse one of the next reads.
    Unreadable,
    /// The clock jumps.
    Clock,
    /// A watch stalls.
    Stall,
    /// The stream of a watch breaks.
    Disconnect,
    /// A snapshot is taken.
    Snapshot,
    /// The log is thinned.
    Prune,
    /// A backup is made.
    Backup,
    /// The backup is restored.
    Restore,
    /// An operator repairs the log of a process that is down.
    Repair,
    /// Only time passes.
    Wait,
}

impl Act {
    /// Every act, with its word in scripts.
    pub const WORDS: [(&'static str, Self); 26] = [
        ("request", Self::Request),
        ("read", Self::Read),
        ("decide", Self::Decide),
        ("sync", Self::Sync),
        ("collect", Self::Collect),
        ("watch", Self::Watch),
        ("start", Self::Start),
        ("cut", Self::Cut),
        ("cut-soon", Self::CutSoon),
        ("kill", Self::Kill),
        ("refuse-soon", Self::RefuseSoon),
        ("full", Self::Full),
        ("room", Self::Room),
        ("overload", Self::Overload),
        ("slow", Self::Slow),
        ("rot", Self::Rot),
        ("unreadable", Self::Unreadable),
        ("clock", Self::Clock),
        ("stall", Self::Stall),
        ("disconnect", Self::Disconnect),
        ("snapshot", Self::Snapshot),
        ("prune", Self::Prune),
        ("backup", Self::Backup),
        ("restore", Self::Restore),
        ("repair", Self::Repair),
        ("wait", Self::Wait),
    ];

    /// Its word in scripts.
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, act)| *act == self);
        found.map_or("wait", |(word, _)| word)
    }
}

impl Simulation {
    /// Chooses the next step with the schedule's dice.
    pub(super) fn choose(&mut self) -> Step {
        let act = if self.running.is_some() {
            self.choose_while_up()
        } else {
            self.choose_while_down()
        };
        let chance = self.chooser.roll(CHANCES);
        Step { act, chance }
    }

    fn choose_while_up(&mut self) -> Act {
        match self.chooser.roll(100) {
            0..28 => Act::Request,
            28..36 => Act::Read,
            36..52 => Act::Decide,
            52..68 => Act::Sync,
            68..80 => Act::Collect,
            80..92 => Act::Watch,
            _ => self.choose_fault(),
        }
    }

    fn choose_fault(&mut self) -> Act {
        let faults = self.options.faults;
        let is_poisoned = self.running.as_ref().is_some_and(|one| one.poisoned);
        match self.chooser.roll(18) {
            0 if faults.cuts => Act::Cut,
            1 | 2 if faults.cuts => Act::CutSoon,
            3 if faults.kills => Act::Kill,
            4 if faults.refusals => Act::RefuseSoon,
            5 if faults.full => Act::Full,
            6 => Act::Room,
            7 if faults.slow => Act::Slow,
            8 if faults.rot => Act::Rot,
            9 if faults.unreadable => Act::Unreadable,
            10 if faults.clock => Act::Clock,
            11 if faults.stalls => Act::Stall,
            12 => Act::Disconnect,
            13 | 14 if faults.snapshots => Act::Snapshot,
            15 if faults.prunes => Act::Prune,
            16 if faults.overload => Act::Overload,
            _ if is_poisoned => Act::Kill,
            _ if faults.restores => self.choose_backup(),
            _ => Act::Wait,
        }
    }

    /// A backup or a restore now and then.
    fn choose_backup(&mut self) -> Act {
        match self.chooser.roll(4) {
            0 => Act::Backup,
            1 => Act::Restore,
            _ => Act::Wait,
        }
    }

    /// Sooner or later the process is started again.
    fn choose_while_down(&mut self) -> Act {
        let faults = self.options.faults;
        match self.chooser.roll(12) {
            0 if faults.cuts => Act::Cut,
            1 if faults.rot => Act::Rot,
            2 if faults.unreadable => Act::Unreadable,
            3 => Act::Repair,
            4 if faults.cuts => Act::CutSoon,
            5 if faults.refusals => Act::RefuseSoon,
            6..=9 => Act::Start,
            10 if faults.restores => Act::Restore,
            _ => Act::Wait,
        }
    }

    /// Seeds the dice that make all further choices.
    fn reseed(&mut self, chance: u64) {
        let mut dice = Dice(chance);
        self.disk.inner().dice = Dice(dice.roll(u64::MAX));
        self.dice = dice;
    }

    /// Seeds the dice for what comes before the steps or after them.
    pub(super) fn reseed_apart(&mut self) {
        self.reseed(APART.wrapping_mul(self.options.seed));
    }

    /// Takes one step.
    pub(super) fn take(&mut self, step: Step) -> Checked {
        self.reseed(step.chance);
        let passed = self.dice.roll(STEP_MICROS_MAX);
        self.clock = self
            .clock
            .saturating_add(i64::try_from(passed).expect("small"));
        match step.act {
            Act::Request => self.request(),
            Act::Read => self.read()?,
            Act::Decide => self.decide(),
            Act::Sync => self.sync()?,
            Act::Collect => self.collect(),
            Act::Watch => self.watch()?,
            Act::Start => self.start_again()?,
            Act::Snapshot => self.snapshot()?,
            Act::Prune => self.prune()?,
            Act::Backup => self.back_up()?,
            Act::Restore => self.restore()?,
            Act::CutSoon => self.arm(Fault::PowerCut),
            Act::RefuseSoon => self.arm(Fault::Refused),
            fault => self.fault(fault),
        }
        let errors = std::mem::take(&mut self.disk.inner().errors);
        for kind in errors {
            self.trace.note(kind, "");
        }
        Ok(())
    }

    /// Creates the namespaces that all clients use.
    pub(super) fn first_requests(&mut self) -> Checked {
        for name in &workload::NAMESPACES[..2] {
            let intent = naive::create_namespace(name);
            self.send(Some(0), vec![(intent, Cause::Request)]);
        }
        self.decide();
        self.sync()
    }
}
