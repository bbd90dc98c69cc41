//! Types of expressions: what the checker knows about a value before there is one.

use super::names;
use crate::schema::Schema;
use std::fmt;
use std::sync::Arc;

/// A type. A schema serves as the type of the values that it describes.
#[derive(Debug, Clone)]
pub(crate) enum Type<'s> {
    /// Any type; checked at evaluation.
    Dyn,
    /// A type without parameters: `bool`, `string`, `timestamp`, ...
    Plain(&'static str),
    /// A list.
    List(Arc<Self>),
    /// A map.
    Map(Arc<Self>, Arc<Self>),
    /// An optional value.
    Optional(Arc<Self>),
    /// An object that a schema describes.
    Object(&'s Schema),
    /// The same for an object with `apiVersion`, `kind` and `metadata` of its own.
    Resource(&'s Schema),
    /// A type with a fixed list of members.
    Record(&'static Record),
    /// A type variable of a signature; it stands for the same type throughout.
    Variable(u8),
}

/// A type with named members, whose types are in the notation of signatures.
#[derive(Debug)]
pub(crate) struct Record {
    /// The type's name.
    pub(crate) name: &'static str,
    /// Its members.
    pub(crate) members: &'static [(&'static str, Member)],
}

/// The type of a member of a record.
#[derive(Debug)]
pub(crate) enum Member {
    /// A type in the notation of signatures.
    Written(&'static str),
    /// Another record.
    Record(&'static Record),
}

/// The members of `metadata` that rules may use.
static META: Record = Record {
    name: "ObjectMeta",
    members: &[
        ("name", Member::Written("string")),
        ("generateName", Member::Written("string")),
    ],
};

impl<'s> Type<'s> {
    /// `bool`.
    pub(crate) const BOOL: Type<'static> = Type::Plain("bool");
    /// `string`.
    pub(crate) const STRING: Type<'static> = Type::Plain("string");
    pub(super) const INT: Type<'static> = Type::Plain("int");
    pub(super) const NULL: Type<'static> = Type::Plain("null");

    /// Returns the type of the values that a schema describes, or `None` if the schema says too
    /// little. Source: upstream's `SchemaDeclType`.
    pub(crate) fn of(schema: &'s Schema, resource: bool) -> Option<Self> {
        if schema.int_or_string {
            return Some(Self::Dyn);
        }
        if resource || schema.embedded {
            return Some(Self::Resource(schema));
        }
        match &*schema.type_name {
            "object" => Self::of_object(schema),
            "array" => {
                let items = Self::of(schema.items.as_deref()?, false)?;
                Some(Self::List(Arc::new(items)))
            }
            "string" => Some(Self::Plain(of_format(schema))),
            "boolean" => Some(Self::BOOL),
            "number" => Some(Self::Plain("double")),
            "integer" => Some(Self::INT),
            _ => None,
        }
    }

    fn of_object(schema: &'s Schema) -> Option<Self> {
        match &schema.additional {
            Some(values) if !values.type_name.is_empty() || values.int_or_string => {
                let values = Self::of(values, false)?;
                Some(Self::Map(Arc::new(Self::STRING), Arc::new(values)))
            }
            Some(values) if values.preserve_unknown => None,
            _ => Some(Self::Object(schema)),
        }
    }

    /// Returns the member that an expression names, with its unescaped name.
    pub(super) fn member(&self, name: &str) -> Option<(Arc<str>, Self)> {
        match self {
            Self::Object(schema) => declared(schema, name),
            Self::Resource(schema) => match name {
                "apiVersion" | "kind" => Some((name.into(), Self::STRING)),
                "metadata" => Some((name.into(), Self::Record(&META))),
                _ => declared(schema, name),
            },
            Self::Record(record) => {
                let (_, member) = record.members.iter().find(|(one, _)| *one == name)?;
                let found = match member {
                    Member::Written(text) => super::signature::written(text),
                    Member::Record(record) => Self::Record(record),
                };
                Some((name.into(), found))
            }
            _ => None,
        }
    }

    /// Whether types nest at least `levels` deep. Only values need a look: keys of maps have no
    /// type parameters.
    pub(super) fn is_deeper_than(&self, levels: usize) -> bool {
        let mut inner = self;
        for _ in 0..levels {
            inner = match inner {
                Self::List(items) | Self::Optional(items) => items,
                Self::Map(_, value) => value,
                _ => return false,
            };
        }
        true
    }

    pub(super) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn)
    }

    /// Whether this is the plain type of that name.
    pub(crate) fn is(&self, name: &str) -> bool {
        matches!(self, Self::Plain(plain) if *plain == name)
    }

    /// Whether `null` is one of its values. Source: `cel-go`'s `isAssignable`.
    fn takes_null(&self) -> bool {
        match self {
            Self::Object(_) | Self::Resource(_) | Self::Record(_) | Self::Optional(_) => true,
            // Those with a dot are the types of libraries.
            Self::Plain(name) => {
                matches!(*name, "null" | "timestamp" | "duration") || name.contains('.')
            }
            _ => false,
        }
    }
}

fn declared<'s>(schema: &'s Schema, name: &str) -> Option<(Arc<str>, Type<'s>)> {
    let name = names::unescape(name)?;
    let (name, member) = schema.properties.get_key_value(name.as_str())?;
    Some((Arc::clone(name), Type::of(member, false)?))
}

