//! Commits to bytes and back. Stored types are apart from the types in memory: they are never
//! edited, only joined by newer ones.

#[cfg(test)]
mod tests;
mod v1;

pub(crate) use v1::{decode, encode};
