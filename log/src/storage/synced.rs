//! A storage whose readers see only what is synced: what was merely appended may be lost in a crash. And
//! once a write or a sync has failed, or any call has panicked, the log is poisoned and nothing more is
//! written, by any thread.

use super::closing::closed;
use super::{Purpose, Records, Storage, Stored, Witnessed};
use crate::unpoisoned::unpoisoned;
use crate::{EngineCall, Error, Poison, Tail};
use hindsight_core::Revision;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, RwLockReadGuard};

const PANIC: &str = "it ended in a panic";

/// Wraps the storage of an open log.
#[derive(Debug)]
pub(crate) struct Synced {
    /// `None` once it is closed. Read-locked for as long as one call takes.
    inner: RwLock<Option<Arc<dyn Storage>>>,
    /// First revision of the last frame that was appended.
    appended: AtomicU64,
    /// The value of `appended` at the last sync.
    synced: AtomicU64,
    /// Locked during every write: the kernel reports an I/O error once, to the first caller of fsync,
    /// although writes of others may be lost with it.
    writing: Mutex<()>,
    /// Why nothing more is written: a write or a sync failed, or any call panicked. The log may be poisoned
    /// for other reasons; these do not set this, so that what is being stored is still synced.
    failed: OnceLock<String>,
    /// A call panicked: the engine is in an unknown state, and is not dropped.
    is_broken: AtomicBool,
    /// The poison of the log, set with `failed`.
    poison: Poison,
}

impl Synced {
    /// Everything up to `newest` is synced already.
    pub(crate) fn new(inner: Arc<dyn Storage>, newest: Revision, poison: Poison) -> Self {
        Self {
            inner: RwLock::new(Some(inner)),
            appended: AtomicU64::new(newest.0),
            synced: AtomicU64::new(newest.0),
            writing: Mutex::default(),
            failed: OnceLock::new(),
            is_broken: AtomicBool::new(false),
            poison,
        }
    }

    /// Closes the engine, once all calls in progress have returned. It writes then, too, and the log is poisoned
    /// if it cannot. One that is broken is not closed: it stays until the process ends.
    pub(crate) fn close(&self) {
        let mut inner = unpoisoned(self.inner.write());
        let Some(inner) = inner.take() else {
            return;
        };
        if self.is_broken.load(Ordering::Acquire) {
            std::mem::forget(inner);
        } else if let Err(error) = closed(|| inner.release()) {
            self.poison.set(error.to_string());
        }
    }

    /// Writes, unless something failed before. Any failed write counts, because it may include a failed
    /// sync.
    fn unless_failed<T>(
        &self,
        write: impl FnOnce(&dyn Storage) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _writing = unpoisoned(self.writing.lock());
        if let Some(reason) = self.failed.get() {
            return Err(Error::engine(EngineCall::WriteAfterFailure, reason.clone()));
        }
        let written = self.call_engine(EngineCall::Write, write);
        if let Err(error) = &written {
            self.fail(error);
        }
        written
    }

    /// Calls the engine, and turns a panic into an error.
    fn call_engine<T>(
        &self,
        what: EngineCall,
        call: impl FnOnce(&dyn Storage) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let inner = self.inner();
        let engine = inner.as_deref().ok_or(Error::Closed)?;
        catch_unwind(AssertUnwindSafe(|| call(engine))).unwrap_or_else(|_| {
            self.is_broken.store(true, Ordering::Release);
            let error = Error::engine(what, PANIC);
            self.fail(&error);
            Err(error)
        })
    }

    fn fail(&self, error: &Error) {
        let reason = error.to_string();
        // First: by the time that anybody is told, nothing more is written.
        self.failed.get_or_init(|| reason.clone());
        self.poison.set(reason);
    }

    fn inner(&self) -> RwLockReadGuard<'_, Option<Arc<dyn Storage>>> {
        unpoisoned(self.inner.read())
    }

    fn newest(&self) -> Revision {
        Revision(self.synced.load(Ordering::Acquire))
    }
}

impl Drop for Synced {
    fn drop(&mut self) {
        self.close();
    }
}

impl Records for Synced {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let newest = self.newest();
        if from > newest {
            return Ok(None);
        }
        let found = self.call_engine(EngineCall::Read, |inner| inner.at_or_after(from))?;
        Ok(found.filter(|(first, _)| *first <= newest))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        let until = until.min(self.newest());
        self.call_engine(EngineCall::Read, |inner| inner.at_or_before(until))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.call_engine(EngineCall::Read, |inner| inner.witnessed())
    }
}

