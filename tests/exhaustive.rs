//! Small ownership graphs: all of up to two objects, in every numbering, and a part of those of three
//! and four. `cargo graphs` takes them all; `support/graphs.rs` says what is checked of each.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::graphs::{
    Counts, FOUR_OF_EDGES, FOUR_THAT_BLOCK, Look, PLAIN_FOUR, TWO_CROSSED, TWO_OF_EVERYTHING,
    TWO_WITH_POLICIES, explore_all, of,
};
use hindsight_tests::packed::{self, FOUR_MORE, FOUR_OF_EITHER_SCOPE, of_everything};
use hindsight_tests::shape::Family;
use std::io::{Write, stdout};

/// Otherwise a third of the time is spent allocating memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One in this many graphs is explored, if there are too many for all.
const STRIDE: usize = 997;
/// The same, if all numberings of each are tried.
const LONG_STRIDE: usize = 29_989;

#[test]
fn every_order_of_steps_ends_in_one_place() {
    look("3 objects", of(3), Look::Runs, STRIDE);
    look("4 objects, nothing special", PLAIN_FOUR, Look::Runs, STRIDE);
}

#[test]
fn every_numbering_of_a_graph_ends_in_the_same_place() {
    look("1 object", of(1), Look::Numberings, 1);
    look("2 objects", of(2), Look::Numberings, 1);
    look(
        "2 objects with policies of their own",
        TWO_WITH_POLICIES,
        Look::Numberings,
        7,
    );
    look(
        "2 objects, two things at once",
        TWO_CROSSED,
        Look::Numberings,
        7,
    );
    look("3 objects", of(3), Look::Numberings, LONG_STRIDE);
}

#[test]
fn from_every_state_every_step_ends_where_the_rules_say() {
    look("states of 1 object", of(1), Look::States, 1);
    look(
        "states of 2 objects with everything",
        TWO_OF_EVERYTHING,
        Look::States,
        7,
    );
    look("states of 3 objects", of(3), Look::States, 1_997);
    look("states of 4 objects", FOUR_OF_EDGES, Look::States, 99_991);
    look(
        "states of 4 objects that block",
        FOUR_THAT_BLOCK,
        Look::States,
        19_997,
    );
}

#[test]
fn no_step_changes_what_another_does() {
    for objects in 1..=3 {
        let family = of_everything(objects);
        let stride = [1, 1, 1, 2_003][objects];
        look_at_packed(&format!("packed worlds of {objects}"), family, stride);
    }
    let name = "packed worlds of 4, dangling or not, of either scope";
    look_at_packed(name, FOUR_OF_EITHER_SCOPE, 29_989);
    look_at_packed(
        "packed worlds of 4, held or unresolvable too",
        FOUR_MORE,
        99_991,
    );
}

fn look_at_packed(what: &str, family: packed::Family, stride: usize) {
    report(
        what,
        &packed::explore_all(&family, (0, family.count()), stride),
    );
}

fn look(what: &str, family: Family, how: Look, stride: usize) {
    report(what, &explore_all(family, how, (0, family.count()), stride));
}

fn report(what: &str, counts: &Counts) {
    assert!(counts.graphs > 0, "nothing was looked at");
    // Not with `println!`, whose output is captured if the test passes.
    writeln!(stdout(), "{what}: {counts}").expect("it can be told");
}
