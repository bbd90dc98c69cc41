//! Structural schemas: what a document of a kind may hold, with defaults, pruning and validation. Source:
//! `apiextensions-apiserver/pkg/apiserver/schema` and `kube-openapi/pkg/validation`.

mod budget;
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
mod size;
#[cfg(test)]
mod tests;

use crate::rejection::FieldCause;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use budget::{Budget, WORK_MAX, Work};
pub use choices::Choices;
pub use format::Format;
pub(crate) use format::duration as parse_duration;
pub(crate) use metadata::{any_object, metadata_causes, object_meta};
pub use parse::parse;
pub(crate) use parse::parse_with;
pub(crate) use path::Path;
pub use pattern::Pattern;
pub(crate) use pattern::{
    PATTERNS_MAX, Patterns, WEIGHT_MAX, bytes_max as pattern_bytes_max, compile as compile_pattern,
    compile_within as compile_pattern_within, weight_of, work_to_compile,
};
pub(crate) use prune::Removed;

const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; \
                         correct the existing errors to complete validation";

/// Whether rules are skipped because of this cause: they are not evaluated on a value that does not have
/// the form they expect. Source: upstream's `hasBlockingErr`.
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

/// What is held against a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// A value inside of an object.
    Value,
    /// A value with `apiVersion`, `kind` and `metadata`.
    Object,
    /// Such a value of which only the status may change, as in a write through its subresource: rules, sets and maps
    /// are checked in all of it, and the rest in the status.
    Status,
}

/// A structural schema.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; empty if any type will do.
    pub type_name: Arc<str>,
    /// Members of an object.
    pub properties: BTreeMap<Arc<str>, Arc<Self>>,
    /// Schema of members that are not listed in `properties`.
    pub additional: Option<Arc<Self>>,
    /// `additionalProperties: false`.
    pub closed: bool,
    /// Schema of a list's items.
    pub items: Option<Arc<Self>>,
    /// Members that must be present.
    pub required: Vec<Arc<str>>,
    /// Whether `null` is a valid value.
    pub nullable: bool,
    /// Whether numbers and strings are both valid.
    pub int_or_string: bool,
    /// An integer as Go's decoder accepts it: 64 bits, with neither a decimal point nor an exponent.
    pub go_integer: bool,
    /// An integer of 64 bits that is serialized again before it is decoded, so that 1.0 is 1.
    pub rewritten: bool,
    /// Written only if it is not `false`, 0 or empty: a field of a Go structure with `omitempty` that is no
    /// pointer.
    pub omits_zero: bool,
    /// A quantity, as a string or a number; answers show it in its canonical form.
    pub quantity: bool,
    /// Whether unknown members are kept.
    pub preserve_unknown: bool,
    /// An object with `apiVersion`, `kind` and `metadata` of its own.
    pub embedded: bool,
    /// Whether this is such an object or has one inside.
    pub embeds: bool,
    /// The value of an absent member.
    pub default: Option<Value>,
    /// Allowed values; if empty, all are.
    pub enumeration: Choices,
    /// The format of a string.
    pub format: Option<Format>,
    /// Bounds on numbers, lengths and counts, and the pattern.
    pub bounds: Bounds,
    /// `allOf`, `anyOf`, `oneOf` and `not`.
    pub junctors: Option<Box<Junctors>>,
    /// What makes two items of a list the same item.
    pub identity: ItemIdentity,
    /// What a strategic merge patch does to a list.
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
    /// Whether the smallest number itself is excluded.
    pub exclusive_minimum: bool,
    /// Whether the largest number itself is excluded.
    pub exclusive_maximum: bool,
    /// A number must be a multiple of this.
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
    /// Regular expression that a string must match somewhere.
    pub pattern: Option<Arc<Pattern>>,
}

/// Further schemas that a value must satisfy.
#[derive(Debug, Clone, Default)]
pub struct Junctors {
    /// All of them must match.
    pub all_of: Vec<Schema>,
    /// At least one must match.
    pub any_of: Vec<Schema>,
    /// Exactly one must match.
    pub one_of: Vec<Schema>,
    /// This one must not match.
    pub not: Option<Schema>,
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ItemIdentity {
    /// It is not said: items may repeat, and are told apart by their places.
    #[default]
    Place,
    /// Items may repeat, and none is the same as one in another version of the list.
    Atomic,
    /// No item may occur twice.
    Set,
    /// No two items may have the same values in these members.
    Map(Vec<Arc<str>>),
}

/// `x-kubernetes-patch-strategy`, with the merge key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// A list is replaced, a map is merged.
    #[default]
    None,
    /// A map is replaced, too.
    Replace,
    /// Plain values are added unless they are present.
    Set,
    /// Items with the same value in this member are merged.
    Key(Arc<str>),
}

impl ItemIdentity {
    /// Reads the extensions of a JSON schema.
    pub fn of(document: &Value) -> Self {
        let kind = document.get("x-kubernetes-list-type");
        match kind.and_then(Value::as_str) {
            Some("set") => Self::Set,
            Some("map") => Self::Map(crate::document::names(
                document,
                "x-kubernetes-list-map-keys",
            )),
            Some("atomic") => Self::Atomic,
            _ => Self::Place,
        }
    }

    /// Whether the list is one value.
    pub(crate) const fn is_atomic(&self) -> bool {
        matches!(self, Self::Place | Self::Atomic)
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
            (Some("replace"), _) => Self::Replace,
            _ => Self::None,
        }
    }
}

