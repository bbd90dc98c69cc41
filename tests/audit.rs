//! The audit of a log finds faults: sound histories pass, and each is then falsified in one place.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::command::{Create, FieldValidation, Propagation};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Cause, Commit, Event, GroupResource, Intent, Object, ObjectKey, Revision, Rule, State, apply,
    builtin,
};
use hindsight_projector::audit;
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy};
use hindsight_tests::world::World;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

/// A history of an owner with two dependents, one of which blocks it, deleted with this policy; and
/// of a dependent whose owner never existed.
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
    let nobody =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "nobody"});
    let metadata = json!({"name": "c", "ownerReferences": [nobody], "finalizers": ["x/y"]});
    let object = json!({"metadata": metadata});
    run(&mut world, naive::create(Kind::ConfigMap, "n1", object));
    let owner = naive::key(Kind::ConfigMap, "n1", "owner");
    run(&mut world, naive::delete(owner, Some(policy)));
    world.settle(1);
    for name in ["a", "b"] {
        let key = naive::key(Kind::ConfigMap, "n1", name);
        let patch = json!({"metadata": {"finalizers": null}});
        run(&mut world, naive::patch(key, patch));
        world.settle(1);
    }
    commits_of(&world)
}

fn commits_of(world: &World) -> Vec<Arc<Commit>> {
    let changes = world.changes.iter();
    changes.map(|change| Arc::clone(&change.commit)).collect()
}

/// A log of a namespace and a definition that are being deleted, each with an object that a finalizer
/// holds.
fn log_of_containers() -> Vec<Commit> {
    let mut world = World::new();
    let mut run = |intent: Intent| world.run(intent).expect("accepted");
    let definition = Kind::Widget.definition().expect("it has one");
    let named = json!({"metadata": {"name": definition}});
    run(naive::create(Kind::Definition, "", named));
    for namespace in ["n1", "n2"] {
        run(naive::create_namespace(namespace));
    }
    let held = |name: &str| json!({"metadata": {"name": name, "finalizers": ["x/y"]}});
    run(naive::create(Kind::ConfigMap, "n1", held("in")));
    run(naive::create(Kind::Widget, "n2", held("of")));
    for key in [
        naive::key(Kind::Namespace, "", "n1"),
        naive::key(Kind::Definition, "", definition),
    ] {
        run(naive::delete(key, None));
    }
    world.settle(1);
    let commits = commits_of(&world).into_iter();
    commits.map(Arc::unwrap_or_clone).collect()
}

/// A log of a service that goes, and of its endpoints, which something holds.
fn log_of_a_service() -> Vec<Commit> {
    let mut world = World::new();
    let mut run = |intent: Intent| world.run(intent).expect("accepted");
    run(naive::create_namespace("n1"));
    let key = |resource: &str| ObjectKey::new(GroupResource::new("", resource), "n1", "s");
    for (resource, finalizers) in [("services", json!([])), ("endpoints", json!(["x/y"]))] {
        let metadata = json!({"name": "s", "finalizers": finalizers});
        run(Intent::Create(Create {
            key: key(resource),
            version: "v1".into(),
            object: json!({"metadata": metadata, "spec": {"ports": [{"port": 80}]}}),
            validation: FieldValidation::Ignore,
        }));
    }
    run(naive::delete(key("services"), None));
    let commits = commits_of(&world).into_iter();
    commits.map(Arc::unwrap_or_clone).collect()
}

fn empty() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

/// The fault that the audit finds in this log; `None` if it passes.
fn fault(log: &[Commit]) -> Option<String> {
    fault_after(log, 0)
}

/// The same, if only the state after the first `known` commits is known, and not the commits.
fn fault_after(log: &[Commit], known: usize) -> Option<String> {
    let (mut base, (before, log)) = (empty(), log.split_at(known));
    for commit in before {
        apply(&mut base, commit);
    }
    let commits = log.iter().cloned().map(Ok::<_, Infallible>);
    let audited = audit(base, &[], commits, |_, _| {});
    audited.err().map(|fault| fault.to_string())
}

/// A restore counts where it is: also at the end, and one below the state from which the audit begins not at all.
#[test]
fn a_restore_below_what_is_audited_moves_no_revision() {
    let log = log(Policy::Background);
    for known in [1, log.len() / 2, log.len()] {
        let (mut base, (before, rest)) = (empty(), log.split_at(known));
        for commit in before {
            apply(&mut base, commit);
        }
        let end = Revision(log.len() as u64);
        for (restores, newest) in [
            (vec![Revision(1)], end),
            (vec![Revision(1), end.next()], end.next()),
        ] {
            let commits = rest.iter().cloned().map(Ok::<_, Infallible>);
            let audited = audit(base.clone(), &restores, commits, |_, _| {});
            let audited = audited.expect("it is sound");
            assert_eq!(audited.state().revision, newest, "{known} {restores:?}");
        }
    }
}

