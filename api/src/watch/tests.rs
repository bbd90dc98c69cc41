//! A single watch, over an engine that the test moves.

mod behind;
mod ending;
mod head;
mod returning;
mod waking;

use crate::admission::Admission;
use crate::api::Api;
use crate::backend::Backend;
use crate::backend::fake::{Fake, held_elsewhere};
use crate::body::ApiBody;
use crate::reading::STALLED;
use bytes::Bytes;
use futures_util::future::join_all;
use hindsight_core::{Actor, GroupResource, Object, ObjectKey, Revision, State, Time};
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::Instant;

fn administrator() -> Actor {
    Actor::new("admin")
}

/// A runtime in which time stands still until nothing else is left to do.
fn paused() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}

fn get(path: &str) -> Request<Full<Bytes>> {
    let request = Request::get(path).body(Full::default());
    request.expect("a request")
}

#[test]
fn a_bookmark_says_how_far_its_own_stream_is() {
    let fake = Arc::new(Fake::new());
    fake.move_to(Revision(5));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=5";
    let frame = paused().block_on(async {
        let mut body = api.handle(get(path), Some(Arc::new(administrator()))).await;
        // The state is ahead, and its changes have not reached this watch.
        fake.move_to(Revision(9));
        body.body_mut().frame().await.expect("a bookmark")
    });
    let bytes = frame.expect("sound").into_data().expect("data");
    let event: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(event["type"], "BOOKMARK");
    assert_eq!(event["object"]["metadata"]["resourceVersion"], "5");
}

#[test]
fn a_bookmark_says_nothing_but_its_kind_and_its_position() {
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    for (accept, api_version, kind) in [
        ("application/json", "v1", "ConfigMap"),
        (partial, "meta.k8s.io/v1", "PartialObjectMetadata"),
    ] {
        let mut request = get("/api/v1/configmaps?watch=1&allowWatchBookmarks=true\
            &sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
        let accepted = header::HeaderValue::from_static(accept);
        request.headers_mut().insert(header::ACCEPT, accepted);
        let frame = paused().block_on(async {
            let answer = api.handle(request, Some(Arc::new(administrator()))).await;
            answer.into_body().frame().await.expect("a bookmark")
        });
        let bytes = frame.expect("sound").into_data().expect("data");
        let event: Value = serde_json::from_slice(&bytes).expect("JSON");
        let metadata = json!({"resourceVersion": fake.state().revision.to_string(),
            "annotations": {"k8s.io/initial-events-end": "true"}});
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        assert_eq!(event, json!({"type": "BOOKMARK", "object": object}));
    }
}

/// A watch without a position, over these configmaps.
fn begun(fake: &Arc<Fake>, objects: &[Arc<Object>]) -> Response<ApiBody> {
    for object in objects {
        drop(fake.put(object));
    }
    let api = Api::new(Arc::clone(fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
        &resourceVersionMatch=NotOlderThan";
    paused().block_on(api.handle(get(path), Some(Arc::new(administrator()))))
}

fn object(revision: u64, bytes: usize) -> Arc<Object> {
    let name = format!("c{revision}");
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", &name);
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "uid": format!("{revision}"),
            "resourceVersion": revision.to_string(), "creationTimestamp": "1970-01-01T00:00:00Z"},
        "data": {"k": "v".repeat(bytes)}});
    let object = Object::from_value(key, document, Revision(revision), None);
    Arc::new(object.expect("an object"))
}

