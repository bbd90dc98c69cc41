//! Kinds that are served in several versions or groups, each of which reads what was written through
//! another; and bodies in protobuf.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::http::{Client, JSON, MAPS, MERGE};
use hindsight_tests::manifests::widgets;
use hindsight_tests::server::Server;
use serde_json::{Value, json};

const V1: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const V2: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const NEW_EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

fn send(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    let media = if method == "PATCH" { MERGE } else { JSON };
    let answer = client.send(method, path, media, &body.to_string());
    assert!((200..300).contains(&answer.code), "{}", answer.text);
    answer.json()
}

fn read(client: &Client, path: &str) -> Value {
    let answer = client.send("GET", path, "", "");
    assert_eq!(answer.code, 200, "{}", answer.text);
    answer.json()
}

/// The first object of a list, with the version and the kind that the list implies for it.
fn listed(client: &Client, path: &str) -> Value {
    let list = read(client, path);
    let mut first = list["items"][0].clone();
    assert_eq!((first.get("kind"), first.get("apiVersion")), (None, None));
    first["apiVersion"] = list["apiVersion"].clone();
    let kind = list["kind"]
        .as_str()
        .and_then(|kind| kind.strip_suffix("List"));
    first["kind"] = kind.expect("a list").into();
    first
}

/// The objects that a watch begins with.
fn watched(client: &Client, path: &str) -> Value {
    let path = format!("{path}?watch=true&timeoutSeconds=1");
    let answer = client.send("GET", &path, "", "");
    let first = answer.text.lines().next().expect("an event");
    serde_json::from_str::<Value>(first).expect("JSON")["object"].clone()
}

fn scaler(spec: Value) -> Value {
    let mut object = json!({"metadata": {"name": "a"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}});
    for (name, value) in spec.as_object().expect("members") {
        object["spec"][name] = value.clone();
    }
    object
}

#[test]
fn an_autoscaler_of_v1_is_one_of_v2_with_a_metric_of_the_cpu() {
    let client = Client::in_memory();
    let object = scaler(json!({"targetCPUUtilizationPercentage": 60}));
    let created = send(&client, "POST", V1, &object);
    assert_eq!(created["apiVersion"], "autoscaling/v1");
    assert_eq!(created["spec"]["targetCPUUtilizationPercentage"], 60);
    assert_eq!(
        created["spec"]["minReplicas"], 1,
        "defaults are v1's as well"
    );
    let metric = json!([{"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 60}}}]);
    for read in [
        read(&client, &format!("{V2}/a")),
        listed(&client, V2),
        watched(&client, V2),
    ] {
        assert_eq!(read["apiVersion"], "autoscaling/v2");
        assert_eq!(read["spec"]["metrics"], metric);
        assert_eq!(read["spec"].get("targetCPUUtilizationPercentage"), None);
    }
}

#[test]
fn an_autoscaler_of_v2_is_read_and_written_through_v1_without_loss() {
    let client = Client::in_memory();
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "m"},
        "target": {"type": "AverageValue", "averageValue": "10"}}});
    let created = send(&client, "POST", V2, &scaler(json!({"metrics": [pods]})));
    let mut old = read(&client, &format!("{V1}/a"));
    let notes = &old["metadata"]["annotations"];
    let note = &notes["autoscaling.alpha.kubernetes.io/metrics"];
    assert!(note.as_str().expect("a text").contains("metricName"));
    assert_eq!(listed(&client, V1), old);
    assert_eq!(watched(&client, V1), old);
    old["spec"]["maxReplicas"] = json!(5);
    let updated = send(&client, "PUT", &format!("{V1}/a"), &old);
    assert_eq!(updated["apiVersion"], "autoscaling/v1");
    let patch = json!({"spec": {"targetCPUUtilizationPercentage": 7}});
    send(&client, "PATCH", &format!("{V1}/a"), &patch);
    let new = read(&client, &format!("{V2}/a"));
    assert_eq!(new["metadata"].get("annotations"), None);
    assert_eq!(new["spec"]["maxReplicas"], 5);
    let metrics = new["spec"]["metrics"].as_array().expect("a list");
    assert_eq!(metrics.len(), 2);
    assert_eq!(metrics[1], created["spec"]["metrics"][0]);
}

