//! Micro-benchmarks of single parts, through the public API of their crates. To run them:
//! `cargo bench -p hindsight-benches`.
#![allow(
    clippy::expect_used,
    reason = "a measurement stops where its ground is not what it expects"
)]

use bytes::Bytes;
use divan::{Bencher, black_box, counter::ItemsCount};
use hindsight_benches::stepped;
use hindsight_benches::world::{self, MAPS, World};
use hindsight_core::classify::classify;
use hindsight_core::command::Patch;
use hindsight_core::object::Name;
use hindsight_core::selector::{FieldSelector, LabelSelector, SelectableFields};
use hindsight_core::{Intent, Object, Revision, apply, decide, patch};
use hindsight_gc::{Collector, due};
use hindsight_log::{Log, Reader};
use hindsight_projector::OwnershipGraph;
use http::Method;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The allocator that the server uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Objects that exist before the measurement.
const OBJECTS: usize = 10_000;
/// Commands of one batch.
const BATCH: usize = 64;
const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn main() {
    divan::main();
}

fn world() -> World {
    World::new(OBJECTS).expect("a world")
}

/// Measures one decision on a state of `OBJECTS` objects.
fn bench_decide(bencher: Bencher<'_, '_>, intent: impl Fn() -> Intent + Sync) {
    let world = world();
    let state = world.state();
    bencher
        .with_inputs(|| world.command(intent()))
        .bench_local_values(|command| decide(&state, command).expect("it is accepted"));
}

#[divan::bench]
fn decide_create(bencher: Bencher<'_, '_>) {
    bench_decide(bencher, || world::create(OBJECTS));
}

#[divan::bench]
fn decide_update(bencher: Bencher<'_, '_>) {
    bench_decide(bencher, || world::update(OBJECTS / 2, "another value"));
}

#[divan::bench]
fn decide_delete(bencher: Bencher<'_, '_>) {
    bench_decide(bencher, || world::delete(OBJECTS / 2));
}

#[divan::bench]
fn apply_create(bencher: Bencher<'_, '_>) {
    let world = world();
    let state = world.state();
    let command = world.command(world::create(OBJECTS));
    let decision = decide(&state, command).expect("it is accepted");
    let commit = decision.commits.first().expect("a commit");
    bencher
        .with_inputs(|| (*state).clone())
        .bench_local_values(|mut state| {
            apply(&mut state, commit);
            state
        });
}

/// Encodes a decided batch as a frame, hashes it and publishes it.
#[divan::bench]
fn encode_frame_of_64(bencher: Bencher<'_, '_>) {
    let world = world();
    let mut made = OBJECTS;
    bencher
        .counter(ItemsCount::new(BATCH))
        .with_inputs(|| {
            let batch = made..made + BATCH;
            made += BATCH;
            let commands = batch.map(|index| world.command(world::create(index)));
            world.plane.decide(commands.collect()).expect("a decision")
        })
        .bench_local_refs(|_| assert!(world.plane.sync()));
}

#[divan::bench]
fn decode_frame_of_64(bencher: Bencher<'_, '_>) {
    let world = World::new(BATCH).expect("a world");
    let reader = Reader::new(world.plane.storage());
    bencher
        .counter(ItemsCount::new(BATCH))
        .bench_local(|| assert_eq!(reader.scan(Revision(2)).count(), BATCH));
}

/// Opens a log: from its frames to the state.
#[divan::bench]
fn fold(bencher: Bencher<'_, '_>) {
    let world = world();
    bencher
        .counter(ItemsCount::new(OBJECTS + 1))
        .bench_local(|| Log::open(world.plane.storage(), stepped::empty()).expect("a log"));
}

/// A world with an owner and its dependent, and the dependent.
fn family() -> (World, Arc<Object>) {
    let world = world();
    let owner = world.state();
    let owner = owner.get(&world::key(0)).expect("an owner");
    let owned = world::owned(OBJECTS, Some((0, owner.meta.uid.as_str())));
    world.write(vec![owned]).expect("a dependent");
    let state = world.state();
    let dependent = state.get(&world::key(OBJECTS)).expect("a dependent");
    (world, Arc::clone(dependent))
}

#[divan::bench]
fn classify_owner(bencher: Bencher<'_, '_>) {
    let (world, dependent) = family();
    let state = world.state();
    let reference = dependent.owners().first().expect("an owner");
    bencher.bench_local(|| classify(&state, black_box(&dependent), reference));
}

