//! Tables of sets, configurations and writes.

mod checks;
mod laws;
mod sets;
mod updates;
