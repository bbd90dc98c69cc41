//! A disk that is full: what is refused, what goes on, and that it ends by itself.

use super::disk::{Disk, Step};
use super::script::{Commands, create, delete, empty, noise, open, patch, submit};
use crate::{Log, Storage, WriteError};
use hindsight_core::Intent;
use serde_json::json;
use std::sync::Arc;

const ROOM: usize = 100 << 10;

fn map(index: u64) -> Intent {
    let object =
        json!({"metadata": {"name": format!("c{index}")}, "data": {"k": noise(index, 4096)}});
    create("configmaps", "default", object)
}

#[test]
fn on_a_full_disk_deletions_go_on_and_writes_do_when_there_is_room_again() {
    let disk = Arc::new(Disk::default());
    disk.set_room(ROOM);
    let (writer, _) = open(&disk);
    let mut commands = Commands::default();
    let mut write = |intents: Vec<Intent>| {
        let made = intents.into_iter().map(|intent| commands.command(intent));
        submit(&writer, &disk, made.collect())
    };
    let namespace = json!({"metadata": {"name": "default"}});
    write(vec![create("namespaces", "", namespace)]).expect("written");
    let attempts: Vec<_> = (0..40).map(|index| write(vec![map(index)])).collect();
    let written = attempts.iter().filter(|attempt| attempt.is_ok()).count();
    assert!((10..30).contains(&written), "{written}");
    // What is under way is counted as well, so there may have been a little room after the first.
    assert!(
        attempts[30..]
            .iter()
            .all(|attempt| *attempt == Err(WriteError::Full))
    );
    let appends = disk.appends();
    let change = patch("c0", json!({"data": null}));
    for intents in [vec![map(0)], vec![change], vec![delete("c0"), map(99)]] {
        assert_eq!(write(intents), Err(WriteError::Full));
    }
    assert_eq!(disk.appends(), appends, "a refusal reaches the disk");
    let first = write(vec![delete("c1")]).expect("a deletion goes on");
    write(vec![delete("c2"), delete("c3")]).expect("and several do");
    disk.set_room(0);
    assert_eq!(write(vec![delete("c4")]), Err(WriteError::Full));
    disk.set_room(2 * ROOM);
    let last = write(vec![map(39), map(1)]).expect("writes go on by themselves");
    drop(writer);
    let is_failure = |step: &Step| matches!(step, Step::FailedSync);
    assert!(!disk.steps().iter().any(is_failure));
    let (_, state) = Log::open(Arc::clone(&disk) as Arc<dyn Storage>, empty()).expect("opened");
    assert!(state.revision == last && last > first);
}
