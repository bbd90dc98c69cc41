//! Which writes match a webhook.

use super::{ConditionBudget, ConditionInputs, Webhook, WriteAttributes, condition, read};
use crate::cel::{Access, Authority};
use crate::kind::{KindRef, Subresource};
use crate::testing::World;
use crate::{GroupResource, Object, ObjectKey, Revision};
use serde_json::{Value, json};
use std::sync::Arc;

fn rule(text: &str) -> Value {
    let column: Vec<Vec<&str>> = text
        .split_whitespace()
        .map(|one| one.split(',').collect())
        .collect();
    let group: Vec<&str> = column[1]
        .iter()
        .map(|one| if *one == "core" { "" } else { one })
        .collect();
    json!({"operations": column[0], "apiGroups": group, "apiVersions": column[2],
        "resources": column[3], "scope": column[4][0]})
}

fn webhook(document: &Value) -> Webhook {
    read::webhook(document, &condition::env())
}

fn kind(world: &World, resource: &str) -> KindRef {
    let mut kinds = world.state.kinds.iter();
    let found = kinds.find(|kind| &*kind.resource.resource == resource);
    Arc::clone(found.expect("a known resource"))
}

/// `operations groups versions resources scope | operation resource subresource | matches`.
const CASES: &str = "
* * * * *                        | CREATE configmaps -       | true
* * * * *                        | UPDATE pods status        | false
* * * */* *                      | UPDATE pods status        | true
CREATE * * * *                   | UPDATE configmaps -       | false
CREATE,UPDATE * * * *            | UPDATE configmaps -       | true
* core * * *                     | CREATE configmaps -       | true
* apps * * *                     | CREATE configmaps -       | false
* apps v1 deployments *          | DELETE deployments -      | true
* apps v2 deployments *          | DELETE deployments -      | false
* core v1 pods *                 | CREATE pods -             | true
* core v1 pods *                 | UPDATE pods status        | false
* core v1 pods/status *          | UPDATE pods status        | true
* core v1 pods/* *               | UPDATE pods status        | true
* core v1 pods/* *               | UPDATE pods -             | true
* * * */scale *                  | UPDATE deployments scale  | true
* * * * Namespaced               | CREATE configmaps -       | true
* * * * Cluster                  | CREATE configmaps -       | false
* * * * Cluster                  | CREATE namespaces -       | true
* * * * Namespaced               | CREATE namespaces -       | false
* * * * *                        | CREATE validatingwebhookconfigurations - | false
* * * * *                        | UPDATE mutatingwebhookconfigurations -   | false
";

#[test]
fn rules_match_as_kubernetes_does() {
    let world = World::new();
    for line in CASES.lines().filter(|line| !line.is_empty()) {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let write: Vec<&str> = columns[1].split_whitespace().collect();
        let webhook = webhook(&json!({"name": "a.b.c", "rules": [rule(columns[0])]}));
        let kind = kind(&world, write[1]);
        let write = WriteAttributes {
            operation: write[0],
            kind: &kind,
            cohabitant: world.state.kinds.cohabitant(&kind),
            version: "v1",
            subresource: Subresource::named(write[2]),
        };
        let found = webhook.match_write(&write).is_some();
        assert_eq!(found.to_string(), columns[2], "{line}");
    }
}

#[test]
fn an_equivalent_rule_shows_the_object_in_the_version_that_it_names() {
    let world = World::new();
    let mut kind = (*kind(&world, "configmaps")).clone();
    let mut older = (*kind.versions[0]).clone();
    older.name = "v0".into();
    kind.versions.push(Arc::new(older));
    let kind = Arc::new(kind);
    let cases = [
        ("Equivalent", "v1", Some("v1")),
        ("Equivalent", "v0", Some("v0")),
        ("Equivalent", "v2", None),
        ("Exact", "v0", None),
        ("Exact", "v1", Some("v1")),
    ];
    for (policy, version, shown) in cases {
        let rules = [rule(&format!("* core {version} configmaps *"))];
        let document = json!({"name": "a.b.c", "matchPolicy": policy, "rules": rules});
        let webhook = webhook(&document);
        let write = WriteAttributes {
            operation: "CREATE",
            kind: &kind,
            cohabitant: None,
            version: "v1",
            subresource: None,
        };
        let found = webhook
            .match_write(&write)
            .map(|(_, version)| &*version.name);
        assert_eq!(found, shown, "{policy} {version}");
    }
}

#[test]
fn an_equivalent_rule_shows_an_event_in_the_group_that_it_names() {
    let world = World::new();
    let kinds = &world.state.kinds;
    let [core, cohabitant] = ["", "events.k8s.io"].map(|group| {
        let found = kinds.by_resource(&GroupResource::new(group, "events"));
        found.expect("a known resource")
    });
    for (policy, group, asked, shown) in [
        ("Equivalent", "core", core, Some("")),
        ("Equivalent", "core", cohabitant, Some("")),
        ("Equivalent", "events.k8s.io", core, Some("events.k8s.io")),
        ("Equivalent", "*", cohabitant, Some("events.k8s.io")),
        ("Equivalent", "apps", core, None),
        ("Exact", "core", cohabitant, None),
        ("Exact", "events.k8s.io", core, None),
    ] {
        let rules = [rule(&format!("* {group} v1 events *"))];
        let document = json!({"name": "a.b.c", "matchPolicy": policy, "rules": rules});
        let webhook = webhook(&document);
        let write = WriteAttributes {
            operation: "CREATE",
            kind: asked,
            cohabitant: kinds.cohabitant(asked),
            version: "v1",
            subresource: None,
        };
        let found = webhook.match_write(&write);
        let found = found.map(|(kind, _)| &*kind.resource.group);
        assert_eq!(found, shown, "{policy} {group}");
    }
}

