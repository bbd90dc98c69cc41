//! The documents as a whole.

use super::*;
use crate::schemas::builtin_kinds;

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
        seen += references(&v3::document(&state, group, version));
    }
    assert!(seen > 500, "{seen}");
    assert!(references(&v2::document(&state)) > 1000);
}

#[test]
fn version_two_says_nothing_that_it_cannot() {
    let state = State::new(builtin_kinds());
    let text = v2::document(&state)["definitions"].to_string();
    for word in [
        "\"allOf\":[",
        "\"oneOf\":[",
        "components/schemas",
        "\"$schema\":\"",
    ] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn a_patch_may_be_written_as_it_is_taken_and_an_apply_by_force() {
    let document = v2::document(&State::new(builtin_kinds()));
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
    let whole = v2::document(&state);
    let core = v3::document(&state, "", "v1");
    for document in [&whole, &core] {
        let everywhere = &document["paths"]["/api/v1/pods"];
        let id = &everywhere["get"]["operationId"];
        assert_eq!(id, "listCoreV1PodForAllNamespaces");
        assert_eq!(everywhere.as_object().expect("an item").len(), 1);
        let one = &document["paths"]["/api/v1/namespaces/{namespace}/pods"]["get"];
        assert_eq!(one["operationId"], "listCoreV1NamespacedPod");
        let all = &everywhere["get"];
        assert_eq!(all["responses"], one["responses"]);
        let parameters = |operation: &Value| operation["parameters"].as_array().map(Vec::len);
        assert_eq!(parameters(all).map(|count| count + 1), parameters(one));
    }
    let of_nodes = &core["paths"]["/api/v1/nodes"]["get"]["operationId"];
    assert_eq!(of_nodes, "listCoreV1Node");
    let reviews = "/apis/authorization.k8s.io/v1/localsubjectaccessreviews";
    assert_eq!(whole["paths"].get(reviews), None);
}

#[test]
fn no_two_operations_have_one_name() {
    let state = State::new(builtin_kinds());
    let document = v2::document(&state);
    let items = document["paths"].as_object().expect("paths").values();
    let operations = items.flat_map(|item| item.as_object().expect("an item").values());
    let mut names: Vec<&str> = operations
        .map(|one| one["operationId"].as_str().expect("a name"))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn a_tag_stands_for_its_document() {
    let state = State::new(builtin_kinds());
    let headers = HeaderMap::new();
    let first = respond("/openapi/v3/apis/apps/v1", &headers, &state).expect("a document");
    let tag = first.headers().get(header::ETAG).expect("a tag").clone();
    let url = index(&state)["paths"]["apis/apps/v1"]["serverRelativeURL"].to_string();
    assert!(
        url.contains(tag.to_str().expect("text").trim_matches('"')),
        "{url}"
    );
    let mut headers = HeaderMap::new();
    headers.insert(header::IF_NONE_MATCH, tag);
    let again = respond("/openapi/v3/apis/apps/v1", &headers, &state).expect("an answer");
    assert_eq!(
        (first.status().as_u16(), again.status().as_u16()),
        (200, 304)
    );
    assert!(first.headers().contains_key(header::CONTENT_TYPE));
    assert_eq!(again.headers().get(header::CONTENT_TYPE), None);
    assert!(respond("/openapi/v3/apis/none/v1", &headers, &state).is_none());
}
