//! Why a command was refused, by what was wrong with it. Only `api` knows which HTTP answer that is.

use crate::kind::{GroupResource, GroupVersionKind};
use crate::object::{Name, ObjectKey};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why a command was refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The request cannot be read, or its parts contradict each other.
    #[error("{0}")]
    BadRequest(String),
    /// The request is understood, but not allowed.
    #[error("{resource} \"{name}\" is forbidden: {reason}")]
    Forbidden {
        /// The resource that was asked for.
        resource: GroupResource,
        /// Name of the object.
        name: Name,
        /// Why it is not allowed.
        reason: String,
        /// Machine-readable details.
        causes: Vec<FieldCause>,
    },
    /// There is no such object, or its kind is unknown in the version that was asked for: then a creation is
    /// answered with this too.
    #[error("{resource} \"{name}\" not found")]
    NotFound {
        /// The resource that was asked for.
        resource: GroupResource,
        /// Name of the object.
        name: Name,
    },
    /// The name is already taken.
    #[error("{}{resource} \"{name}\" already exists{}",
        if *.terminating { "object is being deleted: " } else { "" },
        if *.generated { ", the server was not able to generate a unique name for the object" } else { "" })]
    AlreadyExists {
        /// The resource that was asked for.
        resource: GroupResource,
        /// Name of the object.
        name: Name,
        /// Whether the object with this name is being deleted.
        terminating: bool,
        /// Whether the name was made from `generateName`.
        generated: bool,
    },
    /// The stored object is not in the state that the client expected.
    #[error("Operation cannot be fulfilled on {resource} \"{name}\": {reason}")]
    Conflict {
        /// The resource that was asked for; upstream names the kind here in one case.
        resource: GroupResource,
        /// Name of the object.
        name: Name,
        /// What did not match.
        reason: String,
    },
    /// Other managers own fields that an apply would change.
    #[error("{message}")]
    Contested {
        /// All conflicts, by owner.
        message: String,
        /// One cause for each conflict.
        causes: Vec<FieldCause>,
    },
    /// The request, or the object that would be stored, is too large.
    #[error("{0}")]
    TooLarge(String),
    /// A disruption budget does not allow an eviction now.
    #[error("Cannot evict pod as it would violate the pod's disruption budget.")]
    Disruption {
        /// The reason, from the status of the budget.
        message: String,
        /// Seconds after which a retry may succeed; zero if that is not known.
        retry_after_seconds: u32,
    },
    /// The object can be read, but is not valid.
    #[error("{}", invalid_message(.group, .kind, .name, .causes))]
    Invalid {
        /// Group of the kind.
        group: Name,
        /// The kind, not the resource.
        kind: Name,
        /// Name of the object.
        name: Name,
        /// Every field that is wrong.
        causes: Vec<FieldCause>,
    },
    /// A patch could not be carried out; the answer does not say where.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable,
    /// An internal error, or what upstream answers as one.
    #[error("{0}")]
    Internal(String),
    /// The ground that a command was based on no longer holds: that of a plan of the collector, which is
    /// then made again, or the version that admission saw.
    #[error("the plan for {key} is out of date: {reason}")]
    Stale {
        /// The key of the object.
        key: ObjectKey,
        /// What changed.
        reason: String,
    },
    /// Any of the other refusals except [`Self::Stale`], with warnings that were given before it.
    #[error("{refusal}")]
    Warned {
        /// Why the request was refused.
        refusal: Box<Self>,
        /// Sent with the answer, in `Warning` headers.
        warnings: Vec<String>,
    },
}

impl Rejection {
    /// The refusal without its warnings.
    pub fn plain(&self) -> &Self {
        if let Self::Warned { refusal, .. } = self {
            refusal
        } else {
            self
        }
    }

    /// The refusal with these warnings in front of its own; a stale command gets none.
    pub(crate) fn warned(self, warnings: Vec<String>) -> Self {
        if let Self::Warned {
            refusal,
            warnings: later,
        } = self
        {
            let warnings = joined(warnings, later);
            return Self::Warned { refusal, warnings };
        }
        if warnings.is_empty() || matches!(self, Self::Stale { .. }) {
            return self;
        }
        Self::Warned {
            refusal: Box::new(self),
            warnings,
        }
    }

    /// There is no object with this key.
    pub fn not_found(key: &ObjectKey) -> Self {
        Self::NotFound {
            resource: key.resource.clone(),
            name: Arc::clone(&key.name),
        }
    }

    /// The object with this key is not in the state that the client expected.
    pub(crate) fn conflict(key: &ObjectKey, reason: impl Into<String>) -> Self {
        Self::Conflict {
            resource: key.resource.clone(),
            name: Arc::clone(&key.name),
            reason: reason.into(),
        }
    }

