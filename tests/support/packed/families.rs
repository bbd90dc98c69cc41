//! The families that are looked at.

use super::family::{Extra, Family, Traits};

const fn of(held: bool, cluster: bool, extra: Extra) -> Traits {
    Traits {
        held,
        cluster,
        extra,
    }
}

/// Whatever may be special about an object without a deletion policy of its own.
pub const EVERY_KIND: &[Traits] = &[
    of(false, false, Extra::None),
    of(true, false, Extra::None),
    of(false, true, Extra::None),
    of(true, true, Extra::None),
    of(false, false, Extra::Absent),
    of(true, false, Extra::Absent),
    of(false, true, Extra::Absent),
    of(true, true, Extra::Absent),
    of(false, false, Extra::AbsentBlocked),
    of(true, false, Extra::AbsentBlocked),
    of(false, true, Extra::AbsentBlocked),
    of(true, true, Extra::AbsentBlocked),
    of(false, false, Extra::Unknown),
    of(true, false, Extra::Unknown),
    of(false, true, Extra::Unknown),
    of(true, true, Extra::Unknown),
];

/// Dangling references and scopes in every combination, then whatever else the graphs of three objects
/// have that are explored state by state.
const FOUR_KINDS: &[Traits] = &[
    of(false, false, Extra::None),
    of(false, false, Extra::Absent),
    of(false, true, Extra::None),
    of(false, true, Extra::Absent),
    of(true, false, Extra::None),
    of(false, false, Extra::Unknown),
];

/// All graphs of up to three objects, each with whatever is special in every combination. To these lead
/// the steps by which one of four objects goes: a reference to it is like one to nothing.
pub const fn of_everything(objects: usize) -> Family {
    Family {
        objects,
        kinds: EVERY_KIND,
        known: 0,
    }
}

/// All graphs of four objects of either scope, with dangling references or without.
pub const FOUR_OF_EITHER_SCOPE: Family = Family {
    objects: 4,
    kinds: FOUR_KINDS.split_at(4).0,
    known: 0,
};

/// The graphs of four objects in which some also have a client's finalizer, or refer to an unknown kind.
pub const FOUR_MORE: Family = Family {
    objects: 4,
    kinds: FOUR_KINDS,
    known: 4,
};
