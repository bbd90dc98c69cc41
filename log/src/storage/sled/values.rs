//! Finds the values in the file of a database of sled 0.34. A segment consists of a header and messages,
//! up to a few bytes before its end:
//!
//! ```text
//! crc32 of all behind it, the body first 4 | kind 1 | length | segment | page | body
//! ```
//! The checksum of a message covers its body and then its header. Numbers take one byte up to 240, and
//! otherwise as many more as the first byte says. A link sets the value of one key; a node is a page,
//! with all its keys and then all its values. There are no blobs.

#[cfg(test)]
mod tests;

use super::SEGMENT_BYTES;
use super::checksums::Checksums;
use std::ops::Range;

/// Length of a segment header: a checksum, its position in the log, and how far the log is stable.
pub(super) const HEADER_BYTES: usize = 20;
/// No message begins closer than this to the end of a segment.
const MESSAGE_BYTES_MIN: usize = 32;
const CHECKSUM_BYTES: usize = 4;
/// The kinds of messages.
const KINDS: Range<u8> = 1..12;
const CAP: u8 = 2;
const TREES: u8 = 6;
const NODE: u8 = 8;
const LINK: u8 = 10;
/// In a link: it sets a value. In the data of a node: it has values.
const SETS: u8 = 0;
const LEAF: u8 = 0;
/// The kinds that replace a page, or free it.
const REPLACEMENTS: Range<u8> = 4..LINK;
/// Bytes to which nothing was written.
const BLANK: &[u8] = &[0; 4096];

/// A value, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) key: Vec<u8>,
    /// The number of the segment in the log. Later writes have a higher one, or are further behind in the
    /// same.
    pub(super) segment: u64,
    /// The offset in the file.
    pub(super) at: u64,
    pub(super) length: usize,
}

impl Value {
    /// The content of the value, from the bytes of its segment, which begins at this offset of the file.
    pub(super) fn within<'a>(&self, segment: &'a [u8], segment_at: u64) -> &'a [u8] {
        let begin = usize::try_from(self.at - segment_at).unwrap_or(usize::MAX);
        let content = segment.get(begin..begin.saturating_add(self.length));
        content.unwrap_or_default()
    }
}

/// What a message says about values, and the trees that they are in.
#[derive(Debug)]
pub(super) enum MessageContents {
    /// All values of a page.
    Node { prefix: Prefix, values: Vec<Value> },
    /// A value that a page gets, or gets anew. Its key lacks the prefix of the page.
    Link { page: u64, value: Value },
    /// The names of all trees.
    Trees(Vec<Vec<u8>>),
}

/// What all keys of a page share from this position in the log on.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) page: u64,
    pub(super) segment: u64,
    /// The offset of the node in the file.
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
}

/// The bytes of a segment, as far as the file has them.
#[derive(Debug)]
pub(super) struct Segment<'a> {
    bytes: &'a [u8],
    header: Option<SegmentHeader>,
}

/// The header of a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentHeader {
    /// The position of the segment in the log.
    pub(crate) position: u64,
    /// How far the log was stable when the segment was begun.
    pub(super) stable: u64,
}

impl SegmentHeader {
    /// Decodes a header; `None` if its checksum does not match.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER_BYTES)?;
        let (checksum, header) = header.split_first_chunk::<CHECKSUM_BYTES>()?;
        if !u32::from_le_bytes(*checksum) != crc32fast::hash(header) {
            return None;
        }
        let (position, stable) = header.split_first_chunk::<8>()?;
        let position = i64::from_le_bytes(*position) ^ i64::MAX;
        let stable = i64::from_le_bytes(*stable.first_chunk::<8>()?) ^ i64::MAX;
        Some(Self {
            position: u64::try_from(position).ok()?,
            stable: u64::try_from(stable).unwrap_or_default(),
        })
    }
}

