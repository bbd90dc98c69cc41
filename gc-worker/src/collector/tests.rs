//! What becomes of the answers to a batch.

use super::Collector;
use crate::testing::{empty, put, world};
use hindsight_core::{Rejection, State, Time};
use serde_json::json;

fn steps(collector: &mut Collector, state: &State) -> usize {
    collector.next_batch(state, Time(0), 10).len()
}

fn definition_that_goes() -> State {
    let mut state = empty();
    let document = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", "deletionTimestamp": "2024-01-01T00:00:00Z",
            "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]}});
    let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
    put(&mut state, definitions, document);
    state
}

#[test]
fn what_was_out_of_date_is_looked_at_again_and_what_was_refused_is_not() {
    for state in [world(&[("d", &["gone"])]), definition_that_goes()] {
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
}
