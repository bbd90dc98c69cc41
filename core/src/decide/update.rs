//! `update`: who may overwrite what, and what a subresource shows.

mod approval;
mod binding;
mod merge;
pub(super) mod namespace;
#[cfg(test)]
mod tests;

use super::account::{Account, Target, put};
use super::commit::Written;
use super::create::refresh_definition;
use super::delete::{decision, removal};
use super::{Context, create, namespace_of_new, prepare};
use crate::command::{Create, FieldValidation, Update};
use crate::document::agree_but_in;
use crate::kind::{Generation, Kind, Shape, Subresource, Version};
use crate::object::{Object, ObjectKey};
use crate::rejection::FieldCause;
use crate::{Decision, Outcome, Rejection, Revision, convert, managed, validate};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(crate) fn update(context: Context<'_>, intent: Update) -> Result<Decision, Rejection> {
    let (kind, version) = prepare::kind(&context, &intent.key, &intent.version)?;
    let mut sent = intent.object;
    let binds = intent.subresource == Some(Subresource::Binding);
    let warnings = if binds {
        prepare::prune_posted(
            &context.state.kinds,
            Subresource::Binding,
            intent.validation,
            &mut sent,
        )?
    } else {
        Vec::new()
    };
    let metadata = prepare::metadata(&mut sent)?;
    same_coordinates(metadata, &intent.key)?;
    if binds {
        namespace_of_new(context.state, &intent.key, &intent.key.name)?;
    }
    let Some(stored) = context.state.get(&intent.key) else {
        let object = sent;
        return missing(context, kind, Update { object, ..intent });
    };
    // Admission's object has no preconditions of its own: the client's were compared before it.
    if !context.is_settled {
        same_identity(stored, metadata)?;
    }
    version_allows(kind, stored, metadata, intent.subresource)?;
    let change = Change {
        context,
        kind,
        version,
        stored,
        subresource: intent.subresource,
    };
    if binds {
        let bound = change.bind(&sent)?;
        return Ok(Decision { warnings, ..bound });
    }
    let warnings = change.prune(&mut sent, intent.validation)?;
    change.write(sent, Precondition::Put, warnings, Account::Kept)
}

/// Where a document comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precondition {
    Put,
    Patch,
}

/// What cannot be read in a body is the body's fault; after a patch, the patch's, which is shown with
/// what came of it.
pub(super) fn blame_patch(rejection: Rejection, outcome: impl FnOnce() -> Value) -> Rejection {
    let Rejection::BadRequest(why) = &rejection else {
        return rejection;
    };
    Rejection::invalid_patch(&outcome().to_string().into(), why)
}

/// A stored object and what it is about to become.
pub(super) struct Change<'a> {
    pub(super) context: Context<'a>,
    pub(super) kind: &'a Kind,
    pub(super) version: &'a Version,
    pub(super) stored: &'a Arc<Object>,
    pub(super) subresource: Option<Subresource>,
}

