//! What retention drops from the log costs no question much.

use super::pages::update;
use super::{PATIENCE, create, key, walked, write};
use crate::history::{HistoryIndex, LogHistory};
use crate::{Config, ControlPlane, Retention};
use hindsight_core::Revision;
use hindsight_projector::History;
use serde_json::json;
use std::num::NonZeroU64;
use std::time::Instant;

/// A control plane that keeps hardly any history, and snapshots after so many commits.
fn forgetful(directory: &std::path::Path, snapshot_every: u64) -> ControlPlane {
    let retention = Retention {
        age_micros: None,
        bytes: Some(1),
        kinds: Vec::new(),
    };
    let config = Config {
        data_dir: Some(directory.into()),
        snapshot_every: NonZeroU64::new(snapshot_every),
        retention: Some(retention),
        collectors: false,
        ..Config::default()
    };
    ControlPlane::open(config).expect("it opens")
}

#[test]
fn the_places_of_what_was_dropped_are_forgotten() {
    const EVERY: u64 = 50;
    let directory = tempfile::tempdir().expect("a directory");
    let plane = forgetful(directory.path(), EVERY);
    let index = HistoryIndex::new(10, usize::MAX);
    write(&plane, [create("hot"), create("other")]);
    let change = |version: u64| {
        write(
            &plane,
            [update(&json!([]), &json!({"n": version.to_string()}))],
        );
    };
    let first = plane.state().revision;
    (0..EVERY / 2).for_each(change);
    let all = index.extend(plane.reader(), Revision::MAX);
    all.expect("it is read");
    assert_eq!(index.places().after(&key("hot"), first), Some(first.next()));
    let begun = Instant::now();
    for version in EVERY.. {
        change(version);
        if plane.reader().floor().expect("it is read") >= Revision(first.0 + EVERY / 2) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "nothing is dropped");
    }
    let reader = plane.reader();
    let floor = reader.floor().expect("it is read");
    // Frames are replaced one after the other.
    let is_dropped = |revision| matches!(reader.commit(Revision(revision)), Ok(None));
    while !(first.0 + 1..floor.0).all(is_dropped) {
        assert!(begun.elapsed() < PATIENCE, "not all is dropped");
    }
    let history = LogHistory::new(reader, &index);
    // The one was written just now, and the other long ago.
    for name in ["hot", "other"] {
        let found = history.last(&key(name), None, Revision::MAX);
        let walked = walked(&plane, &key(name), None, Revision::MAX);
        assert_eq!(found.expect("it is read"), walked, "{name}");
    }
    let left = index.places().after(&key("hot"), first.next());
    assert!(left.is_none_or(|left| left >= floor), "{left:?}");
}
