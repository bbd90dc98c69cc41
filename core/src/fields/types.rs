//! What a schema says about the ownership of fields: which values are owned part by part
//! (granular), and which as a whole (atomic). Source: kube-openapi's `pkg/schemaconv`.

use super::element::Datum;
use super::{DEPTH_MAX, Element};
use crate::schema::{ItemIdentity, Schema, any_object};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Members of every object that have no manager.
const UNTRACKED: [&str; 2] = ["apiVersion", "kind"];
/// Members of an object's metadata that have no manager.
const UNTRACKED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Lists in an object's metadata that are removed item by item only.
const OF_THEIR_ITEMS: [&str; 2] = ["finalizers", "ownerReferences"];

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type<'a> {
    form: Form<'a>,
    depth: u8,
}

#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    /// A schema describes the value.
    Known(Known<'a>),
    /// There is no schema: maps are granular, everything else is atomic.
    Deduced,
    /// A string.
    Text,
}

#[derive(Debug, Clone, Copy)]
struct Known<'a> {
    schema: &'a Schema,
    /// Whether members that the schema does not know are allowed; inherited by everything below.
    preserve: bool,
    place: Place,
}

/// The place of a value, which decides what members it has besides those that its schema names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The object itself.
    Root,
    /// The object's metadata.
    Metadata,
    /// An object embedded in another.
    Embedded,
    /// Anywhere else.
    Inside,
}

/// How a value is owned.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape<'a> {
    /// Member by member.
    Map(MapType<'a>),
    /// Item by item.
    List(ListType<'a>),
    /// As a whole (atomic).
    Leaf,
}

/// The scalars that a type allows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plain {
    Text,
    Number,
    Flag,
    /// Any of these.
    Any,
}

/// The kind of a collection.
#[derive(Debug, Clone, Copy)]
pub(super) enum Collection {
    Map,
    List,
}

/// A map that is owned member by member.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapType<'a> {
    known: Option<Known<'a>>,
    depth: u8,
}

/// A list that is owned item by item.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListType<'a> {
    known: Known<'a>,
    depth: u8,
}

/// What a map's type says about one of its members.
pub(super) enum Member<'a> {
    /// The schema names the member.
    Named(Element, Type<'a>),
    /// All members that are not named have this type.
    Other(Type<'a>),
    /// The member is not allowed.
    Undeclared,
}

impl<'a> Type<'a> {
    /// Returns the type of an object; without a schema, only the metadata is described.
    pub(super) fn of_object(schema: Option<&'a Schema>) -> Self {
        let form = Form::Known(Known {
            schema: schema.unwrap_or_else(|| any_object()),
            preserve: schema.is_none_or(|schema| schema.preserve_unknown),
            place: Place::Root,
        });
        Self { form, depth: 0 }
    }

    /// Returns the scalars that the type allows, if it allows only scalars.
    pub(super) fn plain(self) -> Option<Plain> {
        let Form::Known(Known { schema, .. }) = self.form else {
            return matches!(self.form, Form::Text).then_some(Plain::Text);
        };
        match &*schema.type_name {
            "object" | "array" | "" => None,
            "integer" | "number" => Some(Plain::Number),
            "boolean" => Some(Plain::Flag),
            "string" if schema.format.is_none() => Some(Plain::Text),
            _ => Some(Plain::Any),
        }
    }

    /// Returns the kind of collection that the type allows, if it allows only one.
    pub(super) fn collection(self) -> Option<Collection> {
        match self.form {
            Form::Known(known) => match &*known.schema.type_name {
                "object" => Some(Collection::Map),
                "array" => Some(Collection::List),
                _ => None,
            },
            Form::Deduced | Form::Text => None,
        }
    }

    /// Returns how a value is owned. A value that the type does not allow is treated as if it were
    /// of that type; null is treated as a map if the type is open.
    pub(super) fn shape(self, value: &Value) -> Shape<'a> {
        if self.depth >= DEPTH_MAX {
            return Shape::Leaf;
        }
        match (self.collection(), value) {
            (Some(Collection::Map), _) | (None, Value::Object(_) | Value::Null) => self
                .as_map()
                .filter(|map| !map.is_atomic())
                .map_or(Shape::Leaf, Shape::Map),
            (Some(Collection::List), _) | (None, Value::Array(_)) => self
                .as_list()
                .filter(|list| !list.is_atomic())
                .map_or(Shape::Leaf, Shape::List),
            (None, Value::Bool(_) | Value::Number(_) | Value::String(_)) => Shape::Leaf,
        }
    }

    /// Returns the type of maps, if maps are allowed.
    pub(super) fn as_map(self) -> Option<MapType<'a>> {
        let depth = self.depth;
        match self.form {
            Form::Known(known) if known.allows("object") => Some(MapType {
                known: Some(known),
                depth,
            }),
            Form::Deduced => Some(MapType { known: None, depth }),
            Form::Known(_) | Form::Text => None,
        }
    }

    /// Returns the type of lists, if a schema allows them. Without a schema a list is owned as a
    /// whole.
    pub(super) fn as_list(self) -> Option<ListType<'a>> {
        match self.form {
            Form::Known(known) if known.allows("array") => Some(ListType {
                known,
                depth: self.depth,
            }),
            Form::Known(_) | Form::Deduced | Form::Text => None,
        }
    }

    /// Returns the type of the field that an element of a set leads to, whatever value is there.
    pub(super) fn below(self, element: &Element) -> Option<Type<'a>> {
        match (self.owner_of(element), element) {
            (Shape::Map(map), Element::Field(name)) => match map.member(name) {
                Member::Named(_, member) | Member::Other(member) => Some(member),
                Member::Undeclared => None,
            },
            (Shape::List(list), Element::Key(_)) => Some(list.item()),
            _ => None,
        }
    }

    /// Returns the shape of the values that can have such an element.
    pub(super) fn owner_of(self, element: &Element) -> Shape<'a> {
        match element {
            Element::Field(_) => self.shape(&Value::Object(Map::new())),
            Element::Key(_) | Element::Value(_) | Element::Index(_) => {
                self.shape(&Value::Array(Vec::new()))
            }
        }
    }
}

