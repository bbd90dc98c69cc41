//! Why a command was refused, by what was wrong with it; `api` alone knows which answer that is.

use crate::kind::{GroupResource, GroupVersionKind};
use crate::object::{Name, ObjectKey};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A refusal. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// What was sent cannot be read, or does not go together.
    #[error("{0}")]
    BadRequest(String),
    /// What was asked for is understood, and may not be.
    #[error("{resource} \"{name}\" is forbidden: {reason}")]
    Forbidden {
        /// What was asked for.
        resource: GroupResource,
        /// Its name.
        name: Name,
        /// Why not.
        reason: String,
        /// Machine-readable detail.
        causes: Vec<FieldCause>,
    },
    /// There is no such object, or nobody knows its kind.
    #[error("{resource} \"{name}\" not found")]
    NotFound {
        /// What was asked for.
        resource: GroupResource,
        /// Its name.
        name: Name,
    },
    /// The name is taken.
    #[error("{}{resource} \"{name}\" already exists{}",
        if *.terminating { "object is being deleted: " } else { "" },
        if *.generated { ", the server was not able to generate a unique name for the object" } else { "" })]
    AlreadyExists {
        /// What was asked for.
        resource: GroupResource,
        /// Its name.
        name: Name,
        /// The holder of the name is being deleted.
        terminating: bool,
        /// The name came from `generateName`.
        generated: bool,
    },
    /// The object, or what is known of it, is not as the client thinks.
    #[error("Operation cannot be fulfilled on {resource} \"{name}\": {reason}")]
    Conflict {
        /// What was asked for; upstream names the kind here in one case.
        resource: GroupResource,
        /// Its name.
        name: Name,
        /// What did not agree.
        reason: String,
    },
    /// Others own fields that a configuration wants to be different.
    #[error("{message}")]
    Contested {
        /// All of them, by who owns them.
        message: String,
        /// Each of them.
        causes: Vec<FieldCause>,
    },
    /// What was sent, or what would be stored, is too long.
    #[error("{0}")]
    TooLarge(String),
    /// A disruption budget does not allow an eviction now.
    #[error("Cannot evict pod as it would violate the pod's disruption budget.")]
    Disruption {
        /// What the budget says.
        message: String,
        /// When it may be worth to ask again; zero where nobody knows.
        retry_after_seconds: u32,
    },
    /// The object can be read, and is not valid.
    #[error("{}", invalid_message(.group, .kind, .name, .causes))]
    Invalid {
        /// Group of the kind.
        group: Name,
        /// The kind, not the resource.
        kind: Name,
        /// The object's name.
        name: Name,
        /// Every field that is wrong.
        causes: Vec<FieldCause>,
    },
    /// A patch that could not be carried out; nobody is told where.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable,
    /// The server's own fault, and what upstream takes for its own.
    #[error("{0}")]
    Internal(String),
    /// What the command was decided on is no longer so: the collector's plan, which is then made again,
    /// or the version that admission saw.
    #[error("the plan for {key} is out of date: {reason}")]
    Stale {
        /// The object.
        key: ObjectKey,
        /// What changed.
        reason: String,
    },
    /// Any of these but [`Self::Stale`], of a request that was warned of something before it was refused.
    #[error("{refusal}")]
    Warned {
        /// Why it was refused.
        refusal: Box<Self>,
        /// Said beside the answer (`Warning` headers).
        warnings: Vec<String>,
    },
}

impl Rejection {
    /// Without what is said beside it.
    pub fn plain(&self) -> &Self {
        if let Self::Warned { refusal, .. } = self {
            refusal
        } else {
            self
        }
    }

    /// With what was to be said before it was found.
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

    /// Nothing is left in a body that says which object it is.
    pub(crate) fn unnamed(wanted: &str) -> Self {
        Self::BadRequest(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        ))
    }

    /// A body that cannot be read as an object of its kind. Source: upstream's `transformDecodeError`.
    pub fn unreadable(kind: &str, version: &str, why: &str) -> Self {
        Self::BadRequest(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    }

    /// What a patch makes of an object, or the patch itself, cannot be read.
    pub fn invalid_patch(value: &Value, why: &str) -> Self {
        let cause = FieldCause::invalid("patch", value, why);
        Self::Invalid {
            group: "".into(),
            kind: "".into(),
            name: "".into(),
            causes: vec![cause],
        }
    }

    /// An object that says another kind than the one that it is sent as. Of a custom kind that is a fault of
    /// the object, which is named by the kind that it says.
    pub fn other_kind(
        object: &Map<String, Value>,
        sent_as: &GroupVersionKind,
        is_custom: bool,
    ) -> Self {
        let said = object.get("kind").and_then(Value::as_str);
        let (said, kind) = (said.unwrap_or_default(), &sent_as.kind);
        if !is_custom {
            let version = &sent_as.version;
            let why = format!("{said} in version \"{version}\" cannot be handled as a {kind}");
            return Self::BadRequest(why);
        }
        let name = object
            .get("metadata")
            .and_then(|metadata| metadata.get("name"));
        let why = format!("must be {kind}");
        Self::Invalid {
            group: Arc::clone(&sent_as.group),
            kind: said.into(),
            name: name.and_then(Value::as_str).unwrap_or_default().into(),
            causes: vec![FieldCause::invalid("kind", &said.into(), &why)],
        }
    }
}

