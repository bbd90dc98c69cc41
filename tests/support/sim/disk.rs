//! A disk that can be cut, torn and filled: what was written, and what of it would survive.

use super::damage::Repair;
use crate::dice::Dice;
use hindsight_core::Revision;
use hindsight_log::{Error, Purpose, Storage, Stored, Tail};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard};

/// Frames by their first revision.
pub type Frames = BTreeMap<Revision, Arc<[u8]>>;

/// A fault that waits for its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// From this operation on nothing happens any more.
    PowerCut,
    /// The operation is refused; what it did is not known.
    Refused,
}

/// What a disk says that there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Everything.
    Plenty,
    /// What is kept for deletions.
    Deletions,
    /// Nothing.
    Nothing,
}

/// The simulated storage.
#[derive(Debug)]
pub struct Disk {
    inner: Mutex<Inner>,
}

/// What [`Disk`] guards.
#[derive(Debug)]
pub struct Inner {
    /// What readers see.
    pub live: Frames,
    /// What a power cut leaves.
    pub durable: Frames,
    /// The note of the acknowledged end, in the cache and on the disk.
    pub witness: Option<Tail>,
    /// As a power cut leaves it.
    pub durable_witness: Option<Tail>,
    /// What was done to frames, and how it is undone.
    pub damage: Vec<(Revision, Repair)>,
    /// Chance of its own.
    pub dice: Dice,
    /// Writes until the fault.
    pub armed: Option<(u64, Fault)>,
    /// Reads until one is refused.
    pub unreadable: Option<u64>,
    /// No room for another frame, though it said otherwise: others fill it meanwhile.
    pub full: bool,
    /// What it says when it is asked.
    pub room: Room,
    /// The power has failed.
    pub cut: bool,
    /// A sync was refused: nobody knows what the cache is worth.
    pub doubtful: bool,
    /// A sync that does nothing.
    pub forgetful: bool,
    /// Refusals so far, of whatever kind.
    pub refused: u64,
    /// Refusals of writes and syncs so far.
    pub refused_writes: u64,
}

impl Disk {
    /// An empty disk.
    pub fn new(dice: Dice, forgetful: bool) -> Self {
        let inner = Inner {
            live: Frames::new(),
            durable: Frames::new(),
            witness: None,
            durable_witness: None,
            damage: Vec::new(),
            dice,
            armed: None,
            unreadable: None,
            full: false,
            room: Room::Plenty,
            cut: false,
            doubtful: false,
            forgetful,
            refused: 0,
            refused_writes: 0,
        };
        Self {
            inner: Mutex::new(inner),
        }
    }

    /// Whether the power has failed, and whether a sync was refused.
    pub fn fate(&self) -> (bool, bool) {
        let inner = self.inner();
        (inner.cut, inner.doubtful)
    }

    /// The disk itself.
    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("one thread")
    }
}

impl Inner {
    /// Frames that a power cut may take, those that replace others first.
    pub fn unsynced(&self) -> Vec<Revision> {
        let is_dirty = |(first, bytes): &(&Revision, &Arc<[u8]>)| {
            let durable = self.durable.get(first);
            durable.is_none_or(|durable| !Arc::ptr_eq(durable, bytes) && durable != *bytes)
        };
        let dirty = self.live.iter().filter(is_dirty);
        dirty.map(|(first, _)| *first).collect()
    }

    /// The fault of this write, if its time has come.
    fn on_write(&mut self) -> Option<Fault> {
        if self.cut {
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
        if self.cut {
            return Err(self.refuse("appending", ErrorKind::Other));
        }
        self.cut = fault == Some(Fault::PowerCut);
        if fault.is_none() || self.dice.roll(2) == 0 {
            self.live.insert(first, frame.into());
        }
        if fault.is_some() {
            return Err(self.refuse("appending", ErrorKind::Other));
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        let fault = self.on_write();
        match fault {
            None if self.forgetful => {}
            None => self.durable = self.live.clone(),
            Some(Fault::PowerCut) => self.cut = true,
            Some(Fault::Refused) => {
                self.doubtful = true;
                self.keep_some();
            }
        }
        if fault.is_some() {
            return Err(self.refuse("syncing", ErrorKind::Other));
        }
        Ok(())
    }

    /// The first few of the unsynced frames reach the disk; which are left is returned.
    pub fn keep_some(&mut self) -> Vec<Revision> {
        let mut unsynced = self.unsynced();
        let kept = self.dice.roll(unsynced.len() as u64 + 1);
        let left = unsynced.split_off(usize::try_from(kept).expect("small"));
        for first in unsynced {
            self.durable.insert(first, Arc::clone(&self.live[&first]));
        }
        left
    }
}

impl Storage for Disk {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.inner().append(first, frame)
    }

    fn replace(&self, first: Revision, last: Revision, frame: &[u8]) -> Result<(), Error> {
        let mut inner = self.inner();
        inner.append(first, frame)?;
        inner.live.retain(|at, _| *at <= first || *at > last);
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        self.inner().sync()
    }

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

    fn has_room(&self, _: usize, purpose: Purpose) -> bool {
        match self.inner().room {
            Room::Plenty => true,
            Room::Deletions => matches!(purpose, Purpose::Deletions),
            Room::Nothing => false,
        }
    }

    /// It reaches the disk now and then.
    fn witness(&self, tail: &Tail) {
        let mut inner = self.inner();
        inner.witness = Some(*tail);
        if inner.dice.roll(3) == 0 {
            inner.durable_witness = Some(*tail);
        }
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(self.inner().witness)
    }
}
