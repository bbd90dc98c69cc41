//! Structural schemas: what a body of a custom kind may hold. Defaults, pruning, validation.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema` and `kube-openapi/pkg/validation`.

mod check;
mod choices;
mod embedded;
mod fill;
mod format;
mod lists;
mod metadata;
mod parse;
mod path;
mod pattern;
mod prune;
pub(crate) mod rules;
#[cfg(test)]
mod tests;

use crate::rejection::FieldCause;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use choices::Choices;
pub use format::Format;
pub(crate) use format::duration as parse_duration;
pub(crate) use metadata::{any_object, metadata_causes, object_meta};
pub use parse::parse;
pub(crate) use path::Path;
pub(crate) use pattern::{
    PATTERNS_MAX, compile as compile_pattern, compile_within as compile_pattern_within,
};

const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; \
                         correct the existing errors to complete validation";

/// Rules are not held against what does not have the form that they speak of. Source: upstream's
/// `hasBlockingErr`.
fn is_blocking(cause: &FieldCause) -> bool {
    const BLOCKING: [&str; 5] = [
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ];
    BLOCKING.contains(&cause.reason)
}

/// A structural schema.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; empty where any will do.
    pub type_name: Arc<str>,
    /// Members of an object.
    pub properties: BTreeMap<Arc<str>, Arc<Self>>,
    /// Schema of members that are not listed.
    pub additional: Option<Arc<Self>>,
    /// `additionalProperties: false`.
    pub closed: bool,
    /// Schema of a list's items.
    pub items: Option<Arc<Self>>,
    /// Members that must be there.
    pub required: Vec<Arc<str>>,
    /// `null` is a value.
    pub nullable: bool,
    /// A number or a string.
    pub int_or_string: bool,
    /// An integer is what Go's decoder takes for one: 64 bits, and neither a point nor an exponent.
    pub go_integer: bool,
    /// An integer of 64 bits, which is written again before it is decoded: 1.0 is 1.
    pub rewritten: bool,
    /// An amount, as a text or a number; every answer has its canonical form.
    pub quantity: bool,
    /// Unknown members stay.
    pub preserve_unknown: bool,
    /// An object with `apiVersion`, `kind` and `metadata` of its own.
    pub embedded: bool,
    /// What an absent member becomes.
    pub default: Option<Value>,
    /// Allowed values; empty allows all.
    pub enumeration: Choices,
    /// What a text must look like.
    pub format: Option<Format>,
    /// Bounds on numbers, lengths, items, and the pattern.
    pub bounds: Bounds,
    /// `allOf`, `anyOf`, `oneOf` and `not`.
    pub junctors: Option<Box<Junctors>>,
    /// What makes two items of a list the same.
    pub identity: Identity,
    /// What a strategic merge does to a list.
    pub patch: PatchStrategy,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic: bool,
    /// `x-kubernetes-validations`.
    pub rules: rules::Rules,
}

/// Bounds of a value.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// Smallest number.
    pub minimum: Option<f64>,
    /// Largest number.
    pub maximum: Option<f64>,
    /// The smallest number itself is out.
    pub exclusive_minimum: bool,
    /// The largest number itself is out.
    pub exclusive_maximum: bool,
    /// What a number must be a multiple of.
    pub multiple_of: Option<f64>,
    /// Fewest characters.
    pub min_length: Option<usize>,
    /// Most characters.
    pub max_length: Option<usize>,
    /// Fewest items.
    pub min_items: Option<usize>,
    /// Most items.
    pub max_items: Option<usize>,
    /// Fewest members.
    pub min_properties: Option<usize>,
    /// Most members.
    pub max_properties: Option<usize>,
    /// Regular expression that a text must match somewhere.
    pub pattern: Option<regex::Regex>,
}

