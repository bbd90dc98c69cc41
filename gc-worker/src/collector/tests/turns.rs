//! When those who wait for others are looked at again.

use super::{CONFIG_MAPS, keep_only, pruned};
use crate::collector::{AGAIN_MAX, Collector};
use crate::testing::{world, write};
use hindsight_core::{Rejection, State, Time};
use serde_json::json;

/// More dependents than are looked at again in one turn. Each has the owner `above`, which is decided first, and one
/// that is gone. One of the owners of `above` waits for it.
fn dependents() -> (Vec<String>, State) {
    let names: Vec<String> = (0..=AGAIN_MAX).map(|number| format!("d{number}")).collect();
    let both: &[&str] = &["above", "gone"];
    let dependents = names.iter().map(|name| (&**name, both));
    let above: [(&str, &[&str]); 3] = [
        ("stays", &[]),
        ("waits!foregroundDeletion,x/y", &[]),
        ("above", &["stays", "waits"]),
    ];
    let all: Vec<(&str, &[&str])> = above.into_iter().chain(dependents).collect();
    let state = world(&all);
    (names, state)
}

/// The owner of `above` waits no more, so that nothing happens to `above` itself.
#[test]
fn all_who_wait_for_one_are_looked_at_as_soon_as_it_is_decided() {
    let (names, mut state) = dependents();
    let mut collector = Collector::new(&state);
    let batch = collector.next_batch(&state, Time(0), 100);
    assert_eq!(pruned(&batch), ["above"]);
    collector.settle(std::iter::once(Err(&Rejection::Internal("no".into()))));
    let owner = state.objects().find(|object| &*object.key.name == "waits");
    let owner = owner.cloned().expect("the owner");
    keep_only(&mut collector, &mut state, &owner, "x/y");
    let batch = collector.next_batch(&state, Time(0), 100);
    assert_eq!(pruned(&batch).len(), names.len());
}

/// Nobody tells the collector that there is nothing left to decide about the owner and most of its dependents.
/// The others must not wait for ever.
#[test]
fn all_who_wait_are_looked_at_when_nothing_else_can_be_done() {
    let (names, mut state) = dependents();
    let mut collector = Collector::new(&state);
    assert_eq!(collector.next_batch(&state, Time(0), 100).len(), 1);
    collector.settle(std::iter::once(Err(&Rejection::Internal("no".into()))));
    let (last, others) = names.split_last().expect("dependents");
    let others = others.iter().map(|name| &**name);
    for name in others.chain(["above"]) {
        let metadata = json!({"name": name, "namespace": "n"});
        let freed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        write(&mut state, CONFIG_MAPS, freed);
    }
    let batch = collector.next_batch(&state, Time(0), 100);
    assert_eq!(pruned(&batch), [last]);
}
