//! Whether each frame follows the one before.

use crate::frame::Hash;
use crate::frame::decoded::{Coverage, FrameLinks, read_links};
use crate::{Error, Records, Tail};
use hindsight_core::{Pruned, Revision};

/// Checks that each frame follows the one before.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    /// The end of the frame before; `None` before the first.
    before: Option<Tail>,
    /// The first frame begins here at the latest.
    begins_by: Revision,
}

impl Links {
    /// Expects the frame after `tail`.
    pub(crate) const fn after(tail: Tail) -> Self {
        Self {
            before: Some(tail),
            begins_by: tail.revision.next(),
        }
    }

    /// Expects the frame that contains this revision, or the first of all.
    pub(crate) fn containing(revision: Revision) -> Self {
        Self {
            before: None,
            begins_by: revision.max(Revision(1)),
        }
    }

    /// The first revision of the frame that is expected.
    fn wanted(&self) -> Option<Revision> {
        self.before.map(|before| before.revision.next())
    }

    /// Fails unless the frame follows the previous one. If the frame that was expected has been thinned
    /// meanwhile, the error says so.
    pub(crate) fn follow(
        &mut self,
        records: &dyn Records,
        frame: &FrameLinks,
    ) -> Result<(), Error> {
        let followed = self.check(frame);
        if followed.is_err()
            && let Some(wanted) = self.wanted()
        {
            check_not_covered(records, wanted, Some(frame))?;
        }
        followed
    }

    /// The error for a frame that could not be read: it is damaged, or it has been thinned meanwhile.
    pub(super) fn reason(&self, records: &dyn Records, first: Revision, error: Error) -> Error {
        check_not_covered(records, self.wanted().unwrap_or(first), None)
            .err()
            .unwrap_or(error)
    }

    /// As [`Self::follow`], for a log that nobody thins meanwhile.
    pub(crate) fn check(&mut self, frame: &FrameLinks) -> Result<(), Error> {
        let first = frame.first;
        let is_mark = matches!(frame.coverage, Coverage::Restored(_));
        // A log that was restored from an empty one begins with the mark of that.
        let is_beginning = is_mark && frame.previous == Hash::default();
        if self.before.is_none() && first > self.begins_by && !is_beginning {
            return Err(Error::absent_record(self.begins_by));
        }
        let wanted = self.wanted().unwrap_or(first);
        let hash = self.before.map_or(frame.previous, |before| before.hash);
        let skips = is_mark && wanted < first;
        if wanted != first && !skips {
            let reason = format!("it is missing, and the next one is at revision {first}");
            return Err(Error::corrupt(wanted, reason));
        }
        if hash != frame.previous || (first == Revision(1) && hash != Hash::default()) {
            return Err(Error::unchained(first));
        }
        self.before = Some(frame.tail());
        Ok(())
    }

    /// Checks, where no frame was found up to `until` although one was expected, whether it has been
    /// thinned meanwhile.
    pub(crate) fn end(&self, records: &dyn Records, until: Revision) -> Result<(), Error> {
        match self.wanted() {
            Some(wanted) if wanted <= until => check_not_covered(records, wanted, None),
            Some(_) | None => Ok(()),
        }
    }
}

/// Fails with [`Error::Pruned`] if a thinned frame has replaced the one that held this revision: another than the one
/// that does not follow.
fn check_not_covered(
    records: &dyn Records,
    wanted: Revision,
    unfollowing: Option<&FrameLinks>,
) -> Result<(), Error> {
    let Some((first, bytes)) = records.at_or_before(wanted)? else {
        return Ok(());
    };
    let frame = read_links(first, &bytes)?;
    let is_same =
        |other: &FrameLinks| other.first == first && other.stored_hash == frame.stored_hash;
    if unfollowing.is_some_and(is_same) {
        return Ok(());
    }
    if frame.is_thinned() && wanted < frame.end {
        return Err(Error::Pruned(Pruned {
            asked: wanted,
            floor: frame.stated_floor(),
        }));
    }
    Ok(())
}
