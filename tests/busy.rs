//! Objects that somebody writes to all the time are collected like any others.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_tests::http::Client;
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy};
use hindsight_tests::wait::wait_until;
use hindsight_tests::world::World;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MERGE: &str = "application/merge-patch+json";

/// Turns of the collector, in each of which everything is written to between the plan and the decisions.
const TURNS_MAX: usize = 100;

/// Objects by name, with the names of their owners, of which `nobody` does not exist, and their finalizers.
type Objects = &'static [(
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
)];

/// What is deleted, and how.
type Deletions = &'static [(&'static str, Policy)];

/// For each kind of step of the collector, objects for which it takes that step.
const CASES: &[(&str, Objects, Deletions)] = &[
    (
        "in the background, through two levels",
        &[("a", &[], &[]), ("b", &["a"], &[]), ("c", &["b"], &[])],
        &[("a", Policy::Background)],
    ),
    (
        "because of an owner that never was",
        &[("a", &["nobody"], &[]), ("b", &["a"], &[])],
        &[],
    ),
    (
        "by their own policies",
        &[
            ("a", &[], &[]),
            ("b", &["a"], &["orphan"]),
            ("c", &["b"], &[]),
        ],
        &[("a", Policy::Background)],
    ),
    (
        "in the foreground, through two levels",
        &[("a", &[], &[]), ("b", &["a"], &[]), ("c", &["b"], &[])],
        &[("a", Policy::Foreground)],
    ),
    (
        "one of two owners",
        &[
            ("a", &[], &[]),
            ("b", &[], &["x/y"]),
            ("c", &["a", "b"], &[]),
        ],
        &[("a", Policy::Foreground), ("b", Policy::Background)],
    ),
    (
        "a dependent that has to stop blocking",
        &[("a", &["c"], &[]), ("b", &["a"], &[]), ("c", &["b"], &[])],
        &[("a", Policy::Foreground)],
    ),
    (
        "a deadlock",
        &[
            ("a", &["b"], &[]),
            ("b", &["a"], &[]),
            ("c", &["a"], &["x/y"]),
        ],
        &[("a", Policy::Foreground), ("b", Policy::Foreground)],
    ),
    (
        "dependents that stay",
        &[("a", &[], &[]), ("b", &["a"], &[]), ("c", &["a", "b"], &[])],
        &[("a", Policy::Orphan)],
    ),
];

fn patch(world: &mut World, name: &str, metadata: &Value) {
    let key = naive::key(Kind::ConfigMap, "n1", name);
    let patched = world.run(naive::patch(key, json!({"metadata": metadata})));
    patched.expect("accepted");
}

fn metadata(world: &World, name: &str) -> Option<Value> {
    let key = naive::key(Kind::ConfigMap, "n1", name);
    let mut document = world.state.get(&key)?.document();
    document.get_mut("metadata").map(Value::take)
}

fn world(objects: Objects, deletions: Deletions) -> World {
    let mut world = World::new();
    world.run(naive::create_namespace("n1")).expect("created");
    for (name, _, finalizers) in objects {
        let object = json!({"metadata": {"name": name, "finalizers": finalizers}});
        let created = world.run(naive::create(Kind::ConfigMap, "n1", object));
        created.expect("created");
    }
    for (name, owners, _) in objects {
        let reference = |owner: &&str| {
            let uid = metadata(&world, owner).and_then(|it| it.get("uid").cloned());
            let uid = uid.unwrap_or_else(|| json!("never"));
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid,
                "blockOwnerDeletion": true})
        };
        let owners: Vec<Value> = owners.iter().map(reference).collect();
        patch(&mut world, name, &json!({"ownerReferences": owners}));
    }
    for (name, policy) in deletions {
        let key = naive::key(Kind::ConfigMap, "n1", name);
        let deleted = world.run(naive::delete(key, Some(*policy)));
        deleted.expect("accepted");
    }
    world
}

/// What is left of these objects: their owners, their finalizers, and whether they are being deleted.
fn left(world: &World, objects: Objects) -> Vec<Option<Value>> {
    let left = objects.iter().map(|(name, ..)| {
        let metadata = metadata(world, name)?;
        let member = |name: &str| metadata.get(name).cloned();
        let is_deleting = member("deletionTimestamp").is_some();
        Some(json!([
            member("ownerReferences"),
            member("finalizers"),
            is_deleting
        ]))
    });
    left.collect()
}

#[test]
fn what_is_written_to_between_every_plan_and_its_decision_goes_like_anything_else() {
    for (what, objects, deletions) in CASES {
        let mut quiet = world(objects, deletions);
        quiet.settle(16);
        let mut busy = world(objects, deletions);
        let rests = (0..TURNS_MAX).any(|turn| {
            busy.plan(16);
            for (name, ..) in *objects {
                if metadata(&busy, name).is_some() {
                    let labels = json!({"labels": {"turn": turn.to_string()}});
                    patch(&mut busy, name, &labels);
                }
            }
            !busy.turn(16)
        });
        assert!(rests, "{what}: it is never done\n{}", busy.history());
        assert_eq!(left(&busy, objects), left(&quiet, objects), "{what}");
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/namespaces/default/configmaps/{name}")
}

/// The uid of a new object with this owner.
fn create(client: &Client, name: &str, owner: Option<(&str, &str)>) -> String {
    let owners = owner.map(|(name, uid)| {
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid,
            "blockOwnerDeletion": true}])
    });
    let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
    let answer = client.send("POST", &path(""), "application/json", &object.to_string());
    let created = answer.json();
    let uid = created.pointer("/metadata/uid").and_then(Value::as_str);
    uid.expect("created").to_owned()
}

