//! Requests that create and delete a namespace and a definition, and what lives in them.

use super::{NAMES, NAMESPACES, create, owners};
use crate::dice::Dice;
use crate::naive;
use crate::reference::Kind;
use hindsight_core::command::{Create, FieldValidation};
use hindsight_core::{GroupResource, Intent, ObjectKey, State};
use serde_json::{Value, json};

const GROUP: &str = "example.com";
const DEFINITION: &str = "widgets.example.com";

/// Creates, fills or deletes the namespace.
pub fn namespace(dice: &mut Dice, state: &State) -> Intent {
    let name = NAMESPACES[2];
    let key = ObjectKey::new(GroupResource::new("", "namespaces"), "", name);
    if state.get(&key).is_none() {
        return naive::create_namespace(name);
    }
    if dice.roll(3) == 0 {
        return naive::delete(key, None);
    }
    let inside = naive::key(Kind::ConfigMap, name, &format!("o{}", dice.roll(NAMES)));
    create(dice, state, &inside, false)
}

/// Creates or deletes the definition, or one of its objects, or makes one of these an owner.
pub fn definition(dice: &mut Dice, state: &State) -> Intent {
    let definitions = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    let key = ObjectKey::new(definitions, "", DEFINITION);
    if state.get(&key).is_none() {
        return made(ObjectKey::new(key.resource, "", ""), "v1", widgets());
    }
    if dice.roll(6) == 0 {
        return naive::delete(key, None);
    }
    let name = format!("w{}", dice.roll(2));
    let widget = ObjectKey::new(GroupResource::new(GROUP, "widgets"), NAMESPACES[0], &name);
    let Some(object) = state.get(&widget) else {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {
            "name": name, "ownerReferences": naive::references(&owners(dice, state))}});
        let place = ObjectKey::new(widget.resource, NAMESPACES[0], "");
        return made(place, "v1", object);
    };
    if dice.roll(3) == 0 {
        return naive::delete(widget, None);
    }
    let owner = json!([{"apiVersion": "example.com/v1", "kind": "Widget", "name": name,
        "uid": object.meta.uid.as_str(), "blockOwnerDeletion": dice.roll(2) == 0}]);
    let owned = naive::key(
        Kind::ConfigMap,
        NAMESPACES[0],
        &format!("o{}", dice.roll(NAMES)),
    );
    naive::patch(owned, json!({"metadata": {"ownerReferences": owner}}))
}

/// A create request for any kind.
pub fn made(place: ObjectKey, version: &str, object: Value) -> Intent {
    Intent::Create(Create {
        key: place,
        version: version.into(),
        object,
        validation: FieldValidation::Ignore,
    })
}

fn widgets() -> Value {
    json!({
        "metadata": {"name": DEFINITION},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    })
}
