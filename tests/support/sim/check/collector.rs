//! The collector ends where the naive evaluator does.

use super::{Checked, ensure};
use crate::naive;
use crate::reference::World;
use hindsight_core::State;

/// `expected` has yet to come to rest.
pub fn ends_as_expected(mut expected: World, rest: &State) -> Checked {
    let rests = expected.settle();
    ensure("collector as the naive one", rests, || {
        "the naive evaluator does not come to rest".into()
    })?;
    let found = naive::world(rest);
    ensure(
        "collector as the naive one",
        expected.visible() == found.visible(),
        || {
            format!(
                "expected {:#?}, found {:#?}",
                expected.visible(),
                found.visible()
            )
        },
    )
}
