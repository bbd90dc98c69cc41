//! The file format of a snapshot.
//!
//! ```text
//! magic 4 | format 1 | then blocks: length 4 | crc32 4 | payload
//! ```
//! The first block states the point of the log at which it was taken, the last the hash that the state
//! must have.

use crate::codec::{Block, ObjectV1, Undecodable};
use crate::framing::{self, Unreadable};
use crate::{Base, Tail, parallel, regular};
use hindsight_core::state::Image;
use hindsight_core::{Object, Revision, State, Time};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"HSSN";
pub(crate) const FORMAT: u8 = 1;
/// Bytes of object bodies in a block; a single larger object has a block of its own.
const BLOCK_BYTES: usize = 64 << 10;
/// Owners that a deletion holds, in a block, each with a uid of 36 bytes and two numbers: some 50 KiB.
const HELD_OWNERS_MAX: usize = 1 << 10;
/// Upper bound of a block: an object body has 3 MiB at most.
const BLOCK_BYTES_MAX: u32 = 64 << 20;
/// Bytes that are synced before more is written, so that a sync of the log never waits for much.
const SYNC_BYTES: usize = 1 << 20;
/// Blocks that are decoded together.
const BATCH_BLOCKS: usize = 64;

/// The point of the log at which a snapshot was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) revision: Revision,
    pub(super) latest: Time,
    hash: [u8; 32],
    restored: Revision,
}

pub(super) fn write(file: &File, base: &Base) -> io::Result<()> {
    let mut out = Blocks {
        file,
        bytes: Vec::new(),
        unsynced: 0,
    };
    out.bytes.extend_from_slice(MAGIC);
    out.bytes.push(FORMAT);
    let image = base.state.image();
    let revision = base.state.revision;
    out.block(&Block::head(
        revision,
        base.hash,
        base.latest,
        base.restored,
    ))?;
    let mut objects = Vec::new();
    let mut bytes = 0;
    for object in base.state.objects() {
        bytes += object.body.len();
        objects.push(Arc::clone(object));
        if bytes >= BLOCK_BYTES {
            out.block(&Block::objects(&objects))?;
            objects.clear();
            bytes = 0;
        }
    }
    out.block(&Block::objects(&objects))?;
    for one in &image.accepted {
        out.block(&Block::accepted(std::slice::from_ref(one)))?;
    }
    for some in image.held_owners.chunks(HELD_OWNERS_MAX) {
        out.block(&Block::held_owners(some))?;
    }
    out.block(&Block::End {
        state: &base.state.hash(),
    })
}

struct Blocks<'a> {
    file: &'a File,
    bytes: Vec<u8>,
    unsynced: usize,
}

impl Blocks<'_> {
    fn block(&mut self, block: &Block<'_>) -> io::Result<()> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 8]);
        block.encode(&mut self.bytes).map_err(io::Error::other)?;
        let (_, written) = self.bytes.split_at_mut(begin);
        if let Some((header, payload)) = written.split_first_chunk_mut::<8>() {
            *header = block_header(payload, BLOCK_BYTES_MAX)?;
        }
        self.file.write_all(&self.bytes)?;
        self.unsynced += self.bytes.len();
        self.bytes.clear();
        if self.unsynced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(())
    }
}

/// What comes before the payload of a block; an error if it could not be read back.
fn block_header(payload: &[u8], longest: u32) -> io::Result<[u8; 8]> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    if length > longest {
        let reason =
            format!("a block of it has {length} bytes, and more than {longest} are not read");
        return Err(io::Error::other(reason));
    }
    let checksum = crc32fast::hash(payload);
    let whole = u64::from(length) | u64::from(checksum) << 32;
    Ok(whole.to_le_bytes())
}

/// Reads the first block only.
pub(super) fn head(path: &Path) -> Result<Head, Unreadable> {
    let mut input = Input::open(path)?;
    let payload = input.payload()?.ok_or("it is empty")?;
    head_of(&payload)
}

impl Head {
    pub(super) const fn tail(&self) -> Tail {
        Tail {
            revision: self.revision,
            hash: self.hash,
        }
    }
}

/// Verifies the checksum of each block.
pub(super) fn checked(path: &Path) -> Result<(), Unreadable> {
    let mut input = Input::open(path)?;
    let mut last = Vec::new();
    while let Some(payload) = input.payload()? {
        last = payload;
    }
    match Block::decode(&last)? {
        Block::End { .. } => Ok(()),
        _ => Err("its end is missing".into()),
    }
}

pub(super) fn read(path: &Path, empty: &State) -> Result<Base, Unreadable> {
    let mut input = Input::open(path)?;
    let head = head_of(&input.payload()?.ok_or("it is empty")?)?;
    let mut parts = Parts::default();
    parts.image.revision = head.revision;
    loop {
        let mut payloads = Vec::with_capacity(BATCH_BLOCKS);
        while payloads.len() < BATCH_BLOCKS
            && let Some(payload) = input.payload()?
        {
            payloads.push(payload);
        }
        if payloads.is_empty() {
            break;
        }
        for part in parallel::map(payloads, |one| decode(&one)) {
            parts.take(part?)?;
        }
    }
    let wanted = parts.end.ok_or("its end is missing")?;
    let builtin = Arc::clone(empty.kinds.builtin());
    let state = State::assemble(builtin, parts.objects, &parts.image);
    if state.hash() != wanted {
        return Err("its state does not match the hash that was written with it".into());
    }
    Ok(Base {
        state,
        hash: head.hash,
        latest: head.latest,
        restored: head.restored,
    })
}

