//! A log, opened: recovered state, reader and writer.

use crate::frame::Hash;
use crate::storage::synced::Synced;
use crate::{Error, Publish, Reader, Steps, Storage, Tail, Writer};
use hindsight_core::{Revision, State, apply};
use std::sync::Arc;

/// An open log.
#[derive(Debug)]
pub struct Log {
    /// Reads what is durable.
    pub reader: Reader,
    storage: Arc<dyn Storage>,
    hash: Hash,
}

impl Log {
    /// Reads the whole log and folds it into `empty`; refuses a log with a damaged record, and one
    /// that ends before what was acknowledged.
    pub fn open(storage: Arc<dyn Storage>, empty: State) -> Result<(Self, State), Error> {
        let reader = Reader::new(Arc::clone(&storage));
        let mut state = empty;
        let mut hash = Hash::default();
        for frame in reader.whole()? {
            let frame = frame?;
            for commit in &frame.commits {
                apply(&mut state, commit);
            }
            hash = frame.hash;
        }
        settle(&*storage, state.revision, hash)?;
        let storage: Arc<dyn Storage> = Arc::new(Synced::new(storage, state.revision));
        let reader = Reader::new(Arc::clone(&storage));
        Ok((
            Self {
                reader,
                storage,
                hash,
            },
            state,
        ))
    }

    /// Where it ends, as the next frame will be chained to it.
    #[cfg(test)]
    pub(crate) const fn tail(&self, revision: Revision) -> Tail {
        Tail {
            revision,
            hash: self.hash,
        }
    }

    /// Starts the writer's two threads. `publish` is told of every durable batch.
    pub fn start(self, state: State, publish: Box<dyn Publish>) -> Result<Writer, Error> {
        Writer::start(self.storage, state, self.hash, publish)
    }

    /// The writer without threads: what is submitted waits until somebody takes the steps.
    pub fn by_steps(self, state: State, publish: Box<dyn Publish>) -> (Writer, Steps) {
        Writer::by_steps(self.storage, state, self.hash, publish)
    }
}

/// What was found may have been appended and not synced before a kill; nobody may see it before it
/// is durable.
fn settle(storage: &dyn Storage, revision: Revision, hash: Hash) -> Result<(), Error> {
    storage.sync()?;
    if revision > Revision::ZERO {
        storage.witness(&Tail { revision, hash });
    }
    Ok(())
}
