//! Field ownership: what a write makes of an object's `managedFields`.

use super::Context;
use crate::document::metadata_mut;
use crate::fields::{self, Versions};
use crate::kind::{Kind, KindRef, Shape, Subresource, Version};
use crate::managed::{self, Managed, Scaled, Writer};
use crate::{Form, GroupResource, Object, convert};
use serde_json::Value;

/// Where the `managedFields` of a written object come from.
#[derive(Debug)]
pub(super) enum Ownership {
    /// Kept up from the old ones: fields that change become the manager's.
    Kept,
    /// From an apply: the outcome of the merge.
    Applied(Managed),
}

/// The object that a write is about, in the version that the command uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteTarget<'a> {
    pub(super) context: Context<'a>,
    pub(super) kind: &'a KindRef,
    pub(super) version: &'a Version,
    pub(super) subresource: Option<Subresource>,
}

impl WriteTarget<'_> {
    /// Puts the `managedFields` of a new object into its document; `sent` are those that admission left.
    pub(super) fn put_new_managed_fields(
        &self,
        document: &mut Value,
        sent: Option<Value>,
        ownership: Ownership,
    ) {
        let list = match ownership {
            Ownership::Applied(managed) => managed.list(),
            Ownership::Kept if self.context.is_mutated => sent,
            Ownership::Kept => self.new_managed_fields(document),
        };
        put(document, list);
    }

    fn new_managed_fields(&self, document: &mut Value) -> Option<Value> {
        let own = self.take_own(document);
        let managed = self
            .write(|writer| self.in_request_version(document, |document| writer.create(document)));
        if let (Some(root), Some((member, value))) = (document.as_object_mut(), own) {
            root.insert(member, value);
        }
        managed?.list()
    }

    /// Takes the `spec` out of a new namespace: what the server itself fills in there is owned by nobody.
    fn take_own(&self, document: &mut Value) -> Option<(String, Value)> {
        let root = document.as_object_mut()?;
        let is_namespace = self.kind.strategy.shape == Shape::Namespace;
        is_namespace.then(|| root.remove_entry("spec")).flatten()
    }

    /// The `managedFields` of a changed object: `live` are those that it had, `sent` those that came with
    /// the change. Neither document contains any.
    pub(super) fn changed_managed_fields(
        &self,
        (old, next): (&Value, &Value),
        live: Option<&Value>,
        sent: Option<Value>,
        ownership: Ownership,
    ) -> Option<Value> {
        let is_same = next == old;
        let managed = match ownership {
            Ownership::Applied(managed) => managed,
            Ownership::Kept if self.context.is_mutated => {
                let mutated = self.mutated(live, sent);
                let is_unmoved = is_same && same_fields(live, mutated.as_ref());
                return if is_unmoved { live.cloned() } else { mutated };
            }
            Ownership::Kept => {
                let sent = sent.filter(|sent| Some(sent) != live && self.subresource.is_none());
                if is_same && sent.is_none() {
                    return live.cloned();
                }
                match self.updated(old, next, managed_fields_before(live, sent.as_ref())) {
                    Some(managed) => managed,
                    None => return live.cloned(),
                }
            }
        };
        let is_unmoved = || Managed::read(live).is_some_and(|live| live.same_fields(&managed));
        if is_same && is_unmoved() {
            return live.cloned();
        }
        managed.list()
    }

    /// The `managedFields` that admission left. Admission is shown a `Scale` with the owners of the count
    /// only, so these are put back among the others.
    fn mutated(&self, live: Option<&Value>, sent: Option<Value>) -> Option<Value> {
        if self.subresource != Some(Subresource::Scale) {
            return sent;
        }
        let live = Managed::read(live)?;
        let (scaled, _) = Scaled::of(live, self.version.count_path()?, &self.api_version());
        scaled.back(Managed::read(sent.as_ref())?).list()
    }

    /// The `managedFields` after an update; `None` if the command has no manager.
    fn updated(&self, old: &Value, next: &Value, managed: Managed) -> Option<Managed> {
        self.write(|writer| {
            self.in_request_version(old, |old| {
                self.in_request_version(next, |next| writer.update(old, next, managed))
            })
        })
    }

    /// Runs `then` as a write of the command's manager; `None` if there is no manager.
    pub(super) fn write<T>(&self, then: impl FnOnce(&Writer<'_>) -> T) -> Option<T> {
        self.write_in(&self.api_version(), self, then)
    }

    /// The same, for documents that have versions of their own.
    pub(super) fn write_in<T>(
        &self,
        api_version: &str,
        versions: &dyn Versions,
        then: impl FnOnce(&Writer<'_>) -> T,
    ) -> Option<T> {
        let envelope = self.context.envelope;
        Some(then(&Writer {
            manager: envelope.manager.as_ref()?,
            subresource: self.subresource,
            time: envelope.time,
            api_version,
            versions,
            unowned: managed::unowned(self.kind, self.version, self.subresource),
            is_custom: self.kind.is_custom(),
        }))
    }

    /// How stored objects are read in the version that the command uses.
    pub(super) fn form(&self) -> Form {
        Form::of(&self.context.state.kinds, self.kind, &self.version.name)
    }

    pub(super) fn api_version(&self) -> String {
        self.kind.api_version(&self.version.name)
    }

    /// Calls `then` with the document in the version that the command uses.
    fn in_request_version<T>(&self, document: &Value, then: impl FnOnce(&Value) -> T) -> T {
        if document.get("apiVersion").and_then(Value::as_str) == Some(&self.api_version()) {
            return then(document);
        }
        let mut converted = document.clone();
        convert::to_version(self.kind, &self.version.name, &mut converted);
        then(&converted)
    }

    /// The kind and version with this `apiVersion`, which may be served by another group.
    fn named<'k>(&'k self, api_version: &'k str) -> Option<(&'k Kind, &'k str)> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = if group == &*self.kind.resource.group {
            self.kind
        } else {
            let resource = GroupResource::new(group, &self.kind.resource.resource);
            let other = self.context.state.kinds.by_resource(&resource)?;
            let is_same = other.stored_under() == self.kind.stored_under();
            Some(&**other).filter(|_| is_same)?
        };
        let is_known = kind.versions.iter().any(|one| &*one.name == version);
        is_known.then_some((kind, version))
    }
}

