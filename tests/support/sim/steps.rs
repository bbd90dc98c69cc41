//! The steps of a schedule: chosen by the dice while it runs, or given.

use super::check::Checked;
use super::disk::Fault;
use super::{Simulation, workload};
use crate::dice::Dice;
use crate::naive;
use hindsight_core::Cause;

/// A step takes up to so many microseconds.
const STEP_MICROS_MAX: u64 = 2_000_000;
/// Chances of one step: few enough to be read, and enough for it.
const CHANCES: u64 = 1 << 24;
/// The chance of what is no step: the beginning and the end.
const APART: u64 = CHANCES + 1;

/// One step: who does what. The rest of it falls to its own dice, so that it does the same where
/// others are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Who does what.
    pub act: Act,
    /// What its dice begin with.
    pub chance: u64,
}

/// Who does what. What cannot be done, as a request to a process that is down, is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A client asks for something.
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
    /// Somebody makes room.
    Room,
    /// The next submissions are turned away: too much waits.
    Overload,
    /// The next syncs do not come.
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
    /// The state is written down.
    Snapshot,
    /// The log is thinned.
    Prune,
    /// The log is copied into a file.
    Backup,
    /// The file becomes the log.
    Restore,
    /// An operator repairs the log of a process that is down.
    Repair,
    /// Nobody does anything.
    Wait,
}

impl Act {
    /// Every one of them, by its word.
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

    /// Its word.
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, act)| *act == self);
        found.map_or("wait", |(word, _)| word)
    }
}

impl Simulation {
    /// The next step, as the dice of the schedule fall.
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

    /// Now and then.
    fn choose_backup(&mut self) -> Act {
        match self.chooser.roll(4) {
            0 => Act::Backup,
            1 => Act::Restore,
            _ => Act::Wait,
        }
    }

    /// Sooner or later somebody starts the process again.
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

    /// From here on everything falls to these dice.
    fn reseed(&mut self, chance: u64) {
        let mut dice = Dice(chance);
        self.disk.inner().dice = Dice(dice.roll(u64::MAX));
        self.dice = dice;
    }

    /// What comes before the steps or after them.
    pub(super) fn reseed_apart(&mut self) {
        self.reseed(APART.wrapping_mul(self.options.seed));
    }

    /// One step of somebody.
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
        Ok(())
    }

    /// The namespaces that everybody uses.
    pub(super) fn first_requests(&mut self) -> Checked {
        for name in &workload::NAMESPACES[..2] {
            let intent = naive::create_namespace(name);
            self.send(Some(0), vec![(intent, Cause::Request)]);
        }
        self.decide();
        self.sync()
    }
}