impl Change<'_> {
    /// From the document that the client wants, pruned, to the commit that makes it so.
    pub(super) fn write(
        &self,
        mut sent: Value,
        from: Precondition,
        mut warnings: Vec<String>,
        account: Account,
    ) -> Result<Decision, Rejection> {
        let mut old = self.stored.document();
        let live = managed::take(&mut old);
        if self.subresource != Some(Subresource::Scale) {
            convert::to_storage(self.kind, self.version, &mut sent);
        }
        let mut next = merge::into_stored(self, &old, sent)?;
        let metadata = prepare::metadata(&mut next)?;
        let sent = metadata.remove("managedFields");
        prepare::decode_nulls(metadata);
        let is_admitted = self.context.is_settled || from == Precondition::Patch;
        prepare::dedup_owners(metadata, is_admitted, &mut warnings);
        let held = &self.stored.meta.finalizers;
        warnings.extend(validate::finalizer_warnings(self.kind, held, metadata));
        let mut causes = self.repair(&old, metadata);
        if sent != live && self.subresource.is_none() {
            causes.extend(managed::causes(sent.as_ref()));
        }
        self.shape(&old, &mut next);
        causes.extend(prepare::complete(
            &self.context,
            self.kind,
            self.version,
            &mut next,
            Some(&old),
        ));
        causes.extend(self.causes_of_shape(&old, &next));
        self.context
            .refuse(self.kind, &self.stored.key.name, causes)?;
        self.generation(&old, &mut next);
        let documents = (&old, &next);
        let list = self
            .target()
            .list_of_changed(documents, live.as_ref(), sent, account);
        put(&mut old, live);
        put(&mut next, list);
        let decided = self.settle(&old, next)?;
        Ok(Decision {
            warnings,
            ..decided
        })
    }

    fn target(&self) -> Target<'_> {
        Target {
            context: self.context,
            kind: self.kind,
            version: self.version,
            subresource: self.subresource,
        }
    }

    /// Removes what is not known, and says so, or refuses it.
    pub(super) fn prune(
        &self,
        sent: &mut Value,
        validation: FieldValidation,
    ) -> Result<Vec<String>, Rejection> {
        if self.subresource == Some(Subresource::Scale) {
            prepare::prune_scale(validation, sent)
        } else {
            prepare::prune(&self.context, self.kind, self.version, validation, sent)
        }
    }

    fn settle(&self, old: &Value, next: Value) -> Result<Decision, Rejection> {
        let state = self.context.state;
        removal::refuse_to_abandon(state, self.stored, &next, self.subresource)?;
        if removal::follows(state, self.stored, &next) {
            return removal::remove(self.context, self.stored, next);
        }
        if next == *old {
            return Ok(decision(
                Vec::new(),
                Outcome::Updated(Arc::clone(self.stored)),
            ));
        }
        let revision = self.context.state.revision.next();
        let written = Written {
            key: self.stored.key.clone(),
            document: next,
            revision,
        };
        let (object, commit) = self.context.write(Some(self.stored), written, Vec::new())?;
        Ok(decision(vec![commit], Outcome::Updated(object)))
    }

    /// Puts back what a client cannot change, and names what it may not try to.
    fn repair(&self, old: &Value, metadata: &mut Map<String, Value>) -> Vec<FieldCause> {
        let none = Map::new();
        let old = old.get("metadata").and_then(Value::as_object);
        let old = old.unwrap_or(&none);
        let mut causes = Vec::new();
        let sent_uid = prepare::text(metadata, "uid").to_owned();
        if !sent_uid.is_empty() && sent_uid != prepare::text(old, "uid") {
            causes.push(FieldCause::invalid(
                "metadata.uid",
                &json!(sent_uid),
                "field is immutable",
            ));
        }
        let deleting = self.stored.is_deleting();
        let sent_deletion = metadata
            .get("deletionTimestamp")
            .filter(|value| !value.is_null());
        if let Some(sent) = sent_deletion.filter(|_| !deleting) {
            let why = "field is immutable";
            causes.push(FieldCause::invalid("metadata.deletionTimestamp", sent, why));
        }
        let sent_grace = metadata
            .get("deletionGracePeriodSeconds")
            .filter(|sent| !sent.is_null() && Some(*sent) != old.get("deletionGracePeriodSeconds"));
        if let Some(sent) = sent_grace {
            let field = "metadata.deletionGracePeriodSeconds";
            causes.push(FieldCause::invalid(field, sent, "field is immutable"));
        }
        for field in [
            "uid",
            "name",
            "namespace",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "resourceVersion",
            "selfLink",
        ] {
            match old.get(field) {
                Some(value) => metadata.insert(field.into(), value.clone()),
                None => metadata.remove(field),
            };
        }
        if deleting {
            causes.extend(validate::no_new_finalizers(
                &self.stored.meta.finalizers,
                metadata,
            ));
        }
        causes
    }

    fn shape(&self, old: &Value, next: &mut Value) {
        let Some(root) = next.as_object_mut() else {
            return;
        };
        match self.kind.strategy.shape {
            Shape::Plain | Shape::Pod => {}
            Shape::Namespace => {
                create::label_namespace(root);
                let shown = if self.subresource == Some(Subresource::Finalize) {
                    "status"
                } else {
                    "spec"
                };
                restore(root, old, shown);
                namespace::drop_empty(next);
            }
            Shape::Definition if self.subresource.is_some() => {}
            Shape::Definition => refresh_definition(&self.context, next),
            Shape::CertificateRequest => restore(root, old, "spec"),
        }
    }

    fn causes_of_shape(&self, old: &Value, next: &Value) -> Vec<FieldCause> {
        match self.kind.strategy.shape {
            Shape::Namespace => namespace::causes(self.subresource, next),
            Shape::CertificateRequest => approval::causes(self.subresource, old, next),
            Shape::Plain | Shape::Definition | Shape::Pod => Vec::new(),
        }
    }

    fn generation(&self, old: &Value, next: &mut Value) {
        let moves = match self.kind.strategy.generation {
            Generation::Uncounted | Generation::Still => false,
            Generation::Spec => self.is_respecified(old, next),
            Generation::SpecAndLabels => {
                let labels = |document: &Value| document.pointer("/metadata/labels").cloned();
                self.is_respecified(old, next) || labels(old) != labels(next)
            }
        };
        let metadata = next.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| moves) {
            metadata.insert("generation".into(), json!(self.stored.meta.generation + 1));
        }
    }

    /// Whether anything but the metadata changes, and but the status where others write that.
    fn is_respecified(&self, old: &Value, next: &Value) -> bool {
        let apart: &[&str] = if self.kind.strategy.status_apart {
            &["metadata", "status"]
        } else {
            &["metadata"]
        };
        !agree_but_in(apart, old, next)
    }
}

