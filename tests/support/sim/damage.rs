//! What happens to the disk between two lifetimes of the process, and how it is repaired.

use super::disk::{Disk, Frames, Inner, Room};
use super::options::Faults;
use hindsight_core::Revision;
use std::sync::Arc;

/// How damage is undone.
#[derive(Debug, Clone)]
pub enum Repair {
    /// Put these bytes back, as from a backup.
    Restore(Arc<[u8]>),
    /// Remove this frame and all later ones, which were never acknowledged.
    Cut,
}

impl Inner {
    /// Decides what a power cut leaves of the unsynced frames, and returns which case it was.
    fn settle_unsynced(&mut self, faults: Faults) -> &'static str {
        let unsynced = self.unsynced();
        let is_new = |first: &Revision| !self.durable.contains_key(first);
        if let [first, _, ..] = unsynced[..]
            && faults.lost
            && is_new(&first)
            && self.dice.roll(2) == 0
        {
            let lost = self.dice.roll(unsynced.len() as u64 - 1);
            let lost = usize::try_from(lost).expect("small");
            self.durable = self.live.clone();
            self.durable.remove(&unsynced[lost]);
            self.damage.push((unsynced[lost + 1], Repair::Cut));
            return "lost write";
        }
        let left = self.persist_some();
        if let Some(first) = left
            .first()
            .filter(|first| !self.durable.contains_key(first))
            && faults.torn
            && self.dice.roll(2) == 0
        {
            let bytes = &self.live[first];
            let length = self.dice.roll(bytes.len() as u64);
            let part = bytes[..usize::try_from(length).expect("small")].into();
            self.durable.insert(*first, part);
            self.damage.push((*first, Repair::Cut));
            return "torn write";
        }
        match (unsynced.len() - left.len(), left.len()) {
            (0, 0) => "cut",
            (0, _) => "kept none",
            (_, 0) => "kept all",
            _ => "kept some",
        }
    }
}

impl Disk {
    /// The process is killed; what it wrote is still in the page cache.
    pub fn kill(&self) {
        self.inner().disarm();
    }

    /// The power is cut: of the unsynced frames the first few survive, perhaps followed by a torn
    /// one, or later frames survive without an earlier one. Returns which it was.
    pub fn cut_power(&self, faults: Faults, loses_synced: bool) -> &'static str {
        let mut inner = self.inner();
        let what = inner.settle_unsynced(faults);
        if loses_synced {
            inner.durable.pop_last();
        }
        inner.live = inner.durable.clone();
        inner.witness = inner.durable_witness;
        inner.disarm();
        inner.power_failed = false;
        inner.sync_failed = false;
        what
    }

    /// Flips one bit of one frame, in the cache and on the disk. `None` if no undamaged frame is
    /// left.
    pub fn rot(&self) -> Option<Revision> {
        let mut inner = self.inner();
        let synced: Vec<Revision> = inner.durable.keys().copied().collect();
        let is_sound = |first: &Revision| inner.damage.iter().all(|(other, _)| other != first);
        let sound: Vec<Revision> = synced.into_iter().filter(is_sound).collect();
        if sound.is_empty() {
            return None;
        }
        let first = inner.dice.pick(&sound);
        let bytes = Arc::clone(&inner.durable[&first]);
        let bit = usize::try_from(inner.dice.roll(bytes.len() as u64 * 8)).expect("small");
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let flipped: Arc<[u8]> = flipped.into();
        inner.durable.insert(first, Arc::clone(&flipped));
        inner.live.insert(first, flipped);
        inner.damage.push((first, Repair::Restore(bytes)));
        Some(first)
    }

    /// Whether any frame is damaged.
    pub fn is_damaged(&self) -> bool {
        !self.inner().damage.is_empty()
    }

    /// Repairs all damage as an operator would: first bytes are put back, then frames are removed.
    pub fn repair(&self) {
        let mut inner = self.inner();
        let damage = std::mem::take(&mut inner.damage);
        let (cuts, restored): (Vec<_>, Vec<_>) = damage
            .into_iter()
            .partition(|(_, repair)| matches!(repair, Repair::Cut));
        for (first, repair) in restored.into_iter().chain(cuts) {
            match repair {
                Repair::Restore(bytes) => {
                    inner.durable.insert(first, Arc::clone(&bytes));
                    inner.live.insert(first, bytes);
                }
                Repair::Cut => {
                    drop_from(&mut inner.durable, first);
                    drop_from(&mut inner.live, first);
                }
            }
        }
    }

    /// Disarms every fault and makes room.
    pub fn clear_faults(&self) {
        let mut inner = self.inner();
        inner.disarm();
        inner.full = false;
        inner.room = Room::Plenty;
    }
}

fn drop_from(frames: &mut Frames, first: Revision) {
    drop(frames.split_off(&first));
}
