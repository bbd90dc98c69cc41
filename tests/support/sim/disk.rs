//! A simulated disk that can lose power, tear writes and fill up: it keeps what was written, and what
//! of that would survive.

use super::damage::Repair;
use crate::dice::Dice;
use hindsight_core::Revision;
use hindsight_log::{Error, Purpose, Records, Storage, Stored, Tail, Witnessed};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard};

/// Frames by their first revision.
pub type Frames = BTreeMap<Revision, Arc<[u8]>>;

/// A fault that is armed for a later operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The power fails: this write and all later ones are refused.
    PowerCut,
    /// The operation is refused; whether it took effect is not known.
    Refused,
    /// The process is killed before the operation.
    Killed,
}

/// What the disk reports room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Everything.
    Plenty,
    /// Only deletions, for which some space is reserved.
    Deletions,
    /// Only deletions that take no more bytes than this.
    FewDeletions(usize),
    /// Nothing.
    Nothing,
}

/// The simulated storage.
#[derive(Debug)]
pub struct Disk {
    inner: Mutex<Inner>,
}

/// The contents of a [`Disk`], behind its mutex.
#[derive(Debug)]
pub struct Inner {
    /// The frames that readers see: the page cache.
    pub live: Frames,
    /// The frames that a power cut leaves.
    pub durable: Frames,
    /// The witness of the acknowledged end of the log, as readers see it.
    pub witness: Option<Tail>,
    /// The witness that a power cut leaves.
    pub durable_witness: Option<Tail>,
    /// The frames that replaced others, by their bytes: the last revision of each.
    pub replaced: BTreeMap<Arc<[u8]>, Revision>,
    /// The damaged frames, and how each is repaired.
    pub damage: Vec<(Revision, Repair)>,
    /// The disk's own source of chance.
    pub dice: Dice,
    /// Writes until the armed fault.
    pub armed: Option<(u64, Fault)>,
    /// The armed fault is due at the next sync, however many writes are left until it.
    pub is_due_at_sync: bool,
    /// Reads until one is refused.
    pub unreadable: Option<u64>,
    /// There is no room for another frame, whatever `room` reports: others fill the disk meanwhile.
    pub full: bool,
    /// What it reports when it is asked for room.
    pub room: Room,
    /// The power has failed.
    pub power_failed: bool,
    /// A sync was refused: whether the cache is on the disk is not known.
    pub sync_failed: bool,
    /// Whether syncs report success and do nothing.
    pub ignores_sync: bool,
    /// Whether notes are reported as durable that are not.
    pub ignores_notes: bool,
    /// Refusals so far, reads included.
    pub refused: u64,
    /// Refusals of writes and syncs so far.
    pub refused_writes: u64,
    /// The I/O errors that the trace has not been told of: each is the armed fault that was due.
    pub errors: Vec<&'static str>,
}

impl Disk {
    /// An empty disk.
    pub fn new(dice: Dice, ignores_sync: bool) -> Self {
        let inner = Inner {
            live: Frames::new(),
            durable: Frames::new(),
            witness: None,
            durable_witness: None,
            replaced: BTreeMap::new(),
            damage: Vec::new(),
            dice,
            armed: None,
            is_due_at_sync: false,
            unreadable: None,
            full: false,
            room: Room::Plenty,
            power_failed: false,
            sync_failed: false,
            ignores_sync,
            ignores_notes: false,
            refused: 0,
            refused_writes: 0,
            errors: Vec::new(),
        };
        Self {
            inner: Mutex::new(inner),
        }
    }

    /// Whether the power has failed, and whether a sync was refused.
    pub fn failures(&self) -> (bool, bool) {
        let inner = self.inner();
        (inner.power_failed, inner.sync_failed)
    }

    /// Refuses a log of which a frame has replaced the noted end and later ones, as a start of the product does.
    pub fn refuse_thinned_over(&self) -> Result<(), Error> {
        let inner = self.inner();
        let Some(Tail { revision, .. }) = inner.witness else {
            return Ok(());
        };
        let found = inner.live.range(..=revision).next_back();
        let last = found.and_then(|(_, bytes)| inner.replaced.get(bytes));
        if last.is_some_and(|last| *last > revision) {
            return Err(Error::Diverged { revision });
        }
        Ok(())
    }

    /// The disk itself.
    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("one thread")
    }
}

impl Inner {
    /// Frames that a power cut may lose, in order of revision: those that replace older ones come
    /// before those that were appended.
    pub fn unsynced(&self) -> Vec<Revision> {
        let is_dirty = |(first, bytes): &(&Revision, &Arc<[u8]>)| {
            let durable = self.durable.get(first);
            durable.is_none_or(|durable| !Arc::ptr_eq(durable, bytes) && durable != *bytes)
        };
        let dirty = self.live.iter().filter(is_dirty);
        dirty.map(|(first, _)| *first).collect()
    }

    /// Arms a fault for this write, or for the next sync if that comes first.
    pub fn arm_within_a_batch(&mut self, writes: u64, fault: Fault) {
        self.armed = Some((writes, fault));
        self.is_due_at_sync = true;
    }

