//! Reads the contents of a journal without changing it.

use super::BYTES_MAX;
use super::record::{self, ALIGNMENT, BEGIN_BYTES, Record, Salt};
use crate::layout::JOURNAL;
use crate::storage::sled::frame_span::FrameSpan;
use crate::{Error, regular};
use hindsight_core::Revision;
use std::path::Path;

/// The most bytes that are checksummed in vain while records are searched at every offset, so that bytes
/// which look like many long records cannot prolong the search. Four times the longest file; a journal of
/// ours needs little more than one record.
const SEARCHED_BYTES_MAX: usize = 256 << 20;

/// The frames of a journal, in their order.
#[derive(Debug, Default)]
pub(in super::super) struct JournalContents {
    bytes: Vec<u8>,
    records: Vec<Record>,
    /// The newest frame that any whole record reports as durable.
    synced: Revision,
}

impl JournalContents {
    /// Reads the journal in this directory; empty if there is none.
    pub(in super::super) fn of(directory: &Path) -> Result<Self, Error> {
        let bytes = regular::read(&directory.join(JOURNAL), BYTES_MAX)?;
        bytes.map_or_else(|| Ok(Self::default()), Self::read)
    }

    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::read_within(bytes, &mut { SEARCHED_BYTES_MAX })
    }

    /// As [`Self::read`]; the search ends once `searched` is used up. The records of this round are not
    /// searched for: each begins where the one before ends.
    fn read_within(bytes: Vec<u8>, searched: &mut usize) -> Result<Self, Error> {
        let (mut records, mut synced) = (Vec::new(), Revision::ZERO);
        // Even without a salt, whole records show what is lost.
        let salt = Salt::of(&bytes).or_else(|| record::salt_at(&bytes, BEGIN_BYTES));
        let (mut at, mut last) = (salt.map_or(0, |_| BEGIN_BYTES), None);
        while let Some(found) =
            record::read(&bytes, at, salt, searched)?.filter(|found| follows(last, found))
        {
            at = found.end;
            last = Some(found.header.first);
            synced = synced.max(found.header.synced);
            records.push(found);
        }
        // What follows is from an earlier round, or shows that something before it is damaged.
        while at < bytes.len() && *searched > 0 {
            let found = record::read(&bytes, at, salt, searched)?;
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
        self.bytes.get(record.frame.clone()).unwrap_or_default()
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
        newest: FrameSpan,
    ) -> impl Iterator<Item = (Revision, &[u8])> {
        let records = self.records();
        records
            .map(|(record, frame)| (record.header.first, frame))
            .take_while(move |(first, _)| *first <= newest.last)
    }

    /// The frames that a database with this newest frame lacks. Refuses a journal that does not continue
    /// from there.
    pub(in super::super) fn after(
        &self,
        newest: FrameSpan,
    ) -> Result<impl Iterator<Item = (Revision, &[u8])>, Error> {
        let begin = self
            .records
            .partition_point(|one| one.header.first <= newest.last);
        let behind = self.records.get(begin..).unwrap_or_default();
        match behind.first() {
            Some(record) if record.header.before != newest.first => Err(Error::Gap {
                revision: record.header.before.max(newest.first.next()),
                newest: newest.last,
            }),
            _ => Ok(behind
                .iter()
                .map(|record| (record.header.first, self.frame(record)))),
        }
    }
}

fn follows(last: Option<Revision>, found: &Record) -> bool {
    let header = &found.header;
    header.first > header.before && last.is_none_or(|last| header.before == last)
}

#[cfg(test)]
mod tests {
    use super::super::record::{FORMAT, RecordHeader};
    use super::*;

    const SALT: Salt = Salt(7);
    /// What only looks like a record: its length, how far it claims to reach, and how many there are.
    const LURE_BYTES: usize = 48;
    const CLAIMED_BYTES: usize = 4 << 10;
    const LURES: usize = 50;
    /// Offset of the length of a frame in a record, which is also behind everything else in its header.
    const LENGTH_AT: usize = 37;
    /// What is checksummed of one.
    const COST: usize = LENGTH_AT + 4 + CLAIMED_BYTES;

    const fn header(salt: Salt) -> RecordHeader {
        RecordHeader {
            salt,
            before: Revision(8),
            first: Revision(9),
            synced: Revision(9),
        }
    }

    /// A journal that begins with many such of this salt, and ends with a whole record of its own.
    fn luring(salt: Salt) -> Vec<u8> {
        let mut lure = Vec::new();
        header(salt).seal_as(FORMAT, b"", &mut lure);
        assert_eq!(lure.len(), LURE_BYTES);
        let claimed = u32::try_from(CLAIMED_BYTES).expect("small").to_le_bytes();
        lure[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&claimed);
        let mut whole = Vec::new();
        header(SALT).seal(b"frame", &mut whole);
        let zeros = [0_u8; CLAIMED_BYTES];
        [&SALT.seal()[..], &lure.repeat(LURES), &zeros, &whole].concat()
    }

    #[test]
    fn a_record_without_a_format_is_damaged() {
        let mut record = Vec::new();
        for (format, synced) in [(FORMAT, Revision(9)), (0, Revision::ZERO)] {
            header(SALT).seal_as(format, b"frame", &mut record);
            let bytes = [&SALT.seal()[..], &record].concat();
            let journal = JournalContents::read(bytes).expect("read");
            assert_eq!(journal.synced(), synced, "{format}");
        }
    }

    #[test]
    fn what_has_another_salt_is_not_checksummed() {
        let mut searched = 1;
        let journal = JournalContents::read_within(luring(Salt(6)), &mut searched);
        assert_eq!(journal.expect("read").synced(), Revision(9));
        assert_eq!(searched, 1);
    }

    #[test]
    fn the_bytes_that_are_checksummed_in_vain_are_bounded() {
        // The first is looked at once more when the search begins.
        for (may, left, synced) in [
            ((LURES + 1) * COST + 1, 1, Revision(9)),
            ((LURES + 1) * COST, 0, Revision::ZERO),
            (3 * COST, 0, Revision::ZERO),
            (1, 0, Revision::ZERO),
        ] {
            let mut searched = may;
            let journal = JournalContents::read_within(luring(SALT), &mut searched);
            assert_eq!(journal.expect("read").synced(), synced, "{may}");
            assert_eq!(searched, left, "{may}");
        }
    }
}
