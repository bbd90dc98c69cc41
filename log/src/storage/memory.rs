//! Frames in memory: for tests and for control planes that need not outlive their process.

use super::{Purpose, Records, Storage, Stored, Witnessed};
use crate::unpoisoned::unpoisoned;
use crate::{Error, Tail};
use hindsight_core::Revision;
use std::collections::BTreeMap;
use std::sync::RwLock;

/// Keeps all frames until it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    frames: RwLock<BTreeMap<Revision, Vec<u8>>>,
}

impl Records for MemoryStorage {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let frames = unpoisoned(self.frames.read());
        Ok(frames
            .range(from..)
            .next()
            .map(|(first, bytes)| (*first, bytes.clone())))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        let frames = unpoisoned(self.frames.read());
        Ok(frames
            .range(..=until)
            .next_back()
            .map(|(first, bytes)| (*first, bytes.clone())))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(None)
    }
}

impl Storage for MemoryStorage {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        let mut frames = unpoisoned(self.frames.write());
        frames.insert(first, frame.to_vec());
        Ok(())
    }

    fn replace(&self, first: Revision, witnessed: Witnessed, frame: &[u8]) -> Result<(), Error> {
        let last = witnessed.last();
        let mut frames = unpoisoned(self.frames.write());
        frames.retain(|at, _| *at < first || *at > last);
        frames.insert(first, frame.to_vec());
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Nothing outlives the process, so nothing needs to be witnessed.
    fn witness(&self, _: &Tail) {}

    fn ensure_space(&self, _: usize, _: Purpose) -> bool {
        true
    }
}
