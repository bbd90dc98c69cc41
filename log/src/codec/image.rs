//! The blocks of a snapshot: bincode of plain structs, with object bodies as JSON bytes.

use super::codes::rule_code;
use super::v1::mark_from;
use super::{Undecodable, read, write};
use crate::frame::Hash;
use hindsight_core::object::Name;
use hindsight_core::{GroupResource, Object, ObjectKey, Revision, Time, Uid};
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;
use std::sync::Arc;

/// One block. This is a stored format: variants are added and never changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Block<'a> {
    /// The first block: the point of the log at which the snapshot was taken.
    Head {
        revision: u64,
        hash: Hash,
        latest_micros: i64,
        restored: u64,
    },
    /// Some objects, in list order.
    Objects(#[serde(borrow)] Vec<ObjectV1<'a>>),
    /// Definitions as they were last accepted, if they have changed since.
    Accepted(#[serde(borrow)] Vec<ObjectV1<'a>>),
    /// Owners that a foreground or orphaning deletion holds, each with the last commit that gave it a
    /// dependent.
    HeldOwners(#[serde(borrow)] Vec<(&'a str, u64)>),
    /// The last block: the hash that the assembled state must have.
    End { state: &'a str },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ObjectV1<'a> {
    #[serde(borrow)]
    key: [&'a str; 4],
    revision: u64,
    mark: Option<(u64, u8)>,
    #[serde(borrow)]
    body: &'a Bytes,
}

impl<'a> ObjectV1<'a> {
    pub(crate) fn of(object: &'a Object) -> Self {
        Self {
            key: object.key.parts().map(|part| &**part),
            revision: object.revision.0,
            mark: object
                .mark
                .map(|mark| (mark.revision.0, rule_code(mark.rule))),
            body: Bytes::new(&object.body),
        }
    }

    /// Decodes the object. Strings that equal those of the object before are shared with it.
    pub(crate) fn read(&self, before: Option<&Object>) -> Result<Arc<Object>, Undecodable> {
        let shared = |text: &str, of: fn(&ObjectKey) -> &Name| {
            let known = before.map(|before| of(&before.key));
            known
                .filter(|known| ***known == *text)
                .map_or_else(|| text.into(), Arc::clone)
        };
        let [group, resource, namespace, name] = self.key;
        let key = ObjectKey {
            resource: GroupResource {
                group: shared(group, |key| &key.resource.group),
                resource: shared(resource, |key| &key.resource.resource),
            },
            namespace: shared(namespace, |key| &key.namespace),
            name: name.into(),
        };
        let mark = match self.mark {
            None => None,
            Some((at, rule)) => Some(mark_from(at, rule)?),
        };
        let body = bytes::Bytes::copy_from_slice(self.body);
        let object = Object::from_body(key, body, Revision(self.revision), mark)?;
        Ok(Arc::new(object))
    }
}

impl<'a> Block<'a> {
    pub(crate) fn encode(&self, payload: &mut Vec<u8>) -> Result<(), bincode::error::EncodeError> {
        write(self, payload)
    }

    pub(crate) fn decode(payload: &'a [u8]) -> Result<Self, Undecodable> {
        read(payload)
    }

    pub(crate) fn objects(objects: &'a [Arc<Object>]) -> Self {
        Self::Objects(objects.iter().map(|one| ObjectV1::of(one)).collect())
    }

    pub(crate) fn accepted(objects: &'a [Arc<Object>]) -> Self {
        Self::Accepted(objects.iter().map(|one| ObjectV1::of(one)).collect())
    }

    pub(crate) fn held_owners(held: &'a [(Uid, Revision)]) -> Self {
        let held = held.iter();
        Self::HeldOwners(held.map(|(uid, since)| (uid.as_str(), since.0)).collect())
    }

    pub(crate) const fn head(
        revision: Revision,
        hash: Hash,
        latest: Time,
        restored: Revision,
    ) -> Self {
        Self::Head {
            revision: revision.0,
            hash,
            latest_micros: latest.0,
            restored: restored.0,
        }
    }
}
