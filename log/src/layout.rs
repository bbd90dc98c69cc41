//! How the files of a log are called in its data directory.

use std::path::{Path, PathBuf};

/// The directory of the database. What is beside it has this name with another extension.
pub const EVENTS: &str = "events";
/// The file that witnesses how far the log was acknowledged.
pub const TAIL: &str = "events.tail";
/// The disk space that is kept for a start on a full disk.
pub const RESERVE: &str = "events.reserve";
/// The spare file beside the database.
pub const SPARE: &str = "events.place";
/// The directory of the snapshots.
pub const SNAPSHOTS: &str = "snapshots";

/// The lock that keeps a data directory to one process.
pub(crate) const LOCK: &str = "lock";

/// The file of the engine, in the directory of the database, as all that follows.
pub(crate) const DATABASE: &str = "db";
/// The settings of the engine.
pub(crate) const CONFIGURATION: &str = "conf";
/// A directory that the engine makes.
pub(crate) const BLOBS: &str = "blobs";
/// What was appended since the engine was last synced.
pub(crate) const JOURNAL: &str = "journal";
/// The reserve and the spare file, where the directory has a file system of its own.
pub(crate) const RESERVE_WITHIN: &str = "reserve";
pub(crate) const SPARE_WITHIN: &str = "place";

/// All that are beside each other, in the order in which they may come to their place: where there is a database, there
/// is a log.
pub const PARTS: [&str; 4] = [SNAPSHOTS, RESERVE, TAIL, EVENTS];

/// The witness of the database in this directory.
pub(crate) fn witness_path(events: &Path) -> PathBuf {
    events.with_extension("tail")
}

/// The reserve of the database in this directory, if it is beside it.
pub(crate) fn reserve_beside(events: &Path) -> PathBuf {
    events.with_extension("reserve")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_beside_a_database_have_the_names_that_are_told() {
        let at = Path::new("/data");
        let events = at.join(EVENTS);
        assert_eq!(witness_path(&events), at.join(TAIL));
        assert_eq!(reserve_beside(&events), at.join(RESERVE));
    }
}