fn head_of(payload: &[u8]) -> Result<Head, Unreadable> {
    let Block::Head {
        revision,
        hash,
        latest_micros,
        restored,
    } = Block::decode(payload)?
    else {
        return Err("it does not start with the head of a snapshot".into());
    };
    Ok(Head {
        revision: Revision(revision),
        hash,
        latest: Time(latest_micros),
        restored: Revision(restored),
    })
}

/// The contents of a block.
enum Part {
    Objects(Vec<Arc<Object>>),
    Accepted(Vec<Arc<Object>>),
    HeldOwners(Vec<(hindsight_core::Uid, Revision)>),
    End(String),
}

#[derive(Default)]
struct Parts {
    objects: Vec<Arc<Object>>,
    image: Image,
    end: Option<String>,
}

impl Parts {
    fn take(&mut self, part: Part) -> Result<(), Unreadable> {
        if self.end.is_some() {
            return Err("there is more data after its end".into());
        }
        match part {
            Part::Objects(objects) => self.objects.extend(objects),
            Part::Accepted(objects) => self.image.accepted.extend(objects),
            Part::HeldOwners(held) => self.image.held_owners.extend(held),
            Part::End(hash) => self.end = Some(hash),
        }
        Ok(())
    }
}

fn decode(payload: &[u8]) -> Result<Part, Unreadable> {
    let objects = |stored: Vec<ObjectV1<'_>>| {
        let mut objects: Vec<Arc<Object>> = Vec::with_capacity(stored.len());
        for one in stored {
            objects.push(one.read(objects.last().map(|last| &**last))?);
        }
        Ok::<_, Undecodable>(objects)
    };
    Ok(match Block::decode(payload)? {
        Block::Head { .. } => return Err("it has a second head".into()),
        Block::Objects(stored) => Part::Objects(objects(stored)?),
        Block::Accepted(stored) => Part::Accepted(objects(stored)?),
        Block::HeldOwners(stored) => {
            let stored = stored.into_iter();
            Part::HeldOwners(stored.map(|(uid, at)| (uid.into(), Revision(at))).collect())
        }
        Block::End { state } => Part::End(state.to_owned()),
    })
}

/// A snapshot file that is read block by block.
struct Input(framing::Input<BufReader<File>>);

impl Input {
    fn open(path: &Path) -> Result<Self, Unreadable> {
        let file = BufReader::new(regular::open(path).map_err(Unreadable::Io)?);
        let input = framing::Input::open(file, *MAGIC, FORMAT..=FORMAT, "a snapshot")?;
        Ok(Self(input))
    }

    /// The payload of the next block; `None` at the end of the file.
    fn payload(&mut self) -> Result<Option<Vec<u8>>, Unreadable> {
        let Self(input) = self;
        let rest = input.from.fill_buf().map_err(Unreadable::Io)?;
        if rest.is_empty() {
            return Ok(None);
        }
        let length = u32::from_le_bytes(input.take()?);
        let checksum = u32::from_le_bytes(input.take()?);
        if !(1..=BLOCK_BYTES_MAX).contains(&length) {
            return Err("a block has an impossible length".into());
        }
        let payload = input.part(length)?;
        if crc32fast::hash(&payload) != checksum {
            return Err("a checksum in it does not match".into());
        }
        Ok(Some(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::kind::BuiltinKinds;
    use hindsight_core::{GroupResource, ObjectKey, builtin};
    use serde_json::json;

    fn empty() -> State {
        State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
    }

    /// An object that waits for its dependents.
    fn waiting(number: usize) -> Arc<Object> {
        let name = format!("a{number}");
        let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", &name);
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name,
            "namespace": "default", "uid": format!("11111111-1111-4111-8111-{number:012}"),
            "deletionTimestamp": "2026-01-31T12:00:00Z", "finalizers": ["foregroundDeletion"]}});
        let object = Object::from_value(key, document, Revision(1), None);
        Arc::new(object.expect("an object"))
    }

    #[test]
    fn any_number_of_waiting_owners_is_read_back_from_small_blocks() {
        for count in [0, 1, HELD_OWNERS_MAX, 2 * HELD_OWNERS_MAX + 1] {
            let image = Image {
                revision: Revision(7),
                ..Image::default()
            };
            let builtin = Arc::clone(empty().kinds.builtin());
            let state = State::assemble(builtin, (0..count).map(waiting), &image);
            assert_eq!(state.image().held_owners.len(), count);
            let file = tempfile::NamedTempFile::new().expect("a file");
            let base = Base {
                state: state.clone(),
                ..Base::empty(empty())
            };
            write(file.as_file(), &base).expect("written");
            let read = read(file.path(), &empty()).expect("read");
            assert!(read.state.is_same(&state), "{count}");
            let mut input = Input::open(file.path()).expect("opened");
            let mut blocks = 0;
            while let Some(payload) = input.payload().expect("read") {
                assert!(payload.len() <= 2 * BLOCK_BYTES, "{}", payload.len());
                let is_waiting = matches!(Block::decode(&payload), Ok(Block::HeldOwners(_)));
                blocks += usize::from(is_waiting);
            }
            assert_eq!(blocks, count.div_ceil(HELD_OWNERS_MAX));
        }
    }

    #[test]
    fn a_block_that_could_not_be_read_back_is_not_written() {
        assert!(block_header(&[1; 9], 9).is_ok());
        let error = block_header(&[1; 10], 9).expect_err("too long").to_string();
        assert!(error.contains("10 bytes"), "{error}");
    }
}
