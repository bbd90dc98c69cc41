//! `DeleteOptions`: from the body or, without one, from the query, never from both. A member of the wrong type
//! is refused at once; values that are not allowed are reported together.

use crate::body::{Reading, Received, decode};
use crate::params::{Params, dry_run_cause};
use crate::request::ResourceRequest;
use crate::status::Failure;
use hindsight_core::command::{Preconditions, Propagation};
use hindsight_core::object::Uid;
use hindsight_core::rejection::FieldCause;
use serde_json::{Map, Value, json};

/// The checked options of a deletion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) dry_run: bool,
    pub(super) orphan_dependents: Option<bool>,
    pub(super) propagation: Option<Propagation>,
    pub(super) grace_period_seconds: Option<i64>,
    pub(super) preconditions: Preconditions,
}

/// The options as they were sent.
#[derive(Debug, Default)]
struct Sent {
    dry_run: Vec<String>,
    orphan_dependents: Option<bool>,
    propagation: Option<String>,
    grace_period_seconds: Option<i64>,
    preconditions: Preconditions,
}

impl Options {
    pub(crate) async fn read(request: &ResourceRequest, body: &Received) -> Result<Self, Failure> {
        if body.bytes.is_empty() {
            Self::from_query(&request.params)
        } else {
            let syntax = request.media.syntax()?;
            let reading = Reading::new(syntax, "v1", "DeleteOptions");
            Self::from_body(&decode(body, reading).await?)
        }
    }

    /// Whether objects are deleted only if they are this one, or as this one was.
    pub(in crate::verbs) const fn has_preconditions(&self) -> bool {
        let Preconditions {
            uid,
            resource_version,
        } = &self.preconditions;
        uid.is_some() || resource_version.is_some()
    }

    fn from_query(params: &Params) -> Result<Self, Failure> {
        let text = |name| Some(params.text(name)).filter(|text| !text.is_empty());
        let sent = Sent {
            dry_run: params.all("dryRun").map(str::to_owned).collect(),
            orphan_dependents: params.flag("orphanDependents"),
            propagation: params.get("propagationPolicy").map(str::to_owned),
            grace_period_seconds: params.integer("gracePeriodSeconds")?,
            preconditions: Preconditions {
                uid: text("uid").map(Uid::from),
                resource_version: text("resourceVersion").map(Into::into),
            },
        };
        sent.checked()
    }

    pub(in crate::verbs) fn from_body(body: &Value) -> Result<Self, Failure> {
        if let Value::Object(members) = body {
            Members(members).check_type()?;
        }
        Self::from_member(body)
    }

    /// The options in another document, which has the kind and the version: what they state of themselves is
    /// not looked at.
    pub(in crate::verbs) fn from_member(body: &Value) -> Result<Self, Failure> {
        let empty = Map::new();
        let members = match body {
            Value::Null => &empty,
            Value::Object(members) => members,
            _ => return Err(Failure::bad_request("DeleteOptions must be an object")),
        };
        let body = Members(members);
        body.read(
            "ignoreStoreReadErrorWithClusterBreakingPotential",
            Value::as_bool,
        )?;
        let sent = Sent {
            dry_run: body.texts("dryRun")?,
            orphan_dependents: body.read("orphanDependents", Value::as_bool)?,
            propagation: body.text("propagationPolicy")?,
            grace_period_seconds: body.read("gracePeriodSeconds", Value::as_i64)?,
            preconditions: body.preconditions()?,
        };
        sent.checked()
    }
}

impl Sent {
    fn checked(self) -> Result<Options, Failure> {
        let causes = self.causes();
        if !causes.is_empty() {
            return Err(Failure::invalid_options("DeleteOptions", causes));
        }
        Ok(Options {
            dry_run: !self.dry_run.is_empty(),
            orphan_dependents: self.orphan_dependents,
            propagation: self.propagation.as_deref().and_then(Propagation::named),
            grace_period_seconds: self.grace_period_seconds,
            preconditions: self.preconditions,
        })
    }

    /// Source: apimachinery's `ValidateDeleteOptions`.
    fn causes(&self) -> Vec<FieldCause> {
        let (field, mut causes) = ("propagationPolicy", Vec::new());
        if let Some(sent) = &self.propagation {
            if self.orphan_dependents.is_some() {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                causes.push(FieldCause::invalid(field, &json!(sent), why));
            }
            if Propagation::named(sent).is_none() {
                // Upstream's list has a fourth entry, for none at all.
                let [first, second, third] = Propagation::ALL.map(Propagation::name);
                let told = [first, second, third, "nil"];
                causes.push(FieldCause::not_supported(field, sent, &told));
            }
        }
        let texts: Vec<&str> = self.dry_run.iter().map(String::as_str).collect();
        causes.extend(dry_run_cause(&texts));
        causes
    }
}

/// The members of a body, where `null` counts as absent.
struct Members<'a>(&'a Map<String, Value>);

impl Members<'_> {
    /// Refuses a document that says that it is of another kind.
    fn check_type(&self) -> Result<(), Failure> {
        let kind = self.text("kind")?.unwrap_or_default();
        if !matches!(kind.as_str(), "" | "DeleteOptions") {
            return Err(Failure::bad_request("the body is not a DeleteOptions"));
        }
        let version = self.text("apiVersion")?.unwrap_or_default();
        if version.matches('/').count() > 1 {
            return Err(wrong("apiVersion"));
        }
        Ok(())
    }

    fn find(&self, field: &str) -> Option<&Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    fn read<T>(&self, field: &str, read: fn(&Value) -> Option<T>) -> Result<Option<T>, Failure> {
        let value = self.find(field);
        let read = value.map(|value| read(value).ok_or_else(|| wrong(field)));
        read.transpose()
    }

    fn text(&self, field: &str) -> Result<Option<String>, Failure> {
        self.read(field, |value| value.as_str().map(str::to_owned))
    }

    fn texts(&self, field: &str) -> Result<Vec<String>, Failure> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            // As Go reads a `null` into a list of texts.
            Value::Null => Some(String::new()),
            _ => None,
        };
        let list = self.read(field, |value| value.as_array().cloned())?;
        let texts = list.iter().flatten().map(text).collect::<Option<Vec<_>>>();
        texts.ok_or_else(|| wrong(field))
    }

    fn preconditions(&self) -> Result<Preconditions, Failure> {
        let members = self.read("preconditions", |value| value.as_object().cloned())?;
        let members = members.unwrap_or_default();
        let members = Members(&members);
        Ok(Preconditions {
            uid: members.text("uid")?.as_deref().map(Uid::from),
            resource_version: members.text("resourceVersion")?.map(Into::into),
        })
    }
}

fn wrong(field: &str) -> Failure {
    Failure::bad_request(format!("{field} has the wrong type"))
}
