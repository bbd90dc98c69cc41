//! Webhook configurations: which webhooks must be asked before which writes. They are parsed when they are
//! stored, so that writes cost nothing extra while there are none.

pub(crate) mod condition;
mod matching;
mod read;
#[cfg(test)]
mod tests;

pub use condition::{Condition, ConditionBudget, ConditionInputs};
pub use matching::WriteAttributes;

use crate::cel::COMPILED_TIMES;
use crate::event::Commit;
use crate::object::Name;
use crate::selector::LabelSelector;
use crate::{Object, ObjectKey, cel};
use imbl::OrdMap;
use std::sync::Arc;

/// The group of the configurations. No webhook is asked about them: a broken one must not prevent its own
/// repair.
pub const GROUP: &str = "admissionregistration.k8s.io";
const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";

/// About how many bytes a state makes of a configuration, beside the object itself. Most come from its conditions; a
/// byte of a list of short names takes fewer than one of an expression.
pub fn estimated_bytes(configuration: &Object) -> usize {
    let body = std::str::from_utf8(&configuration.body);
    let literals = body.map_or(usize::MAX, cel::literals_max);
    COMPILED_TIMES * configuration.body.len() + condition::literals_bytes_max(literals)
}

/// Every webhook at one revision, by the name of its configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Webhooks {
    mutating: OrdMap<Name, Arc<[Webhook]>>,
    validating: OrdMap<Name, Arc<[Webhook]>>,
}

/// A webhook, and the writes that it is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its full name, as `policy.example.com`.
    pub name: Name,
    /// How it is called.
    pub client: Client,
    /// Which writes it is asked about; one matching rule is enough.
    pub rules: Vec<Rule>,
    /// Whether a write goes on if the webhook cannot be asked (`failurePolicy: Ignore`).
    pub ignores_failure: bool,
    /// Whether a rule for one version also matches the others (`matchPolicy: Equivalent`).
    pub equivalent: bool,
    /// Selects the namespaces that it is asked about; the error says why the selector cannot be read.
    pub namespace_selector: Result<LabelSelector, String>,
    /// Selects the objects that it is asked about; the error says why the selector cannot be read.
    pub object_selector: Result<LabelSelector, String>,
    /// Whether it may be asked about a dry run (`sideEffects: None` or `NoneOnDryRun`).
    pub dry_runs: bool,
    /// Timeout of a call, in seconds.
    pub timeout_seconds: u64,
    /// Versions of `AdmissionReview` that it speaks, preferred first.
    pub review_versions: Vec<Name>,
    /// Whether it is asked again if later webhooks changed the object (`IfNeeded`).
    pub reinvoked: bool,
    /// `matchConditions`: it is only asked if all of them hold.
    pub conditions: Vec<Condition>,
}

/// The `clientConfig` of a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// A whole URL.
    pub url: Option<String>,
    /// The service to call, instead of a URL.
    pub service: Option<Service>,
    /// CA certificates to trust, in PEM; if empty, those of the system.
    pub ca_bundle: Vec<u8>,
}

/// A service that is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Namespace of the service.
    pub namespace: Name,
    /// Name of the service.
    pub name: Name,
    /// Path of the URL, with the leading slash.
    pub path: String,
    /// Port of the service.
    pub port: u64,
}

/// A rule that selects writes.
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
    /// Whether there are no webhooks at all.
    pub fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    /// The webhooks that may change an object, in the order in which they are asked.
    pub fn mutating(&self) -> impl Iterator<Item = &Webhook> {
        self.mutating.values().flat_map(|webhooks| webhooks.iter())
    }

    /// The webhooks that may only refuse.
    pub fn validating(&self) -> impl Iterator<Item = &Webhook> {
        self.validating
            .values()
            .flat_map(|webhooks| webhooks.iter())
    }

    /// Applies a commit.
    pub(crate) fn note(&mut self, commit: &Commit) {
        if &*commit.key.resource.group == GROUP {
            let webhooks = commit.object().map(|object| webhooks(object));
            self.configure(&commit.key, webhooks);
        }
    }

    /// Adds a configuration.
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
