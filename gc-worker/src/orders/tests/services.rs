//! The endpoints of a service go with it: in the request that removes it, or before what is below them is decided.

use super::super::{FEW_STEPS, difference, run_to_end};
use super::{MAPS, Orders};
use crate::due;
use crate::testing::{empty, put, write};
use crate::trial::{anonymous_command, anonymous_request, carry_out};
use hindsight_core::command::{Delete, Target};
use hindsight_core::{Change, Intent, ObjectKey, Rule, State, Time};
use hindsight_projector::OwnershipGraph;
use serde_json::{Value, json};

/// Group, resource and kind; all have a version v1.
type Kind = (&'static str, &'static str, &'static str);

const MAP: Kind = (MAPS.0, MAPS.1, "ConfigMap");
const ENDPOINTS: Kind = ("", "endpoints", "Endpoints");
const SERVICE: Kind = ("", "services", "Service");
const LEASE: Kind = ("coordination.k8s.io", "leases", "Lease");
const ROLE: Kind = ("rbac.authorization.k8s.io", "roles", "Role");
const DEFINITION: Kind = (
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "CustomResourceDefinition",
);
const FOREGROUND: &str = "foregroundDeletion";
const HELD: &str = "x/y";

fn version((group, _, _): Kind) -> String {
    [group, "v1"].join("/").trim_start_matches('/').to_owned()
}

/// A reference that blocks. Who is not there is referred to as well.
fn owner(kind: Kind, name: &str) -> Value {
    json!({"apiVersion": version(kind), "kind": kind.2, "name": name, "uid": uid(kind, name),
        "blockOwnerDeletion": true})
}

fn uid((_, resource, _): Kind, name: &str) -> String {
    format!("{resource}-{name}")
}

fn gone() -> Value {
    owner(MAP, "gone")
}

fn document(kind: Kind, name: &str, owners: &[Value], finalizers: &[&str]) -> Value {
    json!({"apiVersion": version(kind), "kind": kind.2, "metadata": {"name": name,
        "namespace": "n", "uid": uid(kind, name), "ownerReferences": owners,
        "finalizers": finalizers}})
}

fn add(state: &mut State, kind: Kind, name: &str, owners: &[Value]) {
    put(state, (kind.0, kind.1), document(kind, name, owners, &[]));
}

/// Marks an object, which these finalizers hold from then on.
fn mark(state: &mut State, kind: Kind, name: &str, finalizers: &[&str]) {
    let key = key(kind, name);
    let before = state.get(&key).expect("it is there");
    let mut document = before.document();
    document["metadata"]["finalizers"] = json!(finalizers);
    document["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    write(state, (kind.0, kind.1), document);
}

fn key((group, resource, _): Kind, name: &str) -> ObjectKey {
    let resource = hindsight_core::GroupResource::new(group, resource);
    ObjectKey::new(resource, "n", name)
}

/// The verdict on a log that consists of these changes, and how many runs were repeated.
fn verdict(begin: &State, changes: &[Change]) -> (Option<String>, u64) {
    let (mut state, mut orders) = (begin.clone(), Orders::default());
    let observed = changes.iter().try_for_each(|change| {
        orders.observe(&state, &change.commit)?;
        hindsight_core::apply(&mut state, &change.commit);
        Ok(())
    });
    let told = observed.and_then(|()| orders.end(&state)).err();
    (told.map(|told| told.to_string()), orders.repeated())
}

/// What the collector does next, in one batch.
fn collected(begin: &State) -> Vec<Change> {
    let mut state = begin.clone();
    let steps = due(&OwnershipGraph::rebuild(&state), &state);
    let done = steps.into_iter().map(|step| {
        let command = anonymous_command(step, Time(0));
        carry_out(&mut state, command).map_or_else(|_| Vec::new(), |(_, changes)| changes)
    });
    done.flatten().collect()
}

#[test]
fn what_goes_with_a_service_belongs_to_the_request_that_removed_it_or_to_the_run() {
    for held in [&[][..], &[HELD]] {
        for (owners, runs) in [(&[][..], 0), (&[gone()], 1)] {
            let mut begin = empty();
            add(&mut begin, SERVICE, "s", owners);
            let endpoints = document(ENDPOINTS, "s", &[], held);
            put(&mut begin, (ENDPOINTS.0, ENDPOINTS.1), endpoints);
            let target = Target::any(key(SERVICE, "s"));
            let delete = Delete::new(target, "v1".into(), Rule::Requested);
            let request = anonymous_request(Intent::Delete(delete), Time(0));
            let changes = match owners {
                [] => carry_out(&mut begin.clone(), request).expect("gone").1,
                _ => collected(&begin),
            };
            assert_eq!(changes.len(), 2, "both go");
            assert_eq!(verdict(&begin, &changes), (None, runs), "{held:?}");
        }
    }
}

/// `x`, which `y` holds, loses the waiting owner `w` as long as `d` is there, and waits for `y` with `w` if `d` has gone
/// before. `d` goes with the endpoints of a service, of which so many other objects are decided with.
fn where_endpoints_decide(service_owner: &[Value]) -> State {
    let mut state = empty();
    add(&mut state, SERVICE, "s", service_owner);
    add(&mut state, ENDPOINTS, "s", &[]);
    add(&mut state, MAP, "d", &[owner(ENDPOINTS, "s")]);
    add(&mut state, MAP, "w", &[]);
    add(&mut state, ROLE, "x", &[owner(MAP, "d"), owner(MAP, "w")]);
    let held = document(MAP, "y", &[owner(ROLE, "x")], &[HELD]);
    put(&mut state, MAPS, held);
    for number in 0..=FEW_STEPS {
        add(&mut state, LEASE, &format!("l{number}"), &[gone()]);
    }
    mark(&mut state, MAP, "w", &[FOREGROUND]);
    state
}

/// Where the collector comes to rest, which must be the same however it goes on.
#[track_caller]
fn rest(begin: &State) -> State {
    let run = |limit, reversed| run_to_end(begin.clone(), Time(0), limit, reversed);
    let [first, others @ ..] = [
        run(usize::MAX, false),
        run(usize::MAX, true),
        run(FEW_STEPS, false),
        run(1, false),
    ]
    .map(|end| end.expect("no service is released"));
    for other in others {
        assert_eq!(difference(&first, &other), None);
    }
    first
}

#[test]
fn what_is_below_endpoints_is_decided_after_their_service_however_long_batches_are() {
    let end = rest(&where_endpoints_decide(&[gone()]));
    for (kind, name) in [(SERVICE, "s"), (ENDPOINTS, "s"), (MAP, "d")] {
        assert!(end.get(&key(kind, name)).is_none(), "{name} is left");
    }
    for (kind, name) in [(MAP, "w"), (ROLE, "x")] {
        let waits = end.get(&key(kind, name)).map(|one| one.is_waiting());
        assert_eq!(waits, Some(true), "{name}");
    }
}

/// Decision 5 names this rest.
#[test]
fn a_run_in_which_a_service_is_released_and_takes_endpoints_along_is_passed_over() {
    let mut begin = where_endpoints_decide(&[]);
    mark(&mut begin, SERVICE, "s", &[FOREGROUND]);
    let changes = collected(&begin);
    let is_release = |change: &&Change| change.commit.key == key(SERVICE, "s");
    let at = changes.iter().position(|one| is_release(&one));
    assert!(at.is_some_and(|at| at > 0), "it is not the first step");
    for known in [1, changes.len()] {
        assert_eq!(verdict(&begin, &changes[..known]), (None, 0), "{known}");
    }
    // Without endpoints it is a run like any other.
    let mut begin = empty();
    add(&mut begin, SERVICE, "s", &[]);
    mark(&mut begin, SERVICE, "s", &[FOREGROUND]);
    assert_eq!(verdict(&begin, &collected(&begin)), (None, 1));
}

/// Endpoints own what owns their service, and something above is gone.
#[test]
fn a_cycle_through_a_service_and_its_endpoints_comes_to_rest() {
    let cycle = |of_map: Value| {
        let mut state = empty();
        add(&mut state, MAP, "a", &[of_map, gone()]);
        add(&mut state, SERVICE, "s", &[owner(MAP, "a"), gone()]);
        add(&mut state, ENDPOINTS, "s", &[gone()]);
        state
    };
    // They own it, or only seem to.
    let mut misspelt = owner(ENDPOINTS, "s");
    misspelt["name"] = json!("t");
    for of_map in [owner(ENDPOINTS, "s"), misspelt] {
        assert_eq!(rest(&cycle(of_map)).objects().count(), 0);
    }
    let mut owns_its_service = empty();
    let owners = [owner(ENDPOINTS, "s"), gone()];
    add(&mut owns_its_service, SERVICE, "s", &owners);
    add(&mut owns_its_service, ENDPOINTS, "s", &[]);
    assert_eq!(rest(&owns_its_service).objects().count(), 2);
}

/// The service goes with the first definition, and its endpoints then wait for `both`, which loses them while it has the
/// other definition: that ends later, and `both` goes in the background.
#[test]
fn of_two_definitions_that_matter_to_endpoints_the_first_by_name_ends_first() {
    let definition = |name: &str| {
        let mut document = document(
            DEFINITION,
            name,
            &[],
            &["customresourcecleanup.apiextensions.k8s.io"],
        );
        document["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
        let metadata = document["metadata"].as_object_mut().expect("an object");
        metadata.remove("namespace");
        document
    };
    let mut state = empty();
    for name in ["a.x.io", "b.x.io"] {
        put(&mut state, (DEFINITION.0, DEFINITION.1), definition(name));
    }
    add(&mut state, SERVICE, "s", &[owner(DEFINITION, "a.x.io")]);
    let endpoints = document(ENDPOINTS, "s", &[], &[FOREGROUND]);
    put(&mut state, (ENDPOINTS.0, ENDPOINTS.1), endpoints);
    let owners = [owner(ENDPOINTS, "s"), owner(DEFINITION, "b.x.io")];
    add(&mut state, MAP, "both", &owners);
    put(
        &mut state,
        MAPS,
        document(MAP, "held", &[owner(MAP, "both")], &[HELD]),
    );
    let end = rest(&state);
    let left: Vec<&str> = end.objects().map(|one| &*one.key.name).collect();
    assert_eq!(left, ["held"]);
}

/// A number below `end` from the state of a generator (xorshift).
fn roll(dice: &mut u64, end: usize) -> usize {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    usize::try_from(*dice >> 40).expect("24 bits") % end
}

/// Two services with endpoints, and objects that own each other and them, or are owned; some wait or are held.
fn random_graph(seed: u64) -> State {
    let dice = &mut seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let pairs = ["s", "t"].map(|name| [(SERVICE, name), (ENDPOINTS, name)]);
    let maps = ["a", "b", "c", "d"].map(|name| (MAP, name));
    let roles = ["x", "y"].map(|name| (ROLE, name));
    let all: Vec<(Kind, &str)> = [&pairs.concat()[..], &maps, &roles].concat();
    let mut state = empty();
    let mut marked = Vec::new();
    for (kind, name) in all.iter().copied() {
        let mut owners = Vec::new();
        for _ in 0..roll(dice, 3) {
            let found = all.get(roll(dice, all.len() + 3));
            let mut owner = found.map_or_else(gone, |(kind, name)| owner(*kind, name));
            owner["blockOwnerDeletion"] = json!(roll(dice, 2) > 0);
            owners.push(owner);
        }
        let (held, is_marked) = match roll(dice, 6) {
            0 => (&[HELD][..], false),
            1 if kind != SERVICE => (&[FOREGROUND][..], true),
            2 if kind != SERVICE && roll(dice, 2) > 0 => (&["orphan"][..], true),
            _ => (&[][..], false),
        };
        let document = document(kind, name, &owners, held);
        put(&mut state, (kind.0, kind.1), document);
        marked.extend(is_marked.then_some((kind, name, held)));
    }
    for (kind, name, held) in marked {
        mark(&mut state, kind, name, held);
    }
    state
}

/// A service that comes to wait is released at a time that may matter.
#[test]
fn graphs_with_services_and_endpoints_have_one_end() {
    let mut compared = 0;
    for seed in 1..=1_500 {
        let begin = random_graph(seed);
        let run = |limit, reversed| run_to_end(begin.clone(), Time(0), limit, reversed);
        let Some(first) = run(usize::MAX, false) else {
            continue;
        };
        for (limit, reversed) in [(usize::MAX, true), (FEW_STEPS, false), (1, false)] {
            if let Some(other) = run(limit, reversed) {
                assert_eq!(difference(&first, &other), None, "seed {seed}");
                compared += 1;
            }
        }
    }
    assert!(compared > 3_000, "{compared} are few");
}
