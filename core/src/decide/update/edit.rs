//! Every update, patch and apply, step by step: from the new document to the commit.

use super::{PendingWrite, Sent, approval, daemon_set, merge, pod, restore, service};
use crate::decide::delete::removal;
use crate::decide::managed_fields::{Ownership, WriteTarget, put};
use crate::decide::{
    Faults, Strictness, claim, decode, definition, namespace, prepare, volume, warned,
};
use crate::document::{equal_except, metadata_mut};
use crate::kind::{Generation, Shape, Subresource};
use crate::rejection::FieldCause;
use crate::{Decision, Outcome, Rejection, convert, form, managed, validate};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Metadata that stays as it is, whatever is sent.
const KEPT: [&str; 9] = [
    "uid",
    "name",
    "namespace",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "selfLink",
];

impl PendingWrite<'_> {
    /// Writes the document that the client wants, which has been pruned.
    pub(in crate::decide) fn write(
        &self,
        document: Value,
        sent: Sent,
        ownership: Ownership,
    ) -> Result<Decision, Rejection> {
        let mut edit = Edit::new(self, document)?;
        let decided = edit.decide(sent, ownership);
        warned(decided, edit.warnings)
    }
}

/// The stored and the new document, with their `managedFields` kept apart.
struct Edit<'a> {
    change: &'a PendingWrite<'a>,
    old: Value,
    old_managed_fields: Option<Value>,
    next: Value,
    sent_managed_fields: Option<Value>,
    warnings: Vec<String>,
    faults: Faults,
}

impl<'a> Edit<'a> {
    /// Puts what was sent into the parts of the stored document that this request may write.
    fn new(change: &'a PendingWrite<'a>, mut sent: Value) -> Result<Self, Rejection> {
        let mut old = change.stored();
        let old_managed_fields = managed::take(&mut old);
        if change.target.subresource != Some(Subresource::Scale) {
            let kinds = &change.target.context.state.kinds;
            convert::to_decide(kinds, change.target.kind, change.target.version, &mut sent);
        }
        let next = merge::into_stored(change, &old, sent)?;
        Ok(Self {
            change,
            old,
            old_managed_fields,
            next,
            sent_managed_fields: None,
            warnings: Vec::new(),
            faults: Faults::default(),
        })
    }

    fn decide(&mut self, sent: Sent, ownership: Ownership) -> Result<Decision, Rejection> {
        self.mend_metadata(sent)?;
        self.shape();
        self.complete()?;
        self.compare();
        self.refuse()?;
        prepare::canonicalize(self.change.target.kind, &mut self.next);
        self.count_generation();
        self.warn_of_kind();
        self.set_managed_fields(ownership);
        self.settle()
    }

    fn mend_metadata(&mut self, sent: Sent) -> Result<(), Rejection> {
        let change = self.change;
        let metadata = prepare::metadata(&mut self.next)?;
        self.sent_managed_fields = metadata.remove("managedFields");
        decode::nulls(metadata);
        let is_admitted = change.target.context.is_mutated || sent == Sent::Patch;
        prepare::dedup_owners(metadata, is_admitted, &mut self.warnings);
        let held = &change.stored.meta.finalizers;
        self.faults.corrected = repair(change, &self.old, metadata);
        if change.stored.is_deleting() {
            self.faults
                .remaining
                .extend(validate::no_new_finalizers(held, metadata));
        }
        if self.sent_managed_fields != self.old_managed_fields
            && change.target.subresource.is_none()
        {
            let of_managed_fields = managed::causes(self.sent_managed_fields.as_ref());
            self.faults.corrected.extend(of_managed_fields);
        }
        Ok(())
    }

    /// Applies the type's strategy to an object that changes.
    fn shape(&mut self) {
        let Some(root) = self.next.as_object_mut() else {
            return;
        };
        let subresource = self.change.target.subresource;
        match self.change.target.kind.strategy.shape {
            Shape::Service if subresource.is_none() => service::settle(&self.old, &mut self.next),
            Shape::Pod if subresource == Some(Subresource::Status) => {
                pod::keep_status(&self.old, &mut self.next);
            }
            Shape::DaemonSet => daemon_set::keep_count(&self.old, &mut self.next),
            Shape::Claim if subresource.is_none() => {
                claim::drop_sources(Some(&self.old), &mut self.next);
            }
            Shape::Plain
            | Shape::Pod
            | Shape::Job
            | Shape::Volume
            | Shape::Claim
            | Shape::ApiService
            | Shape::Service => {}
            Shape::Namespace => {
                namespace::label(root);
                let shown = if subresource == Some(Subresource::Finalize) {
                    "status"
                } else {
                    "spec"
                };
                restore(root, &self.old, shown);
                namespace::drop_empty(&mut self.next);
            }
            Shape::Definition if subresource.is_some() => {
                definition::settle_names(&self.change.target.context, &mut self.next);
            }
            Shape::Definition => definition::refresh(&self.change.target.context, &mut self.next),
            Shape::CertificateRequest => restore(root, &self.old, "spec"),
        }
    }

    /// Fills in defaults, and collects everything that is wrong.
    fn complete(&mut self) -> Result<(), Rejection> {
        let PendingWrite { target, stored } = self.change;
        let (old, next) = (&self.old, &mut self.next);
        let wrong = prepare::complete(target, &stored.key, next, Some(old))?;
        self.faults.remaining.extend(wrong);
        let shape = target.kind.strategy.shape;
        if shape == Shape::Namespace {
            let wrong = namespace::causes(target.subresource, next);
            self.faults.remaining.extend(wrong);
        }
        if shape == Shape::CertificateRequest {
            let wrong = approval::causes(target.subresource, old, next);
            self.faults.remaining.extend(wrong);
        }
        Ok(())
    }

