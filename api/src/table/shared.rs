//! Columns that several watches keep. A definition may have megabytes of them.

use super::columns::{Column, columns};
use crate::defined::Defined;
use crate::unpoisoned::unpoisoned;
use hindsight_core::kind::{KindRef, Version};
use hindsight_core::object::Name;
use std::sync::{Arc, Mutex, Weak};

/// The columns of each version of a kind, for as long as somebody keeps them.
#[derive(Default)]
pub(crate) struct SharedColumns(Mutex<Vec<Shared>>);

struct Shared {
    kind: Defined,
    version: Name,
    columns: Weak<[Column]>,
}

impl SharedColumns {
    /// The columns of a version, made if nobody keeps them.
    pub(super) fn of(&self, kind: &KindRef, version: &Version) -> Arc<[Column]> {
        if let Some(kept) = self.kept(kind, version) {
            return kept;
        }
        self.keep(kind, version, columns(kind, version).into())
    }

    fn kept(&self, kind: &KindRef, version: &Version) -> Option<Arc<[Column]>> {
        let mut all = unpoisoned(self.0.lock());
        all.retain(|shared| shared.columns.strong_count() > 0);
        found(&all, &Defined::of(kind), version)
    }

    /// Shares what was made, unless somebody was faster: then what that one keeps.
    fn keep(&self, kind: &KindRef, version: &Version, made: Arc<[Column]>) -> Arc<[Column]> {
        let kind = Defined::of(kind);
        let mut all = unpoisoned(self.0.lock());
        if let Some(kept) = found(&all, &kind, version) {
            return kept;
        }
        all.push(Shared {
            kind,
            version: Arc::clone(&version.name),
            columns: Arc::downgrade(&made),
        });
        made
    }
}

fn found(all: &[Shared], kind: &Defined, version: &Version) -> Option<Arc<[Column]>> {
    let of_version = |shared: &&Shared| shared.kind == *kind && shared.version == version.name;
    all.iter().find(of_version)?.columns.upgrade()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin_kinds;
    use hindsight_core::{GroupResource, State};

    #[test]
    fn columns_are_shared_for_as_long_as_somebody_keeps_them() {
        let state = State::new(builtin_kinds());
        let of = |resource: &str| {
            let resource = GroupResource::new("", resource);
            let kind = state.kinds.by_resource(&resource).expect("a kind");
            let version = kind.served("v1").expect("served");
            (Arc::clone(kind), Arc::clone(version))
        };
        let (maps, pods) = (of("configmaps"), of("pods"));
        let shared = SharedColumns::default();
        let [one, two] = [&maps, &maps].map(|(kind, version)| shared.of(kind, version));
        assert!(Arc::ptr_eq(&one, &two));
        // As if both had begun to make them at the same time.
        let late = shared.keep(&maps.0, &maps.1, columns(&maps.0, &maps.1).into());
        assert!(Arc::ptr_eq(&one, &late));
        // As if it were defined anew.
        let defined = Arc::new((*maps.0).clone());
        let anew = shared.of(&defined, &maps.1);
        assert!(!Arc::ptr_eq(&one, &anew));
        assert_eq!(Arc::strong_count(&defined), 1, "only its columns are kept");
        let other = shared.of(&pods.0, &pods.1);
        assert_ne!(one.len(), other.len());
        drop((one, two, late, anew));
        assert!(shared.kept(&maps.0, &maps.1).is_none());
        assert_eq!(
            shared.0.lock().expect("a lock").len(),
            1,
            "what nobody keeps is forgotten"
        );
    }
}