/// Warnings and those that come after them, none twice.
pub(crate) fn joined(mut first: Vec<String>, later: Vec<String>) -> Vec<String> {
    let mut known: BTreeSet<String> = first.iter().cloned().collect();
    let later = later.into_iter();
    first.extend(later.filter(|warning| known.insert(warning.clone())));
    first
}

/// As many causes are told of one document, and as many bytes of them about: they may take a thousand times more than it
/// does itself.
pub(crate) const CAUSES_MAX: usize = 1_000;
const CAUSES_BYTES_MAX: usize = 1 << 20;

/// What is wrong with a document, as far as it is told.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    causes: Vec<FieldCause>,
    bytes: usize,
    is_silent: bool,
    is_wrong: bool,
}

impl Findings {
    /// Only whether anything is wrong.
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

    /// Whether no more is told, and need not be looked for.
    pub(crate) const fn is_full(&self) -> bool {
        self.causes.len() >= CAUSES_MAX || self.bytes >= CAUSES_BYTES_MAX
    }

    /// As many more, and of so many bytes.
    pub(crate) const fn room(&self) -> (usize, usize) {
        (
            CAUSES_MAX.saturating_sub(self.causes.len()),
            CAUSES_BYTES_MAX.saturating_sub(self.bytes),
        )
    }

    /// The cause is made only if it is told: it may be as long as the document.
    pub(crate) fn find(&mut self, cause: impl FnOnce() -> FieldCause) {
        self.is_wrong = true;
        if !self.is_silent && !self.is_full() {
            let cause = cause();
            self.bytes += cause.field.len() + cause.message.len();
            self.causes.push(cause);
        }
    }

    pub(crate) fn push(&mut self, cause: FieldCause) {
        self.find(|| cause);
    }

    /// In the order of what is told.
    pub(crate) fn sort(&mut self) {
        let told = |cause: &FieldCause| format!("{}: {}", cause.field, cause.message);
        self.causes.sort_by_cached_key(told);
    }

    /// Leaves out what these are, too, unless it is not known what they all are.
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

impl Extend<FieldCause> for Findings {
    fn extend<T: IntoIterator<Item = FieldCause>>(&mut self, causes: T) {
        causes.into_iter().for_each(|cause| self.push(cause));
    }
}

/// One entry of `details.causes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldCause {
    /// `FieldValueInvalid`, ...
    pub reason: &'static str,
    /// The message behind the field, `Invalid value: "x": ...`.
    pub message: String,
    /// `metadata.name`.
    pub field: String,
}

impl FieldCause {
    /// `Invalid value`.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self {
            reason: "FieldValueInvalid",
            message,
            field: field.into(),
        }
    }

    /// `Invalid value`, of a list of texts.
    pub(crate) fn invalid_list(field: impl Into<String>, values: &[&str], why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {}: {why}", go_strings(values)),
            field: field.into(),
        }
    }

    /// A value of the wrong type; reads like an invalid one.
    pub(crate) fn type_invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueTypeInvalid",
            ..Self::invalid(field, value, why)
        }
    }

    /// A value that a decoder cannot read, as it says so.
    pub(crate) fn unreadable(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: why.into(),
            field: field.into(),
        }
    }

    /// `Duplicate value`.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {value}"),
            field: field.into(),
        }
    }

    /// `Too many`.
    pub fn too_many(field: impl Into<String>, actual: usize, max: usize) -> Self {
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

    /// `Unsupported value`, of a text.
    pub fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        Self::unsupported(field, &Value::from(value), supported)
    }

    /// `Unsupported value`.
    pub fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        Self::unsupported_as(field, &value.to_string(), supported)
    }

    fn unsupported_as(field: impl Into<String>, shown: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|one| format!("\"{one}\"")).collect();
        let supported = supported.join(", ");
        Self {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {shown}: supported values: {supported}"),
            field: field.into(),
        }
    }

    /// `Unsupported value`, of a list as Go prints one.
    pub fn unsupported_list(field: impl Into<String>, values: &[&str], supported: &[&str]) -> Self {
        Self::unsupported_as(field, &go_strings(values), supported)
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
    pub fn too_long(field: impl Into<String>, max: usize) -> Self {
        let message = format!("Too long: may not be more than {max} bytes");
        Self {
            reason: "FieldValueTooLong",
            message,
            field: field.into(),
        }
    }
}

/// A list of texts as Go's `%#v` prints it.
pub(crate) fn go_strings(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|one| format!("{one:?}")).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}

/// Upstream's aggregate text: one error plain, several in brackets, repeats said once.
/// Source: `NewInvalid`, and `GroupKind.String`.
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