fn log(policy: Policy) -> Vec<Commit> {
    let commits = history(policy);
    commits.iter().map(|commit| (**commit).clone()).collect()
}

/// The log without some of its commits, renumbered.
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

fn logs() -> [Vec<Commit>; 5] {
    [
        log(Policy::Background),
        log(Policy::Foreground),
        log(Policy::Orphan),
        log_of_containers(),
        log_of_a_service(),
    ]
}

#[test]
fn sound_histories_pass_from_wherever_they_are_known() {
    for log in logs() {
        for known in 0..=log.len() {
            assert_eq!(fault_after(&log, known), None, "{known}");
        }
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
    assert!(fault.contains("its uid was used before"), "{fault}");
    let created = log.iter().position(is_owner).expect("it is there");
    let fault = fault_after(&log, created + 1).expect("a fault");
    assert!(fault.contains("its uid was used before"), "{fault}");
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
    let removal = |commit: &Commit| is_owner(commit) && commit.object().is_none();
    let known = unorphaned.iter().position(removal).expect("it goes");
    let found = fault_after(&unorphaned, known).expect("a fault");
    assert!(found.contains("still refer to it"), "{found}");

    let log = self::log(Policy::Foreground);
    let unblocked = without(&log, |commit| {
        &*commit.key.name == "a" && commit.object().is_none()
    });
    let found = fault(&unblocked).expect("a fault");
    assert!(found.contains("still block it"), "{found}");
}

/// The deletions that no request asked for and that no earlier deletion mark explains.
fn unasked(log: &[Commit]) -> Vec<(usize, Rule)> {
    let mut marked = std::collections::BTreeSet::new();
    let mut found = Vec::new();
    for (index, commit) in log.iter().enumerate() {
        let verdict = commit.deletions().next();
        let Some((rule, _)) = verdict.filter(|_| marked.insert(commit.uid.clone())) else {
            continue;
        };
        if commit.cause != Cause::Request {
            found.push((index, rule));
        }
    }
    found
}

#[test]
fn a_deletion_that_names_a_stranger_as_its_cause_is_found() {
    let mut rules = Vec::new();
    for log in logs() {
        for (index, rule) in unasked(&log) {
            let caused_by = |cause: Revision| {
                let mut log = log.clone();
                log.get_mut(index).expect("it is there").cause = Cause::Commit(cause);
                fault(&log)
            };
            let found = caused_by(Revision(1)).expect("a fault");
            assert!(found.contains("is not about anything"), "{found}");
            let uid = &log.get(index).expect("it is there").uid;
            let mut before = log.iter().take(index);
            let own = before.rfind(|one| one.uid == *uid).expect("it is made");
            let is_the_last_that_happened = caused_by(own.revision).is_none();
            rules.push((rule.name(), is_the_last_that_happened));
        }
    }
    rules.sort_unstable();
    let expected = [
        ("crd-deleted", false),
        ("namespace-deleted", false),
        ("no-such-owner", true),
        ("no-such-owner", true),
        ("no-such-owner", true),
        ("owner-foreground", false),
        ("owner-foreground", false),
        ("owners-absent", false),
        ("owners-absent", false),
        ("service-deleted", false),
    ];
    assert_eq!(rules, expected);
}

#[test]
fn a_deletion_that_is_asked_for_twice_by_one_commit_is_found() {
    for log in logs() {
        // A deletion that rests only on the object's own version is left out, since the version
        // differs then.
        let unasked = unasked(&log).into_iter();
        for (index, _) in unasked.filter(|(_, rule)| *rule != Rule::NoSuchOwner) {
            let (before, _) = log.split_at(index + 1);
            let mark = before.last().expect("it is there");
            let after = |commits: &[&Commit]| {
                let mut log = before.to_vec();
                for commit in commits {
                    let revision = log.last().expect("it is there").revision.next();
                    let cause = commit.cause.clone();
                    log.push(Commit {
                        cause,
                        ..renumbered(commit, revision)
                    });
                }
                fault(&log)
            };
            let found = after(&[mark]).expect("a fault");
            assert!(
                found.contains("caused its deletion once already"),
                "{found}"
            );
            let mut written = mark.clone();
            written.cause = Cause::Request;
            written.events.drain(..written.events.len() - 1);
            assert_eq!(after(&[&written, mark]), None, "it is another version");
            let mut otherwise = mark.clone();
            for event in &mut otherwise.events {
                if let Event::DeletionRequested { propagation, .. } = event {
                    *propagation = Propagation::Foreground;
                }
            }
            assert_eq!(after(&[&otherwise]), None, "it is to go in another way");
        }
    }
}

/// The log in which every deletion by one rule claims another.
fn by_another_rule(log: &[Commit], from: Rule, to: Rule) -> Vec<Commit> {
    let mut log = log.to_vec();
    for event in log.iter_mut().flat_map(|commit| &mut commit.events) {
        if let Event::DeletionRequested { rule, .. } | Event::ObjectDeleted { rule, .. } = event
            && *rule == from
        {
            *rule = to;
        }
    }
    log
}

#[test]
fn a_rule_that_is_not_how_the_owners_were_is_found() {
    let elsewhere = log_of_an_owner_elsewhere();
    assert_eq!(fault(&elsewhere), None);
    for (log, from, to, what) in [
        (
            log(Policy::Background),
            Rule::OwnersAbsent,
            Rule::OwnerForeground,
            "no owner waits for it",
        ),
        (
            log(Policy::Foreground),
            Rule::OwnerForeground,
            Rule::OwnersAbsent,
            "an owner waits for it",
        ),
        (
            elsewhere.clone(),
            Rule::OwnerInOtherNamespace,
            Rule::OwnersAbsent,
            "deleted by rule owners-absent, although configmaps n2/owner exists",
        ),
        (
            elsewhere,
            Rule::OwnerInOtherNamespace,
            Rule::NoSuchOwner,
            "deleted by rule no-such-owner, although configmaps n2/owner exists",
        ),
    ] {
        let found = fault(&by_another_rule(&log, from, to)).expect("a fault");
        assert!(found.contains(what), "{found}");
    }
}

/// A log of a ConfigMap in one namespace, and one in another namespace that names it as its owner.
fn log_of_an_owner_elsewhere() -> Vec<Commit> {
    let mut world = World::new();
    let mut run = |intent: Intent| world.run(intent).expect("accepted");
    for namespace in ["n1", "n2"] {
        run(naive::create_namespace(namespace));
    }
    let owner = json!({"metadata": {"name": "owner"}});
    let decision = run(naive::create(Kind::ConfigMap, "n2", owner));
    let uid = decision.outcome.object().meta.uid.to_string();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid});
    let metadata = json!({"name": "child", "ownerReferences": [owner]});
    run(naive::create(
        Kind::ConfigMap,
        "n1",
        json!({"metadata": metadata}),
    ));
    world.settle(1);
    let commits = commits_of(&world).into_iter();
    commits.map(Arc::unwrap_or_clone).collect()
}