#[test]
fn what_is_not_said_is_read_strictly() {
    let webhook = webhook(&json!({"name": "a.b.c"}));
    assert!(!webhook.ignores_failure && !webhook.dry_runs && webhook.equivalent);
    assert_eq!(webhook.timeout_seconds, 10);
    assert!(
        webhook
            .object_selector
            .is_ok_and(|selector| selector.is_empty())
    );
}

#[test]
fn webhooks_come_and_go_with_their_configurations() {
    let mut world = World::new();
    assert!(world.state.webhooks.is_empty());
    let webhook = json!({"name": "a.b.c", "admissionReviewVersions": ["v1"],
        "sideEffects": "None", "clientConfig": {"url": "https://localhost/"}});
    let resource = "validatingwebhookconfigurations";
    let object = json!({"metadata": {"name": "x"}, "webhooks": [webhook]});
    let made = world.create(resource, object).expect("created");
    let mut object = made.outcome.object().document();
    assert_eq!(world.state.webhooks.validating().count(), 1);
    assert_eq!(world.state.webhooks.mutating().count(), 0);
    object["webhooks"] = json!([]);
    world.update(resource, "", object).expect("updated");
    assert!(world.state.webhooks.is_empty());
    world
        .create(
            "mutatingwebhookconfigurations",
            json!({"metadata": {"name": "x"}, "webhooks": [webhook]}),
        )
        .expect("created");
    assert_eq!(world.state.webhooks.mutating().count(), 1);
    world
        .delete("mutatingwebhookconfigurations", "x", None)
        .expect("deleted");
    assert!(world.state.webhooks.is_empty());
}

#[derive(Debug)]
struct Everybody;

impl Authority for Everybody {
    fn refusal(&self, _access: &Access) -> Option<String> {
        None
    }
}

#[test]
fn the_conditions_of_all_webhooks_spend_from_one_budget() {
    let expression = "[1, 2, 3, 4, 5].all(a, [1, 2, 3, 4, 5].all(b, a + b > 0))";
    let conditions = json!([{"name": "a", "expression": expression}]);
    let request = json!({});
    let inputs = ConditionInputs {
        object: None,
        old: None,
        request: &request,
        authority: &Everybody,
        resource: Access::default(),
    };
    let asked = |policy: &str, budget: &mut _| {
        let document = json!({"failurePolicy": policy, "matchConditions": conditions});
        webhook(&document).conditions_hold(&inputs, budget)
    };
    let mut budget = ConditionBudget::default();
    let whole = budget.steps;
    assert_eq!(asked("Fail", &mut budget), Ok(true));
    let cost = whole - budget.steps;
    assert!((25..100_000).contains(&cost), "{cost}");
    budget.steps = 2 * cost + cost / 2;
    let answers: Vec<_> = (0..4).map(|_| asked("Fail", &mut budget)).collect();
    assert!(
        answers[..2].iter().all(|one| *one == Ok(true)),
        "{answers:?}"
    );
    let exhausted =
        |one: &Result<bool, String>| one.as_ref().is_err_and(|why| why.contains("budget"));
    assert!(answers[2..].iter().all(exhausted), "{answers:?}");
    let ignored = asked("Ignore", &mut budget);
    assert_eq!((ignored, budget.steps), (Ok(false), 0));
}

/// However few steps they take. No text is as bad as it might be: each search ends at the first byte.
#[test]
fn the_regular_expressions_of_conditions_have_a_budget_for_each_webhook_and_one_for_all() {
    let condition = json!({"name": "a", "expression": "object.t.matches('^(?:0|[a-z]{1000}b)')"});
    let request = json!({});
    let asked = |length: usize, conditions: usize, budget: &mut ConditionBudget| {
        let object = json!({"t": format!("0{}", "a".repeat(length))});
        let inputs = ConditionInputs {
            object: Some(&object),
            old: None,
            request: &request,
            authority: &Everybody,
            resource: Access::default(),
        };
        let document = json!({"matchConditions": vec![condition.clone(); conditions]});
        let held = webhook(&document).conditions_hold(&inputs, budget);
        held.map_err(|why| why.contains("matching texts with regular expressions"))
    };
    for (length, conditions, expected) in [
        (60_000, 1, Ok(true)),
        (30_000, 2, Ok(true)),
        (70_000, 1, Err(true)),
        (30_000, 3, Err(true)),
    ] {
        let mut budget = ConditionBudget::default();
        assert_eq!(asked(length, conditions, &mut budget), expected);
    }
    let mut budget = ConditionBudget::default();
    let answers = [(); 5].map(|()| asked(60_000, 1, &mut budget));
    let fits = Ok(true);
    assert_eq!(answers, [fits, fits, fits, fits, Err(true)]);
}

/// Each literal may be compiled to a megabyte, all of them to four.
#[test]
fn what_a_configuration_is_compiled_to_counts_with_its_regular_expressions() {
    let bytes = |count: usize| {
        let condition =
            json!({"name": "c", "expression": r"object.metadata.name.matches('\\pL{50}')"});
        let webhook = json!({"name": "a.example.com", "matchConditions": vec![condition; count]});
        let document = json!({"apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "c", "uid": "u"},
            "webhooks": [webhook]});
        let resource = GroupResource::new(super::GROUP, super::VALIDATING);
        let key = ObjectKey::new(resource, "", "c");
        let object = Object::from_value(key, document, Revision(1), None).expect("an object");
        super::estimated_bytes(&object) - super::COMPILED_TIMES * object.body.len()
    };
    assert_eq!([0, 1, 4, 64].map(bytes), [0, 1 << 20, 4 << 20, 4 << 20]);
}
