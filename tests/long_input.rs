//! Requests that are as long as allowed and list many items: none blocks others for long, and no
//! answer is much longer than what it reports. In process, through the same handler as the server's.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::http::{Client, DEFINITIONS, JSON, MAPS, MERGE};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

const APPLY: &str = "application/apply-patch+yaml";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/// A request that takes this long counts as endless: it is a hundred times longer than any of these
/// takes, and a tenth of what comparing each item with each other took.
const ENDS_WITHIN: Duration = Duration::from_secs(100);

fn ends<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = act();
    assert!(begun.elapsed() < ENDS_WITHIN, "{what} does not end");
    done
}

/// Comparing each member with each other would occupy a thread for minutes.
#[test]
fn a_hundred_thousand_unknown_members_are_told_of_as_far_as_headers_go() {
    let client = Client::in_memory();
    let unknown: Map<String, Value> = (0..100_000).map(|n| (format!("u{n}"), json!(0))).collect();
    let mut body = json!({"metadata": {"name": "many"}});
    body.as_object_mut().expect("an object").extend(unknown);
    for code in [201, 409] {
        let body = body.to_string();
        let answer = ends("unknown members", || client.send("POST", MAPS, JSON, &body));
        assert_eq!(answer.code, code, "{}", answer.text);
        assert!(
            (100..1_000).contains(&answer.warnings.len()),
            "{}",
            answer.warnings.len()
        );
    }
}

