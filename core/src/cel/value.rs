//! Values of expressions. Parts of a document are not copied: a value borrows them, together with
//! the schema that says how its strings and numbers are to be read.

use super::authority::Check;
use super::library::formats::Named;
use super::library::versions::Version;
use super::meter::{Fault, Meter};
use crate::go::range::Range;
use crate::go::url::Url;
use crate::quantity::Quantity;
use crate::schema::{Pattern, Schema, parse_duration};
use base64::prelude::{BASE64_STANDARD, Engine};
use chrono::{DateTime, Datelike, Utc};
use serde_json::{Map, Value as Json};
use std::net::IpAddr;
use std::sync::Arc;

/// A value of an expression.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// `null`.
    Null,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `uint`.
    Uint(u64),
    /// `double`.
    Double(f64),
    /// `string`.
    Text(Text<'a>),
    /// A string literal that is used as a regular expression, compiled by the checker.
    Pattern(Arc<Pattern>),
    /// `bytes`.
    Bytes(Arc<[u8]>),
    /// `duration`, in nanoseconds.
    Duration(i64),
    /// `timestamp`.
    Timestamp(DateTime<Utc>),
    /// A list that an expression created. It keeps the schema of the list it was made from, and
    /// with it whether that was a set or a map.
    List(Arc<Vec<Self>>, Option<&'a Schema>),
    /// A map that an expression created.
    Map(Arc<Vec<(Self, Self)>>),
    /// A list in a document.
    Array(&'a [Json], Option<&'a Schema>),
    /// An object in a document.
    Object(&'a Map<String, Json>, Option<&'a Schema>),
    /// An optional value.
    Optional(Option<Arc<Self>>),
    /// A type as a value.
    Type(&'static str),
    /// A Kubernetes quantity.
    Quantity(Arc<Quantity>),
    /// A URL.
    Url(Arc<Url>),
    /// An IP address.
    Address(IpAddr),
    /// A range of IP addresses.
    Range(Range),
    /// A format that a string may have.
    Format(&'static Named),
    /// A semantic version.
    Version(Arc<Version>),
    /// A permission check, with its decision once it was made.
    Check(Arc<Check<'a>>),
}

// What a step may take of memory: see `docs/reliability.md`.
const _: () = assert!(size_of::<Value<'_>>() <= 32);

/// A string that is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Text<'a> {
    /// Borrowed from a document or from the expression.
    Borrowed(&'a str),
    /// Created by the expression.
    Shared(Arc<str>),
}

impl Text<'_> {
    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl<'a> Value<'a> {
    /// Creates a string that borrows nothing.
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(Text::Shared(text.into()))
    }

    /// Creates a list that has no schema.
    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(items), None)
    }

    /// Creates an optional value.
    pub(crate) fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(Arc::new))
    }

    /// Creates an optional value that is present.
    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// A part of a document, read without a schema.
    pub(crate) fn of(json: &'a Json) -> Self {
        Self::plain(json, None)
    }

    /// A part of a document, read according to its schema. Parsing a string of a known format is
    /// charged for.
    pub(crate) fn read(
        meter: &mut Meter,
        json: &'a Json,
        schema: Option<&'a Schema>,
    ) -> Result<Self, Fault> {
        let schema = schema.filter(|schema| !schema.int_or_string);
        match (json, schema.and_then(|schema| schema.format)) {
            (Json::String(text), Some(format)) => {
                meter.text(text.len())?;
                formatted(text, format.name())
            }
            _ => Ok(Self::plain(json, schema)),
        }
    }

    fn plain(json: &'a Json, schema: Option<&'a Schema>) -> Self {
        let type_name = schema.map_or("", |schema| &*schema.type_name);
        match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) if type_name != "number" => Self::Int(number),
                (_, Some(number)) if type_name == "integer" => Self::Int(whole(number)),
                (_, number) => Self::Double(number.unwrap_or_default()),
            },
            Json::String(text) => Self::Text(Text::Borrowed(text)),
            Json::Array(items) => Self::Array(items, schema),
            Json::Object(members) => Self::Object(members, schema),
        }
    }

    /// A timestamp, if its year is within the range of CEL.
    pub(super) fn moment(moment: DateTime<Utc>) -> Option<Self> {
        (1..=9999)
            .contains(&moment.year())
            .then_some(Self::Timestamp(moment))
    }

    /// A cheap copy of a literal that borrows from the program.
    pub(super) fn borrowed(&'a self) -> Self {
        match self {
            Self::Text(text) => Self::Text(Text::Borrowed(text.as_str())),
            other => other.clone(),
        }
    }

    /// The name of the value's type.
    pub(super) const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) | Self::Pattern(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(..) | Self::Array(..) => "list",
            Self::Map(_) | Self::Object(..) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Address(_) => "net.IP",
            Self::Range(_) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Version(_) => "kubernetes.Semver",
            Self::Check(_) => "kubernetes.authorization",
        }
    }

    /// The number of items, if this is a list or a map.
    pub(super) fn length(&self) -> Option<usize> {
        match self {
            Self::List(items, _) => Some(items.len()),
            Self::Array(items, _) => Some(items.len()),
            Self::Map(entries) => Some(entries.len()),
            Self::Object(members, _) => Some(members.len()),
            _ => None,
        }
    }

    /// Whether this may be the key of a map.
    pub(super) const fn is_key(&self) -> bool {
        matches!(
            self,
            Self::Bool(_) | Self::Int(_) | Self::Uint(_) | Self::Text(_)
        )
    }

    /// Returns one item of a list.
    pub(super) fn item(&self, meter: &mut Meter, index: usize) -> Result<Option<Self>, Fault> {
        match self {
            Self::List(items, _) => Ok(items.get(index).cloned()),
            Self::Array(items, schema) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                let item = items.get(index);
                item.map(|item| Self::read(meter, item, schema)).transpose()
            }
            _ => Ok(None),
        }
    }

    /// Returns every item of a list, or every key of a map.
    pub(super) fn items(&self, meter: &mut Meter) -> Result<Vec<Self>, Fault> {
        match self {
            Self::Map(entries) => Ok(entries.iter().map(|(key, _)| key.clone()).collect()),
            Self::Object(members, _) => {
                let keys = members.keys();
                Ok(keys.map(|key| Self::Text(Text::Borrowed(key))).collect())
            }
            _ => {
                let length = self.length().unwrap_or_default();
                let items = (0..length).map(|index| self.item(meter, index).transpose());
                items.flatten().collect()
            }
        }
    }

    /// Returns a member of an object in a document.
    pub(super) fn member(&self, meter: &mut Meter, name: &str) -> Result<Option<Self>, Fault> {
        let Self::Object(members, schema) = self else {
            return Ok(None);
        };
        let schema = schema.and_then(|schema| schema.member(name).map(|one| &**one));
        let member = members.get(name);
        member
            .map(|member| Self::read(meter, member, schema))
            .transpose()
    }

    /// Whether an object in a document has this member, but expressions take it for absent: a field
    /// that is null. Entries of maps and members without a schema are there even if they are null.
    /// Source: upstream's `unstructuredMap.Find`.
    pub(super) fn leaves_out(&self, name: &str) -> bool {
        let Self::Object(members, Some(schema)) = self else {
            return false;
        };
        let has_fields = schema.embedded || !schema.properties.is_empty();
        has_fields && members.get(name).is_some_and(Json::is_null)
    }

    /// Returns the schema of a part of a document.
    pub(super) fn schema(&self) -> Option<&'a Schema> {
        match self {
            Self::List(_, schema) | Self::Array(_, schema) | Self::Object(_, schema) => *schema,
            _ => None,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a number that the schema says is whole; Rust saturates"
)]
const fn whole(number: f64) -> i64 {
    number as i64
}

/// Parses a string whose format stands for another type. This can fail: the string may have been
/// stored before its schema had the format.
fn formatted<'a>(text: &'a str, format: &str) -> Result<Value<'a>, Fault> {
    let found = match format {
        "byte" => BASE64_STANDARD
            .decode(text)
            .ok()
            .map(|bytes| Value::Bytes(bytes.into())),
        "duration" => parse_duration(text).map(Value::Duration),
        "date" => super::time::timestamp(&format!("{text}T00:00:00Z")).map(Value::Timestamp),
        "date-time" => super::time::timestamp(text).map(Value::Timestamp),
        _ => Some(Value::Text(Text::Borrowed(text))),
    };
    found.ok_or_else(|| Fault::failed(format!("Invalid {format} formatted string {text}")))
}