fn of_format(schema: &Schema) -> &'static str {
    match schema.format.map_or("", |format| format.name()) {
        "byte" => "bytes",
        "duration" => "duration",
        "date" | "date-time" => "timestamp",
        _ => "string",
    }
}

/// The types that the type variables of a signature are bound to.
#[derive(Debug, Clone, Default)]
pub(super) struct Bindings<'s>(Vec<(u8, Type<'s>)>);

impl<'s> Bindings<'s> {
    fn of(&self, variable: u8) -> Option<&Type<'s>> {
        let mut bound = self.0.iter();
        bound
            .find(|(one, _)| *one == variable)
            .map(|(_, found)| found)
    }

    /// Whether a value of type `given` may be used where `wanted` is expected.
    pub(super) fn accept(&mut self, wanted: &Type<'s>, given: &Type<'s>) -> bool {
        if let Type::Variable(variable) = wanted {
            let Some(bound) = self.of(*variable).cloned() else {
                self.0.push((*variable, given.clone()));
                return true;
            };
            if bound.is_dyn() || given.is_dyn() {
                return true;
            }
            if self.accept(&bound, given) {
                return true;
            }
            // The other way round, for example if the variable was bound to null first.
            let widened = self.accept(given, &bound);
            if widened {
                self.0.retain(|(one, _)| one != variable);
                self.0.push((*variable, given.clone()));
            }
            return widened;
        }
        match (wanted, given) {
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (wanted, Type::Plain("null")) => wanted.takes_null(),
            (Type::Plain(wanted), Type::Plain(given)) => wanted == given,
            (Type::List(wanted), Type::List(given))
            | (Type::Optional(wanted), Type::Optional(given)) => self.accept(wanted, given),
            (Type::Map(key, value), Type::Map(given_key, given_value)) => {
                self.accept(key, given_key) && self.accept(value, given_value)
            }
            (
                Type::Object(wanted) | Type::Resource(wanted),
                Type::Object(given) | Type::Resource(given),
            ) => std::ptr::eq(*wanted, *given),
            (Type::Record(wanted), Type::Record(given)) => std::ptr::eq(*wanted, *given),
            _ => false,
        }
    }

    /// Replaces the type variables in a type by what they are bound to.
    pub(super) fn resolve(&self, found: &Type<'s>) -> Type<'s> {
        let inside = |found: &Type<'s>| Arc::new(self.resolve(found));
        match found {
            Type::Variable(variable) => self.of(*variable).cloned().unwrap_or(Type::Dyn),
            Type::List(items) => Type::List(inside(items)),
            Type::Optional(value) => Type::Optional(inside(value)),
            Type::Map(key, value) => Type::Map(inside(key), inside(value)),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => formatter.write_str("dyn"),
            Self::Plain("timestamp") => formatter.write_str("google.protobuf.Timestamp"),
            Self::Plain("duration") => formatter.write_str("google.protobuf.Duration"),
            Self::Plain(name) => formatter.write_str(name),
            Self::List(items) => write!(formatter, "list({items})"),
            Self::Map(key, value) => write!(formatter, "map({key}, {value})"),
            Self::Optional(value) => write!(formatter, "optional_type({value})"),
            Self::Object(_) | Self::Resource(_) => formatter.write_str("object"),
            Self::Record(record) => formatter.write_str(record.name),
            Self::Variable(name) => write!(formatter, "{}", char::from(*name)),
        }
    }
}
