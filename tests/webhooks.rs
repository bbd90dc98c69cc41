//! What admission webhooks are asked over TLS, and how they may change a write.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::admission::{Scene, label, map};
use hindsight_tests::http::{Client, MAPS, MERGE};
use hindsight_tests::requests::{neutral, requests};
use hindsight_tests::webhook::Answer;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_mutating_webhook_changes_what_is_stored_whatever_the_verb() {
    let scene = Scene::new(|_, request| {
        label(
            request,
            "seen",
            &request["operation"]
                .as_str()
                .unwrap_or_default()
                .to_lowercase(),
        )
    });
    let item = format!("{MAPS}/a");
    scene.ok("POST", MAPS, &map("a"));
    scene.configure("mutating", &[("/label", json!({}))]);
    let seen = |answer: &Value| answer["metadata"]["labels"]["seen"].clone();
    let created = scene.ok("POST", MAPS, &map("b"));
    assert_eq!(seen(&created), "create");
    let put = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    for (method, body) in [
        ("PUT", put),
        ("PATCH", json!({"metadata": {"labels": {"seen": null}}})),
    ] {
        let answer = scene.ok(method, &item, &body);
        assert_eq!(seen(&answer), "update", "{method}");
        let stored = scene.ok("GET", &item, &Value::Null);
        assert_eq!(
            (&stored["metadata"], &stored["data"]["k"]),
            (&answer["metadata"], &json!("v"))
        );
    }
}

#[test]
fn a_webhook_may_mend_what_would_be_invalid() {
    let scene = Scene::new(|_, _| {
        Answer::patch(&json!([{"op": "add", "path": "/spec/ports", "value": [{"port": 80}]}]))
    });
    let path = "/api/v1/namespaces/default/services";
    let body = json!({"metadata": {"name": "a"}, "spec": {"type": "ClusterIP"}});
    assert_eq!(scene.send("POST", path, &body).code, 422);
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"]}]);
    scene.configure("mutating", &[("/ports", json!({"rules": rules}))]);
    assert_eq!(
        scene.ok("POST", path, &body)["spec"]["ports"][0]["port"],
        80
    );
}

#[test]
fn the_question_about_a_creation_says_everything() {
    let scene = Scene::new(|_, _| Answer::allow());
    scene.configure("mutating", &[("/m", json!({}))]);
    scene.configure("validating", &[("/v", json!({}))]);
    let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
    let created = scene.ok("POST", &format!("{MAPS}?fieldManager=me"), &map("a"));
    let questions = scene.webhook.take();
    let paths: Vec<&str> = questions.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/m", "/v"]);
    for (path, request) in &questions {
        assert_eq!(
            (&request["kind"], &request["requestKind"]),
            (&kind, &kind),
            "{path}"
        );
        assert_eq!(
            (&request["resource"], &request["requestResource"]),
            (&resource, &resource)
        );
        assert_eq!(
            (&request["name"], &request["namespace"]),
            (&json!("a"), &json!("default"))
        );
        assert_eq!(
            (&request["operation"], &request["dryRun"]),
            (&json!("CREATE"), &json!(false))
        );
        assert_eq!(request["userInfo"]["username"], "admin");
        assert_eq!(request["options"]["kind"], "CreateOptions");
        assert_eq!(request["options"]["fieldManager"], "me");
        assert_eq!(request["oldObject"], Value::Null);
        assert_eq!(request["object"]["metadata"].get("resourceVersion"), None);
    }
    assert_eq!(
        questions[0].1["object"]["metadata"].get("uid"),
        None,
        "not filled in yet"
    );
    assert_eq!(
        questions[1].1["object"]["metadata"]["uid"],
        created["metadata"]["uid"]
    );
}

