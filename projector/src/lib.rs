//! Read models folded from the log: the window from which watches resume, the ownership graph, the
//! positions of each object in the log, the explanation of a deletion, and the audit of a whole log. No
//! threads, no storage, no commands.
#![deny(clippy::wildcard_enum_match_arm)]

mod audit;
mod explain;
mod history;
mod ownership;
mod position_index;
mod window;

pub use audit::{Audit, Unsound, audit};
pub use explain::{
    Dropped, Earlier, End, EndedAs, Explanation, Fate, Link, LinkEvent, Owner, RequestDetails,
    Root, Subject, explain,
};
pub use history::History;
pub use ownership::{Components, Deadlocks, OwnershipGraph, new_owners};
pub use position_index::PositionIndex;
pub use window::Window;
