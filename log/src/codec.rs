//! Encodes commits as bytes and decodes them. The stored types are separate from the types in memory;
//! they are never edited, newer ones are added beside them.

mod codes;
mod image;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

pub(crate) use image::{Block, ObjectV1};
pub(crate) use v1::{decode, encode};
pub(crate) use v2::Placeholder;

use hindsight_core::object::UnreadableObject;
use serde::{Deserialize, Serialize};

/// Why stored bytes cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undecodable {
    #[error(transparent)]
    Bytes(#[from] bincode::error::DecodeError),
    #[error("there are trailing bytes")]
    LeftOver,
    #[error(transparent)]
    Object(#[from] UnreadableObject),
    /// A code that only a later release may know.
    #[error("{what} {code} is not known to this release")]
    Unknown { what: &'static str, code: u8 },
    #[error("an origin is missing")]
    Origin,
    #[error("its count does not match")]
    Count,
    /// Without this a commit would pass for the removal of its object.
    #[error("a commit does not say what became of its object")]
    Outcome,
}

/// Decodes a payload of plain structs. Every byte must be used.
fn read<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T, Undecodable> {
    let read = bincode::serde::borrow_decode_from_slice(payload, bincode::config::legacy());
    match read? {
        (value, used) if used == payload.len() => Ok(value),
        _ => Err(Undecodable::LeftOver),
    }
}

/// Appends the encoded value to the payload.
fn write(value: &impl Serialize, payload: &mut Vec<u8>) -> Result<(), bincode::error::EncodeError> {
    bincode::serde::encode_into_std_write(value, payload, bincode::config::legacy()).map(drop)
}
