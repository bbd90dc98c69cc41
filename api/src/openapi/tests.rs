//! The documents as a whole.

mod operations;

use super::*;
use crate::api::Api;
use crate::backend::fake::Fake;
use crate::schemas::builtin_kinds;
use futures_util::future::join_all;
use hindsight_core::Actor;
use http::Request;
use http_body_util::{BodyExt, Full};

fn two(state: &State) -> Value {
    serde_json::from_slice(&v2::document(state)).expect("JSON")
}

fn three(state: &State, group: &str, version: &str) -> Value {
    serde_json::from_slice(&v3::document(state, group, version)).expect("JSON")
}

fn references(document: &Value) -> usize {
    let mut seen = 0;
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            let pointer = target.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{target}");
            seen += 1;
        }
        open.extend(value.as_object().into_iter().flat_map(Map::values));
        open.extend(value.as_array().into_iter().flatten());
    }
    seen
}

#[test]
fn every_reference_leads_somewhere() {
    let state = State::new(builtin_kinds());
    let mut seen = 0;
    for (group, version) in [("", "v1"), ("apps", "v1"), ("apiextensions.k8s.io", "v1")] {
        seen += references(&three(&state, group, version));
    }
    assert!(seen > 500, "{seen}");
    assert!(references(&two(&state)) > 1000);
}

#[test]
fn version_two_says_nothing_that_it_cannot() {
    let state = State::new(builtin_kinds());
    let text = two(&state)["definitions"].to_string();
    for word in [
        "\"allOf\":[",
        "\"oneOf\":[",
        "components/schemas",
        "\"$schema\":\"",
    ] {
        assert!(!text.contains(word), "{word}");
    }
}

/// Source: upstream's `api/openapi-spec/swagger.json`.
#[test]
fn no_built_in_kind_requires_metadata() {
    let state = State::new(builtin_kinds());
    let mut seen = 0;
    for document in [
        &two(&state)["definitions"],
        &three(&state, "authorization.k8s.io", "v1")["components"]["schemas"],
    ] {
        for (name, definition) in document.as_object().expect("definitions") {
            let Some(required) = definition.get("required") else {
                continue;
            };
            let required = required.as_array().expect("a list");
            assert!(!required.contains(&json!("metadata")), "{name}");
            assert!(!required.is_empty(), "{name}");
            seen += usize::from(name.ends_with(".SubjectAccessReview"));
        }
    }
    assert_eq!(seen, 2, "their specification is required");
}

#[test]
fn a_patch_may_be_written_as_it_is_taken_and_an_apply_by_force() {
    let document = two(&State::new(builtin_kinds()));
    let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    for below in ["", "/status", "/scale"] {
        let patch = &document["paths"][&format!("{path}{below}")]["patch"];
        let media = json!([
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ]);
        assert_eq!(patch["consumes"], media, "{below}");
        let parameters = patch["parameters"].as_array().expect("parameters");
        let mut force = parameters.iter().filter(|one| one["name"] == "force");
        assert_eq!(force.next().expect("a parameter")["type"], "boolean");
    }
}

#[test]
fn what_is_in_namespaces_is_listed_in_all_of_them_too() {
    let state = State::new(builtin_kinds());
    let whole = two(&state);
    let core = three(&state, "", "v1");
    for document in [&whole, &core] {
        let everywhere = &document["paths"]["/api/v1/pods"];
        let id = &everywhere["get"]["operationId"];
        assert_eq!(id, "listCoreV1PodForAllNamespaces");
        let item = everywhere.as_object().expect("an item");
        assert!(item.keys().eq(["get", "parameters"]), "{item:?}");
        let one = &document["paths"]["/api/v1/namespaces/{namespace}/pods"]["get"];
        assert_eq!(one["operationId"], "listCoreV1NamespacedPod");
        let all = &everywhere["get"];
        assert_eq!(all["responses"], one["responses"]);
        assert_eq!(all["parameters"], one["parameters"]);
        let place = |path: &str| {
            document["paths"][path]["parameters"]
                .as_array()
                .map(Vec::len)
        };
        let places = ["/api/v1/pods", "/api/v1/namespaces/{namespace}/pods"].map(place);
        assert_eq!(places, [Some(1), Some(2)]);
    }
    let of_nodes = &core["paths"]["/api/v1/nodes"]["get"]["operationId"];
    assert_eq!(of_nodes, "listCoreV1Node");
    let reviews = "/apis/authorization.k8s.io/v1/localsubjectaccessreviews";
    assert_eq!(whole["paths"].get(reviews), None);
}

