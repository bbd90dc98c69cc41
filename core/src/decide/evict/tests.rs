//! What an eviction asks of a disruption budget.

use crate::command::{Delete, Target};
use crate::object::Object;
use crate::testing::World;
use crate::{
    Actor, Command, Decision, Intent, Rejection, Request, Rule, apply, decide, invariants,
};
use serde_json::{Value, json};
use std::sync::Arc;

const BUDGETS: &str = "poddisruptionbudgets";

/// A world with a running pod, ready or not, and budgets with these specifications and statuses.
fn world(phase: &str, ready: &str, budgets: &[(Value, Value)]) -> World {
    let mut world = World::new();
    world.manager("tester");
    let pod = json!({"metadata": {"name": "a", "labels": {"app": "x"}}, "spec": {"nodeName": "n"}});
    world.create("pods", pod).expect("created");
    let mut pod = world.get("pods", "a").expect("a pod").document();
    pod["status"] = json!({"phase": phase, "conditions": [{"type": "Ready", "status": ready}]});
    world.update("pods", "status", pod).expect("it runs");
    for (index, (spec, status)) in budgets.iter().enumerate() {
        let name = format!("b{index}");
        let budget = json!({"metadata": {"name": name}, "spec": spec});
        world.create(BUDGETS, budget).expect("created");
        let mut budget = world.get(BUDGETS, &name).expect("a budget").document();
        budget["status"] = status.clone();
        world.update(BUDGETS, "status", budget).expect("kept");
    }
    world
}

fn evict(world: &mut World) -> Result<Decision, Rejection> {
    let delete = deletion(world);
    carry_out(world, "create", Intent::Evict(delete))
}

fn deletion(world: &World) -> Delete {
    let target = Target::any(world.key("pods", "a"));
    Delete::new(target, "v1".into(), Rule::Requested)
}

/// Carries out an intent; the verb only goes to the log.
fn carry_out(world: &mut World, verb: &str, intent: Intent) -> Result<Decision, Rejection> {
    let request = Request {
        verb: verb.into(),
        ..Request::default()
    };
    let command = Command {
        request: Arc::new(request),
        ..Command::new(
            Arc::new(Actor::new("tester")),
            world.now(),
            [99; 16],
            intent,
        )
    };
    let decision = decide(&world.state, command)?;
    for commit in &decision.commits {
        invariants::check(&world.state, commit).expect("no decision breaks an invariant");
        drop(apply(&mut world.state, commit));
    }
    Ok(decision)
}

fn keeps(observed: i64, allowed: i64, healthy: i64, desired: i64) -> Value {
    json!({"observedGeneration": observed, "disruptionsAllowed": allowed,
        "currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": 2})
}

/// A budget that allows no disruption, with this reason and message.
fn says(healthy: i64, desired: i64, reason: &str, message: &str) -> Value {
    let mut status = keeps(1, 0, healthy, desired);
    status["conditions"] = json!([{"type": "DisruptionAllowed", "status": "False",
        "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    status
}

fn spec() -> Value {
    json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}})
}

#[test]
fn a_budget_that_is_spent_refuses_and_any_other_pays() {
    let other = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "y"}}});
    let open = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}},
        "unhealthyPodEvictionPolicy": "AlwaysAllow"});
    let (refused, paid, free) = (None, Some(3), Some(2));
    for (phase, ready, budgets, expected) in [
        (
            "Running",
            "True",
            vec![(spec(), keeps(1, 0, 1, 1))],
            refused,
        ),
        ("Running", "True", vec![(spec(), keeps(1, 1, 2, 1))], paid),
        (
            "Running",
            "True",
            vec![(spec(), keeps(0, 1, 2, 1))],
            refused,
        ),
        ("Running", "True", vec![(spec(), json!({}))], free),
        ("Running", "True", vec![(other, keeps(1, 0, 1, 1))], free),
        (
            "Running",
            "True",
            vec![(spec(), keeps(1, 1, 2, 1)), (spec(), keeps(1, 1, 2, 1))],
            refused,
        ),
        ("Running", "False", vec![(spec(), keeps(1, 0, 1, 1))], free),
        (
            "Running",
            "False",
            vec![(spec(), keeps(1, 0, 0, 1))],
            refused,
        ),
        ("Running", "False", vec![(open, keeps(1, 0, 0, 1))], free),
        ("Pending", "False", vec![(spec(), keeps(1, 0, 0, 1))], free),
        ("Failed", "False", vec![(spec(), keeps(1, 0, 0, 1))], paid),
        ("Succeeded", "True", vec![(spec(), keeps(1, 0, 0, 1))], paid),
    ] {
        let mut world = world(phase, ready, &budgets);
        let commits = evict(&mut world)
            .ok()
            .map(|decision| decision.commits.len());
        assert_eq!(commits, expected, "{phase} {ready} {budgets:?}");
        let pod = world.get("pods", "a");
        let goes = pod.is_none_or(|pod| pod.is_deleting());
        assert_eq!(goes, expected.is_some());
    }
}