impl<'a> Segment<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let header = SegmentHeader::read(bytes);
        Self { bytes, header }
    }

    /// What whole messages say about values, in their order, if the segment begins at this offset of the
    /// file.
    pub(super) fn contents(&self, segment_at: u64) -> impl Iterator<Item = MessageContents> {
        let messages = self.messages(HEADER_BYTES);
        messages.filter_map(move |message| message.contents(self.bytes, segment_at))
    }

    /// The offset of the first message that is missing or damaged; `None` if they reach the end.
    pub(super) fn tear(&self) -> Option<usize> {
        let (mut at, mut sums) = (HEADER_BYTES, Checksums::default());
        while at + MESSAGE_BYTES_MIN <= SEGMENT_BYTES {
            let message = self.message(at, &mut sums);
            let Some(message) = message else {
                return Some(at);
            };
            if message.kind == CAP {
                return None;
            }
            at = message.body.end;
        }
        None
    }

    /// Whether a message ends at this offset, or would if one before it were not damaged.
    pub(super) fn reaches(&self, offset: usize) -> bool {
        let (mut at, mut sums) = (HEADER_BYTES, Checksums::default());
        while at < offset {
            match self.message(at, &mut sums) {
                Some(message) => at = message.body.end,
                None => return self.has_messages_after(at),
            }
        }
        at == offset
    }

    /// Whether there is a whole message behind this offset.
    pub(super) fn has_messages_after(&self, at: usize) -> bool {
        self.messages(self.written_after(at)).next().is_some()
    }

    /// The position in the log of the newest of the segments to which the whole messages belong.
    pub(super) fn newest_position(&self) -> Option<u64> {
        let messages = self.messages(self.written_after(0));
        let newest = messages.map(|message| message.segment).max();
        newest.map(|number| number.saturating_mul(SEGMENT_BYTES as u64))
    }

    /// The pages that are replaced or freed before the first message that is missing or damaged.
    pub(super) fn replaced(&self) -> Vec<u64> {
        let end = self.tear().unwrap_or(SEGMENT_BYTES);
        let messages = self.messages(HEADER_BYTES);
        let whole = messages.take_while(|message| message.body.end <= end);
        whole
            .filter(|message| REPLACEMENTS.contains(&message.kind))
            .map(|message| message.page)
            .collect()
    }

    /// The first offset from this one on, in steps, where there is not nothing.
    fn written_after(&self, at: usize) -> usize {
        let mut rest = self.bytes.get(at..).unwrap_or_default();
        while let Some((piece, behind)) = rest.split_at_checked(BLANK.len()) {
            if piece != BLANK {
                break;
            }
            rest = behind;
        }
        self.bytes.len() - rest.len()
    }

    /// The messages from this offset on; where there is none, it is searched for at every byte.
    fn messages(&self, mut at: usize) -> impl Iterator<Item = Message> {
        let mut sums = Checksums::default();
        std::iter::from_fn(move || {
            while at + MESSAGE_BYTES_MIN <= self.bytes.len() {
                match self.message(at, &mut sums) {
                    Some(message) if message.kind == CAP => return None,
                    Some(message) => {
                        at = message.body.end;
                        return Some(message);
                    }
                    None => at += 1,
                }
            }
            None
        })
    }

    fn message(&self, at: usize, sums: &mut Checksums) -> Option<Message> {
        let number = self.header.map(|one| one.position / SEGMENT_BYTES as u64);
        Message::at(self.bytes, at, number, sums)
    }
}

struct Message {
    kind: u8,
    segment: u64,
    page: u64,
    body: Range<usize>,
}

/// What the header of a message says. Nothing is checksummed.
#[derive(Debug)]
pub(super) struct MessageHeader {
    kind: u8,
    pub(super) segment: u64,
    pub(super) page: u64,
    /// The length of the header, and of the whole message.
    body: usize,
    pub(super) length: u64,
}

impl MessageHeader {
    /// Decodes the header with which these bytes begin.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = Bytes {
            bytes,
            at: CHECKSUM_BYTES,
        };
        let kind = rest.byte().filter(|kind| KINDS.contains(kind))?;
        let length = rest.number()?;
        let (segment, page) = (rest.number()?, rest.number()?);
        Some(Self {
            kind,
            segment,
            page,
            body: rest.at,
            length: length.checked_add(rest.at as u64)?,
        })
    }
}

