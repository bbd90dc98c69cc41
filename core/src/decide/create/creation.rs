//! Every creation, step by step: from the document that was sent to the commit.

use super::{admit, name, own, shape, workload};
use crate::command::{Create, FieldValidation};
use crate::decide::coordinates::{same_coordinates, same_namespace};
use crate::decide::managed_fields::{Ownership, WriteTarget};
use crate::decide::{Context, Faults, Strictness, decode, namespace, prepare, warned};
use crate::document::metadata_mut;
use crate::kind::{Generation, Kind, Shape};
use crate::object::{ObjectKey, Uid};
use crate::rejection::FieldCause;
use crate::{Decision, Outcome, Rejection, Revision, convert};
use serde_json::{Map, Value};

/// Creates an object from the document that was sent.
pub(in crate::decide) fn create_with(
    context: Context<'_>,
    intent: Create,
    ownership: Ownership,
) -> Result<Decision, Rejection> {
    let (kind, version) = prepare::kind(&context, &intent.key, &intent.version)?;
    prepare::same_kind(&context, (kind, version), None, &intent.object)?;
    let target = WriteTarget {
        context,
        kind,
        version,
        subresource: None,
    };
    // A document that does not decode is refused before anything is looked up.
    let mut creation = Creation::new(target, intent.object, intent.validation)?;
    let decided = creation.decide(&intent.key, ownership);
    warned(decided, creation.warnings)
}

/// An object that is about to be created, with the `managedFields` that it came with kept apart.
struct Creation<'a> {
    target: WriteTarget<'a>,
    document: Value,
    sent_managed_fields: Option<Value>,
    warnings: Vec<String>,
    faults: Faults,
    /// Whether the object is a job that takes its labels from its pod template.
    shares_labels: bool,
}

/// The key of the new object, and what its metadata held before the server changed it.
struct Named {
    key: ObjectKey,
    /// Why nothing can be stored under the key.
    taken: Option<Rejection>,
    /// Whether the object came with a `resourceVersion`.
    is_numbered: bool,
    /// The labels of a namespace before its name was generated and added to them.
    labels: Option<Value>,
}

impl<'a> Creation<'a> {
    fn new(
        target: WriteTarget<'a>,
        mut document: Value,
        validation: FieldValidation,
    ) -> Result<Self, Rejection> {
        let WriteTarget {
            context,
            kind,
            version,
            ..
        } = target;
        let unknown = decode::prune(&context, (kind, version), None, validation, &mut document)
            .map_err(|why| Rejection::unreadable(&kind.kind, &version.name, &why))?;
        Ok(Self {
            target,
            document,
            sent_managed_fields: None,
            warnings: context.warnings(unknown),
            faults: Faults::default(),
            shares_labels: false,
        })
    }

    fn decide(&mut self, key: &ObjectKey, ownership: Ownership) -> Result<Decision, Rejection> {
        let named = self.name(key)?;
        self.complete(&named.key)?;
        self.refuse(&named.key.name)?;
        let WriteTarget { context, kind, .. } = self.target;
        prepare::canonicalize(kind, &mut self.document);
        let of_kind = prepare::strategy_warnings(&context, kind, None, &self.document);
        self.warnings.extend(of_kind);
        if context.strictness == Strictness::Storage {
            refuse_storage(named.is_numbered, named.taken)?;
        }
        self.set_managed_fields(ownership, named.labels);
        if self.selects_pods() {
            workload::select_own_pods(&mut self.document, self.shares_labels);
        }
        self.write(named.key)
    }

    /// Reads the metadata, adds what the server owns, and chooses a name.
    fn name(&mut self, key: &ObjectKey) -> Result<Named, Rejection> {
        let WriteTarget { context, kind, .. } = self.target;
        let metadata = prepare::metadata(&mut self.document)?;
        if key.name.is_empty() {
            same_namespace(metadata, key)?;
        } else {
            same_coordinates(metadata, key)?;
        }
        let is_numbered = has_revision(metadata);
        self.sent_managed_fields = metadata.remove("managedFields");
        self.faults.corrected = negative_generation(kind, metadata);
        decode::nulls(metadata);
        prepare::dedup_owners(metadata, context.is_mutated, &mut self.warnings);
        let collection = admit(&context, kind, key, wanted_name(metadata))?;
        own(&context, kind, &collection, metadata);
        let labels = labels_of_nameless(kind, metadata);
        let name::Chosen { key, taken } = name::choose(&context, &collection, metadata);
        let uid = Uid::of_new(context.envelope.seed, &key);
        metadata.insert("uid".into(), uid.as_str().into());
        Ok(Named {
            key,
            taken,
            is_numbered,
            labels,
        })
    }