fn restore(root: &mut Map<String, Value>, old: &Value, member: &str) {
    match old.get(member) {
        Some(value) => root.insert(member.into(), value.clone()),
        None => root.remove(member),
    };
}

/// Some types may be made by a `PUT`; the rest must exist.
fn missing(context: Context<'_>, kind: &Kind, intent: Update) -> Result<Decision, Rejection> {
    let key = &intent.key;
    if !kind.strategy.create_on_update || intent.subresource.is_some() {
        return Err(Rejection::NotFound {
            resource: key.resource.clone(),
            name: Arc::clone(&key.name),
        });
    }
    let mut object = intent.object;
    let metadata = prepare::metadata(&mut object)?;
    made_anew(metadata, key, |uid| other_identity(uid, ""))?;
    let create = Create {
        key: intent.key,
        version: intent.version,
        object,
        validation: intent.validation,
    };
    create::create(context, create)
}

/// Who asks for an identity does not mean an object that is yet to be made; a version it has none.
pub(super) fn made_anew(
    metadata: &mut Map<String, Value>,
    key: &ObjectKey,
    refusal: impl FnOnce(&str) -> String,
) -> Result<(), Rejection> {
    let uid = prepare::text(metadata, "uid");
    if !uid.is_empty() {
        return Err(Rejection::Conflict {
            resource: key.resource.clone(),
            name: Arc::clone(&key.name),
            reason: refusal(uid),
        });
    }
    metadata.remove("resourceVersion");
    Ok(())
}

/// Where an object is made or kept is what the path says; admission may not change it either.
/// Source: `EnsureObjectNamespaceMatchesRequestNamespace`.
pub(super) fn same_namespace(
    metadata: &Map<String, Value>,
    key: &ObjectKey,
) -> Result<(), Rejection> {
    let namespace = prepare::text(metadata, "namespace");
    if namespace.is_empty() || key.namespace.is_empty() || namespace == &*key.namespace {
        return Ok(());
    }
    Err(Rejection::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request"
            .into(),
    ))
}

/// The body must speak of the object that the path names. Source: `checkName`.
pub(super) fn same_coordinates(
    metadata: &Map<String, Value>,
    key: &ObjectKey,
) -> Result<(), Rejection> {
    same_namespace(metadata, key)?;
    let (name, wanted) = (prepare::text(metadata, "name"), &key.name);
    if name.is_empty() {
        return Err(Rejection::BadRequest(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != &**wanted {
        return Err(Rejection::BadRequest(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

/// Identity comes before the version.
fn same_identity(stored: &Object, metadata: &Map<String, Value>) -> Result<(), Rejection> {
    let uid = prepare::text(metadata, "uid");
    if uid.is_empty() || uid == stored.meta.uid.as_str() {
        return Ok(());
    }
    let reason = other_identity(uid, stored.meta.uid.as_str());
    Err(conflict(stored, reason))
}

/// Without a version only some types are overwritten.
fn version_allows(
    kind: &Kind,
    stored: &Object,
    metadata: &Map<String, Value>,
    subresource: Option<Subresource>,
) -> Result<(), Rejection> {
    let version = prepare::text(metadata, "resourceVersion");
    if version.is_empty() || version == "0" {
        let is_scale = subresource == Some(Subresource::Scale);
        let free = kind.strategy.unconditional_update || is_scale;
        let why = "must be specified for an update";
        let cause = FieldCause::invalid("metadata.resourceVersion", &json!(0), why);
        if free {
            return Ok(());
        }
        // Upstream names the resource here, where the kind would stand.
        return Err(Rejection::Invalid {
            group: Arc::clone(&kind.resource.group),
            kind: Arc::clone(&kind.resource.resource),
            name: Arc::clone(&stored.key.name),
            causes: vec![cause],
        });
    }
    same_version(stored, version)
}

pub(super) fn same_version(stored: &Object, version: &str) -> Result<(), Rejection> {
    let Some(revision) = Revision::parse(version) else {
        return Err(Rejection::BadRequest(format!(
            "invalid resource version: {version:?}"
        )));
    };
    if revision == stored.revision {
        return Ok(());
    }
    let why = "the object has been modified; please apply your changes to the latest version and \
               try again";
    Err(conflict(stored, why.into()))
}

/// Of an object that is not there the identity is empty.
fn other_identity(wanted: &str, found: &str) -> String {
    format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}")
}

fn conflict(stored: &Object, reason: String) -> Rejection {
    Rejection::Conflict {
        resource: stored.key.resource.clone(),
        name: Arc::clone(&stored.key.name),
        reason,
    }
}
