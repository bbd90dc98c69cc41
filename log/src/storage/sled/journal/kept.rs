//! Reads the contents of a journal without changing it.

use super::record::{self, ALIGNMENT, BEGIN_BYTES, ParsedRecord, Salt};
use super::{BYTES_MAX, NAME};
use crate::{Error, frame, regular};
use hindsight_core::Revision;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

/// The frames of a journal, in their order.
#[derive(Debug, Default)]
pub(in super::super) struct JournalContents {
    bytes: Vec<u8>,
    records: Vec<Record>,
    /// The newest frame that any whole record reports as durable.
    synced: Revision,
}

/// The position of a frame in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Record {
    before: Revision,
    pub(in super::super) first: Revision,
    pub(in super::super) at: Range<usize>,
}

impl JournalContents {
    /// Reads the journal in this directory; empty if there is none.
    pub(in super::super) fn of(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(NAME);
        regular::check(&path, BYTES_MAX)?;
        match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            read => Self::read(read.map_err(Error::io(format!("reading {}", path.display())))?),
        }
    }

    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, Error> {
        let (mut records, mut synced) = (Vec::new(), Revision::ZERO);
        // Even without a salt, whole records show what is lost.
        let salt = Salt::of(&bytes).or_else(|| record::salt_at(&bytes, BEGIN_BYTES));
        let (mut at, mut last) = (salt.map_or(0, |_| BEGIN_BYTES), None);
        while let Some(found) = record::read(&bytes, at, salt)?.filter(|found| follows(last, found))
        {
            at = found.end;
            last = Some(found.header.first);
            synced = synced.max(found.header.synced);
            records.push(Record {
                before: found.header.before,
                first: found.header.first,
                at: found.frame,
            });
        }
        // What follows is from an earlier round, or shows that something before it is damaged.
        while at < bytes.len() {
            let found = record::read(&bytes, at, salt)?;
            synced = synced.max(found.as_ref().map_or(synced, |one| one.header.synced));
            at = found.map_or(at + ALIGNMENT, |one| one.end);
        }
        Ok(Self {
            bytes,
            records,
            synced,
        })
    }

    /// Each record, and the frame in it.
    pub(in super::super) fn records(&self) -> impl Iterator<Item = (&Record, &[u8])> {
        self.records
            .iter()
            .map(|record| (record, self.frame(record)))
    }

    fn frame(&self, record: &Record) -> &[u8] {
        self.bytes.get(record.at.clone()).unwrap_or_default()
    }

    /// The newest frame that a whole record reports as durable.
    pub(in super::super) const fn synced(&self) -> Revision {
        self.synced
    }

    /// This many bytes of the file, from `at` on; empty if it does not have them.
    pub(in super::super) fn bytes_at(&self, at: u64, length: u32) -> &[u8] {
        let range = usize::try_from(at).ok().zip(usize::try_from(length).ok());
        let range = range.map(|(at, length)| at..at + length);
        range
            .and_then(|range| self.bytes.get(range))
            .unwrap_or_default()
    }

    /// Refuses a log that ends at this revision, if a later frame was durable.
    pub(in super::super) fn check_end(&self, newest: Revision) -> Result<(), Error> {
        if self.synced <= newest {
            return Ok(());
        }
        let revision = self.synced;
        Err(Error::Gap { revision, newest })
    }

    /// The frames that a database with this newest frame must have too.
    pub(in super::super) fn up_to(
        &self,
        newest: Newest,
    ) -> impl Iterator<Item = (Revision, &[u8])> {
        let records = self.records();
        records
            .map(|(record, frame)| (record.first, frame))
            .take_while(move |(first, _)| *first <= newest.until)
    }

    /// The frames that a database with this newest frame lacks. Refuses a journal that does not continue
    /// from there.
    pub(in super::super) fn after(
        &self,
        newest: Newest,
    ) -> Result<impl Iterator<Item = (Revision, &[u8])>, Error> {
        let begin = self
            .records
            .partition_point(|one| one.first <= newest.until);
        let behind = self.records.get(begin..).unwrap_or_default();
        match behind.first() {
            Some(record) if record.before != newest.first => Err(Error::Gap {
                revision: record.before.max(newest.first.next()),
                newest: newest.until,
            }),
            _ => Ok(behind
                .iter()
                .map(|record| (record.first, self.frame(record)))),
        }
    }
}

/// The newest frame of a database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Newest {
    pub(in super::super) first: Revision,
    /// The last revision in it; if the frame is damaged, its first.
    pub(in super::super) until: Revision,
}

impl Newest {
    pub(in super::super) fn of(first: Revision, frame: &[u8]) -> Self {
        let read = frame::open(first, frame);
        let is_whole = matches!(read, Ok(_) | Err(Error::NewerFormat { .. }));
        let end = frame::end(first, frame).filter(|_| is_whole);
        let until = end.map_or(first, Revision::previous);
        Self { first, until }
    }
}

fn follows(last: Option<Revision>, found: &ParsedRecord) -> bool {
    let header = &found.header;
    header.first > header.before && last.is_none_or(|last| header.before == last)
}
