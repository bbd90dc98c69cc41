//! What becomes of the answers to a batch.

use super::Collector;
use crate::testing::world;
use hindsight_core::{Rejection, State, Time};

fn steps(collector: &mut Collector, state: &State) -> usize {
    collector.next_batch(state, Time(0), 10).len()
}

#[test]
fn what_was_out_of_date_is_looked_at_again_and_what_was_refused_is_not() {
    let state = world(&[("d", &["gone"])]);
    let key = state.objects().next().expect("the object").key.clone();
    let stale = Rejection::Stale {
        key,
        reason: "another version".into(),
    };
    for (answer, again) in [(stale, 1), (Rejection::Internal("no".into()), 0)] {
        let mut collector = Collector::new(&state);
        assert_eq!(steps(&mut collector, &state), 1);
        collector.settle([Err(&answer)].into_iter());
        assert_eq!(steps(&mut collector, &state), again, "{answer:?}");
    }
}
