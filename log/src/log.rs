//! A log, opened: recovered state, reader and writer.

use crate::frame::Hash;
use crate::{Error, Publish, Reader, Storage, Writer};
use hindsight_core::Revision;
use hindsight_core::{State, apply};
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
    /// Reads the whole log and folds it into `empty`; refuses a log with a damaged record.
    pub fn open(storage: Arc<dyn Storage>, empty: State) -> Result<(Self, State), Error> {
        let reader = Reader::new(Arc::clone(&storage));
        let mut state = empty;
        let mut hash = Hash::default();
        for frame in reader.frames(Revision(1)) {
            let frame = frame?;
            for commit in &frame.commits {
                if commit.revision != state.revision.next() {
                    return Err(Error::corrupt(state.revision.next(), "it is missing"));
                }
                apply(&mut state, commit);
            }
            hash = frame.hash;
        }
        Ok((
            Self {
                reader,
                storage,
                hash,
            },
            state,
        ))
    }

    /// Starts the writer's two threads. `publish` is told of every durable batch.
    pub fn start(self, state: State, publish: Box<dyn Publish>) -> Result<Writer, Error> {
        Writer::start(self.storage, state, self.hash, publish)
    }
}
