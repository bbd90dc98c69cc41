//! Who may change owner references: to refer to an owner is to let the collector delete the object,
//! and to block an owner is to hold up its deletion. Source: upstream's admission plugin
//! `OwnerReferencesPermissionEnforcement`.

use super::subject::{Operation, Subject};
use crate::authorizer::{Access, Authorizer, Verdict};
use hindsight_core::kind::GroupVersionKind;
use hindsight_core::{Decision, GroupResource, Object, OwnerReference, Rejection, State, Uid};
use std::collections::BTreeMap;

/// Refuses references that the actor may not set.
pub(super) fn check(
    authorizer: &dyn Authorizer,
    state: &State,
    subject: &Subject,
    preview: &Decision,
) -> Result<(), Rejection> {
    let check = Check {
        authorizer,
        state,
        subject,
        new: preview.outcome.object(),
    };
    if check.applies() { check.run() } else { Ok(()) }
}

struct Check<'a> {
    authorizer: &'a dyn Authorizer,
    state: &'a State,
    subject: &'a Subject,
    new: &'a Object,
}

impl Check<'_> {
    /// Whether owner references change. Upstream exempts a pod's status; here a write to it cannot change them.
    fn applies(&self) -> bool {
        let written = self.subject.operation != Operation::Delete;
        written && self.old() != &*self.new.meta.owner_references
    }

    fn old(&self) -> &[OwnerReference] {
        let old = self.subject.old.as_ref();
        old.map_or(&[], |object| &*object.meta.owner_references)
    }

    fn run(&self) -> Result<(), Rejection> {
        if self.subject.operation == Operation::Update {
            self.may_delete()?;
        }
        let blocking: Vec<_> = self.newly_blocking().collect();
        if blocking.is_empty() || self.may_finalize_everything() {
            return Ok(());
        }
        blocking
            .into_iter()
            .try_for_each(|owner| self.may_finalize(owner))
    }

    fn may_delete(&self) -> Result<(), Rejection> {
        let access = Access {
            verb: "delete",
            resource: &self.subject.kind.resource,
            subresource: self.subject.subresource_name(),
            namespace: self.subject.namespace(),
            name: &self.subject.key.name,
        };
        self.ask(&access).map_err(|why| {
            self.forbidden(format!(
                "cannot set an ownerRef on a resource you can't delete: {why}, <nil>"
            ))
        })
    }

    /// References that block their owner's deletion now and did not before; owners are compared by UID.
    fn newly_blocking(&self) -> impl Iterator<Item = &OwnerReference> {
        let before = self.old().iter().map(|old| (&old.uid, old.blocks()));
        let before: BTreeMap<&Uid, bool> = before.collect();
        let blocked = move |uid| before.get(uid).is_some_and(|blocked| *blocked);
        let new = self.new.meta.owner_references.iter();
        new.filter(move |owner| owner.blocks() && !blocked(&owner.uid))
    }

    fn may_finalize_everything(&self) -> bool {
        let access = Access {
            verb: "update",
            resource: &GroupResource::new("*", "*"),
            subresource: "finalizers",
            namespace: "",
            name: "*",
        };
        self.ask(&access).is_ok()
    }

    fn may_finalize(&self, owner: &OwnerReference) -> Result<(), Rejection> {
        let (version, kind) = (&owner.api_version, &owner.kind);
        let named = GroupVersionKind::parse(version, kind);
        let found = named.and_then(|named| self.state.kinds.by_gvk(&named));
        let kind = found.ok_or_else(|| {
            self.forbidden(format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for \
                 APIVersion {version} Kind {kind}: no matches for kind \"{kind}\" in version \
                 \"{version}\""
            ))
        })?;
        let access = Access {
            verb: "update",
            resource: &kind.resource,
            subresource: "finalizers",
            namespace: if kind.is_namespaced() {
                self.subject.namespace()
            } else {
                ""
            },
            name: &owner.name,
        };
        self.ask(&access).map_err(|why| {
            self.forbidden(format!(
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you \
                 can't set finalizers on: {why}, <nil>"
            ))
        })
    }

    fn ask(&self, access: &Access<'_>) -> Result<(), String> {
        match self.authorizer.authorize(&self.subject.actor, access) {
            Verdict::Allowed => Ok(()),
            Verdict::Denied(why) => Err(why),
        }
    }

    fn forbidden(&self, reason: String) -> Rejection {
        Rejection::Forbidden {
            resource: self.subject.key.resource.clone(),
            name: self.new.key.name.clone(),
            reason,
            causes: Vec::new(),
        }
    }
}