#[test]
fn the_questions_about_changes_and_deletions_show_the_object_as_it_was() {
    let scene = Scene::new(|_, _| Answer::allow());
    let item = format!("{MAPS}/a");
    let created = scene.ok("POST", MAPS, &map("a"));
    scene.configure("mutating", &[("/m", json!({}))]);
    scene.configure("validating", &[("/v", json!({}))]);
    scene.ok(
        "PATCH",
        &format!("{item}?dryRun=All"),
        &json!({"data": {"k": "v"}}),
    );
    for (_, request) in scene.webhook.take() {
        assert_eq!(
            (&request["operation"], &request["dryRun"]),
            (&json!("UPDATE"), &json!(true))
        );
        assert_eq!(request["oldObject"], created);
        assert_eq!(request["object"]["data"]["k"], "v");
        assert_eq!(request["options"]["kind"], "UpdateOptions");
    }
    let options = json!({"gracePeriodSeconds": 3, "propagationPolicy": "Orphan"});
    scene.ok("DELETE", &format!("{item}?dryRun=All"), &Value::Null);
    scene.ok("DELETE", &item, &options);
    let questions = scene.webhook.take();
    let last = &questions.last().expect("a question").1;
    assert_eq!(
        (&last["operation"], &last["object"]),
        (&json!("DELETE"), &Value::Null)
    );
    assert_eq!((&last["oldObject"], &last["name"]), (&created, &json!("a")));
    assert_eq!(last["options"]["propagationPolicy"], "Orphan");
    assert_eq!(questions.len(), 4);
}

#[test]
fn webhooks_that_want_to_know_are_asked_again_when_others_change_the_object_after_them() {
    for (policy, expected, counted) in [
        // What the first webhook changes when it is asked again is news to the second; no webhook is
        // asked a third time.
        (
            "IfNeeded",
            vec!["/first", "/second", "/first", "/second"],
            ["2", "2"],
        ),
        ("Never", vec!["/first", "/second"], ["0", "1"]),
    ] {
        let scene = Scene::new(|path, request| {
            let seen = request["object"]["metadata"]["labels"].as_object();
            let seen = seen.map_or(0, serde_json::Map::len).to_string();
            label(request, &path[1..], &seen)
        });
        let hooks = ["/first", "/second"].map(|path| (path, json!({"reinvocationPolicy": policy})));
        scene.configure("mutating", &hooks);
        let labels = scene.ok("POST", MAPS, &map("a"))["metadata"]["labels"].clone();
        let asked: Vec<String> = scene
            .webhook
            .take()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(asked, expected);
        let [first, second] = counted;
        assert_eq!(labels, json!({"first": first, "second": second}));
    }
}

#[test]
fn selectors_choose_namespaces_and_objects_and_a_mutation_counts() {
    let scene = Scene::new(|path, request| match path {
        "/label" => label(request, "team", "a"),
        _ => Answer::Response(json!({"allowed": false})),
    });
    scene.ok(
        "POST",
        "/api/v1/namespaces",
        &json!({"metadata": {"name": "other"}}),
    );
    let of = |name: &str| json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}});
    let having = |operator: &str| json!({"objectSelector": {"matchExpressions": [{"key": "team", "operator": operator}]}});
    let all = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "Namespaced"}]);
    let cases = [
        (of("default"), json!(null), "default", 400),
        (of("default"), json!(null), "other", 201),
        (having("Exists"), json!(null), "default", 201),
        (having("DoesNotExist"), json!(null), "default", 400),
        (having("Exists"), json!({}), "default", 400),
        (json!({"rules": all}), json!(null), "default", 400),
    ];
    for (index, (selector, labels, namespace, code)) in cases.into_iter().enumerate() {
        scene.configure("validating", &[("/deny", selector.clone())]);
        let mutating = if labels.is_null() {
            vec![]
        } else {
            vec![("/label", labels)]
        };
        scene.configure("mutating", &mutating);
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let answer = scene.send("POST", &path, &map(&format!("m{index}")));
        assert_eq!(answer.code, code, "{selector} {namespace}: {}", answer.text);
    }
    let nodes = scene.send("POST", "/api/v1/nodes", &json!({"metadata": {"name": "n"}}));
    assert_eq!(
        nodes.code, 201,
        "the last rule is about what is namespaced: {}",
        nodes.text
    );
}

