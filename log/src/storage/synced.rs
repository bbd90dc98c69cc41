//! A storage whose readers see what is synced and nothing else: what was only appended may never
//! have been. And once a write or a sync has failed, nothing more is written, by no thread.

use super::{Purpose, Storage, Stored};
use crate::{Error, Tail};
use hindsight_core::Revision;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Wraps the storage of an open log.
#[derive(Debug)]
pub(crate) struct Synced {
    inner: Arc<dyn Storage>,
    /// First revision of the last frame that was appended.
    appended: AtomicU64,
    /// As `appended` was at the last sync.
    synced: AtomicU64,
    /// Why a write or a sync failed. A disk says so once, to whoever syncs first, though others' writes
    /// are lost; so it is held while anything is written.
    failed: Mutex<Option<String>>,
}

impl Synced {
    /// Everything up to this revision is synced already.
    pub(crate) fn new(inner: Arc<dyn Storage>, newest: Revision) -> Self {
        Self {
            inner,
            appended: AtomicU64::new(newest.0),
            synced: AtomicU64::new(newest.0),
            failed: Mutex::new(None),
        }
    }

    /// Writes, unless something failed before. A write that fails may have been a sync that did.
    fn unless_failed(&self, write: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = &*failed {
            return Err(Error::Engine {
                what: "writing after a failure",
                reason: reason.clone(),
            });
        }
        let written = write();
        if let Err(error) = &written {
            *failed = Some(error.to_string());
        }
        written
    }

    fn newest(&self) -> Revision {
        Revision(self.synced.load(Ordering::Acquire))
    }
}

impl Storage for Synced {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.unless_failed(|| self.inner.append(first, frame))?;
        self.appended.store(first.0, Ordering::Release);
        Ok(())
    }

    fn replace(&self, first: Revision, last: Revision, frame: &[u8]) -> Result<(), Error> {
        self.unless_failed(|| self.inner.replace(first, last, frame))
    }

    fn sync(&self) -> Result<(), Error> {
        self.unless_failed(|| {
            // Before, for somebody may append while somebody else syncs.
            let appended = self.appended.load(Ordering::Acquire);
            self.inner.sync()?;
            self.synced.fetch_max(appended, Ordering::AcqRel);
            Ok(())
        })
    }

    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let newest = self.newest();
        if from > newest {
            return Ok(None);
        }
        let found = self.inner.at_or_after(from)?;
        Ok(found.filter(|(first, _)| *first <= newest))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.inner.at_or_before(until.min(self.newest()))
    }

    fn has_room(&self, bytes: usize, purpose: Purpose) -> bool {
        self.inner.has_room(bytes, purpose)
    }

    fn witness(&self, tail: &Tail) {
        self.inner.witness(tail);
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.inner.witnessed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;

    /// As a kernel does: the error goes to whoever asks first.
    #[derive(Debug, Default)]
    struct FailsOnce(MemoryStorage, AtomicU64);

    impl Storage for FailsOnce {
        fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
            self.0.append(first, frame)
        }

        fn replace(&self, first: Revision, last: Revision, frame: &[u8]) -> Result<(), Error> {
            self.0.replace(first, last, frame)
        }

        fn sync(&self) -> Result<(), Error> {
            if self.1.fetch_add(1, Ordering::Relaxed) > 0 {
                return Ok(());
            }
            Err(Error::io("syncing")(std::io::Error::other("gone")))
        }

        fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
            self.0.at_or_after(from)
        }

        fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
            self.0.at_or_before(until)
        }

        fn has_room(&self, _: usize, _: Purpose) -> bool {
            true
        }

        fn witness(&self, _: &Tail) {}

        fn witnessed(&self) -> Result<Option<Tail>, Error> {
            Ok(None)
        }
    }

    #[test]
    fn after_a_sync_that_failed_for_one_thread_none_succeeds_for_another() {
        let storage = Synced::new(Arc::new(FailsOnce::default()), Revision::ZERO);
        storage.append(Revision(1), b"a").expect("appended");
        let thinning = std::thread::scope(|scope| {
            let other = scope.spawn(|| storage.sync().is_err());
            other.join().expect("it ends")
        });
        assert!(thinning);
        let error = storage.sync().expect_err("what was appended may be lost");
        assert!(error.to_string().contains("gone"), "{error}");
        assert!(storage.at_or_after(Revision(1)).expect("read").is_none());
    }

    #[test]
    fn after_a_failure_nothing_more_is_written() {
        let inner = Arc::new(FailsOnce::default());
        let storage = Synced::new(Arc::clone(&inner) as Arc<dyn Storage>, Revision::ZERO);
        storage.append(Revision(1), b"a").expect("appended");
        assert!(storage.sync().is_err());
        assert!(storage.append(Revision(2), b"b").is_err());
        assert!(storage.replace(Revision(1), Revision(1), b"c").is_err());
        let newest = inner.at_or_before(Revision(u64::MAX)).expect("read");
        assert_eq!(newest, Some((Revision(1), b"a".to_vec())));
        assert_eq!(inner.1.load(Ordering::Relaxed), 1, "syncs");
    }

    #[test]
    fn what_is_appended_is_read_once_it_is_synced() {
        let storage = Synced::new(Arc::new(MemoryStorage::default()), Revision::ZERO);
        let first = |found: Result<Option<Stored>, Error>| found.expect("read").map(|one| one.0.0);
        let seen = |storage: &Synced| {
            let last = first(storage.at_or_before(Revision(u64::MAX)));
            (first(storage.at_or_after(Revision(1))), last)
        };
        storage.append(Revision(1), b"a").expect("appended");
        assert_eq!(seen(&storage), (None, None));
        storage.sync().expect("synced");
        storage.append(Revision(4), b"b").expect("appended");
        assert_eq!(seen(&storage), (Some(1), Some(1)));
        assert_eq!(first(storage.at_or_after(Revision(2))), None);
        storage.sync().expect("synced");
        assert_eq!(seen(&storage), (Some(1), Some(4)));
    }
}