    /// What a command about this object was based on no longer holds.
    pub(crate) fn stale(key: &ObjectKey, reason: impl Into<String>) -> Self {
        Self::Stale {
            key: key.clone(),
            reason: reason.into(),
        }
    }

    /// Refuses a body without a name.
    pub(crate) fn unnamed(wanted: &str) -> Self {
        Self::BadRequest(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        ))
    }

    /// Refuses a body that cannot be read as an object of its kind. Source: upstream's
    /// `transformDecodeError`.
    pub fn unreadable(kind: &str, version: &str, why: &str) -> Self {
        Self::BadRequest(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    }

    /// Refuses a patch that cannot be read, or whose outcome cannot.
    pub fn invalid_patch(value: &Value, why: &str) -> Self {
        Self::wrong_patch(FieldCause::invalid("patch", value, why))
    }

    /// Refuses an applied configuration whose outcome cannot be read. No value is shown: what was merged may be
    /// others' secrets.
    pub(crate) fn unreadable_patch(why: &str) -> Self {
        Self::wrong_patch(FieldCause::unreadable("patch", why))
    }

    fn wrong_patch(cause: FieldCause) -> Self {
        Self::Invalid {
            group: "".into(),
            kind: "".into(),
            name: "".into(),
            causes: vec![cause],
        }
    }

    /// Refuses an object that states another kind than the one it is sent as. For a custom kind this is an
    /// invalid object, under the kind that it states.
    pub fn other_kind(
        object: &Map<String, Value>,
        sent_as: &GroupVersionKind,
        is_custom: bool,
    ) -> Self {
        let stated_kind = object.get("kind").and_then(Value::as_str);
        let (stated_kind, kind) = (stated_kind.unwrap_or_default(), &sent_as.kind);
        if !is_custom {
            let version = &sent_as.version;
            let why =
                format!("{stated_kind} in version \"{version}\" cannot be handled as a {kind}");
            return Self::BadRequest(why);
        }
        let name = object
            .get("metadata")
            .and_then(|metadata| metadata.get("name"));
        let why = format!("must be {kind}");
        Self::Invalid {
            group: Arc::clone(&sent_as.group),
            kind: stated_kind.into(),
            name: name.and_then(Value::as_str).unwrap_or_default().into(),
            causes: vec![FieldCause::invalid("kind", &stated_kind.into(), &why)],
        }
    }
}

/// Joins two lists of warnings, in order and without duplicates.
pub(crate) fn joined(mut first: Vec<String>, later: Vec<String>) -> Vec<String> {
    if later.is_empty() {
        return first;
    }
    let mut known: BTreeSet<String> = first.iter().cloned().collect();
    let later = later.into_iter();
    first.extend(later.filter(|warning| known.insert(warning.clone())));
    first
}

/// Limits on the causes that are reported for one document, in number and in bytes (approximately): without
/// them, the causes could be a thousand times as large as the document.
pub(crate) const CAUSES_MAX: usize = 1_000;
const CAUSES_BYTES_MAX: usize = 1 << 20;

/// What is wrong with a document, as far as it is reported.
#[derive(Debug, Default)]
pub(crate) struct CauseList {
    causes: Vec<FieldCause>,
    bytes: usize,
    is_silent: bool,
    is_wrong: bool,
}

impl CauseList {
    /// Records only whether anything is wrong.
    pub(crate) fn silent() -> Self {
        Self {
            is_silent: true,
            ..Self::default()
        }
    }

    pub(crate) const fn is_silent(&self) -> bool {
        self.is_silent
    }

    pub(crate) const fn is_empty(&self) -> bool {
        !self.is_wrong
    }

    /// How many causes are reported: as many as before if the list is full.
    pub(crate) const fn len(&self) -> usize {
        self.causes.len()
    }

    /// Whether no more causes are reported, so that none need be looked for.
    pub(crate) const fn is_full(&self) -> bool {
        self.causes.len() >= CAUSES_MAX || self.bytes >= CAUSES_BYTES_MAX
    }

    /// How many more causes are reported, and how many bytes of them.
    pub(crate) const fn room(&self) -> (usize, usize) {
        (
            CAUSES_MAX.saturating_sub(self.causes.len()),
            CAUSES_BYTES_MAX.saturating_sub(self.bytes),
        )
    }

    /// Adds a cause. It is only made if it is reported: it may be as large as the document.
    pub(crate) fn push_with(&mut self, cause: impl FnOnce() -> FieldCause) {
        self.is_wrong = true;
        if !self.is_silent && !self.is_full() {
            let cause = cause();
            self.bytes += cause.field.len() + cause.message.len();
            self.causes.push(cause);
        }
    }

    pub(crate) fn push(&mut self, cause: FieldCause) {
        self.push_with(|| cause);
    }