    /// Applies strategy, conversion and defaults, and collects everything that is wrong.
    fn complete(&mut self, key: &ObjectKey) -> Result<(), Rejection> {
        let WriteTarget {
            context,
            kind,
            version,
            ..
        } = self.target;
        self.shares_labels = self.selects_pods() && self.is_unlabelled();
        let document = &mut self.document;
        shape(&context, kind, version, document);
        convert::to_decide(&context.state.kinds, kind, version, document);
        let wrong = prepare::complete(&self.target, key, document, None)?;
        self.faults.remaining.extend(wrong);
        if kind.strategy.shape == Shape::Namespace {
            let wrong = namespace::new_causes(document);
            self.faults.remaining.extend(wrong);
        }
        if self.selects_pods() {
            let wrong = workload::wrong_selection(&self.document, self.shares_labels);
            self.faults.remaining.extend(wrong);
        }
        Ok(())
    }

    fn is_unlabelled(&self) -> bool {
        let labels = self.document.pointer("/metadata/labels");
        labels.and_then(Value::as_object).is_none_or(Map::is_empty)
    }

    /// Whether its pods are to be labelled and selected: for a job, but not before mutating admission.
    fn selects_pods(&self) -> bool {
        let WriteTarget { context, kind, .. } = self.target;
        kind.strategy.shape == Shape::Job && context.strictness != Strictness::Draft
    }

    fn refuse(&mut self, name: &str) -> Result<(), Rejection> {
        let WriteTarget { context, kind, .. } = self.target;
        context.refuse(kind, name, std::mem::take(&mut self.faults))
    }

    fn set_managed_fields(&mut self, ownership: Ownership, labels: Option<Value>) {
        let (target, document) = (&self.target, &mut self.document);
        let sent = self.sent_managed_fields.take();
        match labels {
            Some(labels) => note_unlabelled(target, document, sent, labels),
            None => target.put_new_managed_fields(document, sent, ownership),
        }
    }

    fn write(&mut self, key: ObjectKey) -> Result<Decision, Rejection> {
        let document = std::mem::take(&mut self.document);
        let (object, commit) = self.target.context.created(key, document)?;
        Ok(Decision::new(vec![commit], Outcome::Created(object)))
    }
}

/// The labels of a namespace whose name is still to be generated: `managedFields` must not contain the name
/// label then.
fn labels_of_nameless(kind: &Kind, metadata: &Map<String, Value>) -> Option<Value> {
    let is_namespace = kind.strategy.shape == Shape::Namespace;
    let is_nameless = is_namespace && prepare::text(metadata, "name").is_empty();
    is_nameless.then(|| metadata.get("labels").cloned().unwrap_or_default())
}

fn note_unlabelled(
    target: &WriteTarget<'_>,
    document: &mut Value,
    sent: Option<Value>,
    labels: Value,
) {
    let Some(metadata) = metadata_mut(document) else {
        return;
    };
    let shaped = metadata.remove("labels");
    if !labels.is_null() {
        metadata.insert("labels".into(), labels);
    }
    target.put_new_managed_fields(document, sent, Ownership::Kept);
    let metadata = metadata_mut(document);
    if let (Some(metadata), Some(shaped)) = (metadata, shaped) {
        metadata.insert("labels".into(), shaped);
    }
}

/// Whether a `resourceVersion` was sent. Upstream's storage refuses a number here, and treats any other
/// text as none.
fn has_revision(metadata: &Map<String, Value>) -> bool {
    let revision = Revision::parse(prepare::text(metadata, "resourceVersion"));
    revision.is_some_and(|revision| revision != Revision::ZERO)
}

/// The refusals that come from storage; they come after all others.
fn refuse_storage(numbered: bool, taken: Option<Rejection>) -> Result<(), Rejection> {
    if numbered {
        let why = "resourceVersion should not be set on objects to be created";
        return Err(Rejection::Internal(why.into()));
    }
    taken.map_or(Ok(()), Err)
}

/// Refuses a negative generation for kinds that keep the generation they were sent with.
fn negative_generation(kind: &Kind, metadata: &Map<String, Value>) -> Vec<FieldCause> {
    let sent = metadata.get("generation").filter(|sent| {
        kind.strategy.generation == Generation::Uncounted
            && sent.as_i64().is_some_and(|generation| generation < 0)
    });
    let why = "must be greater than or equal to 0";
    let cause = |sent| FieldCause::invalid("metadata.generation", sent, why);
    sent.map(cause).into_iter().collect()
}

/// The name as a refusal shows it; for a generated name, its prefix.
fn wanted_name(metadata: &Map<String, Value>) -> &str {
    match prepare::text(metadata, "name") {
        "" => prepare::text(metadata, "generateName"),
        name => name,
    }
}