#[test]
fn no_two_operations_have_one_name() {
    let state = State::new(builtin_kinds());
    let document = two(&state);
    let items = document["paths"].as_object().expect("paths").values();
    let operations = items.flat_map(|item| item.as_object().expect("an item").values());
    let operations = operations.filter(|one| one.is_object());
    let mut names: Vec<&str> = operations
        .map(|one| one["operationId"].as_str().expect("a name"))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

async fn asked(path: &str, headers: &HeaderMap, state: &Arc<State>) -> Option<Response<ApiBody>> {
    let documents = Documents::of(Revision::ZERO);
    let answer = respond(&documents, path, headers, state).await;
    answer.expect("an answer")
}

#[tokio::test]
async fn a_document_that_is_not_acceptable_is_refused_without_a_body() {
    let state = Arc::new(State::new(builtin_kinds()));
    for (path, accept, code) in [
        ("/openapi/v2", "text/html", 406),
        ("/openapi/v2", PROTOBUF, 200),
        ("/openapi/v3/apis/apps/v1", "text/html", 406),
        ("/openapi/v3/apis/apps/v1", PROTOBUF, 406),
        ("/openapi/v3/apis/apps/v1", "application/json", 200),
        ("/openapi/v3", "text/html", 200),
    ] {
        let accept = HeaderValue::from_static(accept);
        let headers = HeaderMap::from_iter([(header::ACCEPT, accept)]);
        let answer = asked(path, &headers, &state).await.expect("an answer");
        assert_eq!(answer.status().as_u16(), code, "{path}");
        assert_eq!(answer.headers()[header::VARY], "Accept", "{path}");
        let body = answer.into_body().collect().await.expect("a body");
        assert_eq!(body.to_bytes().is_empty(), code == 406, "{path}");
    }
}

#[tokio::test]
async fn a_tag_stands_for_its_document() {
    let state = Arc::new(State::new(builtin_kinds()));
    let mut headers = HeaderMap::new();
    let first = asked("/openapi/v3/apis/apps/v1", &headers, &state).await;
    let first = first.expect("a document");
    let tag = first.headers().get(header::ETAG).expect("a tag").clone();
    let url =
        index(Revision::ZERO, &state)["paths"]["apis/apps/v1"]["serverRelativeURL"].to_string();
    assert!(
        url.contains(tag.to_str().expect("text").trim_matches('"')),
        "{url}"
    );
    headers.insert(header::IF_NONE_MATCH, tag);
    let again = asked("/openapi/v3/apis/apps/v1", &headers, &state).await;
    let again = again.expect("an answer");
    assert_eq!(
        (first.status().as_u16(), again.status().as_u16()),
        (200, 304)
    );
    assert!(first.headers().contains_key(header::CONTENT_TYPE));
    assert_eq!(again.headers().get(header::CONTENT_TYPE), None);
    for nowhere in ["/openapi/v3/apis/none/v1", "/openapi/v3/apis/apps/v9"] {
        assert!(
            asked(nowhere, &headers, &state).await.is_none(),
            "{nowhere}"
        );
    }
}

/// A restored log counts the generations of a definition again from that of the backup on.
#[tokio::test]
async fn a_tag_of_another_life_of_the_log_stands_for_none_of_its_documents() {
    let [api, restored] = [Revision::ZERO, Revision(9)].map(|life| {
        let backend = Fake::new();
        *backend.restored.lock().expect("a lock") = life;
        Api::new(Arc::new(backend), Arc::default())
    });
    let asked = async |api: &Api, (path, accept): (&str, &str), known: Option<&HeaderValue>| {
        let request = Request::get(path).header(header::ACCEPT, accept);
        let mut request = request.body(Full::<Bytes>::default());
        let headers = request.as_mut().expect("a request").headers_mut();
        headers.extend(known.map(|tag| (header::IF_NONE_MATCH, tag.clone())));
        let actor = Some(Arc::new(Actor::new("admin")));
        api.handle(request.expect("a request"), actor).await
    };
    for document in [
        ("/apis", crate::discovery::AGGREGATED),
        ("/openapi/v2", "*/*"),
        ("/openapi/v3", "*/*"),
        ("/openapi/v3/apis/apps/v1", "*/*"),
    ] {
        let first = asked(&api, document, None).await;
        let tag = first.headers().get(header::ETAG).expect("a tag");
        for (api, code) in [(&api, 304), (&restored, 200)] {
            let again = asked(api, document, Some(tag)).await;
            assert_eq!(again.status().as_u16(), code, "{document:?}");
        }
    }
    let urls = [Revision::ZERO, Revision(9)].map(|life| index(life, &State::new(builtin_kinds())));
    assert_ne!(urls[0], urls[1]);
}

#[test]
fn a_kind_that_others_contain_says_which_it_is() {
    let document = two(&State::new(builtin_kinds()));
    let claim = &document["definitions"]["io.k8s.api.core.v1.PersistentVolumeClaim"];
    let gvk = json!([{"group": "", "version": "v1", "kind": "PersistentVolumeClaim"}]);
    assert_eq!(claim["x-kubernetes-group-version-kind"], gvk);
}

/// Defines a kind. The schema of each version has a property with the name of the version.
async fn define(api: &Api, number: usize, versions: &[&str]) {
    let one = |name: &&str| {
        let schema =
            json!({"type": "object", "properties": {format!("in-{name}"): {"type": "string"}}});
        json!({"name": name, "served": true, "storage": *name == versions[0],
            "schema": {"openAPIV3Schema": schema}})
    };
    define_as(api, number, versions.iter().map(one).collect()).await;
}

async fn define_as(api: &Api, number: usize, versions: Vec<Value>) {
    let plural = format!("k{number}s");
    let names = json!({"plural": plural, "kind": format!("K{number}")});
    let definition = json!({"metadata": {"name": format!("{plural}.y.io")},
        "spec": {"group": "y.io", "scope": "Cluster", "names": names, "versions": versions}});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = Request::post(path).body(Full::from(definition.to_string()));
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = api.handle(request.expect("a request"), known).await;
    assert_eq!(answer.status().as_u16(), 201, "{plural}");
}

async fn read(api: &Api, path: &str) -> Bytes {
    let request = Request::get(path).body(Full::<Bytes>::default());
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = api.handle(request.expect("a request"), known).await;
    assert_eq!(answer.status().as_u16(), 200, "{path}");
    let frame = answer.into_body().frame().await.expect("a frame");
    frame.expect("sound").into_data().expect("data")
}

#[tokio::test]
async fn all_who_ask_for_a_document_get_the_same_one() {
    let api = Api::new(Arc::new(Fake::new()), Arc::default());
    for number in 0..20 {
        define(&api, number, &["v1", "v2"]).await;
    }
    for path in ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/y.io/v2"] {
        let all = join_all((0..4).map(|_| read(&api, path))).await;
        let later = read(&api, path).await;
        for bytes in &all {
            // The same bytes at the same place: nothing was built again.
            assert_eq!(bytes.as_ptr(), later.as_ptr(), "{path}");
        }
    }
    let before = read(&api, "/openapi/v2").await;
    define(&api, 20, &["v1", "v2"]).await;
    let after = read(&api, "/openapi/v2").await;
    let [before, after]: [Value; 2] =
        [before, after].map(|bytes| serde_json::from_slice(&bytes).expect("JSON"));
    assert_eq!(before["definitions"].get("io.y.v1.K20"), None);
    for number in 0..=20 {
        for (version, other) in [("v1", "v2"), ("v2", "v1")] {
            let own = &after["definitions"][format!("io.y.{version}.K{number}")]["properties"];
            assert!(own.get(format!("in-{version}")).is_some(), "{own}");
            assert!(own.get(format!("in-{other}")).is_none(), "{own}");
        }
    }
}