impl<'a> Known<'a> {
    fn allows(self, type_name: &str) -> bool {
        let own = &*self.schema.type_name;
        own.is_empty() || own == type_name
    }

    fn child(self, schema: &'a Schema) -> Form<'a> {
        Form::Known(Known {
            schema,
            preserve: self.preserve || schema.preserve_unknown,
            place: if schema.embedded {
                Place::Embedded
            } else {
                Place::Inside
            },
        })
    }

    fn metadata(self) -> Form<'a> {
        Form::Known(Known {
            schema: self.schema.of_metadata(),
            preserve: false,
            place: if self.place == Place::Root {
                Place::Metadata
            } else {
                Place::Inside
            },
        })
    }
}

impl<'a> MapType<'a> {
    fn is_atomic(&self) -> bool {
        self.known.is_some_and(|known| known.schema.atomic)
    }

    /// Whether a member, or something below it, can have managers.
    pub(super) fn tracks(self, name: &str) -> bool {
        match self.place() {
            Place::Root => !UNTRACKED.contains(&name),
            Place::Metadata => !UNTRACKED_METADATA.contains(&name),
            Place::Embedded | Place::Inside => true,
        }
    }

    /// Whether a member itself can have managers, and not only what is below it.
    pub(super) fn tracks_itself(self, name: &str) -> bool {
        self.place() != Place::Root || name != "metadata"
    }

    /// Whether a member is `finalizers` or `ownerReferences`. Removing one of these must not take
    /// along items that other managers, or nobody, added: without them an object that is still held
    /// could be deleted.
    pub(super) fn is_of_its_items(self, name: &str) -> bool {
        self.place() == Place::Metadata && OF_THEIR_ITEMS.contains(&name)
    }

    fn place(self) -> Place {
        self.known.map_or(Place::Inside, |known| known.place)
    }

    pub(super) fn member(self, name: &str) -> Member<'a> {
        let Some(known) = self.known else {
            return Member::Other(self.below(Form::Deduced));
        };
        let is_object = matches!(known.place, Place::Root | Place::Embedded);
        match name {
            "apiVersion" | "kind" if is_object => {
                return Member::Named(Element::field(name), self.below(Form::Text));
            }
            "metadata" if is_object => {
                return Member::Named(Element::field(name), self.below(known.metadata()));
            }
            _ => {}
        }
        let schema = known.schema;
        if let Some((name, member)) = schema.properties.get_key_value(name) {
            let element = Element::Field(Arc::clone(name));
            return Member::Named(element, self.below(known.child(member)));
        }
        if let Some(additional) = &schema.additional {
            return Member::Other(self.below(known.child(additional)));
        }
        let free = known.preserve || (schema.properties.is_empty() && !is_object);
        if free && !schema.closed {
            Member::Other(self.below(Form::Deduced))
        } else {
            Member::Undeclared
        }
    }

    /// Returns the element and the type of a member, and whether the schema names it. A member that
    /// is not allowed but present all the same has no known type.
    pub(super) fn lenient(self, name: &str) -> (Element, Type<'a>, bool) {
        match self.member(name) {
            Member::Named(element, member) => (element, member, true),
            Member::Other(member) => (Element::field(name), member, false),
            Member::Undeclared => (Element::field(name), self.below(Form::Deduced), false),
        }
    }

    const fn below(self, form: Form<'a>) -> Type<'a> {
        Type {
            form,
            depth: self.depth.saturating_add(1),
        }
    }
}

impl<'a> ListType<'a> {
    pub(super) fn is_atomic(&self) -> bool {
        self.known.schema.identity.is_atomic()
    }

    /// Returns the type of the items.
    pub(super) fn item(self) -> Type<'a> {
        let form = match &self.known.schema.items {
            Some(items) => self.known.child(items),
            None => Form::Deduced,
        };
        Type {
            form,
            depth: self.depth.saturating_add(1),
        }
    }

    /// Returns what identifies an item in the list, or why nothing does.
    pub(super) fn element(self, item: &Value) -> Result<Element, String> {
        match &self.known.schema.identity {
            ItemIdentity::Map(keys) => self.by_keys(keys, item),
            ItemIdentity::Place | ItemIdentity::Atomic | ItemIdentity::Set => by_value(item),
        }
    }

    fn by_keys(self, keys: &[Arc<str>], item: &Value) -> Result<Element, String> {
        let members = match item {
            Value::Object(members) => members,
            Value::Null => {
                return Err("associative list with keys may not have a null element".into());
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err("associative list with keys may not have non-map elements".into());
            }
        };
        let value = |key: &Arc<str>| {
            let value = members.get(&**key).or_else(|| self.default_of(key))?;
            Some((Arc::clone(key), Datum(value.clone())))
        };
        let values: Vec<_> = keys.iter().filter_map(value).collect();
        if values.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(Element::key(values))
    }

    fn default_of(self, key: &str) -> Option<&'a Value> {
        let items = self.known.schema.items.as_ref()?;
        let default = items.properties.get(key)?.default.as_ref()?;
        Some(default).filter(|default| !default.is_null())
    }
}

fn by_value(item: &Value) -> Result<Element, String> {
    match item {
        Value::Object(_) => {
            Err("associative list without keys has an element that's a map type".into())
        }
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => {
            Err("associative list without keys has an element that's an explicit null".into())
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Ok(Element::Value(Datum(item.clone())))
        }
    }
}
