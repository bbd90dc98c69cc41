//! Large lists in every form come in pieces which together equal what a small list would be.

use super::*;
use crate::api::Api;
use crate::backend::fake::{Fake, held_elsewhere};
use crate::body::{Bodies, Unfinished};
use crate::reading::STALLED;
use bytes::Buf;
use hindsight_core::{Actor, GroupResource, ObjectKey, Revision, State};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::Semaphore;

const OBJECTS: u64 = 40;
const BYTES: usize = 20 << 10;

fn object(revision: u64) -> Arc<Object> {
    of_length(revision, BYTES)
}

fn of_length(revision: u64, bytes: usize) -> Arc<Object> {
    let name = format!("c{revision:02}");
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", &name);
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "uid": name,
            "annotations": {"k": "v".repeat(bytes)}}, "data": {"a": "1", "b": "x: [y\n"}});
    let object = Object::from_value(key, document, Revision(revision), None);
    Arc::new(object.expect("an object"))
}

fn api(objects: u64) -> (Arc<Fake>, Api) {
    let fake = Arc::new(Fake::new());
    for revision in 1..=objects {
        drop(fake.put(&object(revision)));
    }
    let api = Api::new(Arc::clone(&fake) as _, Arc::default());
    (fake, api)
}

async fn answer(api: &Api, method: Method, accept: &str, path: &str) -> Response<ApiBody> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("accept", accept);
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let administrator = Actor::new("admin");
    api.handle(request, Some(Arc::new(administrator))).await
}

async fn list(api: &Api, accept: &str, path: &str) -> ApiBody {
    let answer = answer(api, Method::GET, accept, path).await;
    assert_eq!(answer.status(), 200);
    answer.into_body()
}

/// All pieces of the answer to a request.
async fn pieces(api: &Api, accept: &str, path: &str) -> Vec<Bytes> {
    rest(&mut list(api, accept, path).await).await
}

async fn rest(body: &mut ApiBody) -> Vec<Bytes> {
    let (found, ended) = until_the_end(body).await;
    ended.expect("to its end");
    found
}

/// The frames that came, and whether that was all.
async fn until_the_end(body: &mut ApiBody) -> (Vec<Bytes>, Result<(), Unfinished>) {
    let mut found = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => found.push(frame.into_data().expect("data")),
            Err(unfinished) => return (found, Err(unfinished)),
        }
    }
    (found, Ok(()))
}

fn is_stalled(ended: &Result<(), Unfinished>) -> bool {
    matches!(ended, Err(Unfinished::Stalled))
}

fn read(accept: &str, pieces: &[Bytes]) -> Value {
    let whole: Vec<u8> = pieces.concat();
    if accept.starts_with("application/yaml") {
        let text = String::from_utf8(whole).expect("text");
        return serde_saphyr::from_str(&text).expect(&text);
    }
    serde_json::from_reader(whole.as_slice().reader()).expect("JSON")
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}

#[test]
fn a_large_list_comes_in_pieces_in_every_form() {
    const PATH: &str = "/api/v1/configmaps";
    for (view, list) in [
        ("", "items"),
        ("Table", "rows"),
        ("PartialObjectMetadataList", "items"),
    ] {
        for media in ["application/json", "application/yaml"] {
            let accept = format!("{media};as={view};g=meta.k8s.io;v=v1");
            let accept = if view.is_empty() { media } else { &accept };
            let (large, paged) = runtime().block_on(async {
                let (_, api) = api(OBJECTS);
                let paged = pieces(&api, accept, &format!("{PATH}?limit=2")).await;
                (pieces(&api, accept, PATH).await, paged)
            });
            assert!(large.len() > 3, "{accept}: {}", large.len());
            let longest = large.iter().map(Bytes::len).max().unwrap_or_default();
            assert!(longest < (64 << 10) + 2 * BYTES, "{accept}: {longest}");
            assert_eq!(paged.len(), 1, "{accept}");
            let (large, paged) = (read(accept, &large), read(accept, &paged));
            let items = large[list].as_array().expect("a list");
            assert_eq!(items.len() as u64, OBJECTS, "{accept}");
            assert_eq!(
                Some(&items[..2]),
                paged[list].as_array().map(Vec::as_slice),
                "{accept}"
            );
            assert_eq!(large["kind"], paged["kind"], "{accept}");
            let none = runtime().block_on(pieces(&api(0).1, accept, PATH));
            let empty = match view {
                "PartialObjectMetadataList" => Value::Null,
                _ => json!([]),
            };
            assert_eq!(read(accept, &none).get(list), Some(&empty), "{accept}");
        }
    }
}

