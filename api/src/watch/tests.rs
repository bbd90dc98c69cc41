//! A watch alone, over an engine that the test moves.

use crate::admission::Admission;
use crate::backend::fake::Fake;
use crate::body::ApiBody;
use crate::handler::Api;
use crate::watch::PIECE_BYTES;
use hindsight_core::{
    Actor, Cause, Commit, Event, GroupResource, Object, ObjectKey, Revision, State, Time, apply,
};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use std::sync::Arc;

fn administrator() -> Actor {
    Actor {
        user: "admin".into(),
        uid: "".into(),
        groups: Vec::new(),
    }
}

#[test]
fn a_bookmark_says_how_far_its_own_stream_is() {
    let fake = Arc::new(Fake::new());
    fake.move_to(Revision(5));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=5";
    let request = Request::get(path).body(Full::<bytes::Bytes>::default());
    let request = request.expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let frame = runtime.expect("a runtime").block_on(async {
        let mut body = api.handle(request, Some(Arc::new(administrator()))).await;
        // The state is ahead, and its changes have not come to this watch.
        fake.move_to(Revision(9));
        body.body_mut().frame().await.expect("a bookmark")
    });
    let bytes = frame.expect("sound").into_data().expect("data");
    let event: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(event["type"], "BOOKMARK");
    assert_eq!(event["object"]["metadata"]["resourceVersion"], "5");
}

/// A watch from nowhere on configmaps that there are.
fn begun(fake: &Arc<Fake>, objects: &[Arc<Object>]) -> Response<ApiBody> {
    for object in objects {
        let commit = Commit {
            revision: object.revision,
            time: Time(1),
            actor: Arc::new(administrator()),
            request: Arc::default(),
            cause: Cause::Request,
            key: object.key.clone(),
            uid: object.meta.uid.clone(),
            events: vec![Event::ObjectCreated {
                object: Arc::clone(object),
            }],
        };
        fake.change(|state| drop(apply(state, &commit)));
    }
    let api = Api::new(Arc::clone(fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
        &resourceVersionMatch=NotOlderThan";
    let request = Request::get(path).body(Full::<bytes::Bytes>::default());
    let request = request.expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(api.handle(request, Some(Arc::new(administrator()))))
}

fn object(revision: u64, bytes: usize) -> Arc<Object> {
    let name = format!("c{revision}");
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", &name);
    let document = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "uid": format!("{revision}")},
        "data": {"k": "v".repeat(bytes)}});
    let object = Object::from_value(key, document, Revision(revision), None);
    Arc::new(object.expect("an object"))
}

#[test]
fn what_is_there_at_the_beginning_comes_in_pieces_and_is_not_kept_afterwards() {
    const OBJECTS: u64 = 50;
    const BYTES: usize = 20 << 10;
    let fake = Arc::new(Fake::new());
    let objects: Vec<_> = (1..=OBJECTS).map(|at| object(at, BYTES)).collect();
    let body = begun(&fake, &objects).into_body();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let mut body = body;
    let mut frame = || {
        let runtime = runtime.as_ref().expect("a runtime");
        let frame = runtime.block_on(body.frame()).expect("one").expect("sound");
        String::from_utf8(frame.into_data().expect("data").to_vec()).expect("text")
    };
    let mut seen = Vec::new();
    while seen.len() as u64 <= OBJECTS {
        let piece = frame();
        assert!(piece.len() < PIECE_BYTES + BYTES + 1024, "{}", piece.len());
        let events = piece.lines().map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let name = event["object"]["metadata"]["name"].as_str();
            (
                event["type"].as_str().map(str::to_owned),
                name.map(str::to_owned),
            )
        });
        seen.extend(events);
    }
    let (mark, added) = seen.split_last().expect("some");
    assert_eq!(mark.0.as_deref(), Some("BOOKMARK"));
    let mut names: Vec<_> = (1..=OBJECTS).map(|at| format!("c{at}")).collect();
    names.sort_unstable();
    let added: Vec<_> = added.iter().filter_map(|(_, name)| name.clone()).collect();
    assert_eq!(added, names);
    // The watch goes on, and holds nothing of what was there.
    fake.change(|state| *state = State::new(crate::builtin_kinds()));
    assert!(objects.iter().all(|object| Arc::strong_count(object) == 1));
    drop(body);
}