/// Finds all that is due on a whole state; the figure is per object.
#[divan::bench]
fn plan_of_all(bencher: Bencher<'_, '_>) {
    let (world, _) = family();
    world.write(vec![world::delete(0)]).expect("a deletion");
    let state = world.state();
    let graph = OwnershipGraph::rebuild(&state);
    bencher
        .counter(ItemsCount::new(OBJECTS))
        .bench_local(|| assert_eq!(due(&graph, &state).len(), 1));
}

/// The collector observes a change that makes nothing due.
#[divan::bench]
fn observe_change(bencher: Bencher<'_, '_>) {
    let world = world();
    world.plane.take_changes();
    world
        .write(vec![world::update(1, "observed")])
        .expect("a change");
    let changes = world.plane.take_changes();
    let change = changes.first().expect("a change");
    let mut collector = Collector::new(&world.state());
    bencher.bench_local(|| collector.observe(change));
}

#[divan::bench]
fn label_selector(bencher: Bencher<'_, '_>) {
    let selector = LabelSelector::parse("app=web,tier in (front, back),!canary").expect("valid");
    let labels: BTreeMap<Name, Name> = [("app", "web"), ("tier", "front")]
        .map(|(key, value)| (key.into(), value.into()))
        .into();
    bencher.bench_local(|| assert!(selector.matches(black_box(&labels))));
}

#[divan::bench]
fn field_selector(bencher: Bencher<'_, '_>) {
    let world = World::new(1).expect("a world");
    let state = world.state();
    let kind = state.kinds.by_kind("", "ConfigMap").expect("a kind");
    let text = "metadata.name=c000000,metadata.namespace!=kube-system";
    let selector = FieldSelector::parse(text, kind, "v1").expect("valid");
    let fields = SelectableFields::default();
    bencher.bench_local(|| {
        assert!(selector.matches(black_box("default"), "c000000", &fields));
    });
}

fn form_of(patch: &Patch) -> &'static str {
    match patch {
        Patch::Json(_) => "json",
        Patch::Merge(_) => "merge",
        Patch::Strategic(_) => "strategic",
        Patch::Apply { .. } => "apply",
    }
}

/// Three patches of one small document, one per format.
static PATCHES: LazyLock<[Patch; 3]> = LazyLock::new(|| {
    [
        Patch::Json(json!([
            {"op": "test", "path": "/data/key", "value": "a value of about forty bytes, more or less"},
            {"op": "replace", "path": "/data/key", "value": "patched"},
            {"op": "add", "path": "/metadata/labels/patched", "value": "yes"},
        ])),
        Patch::Merge(json!({"data": {"key": "patched"}, "metadata": {"labels": {"tier": null}}})),
        Patch::Strategic(
            json!({"data": {"key": "patched"}, "metadata": {"labels": {"tier": null}}}),
        ),
    ]
});

#[divan::bench(args = ["json", "merge", "strategic"])]
fn patches(bencher: Bencher<'_, '_>, form: &str) {
    let live = world::map(0, None);
    let patch = PATCHES.iter().find(|patch| form_of(patch) == form);
    let patch = patch.expect("a patch");
    bencher.bench_local(|| patch::apply(black_box(&live), patch).expect("it applies"));
}

/// Measures an answer of the API, without a socket.
fn answers(bencher: Bencher<'_, '_>, (path, accept): (&str, &str), items: usize) {
    let world = world();
    let ask = || world.ask(Method::GET, path, accept, Bytes::new());
    bencher
        .counter(ItemsCount::new(items))
        .bench_local(|| ask().expect("an answer"));
}

#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let path = format!("{MAPS}/{}", world::name(OBJECTS / 2));
    answers(bencher, (&path, JSON), 1);
}

#[divan::bench]
fn encode_list(bencher: Bencher<'_, '_>) {
    answers(bencher, (MAPS, JSON), OBJECTS);
}

#[divan::bench]
fn encode_table(bencher: Bencher<'_, '_>) {
    answers(bencher, (MAPS, TABLE), OBJECTS);
}

/// Encodes the event that one watcher is sent for one write.
#[divan::bench(args = [JSON, TABLE])]
fn encode_watch_event(bencher: Bencher<'_, '_>, accept: &str) {
    let world = world();
    let path = format!(
        "{MAPS}?watch=true&resourceVersion={}",
        world.state().revision
    );
    let watch = world.open(Method::GET, &path, accept, Bytes::new());
    let mut watch = watch.expect("a watch");
    let mut round = 0;
    bencher
        .with_inputs(|| {
            round += 1;
            let intent = world::update(round % OBJECTS, &round.to_string());
            world.write(vec![intent]).expect("a write");
        })
        .bench_local_values(|()| world.next(&mut watch).expect("an event"));
}
