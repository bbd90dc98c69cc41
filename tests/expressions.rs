//! CEL expressions of users, through the API: match conditions of webhooks, validation rules of
//! custom kinds.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Access, Authorizer, Config, ControlPlane, Verdict};
use hindsight_core::Actor;
use hindsight_tests::admission::{Scene, label, map};
use hindsight_tests::http::{Client, DEFINITIONS, MAPS};
use hindsight_tests::webhook::Answer;
use serde_json::{Value, json};
use std::sync::Arc;

const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn refuse() -> Answer {
    Answer::Response(json!({"allowed": false, "status": {"message": "asked"}}))
}

fn conditions(policy: &str, expressions: &[&str]) -> Value {
    let listed = expressions.iter().enumerate();
    let listed = listed.map(|(at, one)| json!({"name": format!("c{at}"), "expression": one}));
    json!({"matchConditions": listed.collect::<Vec<_>>(), "failurePolicy": policy})
}

#[test]
fn a_webhook_is_asked_where_all_its_conditions_hold() {
    let scene = Scene::new(|_, _| refuse());
    let body = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "v"}});
    for (expressions, asked) in [
        (&["true"][..], true),
        (&["false"], false),
        (&["true", "object.metadata.name == 'a'"], true),
        (&["object.metadata.labels.x == '1'", "false"], false),
        (&["object.data.k == 'v' && oldObject == null"], true),
        (
            &["request.operation == 'CREATE' && request.kind.kind == 'ConfigMap'"],
            true,
        ),
        (
            &["request.resource.resource == 'configmaps' && request.namespace == 'default'"],
            true,
        ),
        (
            &["request.userInfo.username != '' && request.userInfo.groups.size() > 0"],
            true,
        ),
        (&["request.dryRun && request.name == 'a'"], true),
        (&["request.operation in ['UPDATE', 'DELETE']"], false),
        (&["has(request.subResource)"], false),
        (&["object.missing == 1", "false"], false),
        (
            &["authorizer.requestResource.check('create').allowed()"],
            true,
        ),
        (
            &["!(request.userInfo.username.startsWith('system:'))"],
            true,
        ),
    ] {
        scene.configure("validating", &[("/hook", conditions("Fail", expressions))]);
        let answer = scene.send("POST", &format!("{MAPS}?dryRun=All"), &body);
        assert_eq!(
            answer.code,
            if asked { 400 } else { 201 },
            "{expressions:?}: {}",
            answer.text
        );
        assert_eq!(!scene.webhook.take().is_empty(), asked, "{expressions:?}");
    }
}

#[test]
fn a_mutating_webhook_is_asked_by_what_came_before_it() {
    let scene = Scene::new(|path, request| label(request, path.trim_matches('/'), "yes"));
    let after = "has(object.metadata.labels) && 'first' in object.metadata.labels";
    scene.configure(
        "mutating",
        &[
            (
                "/first",
                conditions("Fail", &["object.metadata.name == 'a'"]),
            ),
            ("/second", conditions("Fail", &[after])),
        ],
    );
    let labels = |name: &str| scene.ok("POST", MAPS, &map(name))["metadata"]["labels"].clone();
    assert_eq!(labels("a"), json!({"first": "yes", "second": "yes"}));
    assert_eq!(labels("b"), Value::Null);
}

#[test]
fn old_objects_are_seen_where_there_are_some() {
    let scene = Scene::new(|_, _| refuse());
    scene.ok(
        "POST",
        MAPS,
        &json!({"metadata": {"name": "a"}, "data": {"k": "fixed"}}),
    );
    let fixed = "request.operation == 'UPDATE' && object.data.k != oldObject.data.k";
    let gone = "request.operation == 'DELETE' && object == null && oldObject.data.k == 'fixed'";
    let either = format!("{fixed} || {gone}");
    scene.configure("validating", &[("/hook", conditions("Fail", &[&either]))]);
    let item = format!("{MAPS}/a");
    let patch = |body: Value| scene.send("PATCH", &item, &body).code;
    assert_eq!(patch(json!({"data": {"other": "x"}})), 200);
    assert_eq!(patch(json!({"data": {"k": "changed"}})), 400);
    assert_eq!(scene.send("DELETE", &item, &Value::Null).code, 400);
}

