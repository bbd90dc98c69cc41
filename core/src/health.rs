//! What health checks tell of the parts of a server.

/// How one part is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The part, as in `/readyz/<name>`.
    pub name: &'static str,
    /// What is wrong with it, if anything.
    pub failure: Option<String>,
}
