//! Which of the names that a definition wants it gets: names of another kind in the group are taken, and a
//! name that was accepted once stays accepted.
//!
//! Source: `apiextensions-apiserver/pkg/controller/status/naming_controller.go`.

use crate::decide::conditions::{self, Condition};
use crate::kind::Kind;
use crate::object::ObjectKey;
use crate::{GroupResource, Object, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Each name, and the reason that is reported when it is taken.
const ROWS: [(&str, &str); 5] = [
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
];
/// The end of every reason above, as it is stored.
const CONFLICT: &str = "Conflict\"";

/// What a name is for; only names for the same thing exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Resource,
    Kind,
}

impl Use {
    fn of(member: &str) -> Self {
        match member {
            "kind" | "listKind" => Self::Kind,
            _ => Self::Resource,
        }
    }
}

type Taking = (Use, String);

/// Who has names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Builtin(GroupResource),
    Definition(GroupResource),
}

/// Every name that a kind or a definition of a group has.
#[derive(Debug, Default)]
pub(super) struct Taken {
    by: BTreeMap<Holder, BTreeSet<Taking>>,
    /// How many have each name.
    holders: BTreeMap<Taking, usize>,
}

impl Taken {
    pub(super) fn in_group_of(state: &State, definition: &ObjectKey) -> Self {
        let mut taken = Self::default();
        let group = definition.defined_resource().group;
        let served = state.kinds.iter();
        for kind in served.filter(|kind| kind.resource.group == group) {
            let holder = if kind.is_custom() {
                Holder::Definition
            } else {
                Holder::Builtin
            };
            taken.put(holder(kind.resource.clone()), takings(&names_of(kind)));
        }
        let is_served = |other: &Object| {
            let resource = other.key.defined_resource();
            state.kinds.by_resource(&resource).is_some()
        };
        for other in of_group(state, definition).filter(|other| !is_served(other)) {
            let names = outline(other).map(|outline| accepted(&outline));
            let holder = Holder::Definition(other.key.defined_resource());
            taken.put(holder, names.unwrap_or_default());
        }
        taken
    }

    /// Notes which names a definition has now.
    pub(super) fn note(&mut self, state: &State, definition: &Unnamed) {
        let resource = definition.object.key.defined_resource();
        let names = match state.kinds.by_resource(&resource) {
            Some(kind) if kind.is_custom() => takings(&names_of(kind)),
            Some(_) => return,
            None => accepted(&definition.outline),
        };
        self.put(Holder::Definition(resource), names);
    }

    /// Puts these names in the place of those that the holder had.
    fn put(&mut self, holder: Holder, names: BTreeSet<Taking>) {
        for name in &names {
            *self.holders.entry(name.clone()).or_default() += 1;
        }
        for name in self.by.insert(holder, names).unwrap_or_default() {
            if let Some(count) = self.holders.get_mut(&name) {
                *count -= 1;
            }
        }
    }

    fn others_have(&self, own: &Holder, name: Taking) -> bool {
        let all = self.holders.get(&name).copied().unwrap_or_default();
        let is_own = self.by.get(own).is_some_and(|held| held.contains(&name));
        all > usize::from(is_own)
    }
}

fn names_of(kind: &Kind) -> Value {
    json!({"plural": &*kind.resource.resource, "singular": &*kind.singular,
        "shortNames": kind.short_names.iter().map(|name| &**name).collect::<Vec<_>>(),
        "kind": &*kind.kind, "listKind": &*kind.list_kind})
}

/// The names that a definition has according to its status.
fn accepted(definition: &Value) -> BTreeSet<Taking> {
    let names = definition.pointer("/status/acceptedNames");
    names.map(takings).unwrap_or_default()
}

fn takings(names: &Value) -> BTreeSet<Taking> {
    let mut takings = BTreeSet::new();
    for (member, _) in ROWS {
        let found = texts(names.get(member)).filter(|name| !name.is_empty());
        takings.extend(found.map(|name| (Use::of(member), name.to_owned())));
    }
    takings
}

/// The part of a definition that its names depend on.
#[derive(Deserialize)]
struct Outline {
    spec: Spec,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    names: Value,
}

