//! Decodes frames: what a record holds, and which commits of the revisions that it covers.

use super::{CHECKSUM_BYTES, Format, Frame, Hash};
use crate::codec::Placeholder;
use crate::{Error, Tail, codec, frame, packing};
use hindsight_core::{Commit, Revision, Time};

/// One frame, read and checked, with all that it holds.
pub(crate) struct DecodedFrame {
    pub(crate) links: FrameLinks,
    /// Bytes of its commits before compression.
    pub(crate) commit_bytes: usize,
    pub(crate) commits: Vec<Commit>,
}

impl AsRef<FrameLinks> for DecodedFrame {
    fn as_ref(&self) -> &FrameLinks {
        &self.links
    }
}

/// What a frame covers, and what chains it to the one before and the one after.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameLinks {
    pub(crate) first: Revision,
    /// The revision after its last one.
    pub(crate) end: Revision,
    pub(crate) previous: Hash,
    pub(crate) hash: Hash,
    /// Hash of its bytes as they are stored; differs from `hash` only in a thinned frame.
    pub(crate) stored_hash: Hash,
    /// Its length as it is stored.
    pub(crate) stored_bytes: usize,
    pub(crate) coverage: Coverage,
}

impl AsRef<Self> for FrameLinks {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl FrameLinks {
    /// The last revision that it covers.
    pub(crate) const fn last(&self) -> Revision {
        self.end.previous()
    }

    /// The end of the log, as far as this frame.
    pub(crate) const fn tail(&self) -> Tail {
        Tail {
            revision: self.last(),
            hash: self.hash,
        }
    }

    pub(crate) const fn is_thinned(&self) -> bool {
        matches!(self.coverage, Coverage::Thinned { .. })
    }

    /// The floor that a thinned frame states; zero for any other.
    pub(crate) const fn stated_floor(&self) -> Revision {
        match self.coverage {
            Coverage::Thinned { floor, .. } => floor,
            Coverage::Whole | Coverage::Restored(_) => Revision::ZERO,
        }
    }
}

/// Which commits a frame holds of the revisions that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// All their commits.
    Whole,
    /// Those that are kept.
    Thinned {
        /// They are enough to fold the state at this revision, but no earlier state.
        floor: Revision,
        /// The latest time of any commit that the frame covers, kept or not.
        latest: Time,
    },
    /// None: the frame marks that a backup was restored here, at this time.
    Restored(Time),
}

/// Roughly the memory that a stored frame takes once it is read. Its bytes need not have been checked.
pub(crate) fn weight(first: Revision, bytes: &[u8]) -> usize {
    let (format, payload) = frame::payload(bytes);
    let unpacked = match format {
        Some(Format::Packed | Format::Preset) => packing::claimed_length(payload),
        Some(Format::Placeholder) => {
            let payload = payload
                .split_last_chunk::<CHECKSUM_BYTES>()
                .map(|(payload, _)| payload);
            let placeholder = payload.map(|payload| Placeholder::decode(first, payload));
            let placeholder = placeholder.and_then(Result::ok);
            placeholder.map_or(0, |placeholder| packing::claimed_length(placeholder.kept()))
        }
        Some(Format::Commits) | None => 0,
    };
    bytes.len() + unpacked
}

/// Opens a frame without decoding its payload.
pub(crate) fn open(first: Revision, bytes: &[u8]) -> Result<Frame<'_>, Error> {
    let frame = frame::open(first, bytes)?;
    if frame.end == first {
        return Err(Error::corrupt(first, "it covers no revisions"));
    }
    Ok(frame)
}

/// As [`read`], but of a whole frame no commits are decoded, which is most of the work.
pub(crate) fn read_links(first: Revision, bytes: &[u8]) -> Result<FrameLinks, Error> {
    let frame = open(first, bytes)?;
    if frame.format == Format::Placeholder {
        return Ok(read(first, bytes)?.links);
    }
    Ok(links_of(first, bytes, &frame))
}

/// What the header of a whole frame and its bytes say.
fn links_of(first: Revision, bytes: &[u8], frame: &Frame<'_>) -> FrameLinks {
    let stored_hash = frame::hash(bytes);
    FrameLinks {
        first,
        stored_bytes: bytes.len(),
        previous: frame.previous,
        hash: stored_hash,
        stored_hash,
        end: frame.end,
        coverage: Coverage::Whole,
    }
}

/// Reads and checks the frame that is stored under a revision.
pub(crate) fn read(first: Revision, bytes: &[u8]) -> Result<DecodedFrame, Error> {
    let frame = open(first, bytes)?;
    let end = frame.end;
    let each = (first.0..end.0).map(Revision);
    let mut read = DecodedFrame {
        links: links_of(first, bytes, &frame),
        commit_bytes: 0,
        commits: Vec::new(),
    };
    if frame.format != Format::Placeholder {
        let commit_bytes = &mut read.commit_bytes;
        let decode = |payload: &[u8]| {
            *commit_bytes = payload.len();
            codec::decode(first, payload, each)
        };
        read.commits = packing::unpack(first, frame.format, frame.payload, decode)?;
        if usize::try_from(frame.commits) != Ok(read.commits.len()) {
            return Err(Error::miscounted(first));
        }
        return Ok(read);
    }
    match Placeholder::decode(first, frame.payload)? {
        Placeholder::Restored { time_micros } => {
            read.links.coverage = Coverage::Restored(Time(time_micros));
        }
        Placeholder::Thinned {
            hash,
            floor,
            latest_micros,
            revisions,
            kept,
        } => {
            let (floor, latest) = (Revision(floor), Time(latest_micros));
            read.links.hash = hash;
            read.commit_bytes = packing::claimed_length(kept);
            read.links.coverage = Coverage::Thinned { floor, latest };
            read.commits = kept_in(first, end, &revisions, kept)?;
            if floor < end.previous() {
                return Err(Error::corrupt(first, "its floor is before its end"));
            }
            if read.commits.iter().any(|commit| commit.time > latest) {
                return Err(Error::corrupt(first, "its times do not match"));
            }
        }
    }
    Ok(read)
}

/// The commits of a thinned frame, with their revisions, which must be ascending and within it.
fn kept_in(
    first: Revision,
    end: Revision,
    revisions: &[u64],
    kept: &[u8],
) -> Result<Vec<Commit>, Error> {
    let is_ordered = revisions.is_sorted_by(|one, next| one < next);
    let mut ends = revisions.first().into_iter().chain(revisions.last());
    if !is_ordered || !ends.all(|one| (first.0..end.0).contains(one)) {
        let reason = "the revisions in it are out of order or out of range";
        return Err(Error::corrupt(first, reason));
    }
    let each = revisions.iter().copied().map(Revision);
    let decode = |kept: &[u8]| codec::decode(first, kept, each);
    let commits = packing::unpack(first, Format::Packed, kept, decode)?;
    if commits.len() != revisions.len() {
        return Err(Error::miscounted(first));
    }
    Ok(commits)
}