#[test]
fn an_old_object_of_a_custom_kind_is_as_its_schema_is_today() {
    let scene = Scene::new(|_, _| refuse());
    let spec = |members: Value| {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": members}}});
        json!({"spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}]}})
    };
    let mut definition = spec(json!({"x": {"type": "string"}}));
    definition["metadata"] = json!({"name": "things.example.com"});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    scene.ok("POST", definitions, &definition);
    let things = "/apis/example.com/v1/namespaces/default/things";
    let thing = json!({"metadata": {"name": "a"}, "spec": {"x": "1"}});
    scene.ok("POST", things, &thing);
    let later = spec(json!({"y": {"type": "string", "default": "2"}}));
    let item = format!("{definitions}/things.example.com");
    assert_eq!(scene.send("PATCH", &item, &later).code, 200);
    let mut hook = conditions("Fail", &["oldObject.spec == {'y': '2'}"]);
    hook["rules"] = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
        "resources": ["things"]}]);
    scene.configure("validating", &[("/hook", hook)]);
    let item = format!("{things}/a");
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(scene.send("PATCH", &item, &labelled).code, 400);
    assert_eq!(scene.send("DELETE", &item, &Value::Null).code, 400);
}

#[test]
fn what_has_no_name_where_it_cannot_be_evaluated_is_given_none() {
    let scene = Scene::new(|_, _| Answer::allow());
    scene.ok("POST", MAPS, &map("a"));
    let unevaluated = conditions("Fail", &["1 / 0 == 1"]);
    scene.configure("mutating", &[("/hook", unevaluated)]);
    let nameless = json!({"metadata": {"generateName": "g-"}});
    for (method, body) in [("POST", nameless), ("DELETE", Value::Null)] {
        let status = scene.send(method, MAPS, &body).json();
        assert_eq!(status["code"], 403, "{status}");
        assert_eq!(status["details"], json!({"kind": "configmaps"}));
    }
}

#[test]
fn what_cannot_be_evaluated_is_decided_by_the_failure_policy() {
    let scene = Scene::new(|_, _| refuse());
    let listed = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let endless = (0..8).fold("true".to_owned(), |inside, at| {
        format!("{listed}.all(x{at}, {inside})")
    });
    for (expressions, why) in [
        (
            &["object.missing == 1"][..],
            "expression 'object.missing == 1' resulted in error: no such key: missing",
        ),
        (
            &["object.missing == 1", "1 / 0 == 1"],
            "[expression 'object.missing == 1' resulted in error: no such key: missing, expression '1 / 0 == 1' resulted in error: division by zero]",
        ),
        (
            &[&endless],
            "resulted in error: operation cancelled: actual cost limit exceeded",
        ),
        (
            &[&endless, &endless, &endless],
            "validation failed due to running out of cost budget, no further validation rules will be run",
        ),
    ] {
        scene.configure("validating", &[("/hook", conditions("Fail", expressions))]);
        let answer = scene.create("a");
        assert_eq!(answer.code, 403, "{}", answer.text);
        let message = answer.json()["message"]
            .as_str()
            .expect("a message")
            .to_owned();
        assert!(
            message.starts_with("configmaps \"a\" is forbidden: ") && message.ends_with(why),
            "{message}"
        );
        scene.configure(
            "validating",
            &[("/hook", conditions("Ignore", expressions))],
        );
        assert_eq!(
            scene
                .send("POST", &format!("{MAPS}?dryRun=All"), &map("a"))
                .code,
            201
        );
    }
    assert!(scene.webhook.take().is_empty());
}

