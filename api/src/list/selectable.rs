//! What field selectors look at in the bodies of objects. It is read once for each version of an object, and kept for
//! a while: every kubelet lists and watches the pods of its own node, and each of these watches has to look at every
//! pod.

#[cfg(test)]
mod tests;

use crate::defined::Defined;
use crate::offload::{LONG_BYTES, offload};
use crate::status::Failure;
use crate::unpoisoned::unpoisoned;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use hindsight_core::object::Name;
use hindsight_core::selector::SelectableFields;
use hindsight_core::{Form, Object, ObjectKey, Revision};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The most bytes that are kept, unless the newest alone has more.
const KEPT_BYTES_MAX: usize = 16 << 20;
/// What each object counts beside the values of its fields: about what it takes to find them.
const BESIDE_FIELDS_BYTES: usize = 512;

type Fields = Arc<SelectableFields>;
type Read = Result<Fields, Failure>;
type PendingRead = BoxFuture<'static, Read>;

/// The selectable fields of objects, for all lists and watches. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedFields(Arc<Mutex<Kept>>);

impl SharedFields {
    /// The fields of an object in this form: as they were read before, or read now. Those of a long object are read
    /// on another thread, once for all who wait for them.
    pub(super) async fn of(&self, form: &Form, object: &Arc<Object>) -> Read {
        let id = Id::of(form, object);
        if let Some(fields) = unpoisoned(self.0.lock()).fields.get(&id) {
            return Ok(Arc::clone(fields));
        }
        if object.body.len() > LONG_BYTES {
            return self.reading(id, form, object).await;
        }
        let fields = Arc::new(form.selectable_fields(object));
        unpoisoned(self.0.lock()).keep(id, &fields);
        Ok(fields)
    }

    /// The fields of a long object, once they are read. Whoever waits and is polled brings it on: a watch whose client
    /// does not read is not polled, and holds up no other.
    fn reading(&self, id: Id, form: &Form, object: &Arc<Object>) -> Shared<PendingRead> {
        let mut kept = unpoisoned(self.0.lock());
        if let Some(reading) = kept.reading.get(&id).and_then(WeakShared::upgrade) {
            return reading;
        }
        let (all, form, object) = (Arc::clone(&self.0), form.clone(), Arc::clone(object));
        let (place, bytes) = (id.clone(), object.body.len());
        let read = move || {
            let fields = Arc::new(form.selectable_fields(&object));
            unpoisoned(all.lock()).keep(place, &fields);
            fields
        };
        let reading = offload(bytes, read).boxed().shared();
        kept.reading.retain(|_, one| one.upgrade().is_some());
        kept.reading
            .extend(reading.downgrade().map(|weak| (id, weak)));
        reading
    }

    /// How often fields were read from a body.
    #[cfg(test)]
    pub(crate) fn reads(&self) -> u32 {
        unpoisoned(self.0.lock()).reads
    }
}

/// A version of an object, and how it is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Id {
    key: ObjectKey,
    revision: Revision,
    kind: Defined,
    version: Name,
}

impl Id {
    fn of(form: &Form, object: &Object) -> Self {
        Self {
            key: object.key.clone(),
            revision: object.revision,
            kind: Defined::of(form.kind()),
            version: Arc::clone(form.version()),
        }
    }
}

#[derive(Debug, Default)]
struct Kept {
    fields: HashMap<Id, Fields>,
    /// What is kept, the newest last.
    order: VecDeque<Id>,
    bytes: usize,
    /// Long objects whose fields somebody waits for.
    reading: HashMap<Id, WeakShared<PendingRead>>,
    #[cfg(test)]
    reads: u32,
}

impl Kept {
    /// Keeps what was read, and lets go of the oldest while all take too much.
    fn keep(&mut self, id: Id, fields: &Fields) {
        #[cfg(test)]
        {
            self.reads += 1;
        }
        if self.fields.insert(id.clone(), Arc::clone(fields)).is_some() {
            return;
        }
        self.order.push_back(id);
        self.bytes += cost(fields);
        while self.bytes > KEPT_BYTES_MAX && self.order.len() > 1 {
            let oldest = self.order.pop_front();
            let fields = oldest.and_then(|oldest| self.fields.remove(&oldest));
            self.bytes -= fields.map_or(0, |fields| cost(&fields));
        }
    }
}

fn cost(fields: &SelectableFields) -> usize {
    BESIDE_FIELDS_BYTES + fields.bytes()
}