#[test]
fn a_pod_that_is_evicted_says_so_before_it_goes() {
    let said = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array().expect("conditions");
        let mut conditions = conditions.iter();
        let target = conditions.find(|one| one["type"] == "DisruptionTarget");
        target.cloned().unwrap_or_default()
    };
    let mut world = world("Running", "True", &[]);
    let before = world.get("pods", "a").expect("a pod");
    let decision = evict(&mut world).expect("evicted");
    let [told, marked] = &*decision.commits else {
        panic!("{decision:?}")
    };
    let versions = [told, marked].map(|commit| commit.object().expect("it is there").clone());
    let now = versions[0].document()["status"]["conditions"][1]["lastTransitionTime"].clone();
    let wanted = json!({"type": "DisruptionTarget", "status": "True",
        "lastTransitionTime": now, "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
        "observedGeneration": before.meta.generation});
    assert!(now.is_string());
    assert_eq!(
        versions.each_ref().map(|one| said(&one.document())),
        [wanted.clone(), wanted]
    );
    assert_eq!(
        versions.each_ref().map(|one| one.is_deleting()),
        [false, true]
    );
    assert_eq!(
        versions[0].document()["metadata"]["managedFields"],
        before.document()["metadata"]["managedFields"]
    );
    // The condition has the newest generation, and keeps its transition time.
    let again = evict(&mut world).expect("it stops already");
    let [retold] = &*again.commits else {
        panic!("{again:?}")
    };
    let retold = said(&retold.object().expect("it is there").document());
    assert_eq!(retold["observedGeneration"], before.meta.generation + 1);
    assert_eq!(retold["lastTransitionTime"], now);
    let third = evict(&mut world).expect("it stops already");
    assert!(third.commits.is_empty(), "{third:?}");
}

#[test]
fn the_version_that_is_meant_is_the_one_before_it_says_so() {
    for (sent, goes) in [(0, true), (1, false)] {
        let mut world = world("Running", "True", &[]);
        let revision = world.get("pods", "a").expect("a pod").revision;
        let mut delete = deletion(&world);
        let meant = (revision.0 + sent).to_string();
        delete.preconditions.resource_version = Some(meant.into());
        let evicted = carry_out(&mut world, "create", Intent::Evict(delete));
        assert_eq!(evicted.is_ok(), goes, "{evicted:?}");
        let pod = world.get("pods", "a").expect("a pod");
        assert_eq!((pod.revision == revision, pod.is_deleting()), (!goes, goes));
    }
}

#[test]
fn what_the_log_is_told_of_a_request_decides_nothing() {
    let spent = [(spec(), keeps(1, 0, 1, 1))];
    let mut audited_as_create = world("Running", "True", &spent);
    let delete = Intent::Delete(deletion(&audited_as_create));
    let decided = carry_out(&mut audited_as_create, "create", delete).expect("no budget is asked");
    let [commit] = &*decided.commits else {
        panic!("{decided:?}")
    };
    assert_eq!(&*commit.key.resource.resource, "pods");
    assert_eq!(commit.request.verb, "create");
    let mut audited_as_delete = world("Running", "True", &spent);
    let evict = Intent::Evict(deletion(&audited_as_delete));
    let refused = carry_out(&mut audited_as_delete, "delete", evict).expect_err("spent");
    assert!(matches!(refused, Rejection::Disruption { .. }), "{refused}");
}