/// Schemas that a value is checked against besides its own.
#[derive(Debug, Clone, Default)]
pub struct Junctors {
    /// Every one must fit.
    pub all_of: Vec<Schema>,
    /// At least one must fit.
    pub any_of: Vec<Schema>,
    /// Exactly one must fit.
    pub one_of: Vec<Schema>,
    /// Must not fit.
    pub not: Option<Schema>,
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Identity {
    /// Items may repeat.
    #[default]
    Atomic,
    /// No item may be there twice.
    Set,
    /// No two items may agree in these members.
    Map(Vec<Arc<str>>),
}

/// `x-kubernetes-patch-strategy`, with the merge key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// The new list takes the place of the old one.
    #[default]
    Replace,
    /// Plain values are added unless they are there.
    Set,
    /// Items that agree in this member are merged.
    Key(Arc<str>),
}

impl Identity {
    /// Reads the extensions of a JSON schema.
    pub fn of(document: &Value) -> Self {
        let kind = document.get("x-kubernetes-list-type");
        match kind.and_then(Value::as_str) {
            Some("set") => Self::Set,
            Some("map") => Self::Map(parse::names(document, "x-kubernetes-list-map-keys")),
            _ => Self::Atomic,
        }
    }
}

impl PatchStrategy {
    /// Reads the extensions of a JSON schema.
    pub fn of(document: &Value) -> Self {
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        match (
            text("x-kubernetes-patch-strategy"),
            text("x-kubernetes-patch-merge-key"),
        ) {
            (Some(strategy), Some(key)) if strategy.starts_with("merge") => Self::Key(key.into()),
            (Some(strategy), None) if strategy.starts_with("merge") => Self::Set,
            _ => Self::Replace,
        }
    }
}

impl PartialEq for Schema {
    /// Schemas are shared; two are the same only where they are one.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Schema {
    /// Drops nulls that nothing allows, then fills in what is absent, from the outside in.
    pub fn apply_defaults(&self, value: &mut Value) {
        fill::drop_nulls(self, value);
        fill::defaults(self, value);
    }

    /// Drops nulls that nothing allows and no default takes the place of.
    pub(crate) fn drop_nulls(&self, value: &mut Value) {
        fill::drop_nulls(self, value);
    }

    /// Reads the nulls and the quantities of a document of a built-in kind as Go's decoder does.
    pub(crate) fn decode(&self, document: &mut Value) {
        fill::decode(self, document);
    }

    /// Removes members that the schema does not know; their paths, in order.
    pub fn prune(&self, document: &mut Value) -> Vec<String> {
        prune::root(self, document)
    }

    /// Removes members that the schema of a value inside of an object does not know.
    pub(crate) fn prune_value(&self, value: &mut Value) {
        prune::inside(self, value);
    }

    /// Every value that does not fit.
    pub fn validate(&self, document: &Value) -> Vec<FieldCause> {
        check::causes(self, document, None)
    }

    /// The same, but what was so before and did not change.
    pub(crate) fn validate_change(&self, document: &Value, old: &Value) -> Vec<FieldCause> {
        check::causes(self, document, Some(old))
    }

    /// Everything that is wrong with an object of a custom kind. What an earlier version of it
    /// already held, and what did not change since, is not held against it.
    pub fn validate_object(&self, document: &Value, old: Option<&Value>) -> Vec<FieldCause> {
        self.hold(document, old, true)
    }

    /// The same, of a value inside of an object.
    pub(crate) fn validate_value(&self, value: &Value) -> Vec<FieldCause> {
        self.hold(value, None, false)
    }

    fn hold(&self, document: &Value, old: Option<&Value>, resource: bool) -> Vec<FieldCause> {
        let mut causes = check::causes(self, document, None);
        if !causes.is_empty() && old.is_some() {
            causes = check::causes(self, document, old);
        }
        causes.extend(embedded::causes(self, document, old));
        let repeated = lists::duplicates(self, document);
        let clean = |old: &Value| lists::duplicates(self, old).is_empty();
        if !repeated.is_empty() && old.is_none_or(clean) {
            causes.extend(repeated);
        }
        if self.rules.any && causes.iter().any(is_blocking) {
            causes.push(FieldCause::invalid("<nil>", &Value::Null, UNCHECKED));
        } else {
            causes.extend(rules::causes(self, document, old, resource));
        }
        causes
    }

    /// The type, in the place of a value that would be too long to show.
    fn shown_type(&self) -> Value {
        Value::from(&*self.type_name)
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Self>> {
        self.properties.get(name).or(self.additional.as_ref())
    }
}