#[test]
fn the_events_of_both_groups_are_the_same_objects() {
    let client = Client::in_memory();
    let event = json!({"metadata": {"name": "e"}, "note": "said", "reason": "Because",
        "action": "Act", "type": "Normal", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c", "reportingInstance": "c-0",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}});
    let created = send(&client, "POST", NEW_EVENTS, &event);
    assert_eq!(created["apiVersion"], "events.k8s.io/v1");
    let core = read(&client, &format!("{EVENTS}/e"));
    assert_eq!(core["apiVersion"], "v1");
    assert_eq!(
        (&core["message"], &core["note"]),
        (&json!("said"), &Value::Null)
    );
    assert_eq!(core["involvedObject"]["name"], "p");
    assert_eq!(core["metadata"], created["metadata"]);
    let of = |path: &str, selector: &str| {
        let list = read(&client, &format!("{path}?fieldSelector={selector}"));
        list["items"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(of(NEW_EVENTS, "regarding.name%3Dp"), 1);
    assert_eq!(of(EVENTS, "involvedObject.name%3Dp"), 1);
    assert_eq!(of(EVENTS, "involvedObject.name%3Dq"), 0);
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}});
    send(&client, "PATCH", &format!("{EVENTS}/e"), &series);
    let new = watched(&client, NEW_EVENTS);
    assert_eq!(
        (&new["series"]["count"], &new["note"]),
        (&json!(2), &json!("said"))
    );
    send(&client, "DELETE", NEW_EVENTS, &json!({}));
    assert_eq!(read(&client, EVENTS)["items"], json!([]));
    for (path, named, group) in [
        (EVENTS, "events", Value::Null),
        (NEW_EVENTS, "events.events.k8s.io", json!("events.k8s.io")),
    ] {
        for method in ["GET", "DELETE"] {
            let answer = client.send(method, &format!("{path}/none"), "", "");
            let status = answer.json();
            assert_eq!(status["message"], format!("{named} \"none\" not found"));
            assert_eq!(status["details"]["group"], group, "{method}");
        }
    }
}

#[test]
fn kubectl_reads_every_form() {
    let server = Server::start();
    let manifest = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"}, "spec": {"maxReplicas": 2,
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}});
    server.kubectl_with(&["apply", "-f", "-"], &manifest.to_string());
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"}, "note": "all is well",
        "reason": "Because", "action": "Act", "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/c",
        "reportingInstance": "c-0", "regarding": {"kind": "Pod", "name": "p"}});
    server.kubectl_with(&["create", "-f", "-"], &event.to_string());
    for (arguments, expected) in [
        (
            "get horizontalpodautoscalers.v1.autoscaling a -o jsonpath={.spec.targetCPUUtilizationPercentage}",
            "80",
        ),
        (
            "get horizontalpodautoscalers.v2.autoscaling a -o jsonpath={.spec.metrics[0].resource.name}",
            "cpu",
        ),
        ("get hpa.v1.autoscaling", "NAME"),
        (
            "explain --api-version=autoscaling/v1 hpa.spec",
            "targetCPUUtilizationPercentage",
        ),
        ("explain --api-version=autoscaling/v2 hpa.spec", "metrics"),
        ("get events", "all is well"),
        (
            "get events.events.k8s.io -o jsonpath={.items[0].note}",
            "all is well",
        ),
        ("events", "all is well"),
        ("api-versions", "autoscaling/v1\nautoscaling/v2\n"),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let shown = server.kubectl(&words);
        assert!(shown.contains(expected), "{arguments}: {shown}");
    }
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A protobuf field that holds a string or a message. Since all of it is short it is valid UTF-8, as
/// the test client requires of bodies.
fn field(number: u8, text: &str) -> String {
    let tag = char::from(number << 3 | 2);
    let length = char::from(u8::try_from(text.len()).expect("short"));
    assert!(length.is_ascii());
    format!("{tag}{length}{text}")
}

fn protobuf(api_version: &str, kind: &str, message: &str) -> String {
    let said = field(1, api_version) + &field(2, kind);
    format!("k8s\0{}{}", field(1, &said), field(2, message))
}

/// What Go clients send. Decoding is lenient as upstream's, because the next version has more fields.
#[test]
fn bodies_in_protobuf_are_read_as_upstream_reads_them() {
    let client = Client::in_memory();
    let foreground = field(4, "Foreground");
    let later = "\u{78}\u{1}".to_owned() + &field(14, "x");
    let encoded = format!(
        "k8s\0{}{}{}",
        field(2, &foreground),
        field(3, "gzip"),
        field(4, "x")
    );
    for options in [
        protobuf("v1", "DeleteOptions", &foreground),
        protobuf("", "", &foreground),
        protobuf("", "DeleteOptions", &foreground),
        protobuf(
            "example.com/v1",
            "DeleteOptions",
            &(later.clone() + &foreground),
        ),
        encoded,
    ] {
        let held = json!({"metadata": {"name": "a", "finalizers": ["x/y"]}});
        send(&client, "POST", MAPS, &held);
        let marked = client.send("DELETE", &format!("{MAPS}/a"), PROTOBUF, &options);
        assert_eq!(marked.code, 200, "{}", marked.text);
        let finalizers = &marked.json()["metadata"]["finalizers"];
        assert_eq!(
            *finalizers,
            json!(["x/y", "foregroundDeletion"]),
            "{options:?}"
        );
        let pins = field(2, &(field(1, "another") + &later));
        let pinned = client.send("DELETE", MAPS, PROTOBUF, &protobuf("", "", &pins));
        assert_eq!(pinned.code, 409, "{}", pinned.text);
        let free = json!({"metadata": {"finalizers": null}});
        send(&client, "PATCH", &format!("{MAPS}/a"), &free);
    }
    send(&client, "POST", MAPS, &json!({"metadata": {"name": "a"}}));
    for kind in ["Status", "ListOptions", "DeleteOption", "ConfigMap"] {
        let refused = client.send(
            "DELETE",
            &format!("{MAPS}/a"),
            PROTOBUF,
            &protobuf("v1", kind, ""),
        );
        assert_eq!(refused.code, 400, "{kind}: {}", refused.text);
    }
    let group = client.send(
        "DELETE",
        &format!("{MAPS}/a"),
        PROTOBUF,
        &protobuf("", "", "\u{b}\u{c}"),
    );
    assert_eq!(group.code, 400, "{}", group.text);
    read(&client, &format!("{MAPS}/a"));
}