async fn patch(api: &Api, change: &Value) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/k0s.y.io";
    let request = Request::patch(path).header("content-type", "application/merge-patch+json");
    let request = request.body(Full::from(change.to_string()));
    let known = Some(Arc::new(Actor::new("admin")));
    let answer = api.handle(request.expect("a request"), known).await;
    assert_eq!(answer.status().as_u16(), 200, "{change}");
}

/// Some controllers write to definitions all the time.
#[tokio::test]
async fn a_document_is_made_again_only_if_what_it_tells_has_changed() {
    let api = Api::new(Arc::new(Fake::new()), Arc::default());
    define(&api, 0, &["v1"]).await;
    let annotated = json!({"metadata": {"annotations": {"a": "b"}}});
    let named = json!({"spec": {"names": {"shortNames": ["k"]}}});
    let told = json!({"spec": {"names": {"categories": ["all"]}}});
    let schema = json!({"type": "object", "properties": {"other": {"type": "string"}}});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}});
    let typed = json!({"spec": {"versions": [version]}});
    for (change, is_made_again) in [
        (annotated, false),
        (named, true),
        (told, true),
        (typed, true),
    ] {
        for path in ["/openapi/v2", "/openapi/v3/apis/y.io/v1"] {
            let before = read(&api, path).await;
            patch(&api, &change).await;
            let after = read(&api, path).await;
            let is_other = before.as_ptr() != after.as_ptr();
            // The second time it changes nothing.
            let is_first = path == "/openapi/v2";
            assert_eq!(is_other, is_made_again && is_first, "{path} {change}");
        }
    }
}

