//! A watch alone, over an engine that the test moves.

use crate::admission::Admission;
use crate::backend::fake::Fake;
use crate::handler::Api;
use hindsight_core::{Actor, Revision};
use http::Request;
use http_body_util::{BodyExt, Full};
use std::sync::Arc;

#[test]
fn a_bookmark_says_how_far_its_own_stream_is() {
    let fake = Arc::new(Fake::new());
    fake.move_to(Revision(5));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let administrator = Actor {
        user: "admin".into(),
        uid: "".into(),
        groups: Vec::new(),
    };
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=5";
    let request = Request::get(path).body(Full::<bytes::Bytes>::default());
    let request = request.expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let frame = runtime.expect("a runtime").block_on(async {
        let mut body = api.handle(request, Some(Arc::new(administrator))).await;
        // The state is ahead, and its changes have not come to this watch.
        fake.move_to(Revision(9));
        body.body_mut().frame().await.expect("a bookmark")
    });
    let bytes = frame.expect("sound").into_data().expect("data");
    let event: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(event["type"], "BOOKMARK");
    assert_eq!(event["object"]["metadata"]["resourceVersion"], "5");
}
