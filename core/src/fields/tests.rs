//! Tests of sets, configurations and writes, mostly as tables.

mod checks;
mod laws;
mod sets;
mod updates;