/// The same for items of lists: the decider would keep all writers waiting.
#[test]
fn long_lists_are_not_compared_each_with_each() {
    let client = Client::in_memory();
    let list = |count, item: fn(u32) -> Value| -> Vec<Value> { (1..count).map(item).collect() };
    let pod = json!({"containers": [{"name": "c", "image": "i"}]});
    for (resource, place, mut spec, mut items) in [
        (
            "configmaps",
            "/metadata/finalizers",
            json!({}),
            list(120_000, |n| json!(format!("a/{n}"))),
        ),
        (
            "configmaps",
            "/metadata/ownerReferences",
            json!({}),
            list(
                40_000,
                |n| json!({"apiVersion": "v1", "kind": "A", "name": "a", "uid": n.to_string()}),
            ),
        ),
        (
            "pods",
            "/spec/schedulingGates",
            pod.clone(),
            list(80_000, |n| json!({"name": format!("a/{n}")})),
        ),
        (
            "pods",
            "/spec/tolerations",
            pod.clone(),
            list(
                50_000,
                |n| json!({"key": n.to_string(), "operator": "Exists"}),
            ),
        ),
        (
            "replicationcontrollers",
            "/spec/template/spec/topologySpreadConstraints",
            json!({"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}),
            list(30_000, constraint),
        ),
        (
            "services",
            "/spec/ports",
            json!({}),
            list(40_000, |n| json!({"name": format!("p{n}"), "port": n})),
        ),
    ] {
        let name = place.replace('/', "").to_lowercase();
        let (parent, member) = place.rsplit_once('/').expect("a path");
        let mut document = json!({"metadata": {"name": name}, "spec": spec.take()});
        let path = format!("/api/v1/namespaces/default/{resource}");
        for (method, path, code) in [
            ("POST", path.clone(), 201),
            ("PUT", format!("{path}/{name}"), 200),
        ] {
            items.reverse();
            document.pointer_mut(parent).expect("there")[member] = json!(items);
            let body = document.to_string();
            let answer = ends(place, || client.send(method, &path, JSON, &body));
            assert_eq!(
                answer.code,
                code,
                "{place}: {}",
                answer.text.chars().take(300).collect::<String>()
            );
        }
        end(&client, &format!("{path}/{name}"), place);
    }
}

#[test]
fn what_a_long_list_had_before_is_looked_up() {
    let list =
        |count, item: &dyn Fn(u32) -> Value| -> Vec<Value> { (1..count).map(item).collect() };
    let drivers = |last: &str| {
        let one = |n: u32, id: &str| json!({"name": format!("d{n}"), "nodeID": id});
        let mut drivers = list(50_000, &|n| one(n, "a"));
        drivers.push(one(50_000, last));
        drivers.reverse();
        json!({"drivers": drivers})
    };
    let hard = list(50_000, &|n| json!(format!("count/a{n}")));
    let hard = hard.iter().filter_map(Value::as_str);
    let hard: Map<String, Value> = hard.map(|name| (name.into(), json!("1"))).collect();
    let quota = |scope: &str| json!({"hard": hard, "scopes": vec![scope; 50_000]});
    let nodes = "/apis/storage.k8s.io/v1/csinodes";
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    for (path, before, after) in [
        (nodes, drivers("a"), drivers("b")),
        (quotas, quota("VolumeAttributesClass"), quota("BestEffort")),
    ] {
        let client = Client::in_memory();
        let one = format!("{path}/a");
        for (method, path, media, spec, code) in [
            ("POST", path, JSON, before, 201),
            ("PATCH", &one, MERGE, after, 422),
        ] {
            let body = json!({"metadata": {"name": "a"}, "spec": spec}).to_string();
            let answer = ends(path, || client.send(method, path, media, &body));
            let told: String = answer.text.chars().take(300).collect();
            assert_eq!(answer.code, code, "{method} {path}: {told}");
            let is_told = code == 201 || answer.text.contains("field is immutable");
            assert!(is_told, "{method} {path}: {told}");
        }
    }
}

fn constraint(n: u32) -> Value {
    json!({"maxSkew": 1, "topologyKey": n.to_string(), "whenUnsatisfiable": "DoNotSchedule"})
}

/// Deletes an object; if finalizers hold it, it is changed once more and then let go.
fn end(client: &Client, path: &str, what: &str) {
    let send = |method: &str, media: &str, body: &Value| {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        ends(what, || client.send(method, path, media, &body)).code
    };
    assert_eq!(send("DELETE", "", &Value::Null), 200, "{what}");
    if what != "/metadata/finalizers" {
        return;
    }
    let changed = json!({"data": {"a": "b"}});
    assert_eq!(send("PATCH", MERGE, &changed), 200, "{what}");
    let let_go = json!({"metadata": {"finalizers": null}});
    assert_eq!(send("PATCH", MERGE, &let_go), 200, "{what}");
    assert_eq!(send("GET", "", &Value::Null), 404, "{what}");
}

/// A list of all that is wrong with a document may be a thousand times longer than the document.
#[test]
fn a_refusal_ends_after_so_many_causes() {
    let client = Client::in_memory();
    let names: Vec<String> = (0..100).map(|n| format!("name{n}")).collect();
    let texts: Vec<String> = (0..5_000).map(|n| format!("text{n}")).collect();
    let list = |items: Value| json!({"type": "array", "items": items});
    let properties = json!({"required": list(json!({"type": "object", "required": names})),
        "enum": list(json!({"type": "string", "enum": texts}))});
    let definition = definition(&json!({"type": "object", "properties": properties}));
    let answer = client.send("POST", DEFINITIONS, JSON, &definition);
    assert_eq!(answer.code, 201, "{}", answer.text);
    let widget = |member: &str, items: Value| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, member: items})
    };
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": vec![json!({}); 10_000]}});
    let finalizers: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    for (path, document) in [
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            widget("required", json!(vec![json!({}); 10_000])),
        ),
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            widget("enum", json!(vec!["other"; 10_000])),
        ),
        ("/api/v1/namespaces/default/pods", pod),
        (
            MAPS,
            json!({"metadata": {"name": "m", "finalizers": finalizers}}),
        ),
    ] {
        let answer = client.send("POST", path, JSON, &document.to_string());
        assert_eq!(answer.code, 422, "{path}: {}", answer.text.len());
        assert!(answer.text.len() < 4 << 20, "{path}: {}", answer.text.len());
        let causes = answer.json()["details"]["causes"]
            .as_array()
            .map_or(0, Vec::len);
        assert!((1..=1_000).contains(&causes), "{path}: {causes}");
    }
}

