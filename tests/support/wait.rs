//! Waits for what another process does.

use std::time::{Duration, Instant};

/// Waits until `is_there`; the limit bounds a failing run and measures nothing.
pub fn wait_until(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_mins(2), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
