//! The open database with its file: all that it takes to write to it durably.

use super::engine;
use super::frames::FrameTrees;
use super::pending::PendingFrame;
use crate::layout::DATABASE;
use crate::place::Place;
use crate::storage::closing::Engine;
use crate::{EngineCall, Error};
use hindsight_core::Revision;
#[cfg(test)]
use std::cell::RefCell;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};

#[cfg(test)]
thread_local! {
    /// What a test does on this thread between every flush and its sync.
    pub(super) static BEFORE_SYNC: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

/// What sled holds, and the file in which it does.
#[derive(Debug)]
pub(super) struct Database {
    /// Before the engine in the order of dropping.
    pub(super) frames: FrameTrees,
    pub(super) engine: Engine<::sled::Db>,
    file: File,
    place: Arc<Place>,
}

impl Database {
    /// The database that sled has opened in this directory.
    pub(super) fn new(
        engine: Engine<::sled::Db>,
        frames: FrameTrees,
        directory: &Path,
    ) -> Result<Self, Error> {
        let io = |what: &str| Error::io(format!("{what} {}", directory.display()));
        let path = directory.join(DATABASE);
        let file = File::options().write(true).open(&path);
        let file = file.map_err(io("opening the database in"))?;
        let opened = file.metadata().map_err(io("finding the database in"))?;
        let place = Place::of(&path, &opened).map_err(io("finding the database in"))?;
        Ok(Self {
            frames,
            engine,
            file,
            place: Arc::new(place),
        })
    }

    /// Another handle of the file.
    pub(super) fn file(&self) -> Result<File, Error> {
        self.file
            .try_clone()
            .map_err(Error::io("opening the event log again"))
    }

    /// See [`Engine::failure`].
    pub(super) fn failure(&self) -> Arc<OnceLock<Error>> {
        self.engine.failure()
    }

    pub(super) const fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// Appends the newest frames.
    pub(super) fn append(&self, frames: &[PendingFrame]) -> Result<(), Error> {
        self.frames.append(frames, &|| self.make_durable())
    }

    /// Replaces the frames from `first` to `last` by one.
    pub(super) fn replace(
        &self,
        first: Revision,
        last: Revision,
        frame: &[u8],
    ) -> Result<(), Error> {
        self.frames
            .replace(first, last, frame, &|| self.make_durable())
    }

    /// Has sled move some pages. False if none is left to move.
    pub(super) fn move_pages(&self) -> Result<bool, Error> {
        self.frames.move_pages(&|| self.make_durable())
    }

    /// Flushes and fsyncs. Returns the number of bytes that were written.
    pub(super) fn make_durable(&self) -> Result<usize, Error> {
        self.frames.note_sync();
        let written = self.engine.flush();
        let written = written.map_err(|error| engine(EngineCall::Flush, error))?;
        #[cfg(test)]
        BEFORE_SYNC.with_borrow(|test| test.iter().for_each(|test| test()));
        self.file
            .sync_data()
            .map_err(Error::io("syncing the event log"))?;
        self.place.check()?;
        Ok(written)
    }
}
