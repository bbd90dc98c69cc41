//! Copies the beginning of a log, for another one that goes on from there.

use super::Reader;
use crate::chain::Links;
use crate::frame::decoded::{DecodedFrame, read};
use crate::frame::{self, Format};
use crate::{Error, Storage, Tail, codec};
use hindsight_core::{Commit, Pruned, Revision};

impl Reader {
    /// Copies all that is kept of the history up to this revision into an empty storage. If commits that are stored
    /// together end after it, those up to it become a frame of their own. Fails as [`Self::state_at`] does; and
    /// with [`Error::Overtaken`] if history was dropped meanwhile, after which it may be tried again. After a
    /// failure the contents of the storage are of no use.
    pub fn copy_until(&self, until: Revision, to: &dyn Storage) -> Result<(), Error> {
        self.refuse_future(until)?;
        let floor = self.floor()?;
        if until < floor {
            return Err(self.pruned(until, floor));
        }
        let copied = self.copy_from(floor, until, to);
        copied.map_err(|error| match error {
            Error::Pruned(Pruned { floor, .. }) => Error::Overtaken { floor },
            other => other,
        })
    }

    /// Fails with [`Error::Pruned`] if what comes next has been thinned into a frame that was passed.
    fn copy_from(&self, floor: Revision, until: Revision, to: &dyn Storage) -> Result<(), Error> {
        let records = &**self.records();
        let mut links = Links::after(Tail::START);
        let mut from = Revision(1);
        while let Some((first, bytes)) = records.at_or_after(from)?
            && first <= until
        {
            let frame = read(first, &bytes)?;
            let stated = frame.links.stated_floor();
            if stated > floor {
                return Err(Error::Overtaken { floor: stated });
            }
            links.follow(records, &frame.links)?;
            if frame.links.last() <= until {
                to.append(first, &bytes)?;
            } else {
                to.append(first, &beginning(&frame, until)?)?;
            }
            from = frame.links.end;
        }
        links.end(records, until)?;
        to.sync()
    }
}

/// The commits of a whole frame up to a revision, as a frame.
fn beginning(frame: &DecodedFrame, until: Revision) -> Result<Vec<u8>, Error> {
    let is_before = |commit: &&Commit| commit.revision <= until;
    let commits: Vec<_> = frame.commits.iter().filter(is_before).collect();
    let count = u32::try_from(commits.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    frame::begin(&mut bytes);
    codec::encode(&commits, &mut bytes)?;
    let (first, previous) = (frame.links.first, &frame.links.previous);
    frame::seal(&mut bytes, Format::Commits, first, count, previous);
    Ok(bytes)
}
