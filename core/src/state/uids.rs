//! Which uids live objects have: none may be given to two. Kept as fingerprints, which take a fifth of the space.

use crate::object::{Object, Uid};
use imbl::OrdSet;

/// Fingerprints of the uids of all objects. Uids are random, so that two of them have the same one only if chance
/// gives them the same eight bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Uids(OrdSet<u64>);

impl Uids {
    pub(super) fn contains(&self, uid: &Uid) -> bool {
        self.0.contains(&fingerprint(uid))
    }

    /// Records that an object was created, changed or removed.
    pub(super) fn replace(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let uid = |object: Option<&Object>| object.map(|object| fingerprint(&object.meta.uid));
        let (old, new) = (uid(old), uid(new));
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.0.remove(&old);
        }
        if let Some(new) = new {
            self.0.insert(new);
        }
    }
}

/// FNV-1a.
fn fingerprint(uid: &Uid) -> u64 {
    let bytes = uid.as_str().bytes();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
