//! Label and field selectors: parsing and matching; and what a change is to whoever selects.

mod field;
mod label;
mod seen;

pub use field::FieldSelector;
pub use label::LabelSelector;
pub use seen::Seen;