/// Source: upstream's `addEmbeddedProperties` and `ToStructuralOpenAPIV2`.
#[tokio::test]
async fn what_a_schema_embeds_or_leaves_open_is_told_as_far_as_a_version_can() {
    let api = Api::new(Arc::new(Fake::new()), Arc::default());
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "properties": {"spec": {"type": "object"}}});
    let mut open = embedded.clone();
    open["x-kubernetes-preserve-unknown-fields"] = json!(true);
    let nullable = json!({"type": "array", "nullable": true, "items": {"type": "string"}});
    let properties = json!({"whole": embedded, "open": open, "nullable": nullable,
        "list": {"type": "array", "items": embedded}});
    let schema = json!({"type": "object", "required": ["nullable"], "properties": properties});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}});
    define_as(&api, 0, vec![version]).await;
    let json = |bytes: Bytes| serde_json::from_slice::<Value>(&bytes).expect("JSON");
    let three = json(read(&api, "/openapi/v3/apis/y.io/v1").await);
    let three = &three["components"]["schemas"]["io.y.v1.K0"];
    for place in ["whole", "open", "list/items"] {
        let found = three.pointer(&format!("/properties/{place}"));
        let found = found.expect("a schema");
        assert_eq!(found["required"], json!(["apiVersion", "kind"]), "{place}");
        let metadata = &found["properties"]["metadata"]["allOf"][0]["$ref"];
        assert!(metadata.to_string().contains("ObjectMeta"), "{found}");
    }
    let two = json(read(&api, "/openapi/v2").await);
    let two = &two["definitions"]["io.y.v1.K0"];
    assert_eq!(two.get("required"), None, "it may be null");
    let two = &two["properties"];
    assert!(
        two["whole"]["properties"]["metadata"]["$ref"].is_string(),
        "{two}"
    );
    assert_eq!(two["open"].get("properties"), None);
    assert_eq!(two["open"].get("required"), None);
    assert_eq!(two["nullable"], json!({}));
}

/// Source: upstream's `api/openapi-spec`, where these types have a description and nothing else.
#[test]
fn what_may_be_anything_has_no_type() {
    let state = State::new(builtin_kinds());
    let two = two(&state);
    let three = three(&state, "apiextensions.k8s.io", "v1");
    for document in [&two["definitions"], &three["components"]["schemas"]] {
        for name in ["JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool"] {
            let name = format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{name}");
            let members = document[&name].as_object().expect("a definition");
            let members: Vec<_> = members.keys().collect();
            assert_eq!(members, ["description"], "{name}");
        }
    }
}
