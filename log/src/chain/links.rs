//! Whether each frame follows the one before.

use crate::frame::Hash;
use crate::frame::decoded::{Coverage, FrameLinks, read};
use crate::{Error, Records, Tail};
use hindsight_core::{Pruned, Revision};

/// Checks that each frame follows the one before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// The end of the frame before; `None` if any frame may come first.
    before: Option<Tail>,
}

impl Links {
    /// Expects the frame after `tail`.
    pub(crate) const fn after(tail: Tail) -> Self {
        Self { before: Some(tail) }
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
        if followed.is_err() {
            self.check_not_thinned(records)?;
        }
        followed
    }

    /// The error for a frame that could not be read: it is damaged, or it has been thinned meanwhile.
    pub(super) fn reason(&self, records: &dyn Records, first: Revision, error: Error) -> Error {
        check_not_covered(records, self.wanted().unwrap_or(first))
            .err()
            .unwrap_or(error)
    }

    /// As [`Self::follow`], for a log that nobody thins meanwhile.
    pub(crate) fn check(&mut self, frame: &FrameLinks) -> Result<(), Error> {
        let first = frame.first;
        let wanted = self.wanted().unwrap_or(first);
        let hash = self.before.map_or(frame.previous, |before| before.hash);
        let skips = matches!(frame.coverage, Coverage::Restored(_)) && wanted < first;
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
            Some(wanted) if wanted <= until => self.check_not_thinned(records),
            Some(_) | None => Ok(()),
        }
    }

    /// Fails with [`Error::Pruned`] if the expected frame was thinned while the log was being read.
    fn check_not_thinned(&self, records: &dyn Records) -> Result<(), Error> {
        self.wanted()
            .map_or(Ok(()), |wanted| check_not_covered(records, wanted))
    }
}

/// Fails with [`Error::Pruned`] if a thinned frame has replaced the one that held this revision.
fn check_not_covered(records: &dyn Records, wanted: Revision) -> Result<(), Error> {
    let Some((first, bytes)) = records.at_or_before(wanted)? else {
        return Ok(());
    };
    let frame = read(first, &bytes)?.links;
    if frame.is_thinned() && wanted < frame.end {
        return Err(Error::Pruned(Pruned {
            asked: wanted,
            floor: frame.stated_floor(),
        }));
    }
    Ok(())
}
