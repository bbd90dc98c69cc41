//! A storage that counts what is read and written, for tests of costs.

use super::memory::MemoryStorage;
use super::{Purpose, Records, Storage, Stored, Witnessed};
use crate::{Error, Tail};
use hindsight_core::Revision;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A log in memory that counts.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    inner: MemoryStorage,
    /// How often `at_or_after` was called.
    pub(crate) fetched: AtomicUsize,
    read: AtomicUsize,
    written: AtomicUsize,
    /// For each replacement, the number of replaced frames and their bytes.
    replaced: Mutex<Vec<(usize, usize)>>,
}

impl Counting {
    /// Bytes that were read, and bytes that were written, since the last call.
    pub(crate) fn work(&self) -> (usize, usize) {
        (
            self.read.swap(0, Ordering::SeqCst),
            self.written.swap(0, Ordering::SeqCst),
        )
    }

    /// The replacements since the last call.
    pub(crate) fn take_replaced(&self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.replaced.lock().expect("unpoisoned"))
    }

    fn found(&self, found: Option<Stored>) -> Option<Stored> {
        let bytes = found.as_ref().map_or(0, |(_, bytes)| bytes.len());
        self.read.fetch_add(bytes, Ordering::SeqCst);
        found
    }

    /// The length of each frame that begins between `first` and `last`.
    pub(crate) fn between(&self, first: Revision, last: Revision) -> Vec<usize> {
        let mut sizes = Vec::new();
        let mut from = first;
        while let Some((at, bytes)) = self.inner.at_or_after(from).expect("read") {
            if at > last {
                break;
            }
            sizes.push(bytes.len());
            from = at.next();
        }
        sizes
    }
}

impl Records for Counting {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.fetched.fetch_add(1, Ordering::SeqCst);
        Ok(self.found(self.inner.at_or_after(from)?))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        Ok(self.found(self.inner.at_or_before(until)?))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.inner.witnessed()
    }
}

impl Storage for Counting {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.inner.append(first, frame)
    }

    fn replace(&self, first: Revision, witnessed: Witnessed, frame: &[u8]) -> Result<(), Error> {
        self.written.fetch_add(frame.len(), Ordering::SeqCst);
        let sizes = self.between(first, witnessed.last());
        let replaced = (sizes.len(), sizes.iter().sum());
        self.replaced.lock().expect("unpoisoned").push(replaced);
        self.inner.replace(first, witnessed, frame)
    }

    fn sync(&self) -> Result<(), Error> {
        self.inner.sync()
    }

    fn witness(&self, tail: &Tail) {
        self.inner.witness(tail);
    }

    fn ensure_space(&self, bytes: usize, purpose: Purpose) -> bool {
        self.inner.ensure_space(bytes, purpose)
    }
}
