//! How writes are answered in a form that is too long for what they made.

use crate::testing::Served;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::Full;
use serde_json::{Value, json};

const ALL: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
const ONE: &str = "/apis/apps/v1/namespaces/default/controllerrevisions/a";

/// Asks for YAML.
fn sent(served: &Served, (method, path): (Method, &str), media: &str, body: &Value) -> Answered {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header("content-type", media)
        .header("accept", "application/yaml");
    let request = request.body(Full::from(body.to_string()));
    served.whole(request.expect("a request")).into()
}

struct Answered {
    code: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl From<Response<Bytes>> for Answered {
    fn from(answer: Response<Bytes>) -> Self {
        let (head, body) = answer.into_parts();
        Self {
            code: head.status.as_u16(),
            headers: head.headers,
            body,
        }
    }
}

impl Answered {
    fn media(&self) -> &[u8] {
        let media = self.headers.get(header::CONTENT_TYPE);
        media.map_or(b"", |media| media.as_bytes())
    }

    /// The finalizers of the object that is shown, as JSON.
    fn finalizers(&self, case: &str) -> Vec<String> {
        assert_eq!(self.media(), b"application/json", "{case}");
        let shown: Value = serde_json::from_slice(&self.body).expect("JSON");
        assert_eq!(shown["kind"], "ControllerRevision", "{case}");
        let finalizers = shown["metadata"]["finalizers"].as_array();
        let finalizers = finalizers.into_iter().flatten();
        finalizers
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect()
    }
}

/// An object of some 200 KB that has more than 16 MiB as YAML, nearly all of it indentation.
fn deep(finalizers: &[&str]) -> Value {
    let data = (0..100).fold(json!(vec![1; 100_000]), |inner, _| json!({"a": inner}));
    json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": data,
        "metadata": {"name": "a", "namespace": "default", "finalizers": finalizers}})
}

/// A client that is refused would write again what it wrote.
#[test]
fn what_was_written_is_answered_as_json_where_it_is_too_long_as_yaml() {
    let served = Served::new();
    let namespace = json!({"metadata": {"name": "default"}});
    let made = (Method::POST, "/api/v1/namespaces");
    assert_eq!(
        sent(&served, made, "application/json", &namespace).code,
        201
    );
    let append = json!([{"op": "add", "path": "/metadata/finalizers/-", "value": "x.io/c"}]);
    let name = "application/json-patch+json";
    for (method, path, media, body, code, finalizers) in [
        (
            Method::POST,
            ALL,
            "application/json",
            deep(&["x.io/a"]),
            201,
            &["x.io/a"][..],
        ),
        (
            Method::PUT,
            ONE,
            "application/json",
            deep(&["x.io/b"]),
            200,
            &["x.io/b"],
        ),
        (Method::PATCH, ONE, name, append, 200, &["x.io/b", "x.io/c"]),
        (
            Method::DELETE,
            ONE,
            "application/json",
            json!({}),
            200,
            &["x.io/b", "x.io/c"],
        ),
    ] {
        let case = format!("{method}");
        let answer = sent(&served, (method, path), media, &body);
        assert_eq!(answer.code, code, "{case}");
        assert_eq!(answer.finalizers(&case), finalizers, "{case}");
    }
    let read = sent(&served, (Method::GET, ONE), "application/json", &json!({}));
    assert_eq!(read.code, 406, "a read can be repeated");
}