/// Does this again and again, on as many threads, until the other is done.
fn while_busy(
    plane: &ControlPlane,
    threads: usize,
    work: impl Fn(&Client, usize) + Sync,
    wait: impl FnOnce(),
) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let client = Client::new(plane);
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    work(&client, number);
                    number += 1;
                }
            });
        }
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = waited {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_dependent_and_its_owner_go_while_others_write_to_them_without_a_pause() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let client = Client::new(&plane);
    let owner = create(&client, "owner", None);
    create(&client, "dependent", Some(("owner", &owner)));
    let written = AtomicUsize::new(0);
    let write = |client: &Client, number: usize| {
        let labels = json!({"metadata": {"labels": {"number": number.to_string()}}});
        for name in ["dependent", "owner"] {
            let answer = client.send("PATCH", &path(name), MERGE, &labels.to_string());
            written.fetch_add(usize::from(answer.code == 200), Ordering::Relaxed);
        }
    };
    let is_gone = |name: &str| client.send("GET", &path(name), "", "").code == 404;
    while_busy(&plane, 4, write, || {
        wait_until("nobody writes", || written.load(Ordering::Relaxed) > 0);
        let options = json!({"propagationPolicy": "Foreground"});
        let options = options.to_string();
        client.send("DELETE", &path("owner"), "application/json", &options);
        for name in ["dependent", "owner"] {
            wait_until(&format!("{name} never goes"), || is_gone(name));
        }
    });
}

/// At every moment between two steps of the collector, and between its plans and its decisions.
#[test]
fn whoever_comes_while_an_owner_orphans_is_orphaned_and_whoever_comes_later_goes() {
    const OBJECTS: Objects = &[("owner", &[], &[]), ("old", &["owner"], &[])];
    let mut world = world(OBJECTS, &[("owner", Policy::Orphan)]);
    let uid = metadata(&world, "owner").and_then(|it| it.get("uid").cloned());
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid});
    let mut came: Vec<(String, bool)> = Vec::new();
    let mut come = |world: &mut World| {
        let name = format!("late{}", came.len());
        let owner_is_there = metadata(world, "owner").is_some();
        let object = json!({"metadata": {"name": name, "ownerReferences": [reference]}});
        let created = world.run(naive::create(Kind::ConfigMap, "n1", object));
        created.expect("created");
        came.push((name, owner_is_there));
        owner_is_there
    };
    let is_released = (0..TURNS_MAX).any(|_| {
        world.plan(16);
        come(&mut world);
        world.turn(16);
        !come(&mut world)
    });
    assert!(is_released, "{}", world.history());
    world.plan(16);
    come(&mut world);
    world.settle(16);
    assert!(came.len() > 3, "{came:?}");
    for (name, owner_was_there) in &came {
        let left = metadata(&world, name).map(|it| it.get("ownerReferences").is_some());
        let expected = owner_was_there.then_some(false);
        assert_eq!(left, expected, "{name}\n{}", world.history());
    }
    let old = metadata(&world, "old").expect("it stays");
    assert_eq!(old.get("ownerReferences"), None);
}

#[test]
fn an_owner_orphans_and_goes_while_others_come_without_a_pause() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let client = Client::new(&plane);
    let owner = create(&client, "owner", None);
    create(&client, "old", Some(("owner", &owner)));
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner});
    let late = json!({"metadata": {"generateName": "late-", "ownerReferences": [reference]}});
    // Those after whose coming the owner was still there.
    let came = Mutex::new(Vec::new());
    let come = |client: &Client, _| {
        let answer = client.send("POST", &path(""), "application/json", &late.to_string());
        if answer.code == 201 && client.send("GET", &path("owner"), "", "").code == 200 {
            let made: Value = serde_json::from_str(&answer.text).expect("JSON");
            let name = made["metadata"]["name"]
                .as_str()
                .expect("a name")
                .to_owned();
            came.lock().expect("no panic").push(name);
        }
    };
    while_busy(&plane, 2, come, || {
        wait_until("nobody comes", || {
            !came.lock().expect("no panic").is_empty()
        });
        let options = json!({"propagationPolicy": "Orphan"});
        let options = options.to_string();
        client.send("DELETE", &path("owner"), "application/json", &options);
        let is_gone = || client.send("GET", &path("owner"), "", "").code == 404;
        wait_until("the owner never goes", is_gone);
    });
    // Who came before that stays without an owner, and who came later goes.
    wait_until("some are left with an owner that is gone", || {
        let all = client.send("GET", &path(""), "", "").text;
        !all.contains(&owner)
    });
    let mut stay = came.into_inner().expect("no panic");
    stay.push("old".into());
    for name in stay {
        assert_eq!(client.send("GET", &path(&name), "", "").code, 200, "{name}");
    }
}
