//! Every built-in kind has columns.

use super::*;
use crate::backend::fake::Fake;
use crate::handler::Api;
use bytes::Bytes;
use hindsight_core::builtin::kinds;
use hindsight_core::{Actor, GroupResource, Object, ObjectKey, Revision};
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
            hindsight_core::Time(0),
            &mut crate::table::Looks::default(),
        );
        assert_eq!(cells, [json!("i,j")], "{}", kind.resource);
        keepers += 1;
    }
    assert_eq!(keepers, 8, "all but pods themselves");
}
