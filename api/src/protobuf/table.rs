//! The protobuf messages that are known, as two small text files of field numbers, which are parsed when a body
//! first needs them.
//!
//! `package NAME APIVERSION` starts a package. A line names a message and its fields, each as
//! `NUMBER NAME TYPE`; an indented line continues it. `~` as a name puts the members into the enclosing
//! message. `[]` is a list of the type, and `{}` a map from text to it. `!` marks a value whose zero means
//! something: it is a pointer in Go, or is always written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const TEXTS: [&str; 2] = [
    include_str!("messages/core.txt"),
    include_str!("messages/groups.txt"),
];

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(&TEXTS));

/// Package and message.
pub(super) type Name = (&'static str, &'static str);

#[derive(Debug, Default)]
pub(super) struct Table {
    messages: BTreeMap<Name, Vec<Field>>,
    packages: BTreeMap<&'static str, &'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) kind: Kind,
    pub(super) keeps_zero: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Single,
    /// Its members belong to the enclosing message.
    Inline,
    List,
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bool,
    Integer,
    Bytes,
    /// Seconds and nanoseconds; RFC 3339 in JSON.
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// A JSON document within a message.
    Json,
    /// A message that holds only a list of texts.
    Texts,
    Message(Name),
}

impl Table {
    /// The message that is the body of this kind.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<Name> {
        // The options of a deletion come in the version of the object that is deleted.
        let package = match kind {
            "DeleteOptions" => "meta",
            _ => self.packages.get(api_version)?,
        };
        let mut names = self.messages.keys();
        names.find(|name| **name == (package, kind)).copied()
    }

    /// The fields of a message.
    pub(super) fn fields(&self, message: Name) -> &[Field] {
        self.messages.get(&message).map_or(&[], Vec::as_slice)
    }

    /// The message of a type by its name in OpenAPI: `io.k8s.api.rbac.v1.Role` is the `Role` of
    /// `rbac.authorization.k8s.io/v1`.
    pub(super) fn of_definition(&self, definition: &str) -> Option<Name> {
        let mut parts = definition.rsplit('.');
        let (kind, version, group) = (parts.next()?, parts.next()?, parts.next()?);
        let is_named = |api_version: &str| {
            let (of, at) = api_version.split_once('/').unwrap_or(("core", api_version));
            at == version && of.split('.').next() == Some(group)
        };
        let mut packages = self.packages.iter();
        let (_, package) = packages.find(|(api_version, _)| is_named(api_version))?;
        let name = self.messages.keys().find(|name| **name == (*package, kind));
        name.copied()
    }

    /// Adds the fields that are not written where they are `false`, 0 or empty.
    pub(super) fn omitted_if_zero(&self, message: Name, found: &mut BTreeSet<&'static str>) {
        for field in self.fields(message) {
            match (field.shape, field.kind) {
                (Shape::Inline, Kind::Message(inner)) => self.omitted_if_zero(inner, found),
                (Shape::Single, Kind::Text | Kind::Bool | Kind::Integer) if !field.keeps_zero => {
                    found.insert(field.name);
                }
                _ => {}
            }
        }
    }

    fn parse(texts: &[&'static str]) -> Self {
        let mut table = Self::default();
        let mut package = "";
        let mut message = "";
        for line in texts.iter().flat_map(|text| text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (head, fields) = line.split_once(' ').unwrap_or((line, ""));
            if head == "package" {
                let (name, api_version) = fields.split_once(' ').unwrap_or_default();
                package = name;
                table.packages.insert(api_version, name);
                continue;
            }
            if !head.is_empty() {
                message = head;
            }
            let fields = fields.split(',').filter_map(|field| parse(package, field));
            let known = table.messages.entry((package, message)).or_default();
            known.extend(fields);
        }
        table
    }
}

fn parse(package: &'static str, field: &'static str) -> Option<Field> {
    let mut words = field.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let (name, written) = (words.next()?, words.next()?);
    let bare = written.trim_end_matches('!');
    let (shape, type_name) = match bare.get(..2) {
        Some("[]") => (Shape::List, bare.get(2..)?),
        Some("{}") => (Shape::Map, bare.get(2..)?),
        _ if name == "~" => (Shape::Inline, bare),
        _ => (Shape::Single, bare),
    };
    Some(Field {
        number,
        name,
        shape,
        kind: kind(package, type_name),
        keeps_zero: bare != written,
    })
}

fn kind(package: &'static str, name: &'static str) -> Kind {
    match name {
        "string" => Kind::Text,
        "bool" => Kind::Bool,
        "int" => Kind::Integer,
        "bytes" => Kind::Bytes,
        "time" => Kind::Time,
        "microtime" => Kind::MicroTime,
        "quantity" => Kind::Quantity,
        "intstr" => Kind::IntOrString,
        "json" => Kind::Json,
        "texts" => Kind::Texts,
        other => Kind::Message(other.split_once('.').unwrap_or((package, other))),
    }
}

#[cfg(test)]
mod tests;
