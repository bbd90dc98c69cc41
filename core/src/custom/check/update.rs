//! Members of a definition that an update may not change.

use crate::custom::text;
use crate::rejection::FieldCause;
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) fn check(document: &Value, old: &Value) -> Vec<FieldCause> {
    let mut causes = Vec::new();
    let mut same = |pointer: &str| {
        let (new, old) = (text(document, pointer), text(old, pointer));
        if new != old {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let why = "field is immutable";
            causes.push(FieldCause::invalid(field, &json!(new), why));
        }
    };
    if is_established(old) {
        same("/spec/scope");
        same("/spec/names/kind");
    }
    same("/spec/group");
    same("/spec/names/plural");
    causes.extend(stored_versions(document));
    causes
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let mut established = conditions.filter(|one| text(one, "/type") == "Established");
    established.any(|one| text(one, "/status") == "True")
}

/// A version in which objects may still be stored cannot be removed.
fn stored_versions(document: &Value) -> Vec<FieldCause> {
    let list = |pointer: &str| document.pointer(pointer).and_then(Value::as_array);
    let versions = list("/spec/versions").into_iter().flatten();
    let names: BTreeSet<&str> = versions.map(|one| text(one, "/name")).collect();
    let stored = list("/status/storedVersions").into_iter().flatten();
    let gone = stored.enumerate().filter_map(|(index, stored)| {
        let name = stored.as_str().filter(|name| !names.contains(name))?;
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain \
             in spec.versions until a storage migration ensures no data remains persisted in \
             {name} and removes {name} from status.storedVersions"
        );
        let field = format!("status.storedVersions[{index}]");
        Some(FieldCause::invalid(field, stored, &why))
    });
    gone.collect()
}
