//! Finds the intact part of a log in the bytes of its database, without the engine. See
//! `docs/decisions/0024-what-is-left-of-a-damaged-database.md`.

use super::bundle::Unpacked;
use super::frame_copy::{Form, FrameCopy, copies, is_within};
use super::frames::Piece;
use super::journal::JournalContents;
use super::{hidden, refuse_unwitnessed, sectors};
use crate::error::{BoxedError, extent};
use crate::layout::{DATABASE, witness_path};
use crate::storage::witness::WitnessFile;
use crate::unpoisoned::unpoisoned;
use crate::{Error, Reader, Records, Snapshots, Stored, Tail, frame, parallel, regular};
use hindsight_core::Revision;
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The records at the beginning of a log up to the first that is damaged or missing. The engine need not
/// be able to open the database, and nothing in the directory is changed.
#[derive(Debug)]
pub struct Intact {
    /// Reads these records, and no others.
    pub reader: Reader,
    /// The last revision in them.
    pub until: Revision,
    /// What is wrong behind them; `None` if the log is intact.
    pub broken: Option<Error>,
    /// Later records that claim to be written by a newer release.
    pub newer: Newer,
    has_all_acknowledged: bool,
    copies: Arc<Vec<FrameCopy>>,
    records: Arc<BTreeSet<Revision>>,
}

impl Intact {
    /// Reads the database in this directory, to which nobody may write meanwhile, or the journal alone if there is
    /// none. `progress` receives how many bytes of the database were read, and how many there are. Takes 48 bytes of
    /// memory for each copy of each frame.
    pub fn of(directory: &Path, mut progress: impl FnMut(u64, u64)) -> Result<Self, Error> {
        // Without threads its records are decoded all the same, only not on all cores.
        parallel::start_threads().ok();
        let (found, unknown) = Copies::of(directory, &mut progress)?;
        let journal = Arc::clone(&found.journal);
        let mut found = found.into_intact(directory)?;
        let lost = journal.check_end(found.until).err();
        let witnessed = refuse_unwitnessed(&witness_path(directory), found.until);
        let unknown = unknown.or(witnessed.err()).or(lost);
        found.has_all_acknowledged &= unknown.is_none();
        found.broken = found.broken.or(unknown);
        Ok(found)
    }

    /// Whether every record up to this one is there, whole and chained to the one before. Quicker than
    /// [`Self::of`], because nothing that the records hold is decoded.
    pub(super) fn reaches(directory: &Path, acknowledged: Revision) -> Result<bool, Error> {
        let (found, unknown) = Copies::of(directory, &mut |_, _| {})?;
        let reader = Reader::new(Arc::new(found));
        let mut frames = reader.verified_links()?.map_while(Result::ok);
        let is_reached = frames.any(|frame| frame.last() >= acknowledged);
        Ok(unknown.is_none() && is_reached)
    }

    /// Compares the end with these snapshots: one of a later revision shows that more was acknowledged.
    #[must_use]
    pub fn beside(mut self, snapshots: &Snapshots) -> Self {
        if self.has_all_acknowledged
            && let Err(error) = snapshots.check_newest(&**self.reader.records())
        {
            self.has_all_acknowledged = false;
            self.broken = Some(error);
        }
        self
    }

    /// Whether a start would drop the broken part: it was not acknowledged, and is torn at the end as a
    /// crash leaves it. False without a witness of that.
    pub const fn has_all_acknowledged(&self) -> bool {
        self.has_all_acknowledged
    }

    /// Fails if the log is damaged before its floor: then no state can be folded from these records.
    pub fn check_state(&self) -> Result<(), Error> {
        let floor = self.reader.floor()?;
        if floor <= self.until || self.until == Revision::ZERO {
            return Ok(());
        }
        let damaged = self.until.next();
        Err(Error::NoState { damaged, floor })
    }

    /// The error of a log that the engine cannot read, for this reason.
    pub(super) fn unopened(self, source: impl Into<BoxedError>) -> Error {
        match self.check_state() {
            Err(error @ Error::NoState { .. }) => error,
            _ => Error::Unopened {
                until: self.until,
                broken: self.broken.map(Box::new),
                source: source.into(),
            },
        }
    }

    /// How far the log is intact, and what is known of the rest, as a short phrase.
    pub fn extent(&self) -> String {
        let extent = extent(self.until, self.broken.as_ref());
        let Newer { records, until } = self.newer;
        if records == 0 {
            return extent;
        }
        format!(
            "{extent}; records of newer formats: {records}, and the last revision in them is {until}"
        )
    }

    /// The ranges of the database where copies of the frame of this revision are stored.
    #[cfg(test)]
    pub(crate) fn ranges(&self, first: Revision) -> Vec<Range<usize>> {
        let copies = self.copies.iter().filter(|one| one.first == first.0);
        let ranges = copies.filter(|one| !one.is_in_journal()).map(|one| {
            let at = usize::try_from(one.at).expect("small");
            at..at + usize::try_from(one.length).expect("small")
        });
        ranges.collect()
    }

