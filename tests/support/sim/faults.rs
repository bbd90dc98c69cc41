//! What goes wrong, as the dice fall.

use super::Simulation;
use super::check::{Checked, ensure};
use super::disk::Fault;
use hindsight_log::Error;

/// Ten years, in microseconds.
const JUMP_MICROS_MAX: u64 = 10 * 365 * 86_400 * 1_000_000;

impl Simulation {
    /// Nobody answers; sooner or later somebody starts the process again.
    pub(super) fn step_while_down(&mut self) -> Checked {
        let faults = self.options.faults;
        match self.dice.roll(12) {
            0 if faults.cuts => self.cut(),
            1 if faults.rot => self.rot(),
            2 if faults.unreadable => {
                let reads = self.dice.roll(6);
                self.disk.inner().unreadable = Some(reads);
                self.trace.note("unreadable", reads);
            }
            3 if self.disk.is_damaged() => {
                self.disk.repair();
                self.trace.note("repair", "");
            }
            4 if faults.cuts => self.arm(Fault::PowerCut),
            5 if faults.refusals => self.arm(Fault::Refused),
            6..=9 => {
                self.disk.inner().full = false;
                return self.start();
            }
            _ => {}
        }
        Ok(())
    }

    /// One fault of those that this schedule has.
    pub(super) fn fault(&mut self) -> Checked {
        let faults = self.options.faults;
        let poisoned = self
            .running
            .as_ref()
            .is_some_and(|running| running.poisoned);
        match self.dice.roll(17) {
            0 if faults.cuts => self.cut(),
            1 | 2 if faults.cuts => self.arm(Fault::PowerCut),
            3 if faults.kills => self.kill(),
            4 if faults.refusals => self.arm(Fault::Refused),
            5 if faults.full => {
                self.disk.inner().full = true;
                self.trace.note("full", "");
            }
            6 => self.disk.inner().full = false,
            7 if faults.slow => {
                self.slow = self.dice.roll(20);
                self.trace.note("slow", self.slow);
            }
            8 if faults.rot => self.rot(),
            9 if faults.unreadable => {
                self.disk.inner().unreadable = Some(0);
                self.trace.note("unreadable", 0);
            }
            10 if faults.clock => self.jump(),
            11 if faults.stalls => self.stall(),
            12 => self.break_stream(),
            13 | 14 if faults.snapshots => return self.snapshot(),
            15 if faults.prunes => return self.prune(),
            _ if poisoned => self.kill(),
            _ => {}
        }
        Ok(())
    }

    /// A starting process syncs before it does anything else.
    fn arm(&mut self, fault: Fault) {
        let writes = if self.running.is_none() {
            0
        } else {
            self.dice.roll(6)
        };
        self.disk.inner().armed = Some((writes, fault));
        self.trace
            .note("armed", format!("{fault:?} after {writes} writes"));
    }

    fn rot(&mut self) {
        if let Some(first) = self.disk.rot() {
            self.trace.note("rot", first);
        }
    }

    fn jump(&mut self) {
        let micros = i64::try_from(self.dice.roll(JUMP_MICROS_MAX)).expect("ten years");
        let micros = if self.dice.roll(2) == 0 {
            micros
        } else {
            -micros
        };
        self.clock = self.clock.saturating_add(micros).max(0);
        self.trace.note("clock", micros);
    }

    fn stall(&mut self) {
        let turns = self.dice.roll(12);
        let index = self.dice.roll(self.options.watchers as u64);
        self.watchers[usize::try_from(index).expect("small")].stalled = turns;
        self.trace
            .note("stall", format!("of {index} for {turns} turns"));
    }

    fn break_stream(&mut self) {
        let index = self.dice.roll(self.options.watchers as u64);
        self.watchers[usize::try_from(index).expect("small")].disconnect();
        self.trace.note("disconnect", index);
    }

    /// A read of the log failed: it says so, and only where the disk is to blame.
    pub(super) fn unread(&mut self, error: &Error, refused_before: u64) -> Checked {
        self.trace.note("unread", error);
        let refused = self.disk.inner().refused > refused_before;
        let explained = self.disk.is_damaged() || refused;
        ensure("a sound log is read", explained, || error.to_string())
    }
}
