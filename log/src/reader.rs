//! Reads the log back: single commits, and all commits from a revision on.

mod backward;
mod changes;
mod copying;
mod loan;
mod resumed;
mod states;

use crate::chain::{Chain, Decoder, Links};
use crate::codec::Placeholder;
use crate::frame::Format;
use crate::frame::decoded::{self, Coverage, DecodedFrame, FrameLinks};
use crate::tail::{self, VerifiedFrames};
use crate::{Error, Records, Snapshots, Tail};
use backward::BackwardLinks;
use hindsight_core::{Commit, Pruned, Revision, Time};
use std::sync::Arc;

pub use loan::Loan;

/// Frames smaller than this can always be thinned.
const WHOLE_BYTES_MIN: usize = 48 << 10;

/// Reads what is durable. Cheap to clone; never waits for the writer.
#[derive(Debug, Clone)]
pub struct Reader {
    records: Arc<dyn Records>,
    snapshots: Option<Snapshots>,
}

/// The frame that states how far the log is thinned.
pub(crate) struct FloorFrame {
    /// Its first revision.
    pub(crate) first: Revision,
    /// The floor that it states. If it is zero, the frame is whole, and the first that would be thinned.
    pub(crate) floor: Revision,
}

/// An entry of the log.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A change of an object.
    Commit(Commit),
    /// A backup was restored: whatever clients knew of the time before has expired.
    Restored {
        /// Revisions go on from here.
        revision: Revision,
        /// When it was restored.
        time: Time,
    },
}

impl Entry {
    /// The revision of the entry.
    pub const fn revision(&self) -> Revision {
        match self {
            Self::Commit(commit) => commit.revision,
            Self::Restored { revision, .. } => *revision,
        }
    }

    /// The commit, if it is one.
    pub fn into_commit(self) -> Option<Commit> {
        match self {
            Self::Commit(commit) => Some(commit),
            Self::Restored { .. } => None,
        }
    }
}

impl Reader {
    /// A reader of these records.
    pub const fn new(records: Arc<dyn Records>) -> Self {
        Self {
            records,
            snapshots: None,
        }
    }

    pub(crate) fn records(&self) -> &Arc<dyn Records> {
        &self.records
    }

    pub(crate) const fn snapshots(&self) -> Option<&Snapshots> {
        self.snapshots.as_ref()
    }

    /// Folds from these snapshots where possible, rather than from the first commit.
    #[must_use]
    pub fn with_snapshots(self, snapshots: Snapshots) -> Self {
        Self {
            snapshots: Some(snapshots),
            ..self
        }
    }

    /// The last revision that was written; zero in an empty log.
    pub fn newest(&self) -> Result<Revision, Error> {
        let Some((first, bytes)) = self.records.at_or_before(Revision::MAX)? else {
            return Ok(Revision::ZERO);
        };
        Ok(decoded::open(first, &bytes)?.end.previous())
    }

    /// The end of the log.
    pub(crate) fn tail(&self) -> Result<Tail, Error> {
        let Some((first, bytes)) = self.records.at_or_before(Revision::MAX)? else {
            return Ok(Tail::START);
        };
        Ok(decoded::read(first, &bytes)?.links.tail())
    }

    /// Refuses the same ends of a log as [`crate::Log::open`], but without walking the log: an end before
    /// the acknowledged tail or before the newest snapshot, or one with a different frame there. To be
    /// called before questions are answered from files whose log nobody has opened. Returns the last
    /// revision that is known to have been acknowledged; `None` without a witness.
    pub fn check_end(&self) -> Result<Option<Revision>, Error> {
        let records = &*self.records;
        let witness = records.witnessed()?;
        let snapshots = self.snapshots.as_ref();
        let checked = snapshots
            .map_or(Ok(()), |all| all.check_newest(records))
            .and_then(|()| self.tail())
            .and_then(|_| witness.map_or(Ok(()), |tail| tail.check_passed_by(records)));
        checked.map_err(|error| tail::annotate(error, witness))?;
        Ok(witness.map(|tail| tail.revision))
    }

    /// The commit at this revision, if it was written.
    pub fn commit(&self, revision: Revision) -> Result<Option<Commit>, Error> {
        let Some(stored) = self.records.at_or_before(revision)? else {
            return Ok(None);
        };
        let commits = decoded::read(stored.0, &stored.1)?.commits;
        Ok(commits
            .into_iter()
            .find(|commit| commit.revision == revision))
    }

    /// The commits that are kept from this revision on, oldest first.
    pub fn scan(&self, from: Revision) -> impl Iterator<Item = Result<Commit, Error>> + use<> {
        commits(self.frames(from), from)
    }

    /// As [`Self::scan`], with the restores between the commits.
    pub fn entries(&self, from: Revision) -> impl Iterator<Item = Result<Entry, Error>> + use<> {
        entries(self.frames(from), from)
    }

    /// Commits up to this revision, newest first. Frames that a thinned one has replaced may still be
    /// stored; their commits are not returned twice.
    pub fn scan_back(
        &self,
        until: Revision,
    ) -> impl Iterator<Item = Result<Commit, Error>> + use<> {
        let mut next = Some(until);
        let mut links = BackwardLinks::default();
        let records = Arc::clone(&self.records);
        std::iter::from_fn(move || {
            let until = next?;
            let found = records.at_or_before(until).transpose();
            let found = found.or_else(|| links.missing(until).map(Err))?;
            let read = found.and_then(|(first, bytes)| {
                let frame = links.follow(&*records, decoded::read(first, &bytes)?)?;
                let first = frame.links.first;
                next = (first.0 > 1).then(|| first.previous());
                let mut commits = frame.commits;
                commits.retain(|commit| commit.revision <= until);
                Ok(commits)
            });
            if read.is_err() {
                next = None;
            }
            Some(match read {
                Ok(commits) => commits.into_iter().rev().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            })
        })
        .flatten()
    }