    /// Disarms the faults of writes and of reads.
    pub fn disarm(&mut self) {
        self.armed = None;
        self.is_due_at_sync = false;
        self.unreadable = None;
    }

    /// The armed fault, if it is due at this write.
    fn on_write(&mut self) -> Option<Fault> {
        if self.power_failed {
            return Some(Fault::PowerCut);
        }
        let (left, fault) = self.armed?;
        self.armed = (left > 0).then(|| (left - 1, fault));
        (left == 0).then_some(fault)
    }

    fn on_read(&mut self) -> Result<(), Error> {
        let Some(left) = self.unreadable else {
            return Ok(());
        };
        self.unreadable = left.checked_sub(1);
        if left == 0 {
            return Err(self.refuse("reading", ErrorKind::Other));
        }
        Ok(())
    }

    fn refuse(&mut self, what: &str, kind: ErrorKind) -> Error {
        self.refused += 1;
        self.refused_writes += u64::from(what != "reading");
        Error::Io {
            what: what.into(),
            source: kind.into(),
        }
    }

    fn append(&mut self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        if self.full {
            return Err(self.refuse("appending", ErrorKind::StorageFull));
        }
        let fault = self.on_write();
        if self.power_failed {
            return Err(self.refuse("appending", ErrorKind::Other));
        }
        self.power_failed = fault == Some(Fault::PowerCut);
        if fault.is_none() || (fault != Some(Fault::Killed) && self.dice.roll(2) == 0) {
            self.live.insert(first, frame.into());
        }
        if fault == Some(Fault::Refused) {
            self.errors.push("refused append");
        }
        if fault.is_some() {
            return Err(self.refuse("appending", ErrorKind::Other));
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        if let Some((left, _)) = self.armed.as_mut().filter(|_| self.is_due_at_sync) {
            *left = 0;
        }
        let fault = self.on_write();
        match fault {
            Some(Fault::Killed) => {}
            None if self.ignores_sync => {}
            None => self.durable = self.live.clone(),
            Some(Fault::PowerCut) => self.power_failed = true,
            Some(Fault::Refused) => {
                self.sync_failed = true;
                self.errors.push("failed sync");
                self.persist_some();
            }
        }
        if fault.is_some() {
            return Err(self.refuse("syncing", ErrorKind::Other));
        }
        Ok(())
    }

    fn sync_note(&mut self, last: Revision) -> Result<(), Error> {
        if self.power_failed {
            return Err(self.refuse("syncing the note", ErrorKind::Other));
        }
        let reaches = |note: Tail| note.revision >= last;
        if !self.ignores_notes && !self.durable_witness.is_some_and(reaches) {
            self.durable_witness = self.witness;
        }
        Ok(())
    }

    /// Lets the first few unsynced frames reach the disk and returns the others.
    pub fn persist_some(&mut self) -> Vec<Revision> {
        let mut unsynced = self.unsynced();
        let kept = self.dice.roll(unsynced.len() as u64 + 1);
        let left = unsynced.split_off(usize::try_from(kept).expect("small"));
        for first in unsynced {
            self.durable.insert(first, Arc::clone(&self.live[&first]));
        }
        left
    }
}

impl Records for Disk {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let mut inner = self.inner();
        inner.on_read()?;
        let found = inner.live.range(from..).next();
        Ok(found.map(|(first, bytes)| (*first, bytes.to_vec())))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        let mut inner = self.inner();
        inner.on_read()?;
        let found = inner.live.range(..=until).next_back();
        Ok(found.map(|(first, bytes)| (*first, bytes.to_vec())))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(self.inner().witness)
    }
}

impl Storage for Disk {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.inner().append(first, frame)
    }

    /// The note that a power cut leaves reaches that far then, or is the newest.
    fn ensure_witnessed(&self, last: Revision) -> Result<Witnessed, Error> {
        self.inner().sync_note(last)?;
        Ok(Witnessed::up_to(last))
    }

    fn replace(&self, first: Revision, witnessed: Witnessed, frame: &[u8]) -> Result<(), Error> {
        let last = witnessed.last();
        let mut inner = self.inner();
        inner.replaced.insert(frame.into(), last);
        inner.append(first, frame)?;
        inner.live.retain(|at, _| *at <= first || *at > last);
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        self.inner().sync()
    }

    fn ensure_space(&self, bytes: usize, purpose: Purpose) -> bool {
        match self.inner().room {
            Room::Plenty => true,
            Room::Deletions => matches!(purpose, Purpose::Deletions),
            Room::FewDeletions(most) => matches!(purpose, Purpose::Deletions) && bytes <= most,
            Room::Nothing => false,
        }
    }

    /// The witness is not synced with every batch: it reaches the disk now and then.
    fn witness(&self, tail: &Tail) {
        let mut inner = self.inner();
        inner.witness = Some(*tail);
        if inner.dice.roll(3) == 0 {
            inner.durable_witness = Some(*tail);
        }
    }
}
