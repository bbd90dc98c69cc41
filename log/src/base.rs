//! Where a fold begins: the empty world before the first commit, or what a snapshot holds.

use crate::frame::Hash;
use crate::reader::{self, Holds, Read};
use crate::{Error, Storage, Tail};
use hindsight_core::{Revision, State, Time, apply};

/// A state, and the end of the log that it is the state of.
#[derive(Debug, Clone)]
pub struct Base {
    /// The state.
    pub state: State,
    /// Of the last frame that is folded into it.
    pub(crate) hash: Hash,
    /// The latest time of any commit or restore that is folded into it.
    pub latest: Time,
    /// The last revision at which a backup was restored; zero where none ever was.
    pub restored: Revision,
}

impl Base {
    /// Before the first commit.
    pub const fn empty(state: State) -> Self {
        Self {
            state,
            hash: [0; 32],
            latest: Time(i64::MIN),
            restored: Revision::ZERO,
        }
    }

    /// The end of the log up to which it goes.
    pub const fn tail(&self) -> Tail {
        Tail {
            revision: self.state.revision,
            hash: self.hash,
        }
    }

    /// Takes the next frame in. After one that is thinned, the state is right from its floor on.
    pub(crate) fn fold(&mut self, frame: &Read) {
        for commit in &frame.commits {
            apply(&mut self.state, commit);
            self.latest = self.latest.max(commit.time);
        }
        match frame.holds {
            Holds::All => {}
            Holds::Some(_, latest) => self.latest = self.latest.max(latest),
            Holds::Restored(time) => {
                self.latest = self.latest.max(time);
                self.restored = frame.end.previous();
            }
        }
        self.state.revision = frame.end.previous();
        self.hash = frame.hash;
    }

    /// Whether the log was what it was made of. A log that ends before it has lost what was
    /// acknowledged.
    pub(crate) fn is_of(&self, storage: &dyn Storage) -> Result<(), Error> {
        holds(storage, self.tail())
    }
}

/// Whether a thinned frame stands for this revision and for later ones, so that nothing ends there any more.
pub(crate) fn is_thinned_over(storage: &dyn Storage, revision: Revision) -> Result<bool, Error> {
    let found = storage.at_or_before(revision)?;
    let found = found.map(|(first, bytes)| reader::read(&bytes, first));
    Ok(found.transpose()?.is_some_and(|frame| {
        matches!(frame.holds, Holds::Some(..)) && frame.end.previous() > revision
    }))
}

/// Whether exactly this was once the end of the log.
pub(crate) fn holds(storage: &dyn Storage, tail: Tail) -> Result<(), Error> {
    let revision = tail.revision;
    if revision == Revision::ZERO {
        return Ok(());
    }
    let found = storage.at_or_before(revision)?;
    let found = found.map(|(first, bytes)| reader::read(&bytes, first));
    let Some(frame) = found.transpose()? else {
        return Err(Error::Lost {
            acknowledged: revision,
            newest: Revision::ZERO,
        });
    };
    let newest = frame.end.previous();
    if newest < revision && storage.at_or_after(frame.end)?.is_none() {
        return Err(Error::Lost {
            acknowledged: revision,
            newest,
        });
    }
    if newest == revision && frame.hash == tail.hash {
        return Ok(());
    }
    Err(Error::Diverged { revision })
}

/// Whether this was once its end, as far as can be told: of what a thinned frame stands for, only the last can.
pub(crate) fn passes(storage: &dyn Storage, tail: Tail) -> Result<(), Error> {
    match holds(storage, tail) {
        Err(Error::Diverged { .. }) if is_thinned_over(storage, tail.revision)? => Ok(()),
        held => held,
    }
}