/// Reads only the part of a definition that its names depend on; its schemas are skipped.
fn outline(definition: &Object) -> Option<Value> {
    let Outline { spec, status } = serde_json::from_slice(&definition.body).ok()?;
    Some(json!({"spec": {"names": spec.names}, "status": status}))
}

/// Writes into the status of a definition which names it has, and whether it is served. It starts from the
/// stored status, not from what a client sent.
pub(super) fn settle(state: &State, key: &ObjectKey, definition: &mut Value, now: &str) {
    restore(definition, state.get(key));
    let taken = Taken::in_group_of(state, key);
    settle_among(&taken, key.defined_resource(), definition, now);
}

/// The same for a status that is the stored one.
fn settle_among(taken: &Taken, own: GroupResource, definition: &mut Value, now: &str) {
    let nothing = json!({});
    let wanted = definition.pointer("/spec/names").unwrap_or(&nothing);
    let held = definition.pointer("/status/acceptedNames");
    let held = held.unwrap_or(&nothing);
    let (accepted, conflict) = accept(wanted, held, taken, &Holder::Definition(own));
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
    taken: &Taken,
    own: &Holder,
) -> (Value, Option<(&'static str, String)>) {
    let (mut accepted, mut conflict) = (Map::new(), None);
    for (member, reason) in ROWS {
        let (asked, had) = (wanted.get(member), held.get(member));
        let mine: BTreeSet<&str> = texts(had).collect();
        let in_use: Vec<String> = texts(asked)
            .filter(|name| !mine.contains(name))
            .filter(|name| taken.others_have(own, (Use::of(member), (*name).to_owned())))
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

/// A definition that has not got all names that it asks for.
#[derive(Debug)]
pub(super) struct Unnamed {
    pub(super) object: Arc<Object>,
    outline: Value,
}

impl Unnamed {
    fn of(object: &Arc<Object>) -> Option<Self> {
        // Most have all names: they are searched for a reason why they would not, but not read.
        let may_be_unnamed = str::from_utf8(&object.body).is_ok_and(|body| body.contains(CONFLICT));
        let outline = may_be_unnamed.then(|| outline(object)).flatten()?;
        (!conditions::is_true(&outline, "NamesAccepted")).then(|| Self {
            object: Arc::clone(object),
            outline,
        })
    }

    /// Brings its status up to date, as far as it is known here; returns whether that changed it.
    pub(super) fn settle(&mut self, taken: &Taken, now: &str) -> bool {
        let next = self.settled(taken, now);
        let changes = next != self.outline;
        self.outline = next;
        changes
    }

    /// The whole definition with its status up to date.
    pub(super) fn document(&self, taken: &Taken, now: &str) -> Value {
        let mut document = self.object.document();
        let resource = self.object.key.defined_resource();
        settle_among(taken, resource, &mut document, now);
        document
    }

    /// Whether it would gain a name. Other changes of its status do not count: the reasons why it lacks names change
    /// whenever other definitions gain them.
    fn would_gain(&self, taken: &Taken) -> bool {
        let next = self.settled(taken, "");
        let names = "/status/acceptedNames";
        next.pointer(names) != self.outline.pointer(names)
    }

    fn settled(&self, taken: &Taken, now: &str) -> Value {
        let mut outline = self.outline.clone();
        settle_among(taken, self.object.key.defined_resource(), &mut outline, now);
        outline
    }
}

/// The definitions that have not got all names, of the group of this one.
pub(super) fn unnamed<'a>(
    state: &'a State,
    definition: &'a ObjectKey,
) -> impl Iterator<Item = Unnamed> {
    of_group(state, definition).filter_map(Unnamed::of)
}

/// The first definition that waits for a name which is free, in the group of this one. Most decisions that
/// free names leave none: they give the names away themselves.
pub fn next_to_be_named(state: &State, definition: &ObjectKey) -> Option<Arc<Object>> {
    let mut unnamed = unnamed(state, definition).peekable();
    unnamed.peek()?;
    let taken = Taken::in_group_of(state, definition);
    let next = unnamed.find(|one| one.would_gain(&taken))?;
    Some(next.object)
}

/// All definitions of its group.
fn of_group<'a>(
    state: &'a State,
    definition: &'a ObjectKey,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let group = definition.defined_resource().group;
    let all = state.list(&definition.resource, None);
    all.filter(move |one| one.key.defined_resource().group == group)
}