#[test]
fn what_changes_while_it_is_admitted_is_admitted_again() {
    let other: Arc<std::sync::OnceLock<Client>> = Arc::default();
    let (inside, again) = (Arc::clone(&other), AtomicBool::new(false));
    let scene = Scene::new(move |_, request| {
        if request["operation"] == "UPDATE" && !again.swap(true, Ordering::SeqCst) {
            let client = inside.get().expect("a client");
            let body = json!({"data": {"theirs": "1"}}).to_string();
            let answer = client.send("PATCH", &format!("{MAPS}/a/?"), MERGE, &body);
            assert_eq!(answer.code, 200, "{}", answer.text);
        }
        label(request, "seen", "yes")
    });
    other.set(Client::new(&scene.plane)).expect("set once");
    scene.ok("POST", MAPS, &map("a"));
    scene.configure("mutating", &[("/label", json!({}))]);
    let answer = scene.ok(
        "PATCH",
        &format!("{MAPS}/a"),
        &json!({"data": {"ours": "2"}}),
    );
    assert_eq!(answer["data"], json!({"theirs": "1", "ours": "2"}));
    let last = scene.webhook.take().pop().expect("a question").1;
    assert_eq!(
        last["oldObject"]["data"],
        json!({"theirs": "1"}),
        "nothing goes by unseen"
    );
    let revision = answer["metadata"]["resourceVersion"].clone();
    let stale = json!({"metadata": {"resourceVersion": "1"}});
    assert_eq!(scene.send("PATCH", &format!("{MAPS}/a"), &stale).code, 409);
    let fresh = json!({"metadata": {"resourceVersion": revision}});
    scene.ok("PATCH", &format!("{MAPS}/a"), &fresh);
}