#[test]
fn conditions_that_are_none_are_refused_with_the_configuration() {
    let scene = Scene::new(|_, _| refuse());
    let body = |conditions: &Value| {
        json!({"metadata": {"name": "x"}, "webhooks": [{"name": "a.example.com",
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://localhost/"}, "matchConditions": conditions}]})
    };
    let many = vec![json!({"name": "a", "expression": "true"}); 65];
    let at = "webhooks[0].matchConditions";
    for (conditions, field, message) in [
        (
            json!([{"name": "a", "expression": "object."}]),
            format!("{at}[0].expression"),
            "compilation failed",
        ),
        (
            json!([{"name": "a", "expression": "now() > 1"}]),
            format!("{at}[0].expression"),
            "undeclared reference to 'now'",
        ),
        (
            json!([{"name": "a", "expression": "object.metadata"}]),
            format!("{at}[0].expression"),
            "must evaluate to bool",
        ),
        (
            json!([{"name": "not qualified", "expression": "true"}]),
            format!("{at}[0].name"),
            "name part must consist",
        ),
        (
            json!(many),
            at.to_owned(),
            "Too many: 65: must have at most 64 items",
        ),
    ] {
        let answer = scene.send("POST", HOOKS, &body(&conditions));
        assert_eq!(answer.code, 422, "{conditions}: {}", answer.text);
        let cause = answer.json()["details"]["causes"][0].clone();
        assert_eq!(cause["field"], json!(field));
        assert!(
            cause["message"]
                .as_str()
                .expect("a message")
                .contains(message),
            "{cause}"
        );
    }
}

/// Allows one service account and one user to do one thing each.
#[derive(Debug)]
struct Two;

impl Authorizer for Two {
    fn authorize(&self, actor: &Actor, access: &Access<'_>) -> Verdict {
        let may = match &*actor.user {
            "system:serviceaccount:default:robot" => {
                access.verb == "get" && access.name == "secret"
            }
            "writer" => access.verb == "create" && &*access.resource.resource == "configmaps",
            user => user == "admin",
        };
        if may {
            Verdict::Allowed
        } else {
            Verdict::Denied("not you".into())
        }
    }
}

#[test]
fn conditions_may_ask_what_somebody_is_allowed_to_do() {
    let plane = ControlPlane::open(Config {
        authorizer: Some(Arc::new(Two)),
        ..Config::default()
    });
    let plane = plane.expect("it opens");
    let (admin, writer) = (Client::new(&plane), Client::new_as(&plane, "writer"));
    for (expression, skipped) in [
        (
            "!authorizer.requestResource.check('create').allowed()",
            true,
        ),
        (
            "authorizer.requestResource.check('delete').reason() != 'not you'",
            true,
        ),
        (
            "authorizer.group('').resource('nodes').check('get').allowed()",
            true,
        ),
        (
            "!authorizer.serviceAccount('default', 'robot').group('').resource('x').name('secret').check('get').allowed()",
            true,
        ),
        (
            "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()",
            false,
        ),
    ] {
        let hook = json!({"metadata": {"name": "x"}, "webhooks": [{"name": "a.example.com",
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "matchConditions": [{"name": "a", "expression": expression}],
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}]}]});
        admin.send("DELETE", &format!("{HOOKS}/x"), "", "");
        let stored = admin.send("POST", HOOKS, "application/json", &hook.to_string());
        assert_eq!(stored.code, 201, "{}", stored.text);
        let path = format!("{MAPS}?dryRun=All");
        let answer = writer.send("POST", &path, "application/json", &map("a").to_string());
        assert_eq!(answer.code == 201, skipped, "{expression}: {}", answer.text);
    }
}

fn definition(spec: &Value, status: &Value) -> Value {
    json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}}]}})
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

