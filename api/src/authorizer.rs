//! Who may do what: asked by admission and by access reviews, answered by the embedder.

use crate::impersonation;
use hindsight_core::{Actor, GroupResource};

/// One action that an actor asks to perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access<'a> {
    /// The Kubernetes verb, such as `update`.
    pub verb: &'a str,
    /// Group and plural; `*` in both stands for all of them.
    pub resource: &'a GroupResource,
    /// `status`, `finalizers`, ...; empty for the object itself.
    pub subresource: &'a str,
    /// Empty for cluster-wide resources.
    pub namespace: &'a str,
    /// Empty where no object is named; `*` stands for all of them.
    pub name: &'a str,
}

/// An authorizer's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allowed,
    /// Refused; the reason may be empty.
    Denied(String),
}

/// Says who may do what, to those who ask. It is *not* asked whether a request may be carried out: whoever is
/// authenticated may read and write everything, whatever it would answer. Three ask it:
///
/// - changes of owner references, which it can refuse: `delete` on an object whose references change, and `update`
///   on the `finalizers` of an owner that a new reference blocks;
/// - access reviews (`SubjectAccessReview` and the like), whose answer it is, and which forbid nothing;
/// - the conditions of webhooks, as `authorizer` in their expressions.
///
/// The last two do not ask it about the verb `impersonate`, which nobody is allowed.
///
/// An embedder that must refuse other requests does so before it passes them on. Commands that go to the state
/// machine without a request, as by `ControlPlane::submit` and `dry_run`, are not asked about at all, and no webhook
/// is told of them: an embedder checks what it submits. It is asked on the caller's side
/// of the writer, and must not block.
pub trait Authorizer: std::fmt::Debug + Send + Sync + 'static {
    /// Whether this actor may do this.
    fn authorize(&self, actor: &Actor, access: &Access<'_>) -> Verdict;

    /// Whether every action is allowed, so that nobody needs to ask.
    fn allows_everything(&self) -> bool {
        false
    }
}

/// The answer to whoever asks what an actor may do. Impersonation is refused to everybody, whatever the authorizer
/// would say.
pub(crate) fn judge(authorizer: &dyn Authorizer, actor: &Actor, access: &Access<'_>) -> Verdict {
    if impersonation::is_verb(access.verb) {
        return Verdict::Denied(impersonation::REFUSED.into());
    }
    authorizer.authorize(actor, access)
}

/// Allows everything to every known actor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _: &Actor, _: &Access<'_>) -> Verdict {
        Verdict::Allowed
    }

    fn allows_everything(&self) -> bool {
        true
    }
}