#[test]
fn deletions_are_asked_about_one_by_one_and_cannot_be_changed() {
    let scene = Scene::new(|path, request| match path {
        "/patch" => label(request, "x", "y"),
        _ => Answer::Response(json!({"allowed": request["oldObject"]["data"]["keep"].is_null()})),
    });
    for (name, data) in [
        ("a", json!({})),
        ("b", json!({"keep": "1"})),
        ("c", json!({})),
    ] {
        scene.ok(
            "POST",
            MAPS,
            &json!({"metadata": {"name": name}, "data": data}),
        );
    }
    let only = json!([{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
    scene.configure("mutating", &[("/patch", json!({"rules": only}))]);
    let answer = scene.send("DELETE", &format!("{MAPS}/a"), &Value::Null);
    assert_eq!(answer.code, 500);
    assert!(
        answer.text.contains("attempted to modify the object"),
        "{}",
        answer.text
    );
    scene.configure("mutating", &[]);
    scene.configure("validating", &[("/deny", json!({"rules": only}))]);
    scene.webhook.take();
    assert_eq!(scene.send("DELETE", MAPS, &Value::Null).code, 400);
    let asked = scene.webhook.take();
    assert_eq!(asked.len(), 2, "it ends at the first refusal");
    assert_eq!(asked[0].1.get("name"), None, "a collection has no name");
    let left = scene.ok("GET", MAPS, &Value::Null);
    assert_eq!(left["items"].as_array().map(Vec::len), Some(2));
    scene.ok("DELETE", &format!("{MAPS}/c"), &Value::Null);
    assert_eq!(
        scene
            .send("DELETE", &format!("{MAPS}/b"), &Value::Null)
            .code,
        400
    );
    assert_eq!(
        scene
            .send("DELETE", &format!("{MAPS}/gone"), &Value::Null)
            .code,
        404
    );
}

/// Lines of `request | body | operation | kind`.
const SUBRESOURCES: &str = r#"
PATCH pods/p/status       | {"status": {"phase": "Running"}} | UPDATE | Pod
POST pods/p/binding       | {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}} | CREATE | Binding
POST pods/p/eviction      | {"metadata": {"name": "p"}} | CREATE | Eviction
PATCH deployments/d/scale | {"spec": {"replicas": 3}} | UPDATE | Scale
"#;

#[test]
fn subresources_are_asked_about_as_what_they_are() {
    let scene = Scene::new(|_, _| Answer::allow());
    let pods = "/api/v1/namespaces/default/pods";
    let containers = json!([{"name": "c", "image": "i"}]);
    scene.ok(
        "POST",
        pods,
        &json!({"metadata": {"name": "p"}, "spec": {"containers": containers}}),
    );
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    scene.ok(
        "POST",
        deployments,
        &json!({"metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}),
    );
    let all = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    scene.configure("validating", &[("/v", json!({"rules": all}))]);
    for line in SUBRESOURCES.lines().filter(|line| !line.is_empty()) {
        let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let (method, path) = columns[0].split_once(' ').expect("a method and a path");
        let path = match path.strip_prefix("pods") {
            Some(rest) => format!("{pods}{rest}"),
            None => format!("/apis/apps/v1/namespaces/default/{path}"),
        };
        scene.ok(
            method,
            &path,
            &serde_json::from_str(columns[1]).expect(line),
        );
        let asked = scene.webhook.take();
        let request = &asked.first().expect("a question").1;
        let found = ["/operation", "/kind/kind", "/subResource", "/object/kind"].map(|pointer| {
            request
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or("")
        });
        let kind = columns[3];
        let subresource = path.rsplit('/').next().expect("a segment");
        assert_eq!(found, [columns[2], kind, subresource, kind], "{path}");
    }
}

#[test]
fn a_service_is_called_at_its_endpoints_and_known_by_its_name() {
    let scene = Scene::new(|path, _| {
        assert_eq!(path, "/in/here");
        Answer::Response(json!({"allowed": true, "warnings": ["careful"]}))
    });
    let core = "/api/v1/namespaces/default";
    let make_service =
        json!({"metadata": {"name": "hook"}, "spec": {"ports": [{"name": "web", "port": 443}]}});
    scene.ok("POST", &format!("{core}/services"), &make_service);
    let ports =
        json!([{"name": "other", "port": 1}, {"name": "web", "port": scene.webhook.port()}]);
    // Nobody listens at the first.
    let addresses = json!([{"ip": "127.0.0.2"}, {"ip": "127.0.0.1"}]);
    let endpoints = json!({"metadata": {"name": "hook"}, "subsets": [{"addresses": addresses, "ports": ports}]});
    scene.ok("POST", &format!("{core}/endpoints"), &endpoints);
    let service = json!({"namespace": "default", "name": "hook", "path": "/in/here"});
    let client = json!({"service": service, "caBundle": scene.webhook.ca_bundle()});
    scene.configure("validating", &[("/hook", json!({"clientConfig": client}))]);
    let is_called = |name: &str| {
        let answer = scene.create(name);
        let careful = vec!["299 - \"careful\"".to_owned()];
        assert_eq!(
            (answer.code, answer.warnings),
            (201, careful),
            "{}",
            answer.text
        );
    };
    (0..8).for_each(|number| is_called(&format!("a{number}")));
    scene.ok("DELETE", &format!("{core}/endpoints/hook"), &Value::Null);
    assert_eq!(scene.create("b").code, 500, "no address is left");
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    for (name, of, address, ready) in [
        ("of-another", "another", "192.0.2.1", json!(true)),
        ("not-ready", "hook", "192.0.2.1", json!(false)),
        ("ready", "hook", "127.0.0.1", Value::Null),
    ] {
        let endpoint = json!({"addresses": [address], "conditions": {"ready": ready}});
        let slice = json!({"metadata": {"name": name, "labels": {"kubernetes.io/service-name": of}},
            "addressType": "IPv4", "endpoints": [endpoint], "ports": ports});
        scene.ok("POST", slices, &slice);
    }
    is_called("c");
}

#[test]
fn deletions_of_the_collectors_call_no_webhook() {
    let refusal = || Answer::Response(json!({"allowed": false}));
    let scene = Scene::new(move |_, _| refusal());
    let owner = scene.ok("POST", MAPS, &map("owner"));
    let mut dependent = map("dependent");
    dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap",
        "name": "owner", "uid": owner["metadata"]["uid"]}]);
    scene.ok("POST", MAPS, &dependent);
    let item = |name: &str| format!("{MAPS}/{name}");
    let watch = format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Ddependent");
    let mut events = scene.client.watch(&watch, "application/json");
    let added = scene.client.next(&mut events).expect("an event");
    assert_eq!(added["type"], "ADDED");
    // The webhook is to be asked about the dependent's deletion, not the owner's.
    let only =
        json!({"matchConditions": [{"name": "one", "expression": "request.name != 'owner'"}]});
    scene.configure("validating", &[("/no", only)]);
    let refused = scene.send("DELETE", &item("dependent"), &Value::Null);
    assert_eq!(refused.code, 400, "{}", refused.text);
    assert_eq!(scene.webhook.take().len(), 1);
    scene.ok("DELETE", &item("owner"), &Value::Null);
    let gone = scene.client.next(&mut events).expect("an event");
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(scene.webhook.take(), []);
}

/// One webhook adds an annotation, and the next removes it.
fn done_and_undone(path: &str, request: &Value) -> Answer {
    let annotations = request["object"]["metadata"]["annotations"].as_object();
    let beside = annotations.map_or(0, |all| all.len() - usize::from(all.contains_key("done")));
    let (op, path) = match (path, beside) {
        _ if request["object"].is_null() => return Answer::allow(),
        ("/do", 0) => ("add", "/metadata/annotations"),
        ("/do", _) => ("add", "/metadata/annotations/done"),
        (_, 0) => ("remove", "/metadata/annotations"),
        _ => ("remove", "/metadata/annotations/done"),
    };
    let value = match path {
        "/metadata/annotations" => json!({"done": "yes"}),
        _ => json!("yes"),
    };
    Answer::patch(&json!([{"op": op, "path": path, "value": value}]))
}

/// Whatever admission does to the object that it shows to webhooks must be lost if their changes
/// cancel out: the client is answered, and the log written, as if no webhook had been asked.
#[test]
fn what_one_webhook_does_and_the_next_undoes_changes_no_answer() {
    let everything = json!({"rules": [{"operations": ["*"], "apiGroups": ["*"],
        "apiVersions": ["*"], "resources": ["*/*"]}]});
    let nothing = json!({"rules": [{"operations": ["*"], "apiGroups": ["none"],
        "apiVersions": ["*"], "resources": ["*"]}]});
    let scenes = [everything, nothing].map(|members| {
        let scene = Scene::without_collectors(done_and_undone);
        let hooks = ["/do", "/undo"].map(|path| (path, members.clone()));
        scene.configure("mutating", &hooks);
        scene
    });
    for line in requests() {
        let [asked, alone] = scenes.each_ref().map(|scene| line.send(&scene.client));
        let case = format!("{} {} {}", line.method, line.path, line.body);
        assert_eq!(
            (asked.code, alone.code),
            (line.code, line.code),
            "{case}\n{}",
            asked.text
        );
        let [asked, alone] = [asked, alone].map(|answer| {
            let mut document = answer.json();
            neutral(&mut document);
            document
        });
        assert_eq!(asked, alone, "{case}");
    }
    let [asked, alone] = scenes.each_ref().map(|scene| scene.webhook.take().len());
    assert!(asked > 100 && alone == 0, "{asked} and {alone} calls");
}