#[test]
fn rules_of_a_custom_kind_are_held_against_every_write() {
    let scene = Scene::new(|_, _| Answer::allow());
    let spec = json!({"type": "object", "properties": {
        "min": {"type": "integer"}, "max": {"type": "integer", "default": 10},
        "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "name is immutable"}]}},
        "x-kubernetes-validations": [{"rule": "self.min <= self.max",
            "messageExpression": "'min is ' + string(self.min) + ', max ' + string(self.max)", "fieldPath": ".min"}]});
    let status = json!({"type": "object", "properties": {"ready": {"type": "integer",
        "x-kubernetes-validations": [{"rule": "self >= 0"}]}}});
    scene.ok("POST", DEFINITIONS, &definition(&spec, &status));
    let item = format!("{WIDGETS}/a");
    let refused = |method: &str, path: &str, body: &Value, said: &str| {
        let answer = scene.send(method, path, body);
        let message = format!("Widget.example.com \"a\" is invalid: {said}");
        let told = answer.json()["message"].clone();
        assert_eq!(
            (answer.code, told),
            (422, json!(message)),
            "{method} {body}"
        );
    };
    let too_many = widget("a", &json!({"min": 11}));
    let why = "spec.min: Invalid value: min is 11, max 10";
    refused("POST", &format!("{WIDGETS}?dryRun=All"), &too_many, why);
    scene.ok(
        "POST",
        WIDGETS,
        &widget("a", &json!({"min": 1, "name": "n"})),
    );
    refused("PATCH", &item, &json!({"spec": {"min": 11}}), why);
    let renamed = json!({"spec": {"name": "m"}});
    refused(
        "PATCH",
        &item,
        &renamed,
        "spec.name: Invalid value: \"m\": name is immutable",
    );
    let status = json!({"status": {"ready": -1}});
    let why = "status.ready: Invalid value: -1: failed rule: self >= 0";
    refused("PATCH", &format!("{item}/status"), &status, why);
    scene.ok("PATCH", &item, &json!({"spec": {"min": 2, "max": 3}}));
    scene.ok("DELETE", &item, &Value::Null);
}

#[test]
fn a_new_rule_is_not_held_against_what_was_there_and_does_not_change() {
    let scene = Scene::new(|_, _| Answer::allow());
    let plain = json!({"type": "object", "properties": {"size": {"type": "integer"}, "note": {"type": "string"}}});
    scene.ok(
        "POST",
        DEFINITIONS,
        &definition(&plain, &json!({"type": "object"})),
    );
    scene.ok("POST", WIDGETS, &widget("old", &json!({"size": 0})));
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size";
    let mut ruled = scene.ok(
        "GET",
        &format!("{DEFINITIONS}/widgets.example.com"),
        &Value::Null,
    );
    *ruled.pointer_mut(path).expect("a property") =
        json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]});
    scene.ok("PUT", &format!("{DEFINITIONS}/widgets.example.com"), &ruled);
    let item = format!("{WIDGETS}/old");
    scene.ok("PATCH", &item, &json!({"spec": {"note": "x"}}));
    assert_eq!(
        scene
            .send("PATCH", &item, &json!({"spec": {"size": -1}}))
            .code,
        422
    );
    assert_eq!(
        scene
            .send("POST", WIDGETS, &widget("new", &json!({"size": 0})))
            .code,
        422
    );
}

#[test]
fn a_definition_with_a_rule_that_is_none_is_refused_at_its_place() {
    let scene = Scene::new(|_, _| Answer::allow());
    let spec = json!({"type": "object", "properties": {"a": {"type": "string",
        "x-kubernetes-validations": [{"rule": "true"}, {"rule": "self.startWith('x')"}]}}});
    let answer = scene.send(
        "POST",
        DEFINITIONS,
        &definition(&spec, &json!({"type": "object"})),
    );
    let cause = &answer.json()["details"]["causes"][0];
    assert_eq!(answer.code, 422);
    assert_eq!(
        cause["field"],
        json!(
            "spec.validation.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-validations[1].rule"
        )
    );
    let message = cause["message"].as_str().expect("a message");
    assert!(
        message.contains("undeclared reference to 'startWith'"),
        "{message}"
    );
}
