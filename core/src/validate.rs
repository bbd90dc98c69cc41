//! Validation of metadata: names, labels, annotations, finalizers, owner references and the rest. Source:
//! apimachinery's `api/validation/objectmeta.go` and `util/validation`.

mod builtin;
mod field;
mod formats;
mod manager;
mod names;
mod owners;

pub(crate) use builtin::{
    JOB_LABELS, REVIEW_VERSIONS, object, of_new_job, warnings, webhook_client,
};

pub use manager::{field_manager, manager_of_agent};
pub use names::is_subdomain;
pub(crate) use names::{label, label_1035, label_value, qualified_name, subdomain};
pub(crate) use names::{label_1035_problems, label_problems, subdomain_problems};

use crate::kind::{Kind, NameRule};
use crate::object::{FOREGROUND_FINALIZER, NAMESPACE_TOKEN, ORPHAN_FINALIZER};
use crate::rejection::{CauseList, FieldCause, go_strings};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

const ANNOTATION_BYTES_MAX: usize = 262_144;
const STANDARD_FINALIZERS: [&str; 3] = [NAMESPACE_TOKEN, ORPHAN_FINALIZER, FOREGROUND_FINALIZER];

/// Everything that is wrong with an object's metadata.
///
/// The name of an existing object is not checked again: it was accepted once, perhaps by an older rule.
pub fn metadata(kind: &Kind, metadata: &Map<String, Value>, is_new: bool) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    name(kind, metadata, is_new, &mut causes);
    own_labels(metadata, &mut causes);
    annotations(metadata, &mut causes);
    owners::check(metadata, &mut causes);
    finalizers(kind.strategy.strict_finalizers, metadata, &mut causes);
    causes.into_causes()
}

/// Everything that is wrong with the metadata of an object that is embedded in another one. It needs no
/// name.
pub(crate) fn embedded_metadata(metadata: &Map<String, Value>) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    let name = metadata.get("name").and_then(Value::as_str);
    if let Some(name) = name.filter(|name| !name.is_empty())
        && let Err(why) = names::path_segment(name)
    {
        causes.push_with(|| FieldCause::invalid("metadata.name", &json!(name), &why));
    }
    own_labels(metadata, &mut causes);
    annotations(metadata, &mut causes);
    owners::check(metadata, &mut causes);
    finalizers(false, metadata, &mut causes);
    causes.into_causes()
}

/// Checks the name of a kind: a DNS-1035 label that may have upper-case letters.
pub(crate) fn mixed_case_name(name: &str) -> Result<(), String> {
    label_1035(&name.to_lowercase())
        .map_err(|why| format!("may have mixed case, but should otherwise match: {why}"))
}

/// Reports finalizers that an object gains while it is being deleted.
pub(crate) fn no_new_finalizers(
    old: &[crate::object::Name],
    new: &Map<String, Value>,
) -> Option<FieldCause> {
    let old: BTreeSet<&str> = old.iter().map(|held| &**held).collect();
    let added = listed_finalizers(new).filter(|one| !old.contains(one));
    let added: BTreeSet<&str> = added.collect();
    let added: Vec<&str> = added.into_iter().collect();
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers {}",
        go_strings(&added)
    );
    (!added.is_empty()).then(|| FieldCause::forbidden("metadata.finalizers", &why))
}

/// Warnings about new finalizers of a custom kind whose names others might choose, too.
pub(crate) fn finalizer_warnings(
    old: &[crate::object::Name],
    new: &Map<String, Value>,
) -> Vec<String> {
    let old: BTreeSet<&str> = old.iter().map(|held| &**held).collect();
    let is_odd =
        |one: &&str| !one.contains('/') && !STANDARD_FINALIZERS.contains(one) && !old.contains(one);
    let tell = |one: &str| {
        format!(
            "metadata.finalizers: {one:?}: prefer a domain-qualified finalizer name including a \
             path (/) to avoid accidental conflicts with other finalizer writers"
        )
    };
    let odd = listed_finalizers(new).filter(is_odd);
    odd.map(tell).collect()
}

fn name(kind: &Kind, metadata: &Map<String, Value>, is_new: bool, causes: &mut CauseList) {
    let prefix = metadata.get("generateName").and_then(Value::as_str);
    if let Some(prefix) = prefix.filter(|prefix| !prefix.is_empty())
        && let Err(why) = legal_name(kind.strategy.names, &masked(prefix))
    {
        let field = "metadata.generateName";
        causes.push_with(|| FieldCause::invalid(field, &json!(prefix), &why));
    }
    let Some(name) = metadata
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
    else {
        causes.push_with(|| {
            FieldCause::required("metadata.name", "name or generateName is required")
        });
        return;
    };
    if is_new && let Err(why) = legal_name(kind.strategy.names, name) {
        causes.push_with(|| FieldCause::invalid("metadata.name", &json!(name), &why));
    }
}

