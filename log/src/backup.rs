//! Backups: the frames of a log as they are stored, in one file with an explicit end. A backup can be
//! made while the log is written to. See `docs/decisions/0013-backup-and-restore.md`.

mod file;
mod leftover;
mod restore;

pub use file::BACKUP_MAGIC;
pub use restore::{BUMP_MAX, DEFAULT_BUMP, Restore, RestoreStep, Restored, Unchecked};

use crate::chain::Links;
use crate::frame::Hash;
use crate::frame::decoded::{DecodedFrame, read};
use crate::tail::VerifiedFrames;
use crate::verify::{Content, hex};
use crate::{Error, Reader, Records, Tail, frame};
pub(crate) use file::FORMAT;
use file::{Entry, Input, Output};
use hindsight_core::{Pruned, Revision, Time};
use std::io::{self, Write};

/// A summary of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    /// The end of the log in it.
    pub tail: Tail,
    /// Number of frames.
    pub frames: u64,
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// Hash of all its frames; backups of the first format do not have it.
    pub(crate) content: Option<Hash>,
}

impl Backup {
    /// Hash of the last frame, in hex: a fingerprint of every commit that was ever in the log.
    pub fn chain(&self) -> String {
        hex(self.tail.hash)
    }

    /// Hash of all frames as they are stored, in hex: a fingerprint of what is kept, also for a thinned
    /// log.
    pub fn content(&self) -> Option<String> {
        self.content.map(hex)
    }
}

impl Reader {
    /// Writes a backup of the log as far as it is durable now; later writes are not waited for.
    /// `progress` receives the revision that was reached and the one at which the backup ends. If it
    /// fails, the file gets no end, and states the reason.
    pub fn backup(
        &self,
        time: Time,
        to: impl Write,
        progress: impl FnMut(Revision, Revision),
    ) -> Result<Backup, Error> {
        let tail = self.tail()?;
        let mut output = Output::begin(to, FORMAT)?;
        let made = self.copy(tail, time, &mut output, progress);
        let made = made.map_err(|error| match error {
            Error::Pruned(Pruned { floor, .. }) => Error::Overtaken { floor },
            other => other,
        });
        if let Err(error) = &made {
            output.abort(error);
        }
        made
    }

    fn copy(
        &self,
        tail: Tail,
        time: Time,
        output: &mut Output<impl Write>,
        mut progress: impl FnMut(Revision, Revision),
    ) -> Result<Backup, Error> {
        let until = tail.revision;
        output.entry(&Entry::Head {
            revision: until,
            time,
        })?;
        let source = Source {
            records: &**self.records(),
            next: Some(Revision::ZERO),
            until,
            links: Links::after(Tail::START),
            output,
        };
        let (mut frames, mut reached) = (0, Tail::START);
        let mut content = Content::default();
        for frame in VerifiedFrames::new(Tail::START, source, &**self.records())? {
            let frame = frame?;
            frames += 1;
            content.add(&frame.links.stored_hash);
            reached = frame.links.tail();
            progress(reached.revision, until);
        }
        if reached != tail {
            return Err(Error::Diverged { revision: until });
        }
        let content = Some(content.hash());
        output.entry(&Entry::End {
            tail,
            frames,
            content,
        })?;
        let bytes = output.finish()?;
        Ok(Backup {
            tail,
            frames,
            bytes,
            content,
        })
    }
}

/// Copies frames into a backup, and checks that each follows the one before.
struct Source<'a, W> {
    records: &'a dyn Records,
    /// Where to look next; nothing at the end or after a failure.
    next: Option<Revision>,
    until: Revision,
    links: Links,
    output: &'a mut Output<W>,
}

impl<W: Write> Source<'_, W> {
    fn step(&mut self) -> Result<Option<DecodedFrame>, Error> {
        let Some(from) = self.next.take() else {
            return Ok(None);
        };
        let found = self.records.at_or_after(from)?;
        let Some((first, bytes)) = found.filter(|(first, _)| *first <= self.until) else {
            return self.links.end(self.records, self.until).map(|()| None);
        };
        let frame = read(first, &bytes)?;
        self.check_not_passed(&frame)?;
        self.links.follow(self.records, &frame.links)?;
        self.next = frame::end(first, &bytes);
        self.output.entry(&Entry::Frame(bytes))?;
        Ok(Some(frame))
    }

    /// Fails with [`Error::Pruned`] if the log has been thinned beyond the end of the backup: then no
    /// frame need end there any more, and what is kept gives no state at or before that end.
    fn check_not_passed(&self, frame: &DecodedFrame) -> Result<(), Error> {
        let (asked, floor) = (self.until, frame.links.stated_floor());
        if floor > asked {
            return Err(Error::Pruned(Pruned { asked, floor }));
        }
        Ok(())
    }
}

impl<W: Write> Iterator for Source<'_, W> {
    type Item = Result<DecodedFrame, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

/// Copies a backup and checks that it is complete; the contents of its frames are checked when it is
/// restored. If the backup turns out to be incomplete, the copy states that.
pub fn copy_backup(
    from: impl io::Read,
    to: impl Write,
    progress: impl FnMut(Revision, Revision),
) -> Result<Backup, Error> {
    let mut input = Input::open(from)?;
    let mut output = Output::begin(to, input.format())?;
    let copied = copy_entries(&mut input, &mut output, progress);
    if let Err(error) = &copied {
        output.abort(error);
    }
    copied.and_then(|()| input.whole())
}

fn copy_entries(
    input: &mut Input<impl io::Read>,
    output: &mut Output<impl Write>,
    mut progress: impl FnMut(Revision, Revision),
) -> Result<(), Error> {
    while let Some(entry) = input.next()? {
        output.entry(&entry)?;
        if let Entry::Frame(bytes) = &entry {
            progress(frame::first(bytes).unwrap_or_default(), input.until);
        }
    }
    output.finish().map(drop)
}
