//! Random requests of clients, about few names, so that they get in each other's way.

pub mod containers;
pub mod jobs;

use super::options::Options;
use crate::dice::Dice;
use crate::naive;
use crate::reference::{Kind, Policy, Reference};
use hindsight_core::command::{FieldValidation, Update};
use hindsight_core::{Intent, Object, ObjectKey, State, Time};
use serde_json::{Value, json};
use std::ops::Add;
use std::sync::{Arc, LazyLock};

/// The namespaces; the last one is deleted and created again in schedules that delete namespaces.
pub const NAMESPACES: [&str; 3] = ["n1", "n2", "n3"];
const NAMES: u64 = 5;
/// Size at which two objects do not fit into a frame, so that a batch takes several.
const LARGE_BYTES: usize = 33 << 10;
/// Length of the piece that large texts repeat. Repeating a single letter would take longer to
/// decompress than everything else together.
const PIECE_BYTES: usize = 1 << 10;
const FINALIZERS: [&str; 2] = ["x/a", "x/b"];
const POLICIES: [Option<Policy>; 4] = [
    None,
    Some(Policy::Background),
    Some(Policy::Foreground),
    Some(Policy::Orphan),
];

/// The intent of a client that sees this state. `number` makes every write differ.
pub fn intent(dice: &mut Dice, state: &State, options: &Options, now: Time, number: u64) -> Intent {
    match dice.roll(14) {
        0 | 1 if options.namespaces => return containers::namespace(dice, state),
        2 | 3 if options.definitions => return containers::definition(dice, state),
        4 if options.jobs => return jobs::job(dice, state, now),
        _ => {}
    }
    let key = any_key(dice);
    let Some(object) = state.get(&key) else {
        return create(dice, state, &key, options.large);
    };
    let patched = |change: Value| naive::patch(key.clone(), change);
    match dice.roll(10) {
        0 => create(dice, state, &key, options.large),
        1 | 2 => patched(
            json!({"metadata": {"labels": {"v": number.to_string(), "shown": shown(dice)}}}),
        ),
        3 | 4 => update(dice, object, options.large, number),
        5 => patched(json!({"metadata": {"finalizers": naive::list(&finalizers(dice))}})),
        6 => patched(
            json!({"metadata": {"ownerReferences": naive::references(&owners(dice, state))}}),
        ),
        _ => delete(dice, object),
    }
}

/// A random key, at which an object may exist or not.
pub fn any_key(dice: &mut Dice) -> ObjectKey {
    let name = format!("o{}", dice.roll(NAMES));
    if dice.roll(5) == 0 {
        naive::key(Kind::PriorityClass, "", &name)
    } else {
        naive::key(Kind::ConfigMap, dice.pick(&NAMESPACES[..2]), &name)
    }
}

/// A random object that clients created.
pub fn any_object(dice: &mut Dice, state: &State) -> Option<Arc<Object>> {
    let objects: Vec<&Arc<Object>> = things(state).collect();
    (!objects.is_empty()).then(|| Arc::clone(dice.pick(&objects)))
}

fn things(state: &State) -> impl Iterator<Item = &Arc<Object>> {
    state.objects().filter(|object| {
        matches!(
            &*object.key.resource.resource,
            "configmaps" | "priorityclasses"
        )
    })
}

fn create(dice: &mut Dice, state: &State, key: &ObjectKey, large: bool) -> Intent {
    let kind = if key.namespace.is_empty() {
        Kind::PriorityClass
    } else {
        Kind::ConfigMap
    };
    let mut object = json!({"metadata": {
        "name": &*key.name,
        "labels": {"shown": shown(dice)},
        "finalizers": naive::list(&finalizers(dice)),
        "ownerReferences": naive::references(&owners(dice, state)),
    }});
    if large && kind == Kind::ConfigMap {
        object["data"] = json!({"large": text(dice)});
    }
    naive::create(kind, &key.namespace, object)
}

/// A text that is large two times in three.
fn text(dice: &mut Dice) -> &'static str {
    static LARGE: LazyLock<String> = LazyLock::new(|| {
        let piece = "x".repeat(PIECE_BYTES - 1).add(" ");
        piece.repeat(LARGE_BYTES / PIECE_BYTES)
    });
    dice.pick(&["", &LARGE, &LARGE])
}

/// An update as by a client that reads, changes and writes: the version that was read must still be
/// the newest.
fn update(dice: &mut Dice, object: &Object, large: bool, number: u64) -> Intent {
    let mut document = object.document();
    if !object.key.namespace.is_empty() {
        let text = if large { text(dice) } else { "" };
        document["data"] = json!({"large": text});
    }
    document["metadata"]["labels"] = json!({"v": number.to_string(), "shown": shown(dice)});
    Intent::Update(Update {
        key: object.key.clone(),
        version: "v1".into(),
        subresource: None,
        object: document,
        validation: FieldValidation::Ignore,
    })
}

fn delete(dice: &mut Dice, object: &Object) -> Intent {
    let mut intent = naive::delete(object.key.clone(), dice.pick(&POLICIES));
    if let Intent::Delete(delete) = &mut intent {
        delete.target.uid = (dice.roll(2) == 0).then(|| object.meta.uid.clone());
        delete.target.revision = (dice.roll(4) == 0).then_some(object.revision);
    }
    intent
}

/// A label that some watches select by.
fn shown(dice: &mut Dice) -> &'static str {
    dice.pick(&["yes", "no"])
}

fn finalizers(dice: &mut Dice) -> Vec<String> {
    match dice.roll(6) {
        0 => vec![dice.pick(&FINALIZERS).into()],
        _ => Vec::new(),
    }
}

/// References, mostly to objects that exist, sometimes misspelt or made up.
fn owners(dice: &mut Dice, state: &State) -> Vec<Reference> {
    let mut owners: Vec<Reference> = Vec::new();
    for _ in 0..dice.pick(&[0, 0, 1, 1, 2]) {
        let owner = owner(dice, state);
        if owners.iter().all(|one| one.uid != owner.uid) {
            owners.push(owner);
        }
    }
    owners
}

fn owner(dice: &mut Dice, state: &State) -> Reference {
    let blocks = dice.roll(2) == 0;
    let found = any_object(dice, state).filter(|_| dice.roll(12) > 0);
    let Some(object) = found else {
        return Reference {
            kind: Kind::ConfigMap,
            name: "o0".into(),
            uid: format!("made-up-{}", dice.roll(3)),
            blocks,
        };
    };
    let kind = match (&*object.type_meta.kind, dice.roll(25)) {
        (_, 0) => Kind::Unknown,
        ("PriorityClass", _) => Kind::PriorityClass,
        _ => Kind::ConfigMap,
    };
    Reference {
        kind,
        name: object.key.name.to_string(),
        uid: object.meta.uid.to_string(),
        blocks,
    }
}