#[test]
fn an_unread_list_of_the_past_gives_up_its_seat() {
    runtime().block_on(async {
        let seats = Arc::new(Semaphore::new(2));
        let (fake, api) = api(OBJECTS);
        let open = || async {
            let seat = Arc::clone(&seats).acquire_owned().await.expect("a seat");
            *fake.seat.lock().expect("a lock") = Some(Arc::new(seat));
            list(&api, "application/json", "/as-of/1/api/v1/configmaps").await
        };
        let (mut taken, mut stalled) = (open().await, open().await);
        for _ in 0..3 {
            tokio::time::sleep(STALLED / 2).await;
            taken.frame().await.expect("one").expect("a piece");
        }
        assert_eq!(seats.available_permits(), 1, "one of them is taken from");
        let (cut, ended) = until_the_end(&mut stalled).await;
        assert!(!cut.concat().ends_with(b"]}") && is_stalled(&ended));
        let whole = rest(&mut taken).await.concat();
        assert!(whole.ends_with(b"]}"));
        drop(taken);
        assert_eq!(seats.available_permits(), 2);
    });
}

#[test]
fn an_unread_list_releases_its_objects_and_ends_incomplete() {
    for (accept, path) in [
        ("application/json", "/api/v1/configmaps"),
        ("application/json", "/api/v1/configmaps?limit=39"),
        ("application/json", "/api/v1/configmaps?labelSelector=!a"),
        ("application/yaml", "/api/v1/configmaps"),
        (
            "application/json;as=Table;g=meta.k8s.io;v=v1",
            "/api/v1/configmaps?includeObject=Object",
        ),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "/api/v1/configmaps",
        ),
    ] {
        runtime().block_on(async {
            let (fake, api) = api(0);
            let objects: Vec<_> = (1..=OBJECTS).map(object).collect();
            objects.iter().for_each(|object| drop(fake.put(object)));
            let [mut begun, mut unread] = [
                list(&api, accept, path).await,
                list(&api, accept, path).await,
            ];
            begun.frame().await.expect("one").expect("a piece");
            fake.change(|state| *state = State::new(crate::builtin_kinds()));
            let kept = || held_elsewhere(&objects);
            assert!(kept() as u64 >= OBJECTS - 1, "{path}");
            tokio::time::sleep(STALLED + STALLED / 2).await;
            assert_eq!(kept(), 0, "{accept} {path}");
            for body in [&mut begun, &mut unread] {
                let (_, ended) = until_the_end(body).await;
                assert!(is_stalled(&ended), "a beginning is not taken for the whole");
            }
        });
    }
}

#[test]
fn what_was_made_of_an_object_and_not_taken_is_let_go_too() {
    runtime().block_on(async {
        let (fake, api) = api(0);
        drop(fake.put(&of_length(1, 3 << 20)));
        let mut body = list(&api, "application/json", "/api/v1/configmaps").await;
        body.frame().await.expect("one").expect("a part of it");
        tokio::time::sleep(STALLED + STALLED / 2).await;
        let (rest, ended) = until_the_end(&mut body).await;
        assert!(rest.is_empty() && is_stalled(&ended), "{}", rest.len());
    });
}

#[test]
fn a_slow_reader_gets_the_whole_list() {
    const LARGE: usize = 3 << 20;
    const BYTES_PER_SECOND: usize = 20 << 10;
    runtime().block_on(async {
        let (fake, api) = api(0);
        (1..=3).for_each(|at| drop(fake.put(&of_length(at, LARGE))));
        let mut body = list(&api, "application/json", "/api/v1/configmaps").await;
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let piece = frame.expect("sound").into_data().expect("data");
            let seconds = piece.len().div_ceil(BYTES_PER_SECOND) as u64;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            whole.extend_from_slice(&piece);
        }
        let list: Value = serde_json::from_slice(&whole).expect("JSON");
        assert_eq!(list["items"].as_array().map(Vec::len), Some(3));
    });
}