#[test]
fn an_object_in_protobuf_is_of_the_kind_of_its_endpoint() {
    let client = Client::in_memory();
    let metadata = field(1, "a") + &field(15, "later");
    let message = field(1, &metadata) + &field(9, "x");
    let post = |path: &str, (version, kind): (&str, &str), code: u16| {
        let document = protobuf(version, kind, &message);
        let answer = client.send("POST", path, PROTOBUF, &document);
        assert_eq!(answer.code, code, "{}", answer.text);
    };
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    post(leases, ("", ""), 201);
    assert_eq!(read(&client, &format!("{leases}/a"))["kind"], "Lease");
    post(MAPS, ("v1", "ConfigMap"), 201);
    post(MAPS, ("v1", "Secret"), 400);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let widgets = widgets("{type: object}");
    let defined = client.send("POST", definitions, "application/yaml", &widgets);
    assert_eq!(defined.code, 201, "{}", defined.text);
    post(WIDGETS, ("example.com/v1", "Widget"), 415);
}

/// A method, a path, and the expected code; for a 405 also the kind that it names.
const METHODS: &str = "
HEAD    MAPS/a          405 {}
HEAD    MAPS            405 {}
OPTIONS MAPS/a          405 {}
HEAD    WIDGETS/a       200
HEAD    WIDGETS/none    404
HEAD    WIDGETS         200
HEAD    WIDGETS?watch=1 200
HEAD    PAST/a          200
DELETE  PAST/a          405 -
OPTIONS WIDGETS/a       405 widgets
OPTIONS WIDGETS         405 widgets
PUT     WIDGETS         405 widgets
POST    WIDGETS/a       405 widgets
POST    WIDGETS/a/status 404
";

/// Source: upstream's `crdHandler`; built-in kinds have a router, which does not know such methods.
#[test]
fn custom_kinds_have_methods_that_others_have_not_and_name_themselves_where_they_have_none() {
    let client = Client::in_memory();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let yaml = "application/yaml";
    client.send("POST", definitions, yaml, &widgets("{type: object}"));
    let (maps, all) = (
        "/api/v1/namespaces/default/configmaps",
        "/apis/example.com/v1/namespaces/default/widgets",
    );
    for path in [maps, all] {
        send(&client, "POST", path, &json!({"metadata": {"name": "a"}}));
    }
    let past = format!("/as-of/{}{all}", client.revision());
    for row in METHODS.lines().filter(|row| !row.is_empty()) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let path = words[1].replace("MAPS", maps).replace("WIDGETS", all);
        let path = path.replace("PAST", &past);
        let answer = client.send(words[0], &path, JSON, "");
        assert_eq!(answer.code.to_string(), words[2], "{row}: {}", answer.text);
        assert!(
            words[0] != "HEAD" || words[2] == "405" || answer.text.is_empty(),
            "{row}"
        );
        let details = match words.get(3).copied() {
            Some("-") => Value::Null,
            Some("{}") => json!({}),
            Some(name) => json!({"group": "example.com", "kind": name}),
            None => continue,
        };
        assert_eq!(answer.json()["details"], details, "{row}");
    }
}

#[test]
fn a_number_comes_back_as_it_was_sent() {
    let client = Client::in_memory();
    let anything = "{type: object, x-kubernetes-preserve-unknown-fields: true}";
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let defined = client.send("POST", definitions, "application/yaml", &widgets(anything));
    assert_eq!(defined.code, 201, "{}", defined.text);
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    let hard = [
        "9665643.123171953",
        "0.1",
        "2.2250738585072014e-308",
        "5e-324",
        "1.7976931348623157e308",
        "8.41e21",
        "9.5367431640625e-7",
        "-123456789.98765433",
    ];
    let numbers = hard.join(",");
    let body = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"w"}},"numbers":[{numbers}]}}"#
    );
    let made = client.send("POST", path, JSON, &body);
    assert_eq!(made.code, 201, "{}", made.text);
    let stored = read(&client, &format!("{path}/w"));
    for (at, text) in hard.iter().enumerate() {
        let sent: f64 = text.parse().expect("a number");
        let number = stored["numbers"][at].as_f64().map(f64::to_bits);
        assert_eq!(number, Some(sent.to_bits()), "{text}");
    }
}
