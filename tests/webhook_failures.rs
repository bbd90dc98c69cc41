//! Admission webhooks that refuse, that cannot be asked, or that must not be asked.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use base64::prelude::{BASE64_STANDARD, Engine};
use hindsight_tests::admission::{Scene, map};
use hindsight_tests::http::MAPS;
use hindsight_tests::webhook::{Answer, Webhook};
use serde_json::{Value, json};

#[test]
fn a_denial_reads_as_upstreams() {
    let scene = Scene::new(|path, _| {
        let status = match path {
            "/message" => json!({"message": "not today", "code": 403, "reason": "Forbidden"}),
            "/reason" => json!({"reason": "Because"}),
            "/success" => json!({"message": "fine", "code": 200, "status": "Success"}),
            _ => Value::Null,
        };
        Answer::Response(json!({"allowed": false, "status": status, "warnings": ["careful"]}))
    });
    let cases = [
        (
            "/message",
            403,
            "Forbidden",
            "denied the request: not today",
        ),
        ("/reason", 400, "Because", "denied the request: Because"),
        ("/success", 400, "", "denied the request: fine"),
        (
            "/nothing",
            400,
            "",
            "denied the request without explanation",
        ),
    ];
    for (path, code, reason, message) in cases {
        for kind in ["mutating", "validating"] {
            scene.configure(kind, &[(path, json!({}))]);
            let answer = scene.create("a");
            let name = format!("{}.example.com", &path[1..]);
            let status = answer.json();
            assert_eq!(answer.code, code, "{}", answer.text);
            assert_eq!(
                status["message"],
                format!("admission webhook \"{name}\" {message}")
            );
            assert_eq!(status.get("reason").unwrap_or(&json!("")), reason);
            assert_eq!(
                (&status["status"], &status["code"]),
                (&json!("Failure"), &json!(code))
            );
            assert_eq!(answer.warnings, ["299 - \"careful\""]);
            scene.configure(kind, &[]);
        }
    }
    assert_eq!(scene.create("a").code, 201, "nobody is asked any more");
}

/// The code alone does not say that an object is gone.
#[test]
fn of_a_collection_no_item_passes_for_gone_because_a_webhook_refuses_with_that_code() {
    let scene = Scene::new(|path, _| {
        let reason = match path {
            "/gone" => "NotFound",
            _ => "Forbidden",
        };
        Answer::Response(json!({"allowed": false, "status": {"code": 404, "reason": reason}}))
    });
    scene.create("a");
    let rules = json!([{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["configmaps"]}]);
    for (path, code) in [("/refused", 404), ("/gone", 200)] {
        scene.configure("validating", &[(path, json!({"rules": rules}))]);
        let answer = scene.send("DELETE", MAPS, &Value::Null);
        assert_eq!(answer.code, code, "{path}: {}", answer.text);
        scene.configure("validating", &[]);
        let left = scene.ok("GET", MAPS, &Value::Null);
        assert_eq!(left["items"].as_array().map(Vec::len), Some(1), "{path}");
    }
}

#[test]
fn a_denial_comes_with_all_that_was_said_before_it() {
    let scene = Scene::new(|path, _| {
        let said = path.trim_matches('/');
        Answer::Response(json!({"allowed": said != "refuses", "warnings": [said]}))
    });
    let hooks = ["/first", "/refuses", "/last"].map(|path| (path, json!({})));
    let body = json!({"metadata": {"name": "a", "ownerReferences": []}, "unknown": 1});
    let unknown = r#"299 - "unknown field \"unknown\"""#;
    let said = |kind: &str, method: &str, path: &str, body: &Value| {
        scene.configure(kind, &hooks);
        let answer = scene.send(method, path, body);
        scene.configure(kind, &[]);
        assert_eq!(answer.code, 400, "{}", answer.text);
        answer.warnings
    };
    let [first, refuses, last] = ["first", "refuses", "last"].map(|one| format!("299 - \"{one}\""));
    let expected = [unknown.to_owned(), first.clone(), refuses.clone()];
    assert_eq!(said("mutating", "POST", MAPS, &body), expected);
    // Validating webhooks are all asked concurrently, and the warnings of all of them are passed on.
    let mut told = said("validating", "POST", MAPS, &body);
    told.sort();
    let mut expected = vec![unknown.to_owned(), first.clone(), refuses.clone(), last];
    expected.sort();
    assert_eq!(told, expected);
    scene.ok("POST", MAPS, &map("a"));
    let item = format!("{MAPS}/a");
    assert_eq!(
        said("mutating", "DELETE", &item, &Value::Null),
        [first.clone(), refuses.clone()]
    );
    assert_eq!(
        said("mutating", "DELETE", MAPS, &Value::Null),
        [first, refuses]
    );
}