#[test]
fn a_refusal_says_what_the_budget_needs_and_when_to_come_again() {
    for (status, expected, seconds) in [
        (
            keeps(1, 0, 1, 1),
            "The disruption budget b0 needs 1 healthy pods and has 1 currently",
            0,
        ),
        (
            keeps(0, 1, 2, 1),
            "The disruption budget b0 is still being processed by the server.",
            10,
        ),
        (
            says(2, 1, "SyncFailed", "no scale"),
            "The disruption budget b0 does not allow evicting pods currently because it failed sync: no scale",
            0,
        ),
        (
            says(1, 1, "InsufficientPods", "too few"),
            "The disruption budget b0 needs 1 healthy pods and has 1 currently",
            0,
        ),
        (
            says(2, 1, "InsufficientPods", "too few"),
            "The disruption budget b0 does not allow evicting pods currently (InsufficientPods): too few",
            0,
        ),
        (
            says(2, 1, "InsufficientPods", ""),
            "The disruption budget b0 does not allow evicting pods currently",
            0,
        ),
    ] {
        let mut world = world("Running", "True", &[(spec(), status)]);
        let refused = evict(&mut world).expect_err("refused");
        let text = "Cannot evict pod as it would violate the pod's disruption budget.";
        assert_eq!(refused.to_string(), text);
        let Rejection::Disruption {
            message,
            retry_after_seconds,
        } = refused
        else {
            panic!("{refused}")
        };
        assert_eq!((&*message, retry_after_seconds), (expected, seconds));
    }
}

#[test]
fn what_is_paid_is_noted_for_whoever_keeps_the_budget_and_a_second_eviction_costs_nothing() {
    let mut world = world("Running", "True", &[(spec(), keeps(1, 1, 2, 1))]);
    evict(&mut world).expect("evicted");
    let budget = world.get(BUDGETS, "b0").expect("a budget").document();
    let status = &budget["status"];
    assert_eq!(status["disruptionsAllowed"], 0);
    assert!(status["disruptedPods"]["a"].is_string(), "{status}");
    let condition = &status["conditions"][0];
    assert_eq!(condition["reason"], "InsufficientPods");
    assert_eq!(condition["observedGeneration"], 1);
    let entries = budget["metadata"]["managedFields"].as_array();
    let mut entries = entries.expect("managedFields").iter();
    let server = entries.find(|entry| entry["manager"] == "kube-apiserver");
    let server = server.expect("the server's");
    assert_eq!(
        (&server["operation"], &server["subresource"]),
        (&json!("Update"), &json!("status"))
    );
    assert!(
        server["fieldsV1"]["f:status"]["f:disruptedPods"].is_object(),
        "{server}"
    );
    let revision = world.get(BUDGETS, "b0").expect("a budget").revision;
    evict(&mut world).expect("it stops already");
    let budget = world.get(BUDGETS, "b0").expect("a budget");
    assert_eq!(budget.revision, revision);
}

/// Lists of the pods that were evicted are long, and every eviction in the namespace would read them.
#[test]
fn of_budgets_that_may_cover_a_pod_nothing_but_their_selectors_is_read() {
    let statuses = [(spec(), json!({})), (spec(), json!({}))];
    let mut world = world("Running", "True", &statuses);
    let levels = 500;
    let unreadable = ["[".repeat(levels), "]".repeat(levels)].concat();
    for name in ["b0", "b1"] {
        let budget = world.get(BUDGETS, name).expect("a budget");
        let body = format!(r#"{{"spec":{},"status":{unreadable}}}"#, spec());
        let budget = Object {
            body: body.into(),
            ..Object::clone(&budget)
        };
        assert!(budget.document().is_null());
        world.state.put(&Arc::new(budget));
    }
    let refused = evict(&mut world).expect_err("both cover it");
    let told = refused.to_string();
    assert!(told.contains("more than one"), "{told}");
}
