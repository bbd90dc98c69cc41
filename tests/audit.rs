//! The audit of a log finds a fault: sound histories are spoiled, one step at a time.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{Cause, Commit, Event, Intent, Object, Revision, State, builtin};
use hindsight_projector::audit;
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy};
use hindsight_tests::world::World;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

/// An owner with two dependents, one of which blocks it, deleted with this policy.
fn history(policy: Policy) -> Vec<Arc<Commit>> {
    let mut world = World::new();
    let run = |world: &mut World, intent: Intent| world.run(intent).expect("accepted");
    run(&mut world, naive::create_namespace("n1"));
    let owner = json!({"metadata": {"name": "owner"}});
    let decision = run(&mut world, naive::create(Kind::ConfigMap, "n1", owner));
    let uid = decision.outcome.object().meta.uid.to_string();
    for (name, blocks) in [("a", true), ("b", false)] {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid,
            "blockOwnerDeletion": blocks});
        let metadata = json!({"name": name, "ownerReferences": [owner], "finalizers": ["x/y"]});
        let object = json!({"metadata": metadata});
        run(&mut world, naive::create(Kind::ConfigMap, "n1", object));
    }
    let owner = naive::key(Kind::ConfigMap, "n1", "owner");
    run(&mut world, naive::delete(owner, Some(policy)));
    world.settle(1);
    for name in ["a", "b"] {
        let key = naive::key(Kind::ConfigMap, "n1", name);
        let patch = json!({"metadata": {"finalizers": null}});
        run(&mut world, naive::patch(key, patch));
        world.settle(1);
    }
    let changes = world.changes.iter();
    changes.map(|change| Arc::clone(&change.commit)).collect()
}

/// What the audit says of this log; nothing where it passes.
fn fault(log: &[Commit]) -> Option<String> {
    let empty = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
    let commits = log.iter().cloned().map(Ok::<_, Infallible>);
    let audited = audit(empty, &[], commits, |_| {});
    audited.err().map(|fault| fault.to_string())
}

fn log(policy: Policy) -> Vec<Commit> {
    let commits = history(policy);
    commits.iter().map(|commit| (**commit).clone()).collect()
}

/// The log without some of its commits, numbered anew.
fn without(log: &[Commit], dropped: impl Fn(&Commit) -> bool) -> Vec<Commit> {
    let kept = log.iter().filter(|commit| !dropped(commit));
    kept.zip(1..)
        .map(|(commit, revision)| renumbered(commit, Revision(revision)))
        .collect()
}

fn renumbered(commit: &Commit, revision: Revision) -> Commit {
    let moved = |object: &Arc<Object>| {
        let mut object = (**object).clone();
        object.revision = revision;
        Arc::new(object)
    };
    let events = commit.events.iter().map(|event| match event {
        Event::ObjectCreated { object } => Event::ObjectCreated {
            object: moved(object),
        },
        Event::ObjectUpdated { object } => Event::ObjectUpdated {
            object: moved(object),
        },
        other => other.clone(),
    });
    Commit {
        revision,
        cause: match commit.cause {
            Cause::Request => Cause::Request,
            Cause::Commit(_) | Cause::Policy(_) => Cause::Policy("a test".into()),
        },
        events: events.collect(),
        ..commit.clone()
    }
}

fn is_owner(commit: &Commit) -> bool {
    &*commit.key.name == "owner"
}

#[test]
fn sound_histories_pass() {
    for policy in [Policy::Background, Policy::Foreground, Policy::Orphan] {
        assert_eq!(fault(&log(policy)), None, "{policy:?}");
    }
}

#[test]
fn a_fact_that_is_left_out_is_found_wherever_it_is() {
    let mut spoiled = 0;
    for policy in [Policy::Background, Policy::Foreground, Policy::Orphan] {
        let log = log(policy);
        for (index, commit) in log.iter().enumerate() {
            let facts = commit.events.len() - 1;
            for fact in 0..facts {
                if matches!(
                    commit.events.get(fact),
                    Some(Event::DeletionRequested { .. })
                ) {
                    continue;
                }
                let mut log = log.clone();
                log.get_mut(index).expect("it is there").events.remove(fact);
                assert!(fault(&log).is_some(), "{policy:?} {index} {fact}");
                spoiled += 1;
            }
        }
    }
    assert!(spoiled > 20, "{spoiled}");
}

#[test]
fn an_identity_that_comes_back_is_found() {
    let mut log = log(Policy::Background);
    let first = log
        .iter()
        .find(|commit| is_owner(commit))
        .expect("it is there");
    let again = renumbered(first, log.last().expect("it has commits").revision.next());
    log.push(again);
    let fault = fault(&log).expect("a fault");
    assert!(fault.contains("the uid was there before"), "{fault}");
}

#[test]
fn an_owner_that_goes_too_early_is_found() {
    let log = log(Policy::Orphan);
    let unorphaned = without(&log, |commit| {
        let facts = commit.events.iter();
        facts
            .clone()
            .any(|event| matches!(event, Event::OwnerRemoved { .. }))
    });
    let found = fault(&unorphaned).expect("a fault");
    assert!(found.contains("still refer to it"), "{found}");

    let log = self::log(Policy::Foreground);
    let unblocked = without(&log, |commit| {
        &*commit.key.name == "a" && commit.object().is_none()
    });
    let found = fault(&unblocked).expect("a fault");
    assert!(found.contains("still block it"), "{found}");
}
