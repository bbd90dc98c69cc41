//! Every built-in kind has columns.

use super::super::computed::cell;
use super::*;
use crate::api::Api;
use crate::backend::fake::Fake;
use crate::testing::Served;
use bytes::Bytes;
use hindsight_core::builtin::kinds;
use hindsight_core::{Actor, GroupResource, Object, ObjectKey, Revision, Time};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Kinds that show name and age upstream, too.
const NAME_AND_AGE: &[&str] = &["deviceclasses", "resourceclaimtemplates"];

#[test]
fn every_built_in_kind_has_its_columns_or_is_known_to_have_none() {
    let all = kinds();
    let stored = all.iter().filter(|kind| !kind.strategy.review);
    let stored: BTreeSet<&str> = stored.map(|kind| &*kind.resource.resource).collect();
    let rows = ROWS.lines().filter_map(|row| row.split_once(": "));
    let rows: Vec<&str> = rows.map(|row| row.0).collect();
    let known: BTreeSet<&str> = rows.iter().chain(NAME_AND_AGE).copied().collect();
    assert_eq!(known.len(), rows.len() + NAME_AND_AGE.len(), "one row each");
    assert_eq!(known, stored);
}

#[test]
fn every_computed_cell_is_known() {
    let rows = ROWS.lines().filter_map(|row| row.split_once(": "));
    let sources = rows.flat_map(|(_, row)| row.split(", "));
    let sources = sources.filter_map(|column| builtin(Some(&"".into()), column));
    let mut names = 0;
    for column in sources {
        if let Source::Computed(name) = column.source {
            assert!(cell(name, &json!({}), Time(0)).is_some(), "{name}");
            names += 1;
        }
    }
    assert!(names > 100, "{names}");
}

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

/// The scale of a deployment in this form.
async fn scale(accepted: &str) -> Value {
    let fake = Arc::new(Fake::new());
    let key = ObjectKey::new(GroupResource::new("apps", "deployments"), "default", "a");
    let document = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "default", "uid": "u"},
        "spec": {"replicas": 3}, "status": {"replicas": 2}});
    let object = Object::from_value(key, document, Revision(1), None);
    drop(fake.put(&Arc::new(object.expect("an object"))));
    let path = "/apis/apps/v1/namespaces/default/deployments/a/scale";
    let request = Request::get(path).header("accept", accepted);
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let api = Api::new(fake, Arc::default());
    let answer = api
        .handle(request, Some(Arc::new(Actor::new("admin"))))
        .await;
    let body = answer.into_body().collect().await.expect("a body");
    serde_json::from_slice(&body.to_bytes()).expect("JSON")
}

#[tokio::test]
async fn a_scale_has_a_form_of_its_metadata() {
    let metadata = scale(&TABLE.replace("Table", "PartialObjectMetadata")).await;
    assert_eq!(metadata["kind"], "PartialObjectMetadata");
    assert_eq!(metadata["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(metadata["metadata"]["name"], "a");
    assert_eq!(metadata.get("spec"), None);
}

#[tokio::test]
async fn a_scale_has_columns_of_its_own() {
    let table = scale(TABLE).await;
    let columns = table["columnDefinitions"].as_array().expect("columns");
    let names: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 3, 2, "<unknown>"]));
    assert_eq!(table["rows"][0]["object"]["metadata"]["name"], "a");
}

