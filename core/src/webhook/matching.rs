//! Decides which writes are sent to a webhook. Source: upstream's `webhook/predicates` and
//! `ShouldCallHook`.

use super::{GROUP, Rule, Webhook};
use crate::GroupResource;
use crate::kind::{Kind, KindRef, Subresource, Version};
use crate::object::Name;

/// A write, as the rules of webhooks describe it.
#[derive(Debug, Clone, Copy)]
pub struct WriteAttributes<'a> {
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: &'a str,
    /// The kind of the written object.
    pub kind: &'a KindRef,
    /// The kind of another group under which the same objects are served.
    pub cohabitant: Option<&'a KindRef>,
    /// The API version of the request.
    pub version: &'a str,
    /// The subresource, if the write goes through one.
    pub subresource: Option<Subresource>,
}

impl<'a> WriteAttributes<'a> {
    /// Returns every kind and served version under which the same object can be read.
    fn served(&self) -> impl Iterator<Item = (&'a KindRef, &'a Version)> + use<'a> {
        let kinds = std::iter::once(self.kind).chain(self.cohabitant);
        let shown =
            kinds.flat_map(|kind| kind.versions.iter().map(move |version| (kind, &**version)));
        shown.filter(|(_, version)| version.served)
    }
}

impl Webhook {
    /// Returns the kind and the version in which this write is sent to the webhook, if it matches.
    pub fn match_write<'a>(
        &self,
        write: &WriteAttributes<'a>,
    ) -> Option<(&'a KindRef, &'a Version)> {
        if is_exempt(&write.kind.resource) {
            return None;
        }
        let asked = write.kind.served(write.version);
        let asked = asked.map(|asked| (write.kind, &**asked));
        let matches = |rule: &Rule, (kind, version): (&Kind, &Version)| {
            rule.matches(write, kind) && rule.versions_hold(version)
        };
        let is_wanted = |(kind, version): &(&'a KindRef, &'a Version)| {
            self.rules.iter().any(|rule| matches(rule, (kind, version)))
        };
        if asked.as_ref().is_some_and(is_wanted) {
            return asked;
        }
        let mut rules = self.rules.iter().filter(|_| self.equivalent);
        rules.find_map(|rule| {
            let mut served = write.served();
            served.find(|(kind, version)| {
                matches(rule, (kind, version)) && version.serves(write.subresource)
            })
        })
    }
}

/// Configurations of admission itself are never sent to webhooks. Source:
/// `IsExemptAdmissionConfigurationResource`.
fn is_exempt(resource: &GroupResource) -> bool {
    const EXEMPT: [&str; 6] = [
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ];
    &*resource.group == GROUP && EXEMPT.contains(&&*resource.resource)
}

impl Rule {
    fn matches(&self, write: &WriteAttributes<'_>, kind: &Kind) -> bool {
        let resource = &kind.resource;
        let subresource = write.subresource.map_or("", Subresource::name);
        holds(&self.operations, write.operation)
            && holds(&self.groups, &resource.group)
            && self.scope_holds(kind)
            && self
                .resources
                .iter()
                .any(|one| resource_holds(one, &resource.resource, subresource))
    }

    fn versions_hold(&self, version: &Version) -> bool {
        holds(&self.versions, &version.name)
    }

    fn scope_holds(&self, kind: &Kind) -> bool {
        match &*self.scope {
            "Namespaced" => kind.is_namespaced(),
            "Cluster" => !kind.is_namespaced(),
            _ => true,
        }
    }
}

fn holds(names: &[Name], name: &str) -> bool {
    names.iter().any(|one| &**one == "*" || &**one == name)
}

/// `pods` means only the object itself; `pods/*` and `*/*` include every subresource.
fn resource_holds(rule: &str, resource: &str, subresource: &str) -> bool {
    let (wanted, below) = rule.split_once('/').unwrap_or((rule, ""));
    (wanted == "*" || wanted == resource) && (below == "*" || below == subresource)
}
