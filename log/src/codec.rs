//! Commits to bytes and back. Stored types are apart from the types in memory: they are never
//! edited, only joined by newer ones.

mod image;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

pub(crate) use image::{Block, ObjectV1};
pub(crate) use v1::{decode, encode};
pub(crate) use v2::Stands;