impl PartialEq for Schema {
    /// Schemas are shared: two are equal only if they are the same allocation.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Schema {
    /// The same as [`tidy`](Self::tidy), then fills in defaults, from the outside in.
    pub(crate) fn apply_defaults(&self, value: &mut Value) {
        self.tidy(value);
        fill::defaults(self, value);
    }

    /// Drops nulls that are not allowed and have no default, and writes the metadata of embedded objects
    /// anew.
    pub(crate) fn tidy(&self, value: &mut Value) {
        fill::drop_nulls(self, value);
        embedded::rewrite(self, value);
    }

    /// Decodes a pruned document of a custom kind as it comes from a client.
    ///
    /// # Errors
    ///
    /// Why an embedded object cannot be read.
    pub(crate) fn decode_custom(&self, document: &mut Value) -> Result<(), String> {
        fill::drop_nulls(self, document);
        if let Some(wrong) = embedded::undecoded(self, document) {
            return Err(format!("{}: {}", wrong.field, wrong.message));
        }
        self.apply_defaults(document);
        Ok(())
    }

    /// Every value that does not satisfy the schema; and whether the document may have to be pruned or
    /// decoded, which would leave any other valid document as it is.
    pub(crate) fn validate_raw(&self, document: &Value) -> (Vec<FieldCause>, bool) {
        check::causes_of_raw(self, document)
    }

    /// Decodes the nulls and quantities in a document of a built-in kind as Go's decoder does.
    pub(crate) fn decode(&self, document: &mut Value) {
        fill::decode(self, document);
    }

    /// Removes members that the schema does not know, and returns their paths in order.
    pub fn prune(&self, document: &mut Value) -> Vec<String> {
        prune::root(self, document)
    }

    /// The same, for a value inside of an object.
    pub(crate) fn prune_value(&self, value: &mut Value) {
        prune::inside(self, value);
    }

    /// Every value that does not satisfy the schema.
    pub fn validate(&self, document: &Value) -> Vec<FieldCause> {
        check::causes(self, document, None, &mut Work::default())
    }

    /// The same, without faults that existed before and did not change.
    pub(crate) fn validate_change(&self, document: &Value, old: &Value) -> Vec<FieldCause> {
        check::causes(self, document, Some(old), &mut Work::default())
    }

    /// Everything that is wrong with an object of a custom kind. Faults that an earlier version already had
    /// are ignored where nothing changed.
    pub(crate) fn validate_object(
        &self,
        held: Held,
        document: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldCause> {
        self.hold(document, old, held, &mut Budget::default())
    }

    /// The same, if a turn of the writer is long enough for that.
    pub(crate) fn validate_in_turn(
        &self,
        held: Held,
        document: &Value,
        old: Option<&Value>,
    ) -> Option<Vec<FieldCause>> {
        let mut budget = Budget::of_a_turn();
        let causes = self.hold(document, old, held, &mut budget);
        (!budget.meter.is_empty()).then_some(causes)
    }

    /// The same, for a value inside of an object.
    pub(crate) fn validate_value(&self, value: &Value) -> Vec<FieldCause> {
        self.hold(value, None, Held::Value, &mut Budget::default())
    }

    /// The same, for a default; `resource` says whether it has `apiVersion`, `kind` and `metadata`, and
    /// `budget` what this may still take.
    pub(crate) fn validate_default(
        &self,
        value: &Value,
        resource: bool,
        budget: &mut Budget,
    ) -> Vec<FieldCause> {
        let held = if resource { Held::Object } else { Held::Value };
        self.hold(value, None, held, budget)
    }

    fn hold(
        &self,
        document: &Value,
        old: Option<&Value>,
        held: Held,
        budget: &mut Budget,
    ) -> Vec<FieldCause> {
        let work = &mut budget.meter.work;
        let mut causes = if held == Held::Status {
            self.wrong_status(document, old, work)
        } else {
            let mut causes = check::causes(self, document, old, work);
            causes.extend(embedded::causes(self, document));
            causes
        };
        let repeated = lists::duplicates(self, document);
        let clean = |old: &Value| lists::duplicates(self, old).is_empty();
        if !repeated.is_empty() && old.is_none_or(clean) {
            causes.extend(repeated);
        }
        if self.rules.any && causes.iter().any(is_blocking) {
            causes.push(FieldCause::invalid("<nil>", &Value::Null, UNCHECKED));
        } else {
            let place = (old, held != Held::Value);
            causes.extend(rules::causes(self, document, place, budget));
        }
        causes
    }

    /// What does not fit in the status alone. As upstream's, the messages name places in it.
    fn wrong_status(
        &self,
        document: &Value,
        old: Option<&Value>,
        work: &mut Work,
    ) -> Vec<FieldCause> {
        let found = self.properties.get("status").zip(document.get("status"));
        let Some((schema, status)) = found else {
            return Vec::new();
        };
        let old = old.and_then(|old| old.get("status"));
        let mut causes = check::causes(schema, status, old, work);
        for cause in &mut causes {
            cause.field = match &*cause.field {
                "" | "<nil>" => "status".into(),
                field => format!("status.{field}"),
            };
        }
        causes
    }

    /// The type, in place of a value that would be too long to show.
    fn shown_type(&self) -> Value {
        Value::from(&*self.type_name)
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Self>> {
        self.properties.get(name).or(self.additional.as_ref())
    }
}
