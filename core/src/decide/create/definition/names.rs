//! Names that another kind of the group already has.
//! Source: `apiextensions-apiserver/pkg/controller/status/naming_controller.go`.

use crate::decide::Context;
use crate::kind::Kind;
use serde_json::{Value, json};

/// A name that cannot be accepted.
pub(super) struct Conflict {
    pub(super) reason: &'static str,
    member: &'static str,
    name: String,
}

impl Conflict {
    pub(super) fn message(&self) -> String {
        format!("\"{}\" is already in use", self.name)
    }

    /// Takes the name out of the accepted ones.
    pub(super) fn withdraw(&self, accepted: &mut Value) {
        let Some(names) = accepted.as_object_mut() else {
            return;
        };
        match self.member {
            "plural" | "kind" => drop(names.insert(self.member.into(), json!(""))),
            member => drop(names.remove(member)),
        }
    }
}

/// The names of a definition that are taken, in the order in which they are looked at.
pub(super) fn conflicts(context: &Context<'_>, document: &Value) -> Vec<Conflict> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    let others: Vec<&Kind> = context
        .state
        .kinds
        .iter()
        .map(AsRef::as_ref)
        .filter(|kind| Some(&*kind.resource.group) == group)
        .filter(|kind| !kind.is_custom() || Some(&*kind.resource.resource) != plural)
        .collect();
    let resource_taken = |name: &str| {
        let mut others = others.iter();
        others.any(|kind| {
            let short = kind.short_names.iter().any(|short| &**short == name);
            short || &*kind.resource.resource == name || &*kind.singular == name
        })
    };
    let kind_taken = |name: &str| {
        let mut others = others.iter();
        others.any(|kind| &*kind.kind == name || &*kind.list_kind == name)
    };
    let rows = [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("shortNames", "ShortNamesConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ];
    let conflict = |(member, reason): (&'static str, &'static str)| {
        let names = document.pointer("/spec/names");
        let held = names.and_then(|names| names.get(member))?;
        let taken = |name: &&str| match member {
            "kind" | "listKind" => kind_taken(name),
            _ => resource_taken(name),
        };
        let listed = held.as_array().into_iter().flatten();
        let names = listed.chain([held]).filter_map(Value::as_str);
        let name = names.filter(|name| !name.is_empty()).find(taken)?;
        Some(Conflict {
            reason,
            member,
            name: name.to_owned(),
        })
    };
    rows.into_iter().filter_map(conflict).collect()
}
