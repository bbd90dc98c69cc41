//! Cascades of the server process that are cut short by a kill.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::{Commit, Event, Revision};
use hindsight_gc::Identity;
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy, Reference};
use hindsight_tests::server::{Server, hindsight, stdout};
use hindsight_tests::uncollected::{carried_out, without_collectors};
use hindsight_tests::wait::wait_until;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn left(directory: &Path) -> usize {
    let names = ["get", "configmaps", "-o", "name"];
    stdout(&hindsight(directory, &names)).lines().count()
}

/// Creates a chain of this many objects, each the owner of the next, and deletes the first: the
/// collector removes the others one by one.
fn cut_chain(directory: &Path, length: usize) {
    let plane = without_collectors(directory);
    let mut owners = Vec::new();
    for index in 0..length {
        let name = format!("c{index}");
        let metadata = json!({"name": name, "ownerReferences": naive::references(&owners)});
        let object = json!({"metadata": metadata});
        let uid = carried_out(&plane, naive::create(Kind::ConfigMap, "default", object));
        owners = vec![Reference {
            kind: Kind::ConfigMap,
            name,
            uid,
            blocks: false,
        }];
    }
    let first = naive::key(Kind::ConfigMap, "default", "c0");
    carried_out(&plane, naive::delete(first, Some(Policy::Background)));
    plane.close();
}

#[test]
fn a_cascade_that_was_cut_short_goes_on_after_the_restart() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    for doubled in 0..6 {
        let length = 200 << doubled;
        let directory = temporary.path().join(length.to_string());
        cut_chain(&directory, length);
        let mut killed_after = Duration::ZERO;
        let mut found = left(&directory);
        assert_eq!(found, length - 1, "nobody collects");
        while found == length - 1 {
            let server = Server::start_on(&directory);
            std::thread::sleep(killed_after);
            server.signal("KILL");
            found = left(&directory);
            killed_after += Duration::from_millis(5);
        }
        if found > 0 {
            let _server = Server::start_on(&directory);
            return wait_until("it goes on", || left(&directory) == 0);
        }
    }
    panic!("nothing was ever left");
}

/// Creates a tree of this many levels, in which each object owns as many others, and deletes its root.
fn fell_tree(directory: &Path, levels: u32, each: usize) {
    let plane = without_collectors(directory);
    let root = "root".to_owned();
    let mut level = vec![(root, Vec::new())];
    for _ in 0..levels {
        let mut next = Vec::new();
        for (name, owners) in level {
            let metadata = json!({"name": name, "ownerReferences": naive::references(&owners)});
            let object = json!({"metadata": metadata});
            let uid = carried_out(&plane, naive::create(Kind::ConfigMap, "default", object));
            let owner = Reference {
                kind: Kind::ConfigMap,
                name: name.clone(),
                uid,
                blocks: false,
            };
            next.extend((0..each).map(|index| (format!("{name}-{index}"), vec![owner.clone()])));
        }
        level = next;
    }
    let root = naive::key(Kind::ConfigMap, "default", "root");
    carried_out(&plane, naive::delete(root, Some(Policy::Background)));
    plane.close();
}

/// What the garbage collector wrote, in its order.
fn collected(directory: &Path) -> Vec<String> {
    let plane = without_collectors(directory);
    let commits = plane.reader().scan(Revision(1));
    let commits = commits.map(|commit| commit.expect("it reads"));
    let is_step = |commit: &Commit| Identity::of(&commit.actor) == Some(Identity::GarbageCollector);
    let steps = commits.filter(is_step).map(|commit| {
        let events: Vec<&str> = commit.events.iter().map(Event::name).collect();
        format!("{} {events:?} {:?}", commit.key, commit.cause)
    });
    let steps = steps.collect();
    plane.close();
    steps
}

/// Compares the log of a cascade over so wide a tree with that of one that is killed; false if it was never killed in
/// between.
fn is_the_same_if_killed(each: usize) -> bool {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let [whole, killed] = ["whole", "killed"].map(|name| temporary.path().join(name));
    fell_tree(&whole, 4, each);
    let copy = Command::new("cp")
        .arg("-r")
        .args([&whole, &killed])
        .status();
    assert!(copy.expect("cp runs").success());
    let server = Server::start_on(&whole);
    wait_until("all are collected", || left(&whole) == 0);
    assert_eq!(server.signal("TERM"), Some(0));
    let expected = collected(&whole);

    let mut cuts = 0;
    let mut begun = 0;
    let mut killed_after = Duration::ZERO;
    while begun < expected.len() {
        let server = Server::start_on(&killed);
        std::thread::sleep(killed_after);
        server.signal("KILL");
        let steps = collected(&killed);
        assert_eq!(steps, expected[..steps.len()]);
        cuts += usize::from(steps.len() > begun);
        if steps.len() == begun {
            killed_after += Duration::from_millis(3);
        }
        begun = steps.len();
    }
    cuts > 1
}

#[test]
fn a_cascade_that_is_killed_again_and_again_leaves_the_log_of_one_that_is_not() {
    // Where a moment's sleep takes long, it is over before it is killed, unless it is larger.
    let is_killed = [9, 12, 16].into_iter().any(is_the_same_if_killed);
    assert!(is_killed, "all was collected at once");
}
