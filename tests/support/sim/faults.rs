//! Carries out the faults of a schedule.

use super::check::{Checked, ensure};
use super::disk::{Fault, Room};
use super::steps::Act;
use super::{Running, Simulation};
use hindsight_log::Error;

/// Room for a step of the collector, and not for many.
const FEW_BYTES: usize = 2_000;
/// The most submissions in a row that are turned away.
const OVERLOADED_MAX: u64 = 4;
/// One in this many kills and cuts lets no batch be written first.
const UNBROKEN_EVERY: u64 = 4;
/// Requests that such a batch has besides those that wait, fewer than this.
const BROKEN_REQUESTS: u64 = 4;
/// The appends of a batch at which it breaks off, unless its sync comes first.
const BROKEN_APPENDS: u64 = 4;
/// The most that the clock jumps: ten years, in microseconds.
const JUMP_MICROS_MAX: u64 = 10 * 365 * 86_400 * 1_000_000;

impl Simulation {
    /// Carries out one fault.
    pub(super) fn fault(&mut self, act: Act) {
        match act {
            Act::Cut => {
                self.break_off_a_batch(Fault::PowerCut);
                self.cut_power();
            }
            Act::Kill if self.running.is_some() => {
                self.break_off_a_batch(Fault::Killed);
                self.kill();
            }
            Act::Full => self.fill(),
            Act::Room => {
                let mut disk = self.disk.inner();
                disk.full = false;
                disk.room = Room::Plenty;
            }
            Act::Overload => {
                self.overloaded = 1 + self.dice.roll(OVERLOADED_MAX);
                self.trace.note("overload", self.overloaded);
            }
            Act::Slow => {
                self.slow = self.dice.roll(20);
                self.trace.note("slow", self.slow);
            }
            Act::Rot => self.rot(),
            Act::Unreadable => self.refuse_a_read(),
            Act::Clock => self.jump_clock(),
            Act::Stall => self.stall(),
            Act::Disconnect => self.break_stream(),
            Act::Repair if self.running.is_none() && self.disk.is_damaged() => {
                self.disk.repair();
                self.trace.note("repair", "");
            }
            _ => {}
        }
    }

    /// Mostly lets the next batch be written up to one of its appends or its sync, which is not done any more.
    /// Between two steps nothing is unsynced, because a batch is appended and synced in one.
    fn break_off_a_batch(&mut self, fault: Fault) {
        if self.dice.roll(UNBROKEN_EVERY) == 0 {
            return;
        }
        for _ in 0..self.dice.roll(BROKEN_REQUESTS) {
            self.request();
        }
        let (writes, has_small_frames) = (self.dice.roll(BROKEN_APPENDS), self.dice.roll(2) == 0);
        let Some(Running { mut server, .. }) = self.running.take() else {
            return;
        };
        if has_small_frames {
            server = server.with_small_frames();
        }
        server.decide();
        self.disk.inner().arm_within_a_batch(writes, fault);
        server.sync();
        if self.disk.inner().armed.is_none() {
            self.trace.note("broken off", format_args!("{fault:?}"));
        }
    }

    /// Fills the disk: it reports no room for writes, for more than a few deletions or for anything, or fails an append although it
    /// reported room.
    fn fill(&mut self) {
        let mut disk = self.disk.inner();
        match self.dice.roll(4) {
            0 => disk.full = true,
            1 => disk.room = Room::Deletions,
            2 => disk.room = Room::FewDeletions(FEW_BYTES),
            _ => disk.room = Room::Nothing,
        }
        self.trace
            .note("full", format_args!("{} {:?}", disk.full, disk.room));
    }

    /// Starts the process if it is down. An operator makes room on a full disk first.
    pub(super) fn start_again(&mut self) -> Checked {
        if self.running.is_some() {
            return Ok(());
        }
        self.disk.inner().full = false;
        self.start()
    }

    /// Refuses the next read, or, if the process is down, one of the reads of its start.
    fn refuse_a_read(&mut self) {
        let reads = if self.running.is_none() {
            self.dice.roll(6)
        } else {
            0
        };
        self.disk.inner().unreadable = Some(reads);
        self.trace.note("unreadable", reads);
    }

    /// Arms a fault for one of the next writes; for the first if the process is down, because a
    /// starting process syncs before it does anything else.
    pub(super) fn arm(&mut self, fault: Fault) {
        let writes = if self.running.is_none() {
            0
        } else {
            self.dice.roll(6)
        };
        self.disk.inner().armed = Some((writes, fault));
        self.trace
            .note("armed", format_args!("{fault:?} after {writes} writes"));
    }

    fn rot(&mut self) {
        if let Some(first) = self.disk.rot() {
            self.trace.note("rot", first);
        }
    }

    fn jump_clock(&mut self) {
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
            .note("stall", format_args!("of {index} for {turns} turns"));
    }

    fn break_stream(&mut self) {
        let index = self.dice.roll(self.options.watchers as u64);
        self.watchers[usize::try_from(index).expect("small")].disconnect();
        self.trace.note("disconnect", index);
    }

    /// Checks that a failed read of the log is explained by the disk.
    pub(super) fn check_read_error(&mut self, error: &Error, refused_before: u64) -> Checked {
        self.trace.note("unread", error);
        let refused = self.disk.inner().refused > refused_before;
        let explained = self.disk.is_damaged() || refused;
        ensure("a sound log is read", explained, || error.to_string())
    }
}