/// That both wait does not make a deadlock: the object that blocks the owner is itself blocked by
/// another.
#[test]
fn an_owner_that_goes_before_one_that_waits_is_found() {
    let mut world = World::new();
    let mut run = |intent: Intent| world.run(intent).expect("accepted");
    run(naive::create_namespace("n1"));
    let mut owners = Vec::new();
    for (name, finalizers) in [
        ("owner", json!([])),
        ("m", json!([])),
        ("leaf", json!(["x/y"])),
    ] {
        let metadata = json!({"name": name, "ownerReferences": owners, "finalizers": finalizers});
        let object = json!({"metadata": metadata});
        let decision = run(naive::create(Kind::ConfigMap, "n1", object));
        let uid = decision.outcome.object().meta.uid.to_string();
        owners = vec![
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid,
            "blockOwnerDeletion": true}),
        ];
    }
    let owner = naive::key(Kind::ConfigMap, "n1", "owner");
    run(naive::delete(owner, Some(Policy::Foreground)));
    world.settle(1);
    let commits = commits_of(&world).into_iter();
    let mut log: Vec<Commit> = commits.map(Arc::unwrap_or_clone).collect();
    assert_eq!(fault(&log), None);
    let mark = log.iter().rfind(|commit| is_owner(commit));
    let mark = mark.expect("it waits").clone();
    let events = [
        Event::FinalizerRemoved {
            finalizer: "foregroundDeletion".into(),
        },
        Event::ObjectDeleted {
            rule: Rule::RequestedForeground,
            owners: Vec::new(),
            decided_at: mark.revision,
        },
    ];
    let known = log.len();
    log.push(Commit {
        revision: world.state.revision.next(),
        cause: Cause::Commit(mark.revision),
        events: events.into(),
        ..mark
    });
    for known in [0, known] {
        let found = fault_after(&log, known).expect("a fault");
        assert!(found.contains("n1/m still blocks it"), "{found}");
    }
}
