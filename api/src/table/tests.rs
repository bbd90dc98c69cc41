//! What a table takes is bounded, whatever its columns show.

use super::cells::ROW_BYTES_MAX;
use super::columns::COLUMNS_MAX;
use super::columns::MADE;
use super::*;
use crate::api::Api;
use crate::backend::fake::Fake;
use crate::testing::Served;
use hindsight_core::{Actor, GroupResource, ObjectKey, Revision, Time};
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use std::sync::Arc;

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const ROWS: &str = "/apis/y.io/v1/rows";

/// A kind with so many columns, each of which shows the whole `spec`.
fn served(columns: usize) -> Served {
    let column =
        |at: usize| json!({"name": format!("C{at}"), "type": "string", "jsonPath": ".spec"});
    let columns: Vec<Value> = (0..columns).map(column).collect();
    served_with(&columns)
}

fn served_with(columns: &[Value]) -> Served {
    let served = Served::new();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": columns});
    let definition = json!({"metadata": {"name": "rows.y.io"}, "spec": {"group": "y.io",
        "scope": "Cluster", "names": {"plural": "rows", "kind": "Row"}, "versions": [version]}});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    create(&served, path, &definition);
    served
}

fn create(served: &Served, path: &str, document: &Value) {
    let request = Request::post(path).body(Full::from(document.to_string()));
    let answer = served.whole(request.expect("a request"));
    assert_eq!(answer.status().as_u16(), 201, "{:?}", answer.body());
}

fn create_row(served: &Served, name: &str, bytes: usize) {
    let spec = json!({"text": "x".repeat(bytes)});
    let document = json!({"apiVersion": "y.io/v1", "kind": "Row",
        "metadata": {"name": name}, "spec": spec});
    create(served, ROWS, &document);
}

fn table(path: &str) -> Request<Full<bytes::Bytes>> {
    let request = Request::get(path).header("accept", TABLE);
    request.body(Full::default()).expect("a request")
}

fn read(answer: &Response<bytes::Bytes>) -> Value {
    assert_eq!(answer.status().as_u16(), 200);
    serde_json::from_slice(answer.body()).expect("JSON")
}

/// How often others have their turn before the answer to a list begins, and its text.
fn beside_a_list(columns: &[Value], objects: u32) -> (u32, String) {
    let served = served_with(columns);
    for object in 0..objects {
        let spec = json!({"l": vec![vec![0; 10]; 30]});
        let document = json!({"apiVersion": "y.io/v1", "kind": "Row",
            "metadata": {"name": format!("a{object}")}, "spec": spec});
        create(&served, ROWS, &document);
    }
    let (answer, turns) = served.answer_beside(table(ROWS));
    assert!(answer.body().size_hint().exact().is_some(), "it is small");
    let body = crate::testing::runtime().block_on(answer.into_body().collect());
    let text = body.expect("to its end").to_bytes();
    (turns, String::from_utf8_lossy(&text).into_owned())
}

/// A definition may have megabytes of them.
#[test]
fn the_columns_of_watches_are_made_once() {
    let served = served_with(&[json!({"name": "T", "type": "string", "jsonPath": ".spec.text"})]);
    for name in ["a", "b", "c"] {
        create_row(&served, name, 1);
    }
    let before = MADE.get();
    let path = format!(
        "{ROWS}?watch=1&resourceVersion=0&sendInitialEvents=true\
        &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut watches = [(), ()].map(|()| served.answer(table(&path)).into_body());
    for watch in &mut watches {
        let mut events = String::new();
        while events.lines().count() < 4 {
            let part = served.part_at_once(watch).expect("more");
            events.push_str(&String::from_utf8_lossy(&part));
        }
        assert!(events.contains("BOOKMARK"), "{events}");
    }
    assert_eq!(MADE.get() - before, 1);
}

/// Source: upstream's `printPod`.
#[test]
fn the_row_of_a_pod_that_is_over_says_so() {
    let fake = Arc::new(Fake::new());
    let phases = ["Running", "Succeeded", "Failed"];
    for (revision, phase) in (1..).zip(phases) {
        let name = phase.to_lowercase();
        let key = ObjectKey::new(GroupResource::new("", "pods"), "default", &name);
        let document = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": phase},
            "spec": {"containers": [{"name": "c"}]}, "status": {"phase": phase}});
        let object = Object::from_value(key, document, Revision(revision), None);
        drop(fake.put(&Arc::new(object.expect("an object"))));
    }
    let completed = |reason: &str, message: &str| json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]);
    let failed = completed("Failed", "The pod failed.");
    let succeeded = completed("Succeeded", "The pod has completed successfully.");
    let api = Api::new(fake, Arc::default());
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = async {
        let answer = api.handle(table("/api/v1/pods"), known).await;
        answer.into_body().collect().await.expect("a body")
    };
    let body = crate::testing::runtime().block_on(answer).to_bytes();
    let list: Value = serde_json::from_slice(&body).expect("JSON");
    let rows = list["rows"].as_array().expect("rows").iter();
    let told: Vec<_> = rows.map(|row| row.get("conditions")).collect();
    assert_eq!(told, [Some(&failed), None, Some(&succeeded)]);
}

