//! Tells a database of another program that uses sled too from one of ours, before sled opens it, which changes it.

use super::foreign::DatabaseState;
use super::intact::Intact;
use super::values::{MessageContents, Segment};
use super::{SEGMENT_BYTES, TREE_PREFIX, sectors, settings};
use crate::layout::{DATABASE, JOURNAL, witness_path};
use crate::regular::is_there;
use crate::{Error, regular};
use hindsight_core::Revision;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A tree that sled makes in every database. We keep nothing in it.
const DEFAULT_TREE: &[u8] = b"__sled__default";

/// What is of another program in a directory with neither a witness nor a journal of ours, if anything is. A first
/// start that was interrupted before it made these leaves a database without a value, and one of an earlier release
/// has trees of ours, or records.
pub(super) fn found(directory: &Path, state: DatabaseState) -> Result<Option<PathBuf>, Error> {
    for ours in [witness_path(directory), directory.join(JOURNAL)] {
        if is_there(&ours)? {
            return Ok(None);
        }
    }
    let path = directory.join(DATABASE);
    let suspect = match settings::of_another(directory)? {
        None if Traces::of(&path)?.are_of_another(state) => path,
        None => return Ok(None),
        Some(settings) => settings,
    };
    Ok(Some(suspect).filter(|_| !has_records(directory)))
}

/// Whether the database holds records of ours although no header can be read.
pub(super) fn has_records(directory: &Path) -> bool {
    let found = Intact::of(directory, |_, _| {});
    found.is_ok_and(|found| found.until > Revision::ZERO)
}

/// What the whole messages of a database tell of whose it is.
#[derive(Debug, Default)]
struct Traces {
    has_values: bool,
    has_our_trees: bool,
    has_other_trees: bool,
}

impl Traces {
    /// Those of the database at this path, if there is one.
    fn of(path: &Path) -> Result<Self, Error> {
        let file = regular::open_if_there(path, File::options().read(true))?;
        let traces = file.map_or_else(|| Ok(Self::default()), |file| Self::read(&file));
        traces.map_err(Error::reading("the event log"))
    }

    fn read(mut file: &File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        let (mut traces, mut bytes) = (Self::default(), Vec::new());
        for at in (0..length).step_by(SEGMENT_BYTES) {
            let end = (at + SEGMENT_BYTES as u64).min(length);
            sectors::read(&mut file, at..end, &mut bytes)?;
            // A short message that ends with the file begins too close to the end of a segment.
            bytes.resize(SEGMENT_BYTES, 0);
            for contents in Segment::new(&bytes).contents(at) {
                traces.add(contents);
            }
        }
        Ok(traces)
    }

    fn add(&mut self, contents: MessageContents) {
        match contents {
            MessageContents::Node { values, .. } => self.has_values |= !values.is_empty(),
            MessageContents::Link { .. } => self.has_values = true,
            MessageContents::Trees(names) => {
                for name in names {
                    let is_ours = name.starts_with(TREE_PREFIX.as_bytes());
                    self.has_our_trees |= is_ours;
                    self.has_other_trees |= !is_ours && name != DEFAULT_TREE;
                }
            }
        }
    }

    fn are_of_another(&self, state: DatabaseState) -> bool {
        let is_used = self.has_values || self.has_other_trees || state == DatabaseState::Written;
        is_used && !self.has_our_trees
    }
}
