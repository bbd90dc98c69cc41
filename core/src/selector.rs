//! Label and field selectors: parsing and matching.

mod field;
mod label;

pub use field::FieldSelector;
pub use label::LabelSelector;