    /// Sorts the causes by their reported text.
    pub(crate) fn sort(&mut self) {
        let reported_text = |cause: &FieldCause| format!("{}: {}", cause.field, cause.message);
        self.causes.sort_by_cached_key(reported_text);
    }

    /// Removes the causes that `known` has, too, unless `known` is incomplete.
    pub(crate) fn drop_known(&mut self, known: &Self) {
        if !known.is_full() {
            self.causes.retain(|one| !known.causes.contains(one));
            self.is_wrong = !self.causes.is_empty();
        }
    }

    pub(crate) fn into_causes(self) -> Vec<FieldCause> {
        self.causes
    }
}

impl Extend<FieldCause> for CauseList {
    fn extend<T: IntoIterator<Item = FieldCause>>(&mut self, causes: T) {
        let mut causes = causes.into_iter();
        while !self.is_full()
            && let Some(cause) = causes.next()
        {
            self.push(cause);
        }
    }
}

/// One entry of `details.causes` in a `Status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldCause {
    /// `FieldValueInvalid` and the like.
    pub reason: &'static str,
    /// The message without the field, as `Invalid value: "x": ...`.
    pub message: String,
    /// Path of the field, as `metadata.name`.
    pub field: String,
}

impl FieldCause {
    /// `Invalid value`.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::invalid_as(field, &value.to_string(), why)
    }

    /// `Invalid value`, for a value that is shown like this.
    pub(crate) fn invalid_as(field: impl Into<String>, shown: &str, why: &str) -> Self {
        let colon = if why.is_empty() { "" } else { ": " };
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {shown}{colon}{why}"),
            field: field.into(),
        }
    }

    /// A value of the wrong type; the message is that of an invalid value.
    pub(crate) fn type_invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueTypeInvalid",
            ..Self::invalid(field, value, why)
        }
    }

    /// A value that a decoder cannot read, with the decoder's message.
    pub(crate) fn unreadable(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: why.into(),
            field: field.into(),
        }
    }

    /// `Duplicate value`.
    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::duplicate_as(field, &value.to_string(), "")
    }

    /// `Duplicate value`, for a value that is shown like this.
    pub(crate) fn duplicate_as(field: impl Into<String>, shown: &str, why: &str) -> Self {
        let colon = if why.is_empty() { "" } else { ": " };
        Self {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {shown}{colon}{why}"),
            field: field.into(),
        }
    }

    /// `Too many`.
    pub(crate) fn too_many(field: impl Into<String>, actual: usize, max: usize) -> Self {
        Self {
            reason: "FieldValueTooMany",
            message: format!("Too many: {actual}: must have at most {max} items"),
            field: field.into(),
        }
    }

    /// `Required value`.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".into()
        } else {
            format!("Required value: {why}")
        };
        Self {
            reason: "FieldValueRequired",
            message,
            field: field.into(),
        }
    }

    /// `Forbidden`.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        let message = format!("Forbidden: {why}");
        Self {
            reason: "FieldValueForbidden",
            message,
            field: field.into(),
        }
    }

    /// `Unsupported value`, for a string.
    pub fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        Self::unsupported(field, &Value::from(value), supported)
    }

    /// `Unsupported value`.
    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        Self::unsupported_as(field, &value.to_string(), supported)
    }

    pub(crate) fn unsupported_as(
        field: impl Into<String>,
        shown: &str,
        supported: &[&str],
    ) -> Self {
        let supported: Vec<String> = supported.iter().map(|one| format!("\"{one}\"")).collect();
        let supported = supported.join(", ");
        Self {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {shown}: supported values: {supported}"),
            field: field.into(),
        }
    }

    /// `Unsupported value`, for values of `dryRun`.
    pub fn unsupported_dry_run(values: &[&str]) -> Self {
        Self::unsupported_as("dryRun", &go_strings(values), &["All"])
    }

    /// `Not found`.
    pub(crate) fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self {
            reason: "FieldValueNotFound",
            message: format!("Not found: {value}"),
            field: field.into(),
        }
    }

    /// `Too long`.
    pub(crate) fn too_long(field: impl Into<String>, max: usize) -> Self {
        let message = format!("Too long: may not be more than {max} bytes");
        Self {
            reason: "FieldValueTooLong",
            message,
            field: field.into(),
        }
    }
}

/// A list of strings as Go's `%#v` prints it.
pub(crate) fn go_strings(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|one| format!("{one:?}")).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}

/// Upstream's aggregate message: a single error as it is, several in brackets, without duplicates. Source:
/// `NewInvalid`, and `GroupKind.String`.
fn invalid_message(group: &str, kind: &str, name: &str, causes: &[FieldCause]) -> String {
    let lines = causes
        .iter()
        .map(|cause| format!("{}: {}", cause.field, cause.message));
    let mut lines: Vec<String> = lines.collect();
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    let joined = match lines.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group} \"{name}\" is invalid: {joined}")
}
