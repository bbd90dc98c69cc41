//! An open log: the recovered state, its reader and its writer.

use crate::retention::{Keeping, Thinner};
use crate::snapshot::{Snapshotter, SnapshotterOptions, Written};
use crate::storage::synced::Synced;
use crate::{
    Base, Error, Poison, Publish, Reader, Snapshots, Stages, Storage, Tail, Writer, parallel, tail,
};
use hindsight_core::{Revision, State, Time};
use std::num::NonZeroU64;
use std::sync::Arc;

/// An open log.
#[derive(Debug)]
pub struct Log {
    /// Reads the durable part of the log.
    pub reader: Reader,
    pub(crate) storage: Arc<Synced>,
    /// The state at the end, to which the next frame will be chained.
    pub(crate) end: Base,
    /// What was read behind the snapshot from which the state was folded.
    pub(crate) since: Written,
    pub(crate) snapshotter: Option<Snapshotter>,
    pub(crate) poison: Poison,
}

impl Log {
    /// Reads the whole log and folds it into `empty`. Refuses a log with a damaged record, and one that
    /// ends before an acknowledged record.
    pub fn open(storage: Arc<dyn Storage>, empty: State) -> Result<Self, Error> {
        Self::open_from(storage, Base::empty(empty))
    }

    /// Reads only what follows `base` and folds it into that. Refuses what [`Self::open`] refuses, as far
    /// as the log is read.
    pub fn open_from(storage: Arc<dyn Storage>, mut base: Base) -> Result<Self, Error> {
        parallel::start_threads()?;
        let reader = Reader::new(Arc::clone(&storage) as _);
        base.check_belongs_to(&*storage)?;
        check_witnessed_before(&*storage, base.tail())?;
        let mut since = Written::default();
        for frame in reader.verified_frames(base.tail())? {
            let frame = frame?;
            since.note(&frame.commits);
            base.fold(&frame);
        }
        acknowledge_recovered(&*storage, base.tail())?;
        let revision = base.state.revision;
        let poison = Poison::default();
        let storage = Arc::new(Synced::new(storage, revision, poison.clone()));
        let reader = Reader::new(Arc::clone(&storage) as _);
        Ok(Self {
            reader,
            storage,
            end: base,
            since,
            snapshotter: None,
            poison,
        })
    }

    /// The state that was recovered.
    pub const fn state(&self) -> &State {
        &self.end.state
    }

    /// The last revision at which a backup was restored; zero if none ever was. Positions before it
    /// belong to the history of another log.
    pub const fn restored(&self) -> Revision {
        self.end.restored
    }

    /// The latest time of any commit or restore.
    pub const fn latest(&self) -> Time {
        self.end.latest
    }

    /// Writes snapshots, in a thread beside the writer. One is due after `every` commits, or after three
    /// quarters as many as there are objects if that is more; at a clean shutdown, after a tenth as many.
    /// With `None`, none is written. With a policy, the log is thinned by it after each snapshot and every
    /// hour, and a snapshot is due, too, when there is enough for it to drop.
    pub fn keep_snapshots(
        &mut self,
        snapshots: Snapshots,
        every: Option<NonZeroU64>,
        keeping: Option<Keeping>,
    ) -> Result<(), Error> {
        let snapshots = snapshots.in_place()?;
        let storage = Arc::clone(&self.storage) as Arc<dyn Storage>;
        let poison = self.poison.clone();
        let thinner = keeping.map(|keeping| {
            let (storage, poison) = (Arc::clone(&storage), poison.clone());
            Thinner::new(storage, snapshots.clone(), keeping, poison)
        });
        let options = SnapshotterOptions {
            snapshots,
            every,
            thinner,
            since: self.since,
        };
        self.snapshotter = Some(Snapshotter::start(
            options,
            storage,
            self.end.clone(),
            poison,
        )?);
        Ok(())
    }

    /// Starts the writer's two threads. `publish` is called with every durable batch.
    pub fn start(self, publish: Box<dyn Publish>) -> Result<Writer, Error> {
        Writer::start(self, publish)
    }

    /// The writer without threads: submissions wait until the caller takes the [`Stages`].
    pub fn by_stages(self, publish: Box<dyn Publish>) -> (Writer, Stages) {
        Writer::by_stages(self, publish)
    }
}

/// Checks that the log passes through the witnessed end, if that is not behind `base`. The walk from there passes
/// through later ones.
fn check_witnessed_before(storage: &dyn Storage, base: Tail) -> Result<(), Error> {
    match storage.witnessed()? {
        Some(one) if one.revision <= base.revision => one
            .check_passed_by(storage)
            .map_err(|error| tail::annotate(error, Some(one))),
        _ => Ok(()),
    }
}

/// Syncs what was found in the log, and then witnesses it as acknowledged: a process that was killed may
/// have appended it without an fsync, and nothing may be visible before it is durable.
fn acknowledge_recovered(storage: &dyn Storage, tail: Tail) -> Result<(), Error> {
    storage.sync()?;
    if tail.revision > Revision::ZERO {
        storage.witness(&tail);
    }
    Ok(())
}
