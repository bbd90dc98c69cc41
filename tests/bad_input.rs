//! Hostile and mistaken requests: the answer is a `Status` of the right code and reason, nothing
//! panics, and nothing is written. In process, through the same handler as the server's.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::http::{Client, JSON, MAPS, MERGE};
use hindsight_tests::manifests::widgets;
use serde_json::{Map, Value, json};

/// Media types by their short names in the tables.
const MEDIA: &[(&str, &str)] = &[
    ("-", ""),
    ("json", JSON),
    ("yaml", "application/yaml"),
    ("text", "text/plain"),
    ("protobuf", "application/vnd.kubernetes.protobuf"),
    ("merge", MERGE),
    ("json-patch", "application/json-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
];

/// A row: method, path (`MAPS` is the collection), media type, code, reason, and the body.
const BODIES: &str = r#"
POST MAPS json     400 BadRequest
POST MAPS json     400 BadRequest {
POST MAPS json     400 BadRequest []
POST MAPS json     400 BadRequest 7
POST MAPS json     400 BadRequest {}{}
POST MAPS yaml     400 BadRequest a: [
POST MAPS text     415 UnsupportedMediaType {}
POST MAPS protobuf 400 BadRequest k8s
POST MAPS json     400 BadRequest {"metadata": 7}
POST MAPS json     400 BadRequest {"kind": "Pod", "metadata": {"name": "a"}}
POST MAPS json     400 BadRequest {"apiVersion": "v2", "metadata": {"name": "a"}}
POST MAPS json     400 BadRequest {"apiVersion": 5, "metadata": {"name": "a"}}
POST MAPS json     400 BadRequest {"kind": ["ConfigMap"], "metadata": {"name": "a"}}
POST MAPS json     400 BadRequest {"metadata": {"name": "a", "labels": [1]}}
POST MAPS json     400 BadRequest {"metadata": {"name": "a", "finalizers": "x"}}
POST MAPS json     400 BadRequest {"metadata": {"name": "a", "namespace": "other"}}
POST MAPS json     422 Invalid    {}
POST MAPS json     422 Invalid    null
"#;

const PATHS: &str = r#"
GET    MAPS/none                                   -     404 NotFound
GET    MAPS/..                                     -     400 BadRequest
GET    MAPS/%zz                                    -     400 BadRequest
GET    MAPS/%ff                                    -     400 BadRequest
GET    /api/v1/namespaces/default/nothings         -     404 NotFound
GET    /api/v2/namespaces                          -     404 NotFound
GET    /apis/apps/v1/namespaces/d/deployments/a/no -     404 NotFound
PUT    MAPS                                        json  405 MethodNotAllowed {}
POST   /api/v1/configmaps                          json  405 MethodNotAllowed {"metadata": {"name": "a"}}
POST   /api/v1/namespaces/none/configmaps          json  404 NotFound {"metadata": {"name": "a"}}
DELETE MAPS/none                                   -     404 NotFound
PATCH  MAPS/none                                   merge 404 NotFound {}
GET    /as-of/soon/api/v1/namespaces               -     400 BadRequest
GET    /as-of/999999/api/v1/namespaces             -     400 BadRequest
GET    /as-of/9126-01-31T12:00:00Z/api/v1/namespaces -    400 BadRequest
DELETE /as-of/3/api/v1/namespaces/default          -     405 MethodNotAllowed
"#;

const OPTIONS: &str = r#"
GET    MAPS?limit=x                                       -    400 BadRequest
GET    MAPS?timeout=abc                                   -    400 BadRequest
DELETE MAPS/none?timeout=5                                -    400 BadRequest
DELETE MAPS/none?timeout=1m30s                            -    404 NotFound
GET    MAPS?resourceVersion=x                             -    400 BadRequest
GET    MAPS?resourceVersion=999999                        -    504 Timeout
GET    MAPS?continue=forged                               -    400 BadRequest
GET    MAPS?continue=7b7d                                 -    400 BadRequest
GET    MAPS?labelSelector=,                               -    400 BadRequest
GET    MAPS?labelSelector=a%3D%3D%3Db                     -    400 BadRequest
GET    MAPS?fieldSelector=spec.none%3Dx                   -    400 BadRequest
GET    MAPS?fieldSelector=spec.none%3Dx&resourceVersionMatch=Near - 422 Invalid
GET    MAPS?labelSelector=,&resourceVersionMatch=Near     -    400 BadRequest
GET    MAPS?resourceVersionMatch=Exact                    -    422 Invalid
GET    MAPS?resourceVersion=1&resourceVersionMatch=Near   -    422 Invalid
GET    MAPS?sendInitialEvents=true                        -    422 Invalid
DELETE MAPS?sendInitialEvents=false                       -    422 Invalid
GET    MAPS?watch=1&sendInitialEvents=true                -    422 Invalid
POST   MAPS?dryRun=Some                                   json 422 Invalid {"metadata": {"name": "b"}}
POST   MAPS?dryRun=                                       json 422 Invalid {"metadata": {"name": "b"}}
POST   MAPS?fieldValidation=Loud                          json 422 Invalid {"metadata": {"name": "b"}}
POST   MAPS?fieldValidation=Strict                        json 400 BadRequest {"metadata": {"name": "b"}, "x": 1}
DELETE MAPS/a?propagationPolicy=Maybe                     -    422 Invalid
DELETE MAPS/a?propagationPolicy=                          -    422 Invalid
DELETE MAPS/a?gracePeriodSeconds=                         -    400 BadRequest
DELETE MAPS/a?uid=other                                   -    409 Conflict
DELETE MAPS/a?resourceVersion=1                           -    409 Conflict
DELETE MAPS/a?dryRun=All;x=1                              -    422 Invalid
DELETE MAPS/a?dryRun=%zz                                  -    400 BadRequest
GET    MAPS?limit=1;x=1                                   -    400 BadRequest
GET    MAPS?labelSelector=%zz                             -    400 BadRequest
DELETE MAPS/a                                             json 422 Invalid {"orphanDependents": true, "propagationPolicy": "Orphan"}
DELETE MAPS/a                                             json 400 BadRequest {"kind": "Pod"}
DELETE MAPS/a                                             json 400 BadRequest {"propagationPolicy": 7}
DELETE MAPS/none?propagationPolicy=Maybe                  -    422 Invalid
"#;

const PATCHES: &str = r#"
PATCH MAPS/a json       415 UnsupportedMediaType {}
PATCH MAPS/a json-patch 400 BadRequest {}
PATCH MAPS/a json-patch 422 Invalid    [{"op": "remove", "path": "/none"}]
PATCH MAPS/a json-patch 400 BadRequest [{"op": "remove", "path": "/metadata"}]
PATCH MAPS/a merge      400 BadRequest 7
PATCH MAPS/a merge      400 BadRequest {"metadata": {"name": "b"}}
PATCH MAPS/a merge      422 Invalid    {"metadata": {"uid": "b"}}
PATCH MAPS/a merge      409 Conflict   {"metadata": {"resourceVersion": "1"}}
PATCH MAPS/a strategic  422 Invalid    {"metadata": {"finalizers": ["foo"]}}
PATCH MAPS/a merge      400 BadRequest {
PATCH MAPS/none merge   404 NotFound   {
"#;

/// Anchors that would expand to half a million items.
const YAML_BOMB: &str = "
a: &a [x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]
g: [*f,*f,*f,*f,*f,*f,*f,*f,*f]
";

fn client() -> Client {
    let client = Client::in_memory();
    client.send("POST", MAPS, JSON, &map("a"));
    client
}

fn map(name: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).to_string()
}

/// Sends every row of a table.
fn check(client: &Client, table: &str) {
    for row in table.lines().filter(|row| !row.is_empty()) {
        let mut words = row.splitn(6, ' ').collect::<Vec<_>>();
        if row.contains("  ") {
            words = row.split_whitespace().take(5).collect();
            let fifth = words.last().expect("five words");
            let at = row.find(&format!(" {fifth}")).expect("it is there") + fifth.len() + 1;
            words.push(row[at..].trim_start());
        }
        let media = MEDIA
            .iter()
            .find(|(name, _)| *name == words[2])
            .expect("a media type")
            .1;
        let code = words[3].parse().expect("a code");
        let body = words.get(5).copied().unwrap_or_default();
        refuses(
            client,
            (words[0], &words[1].replace("MAPS", MAPS), media, body),
            (code, words[4]),
        );
    }
}

/// Checks that the answer is a `Status` of this code and reason, and that nothing was written.
fn refuses(client: &Client, request: (&str, &str, &str, &str), expected: (u16, &str)) {
    let before = client.revision();
    let (method, path, media, body) = request;
    let answer = client.send(method, path, media, body);
    let shown: String = body.chars().take(80).collect();
    let status = answer.json();
    let reason = status["reason"].as_str().unwrap_or_default();
    assert_eq!(
        (answer.code, reason),
        expected,
        "{method} {path} {shown}: {}",
        answer.text
    );
    assert_eq!(
        (&status["kind"], &status["code"]),
        (&json!("Status"), &json!(expected.0))
    );
    assert_eq!(
        client.revision(),
        before,
        "{method} {path} {shown} wrote something"
    );
}

#[test]
fn requests_that_are_wrong_are_refused() {
    let client = client();
    for table in [BODIES, PATHS, OPTIONS, PATCHES] {
        check(&client, table);
    }
}

/// Lines of a path, and whether the answer is the group's own 404 `Status`.
const NOWHERE: &str = "
/apis/unknown.io/v1/things                              | false
/apis/unknown.io/v1/namespaces/default/things/a         | false
/apis/unknown.io/v1/namespaces/default/things/a/status  | false
/apis/example.com/v1/namespaces/default/others          | false
/apis/example.com/v9/namespaces/default/widgets         | false
/apis/example.com/v9                                    | false
/apis/unknown.io/v1                                     | false
/apis/unknown.io                                        | false
/api/v1/watch                                           | false
/apis/apps/v9                                           | true
/apis/apps/v9/                                          | true
/api/v9                                                 | true
/apis/example.com/v1/widgets/a                          | false
/apis/example.com/v1/namespaces/default/widgets/a/scale | true
/apis/apps/v1/namespaces/default/others                 | true
/apis/apps/v9/namespaces/default/deployments            | true
/api/v1/namespaces/default/others                       | true
";

/// Source: upstream's `crdHandler`, and the handler that is left when no other answers.
#[test]
fn where_no_built_in_group_is_the_answer_is_a_text() {
    let client = client();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let made = client.send(
        "POST",
        definitions,
        "application/yaml",
        &widgets("{type: object}"),
    );
    assert_eq!(made.code, 201, "{}", made.text);
    for line in NOWHERE.lines().filter(|line| !line.is_empty()) {
        let (path, is_known) = line.split_once('|').expect("two columns");
        for method in ["GET", "DELETE"] {
            let answer = client.send(method, path.trim(), "", "");
            assert_eq!(answer.code, 404, "{method} {line}: {}", answer.text);
            if is_known.trim() == "true" {
                let status = answer.json();
                assert_eq!(status["reason"], "NotFound", "{line}");
                assert_eq!(status["details"], json!({}), "{line}");
            } else {
                assert_eq!(answer.text, "404 page not found\n", "{method} {line}");
            }
        }
    }
}

#[test]
fn bombs_are_refused() {
    let client = client();
    let lists = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let large = format!("{{\"data\":{{\"k\":\"{}\"}}}}", "x".repeat(3 * 1024 * 1024));
    let bad = (400, "BadRequest");
    for body in [&lists, &objects, "\u{0}"] {
        refuses(&client, ("POST", MAPS, JSON, body), bad);
    }
    refuses(&client, ("POST", MAPS, "application/yaml", YAML_BOMB), bad);
    refuses(&client, ("DELETE", &format!("{MAPS}/a"), JSON, " "), bad);
    let too_large = (413, "RequestEntityTooLarge");
    refuses(&client, ("POST", MAPS, JSON, &large), too_large);
    let test = "{\"op\":\"test\",\"path\":\"/x\",\"value\":null}";
    let many = format!("[{}]", vec![test; 10_001].join(","));
    refuses(
        &client,
        (
            "PATCH",
            &format!("{MAPS}/a"),
            "application/json-patch+json",
            &many,
        ),
        too_large,
    );
}

#[test]
fn managers_do_not_make_an_object_endless() {
    let client = client();
    let data: Map<String, Value> = (0..40_000)
        .map(|key| (format!("key-{key:08}"), "".into()))
        .collect();
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data}).to_string();
    let media = "application/apply-patch+yaml";
    let path = |manager: usize| format!("{MAPS}/a?fieldManager=m{manager}");
    let taken = |manager: &usize| client.send("PATCH", &path(*manager), media, &config).code == 200;
    let managers = (0..20).take_while(taken).count();
    assert!((1..20).contains(&managers), "{managers}");
    let too_large = (413, "RequestEntityTooLarge");
    for path in [path(20), format!("{}&dryRun=All", path(20))] {
        refuses(&client, ("PATCH", &path, media, &config), too_large);
    }
    let gone = client.send("DELETE", &format!("{MAPS}/a"), "", "");
    assert_eq!(gone.code, 200, "{}", gone.text);
}

#[test]
fn names_that_are_none_are_refused() {
    let client = client();
    for name in [
        "a/b",
        "a%b",
        "..",
        ".",
        "A",
        "-a",
        "a_b",
        &"a".repeat(254),
        "\u{e9}",
    ] {
        let body = json!({"metadata": {"name": name}}).to_string();
        refuses(&client, ("POST", MAPS, JSON, &body), (422, "Invalid"));
    }
}

#[test]
fn a_dry_run_gives_the_real_answer_and_writes_nothing() {
    let client = client();
    client.send("POST", MAPS, JSON, &map("a"));
    let before = client.revision();
    let made = client.send("POST", &format!("{MAPS}?dryRun=All"), JSON, &map("b"));
    assert_eq!(made.code, 201, "{}", made.text);
    assert_eq!(made.json()["metadata"]["resourceVersion"], Value::Null);
    assert!(made.json()["metadata"]["uid"].is_string());
    let taken = client.send("POST", &format!("{MAPS}?dryRun=All"), JSON, &map("a"));
    assert_eq!(
        (taken.code, taken.json()["reason"].as_str()),
        (409, Some("AlreadyExists"))
    );
    let stored = client.send("GET", &format!("{MAPS}/a"), "", "").json();
    let patched = client.send(
        "PATCH",
        &format!("{MAPS}/a?dryRun=All"),
        MERGE,
        "{\"data\":{\"k\":\"v\"}}",
    );
    assert_eq!(patched.json()["data"]["k"], "v");
    assert_eq!(
        patched.json()["metadata"]["resourceVersion"],
        stored["metadata"]["resourceVersion"]
    );
    let gone = client.send("DELETE", &format!("{MAPS}/a?dryRun=All"), "", "");
    assert_eq!(
        (gone.code, gone.json()["status"].as_str()),
        (200, Some("Success"))
    );
    let held = client.send(
        "DELETE",
        &format!("{MAPS}/a?dryRun=All&propagationPolicy=Foreground"),
        "",
        "",
    );
    assert_eq!(
        held.json()["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    let all = client.send("DELETE", &format!("{MAPS}?dryRun=All"), "", "");
    assert_eq!(all.json()["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(client.revision(), before);
}

#[test]
fn a_delete_answers_as_upstream_does() {
    let client = client();
    let delete =
        |name: &str, query: &str| client.send("DELETE", &format!("{MAPS}/{name}?{query}"), "", "");
    let held = |name: &str| json!({"metadata": {"name": name, "finalizers": ["x/y"]}}).to_string();
    for (body, query, code, kind) in [
        (map("a"), "", 200, "Status"),
        (map("a"), "orphanDependents=false", 200, "Status"),
        (held("a"), "", 200, "ConfigMap"),
        (held("a"), "orphanDependents=false", 202, "ConfigMap"),
        (held("a"), "propagationPolicy=Background", 200, "ConfigMap"),
    ] {
        client.send("POST", MAPS, JSON, &body);
        let answer = delete("a", query);
        assert_eq!(answer.code, code, "{query}: {}", answer.text);
        assert_eq!(answer.json()["kind"], kind, "{query}");
        let free = "{\"metadata\":{\"finalizers\":null}}";
        client.send("PATCH", &format!("{MAPS}/a"), MERGE, free);
    }
}