/// The causes would take gigabytes: each repeats the list that it is about, and there is one for each item.
#[test]
fn a_list_is_not_written_down_for_each_of_its_items() {
    let client = Client::in_memory();
    let context = json!({"allowPrivilegeEscalation": false,
        "capabilities": {"add": vec!["CAP_SYS_ADMIN"; 100_000]}});
    let container = json!({"name": "c", "image": "i", "securityContext": context});
    let scope = json!({"scopeName": "BestEffort", "operator": "Exists"});
    let hard = json!({"cpu": "1"});
    for (resource, spec) in [
        ("pods", json!({"containers": [container]})),
        (
            "resourcequotas",
            json!({"hard": hard, "scopes": vec!["x"; 200_000]}),
        ),
        (
            "resourcequotas",
            json!({"hard": hard, "scopeSelector": {"matchExpressions": vec![scope; 40_000]}}),
        ),
    ] {
        let path = format!("/api/v1/namespaces/default/{resource}");
        let body = json!({"metadata": {"name": "a"}, "spec": spec}).to_string();
        let answer = ends(resource, || client.send("POST", &path, JSON, &body));
        assert_eq!(answer.code, 422, "{resource}: {}", answer.text.len());
        assert!(answer.text.len() < 16 << 20, "{}", answer.text.len());
    }
}

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// As JSON, because YAML limits the length of keys.
fn definition(schema: &Value) -> String {
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}});
    let names = json!({"plural": "widgets", "kind": "Widget"});
    json!({"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com",
        "scope": "Namespaced", "names": names, "versions": [version]}})
    .to_string()
}

/// Defines widgets with a list of such items.
fn define(client: &Client, items: &Value) {
    let list = json!({"type": "array", "items": items});
    let schema = json!({"type": "object", "properties": {"list": list,
        "map": {"type": "object", "additionalProperties": list}}});
    let definition = definition(&schema);
    let answer = ends("a definition", || {
        client.send("POST", DEFINITIONS, JSON, &definition)
    });
    assert_eq!(answer.code, 201, "{}", answer.text);
}

