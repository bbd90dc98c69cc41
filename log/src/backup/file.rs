//! The file format of a backup. See `docs/decisions/0013-backup-and-restore.md`.
//!
//! ```text
//! magic 4 | format 1 | then entries: kind 1 | length 4 | payload | crc32 4
//! ```
//! The entries are a head, the frames, and an end. Integers are little-endian; a checksum covers its whole
//! entry. In format 1 the end has no hash of the contents. A backup that could not be finished has a reason
//! in place of the end. The pieces of a snapshot may come behind the head: they were written once, and are
//! read, but no state is taken from them.

use super::Backup;
use crate::error::BoxedError;
use crate::frame::{self, Hash};
use crate::framing::{self, Unreadable};
use crate::verify::Content;
use crate::{Error, Tail};
use hindsight_core::{Revision, Time};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// What a backup begins with.
pub const BACKUP_MAGIC: [u8; 4] = *b"HSBK";
/// The newest format, and the only one that is written.
pub(crate) const FORMAT: u8 = 2;
const FORMAT_MIN: u8 = 1;
const HEAD: u8 = 1;
const SNAPSHOT: u8 = 2;
const FRAME: u8 = 3;
const END: u8 = 4;
const ABORTED: u8 = 5;
/// The payloads of an end in each format.
const END_BYTES: [u32; 2] = [48, 80];
/// What there is of an entry besides its payload.
const AROUND_BYTES: u64 = 9;
/// Upper bound of the payload of an entry: whatever length it can state. Earlier releases wrote frames as
/// long as all that was decided together. A reader takes up no more memory than there are bytes.
const ENTRY_BYTES_MAX: u32 = u32::MAX;
pub(super) const END_MISMATCH: &str = "its end does not match its contents";

impl Backup {
    /// The longest frame that a backup can carry, in bytes.
    pub(crate) const FRAME_BYTES_MAX: usize = ENTRY_BYTES_MAX as usize;
}

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// The revision at which the backup ends, and when it was made.
    Head { revision: Revision, time: Time },
    /// The next bytes of the snapshot of this revision.
    Snapshot { revision: Revision, piece: Vec<u8> },
    /// A frame as it is stored.
    Frame(Vec<u8>),
    /// The end of the log, the number of frames, and the hash of all their bytes.
    End {
        tail: Tail,
        frames: u64,
        content: Option<Hash>,
    },
}

/// Writes a backup.
#[derive(Debug)]
pub(super) struct Output<W> {
    to: W,
    pub(super) bytes: u64,
    is_refused: bool,
}