    /// Every commit from this revision on, oldest first; an error if some of them are no longer kept.
    pub fn scan_all(&self, from: Revision) -> impl Iterator<Item = Result<Commit, Error>> + use<> {
        let reader = self.clone();
        let whole = self.frames(from).map(move |frame| {
            let frame = frame?;
            let links = &frame.links;
            // The commit at the floor is kept: the state there rests on it, or it is a deletion.
            if links.is_thinned() && from < links.end && from < reader.floor()? {
                return Err(reader.pruned(from, links.stated_floor()));
            }
            Ok(frame)
        });
        commits(whole, from)
    }

    /// The revision from which on every commit is kept; zero if none was dropped. Before it, deletions
    /// are kept, and what the retention policy in force at the time kept.
    pub fn floor(&self) -> Result<Revision, Error> {
        Ok(self
            .floor_frame()?
            .map_or(Revision::ZERO, |frame| frame.floor))
    }

    /// The frame that states the floor; `None` if none does, as in an empty log.
    pub(crate) fn floor_frame(&self) -> Result<Option<FloorFrame>, Error> {
        let mut from = Revision(1);
        while let Some((first, bytes)) = self.records.at_or_after(from)? {
            let frame = decoded::open(first, &bytes)?;
            let is_whole = frame.format != Format::Placeholder;
            if !is_whole
                && let Placeholder::Thinned { floor, .. } =
                    Placeholder::decode(first, frame.payload)?
            {
                let floor = Revision(floor);
                return Ok(Some(FloorFrame { first, floor }));
            }
            // A frame this large may have been left whole by thinning, so that a thinned one may follow
            // it. The first frame of a log is always thinned where any is: it has only what a log begins with.
            if is_whole && bytes.len() < WHOLE_BYTES_MIN {
                let floor = Revision::ZERO;
                return Ok(Some(FloorFrame { first, floor }));
            }
            from = frame.end;
        }
        Ok(None)
    }

    /// The error for a revision that is no longer kept. Its frame states a floor, and the first thinned
    /// frame the current floor; the higher is reported.
    fn pruned(&self, asked: Revision, named: Revision) -> Error {
        match self.floor() {
            Ok(floor) => Error::Pruned(Pruned {
                asked,
                floor: floor.max(named),
            }),
            Err(error) => error,
        }
    }

    /// Every frame after this tail. Fails if a frame is missing, or if the log ends before the
    /// acknowledged tail.
    pub(crate) fn verified_frames(
        &self,
        after: Tail,
    ) -> Result<impl Iterator<Item = Result<DecodedFrame, Error>>, Error> {
        let decoder = Decoder::new(Arc::clone(&self.records), after.revision.next());
        let frames = walk(decoder, Links::after(after));
        VerifiedFrames::new(after, frames, &*self.records)
    }

    /// As [`Self::verified_frames`] from the beginning, without what is in the frames.
    pub(crate) fn verified_links(
        &self,
    ) -> Result<impl Iterator<Item = Result<FrameLinks, Error>>, Error> {
        let start = Tail::START;
        let decoder = Decoder::new(Arc::clone(&self.records), start.revision.next());
        let frames = walk(decoder.links_only(), Links::after(start));
        VerifiedFrames::new(start, frames, &*self.records)
    }

    /// The frames that hold revisions from `from` on, each checked and chained to the one before.
    pub(crate) fn frames(
        &self,
        from: Revision,
    ) -> impl Iterator<Item = Result<DecodedFrame, Error>> + use<> {
        let decoder = Decoder::within(Arc::clone(&self.records), from);
        walk(decoder, Links::containing(from))
    }
}

fn walk<F: AsRef<FrameLinks> + Send + 'static>(
    decoder: Decoder<F>,
    links: Links,
) -> impl Iterator<Item = Result<F, Error>> {
    let mut chain = Chain::new(decoder, links);
    std::iter::from_fn(move || chain.advance().transpose())
}

fn entries_in(frame: DecodedFrame) -> Vec<Entry> {
    let revision = frame.links.last();
    let mut entries: Vec<Entry> = frame.commits.into_iter().map(Entry::Commit).collect();
    if let Coverage::Restored(time) = frame.links.coverage {
        entries.push(Entry::Restored { revision, time });
    }
    entries
}

fn commits(
    frames: impl Iterator<Item = Result<DecodedFrame, Error>>,
    from: Revision,
) -> impl Iterator<Item = Result<Commit, Error>> {
    entries(frames, from).filter_map(|entry| entry.map(Entry::into_commit).transpose())
}

fn entries(
    frames: impl Iterator<Item = Result<DecodedFrame, Error>>,
    from: Revision,
) -> impl Iterator<Item = Result<Entry, Error>> {
    frames
        .flat_map(|frame| match frame {
            Ok(frame) => entries_in(frame).into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        })
        .skip_while(move |entry| entry.as_ref().is_ok_and(|entry| entry.revision() < from))
}