/// Most of what could be reported about alternatives is left out, and the rest is bounded: neither
/// the allowed values nor the path of an item is written down for each item.
#[test]
fn nothing_is_written_down_that_is_not_told() {
    let texts: Vec<String> = (0..20_000).map(|n| format!("text{n}")).collect();
    let (allowed, name) = (json!({"enum": texts}), "n".repeat(1 << 19));
    let item = |json: Value| {
        let mut item = json!({"type": "object"});
        let members = json.as_object().expect("an object").clone();
        item.as_object_mut().expect("an object").extend(members);
        item
    };
    let names: Vec<String> = (0..20_000).map(|n| format!("name{n}")).collect();
    for (items, one, count, code) in [
        (
            json!({"type": "string", "not": allowed}),
            json!("a"),
            20_000,
            201,
        ),
        (
            json!({"type": "string", "anyOf": [allowed, {"maxLength": 3}]}),
            json!("a"),
            20_000,
            201,
        ),
        (
            json!({"type": "string", "oneOf": [allowed, {"maxLength": 3}]}),
            json!("four"),
            20_000,
            422,
        ),
        (item(json!({"required": names})), json!({}), 100, 422),
        (
            item(json!({"x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true})),
            json!({}),
            100_000,
            422,
        ),
        (
            json!({"type": "integer", "maximum": 3,
                "x-kubernetes-validations": [{"rule": "self < 3"}]}),
            json!(5),
            100_000,
            422,
        ),
    ] {
        let client = Client::in_memory();
        define(&client, &items);
        let list = vec![one; count];
        let body = json!({"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "w"}, "map": {name.clone(): list}});
        let body = body.to_string();
        let answer = ends("a widget", || client.send("POST", WIDGETS, JSON, &body));
        assert_eq!(answer.code, code, "{}", answer.text.len());
        assert!(answer.text.len() < 8 << 20, "{}", answer.text.len());
    }
}

#[test]
fn all_that_is_wrong_with_a_definition_has_an_end() {
    let client = Client::in_memory();
    let name = "p".repeat(300 << 10);
    let untyped: Map<String, Value> = (0..10_000).map(|n| (format!("a{n}"), json!({}))).collect();
    let typed = |schema: &Value| {
        let members = untyped.keys().map(|name| (name.clone(), schema.clone()));
        Value::from(members.collect::<Map<String, Value>>())
    };
    for properties in [
        typed(&json!({})),
        typed(&json!({"type": "nonsense"})),
        typed(&json!({"type": "string", "default": 1})),
        typed(&json!({"type": "string", "pattern": "("})),
        typed(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "1 + "}]})),
    ] {
        let schema = json!({"type": "object", "properties": {name.clone(): {"type": "object",
            "properties": properties}}});
        let definition = definition(&schema);
        let answer = ends("a definition", || {
            client.send("POST", DEFINITIONS, JSON, &definition)
        });
        assert_eq!(answer.code, 422, "{}", answer.text.len());
        assert!(answer.text.len() < 8 << 20, "{}", answer.text.len());
    }
}

/// Each is told of with the path to it, which is long.
#[test]
fn what_is_unknown_or_wrong_under_a_long_name_has_an_end() {
    let client = Client::in_memory();
    let name = "n".repeat(300 << 10);
    let unknown: Map<String, Value> = (0..20_000).map(|n| (format!("u{n}"), json!(0))).collect();
    let schema = json!({"type": "object", "properties": {name.clone(): unknown}});
    let applied = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "a"}, "spec": {"extra": {name: vec![1; 20_000]}}});
    for (method, path, media, body) in [
        (
            "POST",
            format!("{DEFINITIONS}?fieldValidation=Strict"),
            JSON,
            definition(&schema),
        ),
        (
            "PATCH",
            format!("{REQUESTS}/a?fieldManager=m"),
            APPLY,
            applied.to_string(),
        ),
    ] {
        let answer = ends(&path, || client.send(method, &path, media, &body));
        assert_eq!(answer.code, 400, "{path}");
        assert!((300 << 10..16 << 20).contains(&answer.text.len()), "{path}");
    }
    let nameless = json!({"metadata": {"name": "m", "finalizers": vec![""; 500_000]}}).to_string();
    let answer = ends("finalizers", || client.send("POST", MAPS, JSON, &nameless));
    assert_eq!(answer.code, 422);
}

/// The writer reads them with every write of the object, and keeps all others waiting meanwhile.
#[test]
fn fields_that_are_said_to_be_owned_come_in_any_order() {
    let client = Client::in_memory();
    // In the order of their names these go down.
    let values = (100_000..250_000).map(|n| (format!("v:-{n}"), json!({})));
    let owned: Map<String, Value> = values.collect();
    let entry = json!({"manager": "m", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": owned}});
    let map = json!({"metadata": {"name": "m", "managedFields": [entry]}}).to_string();
    let one = format!("{MAPS}/m");
    for (method, path, media, body, code) in [
        ("POST", MAPS, JSON, &*map, 201),
        ("PATCH", &*one, MERGE, r#"{"data": {"a": "b"}}"#, 200),
    ] {
        let answer = ends(method, || client.send(method, path, media, body));
        assert_eq!(answer.code, code, "{method}: {}", answer.text.len());
    }
    end(&client, &one, "its end");
}

#[test]
fn defaults_under_long_names_have_an_end() {
    let client = Client::in_memory();
    let name = "n".repeat(200 << 10);
    let item = json!({"type": "object", "properties": {name: {"type": "integer", "default": 1}}});
    define(&client, &item);
    let body = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, "list": vec![json!({}); 100_000]});
    let body = body.to_string();
    let answer = ends("a widget", || client.send("POST", WIDGETS, JSON, &body));
    assert_eq!(answer.code, 413, "{}", answer.text.len());
}
