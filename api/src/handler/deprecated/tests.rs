//! Each verb on a custom kind and on a built-in one, refused or not.

use crate::testing::Served;
use http::{Request, header};
use http_body_util::Full;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GADGETS: &str = "/apis/z.io/v1beta1/namespaces/d/gadgets";
const ENDPOINTS: &str = "/api/v1/namespaces/d/endpoints";
const OF_ENDPOINTS: &str =
    "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
const OF_GADGETS: &str = "299 - \"say \\\"v1\\\"\"";

/// A server with a namespace, and a kind of which one version is deprecated.
fn served() -> Served {
    let served = Served::new();
    let namespace = json!({"metadata": {"name": "d"}});
    let made = served.warned("POST", "/api/v1/namespaces", &namespace);
    assert_eq!(made, (201, vec![]));
    let made = served.warned("POST", DEFINITIONS, &definition());
    assert_eq!(made, (201, vec![]));
    served
}

impl Served {
    /// Sends a request; returns the code and the warnings.
    fn warned(&self, method: &str, path: &str, body: &Value) -> (u16, Vec<String>) {
        let media = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = Request::builder().method(method).uri(path);
        let request = request.header(header::CONTENT_TYPE, media);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.answer(request.body(Full::from(body)).expect("a request"));
        let warnings = answer.headers().get_all(header::WARNING).iter();
        let warnings = warnings.map(|one| one.to_str().expect("text").to_owned());
        (answer.status().as_u16(), warnings.collect())
    }

    /// Each row is a method, what follows the path of the collection, the code, and the body.
    fn each(&self, collection: &str, rows: &str, wanted: &[&str]) {
        for row in rows.lines() {
            let words: Vec<&str> = row.splitn(4, ' ').collect();
            let path = format!("{collection}{}", words[1].trim_start_matches('-'));
            let body = words.get(3).map(|body| serde_json::from_str(body));
            let body: Value = body.transpose().expect("JSON").unwrap_or_default();
            let (code, warnings) = self.warned(words[0], &path, &body);
            assert_eq!(code.to_string(), words[2], "{row}");
            assert_eq!(warnings, wanted, "{row}");
        }
    }
}

fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"openAPIV3Schema": {"type": "object",
        "properties": {"spec": open, "status": open}}});
    let below = json!({"status": {}, "scale": {"specReplicasPath": ".spec.n",
        "statusReplicasPath": ".status.n"}});
    json!({"metadata": {"name": "gadgets.z.io"}, "spec": {"group": "z.io", "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": below},
            {"name": "v1beta1", "served": true, "storage": false, "schema": schema,
             "subresources": below, "deprecated": true, "deprecationWarning": "say \"v1\""}]}})
}

#[test]
fn every_request_in_a_deprecated_version_gets_a_warning() {
    let rows = r#"POST - 201 {"apiVersion":"z.io/v1beta1","kind":"Gadget","metadata":{"name":"a"},"spec":{"n":1}}
POST - 409 {"apiVersion":"z.io/v1beta1","kind":"Gadget","metadata":{"name":"a"}}
POST - 400 {"apiVersion":"z.io/v1","kind":"Gadget","metadata":{"name":"b"}}
GET /a 200
GET /none 404
GET - 200
GET ?limit=x 400
GET ?watch=1 200
GET ?watch=1&resourceVersion=x 400
PUT /a 200 {"apiVersion":"z.io/v1beta1","kind":"Gadget","metadata":{"name":"a","resourceVersion":"3"},"spec":{"n":2}}
PATCH /a 200 {"spec":{"n":3}}
PATCH /a 422 {"metadata":{"labels":{"a":"&"}}}
PATCH /a/status 200 {"status":{"n":3}}
GET /a/scale 200
PATCH /a/scale 200 {"spec":{"replicas":4}}
GET /a/other 404
DELETE /a/status 405
PUT - 405
DELETE /a 200
DELETE - 200"#;
    served().each(GADGETS, rows, &[OF_GADGETS]);
}

#[test]
fn every_valid_request_for_endpoints_gets_a_warning() {
    let served = served();
    let rows = r#"POST - 201 {"metadata":{"name":"a"}}
POST - 409 {"metadata":{"name":"a"}}
GET /a 200
GET /none 404
GET - 200
GET ?watch=1 200
PUT /b 201 {"metadata":{"name":"b"}}
PATCH /a 200 {"metadata":{"labels":{"a":"b"}}}
DELETE /a 200
DELETE - 200"#;
    served.each(ENDPOINTS, rows, &[OF_ENDPOINTS]);
    served.each(ENDPOINTS, "GET /a/other 404\nPUT - 405\nPOST /a 405", &[]);
    let slices = "/apis/discovery.k8s.io/v1/namespaces/d/endpointslices";
    served.each(slices, "GET - 200", &[]);
}

#[test]
fn a_current_version_gets_no_warning() {
    let served = served();
    served.each("/apis/z.io", "GET - 200\nGET /v1beta1 200", &[]);
    served.each("/apis/z.io/v1/namespaces/d/gadgets", "GET - 200", &[]);
    served.each("/apis/z.io/v1beta1/gadgets", "GET - 200", &[OF_GADGETS]);
    served.each("/apis/z.io/v1beta1/gadgets", "POST - 404", &[]);
    served.each("/apis/z.io/v1beta1", "GET /others 404", &[]);
}

#[test]
fn it_is_the_first_of_the_warnings() {
    let repeated = r#"{"apiVersion":"z.io/v1beta1","kind":"Gadget","metadata":{"name":"a","a":1}}"#;
    let row = format!("POST ?fieldValidation=Warn 201 {repeated}");
    let wanted = [OF_GADGETS, "299 - \"unknown field \\\"metadata.a\\\"\""];
    served().each(GADGETS, &row, &wanted);
}