#[test]
fn initial_events_come_in_pieces_and_are_not_kept_afterwards() {
    const OBJECTS: u64 = 50;
    const BYTES: usize = 20 << 10;
    let fake = Arc::new(Fake::new());
    let objects: Vec<_> = (1..=OBJECTS).map(|at| object(at, BYTES)).collect();
    let mut body = begun(&fake, &objects).into_body();
    let runtime = paused();
    let mut frame = || {
        let frame = runtime.block_on(body.frame()).expect("one").expect("sound");
        String::from_utf8(frame.into_data().expect("data").to_vec()).expect("text")
    };
    let mut seen = Vec::new();
    while seen.len() as u64 <= OBJECTS {
        let piece = frame();
        assert!(piece.len() < (64 << 10) + BYTES + 1024, "{}", piece.len());
        let events = piece.lines().map(|line| {
            let event: Value = serde_json::from_str(line).expect("JSON");
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
    // The watch goes on, and holds none of the initial objects.
    fake.change(|state| *state = State::new(crate::builtin_kinds()));
    assert!(objects.iter().all(|object| Arc::strong_count(object) == 1));
    drop(body);
}

const FROM_NOWHERE: [&str; 2] = [
    "/api/v1/configmaps?watch=1",
    "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
        &resourceVersionMatch=NotOlderThan",
];

#[test]
fn initial_events_that_are_not_read_are_released() {
    const OBJECTS: u64 = 50;
    for path in FROM_NOWHERE {
        let fake = Arc::new(Fake::new());
        let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
        let objects: Vec<_> = (1..=OBJECTS).map(|at| object(at, 20 << 10)).collect();
        objects.iter().for_each(|object| drop(fake.put(object)));
        paused().block_on(async {
            let open = || api.handle(get(path), Some(Arc::new(administrator())));
            let [mut begun, mut unread] = [open().await, open().await].map(Response::into_body);
            first_frame(&mut begun).await;
            fake.change(|state| *state = State::new(crate::builtin_kinds()));
            let kept = || held_elsewhere(&objects);
            assert_eq!(kept() as u64, OBJECTS);
            tokio::time::sleep(STALLED + STALLED / 2).await;
            assert_eq!(kept(), 0, "{path}");
            for body in [&mut begun, &mut unread] {
                let last = first_frame(body).await;
                assert!(last.contains("ERROR") && last.contains("410"), "{last}");
                assert!(body.frame().await.is_none());
            }
        });
    }
}

#[test]
fn a_slow_reader_gets_all_initial_events() {
    const BYTES_PER_SECOND: usize = 20 << 10;
    let fake = Arc::new(Fake::new());
    (1..=3).for_each(|at| drop(fake.put(&object(at, 3 << 20))));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = format!("{}&timeoutSeconds=99999", FROM_NOWHERE[0]);
    paused().block_on(async {
        let answer = api
            .handle(get(&path), Some(Arc::new(administrator())))
            .await;
        let (mut body, mut seen) = (answer.into_body(), String::new());
        while seen.lines().count() < 3 || !seen.ends_with('\n') {
            let piece = first_frame(&mut body).await;
            let seconds = piece.len().div_ceil(BYTES_PER_SECOND) as u64;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            seen.push_str(&piece);
        }
        assert!(seen.lines().all(|event| event.contains("ADDED")));
    });
}

#[test]
fn a_watch_of_any_length_begins() {
    let fake = Arc::new(Fake::new());
    let api = Api::new(fake as _, Arc::new(Admission::default()));
    for seconds in [0, 1, i64::MAX / 1_000_000_000, i64::MAX] {
        let path = format!(
            "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&timeoutSeconds={seconds}"
        );
        let frame = paused().block_on(async {
            let mut answer = api
                .handle(get(&path), Some(Arc::new(administrator())))
                .await;
            answer.body_mut().frame().await
        });
        let bytes = frame.expect("a mark").expect("sound").into_data();
        let mark = String::from_utf8(bytes.expect("data").to_vec()).expect("text");
        assert!(mark.contains("BOOKMARK"), "{seconds}: {mark}");
    }
}

async fn first_frame(body: &mut ApiBody) -> String {
    let frame = body.frame().await.expect("one").expect("sound");
    String::from_utf8(frame.into_data().expect("data").to_vec()).expect("text")
}

/// So many objects of this size, all of them before the window.
fn behind_the_window(objects: u64, bytes: usize) -> (Arc<Fake>, Api) {
    let fake = Arc::new(Fake::new());
    for revision in 1..=objects {
        fake.put_before_the_window(&object(revision, bytes));
    }
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    (fake, api)
}

#[test]
fn a_bookmark_says_nothing_of_what_has_not_happened() {
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&timeoutSeconds=100\
        &resourceVersion=18446744073709551615";
    paused().block_on(async {
        let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
        assert!(answer.into_body().frame().await.is_none());
    });
}

/// The code, and the events until the stream ends or nothing more comes for an hour.
async fn events(api: &Api, path: &str) -> (u16, Vec<Value>) {
    let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
    let code = answer.status().as_u16();
    let (mut body, mut bytes) = (answer.into_body(), Vec::new());
    let hour = Duration::from_hours(1);
    while let Ok(Some(frame)) = tokio::time::timeout(hour, body.frame()).await {
        bytes.extend(frame.expect("sound").into_data().expect("data"));
    }
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let read = |line: &[u8]| serde_json::from_slice(line).expect("JSON");
    (code, lines.map(read).collect())
}

fn types(events: &[Value]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str());
    types.map(Option::unwrap_or_default).collect()
}

#[test]
fn the_end_of_initial_events_is_marked_if_bookmarks_were_requested() {
    const MARK: &str = "/object/metadata/annotations/k8s.io~1initial-events-end";
    let fake = Arc::new(Fake::new());
    drop(fake.put(&object(1, 1)));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&timeoutSeconds=1";
    for (query, expected) in [
        (
            "&allowWatchBookmarks=true",
            ["ADDED", "BOOKMARK"].as_slice(),
        ),
        (
            "&allowWatchBookmarks=true&resourceVersion=0",
            &["ADDED", "BOOKMARK"],
        ),
        ("&allowWatchBookmarks=true&resourceVersion=1", &[]),
        ("", &["ADDED"]),
    ] {
        let (code, events) = paused().block_on(events(&api, &format!("{path}{query}")));
        assert_eq!(
            (code, types(&events).as_slice()),
            (200, expected),
            "{query}"
        );
        let marks = events.iter().filter(|one| one.pointer(MARK).is_some());
        assert_eq!(marks.count(), expected.len().saturating_sub(1), "{query}");
    }
    let from_nowhere = format!("{path}&continue=abc");
    let (code, _) = paused().block_on(events(&api, &from_nowhere));
    assert_eq!(code, 422, "what it begins with is said for it");
    let from_somewhere = format!("{path}&continue=abc&resourceVersion=1");
    let (code, _) = paused().block_on(events(&api, &from_somewhere));
    assert_eq!(code, 200);
}

#[test]
fn a_last_bookmark_comes_before_the_end() {
    let fake = Arc::new(Fake::new());
    fake.move_to(Revision(5));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=5";
    for (seconds, expected) in [(1, 0), (30, 1), (61, 1), (63, 2), (125, 3)] {
        let path = format!("{path}&timeoutSeconds={seconds}");
        let (_, events) = paused().block_on(events(&api, &path));
        assert_eq!(types(&events), vec!["BOOKMARK"; expected], "{seconds}");
    }
}

#[test]
fn a_watch_that_is_to_last_less_than_nothing_is_over() {
    let fake = Arc::new(Fake::new());
    drop(fake.put(&object(1, 1)));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    for seconds in [-1, i64::MIN] {
        let path = format!("/api/v1/configmaps?watch=1&timeoutSeconds={seconds}");
        let (code, events) = paused().block_on(async {
            let begun = Instant::now();
            let answer = events(&api, &path).await;
            assert_eq!(begun.elapsed(), Duration::ZERO);
            answer
        });
        assert_eq!((code, events.len()), (200, 0));
    }
}

#[test]
fn below_the_old_path_things_are_watched_and_nothing_else() {
    let fake = Arc::new(Fake::new());
    for revision in 1..=2 {
        drop(fake.put(&object(revision, 1)));
    }
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let named = "/api/v1/watch/namespaces/default/configmaps/c1";
    let before = fake.state();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        for path in [named, "/api/v1/watch/namespaces/default/configmaps"] {
            let request = Request::builder().method(method).uri(path);
            let request = request.body(Full::<Bytes>::default()).expect("a request");
            let asked = api.handle(request, Some(Arc::new(administrator())));
            let answer = paused().block_on(asked);
            assert_eq!(answer.status(), 405, "{method} {path}");
        }
    }
    assert!(before.is_same(&fake.state()));
    let watched = |query: &str| {
        let path = format!("{named}?timeoutSeconds=1{query}");
        paused().block_on(events(&api, &path))
    };
    for query in ["", "&fieldSelector=metadata.name=c1"] {
        let (code, seen) = watched(query);
        assert_eq!((code, types(&seen)), (200, vec!["ADDED"]), "{query}");
        assert_eq!(seen[0]["object"]["metadata"]["name"], "c1");
    }
    for query in [
        "&fieldSelector=metadata.name=c2",
        "&fieldSelector=metadata.name!=c2",
    ] {
        assert_eq!(watched(query).0, 400, "{query}");
    }
    let below = format!("{named}/status?timeoutSeconds=1");
    assert_eq!(paused().block_on(events(&api, &below)).0, 404);
}

#[test]
fn the_rows_of_a_watched_table_are_as_old_as_they_are_then() {
    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true";
    let mut request = get(path);
    let accept = http::HeaderValue::from_static(TABLE);
    request.headers_mut().insert(header::ACCEPT, accept);
    let (mark, row) = paused().block_on(async {
        let answer = api.handle(request, Some(Arc::new(administrator()))).await;
        let mut body = answer.into_body();
        let mark = first_frame(&mut body).await;
        *fake.clock.lock().expect("a lock") = Time(90_000_000);
        fake.happens(&object(1, 1));
        (mark, first_frame(&mut body).await)
    });
    let mark: Value = serde_json::from_str(&mark).expect("JSON");
    assert_eq!(mark["object"]["columnDefinitions"][0]["name"], "Name");
    let annotated = "/object/rows/0/object/metadata/annotations/k8s.io~1initial-events-end";
    assert_eq!(mark.pointer(annotated), Some(&"true".into()), "{mark}");
    assert_eq!(mark["object"]["rows"][0]["cells"], json!(["", "", ""]));
    let row: Value = serde_json::from_str(&row).expect("JSON");
    assert_eq!(row["object"]["columnDefinitions"], Value::Null);
    assert_eq!(row["object"]["metadata"]["resourceVersion"], "1");
    assert_eq!(
        row["object"]["rows"][0]["cells"],
        json!(["c1", 1, "90s"]),
        "{row}"
    );
}
