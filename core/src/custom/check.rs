//! Validation of `CustomResourceDefinition`s.
//! Source: `apiextensions-apiserver/pkg/apis/apiextensions/validation`.

mod column;
mod complete;
mod conversion;
mod defaults;
mod expressions;
mod listed;
mod names;
mod openapi;
mod patterns;
mod printable;
mod rules;
mod schema;
mod selectable;
mod shared;
mod structural;
#[cfg(test)]
mod tests;
mod update;
mod version;

pub(crate) use conversion::of_instances;

use super::{approval, text};
use crate::kind::GroupResource;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::{Budget, Path, Patterns};
use crate::validate;
use serde_json::{Value, json};
use shared::{Shared, distinct};
use std::collections::BTreeSet;

/// Warns about what is accepted in a definition but may not have the effect that its author
/// expects.
pub(crate) fn warnings(document: &Value) -> Vec<String> {
    let versions = document.pointer("/spec/versions").and_then(Value::as_array);
    let versions = versions.into_iter().flatten();
    let schemas = versions.filter_map(|one| one.pointer("/schema/openAPIV3Schema"));
    let warnings: BTreeSet<String> = schemas.flat_map(schema::warnings).collect();
    warnings.into_iter().collect()
}

/// Returns everything that is wrong with a definition. On an update, causes that the old definition
/// had as well are left out.
pub(crate) fn check(document: &Value, old: Option<&Value>) -> Vec<FieldCause> {
    let approval = approval::check(document, old);
    if old.is_some_and(|old| old.get("spec") == document.get("spec")) {
        return approval.into_iter().collect();
    }
    let shared = Shared::of(listed_versions(document));
    let mut causes = whole(document, shared);
    if let Some(old) = old {
        if !causes.is_empty() {
            causes.drop_known(&whole(old, shared));
        }
        causes.extend(update::check(document, old));
    }
    causes.extend(approval);
    causes.into_causes()
}

/// Everything that is wrong with the `spec`, of which these parts are told at its top.
fn whole(document: &Value, shared: Shared) -> CauseList {
    let mut causes = CauseList::default();
    let (found, mut limits) = (listed_versions(document), Limits::default());
    name(document, &mut causes);
    group(document, &mut causes);
    scope(document, &mut causes);
    versions(found, shared, &mut limits, &mut causes);
    names::check(document, &mut causes);
    parts(found, shared, &mut limits, &mut causes);
    conversion::check(document, &mut causes);
    if document.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                   spec.versions[*].schema instead";
        let field = "spec.preserveUnknownFields";
        causes.push(FieldCause::invalid(field, &json!(true), why));
    }
    causes
}

fn name(document: &Value, causes: &mut CauseList) {
    let plural = text(document, "/spec/names/plural");
    let expected = format!("{plural}.{}", text(document, "/spec/group"));
    let name = text(document, "/metadata/name");
    if name != expected {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(FieldCause::invalid("metadata.name", &json!(name), why));
    }
}

fn group(document: &Value, causes: &mut CauseList) {
    let field = "spec.group";
    let group = text(document, "/spec/group");
    if group.is_empty() {
        causes.push(FieldCause::required(field, ""));
    } else if let Err(why) = validate::subdomain(group) {
        causes.push(FieldCause::invalid(field, &json!(group), &why));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        causes.push(FieldCause::invalid(field, &json!(group), why));
    }
}

/// Whether a definition may have this group and this plural.
pub fn is_definable(resource: &GroupResource) -> bool {
    // Both together are the name of the definition.
    let is_named = validate::is_subdomain(&resource.to_string());
    is_named && resource.group.contains('.') && validate::label_1035(&resource.resource).is_ok()
}

fn scope(document: &Value, causes: &mut CauseList) {
    let (field, supported) = ("spec.scope", ["Cluster", "Namespaced"]);
    let scope = text(document, "/spec/scope");
    if scope.is_empty() {
        causes.push(FieldCause::required(field, ""));
    } else if !supported.contains(&scope) {
        causes.push(FieldCause::not_supported(field, scope, &supported));
    }
}

/// What all versions of a definition share.
#[derive(Default)]
struct Limits {
    patterns: Patterns,
    /// For literals in rules, and for what it takes to find out whether defaults fit.
    budget: Budget,
}

fn versions(found: &[Value], shared: Shared, limits: &mut Limits, causes: &mut CauseList) {
    let spec = Path::Root.member("spec");
    let at = spec.member("versions");
    for (index, one) in found.iter().enumerate() {
        let at = at.item(index);
        version::check(one, &at, causes);
        if !shared.schema {
            let status = version::has_status(one);
            version::schema(one, status, &at.member("schema"), limits, causes);
        }
        if !shared.subresources {
            version::scale(one, &at, causes);
        }
        if !shared.columns {
            column::check(one, &at, causes);
        }
        if !shared.selectable {
            selectable::check(one, &at, causes);
        }
    }
    let names: Vec<&str> = found.iter().map(|one| text(one, "/name")).collect();
    let mut refuse = |why: &str| {
        causes.push(FieldCause::invalid("spec.versions", &json!(names), why));
    };
    if names.iter().collect::<BTreeSet<_>>().len() != names.len() {
        refuse("must contain unique version names");
    }
    let stored = |one: &&Value| one.get("storage") == Some(&Value::Bool(true));
    if found.iter().filter(stored).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
}

/// Checks what all versions have in common.
fn parts(found: &[Value], shared: Shared, limits: &mut Limits, causes: &mut CauseList) {
    let at = Path::Root.member("spec");
    if shared.schema {
        let status = found.iter().any(version::has_status);
        for one in distinct(found, "schema") {
            version::schema(one, status, &at.member("validation"), limits, causes);
        }
    }
    if shared.subresources {
        for one in distinct(found, "subresources") {
            version::scale(one, &at, causes);
        }
    }
    if shared.columns {
        for one in distinct(found, "additionalPrinterColumns") {
            column::check(one, &at, causes);
        }
    }
    if shared.selectable {
        for one in distinct(found, "selectableFields") {
            selectable::check(one, &at, causes);
        }
    }
}

/// The versions of a definition.
fn listed_versions(document: &Value) -> &[Value] {
    let found = document.pointer("/spec/versions").and_then(Value::as_array);
    found.map_or(&[][..], Vec::as_slice)
}
