//! Label and field selectors: parsing, matching, and what a change means to a watcher that selects.

mod field;
mod label;
mod seen;

pub use field::{FieldSelector, SelectableFields};
pub use label::LabelSelector;
pub use seen::WatchEvent;

/// Maximum number of requirements of a selector in a query: each is evaluated for every object that a list
/// or watch visits.
const REQUIREMENTS_MAX: usize = 1_000;

fn check_length(requirements: usize) -> Result<(), String> {
    if requirements <= REQUIREMENTS_MAX {
        return Ok(());
    }
    Err(format!(
        "a selector may have at most {REQUIREMENTS_MAX} requirements, and this one has more; split the \
         request"
    ))
}