    /// The first of these records up to `until` of which all copies, or all copies of one of its pieces,
    /// lie in these ranges of the database.
    pub(super) fn first_within(&self, ranges: &[Range<u64>], until: Revision) -> Option<Revision> {
        let frames = self.copies.chunk_by(|one, next| one.first == next.first);
        let mut firsts = frames
            .filter(|copies| is_within(copies, ranges))
            .filter_map(|copies| copies.first().map(|one| Revision(one.first)));
        firsts.find(|first| *first <= until && self.records.contains(first))
    }
}

/// What was read; nothing, and why, if a newer release wrote it, if the disk does not give it back, or if something
/// else is in its place.
fn unless_unknown<T: Default>(read: Result<T, Error>) -> Result<(T, Option<Error>), Error> {
    match read {
        Err(
            error @ (Error::NewerFormat { .. }
            | Error::Io { .. }
            | Error::Read { .. }
            | Error::NotAFile(_)
            | Error::TooLong { .. }),
        ) => Ok((T::default(), Some(error))),
        read => Ok((read?, None)),
    }
}

/// Records of newer formats, of which this release can read only the position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Newer {
    /// How many there are.
    pub records: u64,
    /// The last revision in them.
    pub until: Revision,
}

/// The frames of which copies were found.
#[derive(Debug)]
struct Copies {
    /// The database; `None` if it is gone, so that all copies are in the journal.
    file: Option<Arc<Mutex<File>>>,
    journal: Arc<JournalContents>,
    all: Arc<Vec<FrameCopy>>,
    /// First revisions of the frames that are part of the log. `None` for all that were found, of which
    /// some may have been replaced long ago.
    only: Option<Arc<BTreeSet<Revision>>>,
    witnessed: Option<Tail>,
    /// The last bundle from which a frame was read: a reader of one usually reads the next.
    unpacked: Mutex<Option<(u64, Unpacked)>>,
}

/// The result of a walk from the beginning.
#[derive(Debug, Default)]
struct Walked {
    /// First revisions of the frames before the first that is damaged or missing.
    records: BTreeSet<Revision>,
    until: Revision,
    broken: Option<Error>,
}

impl Copies {
    /// All that the files have, and why the journal or the witness was left out, if it could not be read.
    fn of(
        directory: &Path,
        progress: &mut impl FnMut(u64, u64),
    ) -> Result<(Self, Option<Error>), Error> {
        let path = directory.join(DATABASE);
        // Where there is none, a start takes all of it from the journal.
        let file = regular::open_if_there(&path, File::options().read(true))?;
        let (journal, unread) = unless_unknown(JournalContents::of(directory))?;
        let copies = copies(file.as_ref(), &journal, progress);
        let copies = copies.map_err(Error::reading("the event log"))?;
        let (witnessed, unknown) = unless_unknown(WitnessFile::read(&witness_path(directory)))?;
        let found = Self {
            file: file.map(|file| Arc::new(Mutex::new(file))),
            journal: Arc::new(journal),
            all: Arc::new(copies),
            only: None,
            witnessed,
            unpacked: Mutex::default(),
        };
        Ok((found, unknown.or(unread)))
    }

    fn into_intact(self, directory: &Path) -> Result<Intact, Error> {
        let found = Arc::new(self);
        let Walked {
            records,
            until,
            broken,
        } = found.walk()?;
        let newer = match broken {
            Some(Error::NewerFormat { .. }) => found.newer(until)?,
            _ => Newer::default(),
        };
        let would_be_dropped = match broken {
            None => true,
            Some(Error::Corrupt { .. }) => {
                let witnessed = found.witnessed;
                witnessed.is_some_and(|tail| tail.revision <= until)
                    && found.is_intact_for_engine(directory)?
            }
            Some(_) => false,
        };
        let records = Arc::new(records);
        let whole = Self {
            only: Some(Arc::clone(&records)),
            witnessed: found.witnessed.filter(|_| would_be_dropped),
            ..found.with(Arc::clone(&found.all))
        };
        Ok(Intact {
            reader: Reader::new(Arc::new(whole)),
            until,
            broken,
            newer,
            has_all_acknowledged: would_be_dropped,
            copies: Arc::clone(&found.all),
            records,
        })
    }

    /// All frames of these copies, read from the same files.
    fn with(&self, all: Arc<Vec<FrameCopy>>) -> Self {
        Self {
            file: self.file.clone(),
            journal: Arc::clone(&self.journal),
            all,
            only: None,
            witnessed: self.witnessed,
            unpacked: Mutex::default(),
        }
    }

    fn walk(self: &Arc<Self>) -> Result<Walked, Error> {
        let mut walked = Walked::default();
        for frame in Reader::new(Arc::clone(self) as _).verified_frames(Tail::START)? {
            match frame {
                Ok(frame) => {
                    walked.records.insert(frame.links.first);
                    walked.until = frame.links.last();
                }
                Err(error) => walked.broken = Some(error),
            }
        }
        Ok(walked)
    }

