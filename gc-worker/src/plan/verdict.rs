//! What the owners of an object mean for it, by their classes.

use hindsight_core::event::OwnerClass;

/// What becomes of an object that is not being deleted. The step that is planned for it, and whether others
/// wait for that step, both follow from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The kind of an owner is unknown, so nothing happens.
    Undecidable,
    /// Every owner is solid.
    Stays,
    /// A solid owner holds it, and it loses the references to the others.
    LosesOwners,
    /// No owner holds it.
    Goes {
        /// An owner waits for it.
        waiting: bool,
    },
}

impl Verdict {
    pub(super) fn of(classes: &[OwnerClass]) -> Self {
        let any = |class| classes.contains(&class);
        if any(OwnerClass::Unresolvable) {
            Self::Undecidable
        } else if classes.iter().all(|class| *class == OwnerClass::Solid) {
            Self::Stays
        } else if any(OwnerClass::Solid) {
            Self::LosesOwners
        } else {
            let waiting = any(OwnerClass::Waiting);
            Self::Goes { waiting }
        }
    }
}
