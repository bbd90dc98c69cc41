//! Webhook configurations: who wants to be asked before which write. They are read when they are
//! stored, so that a write without any is not slower for the possibility.

pub(crate) mod condition;
mod matching;
mod read;
#[cfg(test)]
mod tests;

pub use condition::{Asked, Condition};
pub use matching::Wanted;

use crate::event::Commit;
use crate::object::Name;
use crate::selector::LabelSelector;
use crate::{Object, ObjectKey};
use imbl::OrdMap;
use std::sync::Arc;

/// The group of the configurations, which no webhook is asked about: a broken one must not stand in
/// the way of its own repair.
pub const GROUP: &str = "admissionregistration.k8s.io";
const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";

/// Every webhook at one revision, by the name of its configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Webhooks {
    mutating: OrdMap<Name, Arc<[Webhook]>>,
    validating: OrdMap<Name, Arc<[Webhook]>>,
}

/// Somebody to ask, and about what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its full name, `policy.example.com`.
    pub name: Name,
    /// Where it is called.
    pub client: Client,
    /// Which writes it wants to see; any of them will do.
    pub rules: Vec<Rule>,
    /// Whether a write goes on when it cannot be asked (`failurePolicy: Ignore`).
    pub ignores_failure: bool,
    /// Whether a rule for one version also holds for the others (`matchPolicy: Equivalent`).
    pub equivalent: bool,
    /// Of the namespaces that it wants to see; the text says why it cannot be read.
    pub namespace_selector: Result<LabelSelector, String>,
    /// Of the objects that it wants to see; the text says why it cannot be read.
    pub object_selector: Result<LabelSelector, String>,
    /// Whether it may be asked about a dry run (`sideEffects: None` or `NoneOnDryRun`).
    pub dry_runs: bool,
    /// How long it may take.
    pub timeout_seconds: u64,
    /// Versions of `AdmissionReview` that it speaks, preferred first.
    pub review_versions: Vec<Name>,
    /// Whether it is asked again when others changed the object after it (`IfNeeded`).
    pub reinvoked: bool,
    /// `matchConditions`: it is asked where all of them hold.
    pub conditions: Vec<Condition>,
}

/// `clientConfig`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// A whole URL.
    pub url: Option<String>,
    /// A service instead.
    pub service: Option<Service>,
    /// Certificates to trust, PEM; empty where the system's are.
    pub ca_bundle: Vec<u8>,
}

/// A service that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Path of the URL, with its slash.
    pub path: String,
    /// Port of the service.
    pub port: u64,
}

/// Which writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// `CREATE`, `UPDATE`, `DELETE`, `*`.
    pub operations: Vec<Name>,
    /// Groups, `*` for all.
    pub groups: Vec<Name>,
    /// Versions, `*` for all.
    pub versions: Vec<Name>,
    /// `pods`, `pods/status`, `*`, `*/*`, `pods/*`, `*/scale`.
    pub resources: Vec<Name>,
    /// `Cluster`, `Namespaced`, or `*`.
    pub scope: Name,
}

impl Webhooks {
    /// Whether nobody has to be asked about anything.
    pub fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    /// Those that may change an object, in the order in which they are asked.
    pub fn mutating(&self) -> impl Iterator<Item = &Webhook> {
        self.mutating.values().flat_map(|webhooks| webhooks.iter())
    }

    /// Those that may only refuse.
    pub fn validating(&self) -> impl Iterator<Item = &Webhook> {
        self.validating
            .values()
            .flat_map(|webhooks| webhooks.iter())
    }

    /// Takes a commit in.
    pub(crate) fn note(&mut self, commit: &Commit) {
        if &*commit.key.resource.group == GROUP {
            let webhooks = commit.object().map(|object| webhooks(object));
            self.configure(&commit.key, webhooks);
        }
    }

    /// Takes a configuration in.
    pub(crate) fn put(&mut self, configuration: &Object) {
        self.configure(&configuration.key, Some(webhooks(configuration)));
    }

    fn configure(&mut self, key: &ObjectKey, webhooks: Option<Arc<[Webhook]>>) {
        let configured = match &*key.resource.resource {
            MUTATING => &mut self.mutating,
            VALIDATING => &mut self.validating,
            _ => return,
        };
        match webhooks.filter(|webhooks| !webhooks.is_empty()) {
            Some(webhooks) => configured.insert(Arc::clone(&key.name), webhooks),
            None => configured.remove(&key.name),
        };
    }
}

fn webhooks(configuration: &Object) -> Arc<[Webhook]> {
    let document = configuration.document();
    let webhooks = document
        .get("webhooks")
        .and_then(serde_json::Value::as_array);
    let webhooks = webhooks.map_or(&[][..], Vec::as_slice);
    let env = condition::env();
    let read = |document| read::webhook(document, &env);
    webhooks.iter().map(read).collect()
}