/// The first page is too short to need room.
#[test]
fn lists_that_are_complete_at_once_keep_their_room_until_they_are_sent_and_the_others_come_in_pieces()
 {
    const LISTS: usize = 20;
    const ROOM: u64 = 3 << 20;
    const PATH: &str = "/api/v1/configmaps";
    runtime().block_on(async {
        let (_, api) = api(10);
        let api = api.with_bodies(Bodies::bounded(0, Duration::from_secs(30)));
        let open = async |path| list(&api, "application/json", path).await;
        let mut unread = Vec::new();
        for _ in 0..LISTS {
            unread.push(open(PATH).await);
        }
        let in_pieces = unread.iter().position(|body| body.whole_bytes().is_none());
        let mut in_pieces = unread.split_off(in_pieces.expect("there is no room for all"));
        let kept: u64 = unread.iter().filter_map(ApiBody::whole_bytes).sum();
        assert!((ROOM / 2..=ROOM).contains(&kept), "{kept}");
        assert!(in_pieces.iter().all(|body| body.whole_bytes().is_none()));
        assert!(
            open("/api/v1/configmaps?limit=2")
                .await
                .whole_bytes()
                .is_some()
        );
        let [mut one, mut other] = [unread.pop(), in_pieces.pop()].map(|body| body.expect("some"));
        assert_eq!(
            rest(&mut one).await.concat(),
            rest(&mut other).await.concat()
        );
        drop((one, unread.pop()));
        assert!(open(PATH).await.whole_bytes().is_some());
    });
}

/// An object of some 11 KiB that has about 1 MiB as YAML, nearly all of it indentation.
fn deep(revision: u64) -> Arc<Object> {
    let mut document = of_length(revision, 0).document();
    document["data"] = (0..100).fold(json!(vec![1; 5_000]), |inner, _| json!({"a": inner}));
    let key = of_length(revision, 0).key.clone();
    let object = Object::from_value(key, document, Revision(revision), None);
    Arc::new(object.expect("an object"))
}

/// The room is 3 MiB, and the long object has about 1 MiB in the form that is asked for. The two before it need no room.
#[test]
fn long_items_of_lists_that_are_not_read_leave_no_room_for_more_of_them() {
    const ALL: &str = "/api/v1/namespaces/default/configmaps";
    const LONG: &str = "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name=c03";
    for (accept, long) in [
        ("application/yaml", deep(3)),
        ("application/json", of_length(3, 1 << 20)),
    ] {
        runtime().block_on(async {
            let (fake, api) = api(0);
            for object in [of_length(1, 200 << 10), of_length(2, 200 << 10), long] {
                drop(fake.put(&object));
            }
            let api = api.with_bodies(Bodies::bounded(0, Duration::from_secs(30)));
            let open = async || answer(&api, Method::GET, accept, LONG).await;
            let mut unread = Vec::new();
            let refused = loop {
                let answer = open().await;
                if answer.status() != 200 {
                    break answer;
                }
                unread.push(answer.into_body());
                assert!(unread.len() < 10, "{accept}: nothing bounds them");
            };
            assert_eq!(refused.status(), 429, "{accept}");
            assert!(refused.headers().contains_key("retry-after"), "{accept}");
            assert!(unread.len() > 1, "{accept}: {}", unread.len());
            // This one has begun when it comes to the long item.
            let mut begun = list(&api, accept, ALL).await;
            let (cut, ended) = until_the_end(&mut begun).await;
            let why = ended.expect_err("it was cut off").to_string();
            assert!(
                !cut.is_empty() && why.contains("try again in a second"),
                "{accept}: {why}"
            );
            let taken = rest(&mut unread.pop().expect("one")).await;
            assert!(taken.concat().len() > 900 << 10, "{accept}");
            assert_eq!(names_in(&taken), ["c03"]);
            let all = rest(&mut list(&api, accept, ALL).await).await;
            assert_eq!(names_in(&all), ["c01", "c02", "c03"]);
            unread.push(open().await.into_body());
            assert_eq!(open().await.status(), 429, "{accept}");
            // What is carried out is not to be tried again.
            let deleted = answer(&api, Method::DELETE, accept, LONG).await;
            assert_eq!(deleted.status(), 200, "{accept}");
            let status = rest(&mut deleted.into_body()).await;
            assert_eq!(read("application/json", &status)["status"], "Success");
            let left = rest(&mut list(&api, accept, ALL).await).await;
            assert_eq!(names_in(&left), ["c01", "c02"]);
        });
    }
}

fn names_in(pieces: &[Bytes]) -> Vec<&'static str> {
    let text = String::from_utf8(pieces.concat()).expect("text");
    let is_in = |name: &&str| {
        let written = [format!("\"name\":\"{name}\""), format!("name: {name}\n")];
        written.iter().any(|written| text.contains(written))
    };
    ["c01", "c02", "c03"].into_iter().filter(is_in).collect()
}
