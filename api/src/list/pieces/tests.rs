//! Large lists in every form come in pieces which together equal what a small list would be.

use super::*;
use crate::backend::fake::{Fake, held_elsewhere};
use crate::body::{Bodies, Unfinished};
use crate::handler::Api;
use crate::lease::STALLED;
use bytes::Buf;
use hindsight_core::{Actor, GroupResource, ObjectKey, Revision, State};
use http::Request;
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

async fn list(api: &Api, accept: &str, path: &str) -> ApiBody {
    let request = Request::get(path).header("accept", accept);
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let administrator = Actor::new("admin");
    let answer = api.handle(request, Some(Arc::new(administrator))).await;
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
fn an_unread_list_of_the_past_gives_up_its_place() {
    runtime().block_on(async {
        let seats = Arc::new(Semaphore::new(2));
        let (fake, api) = api(OBJECTS);
        let open = || async {
            let seat = Arc::clone(&seats).acquire_owned().await.expect("a seat");
            *fake.permit.lock().expect("a lock") = Some(Arc::new(seat));
            list(&api, "application/json", "/as-of/1/api/v1/configmaps").await
        };
        let (mut taken, mut stalled) = (open().await, open().await);
        for _ in 0..3 {
            tokio::time::sleep(STALLED / 2).await;
            taken.frame().await.expect("one").expect("a piece");
        }
        assert_eq!(seats.available_permits(), 1, "one of them is taken from");
        let (cut, ended) = until_the_end(&mut stalled).await;
        assert!(!cut.concat().ends_with(b"]}") && ended.is_err());
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
                assert!(ended.is_err(), "a beginning is not taken for the whole");
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
        assert!(rest.is_empty() && ended.is_err(), "{}", rest.len());
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