impl<W: Write> Output<W> {
    pub(super) fn begin(to: W, format: u8) -> Result<Self, Error> {
        let mut output = Self {
            to,
            bytes: 0,
            is_refused: false,
        };
        output.put(&BACKUP_MAGIC)?;
        output.put(&[format])?;
        Ok(output)
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), Error> {
        match entry {
            Entry::Head { revision, time } => {
                self.parts(HEAD, &[&revision.0.to_le_bytes(), &time.0.to_le_bytes()])
            }
            Entry::Snapshot { revision, piece } => {
                self.parts(SNAPSHOT, &[&revision.0.to_le_bytes(), piece])
            }
            Entry::Frame(frame) => self.parts(FRAME, &[frame]),
            Entry::End {
                tail,
                frames,
                content,
            } => {
                let revision = tail.revision.0.to_le_bytes();
                let content = content.as_ref().map_or(&[][..], |hash| hash);
                self.parts(
                    END,
                    &[&revision, &tail.hash, &frames.to_le_bytes(), content],
                )
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<u64, Error> {
        let flushed = self.to.flush();
        self.is_refused |= flushed.is_err();
        flushed.map_err(Error::io("writing the backup"))?;
        Ok(self.bytes)
    }

    /// Writes the reason why there is no end, for the reader of the file. Writes nothing if an earlier
    /// write failed.
    pub(super) fn abort(&mut self, why: &Error) {
        if self.is_refused {
            return;
        }
        let floor = match why {
            Error::Overtaken { floor } => floor.0,
            _ => 0,
        };
        let reason = why.to_string();
        let written = self.parts(ABORTED, &[&floor.to_le_bytes(), reason.as_bytes()]);
        written.and_then(|()| self.finish()).ok();
    }

    fn parts(&mut self, kind: u8, parts: &[&[u8]]) -> Result<(), Error> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        let length = u32::try_from(length)
            .map_err(|_| unusable("a record is longer than the format allows"))?;
        let mut checksum = crc32fast::Hasher::new();
        let head = [&[kind], &length.to_le_bytes()[..]];
        for part in head.iter().chain(parts) {
            checksum.update(part);
            self.put(part)?;
        }
        self.put(&checksum.finalize().to_le_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.to.write_all(bytes);
        self.is_refused |= written.is_err();
        written.map_err(Error::io("writing the backup"))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Reads a backup entry by entry, and checks their order.
#[derive(Debug)]
pub(super) struct Input<R> {
    input: framing::Input<R>,
    /// The kind of the previous entry.
    last: Option<u8>,
    /// The revision at which the backup says that it ends.
    pub(super) until: Revision,
    frames: u64,
    content: Content,
    end: Option<(Tail, Option<Hash>)>,
}

impl<R: Read> Input<R> {
    pub(super) fn open(from: R) -> Result<Self, Error> {
        let input = framing::Input::open(from, BACKUP_MAGIC, FORMAT_MIN..=FORMAT, "a backup");
        Ok(Self {
            input: input.map_err(unreadable)?,
            last: None,
            until: Revision::ZERO,
            frames: 0,
            content: Content::default(),
            end: None,
        })
    }

    pub(super) const fn format(&self) -> u8 {
        self.input.format
    }

    /// The next entry; `None` after the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, Error> {
        if self.end.is_some() {
            return match self.input.from.read(&mut [0]) {
                Ok(0) => Ok(None),
                Ok(_) => Err(unusable("there is more data after its end")),
                Err(error) => Err(unreadable(Unreadable::Io(error))),
            };
        }
        let (kind, payload) = self.checked().map_err(unreadable)?;
        if kind == ABORTED {
            return Err(aborted(&payload));
        }
        let before = self.last.replace(kind);
        let follows = match before {
            None => kind == HEAD,
            Some(before) => (before.max(SNAPSHOT)..=END).contains(&kind),
        };
        if !follows {
            return Err(unusable("its parts are out of order"));
        }
        let entry = parsed(self.format(), kind, payload);
        let entry = entry.ok_or_else(|| unusable("this release cannot read a part of it"))?;
        self.note(&entry)?;
        Ok(Some(entry))
    }

    /// The summary of the backup, once it was read to its end.
    pub(super) fn whole(&self) -> Result<Backup, Error> {
        let end = self.end.ok_or_else(|| unusable("its end is missing"))?;
        let (tail, content) = end;
        Ok(Backup {
            tail,
            frames: self.frames,
            bytes: self.input.bytes,
            content,
        })
    }

    fn note(&mut self, entry: &Entry) -> Result<(), Error> {
        match entry {
            Entry::Head { revision, .. } => self.until = *revision,
            Entry::Snapshot { .. } => {}
            Entry::Frame(bytes) => {
                self.frames += 1;
                self.content.add(&frame::hash(bytes));
            }
            Entry::End {
                tail,
                frames,
                content,
            } => {
                let is_other = content.is_some_and(|hash| hash != self.content.hash());
                if is_other || (tail.revision, *frames) != (self.until, self.frames) {
                    return Err(unusable(END_MISMATCH));
                }
                self.end = Some((*tail, *content));
            }
        }
        Ok(())
    }

    fn checked(&mut self) -> Result<(u8, Vec<u8>), Unreadable> {
        let head = self.input.take::<5>()?;
        let [kind, length @ ..] = head;
        let length = u32::from_le_bytes(length);
        let payload = self.input.part(length)?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&head);
        checksum.update(&payload);
        if checksum.finalize() != u32::from_le_bytes(self.input.take()?) {
            return Err("a checksum in it does not match".into());
        }
        Ok((kind, payload))
    }
}

fn parsed(format: u8, kind: u8, payload: Vec<u8>) -> Option<Entry> {
    if kind == FRAME {
        return Some(Entry::Frame(payload));
    }
    let (number, rest) = payload.split_first_chunk::<8>()?;
    let revision = Revision(u64::from_le_bytes(*number));
    match kind {
        HEAD => {
            let time = Time(i64::from_le_bytes(rest.try_into().ok()?));
            Some(Entry::Head { revision, time })
        }
        SNAPSHOT => Some(Entry::Snapshot {
            revision,
            piece: rest.to_vec(),
        }),
        END => {
            let (hash, rest) = rest.split_first_chunk::<32>()?;
            let (frames, content) = rest.split_first_chunk::<8>()?;
            let content = match format {
                1 if content.is_empty() => None,
                1 => return None,
                _ => Some(content.try_into().ok()?),
            };
            Some(Entry::End {
                tail: Tail {
                    revision,
                    hash: *hash,
                },
                frames: u64::from_le_bytes(*frames),
                content,
            })
        }
        _ => None,
    }
}

/// Whether a file ends as a whole backup does, of whichever format. What comes before its end is not looked at.
pub(super) fn has_end(mut file: impl Read + Seek) -> io::Result<bool> {
    let length = file.seek(SeekFrom::End(0))?;
    for payload in END_BYTES {
        let Some(at) = length.checked_sub(u64::from(payload) + AROUND_BYTES) else {
            continue;
        };
        file.seek(SeekFrom::Start(at))?;
        let mut entry = Vec::new();
        file.by_ref().read_to_end(&mut entry)?;
        let head = [&[END], &payload.to_le_bytes()[..]].concat();
        let Some((entry, checksum)) = entry.split_last_chunk() else {
            continue;
        };
        if entry.starts_with(&head) && crc32fast::hash(entry) == u32::from_le_bytes(*checksum) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The error of a backup that was not finished: the floor of the log, if history was dropped meanwhile,
/// or the reason in words.
fn aborted(payload: &[u8]) -> Error {
    let (floor, reason) = payload.split_first_chunk().unwrap_or((&[0; 8], payload));
    match u64::from_le_bytes(*floor) {
        0 => {
            let reason = String::from_utf8_lossy(reason);
            unusable(format!("it was not finished: {reason}"))
        }
        floor => Error::Overtaken {
            floor: Revision(floor),
        },
    }
}

pub(super) fn unusable(reason: impl Into<BoxedError>) -> Error {
    Error::Backup(reason.into())
}

fn unreadable(error: Unreadable) -> Error {
    match error {
        Unreadable::Damaged(reason) => unusable(reason),
        Unreadable::Empty => unusable("it is empty"),
        Unreadable::Short => unusable("it is incomplete: it was truncated, or never finished"),
        Unreadable::Newer { found, known } => Error::NewerBackup { found, known },
        Unreadable::Io(error) => Error::reading("the backup")(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_bytes_is_empty_and_one_that_ends_early_is_incomplete() {
        for (bytes, told) in [(&b""[..], "it is empty"), (b"HSB", "it is incomplete")] {
            let refused = Input::open(bytes).expect_err("it is refused");
            let refused = refused.to_string();
            assert!(refused.contains(told), "{refused}");
        }
    }

    /// A release that decided any number of things together may have written it.
    #[test]
    fn a_frame_that_is_longer_than_any_that_is_written_now_reads_back() {
        let frame = Entry::Frame(vec![7; 65 << 20]);
        let (revision, time) = (Revision(1), Time(0));
        let mut file = Vec::new();
        let mut output = Output::begin(&mut file, FORMAT).expect("begun");
        output
            .entry(&Entry::Head { revision, time })
            .expect("written");
        output.entry(&frame).expect("written");
        output.finish().expect("finished");
        let mut input = Input::open(&file[..]).expect("opened");
        input.next().expect("read").expect("a head");
        let read = input.next().expect("read");
        assert!(read == Some(frame), "it is another");
    }
}
