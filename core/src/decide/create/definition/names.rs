//! Which of the names that a definition wants it gets: names of another kind in the group are taken, and a
//! name that was accepted once stays accepted.
//!
//! Source: `apiextensions-apiserver/pkg/controller/status/naming_controller.go`.

use crate::decide::conditions::{self, Condition};
use crate::object::ObjectKey;
use crate::state::defined_by;
use crate::{Object, State};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Each name, and the reason that is reported when it is taken.
const ROWS: [(&str, &str); 5] = [
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
];

/// Names that other definitions and kinds of the group have.
#[derive(Default)]
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Taken {
    fn by_others(state: &State, definition: &ObjectKey) -> Self {
        let mut taken = Self::default();
        let own = defined_by(definition);
        let served = state.kinds.iter();
        let served = served.filter(|kind| kind.resource.group == own.group);
        for kind in served.filter(|kind| !kind.is_custom() || kind.resource != own) {
            taken.add(
                &json!({"plural": &*kind.resource.resource, "singular": &*kind.singular,
                "shortNames": kind.short_names.iter().map(|name| &**name).collect::<Vec<_>>(),
                "kind": &*kind.kind, "listKind": &*kind.list_kind}),
            );
        }
        let is_served = |other: &Object| state.kinds.by_resource(&defined_by(&other.key)).is_some();
        for other in of_group(state, definition).filter(|other| !is_served(other)) {
            let document = other.document();
            if let Some(names) = document.pointer("/status/acceptedNames") {
                taken.add(names);
            }
        }
        taken
    }

    fn add(&mut self, names: &Value) {
        for (member, _) in ROWS {
            let found = texts(names.get(member)).filter(|name| !name.is_empty());
            self.set(member).extend(found.map(str::to_owned));
        }
    }

    fn set(&mut self, member: &str) -> &mut BTreeSet<String> {
        match member {
            "kind" | "listKind" => &mut self.kinds,
            _ => &mut self.resources,
        }
    }

    fn has(&mut self, member: &str, name: &str) -> bool {
        self.set(member).contains(name)
    }
}

/// Writes into the status of a definition which names it has, and whether it is served. It starts from the
/// stored status, not from what a client sent.
pub(super) fn settle(state: &State, key: &ObjectKey, definition: &mut Value, now: &str) {
    restore(definition, state.get(key));
    let nothing = json!({});
    let wanted = definition.pointer("/spec/names").unwrap_or(&nothing);
    let held = definition.pointer("/status/acceptedNames");
    let held = held.unwrap_or(&nothing);
    let (accepted, conflict) = accept(wanted, held, Taken::by_others(state, key));
    let named = match &conflict {
        None => Condition::new_true("NamesAccepted", "NoConflicts", "no conflicts found"),
        Some((reason, why)) => Condition::new_false("NamesAccepted", reason, why),
    };
    if let Some(status) = conditions::status(definition) {
        status.insert("acceptedNames".into(), accepted);
    }
    conditions::set(definition, &named, now);
    // Once it is established it stays so, under the names that it has.
    if !conditions::is_true(definition, "Established") {
        let why = "the initial names have been accepted";
        let served = match conflict {
            None => Condition::new_true("Established", "InitialNamesAccepted", why),
            Some(_) => {
                Condition::new_false("Established", "NotAccepted", "not all names are accepted")
            }
        };
        conditions::set(definition, &served, now);
    }
}

/// Restores what the stored status says about the names.
fn restore(definition: &mut Value, stored: Option<&Arc<Object>>) {
    let before = stored.map_or(Value::Null, |stored| stored.document());
    for kind in ["NamesAccepted", "Established"] {
        conditions::restore(definition, kind, &before);
    }
    let held = before.pointer("/status/acceptedNames").cloned();
    if let Some(status) = conditions::status(definition) {
        status.remove("acceptedNames");
        status.extend(held.map(|held| ("acceptedNames".to_owned(), held)));
    }
}

/// The names that are free or already held, and the last reason why one is not.
fn accept(
    wanted: &Value,
    held: &Value,
    mut taken: Taken,
) -> (Value, Option<(&'static str, String)>) {
    let (mut accepted, mut conflict) = (Map::new(), None);
    for (member, reason) in ROWS {
        let (asked, had) = (wanted.get(member), held.get(member));
        let mine: BTreeSet<&str> = texts(had).collect();
        let in_use: Vec<String> = texts(asked)
            .filter(|name| !mine.contains(name))
            .filter(|name| taken.has(member, name))
            .map(|name| format!("\"{name}\" is already in use"))
            .collect();
        let chosen = if in_use.is_empty() { asked } else { had };
        match (chosen, member) {
            (Some(chosen), _) => drop(accepted.insert(member.into(), chosen.clone())),
            (None, "plural" | "kind") => drop(accepted.insert(member.into(), json!(""))),
            (None, _) => {}
        }
        match in_use.as_slice() {
            [] => {}
            [one] => conflict = Some((reason, one.clone())),
            several => conflict = Some((reason, format!("[{}]", several.join(", ")))),
        }
    }
    if let Some(categories) = wanted.get("categories") {
        accepted.insert("categories".into(), categories.clone());
    }
    (accepted.into(), conflict)
}

fn texts(held: Option<&Value>) -> impl Iterator<Item = &str> {
    let listed = held.and_then(Value::as_array).into_iter().flatten();
    listed.chain(held).filter_map(Value::as_str)
}

/// Other definitions of the group that wait for a name.
pub(super) fn waiting<'a>(
    state: &'a State,
    definition: &'a ObjectKey,
) -> impl Iterator<Item = &'a Arc<Object>> {
    // The reasons of conflicts end like this; other definitions need not be parsed.
    let may_wait = |other: &&Arc<Object>| other.body.windows(9).any(|part| part == b"Conflict\"");
    let others = of_group(state, definition).filter(may_wait);
    others.filter(|other| !conditions::is_true(&other.document(), "NamesAccepted"))
}

/// The other definitions of its group.
fn of_group<'a>(
    state: &'a State,
    definition: &'a ObjectKey,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let group = defined_by(definition).group;
    let all = state.list(&definition.resource, None);
    let others = all.filter(|other| other.key != *definition);
    others.filter(move |other| defined_by(&other.key).group == group)
}