impl Storage for Synced {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.unless_failed(|inner| inner.append(first, frame))?;
        self.appended.store(first.0, Ordering::Release);
        Ok(())
    }

    /// The note is not part of the log: if it fails, the log has not.
    fn ensure_witnessed(&self, last: Revision) -> Result<Witnessed, Error> {
        self.call_engine(EngineCall::Replace, |inner| inner.ensure_witnessed(last))
    }

    fn replace(&self, first: Revision, witnessed: Witnessed, frame: &[u8]) -> Result<(), Error> {
        self.unless_failed(|inner| inner.replace(first, witnessed, frame))
    }

    fn tidy(&self) -> Result<bool, Error> {
        self.unless_failed(|inner| inner.tidy())
    }

    fn sync(&self) -> Result<(), Error> {
        self.unless_failed(|inner| {
            // Loaded before the sync, because another thread may append during it.
            let appended = self.appended.load(Ordering::Acquire);
            inner.sync()?;
            self.synced.fetch_max(appended, Ordering::AcqRel);
            Ok(())
        })
    }

    fn ensure_space(&self, bytes: usize, purpose: Purpose) -> bool {
        let inner = self.inner();
        inner
            .as_deref()
            .is_some_and(|inner| inner.ensure_space(bytes, purpose))
    }

    fn witness(&self, tail: &Tail) {
        if let Some(inner) = self.inner().as_deref() {
            inner.witness(tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;
    use crate::poison::tests::Broken;

    /// Fails once, as a kernel does: only the first caller gets the error. Or panics in one of its calls.
    #[derive(Debug, Default)]
    struct Fails {
        inner: MemoryStorage,
        writes: AtomicU64,
        syncs: AtomicU64,
        defect: &'static str,
        panics_at_end: bool,
    }

    impl Drop for Fails {
        fn drop(&mut self) {
            assert!(!self.panics_at_end, "a defect");
        }
    }

    impl Fails {
        fn defective(defect: &'static str) -> Self {
            Self {
                inner: MemoryStorage::default(),
                writes: AtomicU64::default(),
                syncs: AtomicU64::new(1),
                defect,
                panics_at_end: false,
            }
        }

        fn enter(&self, call: &str) {
            assert_ne!(call, self.defect);
        }

        fn enter_to_write(&self, call: &str) {
            self.writes.fetch_add(1, Ordering::Relaxed);
            self.enter(call);
        }
    }

    impl Records for Fails {
        fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
            self.enter("after");
            self.inner.at_or_after(from)
        }

        fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
            self.enter("before");
            self.inner.at_or_before(until)
        }

        fn witnessed(&self) -> Result<Option<Tail>, Error> {
            Ok(None)
        }
    }

    impl Storage for Fails {
        fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
            self.enter_to_write("append");
            self.inner.append(first, frame)
        }

        fn replace(&self, first: Revision, last: Witnessed, frame: &[u8]) -> Result<(), Error> {
            self.enter_to_write("replace");
            self.inner.replace(first, last, frame)
        }

        fn tidy(&self) -> Result<bool, Error> {
            self.enter_to_write("tidy");
            Ok(false)
        }

        fn sync(&self) -> Result<(), Error> {
            self.enter_to_write("sync");
            if self.syncs.fetch_add(1, Ordering::Relaxed) > 0 {
                return Ok(());
            }
            Err(Error::io("syncing")(std::io::Error::other("gone")))
        }

        fn ensure_space(&self, _: usize, _: Purpose) -> bool {
            true
        }

        fn witness(&self, _: &Tail) {}
    }

    fn over(inner: &Arc<Fails>) -> (Synced, Poison) {
        let (inner, poison) = (Arc::clone(inner) as Arc<dyn Storage>, Poison::default());
        (Synced::new(inner, Revision(1), poison.clone()), poison)
    }

    const FIRST: Witnessed = Witnessed::up_to(Revision(1));

    type Call = fn(&Synced) -> Result<(), Error>;

    #[test]
    fn after_a_panic_of_any_call_nothing_is_written_and_the_log_is_poisoned() {
        let calls: [(&str, Call); 6] = [
            ("append", |one| one.append(Revision(2), b"b")),
            ("replace", |one| one.replace(Revision(1), FIRST, b"b")),
            ("tidy", |one| one.tidy().map(drop)),
            ("sync", Storage::sync),
            ("after", |one| one.at_or_after(Revision(1)).map(drop)),
            ("before", |one| one.at_or_before(Revision(1)).map(drop)),
        ];
        for (defect, call) in calls {
            let inner = Arc::new(Fails::defective(defect));
            let (storage, poison) = over(&inner);
            let error = call(&storage).expect_err(defect);
            assert!(error.to_string().contains("panic"), "{error}");
            let reason = poison.reason().expect("poisoned");
            assert!(reason.contains("panic"), "{reason}");
            let writes = inner.writes.load(Ordering::Relaxed);
            for (name, write) in &calls[..4] {
                let error = write(&storage).expect_err(name);
                assert!(error.to_string().contains("panic"), "{error}");
            }
            assert_eq!(inner.writes.load(Ordering::Relaxed), writes, "{defect}");
            drop(storage);
            assert_eq!(Arc::strong_count(&inner), 2, "it is not dropped either");
        }
    }

    #[test]
    fn after_a_sync_that_failed_for_one_thread_none_succeeds_for_another() {
        let (storage, poison) = over(&Arc::default());
        storage.append(Revision(2), b"a").expect("appended");
        let thinning = std::thread::scope(|scope| {
            let other = scope.spawn(|| storage.sync().is_err());
            other.join().expect("it ends")
        });
        assert!(thinning);
        assert!(poison.reason().is_some_and(|told| told.contains("gone")));
        let error = storage.sync().expect_err("what was appended may be lost");
        assert!(error.to_string().contains("gone"), "{error}");
        assert!(storage.at_or_after(Revision(2)).expect("read").is_none());
    }

    #[test]
    fn after_a_sync_that_failed_none_succeeds_even_if_that_cannot_be_told() {
        let inner = Arc::<Fails>::default();
        let (storage, poison) = over(&inner);
        storage.append(Revision(2), b"a").expect("appended");
        Broken::while_in_use(|| storage.sync().expect_err("the disk fails"));
        assert!(poison.reason().is_some_and(|told| told.contains("gone")));
        storage.sync().expect_err("what was appended may be lost");
        assert!(storage.append(Revision(3), b"b").is_err());
        assert_eq!(inner.syncs.load(Ordering::Relaxed), 1, "syncs");
    }

    #[test]
    fn after_a_failure_nothing_more_is_written() {
        let inner = Arc::default();
        let (storage, _) = over(&inner);
        storage.append(Revision(1), b"a").expect("appended");
        assert!(storage.sync().is_err());
        assert!(storage.append(Revision(2), b"b").is_err());
        assert!(storage.replace(Revision(1), FIRST, b"c").is_err());
        assert!(storage.tidy().is_err());
        let newest = inner.at_or_before(Revision::MAX).expect("read");
        assert_eq!(newest, Some((Revision(1), b"a".to_vec())));
        assert_eq!(inner.syncs.load(Ordering::Relaxed), 1, "syncs");
        assert_eq!(inner.writes.load(Ordering::Relaxed), 2, "writes");
    }

    #[test]
    fn an_engine_that_panics_when_it_is_dropped_ends_nothing_but_the_log() {
        let mut inner = Fails::default();
        inner.panics_at_end = true;
        let (storage, poison) = over(&Arc::new(inner));
        storage.close();
        let reason = poison.reason().expect("poisoned");
        assert!(reason.contains("closing"), "{reason}");
    }

    #[test]
    fn what_is_closed_is_let_go_of_by_all_who_hold_it() {
        let inner = Arc::<Fails>::default();
        let (storage, poison) = over(&inner);
        let (storage, reader) = {
            let storage = Arc::new(storage);
            (Arc::clone(&storage), storage)
        };
        assert_eq!(Arc::strong_count(&inner), 2);
        storage.close();
        storage.close();
        assert_eq!(Arc::strong_count(&inner), 1);
        let read = reader.at_or_before(Revision(1));
        assert!(matches!(read, Err(Error::Closed)), "{read:?}");
        assert_eq!(poison.reason(), None, "it is no failure");
        assert!(!reader.ensure_space(1, Purpose::Writes));
    }

    #[test]
    fn what_is_appended_is_read_once_it_is_synced() {
        let storage = Synced::new(
            Arc::new(MemoryStorage::default()),
            Revision::ZERO,
            Poison::default(),
        );
        let first = |found: Result<Option<Stored>, Error>| found.expect("read").map(|one| one.0.0);
        let seen = |storage: &Synced| {
            let last = first(storage.at_or_before(Revision::MAX));
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
