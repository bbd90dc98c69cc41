//! Reads all values in the file of a database, whatever the engine would make of it.
//!
//! The key of a link lacks what all keys of its page share, which only the page says: the newest node of that
//! page before the link. It may be in any other segment of the file.

use super::values::{MessageContents, Segment, Value};
use super::{SEGMENT_BYTES, sectors};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Result;

/// Gives each value to `visit`, with its key and its content. `visit` says whether the key fits the content;
/// if not, the value comes again, with what its key lacked, if it lacked something. `progress` receives how
/// many bytes were read, and how many there are. What the disk does not give back is taken for damage, unless
/// that is all of it.
pub(super) fn each_value(
    mut file: &File,
    mut progress: impl FnMut(u64, u64),
    mut visit: impl FnMut(&Value, &[u8]) -> bool,
) -> Result<()> {
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(SEGMENT_BYTES);
    let mut pages = Pages::default();
    let (mut failed, mut is_any_read) = (None, false);
    for at in (0..length).step_by(SEGMENT_BYTES) {
        let end = (at + SEGMENT_BYTES as u64).min(length);
        match sectors::read(&mut file, at..end, &mut bytes) {
            Ok(()) => is_any_read = true,
            Err(error) => failed = Some(error),
        }
        for found in Segment::new(&bytes).contents(at) {
            pages.take(found, |value| visit(value, value.within(&bytes, at)));
        }
        progress(end, length);
    }
    if let Some(error) = failed.filter(|_| !is_any_read) {
        return Err(error);
    }
    for value in pages.completed() {
        // What could be read a moment ago and cannot be now is damage as well.
        let end = value.at + value.length as u64;
        let content = sectors::read(&mut file, value.at..end, &mut bytes);
        if content.is_ok() {
            visit(&value, &bytes);
        }
    }
    Ok(())
}

/// What the keys of each page share, from which position in the log on; and the links whose keys were not whole.
#[derive(Debug, Default)]
struct Pages {
    prefixes: BTreeMap<NodePosition, Vec<u8>>,
    links: Vec<(u64, Value)>,
}

/// Page, segment in the log, and offset in the file, which is higher for what was written later to the same
/// segment.
type NodePosition = (u64, u64, u64);

impl Pages {
    fn take(&mut self, found: MessageContents, mut visit: impl FnMut(&Value) -> bool) {
        match found {
            MessageContents::Node { prefix, values } => {
                let position = (prefix.page, prefix.segment, prefix.at);
                self.prefixes.insert(position, prefix.bytes);
                for value in &values {
                    visit(value);
                }
            }
            MessageContents::Link { page, value } => {
                if !visit(&value) {
                    self.links.push((page, value));
                }
            }
            MessageContents::Trees(_) => {}
        }
    }

    /// The values of the links, with their whole keys.
    fn completed(self) -> impl Iterator<Item = Value> {
        let Self { prefixes, links } = self;
        links.into_iter().map(move |(page, mut value)| {
            let position = (page, value.segment, value.at);
            let mut before = prefixes.range((page, 0, 0)..position);
            if let Some((_, prefix)) = before.next_back() {
                value.key.splice(..0, prefix.iter().copied());
            }
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::opening::open_database;
    use super::*;
    use std::path::Path;

    /// The newest value under each key of eight bytes.
    fn scanned(directory: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let file = File::open(directory.join(crate::layout::DATABASE)).expect("opened");
        let mut found = BTreeMap::new();
        let take = |value: &Value, content: &[u8]| {
            let is_whole = value.key.len() == 8;
            if is_whole {
                let (position, newest) = found
                    .entry(value.key.clone())
                    .or_insert(((0, 0), Vec::new()));
                if *position <= (value.segment, value.at) {
                    *position = (value.segment, value.at);
                    *newest = content.to_vec();
                }
            }
            is_whole
        };
        each_value(&file, |_, _| {}, take).expect("read");
        found
            .into_iter()
            .map(|(key, (_, content))| (key, content))
            .collect()
    }

    /// Values that are replaced in the middle of a tree are links in pages whose keys share a beginning.
    #[test]
    fn what_is_replaced_is_found_under_its_whole_key() {
        let temporary = tempfile::tempdir().expect("a directory");
        let database = open_database(temporary.path())
            .expect("free")
            .expect("opened");
        let tree = database.open_tree("values").expect("a tree");
        let put = |number: u64, text: &str| {
            let value = format!("{text} {number} {}", "x".repeat(300));
            tree.insert(number.to_be_bytes(), value.as_bytes())
                .expect("put");
        };
        (0..3000).for_each(|number| put(number, "old"));
        database.flush().expect("flushed");
        (0..3000).step_by(7).for_each(|number| put(number, "new"));
        database.flush().expect("flushed");
        let pairs = tree.iter().map(|pair| pair.expect("a pair"));
        let stored: BTreeMap<_, _> = pairs
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect();
        assert_eq!(stored.len(), 3000);
        let found = scanned(temporary.path());
        for (key, value) in &stored {
            assert_eq!(found.get(key), Some(value), "{key:?}");
        }
    }
}
