//! A disk that does not answer: writes wait, as many as there are places, and nobody is told anything.

use super::disk::{Disk, Step};
use super::script::{Commands, create, empty, open, submit};
use crate::{Log, Storage, WriteError};
use hindsight_core::{Intent, Revision};
use serde_json::json;
use std::sync::{Arc, mpsc};

/// Places in the queue.
const PLACES: usize = 4096;

fn namespace(name: &str) -> Intent {
    create("namespaces", "", json!({"metadata": {"name": name}}))
}

#[test]
fn behind_a_stuck_disk_writes_wait_and_one_too_many_is_refused_at_once() {
    let disk = Arc::new(Disk::default());
    let (writer, _) = open(&disk);
    let mut commands = Commands::default();
    disk.set_stuck(true);
    let (sender, answers) = mpsc::channel();
    let refused = (0..).find_map(|index: usize| {
        let command = commands.command(namespace(&format!("n{index}")));
        let sender = sender.clone();
        let reply = move |outcome| sender.send((index, outcome)).expect("somebody waits");
        writer.submit(vec![command], Box::new(reply));
        answers.try_recv().ok()
    });
    let (accepted, refusal) = refused.expect("the queue is full at last");
    assert_eq!(refusal.err(), Some(WriteError::Overloaded));
    // Beside those that wait: the batch at the disk, the next one, and the one that is decided.
    assert!((PLACES..=4 * PLACES).contains(&accepted), "{accepted}");
    let is_seen = |step: &Step| matches!(step, Step::Shown(_) | Step::Told(_));
    assert!(!disk.steps().iter().any(is_seen), "nothing is durable yet");
    disk.set_stuck(false);
    for wanted in 0..accepted {
        let (index, outcome) = answers.recv().expect("an answer");
        assert!(outcome.is_ok_and(|answers| answers[0].is_ok()));
        assert_eq!(index, wanted, "the first to come is the first to be told");
    }
    let last = submit(&writer, &disk, vec![commands.command(namespace("last"))]);
    assert_eq!(last, Ok(Revision(accepted as u64 + 1)));
    drop(writer);
    let (_, state) = Log::open(Arc::clone(&disk) as Arc<dyn Storage>, empty()).expect("opened");
    assert_eq!(state.len(), accepted + 1);
}
