//! Lists and watches that read every object, while other tasks want their turn.

use super::{LOOK_BYTES, READ_BYTES};
use crate::api::Api;
use crate::backend::fake::{Fake, beside};
use bytes::Bytes;
use hindsight_core::{Actor, GroupResource, Object, ObjectKey, Revision};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::json;
use std::sync::Arc;

const OBJECTS: u32 = 60;
const BYTES: usize = 50 << 10;
/// How many objects are read before others have their turn.
const EACH_TURN: u32 = 6;

/// A pod; the last one is running.
fn pod(revision: u32) -> Arc<Object> {
    of_length(revision, BYTES)
}

fn of_length(revision: u32, bytes: usize) -> Arc<Object> {
    let phase = if revision == OBJECTS {
        "Running"
    } else {
        "Pending"
    };
    let name = format!("p{revision:02}");
    let key = ObjectKey::new(GroupResource::new("", "pods"), "default", &name);
    let document = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"phase": phase},
            "annotations": {"k": "v".repeat(bytes)}}, "status": {"phase": phase}});
    let object = Object::from_value(key, document, Revision(revision.into()), None);
    Arc::new(object.expect("an object"))
}

/// How often other tasks had their turn before anything was answered.
async fn turns(api: &Api, path: &str) -> u32 {
    let request = Request::get(path).body(Full::<Bytes>::default());
    let administrator = Some(Arc::new(Actor::new("admin")));
    let asks = async {
        let answer = api.handle(request.expect("a request"), administrator).await;
        assert_eq!(answer.status(), 200);
        let frame = answer.into_body().frame().await.expect("one");
        frame.expect("sound").into_data().expect("data")
    };
    let (body, turns) = Box::pin(beside(asks)).await;
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains("p60") && !text.contains("p59"), "{text}");
    turns
}

#[test]
fn others_have_their_turn_while_every_object_is_read_and_one_is_selected() {
    const ONE: &str = "fieldSelector=status.phase=Running";
    let watch = format!("watch=1&{ONE}");
    for (is_behind, query) in [
        (false, ONE.to_owned()),
        (false, format!("limit=5&{ONE}")),
        (false, watch.clone()),
        (true, format!("resourceVersion=1&{watch}")),
    ] {
        let fake = Arc::new(Fake::new());
        for revision in 1..=OBJECTS {
            if is_behind {
                fake.put_before_the_window(&pod(revision));
            } else {
                drop(fake.put(&pod(revision)));
            }
        }
        let api = Api::new(Arc::clone(&fake) as _, Arc::default());
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        assert_eq!(READ_BYTES.div_ceil(BYTES), EACH_TURN as usize);
        let path = format!("/api/v1/pods?{query}");
        let turns = runtime.expect("a runtime").block_on(turns(&api, &path));
        let least = (OBJECTS - 1) / EACH_TURN;
        assert!(turns >= least, "{query}: {turns} of {least}");
    }
}

#[test]
fn others_have_their_turn_while_much_is_asked_of_every_object() {
    const REQUIREMENTS: usize = 1_000;
    let many = |one: &str, last: &str| {
        let others = (1..REQUIREMENTS).map(|at| format!("{one}!=v{at}"));
        let all: Vec<_> = others.chain([last.to_owned()]).collect();
        all.join(",")
    };
    let labels = format!("labelSelector={}", many("phase", "phase=Running"));
    let fields = format!(
        "fieldSelector={}",
        many("metadata.name", "metadata.name=p60")
    );
    let each_turn = READ_BYTES.div_ceil(REQUIREMENTS * LOOK_BYTES);
    let least = (OBJECTS as usize - 1) / each_turn;
    for (is_behind, query) in [
        (false, labels.clone()),
        (false, fields),
        (false, format!("watch=1&{labels}")),
        (true, format!("resourceVersion=1&watch=1&{labels}")),
    ] {
        let fake = Arc::new(Fake::new());
        for revision in 1..=OBJECTS {
            if is_behind {
                fake.put_before_the_window(&of_length(revision, 1));
            } else {
                drop(fake.put(&of_length(revision, 1)));
            }
        }
        let api = Api::new(Arc::clone(&fake) as _, Arc::default());
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let path = format!("/api/v1/pods?{query}");
        let turns = runtime.expect("a runtime").block_on(turns(&api, &path));
        assert!(turns as usize >= least, "{query:.60}: {turns} of {least}");
    }
}
