//! Tables of sets, configurations and writes.

mod checks;
mod sets;
mod updates;
