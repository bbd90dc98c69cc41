//! Where the copies of a frame are in the files of a log.

use super::bundle::{self, Entry};
use super::frames::Piece;
use super::journal::{JournalContents, Record};
use super::scan;
use super::values::Value;
use crate::frame;
use hindsight_core::Revision;
use std::fs::File;
use std::ops::Range;

/// What a value is that holds a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A frame, or a piece that is not the first.
    Plain,
    /// The first piece of a frame, of this length, as are all others but the last.
    First(u32),
    /// The bundle with this key.
    Bundle(u64),
}

/// Where a copy of a frame or of a piece is stored. Sorted by frame, then piece, then newest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameCopy {
    pub(super) first: u64,
    /// The first piece of a frame is 0.
    pub(super) piece: u32,
    pub(super) length: u32,
    /// The segment in the log of sled, or [`IN_JOURNAL`].
    pub(super) segment: u64,
    /// The offset in the file of the database or of the journal.
    pub(super) at: u64,
    pub(super) form: Form,
}

/// Marks a frame that is stored in the journal, whole.
const IN_JOURNAL: u64 = u64::MAX;

impl FrameCopy {
    fn of_record(record: &Record) -> Option<Self> {
        Some(Self {
            first: record.header.first.0,
            piece: 0,
            length: record.frame.len().try_into().ok()?,
            segment: IN_JOURNAL,
            at: record.frame.start.try_into().ok()?,
            form: Form::Plain,
        })
    }

    /// A copy for each frame in the value, or for the piece of a frame that the value is.
    fn all(value: &Value, content: &[u8]) -> Vec<Self> {
        let Some(whole) = Self::of(value) else {
            return Vec::new();
        };
        if whole.piece > 0 {
            return vec![whole];
        }
        let Some(bundle) = bundle::open(Revision(whole.first), content) else {
            let form = match Piece::of(content) {
                Piece::First(piece) => Form::First(piece.len().try_into().unwrap_or(u32::MAX)),
                Piece::Whole(_) => Form::Plain,
            };
            return vec![Self { form, ..whole }];
        };
        let within = |(first, _): &Entry| Self {
            first: first.0,
            form: Form::Bundle(whole.first),
            ..whole
        };
        bundle.entries.iter().map(within).collect()
    }

    fn of(value: &Value) -> Option<Self> {
        let (first, piece) = match value.key.split_first_chunk::<8>()? {
            (first, []) => (first, 0),
            (first, rest) => {
                let number = u32::from_be_bytes(rest.try_into().ok()?);
                (first, number.checked_add(1)?)
            }
        };
        Some(Self {
            first: u64::from_be_bytes(*first),
            piece,
            length: value.length.try_into().ok()?,
            segment: value.segment,
            at: value.at,
            form: Form::Plain,
        })
    }

    /// Whether the key of a value is whole: that of a piece always is, if it is as long as it can be; and a
    /// frame states its own.
    fn has_whole_key(&self, content: &[u8]) -> bool {
        if self.piece > 0 {
            return true;
        }
        let (Piece::First(frame) | Piece::Whole(frame)) = Piece::of(content);
        matches!(self.form, Form::Bundle(_)) || frame::first(frame) == Some(Revision(self.first))
    }

    pub(super) const fn is_in_journal(self) -> bool {
        self.segment == IN_JOURNAL
    }

    /// Whether it lies in one of these ranges of the database.
    pub(super) fn is_in(self, ranges: &[Range<u64>]) -> bool {
        !self.is_in_journal() && ranges.iter().any(|range| range.contains(&self.at))
    }
}

/// All copies in the file of the database, if there is one, and in the journal. What the disk does not give back
/// is taken for damage, unless that is all of it.
pub(super) fn copies(
    file: Option<&File>,
    journal: &JournalContents,
    progress: &mut impl FnMut(u64, u64),
) -> std::io::Result<Vec<FrameCopy>> {
    let records = journal.records();
    let mut copies: Vec<_> = records
        .filter_map(|(one, _)| FrameCopy::of_record(one))
        .collect();
    if let Some(file) = file {
        scan::each_value(file, progress, |value, content| {
            let found = FrameCopy::all(value, content);
            let fits = !found.is_empty() && found.iter().all(|one| one.has_whole_key(content));
            if fits {
                copies.extend(found);
            }
            fits
        })?;
    }
    copies.sort_unstable_by_key(|one| {
        let newest_first = (one.is_in_journal(), !one.segment, !one.at);
        (one.first, one.piece, newest_first)
    });
    Ok(copies)
}

/// Whether all copies of one frame, or all of one of its pieces, lie in these ranges. What is left of the
/// pieces of an earlier, longer frame in its place does not count. A frame in the journal is taken from
/// there if its first piece is not seen.
pub(super) fn is_within(copies: &[FrameCopy], ranges: &[Range<u64>]) -> bool {
    let is_kept = copies.iter().any(|one| one.is_in_journal());
    let mut piece_length = None;
    for copies in copies.chunk_by(|one, next| one.piece == next.piece) {
        let is_head = copies.first().is_some_and(|one| one.piece == 0);
        let mut stored = copies.iter().filter(|one| !one.is_in_journal());
        if stored.all(|one| one.is_in(ranges)) {
            return !(is_head && is_kept);
        }
        let is_last = match copies.first() {
            Some(FrameCopy {
                form: Form::First(length),
                ..
            }) => {
                piece_length = Some(*length);
                false
            }
            newest => newest.map(|one| one.length) != piece_length,
        };
        if is_last {
            return false;
        }
    }
    false
}