impl Versions for WriteTarget<'_> {
    fn version(&self, api_version: &str) -> Option<fields::Version<'_>> {
        let (kind, version) = self.named(api_version)?;
        let schema = self.context.state.kinds.schema(kind, version);
        Some(fields::Version {
            schema: schema.map(|schema| &**schema),
        })
    }

    fn convert(&self, object: &Value, api_version: &str) -> Value {
        let mut converted = object.clone();
        if let Some((kind, version)) = self.named(api_version) {
            convert::to_version(kind, version, &mut converted);
        }
        converted
    }
}

/// The document of a write that the server makes on its own, with `managedFields` brought up to date:
/// fields that it removes are owned by nobody any more, and fields that it changes become those of the
/// command's manager.
pub(super) fn with_managed_fields(
    context: Context<'_>,
    object: &Object,
    mut next: Value,
    subresource: Option<Subresource>,
) -> Value {
    let mut old = context.document(object);
    let live = managed::take(&mut old);
    drop(managed::take(&mut next));
    let kind = context.state.kinds.by_resource(&object.key.resource);
    let known = kind.and_then(|kind| Some((kind, kind.storage_version()?)));
    let list = match known {
        None => live,
        Some((kind, version)) => WriteTarget {
            context,
            kind,
            version,
            subresource,
        }
        .changed_managed_fields((&old, &next), live.as_ref(), None, Ownership::Kept),
    };
    put(&mut next, list);
    next
}

/// Whether two lists of `managedFields` differ in nothing but times.
fn same_fields(one: Option<&Value>, other: Option<&Value>) -> bool {
    let (one, other) = (Managed::read(one), Managed::read(other));
    one.zip(other)
        .is_some_and(|(one, other)| one.same_fields(&other))
}

/// The `managedFields` before a write. A client may correct them, or drop them altogether; a list that
/// cannot be read, or is empty, is ignored.
fn managed_fields_before(live: Option<&Value>, sent: Option<&Value>) -> Managed {
    if sent.is_some_and(managed::is_reset) {
        return Managed::default();
    }
    let sent = sent.and_then(|sent| Managed::read(Some(sent)));
    sent.filter(|sent| !sent.is_empty())
        .or_else(|| Managed::read(live))
        .unwrap_or_default()
}

/// Writes `managedFields` into the document; an empty list is left out.
pub(super) fn put(document: &mut Value, list: Option<Value>) {
    let is_empty = |list: &Value| list.is_null() || list.as_array().is_some_and(Vec::is_empty);
    if let Some(list) = list.filter(|list| !is_empty(list))
        && let Some(metadata) = metadata_mut(document)
    {
        metadata.insert("managedFields".into(), list);
    }
}
