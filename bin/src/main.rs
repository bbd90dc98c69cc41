//! The hindsight process.
fn main() {}