impl Message {
    fn at(bytes: &[u8], at: usize, segment: Option<u64>, sums: &mut Checksums) -> Option<Self> {
        let from = bytes.get(at..)?;
        let checksum = from.first_chunk::<CHECKSUM_BYTES>()?;
        let found = MessageHeader::read(from)?;
        if segment.is_some_and(|segment| segment != found.segment) {
            return None;
        }
        let header = from.get(CHECKSUM_BYTES..found.body)?;
        let content = from.get(found.body..usize::try_from(found.length).ok()?)?;
        let body = at + found.body..at + found.body + content.len();
        let mut sum = crc32fast::Hasher::new_with_initial(sums.of(bytes, body.clone()));
        sum.update(header);
        if !sum.finalize() != u32::from_le_bytes(*checksum) {
            return None;
        }
        Some(Self {
            kind: found.kind,
            segment: found.segment,
            page: found.page,
            body,
        })
    }

    /// The values of a link or a node, or the names of trees; `None` if it has none, or is of another kind.
    fn contents(&self, bytes: &[u8], segment_at: u64) -> Option<MessageContents> {
        let mut body = Bytes {
            bytes: bytes.get(..self.body.end)?,
            at: self.body.start,
        };
        let at = |begin: usize| segment_at + begin as u64;
        let value = |(key, range): Pair| Value {
            key,
            segment: self.segment,
            at: at(range.start),
            length: range.len(),
        };
        match self.kind {
            LINK => Some(MessageContents::Link {
                page: self.page,
                value: value(body.link()?),
            }),
            NODE => {
                let (prefix, pairs) = body.node()?;
                let prefix = Prefix {
                    page: self.page,
                    segment: self.segment,
                    at: at(self.body.start),
                    bytes: prefix,
                };
                let values = pairs.into_iter().map(value).collect();
                Some(MessageContents::Node { prefix, values })
            }
            TREES => body.trees().map(MessageContents::Trees),
            _ => None,
        }
    }
}

/// Bytes that are read from their beginning, in the encoding of sled.
pub(super) struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A key, and the range of its value.
type Pair = (Vec<u8>, Range<usize>);

impl<'a> Bytes<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// A number that is not shortened.
    pub(super) fn integer(&mut self) -> Option<u64> {
        let range = self.take(8)?;
        let bytes = self.bytes.get(range)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    fn link(&mut self) -> Option<Pair> {
        if self.byte()? != SETS {
            return None;
        }
        let key = self.text()?;
        Some((self.bytes.get(key)?.to_vec(), self.text()?))
    }

    /// Skips the neighbour, a child that is being merged, whether it is itself one, the length of the
    /// prefix of its lowest key that all keys share, that key and the one behind its highest; then reads
    /// the data. Returns that prefix too.
    fn node(&mut self) -> Option<(Vec<u8>, Vec<Pair>)> {
        self.number()?;
        self.number()?;
        self.byte()?;
        let shared = usize::from(self.byte()?);
        let lowest = self.text()?;
        let prefix = self.bytes.get(lowest)?.get(..shared)?;
        let prefix = prefix.to_vec();
        self.text()?;
        if self.byte()? != LEAF {
            return None;
        }
        let count = self.number()?;
        let keys: Vec<_> = (0..count)
            .map(|_| self.text())
            .collect::<Option<Vec<_>>>()?;
        let mut pairs = Vec::with_capacity(keys.len());
        for key in keys {
            let key = [&prefix, self.bytes.get(key)?].concat();
            pairs.push((key, self.text()?));
        }
        Some((prefix, pairs))
    }

    /// The names before the roots of the trees.
    fn trees(&mut self) -> Option<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        while !self.is_empty() {
            let name = self.text()?;
            names.push(self.bytes.get(name)?.to_vec());
            self.number()?;
        }
        Some(names)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        Some(match first {
            0..=240 => first.into(),
            241..=248 => 240 + 256 * (u64::from(first) - 241) + u64::from(self.byte()?),
            249 => 2288 + 256 * u64::from(self.byte()?) + u64::from(self.byte()?),
            250.. => {
                let range = self.take(u64::from(first) - 247)?;
                let mut number = [0; 8];
                for (to, from) in number.iter_mut().zip(self.bytes.get(range)?) {
                    *to = *from;
                }
                u64::from_le_bytes(number)
            }
        })
    }

    fn text(&mut self) -> Option<Range<usize>> {
        let length = self.number()?;
        self.take(length)
    }

    fn take(&mut self, length: u64) -> Option<Range<usize>> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        if end > self.bytes.len() {
            return None;
        }
        let taken = self.at..end;
        self.at = end;
        Some(taken)
    }
}