#[test]
fn the_kinds_own_warnings_come_after_mutating_webhooks_and_before_validating_ones() {
    let scene = Scene::new(|_, _| Answer::Response(json!({"allowed": false})));
    let rules = json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
        "resources": ["customresourcedefinitions"]}]});
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "format": "phone"}}});
    let definition = json!({"metadata": {"name": "xs.example.com"}, "more": 1,
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "xs", "kind": "X"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let unknown = r#"299 - "unknown field \"more\"""#;
    let odd = r#"299 - "unrecognized format \"phone\"""#;
    for (kind, expected) in [
        ("mutating", &[unknown][..]),
        ("validating", &[unknown, odd]),
    ] {
        scene.configure(kind, &[("/hook", rules.clone())]);
        let answer = scene.send("POST", definitions, &definition);
        assert_eq!(answer.code, 400, "{}", answer.text);
        assert_eq!(answer.warnings, expected, "{kind}");
        scene.configure(kind, &[]);
    }
}

#[test]
fn what_webhooks_said_is_told_where_storage_refuses() {
    let scene =
        Scene::new(|_, _| Answer::Response(json!({"allowed": true, "warnings": ["careful"]})));
    scene.ok("POST", MAPS, &map("a"));
    for kind in ["mutating", "validating"] {
        scene.configure(kind, &[("/hook", json!({}))]);
        let answer = scene.create("a");
        assert_eq!(
            (answer.code, answer.warnings),
            (409, vec!["299 - \"careful\"".to_owned()]),
            "{kind}: {}",
            answer.text
        );
        scene.configure(kind, &[]);
    }
}

/// Lines of `path | members merged over the defaults | part of the message`.
const UNASKED: &str = r#"
/silence  | {"timeoutSeconds": 1} | failed to call webhook: Post "https://localhost:
/silence  | {"timeoutSeconds": 1} | /silence?timeout=1s": context deadline exceeded
/uid      | {} | received invalid webhook response: expected response.uid=
/empty    | {} | received invalid webhook response: webhook response was absent
/text     | {} | failed to call webhook: couldn't get version/kind; json parse error
/missing  | {} | failed to call webhook: the server could not find the requested resource
/broken   | {} | failed to call webhook: an error on the server ("oh")
/patch    | {} | received invalid webhook response: webhook returned response.patch but not response.patchType
/stranger | {"clientConfig": {"url": "https://localhost:PORT/"}} | s": tls: failed to verify certificate: x509: certificate signed by unknown authority; put
/none     | {"clientConfig": {"service": {"namespace": "default", "name": "none"}}} | Post "https://none.default.svc:443/": service "none" not found
/port     | {"clientConfig": {"service": {"namespace": "default", "name": "hook", "port": 444}}} | no service port 444 found for service "hook"
/away     | {"clientConfig": {"service": {"namespace": "default", "name": "hook"}}} | no endpoints available for service "hook"
/text     | {} | failed to call webhook: couldn't get version/kind; json parse error
/object   | {} | received undecodable patch in webhook response: it is not a list
/text     | {} | failed to call webhook: couldn't get version/kind; json parse error
/numbers  | {} | received undecodable patch in webhook response: an operation is not an object
/nameless | {} | received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=
/older    | {} | failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion
/newer    | {"admissionReviewVersions": ["v1beta1", "v1"]} | failed to call webhook: converting (v1.AdmissionReview) to (v1beta1.AdmissionReview): unknown conversion
/denied   | {} | failed to call webhook: couldn't decode the answer: response.allowed is not a boolean
/said     | {} | failed to call webhook: couldn't decode the answer: response.warnings is not a list of strings
/status   | {} | failed to call webhook: no kind "Status" is registered for version "v1"
/long     | {} | ": the answer cannot be read: length limit exceeded
/bundle   | {"clientConfig": {"url": "https://localhost:PORT/", "caBundle": "Zg=="}} | unable to load root certificates: unable to parse bytes as PEM block; the caBundle
"#;

fn odd(path: &str, request: &Value) -> Answer {
    let patch = |encoded: &str| {
        let response = json!({"allowed": true, "patchType": "JSONPatch", "patch": encoded});
        Answer::Response(response)
    };
    let review = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#;
    let allows = |api_version: &str, kind: &str| {
        let response = json!({"allowed": true, "uid": request["uid"]});
        let review = json!({"apiVersion": api_version, "kind": kind, "response": response});
        Answer::Raw(200, review.to_string())
    };
    match path {
        "/nameless" => allows("", ""),
        "/older" => allows("admission.k8s.io/v1beta1", "AdmissionReview"),
        "/newer" => allows("admission.k8s.io/v1", "AdmissionReview"),
        "/status" => allows("v1", "Status"),
        "/denied" => Answer::Response(json!({"allowed": "true"})),
        "/said" => Answer::Response(json!({"allowed": true, "warnings": {"a": "b"}})),
        "/silence" => Answer::Silence,
        "/uid" => Answer::Response(json!({"allowed": true, "uid": "other"})),
        "/empty" => Answer::Raw(200, review.into()),
        "/text" => Answer::Raw(200, "hello".into()),
        "/missing" => Answer::Raw(404, String::new()),
        "/broken" => Answer::Raw(500, "oh".into()),
        "/long" => Answer::Raw(200, " ".repeat(4 << 20)),
        "/object" => patch("e30="),
        "/numbers" => patch("WzFd"),
        _ => Answer::Response(json!({"allowed": true, "patch": "W10="})),
    }
}

#[test]
fn a_webhook_that_cannot_be_asked_fails_the_write_or_is_passed_by() {
    let scene = Scene::new(odd);
    let ports = json!({"clusterIP": "None", "ports": [{"port": 443}]});
    let service = json!({"metadata": {"name": "hook"}, "spec": ports});
    scene.ok("POST", "/api/v1/namespaces/default/services", &service);
    let port = scene.webhook.port().to_string();
    for (index, line) in UNASKED.lines().filter(|line| !line.is_empty()).enumerate() {
        let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let (path, part) = (columns[0], columns[2]);
        let mut members: Value =
            serde_json::from_str(&columns[1].replace("PORT", &port)).expect(line);
        let kind = ["validating", "mutating"][index % 2];
        scene.configure(kind, &[(path, members.clone())]);
        let answer = scene.create("a");
        let status = answer.json();
        let text = status["message"].as_str().expect("a message");
        let name = format!("{}.example.com", &path[1..]);
        let head = format!("Internal error occurred: failed calling webhook \"{name}\": ");
        assert_eq!(
            (answer.code, &status["reason"]),
            (500, &json!("InternalError")),
            "{text}"
        );
        assert!(
            text.starts_with(&head) && text.contains(part),
            "{path}: {text}"
        );
        members["failurePolicy"] = json!("Ignore");
        scene.configure(kind, &[(path, members)]);
        let answer = scene.create(&format!("a{index}"));
        assert_eq!(answer.code, 201, "{path}: {}", answer.text);
        scene.configure(kind, &[]);
    }
}

#[test]
fn of_a_review_of_the_older_version_neither_uid_nor_type_is_looked_at() {
    let scene = Scene::new(|_, _| {
        let patch =
            BASE64_STANDARD.encode(r#"[{"op": "add", "path": "/data", "value": {"a": "b"}}]"#);
        let response =
            json!({"allowed": true, "uid": "other", "patchType": "Other", "patch": patch});
        Answer::Raw(200, json!({"response": response}).to_string())
    });
    let older = json!({"admissionReviewVersions": ["v1beta1"]});
    scene.configure("mutating", &[("/patch", older.clone())]);
    scene.configure("validating", &[("/ignored", older)]);
    let made = scene.ok("POST", MAPS, &map("a"));
    assert_eq!(made["data"], json!({"a": "b"}));
    assert_eq!(scene.webhook.take().len(), 2);
}

/// Upstream answers with the refusal that came first in time, if all are asked concurrently.
#[test]
fn of_several_refusals_the_first_in_the_order_of_the_webhooks_is_the_answer() {
    let scene = Scene::new(|path, _| match path {
        "/refuses" => Answer::Response(json!({"allowed": false})),
        _ => Answer::Raw(500, "oh".into()),
    });
    let (refuses, broken) = (("/refuses", json!({})), ("/broken", json!({})));
    let passed_by = ("/broken", json!({"failurePolicy": "Ignore"}));
    let cases = [
        ([refuses.clone(), broken.clone()], 400),
        ([broken, refuses.clone()], 500),
        ([passed_by, refuses], 400),
    ];
    for (hooks, code) in cases {
        for (kind, all_at_once) in [("validating", true), ("mutating", false)] {
            scene.configure(kind, &hooks);
            let answer = scene.create("a");
            assert_eq!(answer.code, code, "{kind}: {}", answer.text);
            let asked = scene.webhook.take().len();
            let first_ends_it = !all_at_once && hooks[0].1 == json!({});
            assert_eq!(asked, if first_ends_it { 1 } else { 2 }, "{kind} {code}");
            scene.configure(kind, &[]);
        }
    }
}

#[test]
fn a_dry_run_asks_only_webhooks_that_have_no_side_effects_then() {
    let scene = Scene::new(|_, _| Answer::allow());
    for (effects, policy, code) in [
        ("None", "Fail", 201),
        ("NoneOnDryRun", "Fail", 201),
        ("Some", "Fail", 400),
        ("Unknown", "Ignore", 400),
    ] {
        for kind in ["mutating", "validating"] {
            let members = json!({"sideEffects": effects, "failurePolicy": policy, "admissionReviewVersions": ["v1beta1"]});
            scene.configure(kind, &[("/hook", members)]);
            let answer = scene.send("POST", &format!("{MAPS}?dryRun=All"), &map("a"));
            assert_eq!(answer.code, code, "{effects}: {}", answer.text);
            assert_eq!(
                scene.webhook.take().len(),
                usize::from(code == 201),
                "{effects}"
            );
            if code == 400 {
                let message = "admission webhook \"hook.example.com\" does not support dry run";
                assert_eq!(answer.json()["message"], message);
            }
            scene.configure(kind, &[]);
        }
    }
}

#[test]
fn no_webhook_is_called_for_webhook_configurations() {
    let scene = Scene::new(|_, _| Answer::Response(json!({"allowed": false})));
    let all = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    scene.configure("mutating", &[("/all", json!({"rules": all}))]);
    scene.configure("validating", &[("/all", json!({"rules": all}))]);
    assert_eq!(scene.create("a").code, 400);
    scene.configure("validating", &[]);
    scene.configure("mutating", &[]);
    assert_eq!(scene.create("a").code, 201);
}

/// As `openssl req -x509` makes certificates by default.
#[test]
fn a_webhook_whose_certificate_is_its_own_authority_is_asked() {
    let deny = |_: &str, _: &Value| Answer::Response(json!({"allowed": false}));
    let scene = Scene {
        webhook: Webhook::start_as_its_own_authority(deny),
        ..Scene::new(|_, _| Answer::Silence)
    };
    scene.configure("validating", &[("/deny", json!({}))]);
    let answer = scene.create("a");
    assert_eq!(answer.code, 400, "{}", answer.text);
    let stranger = Scene::new(|_, _| Answer::Silence);
    let config = json!({"url": format!("https://localhost:{}/", scene.webhook.port()),
        "caBundle": stranger.webhook.ca_bundle()});
    scene.configure("validating", &[]);
    scene.configure("validating", &[("/deny", json!({"clientConfig": config}))]);
    assert_eq!(scene.create("a").code, 500, "it is in no other bundle");
}