    /// Applies what the type's strategy makes of differences, which defaults would be if they were missing.
    fn compare(&mut self) {
        let (old, next) = (&self.old, &mut self.next);
        let shape = self.change.target.kind.strategy.shape;
        let is_status = self.change.target.subresource == Some(Subresource::Status);
        if shape == Shape::DaemonSet {
            daemon_set::count_change(old, next);
        }
        if shape == Shape::Volume && is_status {
            volume::note_phase(old, next, self.change.target.context.envelope.time);
        }
    }

    fn refuse(&mut self) -> Result<(), Rejection> {
        let PendingWrite { target, stored } = self.change;
        let WriteTarget { context, kind, .. } = target;
        context.refuse(kind, &stored.key.name, std::mem::take(&mut self.faults))
    }

    fn warn_of_kind(&mut self) {
        let PendingWrite { target, stored } = self.change;
        let WriteTarget { context, kind, .. } = target;
        if target.subresource.is_none() {
            let stored = Some((&***stored, &self.old));
            let of_kind = prepare::strategy_warnings(context, kind, stored, &self.next);
            self.warnings.extend(of_kind);
        }
    }

    /// Increments the generation if the change calls for it. Mutating admission runs before this.
    fn count_generation(&mut self) {
        if self.change.target.context.strictness == Strictness::Draft {
            return;
        }
        let moves = match self.change.target.kind.strategy.generation {
            Generation::Uncounted | Generation::Still => false,
            Generation::Spec => self.is_respecified(),
            Generation::SpecAndLabels => self.is_respecified() || self.changes("/metadata/labels"),
            Generation::SpecAndAnnotations => {
                let is_status = self.change.target.subresource == Some(Subresource::Status);
                self.is_respecified() || !is_status && self.changes("/metadata/annotations")
            }
        };
        let metadata = metadata_mut(&mut self.next);
        if let Some(metadata) = metadata.filter(|_| moves) {
            let grown = self.change.stored.meta.next_generation();
            metadata.insert("generation".into(), json!(grown));
        }
    }

    /// Whether anything changes outside of the metadata, and of a status that has a subresource of its own.
    fn is_respecified(&self) -> bool {
        let apart: &[&str] = if self.change.target.version.has_status() {
            &["metadata", "status"]
        } else {
            &["metadata"]
        };
        !equal_except(apart, &self.old, &self.next)
    }

    fn changes(&self, place: &str) -> bool {
        self.old.pointer(place) != self.next.pointer(place)
    }

    /// Puts `managedFields` back into both documents.
    fn set_managed_fields(&mut self, ownership: Ownership) {
        let (documents, live) = ((&self.old, &self.next), self.old_managed_fields.as_ref());
        let list = self.change.target.changed_managed_fields(
            documents,
            live,
            self.sent_managed_fields.take(),
            ownership,
        );
        put(&mut self.old, self.old_managed_fields.take());
        put(&mut self.next, list);
    }

    /// Removes the object if nothing holds it any longer; writes nothing if nothing changed.
    fn settle(&mut self) -> Result<Decision, Rejection> {
        let next = std::mem::take(&mut self.next);
        let PendingWrite { target, stored } = self.change;
        let context = target.context;
        removal::refuse_to_abandon(context.state, stored, &next, target.subresource)?;
        let is_unchanged = next == self.old;
        Ok(if removal::follows(context.state, stored, &next) {
            removal::remove(context, stored, next)?
        } else if is_unchanged && !form::is_outdated(&context.state.kinds, stored) {
            Decision::new(Vec::new(), Outcome::Updated(Arc::clone(stored)))
        } else {
            // Keep what the version that the command uses does not know of.
            let document = if is_unchanged {
                form::stored(&context.state.kinds, stored)
            } else {
                next
            };
            let (object, commit) = context.updated(stored, document, Vec::new())?;
            Decision::new(vec![commit], Outcome::Updated(object))
        })
    }
}

/// Restores metadata that a client cannot change, and reports attempts that are refused.
fn repair(
    change: &PendingWrite<'_>,
    old: &Value,
    metadata: &mut Map<String, Value>,
) -> Vec<FieldCause> {
    let none = Map::new();
    let old = old.get("metadata").and_then(Value::as_object);
    let old = old.unwrap_or(&none);
    let is_deleting = change.stored.is_deleting();
    let causes = immutable(old, metadata, is_deleting);
    for field in KEPT {
        match old.get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
    causes
}

/// What the sent metadata tries to change although it is immutable.
fn immutable(
    old: &Map<String, Value>,
    sent: &Map<String, Value>,
    is_deleting: bool,
) -> Vec<FieldCause> {
    let sent_value = |field: &'static str| {
        let value = sent.get(field).filter(|value| !value.is_null());
        value.map(|value| (field, value))
    };
    let wanted = prepare::text(sent, "uid");
    let is_other = !wanted.is_empty() && wanted != prepare::text(old, "uid");
    let uid = sent_value("uid").filter(|_| is_other);
    let deletion = sent_value("deletionTimestamp").filter(|_| !is_deleting);
    let grace = sent_value("deletionGracePeriodSeconds");
    let grace = grace.filter(|(field, value)| Some(*value) != old.get(*field));
    let cause = |(field, value)| {
        FieldCause::invalid(format!("metadata.{field}"), value, "field is immutable")
    };
    [uid, deletion, grace]
        .into_iter()
        .flatten()
        .map(cause)
        .collect()
}
