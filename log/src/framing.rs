//! The layout that snapshots and backups share: a magic of four bytes and a format byte, then parts that
//! are prefixed by their length.

use crate::error::BoxedError;
use std::io::{self, Read};
use std::ops::RangeInclusive;

/// Upper bound of the memory reserved for a part before its bytes are read, so that a corrupt length
/// costs no more than this.
const BYTES_AHEAD: usize = 1 << 20;

/// Why a file could not be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The bytes are not those that were written.
    Damaged(BoxedError),
    /// It has no bytes.
    Empty,
    /// It ends in the middle of a part.
    Short,
    /// A later release wrote it, in a format that this one does not read.
    Newer { found: u8, known: u8 },
    /// The operating system failed to read it, which says nothing about the contents.
    Io(io::Error),
}

impl<T: Into<BoxedError>> From<T> for Unreadable {
    fn from(reason: T) -> Self {
        Self::Damaged(reason.into())
    }
}

fn not_read(error: io::Error) -> Unreadable {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Unreadable::Short,
        _ => Unreadable::Io(error),
    }
}

/// A file that is being read, part by part.
#[derive(Debug)]
pub(crate) struct Input<R> {
    pub(crate) from: R,
    pub(crate) format: u8,
    /// Bytes read so far.
    pub(crate) bytes: u64,
}

impl<R: Read> Input<R> {
    /// Reads the magic and the format; `what` names the kind of file in errors.
    pub(crate) fn open(
        from: R,
        magic: [u8; 4],
        known: RangeInclusive<u8>,
        what: &str,
    ) -> Result<Self, Unreadable> {
        let mut input = Self {
            from,
            format: 0,
            bytes: 0,
        };
        let found = input.magic()?;
        if found != magic {
            return Err(format!("its header is not that of {what}").into());
        }
        let [format] = input.take::<1>()?;
        input.format = format;
        if known.contains(&format) {
            return Ok(input);
        }
        if format > *known.end() {
            return Err(Unreadable::Newer {
                found: format,
                known: *known.end(),
            });
        }
        let known = match known.into_inner() {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        Err(format!("it has format {format}, and this release reads {known}").into())
    }

    fn magic(&mut self) -> Result<[u8; 4], Unreadable> {
        let mut found = Vec::new();
        let mut first = self.from.by_ref().take(4);
        first.read_to_end(&mut found).map_err(not_read)?;
        if found.is_empty() {
            return Err(Unreadable::Empty);
        }
        self.bytes += found.len() as u64;
        found.try_into().map_err(|_| Unreadable::Short)
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(not_read)?;
        self.bytes += N as u64;
        Ok(bytes)
    }

    /// Reads `length` bytes. Memory grows with the bytes that are there, not with what the length claims.
    pub(crate) fn part(&mut self, length: u32) -> Result<Vec<u8>, Unreadable> {
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let mut part = Vec::with_capacity(size.min(BYTES_AHEAD));
        let mut rest = self.from.by_ref().take(u64::from(length));
        rest.read_to_end(&mut part).map_err(not_read)?;
        if part.len() != size {
            return Err(Unreadable::Short);
        }
        self.bytes += u64::from(length);
        Ok(part)
    }
}
