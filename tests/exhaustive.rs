//! Small ownership graphs: of up to two objects every one, of three and four every nine hundred and
//! ninety-seventh. `cargo graphs` takes them all; see `support/graphs.rs` for what is asked of each.
#![allow(clippy::print_stdout, reason = "a test tells what it saw")]

use hindsight_tests::graphs::{PLAIN_FOUR, explore_all, of};
use hindsight_tests::shape::Family;

/// A third of the time is memory otherwise.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many graphs are stepped over between two that are looked at, where there are too many for all.
const STRIDE: usize = 997;

#[test]
fn every_order_of_steps_ends_in_one_place() {
    let look = |what: &str, family: Family, stride| {
        let counts = explore_all(family, 0, family.count(), stride);
        assert!(counts.graphs > 0, "nothing was looked at");
        println!("{what}: {counts}");
    };
    look("1 object", of(1), 1);
    look("2 objects", of(2), 1);
    look("3 objects", of(3), STRIDE);
    look("4 objects, nothing special", PLAIN_FOUR, STRIDE);
}
