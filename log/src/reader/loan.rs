//! A reader that is lent: when the loan ends, the log is closed for it and all of its clones.

use super::Reader;
use crate::storage::Stored;
use crate::unpoisoned::unpoisoned;
use crate::{Error, Records, Tail};
use hindsight_core::Revision;
use std::sync::{Arc, RwLock};

/// Dropped, it closes the log for the readers that were lent, once all calls in progress have returned.
#[derive(Debug)]
pub struct Loan(Arc<Lent>);

/// Records that can be taken back.
#[derive(Debug)]
struct Lent {
    /// `None` once the loan has ended. Read-locked for as long as one call takes.
    records: RwLock<Option<Arc<dyn Records>>>,
}

impl Reader {
    /// This reader until the loan is dropped: then it and its clones fail with [`Error::Closed`].
    pub fn lent(self) -> (Self, Loan) {
        let lent = Arc::new(Lent {
            records: RwLock::new(Some(self.records)),
        });
        let reader = Self {
            records: Arc::clone(&lent) as _,
            snapshots: self.snapshots,
        };
        (reader, Loan(lent))
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        *unpoisoned(self.0.records.write()) = None;
    }
}

impl Lent {
    fn call<T>(&self, call: impl FnOnce(&dyn Records) -> Result<T, Error>) -> Result<T, Error> {
        let records = unpoisoned(self.records.read());
        call(records.as_deref().ok_or(Error::Closed)?)
    }
}

impl Records for Lent {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.call(|records| records.at_or_after(from))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.call(|records| records.at_or_before(until))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.call(|records| records.witnessed())
    }
}
