//! What the server adds to a `CustomResourceDefinition`. It is established in the commit that creates it.

mod names;
#[cfg(test)]
mod tests;

use crate::decide::conditions::Condition;
use crate::decide::sequence::Sequence;
use crate::decide::{Context, OversizePolicy, conditions, prepare};
use crate::object::ObjectKey;
use crate::{Commit, Decision, Object, Rejection, State, custom};
pub use names::next_to_be_named;
use names::{Taken, Unnamed};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most bytes of definitions that are given names by one decision. It is one record; it may be for a
/// deletion, which must not need much room on a full disk; and making their kinds anew keeps other writers
/// waiting.
const NAMED_BYTES_MAX: usize = 4 << 20;
const CONFORMANT: &str = "KubernetesAPIApprovalPolicyConformant";
/// What a definition counts for besides its body: however short it is, its kind is made anew.
const DEFINITION_BYTES: usize = 64 << 10;

/// Fills in the defaults of `spec.names`, and a status that says whether the kind is served.
pub(super) fn complete(context: &Context<'_>, document: &mut Value) {
    let stored = storage_versions(document);
    if let Some(root) = document.as_object_mut() {
        root.insert("status".into(), json!({"storedVersions": stored}));
    }
    refresh(context, document);
}

/// Brings the status up to date after a write: free names are accepted, and stored versions only grow.
pub(crate) fn refresh(context: &Context<'_>, document: &mut Value) {
    default_names(document);
    settle_names(context, document);
    let stored = storage_versions(document);
    let Some(status) = conditions::status(document) else {
        return;
    };
    let list = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        // Nothing is validated yet: there may be very many of both.
        let mut listed: BTreeSet<String> = list.iter().map(Value::to_string).collect();
        let new = stored.into_iter();
        list.extend(new.filter(|version| listed.insert(version.to_string())));
    }
}

/// Recomputes what the status says about the names and the approval, whoever writes it. Source: upstream's
/// naming and approval controllers, which do so after every change. The list of stored versions is always there: it has no
/// `omitempty`.
pub(crate) fn settle_names(context: &Context<'_>, document: &mut Value) {
    let now = context.envelope.time.to_rfc3339();
    if let Some(key) = key_of(document) {
        names::settle(context.state, &key, document, &now);
        tell_approval(context.state, &key, document, &now);
    }
    if let Some(status) = conditions::status(document) {
        let stored_versions = status.entry("storedVersions");
        stored_versions.or_insert_with(|| json!([]));
    }
}

/// Tells whether a definition of a group of the Kubernetes community is approved, whatever a client says of it.
fn tell_approval(state: &State, key: &ObjectKey, document: &mut Value, now: &str) {
    let Some(conformance) = custom::conformance(document) else {
        return;
    };
    let before = state
        .get(key)
        .map_or(Value::Null, |stored| stored.document());
    conditions::restore(document, CONFORMANT, &before);
    let (reason, message) = (conformance.reason, &conformance.message);
    let condition = if conformance.is_approved {
        Condition::new_true(CONFORMANT, reason, message)
    } else {
        Condition::new_false(CONFORMANT, reason, message)
    };
    conditions::set(document, &condition, now);
}

fn key_of(document: &Value) -> Option<ObjectKey> {
    let name = document.pointer("/metadata/name")?.as_str()?;
    Some(ObjectKey::definition(name))
}

/// After a definition gives up names, by deletion or change, reconsiders the definitions that wait for
/// them. This is the server's own step, whoever set it off, so limits of the request do not apply. If there
/// are too many for one record, the collector asks for the others: see [`next_to_be_named`].
pub(crate) fn with_names_given_away(
    context: Context<'_>,
    mut decision: Decision,
) -> Result<Decision, Rejection> {
    let context = Context {
        oversize: OversizePolicy::Open,
        ..context
    };
    let is_freeing = |commit: &&Arc<Commit>| frees_names(context.state, commit);
    let Some(freed) = decision.commits.iter().find(is_freeing).cloned() else {
        return Ok(decision);
    };
    let mut sequence = Sequence::on(context.state);
    sequence.add(decision.commits);
    let unnamed = names::unnamed(sequence.state(), &freed.key);
    let unnamed: Vec<_> = unnamed.filter(|one| one.object.key != freed.key).collect();
    if !unnamed.is_empty() {
        give_away(context, unnamed, &mut sequence)?;
    }
    decision.commits = sequence.into_commits();
    Ok(decision)
}

fn frees_names(state: &State, commit: &Commit) -> bool {
    if !commit.key.is_definition() {
        return false;
    }
    let names = |object: &Object| object.document().pointer("/status/acceptedNames").cloned();
    let before = state.get(&commit.key);
    before.is_some_and(|before| match commit.object() {
        Some(after) => names(before) != names(after),
        None => true,
    })
}

/// Gives free names to definitions of a group that wait for them, as many as fit, and adds the commits.
fn give_away(
    context: Context<'_>,
    mut unnamed: Vec<Unnamed>,
    sequence: &mut Sequence,
) -> Result<(), Rejection> {
    let Some(first) = unnamed.first() else {
        return Ok(());
    };
    let mut taken = Taken::in_group_of(sequence.state(), &first.object.key);
    let now = context.envelope.time.to_rfc3339();
    let mut bytes = 0;
    let mut is_changing = true;
    // Ends: every round that changes something adds to `bytes`, which are bounded.
    while is_changing {
        is_changing = false;
        for one in &mut unnamed {
            if !one.settle(&taken, &now) {
                continue;
            }
            let more = one.object.body.len() + DEFINITION_BYTES;
            if bytes > 0 && bytes + more > NAMED_BYTES_MAX {
                return Ok(());
            }
            bytes += more;
            is_changing = true;
            let document = one.document(&taken, &now);
            let context = sequence.context(context);
            let (object, commit) = context.updated(&one.object, document, Vec::new())?;
            sequence.add([commit]);
            one.object = object;
            taken.note(sequence.state(), one);
        }
    }
    Ok(())
}

pub(super) fn default_names(document: &mut Value) {
    let Some(spec) = document.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let conversion = spec.entry("conversion");
    let conversion = conversion.or_insert_with(|| json!({"strategy": "None"}));
    let service = conversion.pointer_mut("/webhook/clientConfig/service");
    if let Some(service) = service.and_then(Value::as_object_mut) {
        service.entry("port").or_insert_with(|| json!(443));
    }
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    let kind = prepare::text(names, "kind").to_owned();
    for (member, default) in [
        ("singular", kind.to_lowercase()),
        ("listKind", format!("{kind}List")),
    ] {
        if !kind.is_empty() && prepare::text(names, member).is_empty() {
            names.insert(member.into(), default.into());
        }
    }
}

fn storage_versions(document: &Value) -> Vec<Value> {
    let versions = document.pointer("/spec/versions").and_then(Value::as_array);
    let stored = |version: &&Value| version.get("storage") == Some(&Value::Bool(true));
    let names = versions.into_iter().flatten().filter(stored);
    names
        .filter_map(|version| version.get("name").cloned())
        .collect()
}
