//! What is asked of every object has a bound.

use crate::backend::fake::Fake;
use crate::handler::Api;
use bytes::Bytes;
use hindsight_core::Actor;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use std::sync::Arc;

const REQUIREMENTS_MAX: usize = 1_000;

async fn ask(api: &Api, method: Method, query: &str) -> (u16, String) {
    let request = Request::builder().method(method);
    let request = request.uri(format!("/api/v1/namespaces/default/configmaps?{query}"));
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let answer = api
        .handle(request, Some(Arc::new(Actor::new("admin"))))
        .await;
    let code = answer.status().as_u16();
    if code == 200 {
        return (code, String::new());
    }
    let body = answer.into_body().collect().await.expect("read").to_bytes();
    let status: Value = serde_json::from_slice(&body).expect("JSON");
    (code, status["message"].to_string())
}

#[test]
fn a_selector_of_too_many_requirements_is_refused_by_whatever_lists() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let api = Api::new(Arc::new(Fake::new()) as _, Arc::default());
        for (name, one) in [
            ("labelSelector", "a!=b,"),
            ("fieldSelector", "metadata.name!=b,"),
        ] {
            for (method, more) in [
                (Method::GET, ""),
                (Method::GET, "&limit=2"),
                (Method::GET, "&watch=1"),
                (Method::DELETE, ""),
            ] {
                for (count, expected) in [(REQUIREMENTS_MAX, 200), (REQUIREMENTS_MAX + 1, 400)] {
                    let selector = one.repeat(count);
                    let selector = selector.trim_end_matches(',');
                    let query = format!("{name}={selector}{more}");
                    let (code, message) = ask(&api, method.clone(), &query).await;
                    assert_eq!(code, expected, "{method} {name}{more} {message}");
                    assert!(
                        code == 200 || message.contains("1000 requirements"),
                        "{message}"
                    );
                }
            }
        }
    });
}