    /// Whether the part that the engine sees is intact. What it passes over at the end of its log is then
    /// a batch that was being written, whose blocks may reach the disk in any order.
    fn is_intact_for_engine(&self, directory: &Path) -> Result<bool, Error> {
        let Ok(hidden) = hidden::skipped_ranges(directory) else {
            return Ok(false);
        };
        let is_seen = |copy: &&FrameCopy| !copy.is_in(&hidden);
        let seen = self.all.iter().filter(is_seen).copied().collect();
        let seen = Arc::new(self.with(Arc::new(seen)));
        Ok(seen.walk()?.broken.is_none())
    }

    /// Counts the records of newer formats. Frame headers have the same fields in every format.
    fn newer(&self, until: Revision) -> Result<Newer, Error> {
        let mut newer = Newer { records: 0, until };
        while let Some((first, bytes)) = self.at_or_after(newer.until.next())? {
            let Some(end) = frame::end(first, &bytes) else {
                break;
            };
            newer.records += u64::from(is_newer(&frame::open(first, &bytes)));
            newer.until = end.previous();
        }
        Ok(newer)
    }

    fn is_part_of_log(&self, first: Revision) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&first))
    }

    /// Every copy of a piece, the newest first.
    fn copies_of(&self, first: Revision, piece: u32) -> impl Iterator<Item = &FrameCopy> {
        let begin = self
            .all
            .partition_point(|one| (one.first, one.piece) < (first.0, piece));
        let rest = self.all.get(begin..).unwrap_or_default().iter();
        rest.take_while(move |one| (one.first, one.piece) == (first.0, piece))
    }

    /// The newest copy of a frame that is whole. One that the disk does not give back is not.
    fn frame(&self, first: Revision) -> Option<Vec<u8>> {
        self.copies_of(first, 0).find_map(|head| {
            let frame = self.assemble(first, head);
            let frame =
                frame.inspect_err(|error| tracing::warn!(%error, revision = %first, UNREAD));
            let frame = frame.ok()?;
            let read = frame::open(first, &frame);
            (read.is_ok() || is_newer(&read)).then_some(frame)
        })
    }

    fn assemble(&self, first: Revision, head: &FrameCopy) -> std::io::Result<Vec<u8>> {
        let value = self.value(head)?;
        let Form::First(length) = head.form else {
            return Ok(value);
        };
        let (Piece::First(piece) | Piece::Whole(piece)) = Piece::of(&value);
        let mut frame = piece.to_vec();
        for piece in 1.. {
            let Some(next) = self.copies_of(first, piece).next() else {
                break;
            };
            frame.append(&mut self.value(next)?);
            if next.length != length {
                break;
            }
        }
        Ok(frame)
    }

    /// What is stored there; of a bundle, the frame.
    fn value(&self, copy: &FrameCopy) -> std::io::Result<Vec<u8>> {
        if copy.is_in_journal() {
            return Ok(self.journal.bytes_at(copy.at, copy.length).to_vec());
        }
        let Form::Bundle(key) = copy.form else {
            return self.read(copy);
        };
        let mut unpacked = unpoisoned(self.unpacked.lock());
        if unpacked.as_ref().is_none_or(|(at, _)| *at != copy.at) {
            let value = self.read(copy)?;
            *unpacked = Unpacked::of(Revision(key), &value).map(|bundle| (copy.at, bundle));
        }
        let found = unpacked
            .as_ref()
            .map(|(_, bundle)| bundle.frame(Revision(copy.first)));
        Ok(found.unwrap_or_default().to_vec())
    }

    fn read(&self, copy: &FrameCopy) -> std::io::Result<Vec<u8>> {
        let mut found = Vec::new();
        let Some(file) = &self.file else {
            return Ok(found);
        };
        let mut file = unpoisoned(file.lock());
        let end = copy.at + u64::from(copy.length);
        sectors::read(&mut *file, copy.at..end, &mut found)?;
        Ok(found)
    }

    /// The first of the frames with these copies that is part of the log and whole.
    fn first_whole<'a>(&self, copies: impl Iterator<Item = &'a FrameCopy>) -> Option<Stored> {
        let firsts = copies
            .filter(|one| one.piece == 0)
            .map(|one| Revision(one.first));
        let mut there = firsts.filter(|first| self.is_part_of_log(*first));
        there.find_map(|first| Some((first, self.frame(first)?)))
    }
}

/// Whether a frame is whole and of a newer format.
const fn is_newer<T>(read: &Result<T, Error>) -> bool {
    matches!(read, Err(Error::NewerFormat { .. }))
}

const UNREAD: &str = "the disk does not give back a copy of this record";

impl Records for Copies {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let begin = self.all.partition_point(|one| one.first < from.0);
        Ok(self.first_whole(self.all.get(begin..).unwrap_or_default().iter()))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        let end = self.all.partition_point(|one| one.first <= until.0);
        Ok(self.first_whole(self.all.get(..end).unwrap_or_default().iter().rev()))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(self.witnessed)
    }
}
