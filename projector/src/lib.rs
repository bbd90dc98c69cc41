//! Read models folded from the log: the window that watches resume from, the ownership graph, and
//! the explanation of a deletion. No threads, no storage, no commands.
#![deny(clippy::wildcard_enum_match_arm)]

mod explain;
mod ownership;
mod window;

pub use explain::{Explanation, History, Link, Root, Subject, explain};
pub use ownership::{Node, OwnershipGraph};
pub use window::{Expired, Window};
