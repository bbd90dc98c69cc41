//! A disk that does not respond: writes wait until the limits are reached, and nobody is answered or
//! shown anything.

use super::disk::{Disk, Step};
use super::script::{Commands, create, empty, open, submit};
use crate::{Log, Storage};
use hindsight_core::{Intent, Revision, Unavailable};
use serde_json::json;
use std::ops::RangeInclusive;
use std::sync::{Arc, mpsc};

/// The limit of submissions in the queue.
const PLACES: usize = 4096;
/// The limit of their bytes, including batches that have left the queue.
const BYTES: usize = 64 << 20;
const LARGE_BYTES: usize = 900 << 10;
/// Values in a document with as little text as possible.
const NESTED: usize = 1000;

/// A namespace with this many bytes of text.
fn namespace(name: &str, bytes: usize) -> Intent {
    let kept = [
        "v".repeat(bytes / 4),
        "v".repeat(bytes / 4),
        "v".repeat(bytes / 4),
        "v".repeat(bytes / 4),
    ];
    let document = json!({"metadata": {"name": name}, "kept": kept});
    create("namespaces", "", document)
}

/// A namespace that is small as text and large in memory.
fn nested(name: &str) -> Intent {
    let kept = vec![json!({"a": {}}); NESTED];
    create(
        "namespaces",
        "",
        json!({"metadata": {"name": name}, "kept": kept}),
    )
}

#[test]
fn behind_a_stuck_disk_writes_wait_and_one_too_many_is_refused_at_once() {
    // Besides those in the queue: the batch at the disk, the next one, and the one that is being decided.
    fill(|name| namespace(name, 0), PLACES..=4 * PLACES);
}

#[test]
fn behind_a_stuck_disk_large_writes_wait_as_far_as_there_is_memory_for_them() {
    let places = BYTES / LARGE_BYTES;
    // The last one that is let in may be of any size.
    fill(|name| namespace(name, LARGE_BYTES), places..=places + 1);
}

#[test]
fn what_waits_is_measured_by_what_it_takes_in_memory_and_not_by_its_text() {
    let places = BYTES / (NESTED * 600);
    fill(nested, places / 2..=places + 1);
}

/// Submits until something is refused. By then this many may have been accepted; all of these are
/// written.
fn fill(intent: impl Fn(&str) -> Intent, places: RangeInclusive<usize>) {
    let disk = Arc::new(Disk::default());
    let writer = open(&disk);
    let mut commands = Commands::default();
    disk.set_stuck(true);
    let (sender, answers) = mpsc::channel();
    let refused = (0..).find_map(|index: usize| {
        let command = commands.command(intent(&format!("n{index}")));
        let sender = sender.clone();
        let reply = move |outcome| sender.send((index, outcome)).expect("somebody waits");
        writer.submit(vec![command], Box::new(reply));
        answers.try_recv().ok()
    });
    let is_seen = |step: &Step| matches!(step, Step::Shown(_) | Step::Told(_));
    let is_shown = disk.steps().iter().any(is_seen);
    // This comes first, because dropping the writer waits for the disk.
    disk.set_stuck(false);
    assert!(!is_shown, "nothing is durable yet");
    let (accepted, refusal) = refused.expect("the queue is full at last");
    assert_eq!(refusal.err(), Some(Unavailable::Overloaded));
    assert!(places.contains(&accepted), "{accepted} of {places:?}");
    for wanted in 0..accepted {
        let (index, outcome) = answers.recv().expect("an answer");
        assert!(outcome.is_ok_and(|answers| answers[0].is_ok()));
        assert_eq!(index, wanted, "the first to come is the first to be told");
    }
    let last = submit(&writer, &disk, vec![commands.command(intent("last"))]);
    assert_eq!(last, Ok(Revision(accepted as u64 + 1)));
    drop(writer);
    let log = Log::open(Arc::clone(&disk) as Arc<dyn Storage>, empty()).expect("opened");
    assert_eq!(log.state().len(), accepted + 1);
}
