//! The whole frames at the end of the log: their bytes, their age, and how many of them a policy allows
//! to be thinned.

use super::Retention;
use super::commit_clock::CommitClock;
use crate::frame::decoded::{Coverage, DecodedFrame};
use hindsight_core::{Revision, Time};
use std::collections::VecDeque;

/// Consecutive frames are counted together, in extents of at most this many bytes and frames.
const EXTENT_BYTES: u64 = 64 << 10;
const EXTENT_FRAMES: u32 = 256;
/// The retention age divided by this is the most that an extent may span.
const EXTENTS_IN_AN_AGE: i64 = 64;

#[derive(Debug)]
pub(super) struct Aging {
    /// In microseconds; the greatest number if age is no reason to drop anything.
    age: i64,
    bytes_max: Option<u64>,
    clock: CommitClock,
    span_max: i64,
    extents: VecDeque<Extent>,
    /// The newest frame, which always stays whole.
    newest: Option<Extent>,
    bytes: u64,
}

/// Some consecutive frames.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// The last revision of the last frame.
    end: Revision,
    bytes: u64,
    frames: u32,
    /// The positions of the first frame and of the last, by [`CommitClock`].
    from: i64,
    until: i64,
}

impl Aging {
    pub(super) fn new(policy: &Retention) -> Self {
        let age = policy.age_micros.unwrap_or(i64::MAX);
        Self {
            age,
            bytes_max: policy.bytes,
            clock: CommitClock::of(age),
            span_max: age / EXTENTS_IN_AN_AGE,
            extents: VecDeque::new(),
            newest: None,
            bytes: 0,
        }
    }

    /// Adds the next frame.
    pub(super) fn push(&mut self, frame: &DecodedFrame) {
        let mark = match frame.links.coverage {
            Coverage::Restored(time) => Some(time),
            Coverage::Whole | Coverage::Thinned { .. } => None,
        };
        let times = frame.commits.iter().map(|commit| commit.time).chain(mark);
        let times = times.map(|time| self.clock.advance(time));
        let (from, until) = times.fold((i64::MAX, i64::MIN), |(from, until), time| {
            (from.min(time), until.max(time))
        });
        let bytes = u64::try_from(frame.links.stored_bytes).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
        let extent = Extent {
            end: frame.links.last(),
            bytes,
            frames: 1,
            from,
            until,
        };
        if let Some(before) = self.newest.replace(extent) {
            self.join(before);
        }
    }

    fn join(&mut self, one: Extent) {
        match self.extents.back_mut() {
            Some(last)
                if last.bytes + one.bytes <= EXTENT_BYTES
                    && last.frames < EXTENT_FRAMES
                    && one.until.saturating_sub(last.from) <= self.span_max =>
            {
                last.end = one.end;
                last.bytes += one.bytes;
                last.frames += 1;
                last.until = one.until;
            }
            _ => self.extents.push_back(one),
        }
    }

    /// The last revision that need not be kept whole; never after `limit`.
    pub(super) fn cut(&self, now: Time, limit: Revision) -> Revision {
        let now = self.clock.position_at(now);
        let mut bytes = self.bytes;
        let mut cut = Revision::ZERO;
        for extent in &self.extents {
            let is_old = now.saturating_sub(extent.until) > self.age;
            let is_much = self.bytes_max.is_some_and(|most| bytes > most);
            if !is_old && !is_much || cut == limit {
                break;
            }
            cut = extent.end.min(limit);
            bytes -= extent.bytes;
        }
        cut
    }

    /// Removes the first frame, which ends at `end` and is no longer whole.
    pub(super) fn pop(&mut self, end: Revision, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(first) = self.extents.front_mut() {
            first.bytes = first.bytes.saturating_sub(bytes);
            if first.end <= end {
                self.extents.pop_front();
            }
        }
    }
}