/// A prefix in the form that is checked: a trailing dash is cut off with the letter before it, and a letter
/// is put in their place. Source: `maskTrailingDash`.
pub(crate) fn masked(prefix: &str) -> Cow<'_, str> {
    let head = prefix.strip_suffix('-').map(str::chars);
    match head.map(|mut head| (head.next_back(), head)) {
        // Upstream cuts off two bytes: what is left of a multi-byte letter is not a letter.
        Some((Some(letter), head)) => {
            let part = if letter.is_ascii() { "" } else { "\u{fffd}" };
            Cow::Owned(format!("{}{part}a", head.as_str()))
        }
        Some((None, _)) | None => Cow::Borrowed(prefix),
    }
}

/// Whether a type with this rule accepts the name; the error says what a name must look like.
pub(crate) fn legal_name(rule: NameRule, name: &str) -> Result<(), String> {
    match rule {
        NameRule::PathSegment => names::path_segment(name),
        NameRule::Address => names::address(name),
        NameRule::Subdomain => subdomain(name),
        NameRule::Label => label(name),
    }
}

/// Reports what is wrong with the labels in this field.
pub(crate) fn labels(labels: &Value, field: &str, causes: &mut CauseList) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        if causes.is_full() {
            return;
        }
        for why in qualified_name(key) {
            causes.push_with(|| FieldCause::invalid(field, &json!(key), &why));
        }
        for why in label_value(value.as_str().unwrap_or_default()) {
            causes.push_with(|| FieldCause::invalid(field, value, &why));
        }
    }
}

fn own_labels(metadata: &Map<String, Value>, causes: &mut CauseList) {
    let of_object = metadata.get("labels").unwrap_or(&Value::Null);
    labels(of_object, "metadata.labels", causes);
}

fn annotations(metadata: &Map<String, Value>, causes: &mut CauseList) {
    let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) else {
        return;
    };
    for key in annotations.keys() {
        if causes.is_full() {
            return;
        }
        for why in qualified_name(&key.to_lowercase()) {
            let field = "metadata.annotations";
            causes.push_with(|| FieldCause::invalid(field, &json!(key), &why));
        }
    }
    if !annotations_fit(annotations) {
        causes.push_with(|| FieldCause::too_long("metadata.annotations", ANNOTATION_BYTES_MAX));
    }
}

/// Whether all annotations together are within the size limit.
pub(crate) fn annotations_fit(annotations: &Map<String, Value>) -> bool {
    let one = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
    annotations.iter().map(one).sum::<usize>() <= ANNOTATION_BYTES_MAX
}

fn finalizers(strict: bool, metadata: &Map<String, Value>, causes: &mut CauseList) {
    let listed: Vec<&str> = listed_finalizers(metadata).collect();
    for (index, finalizer) in listed.iter().enumerate() {
        if causes.is_full() {
            return;
        }
        causes.extend(unqualified("metadata.finalizers", finalizer));
        let field = format!("metadata.finalizers[{index}]");
        causes.extend(nonstandard(&field, finalizer).filter(|_| strict));
    }
    if listed.contains(&ORPHAN_FINALIZER) && listed.contains(&FOREGROUND_FINALIZER) {
        causes.push_with(|| {
            let why = "finalizer orphan and foregroundDeletion cannot be both set";
            FieldCause::invalid_as("metadata.finalizers", &go_strings(&listed), why)
        });
    }
}

/// What is wrong with an entry in the `spec.finalizers` of a namespace. Source: upstream's
/// `validateFinalizerName`.
pub(crate) fn namespace_finalizer(field: &str, finalizer: &str) -> Vec<FieldCause> {
    let causes = unqualified(field, finalizer);
    causes.chain(nonstandard(field, finalizer)).collect()
}

fn unqualified(field: &str, finalizer: &str) -> impl Iterator<Item = FieldCause> {
    let problems = qualified_name(finalizer).into_iter();
    problems.map(move |why| FieldCause::invalid(field, &json!(finalizer), &why))
}

fn nonstandard(field: &str, finalizer: &str) -> Option<FieldCause> {
    let standard = finalizer.contains('/') || STANDARD_FINALIZERS.contains(&finalizer);
    let why = "name is neither a standard finalizer name nor is it fully qualified";
    (!standard).then(|| FieldCause::invalid(field, &json!(finalizer), why))
}

fn listed_finalizers(metadata: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let list = metadata.get("finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}
