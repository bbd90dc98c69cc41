//! Who may do what: asked by admission and by access reviews, answered by whoever embeds the API. Whoever is
//! known is let in without: asked about are changes of owner references, and what conditions of webhooks ask.

use hindsight_core::{Actor, GroupResource};

/// One thing that somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access<'a> {
    /// Kubernetes verb, `update`.
    pub verb: &'a str,
    /// Group and plural; `*` in both stands for all of them.
    pub resource: &'a GroupResource,
    /// `status`, `finalizers`, ...; empty for the object itself.
    pub subresource: &'a str,
    /// Empty for what is cluster-wide.
    pub namespace: &'a str,
    /// Empty where no object is named; `*` stands for all of them.
    pub name: &'a str,
}

/// What an authorizer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allowed,
    /// Refused; the reason may be empty.
    Denied(String),
}

/// Knows who may do what. Asked on the caller's side of the writer, and must not block.
pub trait Authorizer: std::fmt::Debug + Send + Sync + 'static {
    /// Whether this actor may do this.
    fn allowed(&self, actor: &Actor, access: &Access<'_>) -> Verdict;

    /// Whether every answer is yes, so that nobody needs to ask.
    fn allows_everything(&self) -> bool {
        false
    }
}

/// Everybody who is known may do everything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AllowAll;

impl Authorizer for AllowAll {
    fn allowed(&self, _: &Actor, _: &Access<'_>) -> Verdict {
        Verdict::Allowed
    }

    fn allows_everything(&self) -> bool {
        true
    }
}
