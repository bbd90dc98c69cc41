//! What clients are told about groups.

use super::*;
use crate::testing::Served;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;

impl Served {
    fn define(&self, plural: &str, versions: &[&str]) {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let one = |name: &&str| json!({"name": name, "served": true, "storage": name == &versions[0], "schema": schema});
        let versions: Vec<Value> = versions.iter().map(one).collect();
        let definition = json!({"metadata": {"name": format!("{plural}.y.io")}, "spec": {"group": "y.io",
            "scope": "Cluster", "names": {"plural": plural, "kind": plural.to_uppercase()}, "versions": versions}});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let request = Request::builder().method(Method::POST).uri(path);
        let answer = self.whole(
            request
                .body(Full::from(definition.to_string()))
                .expect("a request"),
        );
        assert_eq!(answer.status().as_u16(), 201, "{answer:?}");
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response<Bytes> {
        let request = Request::get(path);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        self.whole(request.body(Full::default()).expect("a request"))
    }
}

#[test]
fn a_group_prefers_what_is_called_as_versions_are() {
    let asked = Served::new();
    asked.define("as", &["zeta", "v1alpha1", "v1beta", "v2beta2"]);
    asked.define("bs", &["v10beta1", "alpha"]);
    let answer = asked.get("/apis/y.io", &[]);
    let group: Value = serde_json::from_slice(answer.body()).expect("JSON");
    assert_eq!(group["preferredVersion"]["version"], "v10beta1");
    let versions = group["versions"].as_array().expect("versions").iter();
    let versions: Vec<_> = versions.map(|one| one["version"].as_str()).collect();
    let wanted = ["v10beta1", "v2beta2", "v1alpha1", "alpha", "v1beta", "zeta"];
    assert_eq!(versions, wanted.map(Some));
}

/// A client may tell a list that is absent from one that is empty.
#[test]
fn lists_of_names_that_a_kind_does_not_have_are_left_out() {
    let asked = Served::new();
    asked.define("as", &["v1"]);
    let lists = |path: &str, headers: &[(&str, &str)], resources: &str, name: &str| {
        let answer = asked.get(path, headers);
        let document: Value = serde_json::from_slice(answer.body()).expect("JSON");
        let resources = document.pointer(resources).and_then(Value::as_array);
        let mut resources = resources.expect("resources").iter();
        let wanted = |one: &&Value| one["name"] == name || one["resource"] == name;
        let found = resources.find(wanted).expect("it is served");
        ["shortNames", "categories", "subresources"].map(|list| found.get(list).is_some())
    };
    let none = [false; 3];
    assert_eq!(lists("/apis/y.io/v1", &[], "/resources", "as"), none);
    let pods = lists("/api/v1", &[], "/resources", "pods");
    assert_eq!(pods, [true, true, false]);
    let aggregated = [("accept", AGGREGATED)];
    let resources = "/items/0/versions/0/resources";
    let pods = lists("/api", &aggregated, resources, "pods");
    assert_eq!(pods, [true; 3]);
    let templates = lists("/api", &aggregated, resources, "podtemplates");
    assert_eq!(templates, none);
}

/// Clients ask discovery whether they can read it before they do.
#[test]
fn the_log_of_a_pod_is_listed_as_what_can_be_read() {
    let asked = Served::new();
    let read = |path: &str, accept: &str| -> Value {
        let answer = asked.get(path, &[("accept", accept)]);
        serde_json::from_slice(answer.body()).expect("JSON")
    };
    let found = |list: &Value, member: &str, name: &str| {
        let mut list = list.as_array().expect("a list").iter();
        let found = list.find(|one| one[member] == name);
        found.expect("it is listed").clone()
    };
    let plain = read("/api/v1", "application/json");
    let plain = found(&plain["resources"], "name", "pods/log");
    assert_eq!(
        (&plain["kind"], &plain["namespaced"]),
        (&json!("Pod"), &json!(true))
    );
    let aggregated = read("/api", AGGREGATED);
    let resources = &aggregated["items"][0]["versions"][0]["resources"];
    let pods = found(resources, "resource", "pods");
    let aggregated = found(&pods["subresources"], "subresource", "log");
    assert_eq!(aggregated["responseKind"]["kind"], "Pod");
    for told in [plain, aggregated] {
        assert_eq!(told["verbs"], json!(["get"]));
    }
}

#[test]
fn what_there_is_to_read_is_listed_and_can_be_read() {
    let asked = Served::new();
    asked.define("as", &["v1"]);
    let answer = asked.get("/", &[]);
    let listed: Value = serde_json::from_slice(answer.body()).expect("a document");
    let paths = listed["paths"].as_array().expect("a list");
    let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
    assert!(paths.is_sorted() && paths.contains(&"/apis/y.io/v1"));
    for path in paths {
        let answer = asked.get(path, &[]);
        assert_eq!(answer.status().as_u16(), 200, "{path}");
    }
}

#[test]
fn an_unchanged_discovery_document_is_not_sent_again() {
    let asked = Served::new();
    for (path, changes) in [("/apis", true), ("/api", false)] {
        let get = |tag: &str| asked.get(path, &[("accept", AGGREGATED), ("if-none-match", tag)]);
        let tag_of = |answer: &Response<Bytes>| {
            let tag = answer.headers().get(header::ETAG).expect("a tag");
            tag.to_str().expect("text").to_owned()
        };
        let first = get("");
        let tag = tag_of(&first);
        assert!(
            tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'),
            "{tag}"
        );
        let again = get(&tag);
        assert_eq!(
            (first.status().as_u16(), again.status().as_u16()),
            (200, 304)
        );
        assert_eq!((tag_of(&again), again.body().len()), (tag.clone(), 0));
        assert_eq!(again.headers().get(header::CONTENT_TYPE), None);
        for answer in [&first, &again] {
            let varies = answer.headers().get(header::VARY);
            assert_eq!(varies.expect("a header"), "Accept");
        }
        if changes {
            asked.define("cs", &["v1"]);
        }
        let later = get(&tag);
        let code = if changes { 200 } else { 304 };
        assert_eq!(later.status().as_u16(), code, "{path}");
        assert_eq!(tag_of(&later) != tag, changes, "{path}");
    }
}

#[test]
fn of_a_kind_that_is_going_away_nothing_can_be_made_or_changed() {
    let asked = Served::new();
    asked.define("as", &["v1"]);
    let verbs = || {
        let read = |path: &str, accept: &str| -> Value {
            let answer = asked.get(path, &[("accept", accept)]);
            serde_json::from_slice(answer.body()).expect("JSON")
        };
        let plain = read("/apis/y.io/v1", "application/json");
        let aggregated = read("/apis", AGGREGATED);
        let groups = aggregated["items"].as_array().expect("groups");
        let group = groups.iter().find(|one| one["metadata"]["name"] == "y.io");
        let resource = &group.expect("it is there")["versions"][0]["resources"][0];
        assert_eq!(plain["resources"][0]["verbs"], resource["verbs"]);
        resource["verbs"].clone()
    };
    assert_eq!(verbs(), json!(VERBS));
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.y.io";
    let delete = Request::delete(definition).body(Full::default());
    let answer = asked.whole(delete.expect("a request"));
    assert_eq!(answer.status().as_u16(), 200, "{answer:?}");
    let left = ["delete", "deletecollection", "get", "list", "watch"];
    assert_eq!(verbs(), json!(left));
}

#[test]
fn each_document_comes_in_the_syntax_that_is_asked_for() {
    let asked = Served::new();
    asked.define("as", &["v1"]);
    for path in [
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/y.io",
        "/apis/y.io/v1",
    ] {
        let get = |accept: &str| asked.get(path, &[("accept", accept)]);
        let plain = get("application/json");
        let read: Value = serde_json::from_slice(plain.body()).expect("JSON");
        let yaml = get("application/yaml");
        let media = yaml.headers().get(header::CONTENT_TYPE).expect("a type");
        assert_eq!(media, "application/yaml", "{path}");
        let text = std::str::from_utf8(yaml.body()).expect("text");
        let same: Value = serde_saphyr::from_str(text).expect(text);
        assert_eq!(same, read, "{path}");
        for accept in [
            "text/html, */*",
            "application/json;as=Table;g=meta.k8s.io;v=v1, */*;q=0.1",
        ] {
            assert_eq!(get(accept).body(), plain.body(), "{path} {accept}");
        }
        for accept in ["text/html", "application/json;as=Table;g=meta.k8s.io;v=v1"] {
            let refused = get(accept);
            assert_eq!(refused.status().as_u16(), 406, "{path} {accept}");
            let status: Value = serde_json::from_slice(refused.body()).expect("a status");
            assert_eq!(status["reason"], "NotAcceptable", "{path} {accept}");
        }
    }
    let nowhere = asked.get("/apis/none.io", &[("accept", "text/html")]);
    assert_eq!(nowhere.status().as_u16(), 404);
    let paths = asked.get("/", &[("accept", "text/html")]);
    assert_eq!(paths.status().as_u16(), 200);
}

/// Source: upstream's `routes.Version`, `legacyRootAPIHandler` and `APIVersionHandler`, which are routes for `GET`;
/// `apisHandler` and `apiGroupHandler` of its aggregator and `versionDiscoveryHandler` of custom kinds, which are not.
#[test]
fn what_has_a_route_is_for_get_alone_and_what_has_a_handler_is_for_every_method() {
    let asked = Served::new();
    asked.define("as", &["v1"]);
    for (path, accepted, other) in [
        ("/version", "*/*", 405),
        ("/version/", "*/*", 405),
        ("/api", "*/*", 405),
        ("/api", AGGREGATED, 405),
        ("/api/v1", "*/*", 405),
        ("/apis/apps/v1", "*/*", 405),
        ("/apis", "*/*", 200),
        ("/apis", AGGREGATED, 200),
        ("/apis/apps", "*/*", 200),
        ("/apis/y.io/v1", "*/*", 200),
        ("/", "*/*", 200),
        ("/livez", "*/*", 200),
        ("/readyz/ping", "*/*", 200),
        ("/openapi/v2", "*/*", 200),
        ("/openapi/v3", "*/*", 200),
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let request = Request::builder().method(method).uri(path);
            let request = request.header(header::ACCEPT, accepted);
            let answer = asked.whole(request.body(Full::default()).expect("a request"));
            let code = if method == "GET" { 200 } else { other };
            assert_eq!(answer.status(), code, "{method} {path}");
            if code == 405 {
                let status: Value = serde_json::from_slice(answer.body()).expect("JSON");
                assert_eq!(status["reason"], "MethodNotAllowed", "{method} {path}");
            }
        }
    }
}