/// However much later the question comes.
#[test]
fn what_is_shown_of_the_past_is_as_old_as_it_was_then() {
    let fake = Arc::new(Fake::new());
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "a");
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
        "namespace": "default", "uid": "u", "creationTimestamp": "1970-01-01T00:00:00Z"}});
    let object = Object::from_value(key, document, Revision(1), None);
    fake.put_before_the_window(&Arc::new(object.expect("an object")));
    let later = Time::parse("1970-01-01T00:01:00Z").expect("a time");
    *fake.clock.lock().expect("a lock") = later;
    let api = Api::new(fake, Arc::default());
    for (point, age) in [
        ("", "60s"),
        ("/as-of/1", "0s"),
        ("/as-of/1970-01-01T00:00:20Z", "20s"),
    ] {
        let known = Some(Arc::new(Actor::new("admin")));
        let answer = async {
            let path = format!("{point}/api/v1/configmaps");
            let answer = api.handle(table(&path), known).await;
            answer.into_body().collect().await.expect("a body")
        };
        let body = crate::testing::runtime().block_on(answer).to_bytes();
        let list: Value = serde_json::from_slice(&body).expect("JSON");
        let cells = list["rows"][0]["cells"].as_array().expect("cells");
        assert_eq!(cells.last(), Some(&json!(age)), "{point:?}");
    }
}

#[test]
fn a_table_whose_columns_look_at_much_is_written_row_by_row() {
    const OBJECTS: u32 = 20;
    let column = |at: usize, path: &str| {
        let name = format!("C{at}");
        json!({"name": name, "type": "string", "jsonPath": path})
    };
    let everywhere = format!(".spec[{}][*][?(@.x)]", vec!["'l'"; 100].join(","));
    let columns: Vec<Value> = (0..100).map(|at| column(at, &everywhere)).collect();
    let (turns, text) = beside_a_list(&columns, OBJECTS);
    assert!(turns >= OBJECTS, "{turns}");
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    let (turns, _) = beside_a_list(&[column(0, ".spec.l[0]")], OBJECTS);
    assert!(
        turns < OBJECTS,
        "what looks at little is written at once: {turns}"
    );
}

#[test]
fn a_row_is_so_long_whatever_its_columns_show() {
    let served = served(5_000);
    create_row(&served, "a", 200_000);
    for path in [ROWS, "/apis/y.io/v1/rows/a"] {
        let answer = served.whole(table(path));
        assert!(answer.body().len() < 2 * ROW_BYTES_MAX, "{path}");
        let table = read(&answer);
        let columns = table["columnDefinitions"].as_array().map(Vec::len);
        assert_eq!(columns, Some(1 + COLUMNS_MAX), "{path}");
        let cells = table["rows"][0]["cells"].as_array().expect("cells");
        assert_eq!(cells.len(), 1 + COLUMNS_MAX, "{path}");
        let texts: Vec<&str> = cells.iter().filter_map(Value::as_str).collect();
        assert!(texts[1].ends_with("x\"}"), "{path}: the first is whole");
        assert_eq!(texts[COLUMNS_MAX], "...", "{path}");
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        assert!(bytes <= ROW_BYTES_MAX + 3 * COLUMNS_MAX, "{path}: {bytes}");
    }
}

#[test]
fn a_table_of_small_objects_with_long_rows_comes_in_pieces() {
    const OBJECTS: usize = 40;
    let served = served(COLUMNS_MAX);
    for object in 0..OBJECTS {
        create_row(&served, &format!("a{object}"), 1_000);
    }
    let plain = Request::get(ROWS).body(Full::default()).expect("a request");
    let whole = served.answer(plain).into_body();
    assert!(whole.size_hint().exact().is_some(), "the list is small");
    let pieces = served.answer(table(ROWS)).into_body();
    assert!(pieces.size_hint().exact().is_none(), "its table is not");
    let pieces = crate::testing::runtime().block_on(pieces.collect());
    let text = pieces.expect("to its end").to_bytes();
    assert!(text.len() > OBJECTS * COLUMNS_MAX * 1_000);
    let table: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(OBJECTS));
}