/// A kind without columns of its own, and its scale, as tables. Source: upstream's `serveDefaultColumnsIfEmpty`
/// and `getScaleColumnsForVersion`.
#[test]
fn what_a_custom_kind_says_of_age_is_a_date_and_described() {
    let served = Served::new();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let scale = json!({"specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas"});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}, "subresources": {"scale": scale}});
    let definition = json!({"metadata": {"name": "rows.y.io"}, "spec": {"group": "y.io",
        "scope": "Cluster", "names": {"plural": "rows", "kind": "Row"}, "versions": [version]}});
    let row = json!({"apiVersion": "y.io/v1", "kind": "Row", "metadata": {"name": "a"},
        "spec": {"replicas": 3}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (path, document) in [(definitions, definition), ("/apis/y.io/v1/rows", row)] {
        let request = Request::post(path).body(Full::from(document.to_string()));
        let answer = served.whole(request.expect("a request"));
        assert_eq!(answer.status().as_u16(), 201, "{path}");
    }
    let created = "CreationTimestamp is a timestamp";
    let age = ("Age", "date", created);
    let counts = [
        ("Desired", "integer", "Number of desired replicas"),
        ("Available", "integer", "Number of actual replicas"),
        age,
    ];
    for (path, expected) in [("a", &[age][..]), ("a/scale", &counts)] {
        let request = Request::get(format!("/apis/y.io/v1/rows/{path}")).header("accept", TABLE);
        let answer = served.whole(request.body(Full::default()).expect("a request"));
        let table: Value = serde_json::from_slice(answer.body()).expect("JSON");
        let columns = table["columnDefinitions"].as_array().expect("columns");
        let columns: Vec<_> = columns.iter().skip(1).collect();
        assert_eq!(columns.len(), expected.len(), "{table}");
        for (column, (name, type_name, description)) in columns.into_iter().zip(expected) {
            assert_eq!(
                (&column["name"], &column["type"]),
                (&json!(name), &json!(type_name))
            );
            let told = column["description"].as_str().expect("a text");
            assert!(told.starts_with(description), "{told}");
        }
        let cells = table["rows"][0]["cells"].as_array().expect("cells");
        assert_eq!(cells.last(), Some(&json!("0s")), "{table}");
    }
}

#[test]
fn a_default_class_is_marked_in_its_name() {
    let (storage, attributes) = ("storageclasses", "volumeattributesclasses");
    let of = |group: &str| format!("{group}.kubernetes.io/is-default-class");
    let keys = [
        "storageclass",
        "storageclass.beta",
        "volumeattributesclass.alpha",
    ]
    .map(of);
    let [stable, beta, alpha] = &keys;
    let mut kinds = kinds();
    kinds
        .retain(|kind| [storage, attributes, "ingressclasses"].contains(&&*kind.resource.resource));
    assert_eq!(kinds.len(), 3);
    for (key, value, marked) in [
        (stable, "true", storage),
        (beta, "true", storage),
        (alpha, "true", attributes),
        (stable, "false", ""),
        (stable, "True", ""),
    ] {
        for kind in &kinds {
            let class = json!({"metadata": {"name": "c", "annotations": {key: value}}});
            let columns = columns(kind, kind.versions.first().expect("a version"));
            let first = columns.first().expect("a name").clone();
            let (now, looks) = (Time(0), &mut crate::table::Looks::default());
            let cells = crate::table::cells::cells(&[first], &class, now, looks);
            let resource = &*kind.resource.resource;
            let expected = if resource == marked {
                "c (default)"
            } else {
                "c"
            };
            assert_eq!(cells, [expected], "{resource} {key}={value}");
        }
    }
}

#[test]
fn every_column_of_a_row_is_shown() {
    for kind in kinds().iter().filter(|kind| !kind.strategy.review) {
        let row = ROWS.lines().filter_map(|row| row.split_once(": "));
        let mut row = row.filter(|row| row.0 == &*kind.resource.resource);
        let wanted = row
            .next()
            .map_or(1, |(_, columns)| columns.split(", ").count());
        let has_name = &*kind.resource.resource != "events";
        let version = kind.versions.first().expect("a version");
        let shown = columns(kind, version).len();
        assert_eq!(shown, wanted + usize::from(has_name), "{}", kind.resource);
    }
}

#[test]
fn containers_are_read_where_each_kind_keeps_its_pod() {
    let pod = json!({"containers": [{"image": "i"}, {"image": "j"}]});
    let mut keepers = 0;
    for kind in kinds() {
        let columns = columns(&kind, kind.versions.first().expect("a version"));
        let images = columns.into_iter().find(|column| column.name == "Images");
        let Some(images) = images else {
            continue;
        };
        let way = kind.pod.expect("its pod");
        let steps = way.rsplit('.');
        let document = steps.fold(pod.clone(), |inner, step| json!({step: inner}));
        let cells = crate::table::cells::cells(
            &[images],
            &document,
            Time(0),
            &mut crate::table::Looks::default(),
        );
        assert_eq!(cells, [json!("i,j")], "{}", kind.resource);
        keepers += 1;
    }
    assert_eq!(keepers, 8, "all but pods themselves");
}

/// Source: upstream's `AddHandlers`.
#[test]
fn counts_of_an_autoscaler_have_upstreams_headings_and_types() {
    let mut kinds = kinds().into_iter();
    let kind = kinds.find(|kind| &*kind.resource.resource == "horizontalpodautoscalers");
    let kind = kind.expect("a kind");
    let made = columns(&kind, kind.versions.first().expect("a version"));
    let made = made.iter();
    let made = made.map(|one| (one.name.as_str(), one.type_name.as_str()));
    let made: Vec<_> = made.collect();
    let expected = [
        "Name",
        "Reference",
        "Targets",
        "MinPods",
        "MaxPods",
        "Replicas",
        "Age",
    ];
    assert_eq!(made, expected.map(|name| (name, "string")));
}
