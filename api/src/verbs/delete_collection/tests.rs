//! Deletions of collections, over an engine in which others write meanwhile.

use super::{BATCH_BYTES_MAX, BATCH_ITEMS_MAX, DECISION_BYTES, batches};
use crate::admission::Admission;
use crate::api::Api;
use crate::backend::Backend;
use crate::backend::fake::{Fake, beside};
use crate::pace::READ_BYTES;
use crate::testing::runtime;
use hindsight_core::command::{Create, Delete, FieldValidation, Target};
use hindsight_core::{
    Actor, Command, GroupResource, Intent, Object, ObjectKey, Revision, Rule, Time, Unavailable,
};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::oneshot;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn actor() -> Arc<Actor> {
    Arc::new(Actor::new("admin"))
}

/// The same intent with another seed gives another UID.
fn command(intent: Intent, seed: u8) -> Command {
    Command::new(actor(), Time(0), [seed; 16], intent)
}

fn key(resource: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", resource), namespace, name)
}

fn create(resource: &str, namespace: &str, name: &str, seed: u8) -> Command {
    let intent = Intent::Create(Create {
        key: key(resource, namespace, ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}}),
        validation: FieldValidation::Warn,
    });
    let mut created = command(intent, seed);
    let letters = created.seed.iter_mut().zip(name.bytes());
    letters.for_each(|(byte, letter)| *byte = letter);
    created
}

fn delete(name: &str) -> Command {
    let target = Target::any(key("configmaps", "default", name));
    let intent = Intent::Delete(Delete::new(target, "v1".into(), Rule::Requested));
    command(intent, 0)
}

fn with_maps(names: &[String]) -> Arc<Fake> {
    let fake = Fake::new();
    let namespace = create("namespaces", "", "default", 0);
    fake.carry_out(namespace).expect("created");
    for name in names {
        let map = create("configmaps", "default", name, 1);
        fake.carry_out(map).expect("created");
    }
    Arc::new(fake)
}

/// Deletes all ConfigMaps with these options; returns the code.
fn clear(fake: &Arc<Fake>, options: &Value) -> u16 {
    clear_beside(fake, options).0
}

/// Also returns how often other tasks had their turn meanwhile.
fn clear_beside(fake: &Arc<Fake>, options: &Value) -> (u16, u32) {
    let api = Api::new(Arc::clone(fake) as _, Arc::new(Admission::default()));
    let body = Full::from(options.to_string());
    let request = Request::delete(MAPS).body(body).expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let asks = async { api.handle(request, Some(actor())).await.status().as_u16() };
    runtime.expect("a runtime").block_on(beside(asks))
}

#[test]
fn others_have_their_turn_while_a_dry_run_decides_everything() {
    let names: Vec<String> = (0..BATCH_ITEMS_MAX).map(|one| format!("a{one}")).collect();
    let fake = with_maps(&names);
    let (code, turns) = clear_beside(&fake, &json!({"dryRun": ["All"]}));
    assert_eq!(code, 200);
    let least = BATCH_ITEMS_MAX * DECISION_BYTES / READ_BYTES;
    let least = u32::try_from(least).expect("some dozen");
    assert!(turns >= least, "{turns} of {least}");
    assert!(fake.submitted.lock().expect("a lock").is_empty());
}

#[test]
fn others_are_decided_between_the_batches_of_a_collection() {
    let names: Vec<String> = (0..=BATCH_ITEMS_MAX).map(|one| format!("a{one}")).collect();
    let fake = with_maps(&names);
    assert_eq!(clear(&fake, &json!({})), 200);
    let submitted = fake.submitted.lock().expect("a lock").clone();
    assert_eq!(submitted, [BATCH_ITEMS_MAX, 1]);
}

#[test]
fn large_objects_of_a_collection_are_decided_in_smaller_batches() {
    let fake = with_maps(&["a0".to_owned()]);
    let state = fake.state();
    let small = state.get(&key("configmaps", "default", "a0"));
    let small = small.expect("created");
    let large = Arc::new(Object {
        body: vec![b'v'; BATCH_BYTES_MAX - 1].into(),
        ..Object::clone(small)
    });
    let items = [small, &large, small, small, &large, &large, &large].map(Arc::clone);
    let batches: Vec<usize> = batches(&items).map(<[_]>::len).collect();
    assert_eq!(batches, [2, 3, 2]);
}

#[test]
fn whoever_hangs_up_submits_no_further_batch() {
    let names: Vec<String> = (0..=BATCH_ITEMS_MAX).map(|one| format!("a{one}")).collect();
    let fake = with_maps(&names);
    let (answer, is_durable) = oneshot::channel();
    *fake.slow.lock().expect("a lock") = Some(is_durable);
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let request = Request::delete(MAPS).body(Full::from("{}"));
    let request = request.expect("a request");
    let mut asks = Box::pin(api.handle(request, Some(actor())));
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        let submits = async {
            while fake.submitted.lock().expect("a lock").is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            response = &mut asks => panic!("{}", response.status()),
            () = submits => drop(asks),
        }
        answer.send(()).expect_err("nobody waits for it");
    });
    let submitted = fake.submitted.lock().expect("a lock").clone();
    assert_eq!(submitted, [BATCH_ITEMS_MAX]);
}

#[test]
fn what_goes_between_listing_and_deciding_is_no_error_and_what_comes_back_is_not_hit() {
    let gone = || delete("a");
    let comes_back = || create("configmaps", "default", "a", 2);
    let cases = [(vec![gone()], false), (vec![gone(), comes_back()], true)];
    for (meanwhile, is_left) in cases {
        let fake = with_maps(&["a".into(), "b".into()]);
        *fake.meanwhile.lock().expect("a lock") = meanwhile;
        assert_eq!(clear(&fake, &json!({})), 200);
        let state = fake.state();
        let left = |name| state.get(&key("configmaps", "default", name)).is_some();
        assert_eq!((left("a"), left("b")), (is_left, false));
    }
}

/// Otherwise a client would delete again by itself, and then what was made since.
#[test]
fn nobody_is_told_to_try_again_once_a_part_of_a_collection_went() {
    let names: Vec<String> = (0..=BATCH_ITEMS_MAX).map(|one| format!("a{one}")).collect();
    let by_another = names.iter().map(|name| delete(name)).collect();
    let (none, other) = (json!({}), json!({"preconditions": {"uid": "other"}}));
    let part = "a part of it was carried out";
    for (most, why, meanwhile, options, code, said) in [
        (0, Unavailable::Overloaded, vec![], &none, 429, "try again"),
        (1, Unavailable::Overloaded, vec![], &none, 500, part),
        (1, Unavailable::Stopping, vec![], &none, 500, part),
        (1, Unavailable::Full, vec![], &none, 507, part),
        (0, Unavailable::Full, vec![], &none, 507, "the disk is full"),
        (2, Unavailable::Overloaded, vec![], &none, 200, ""),
        // Of the first batch nothing went.
        (1, Unavailable::Overloaded, vec![], &other, 409, "other"),
        (
            1,
            Unavailable::Overloaded,
            by_another,
            &none,
            429,
            "try again",
        ),
    ] {
        let fake = with_maps(&names);
        *fake.refused_after.lock().expect("a lock") = Some((most, why.clone()));
        *fake.meanwhile.lock().expect("a lock") = meanwhile;
        let (answered, again, status) = clear_in_words(&fake, options);
        let case = format!("{most} {why:?} {options} {status}");
        assert_eq!((answered, again.is_some()), (code, code == 429), "{case}");
        let told = status["message"].as_str().unwrap_or_default();
        assert!(told.contains(said), "{case}");
        let is_part = said == part;
        assert_eq!(told.contains(part), is_part, "{case}");
        assert!(!is_part || !told.contains("try again"), "{case}");
    }
}

/// Also returns what is said of trying again, and the answer.
fn clear_in_words(fake: &Arc<Fake>, options: &Value) -> (u16, Option<u64>, Value) {
    let api = Api::new(Arc::clone(fake) as _, Arc::new(Admission::default()));
    let body = Full::from(options.to_string());
    let request = Request::delete(MAPS).body(body).expect("a request");
    runtime().block_on(async {
        let answer = api.handle(request, Some(actor())).await;
        let code = answer.status().as_u16();
        let header = answer.headers().contains_key("retry-after");
        let body = answer.into_body().collect().await.expect("to its end");
        let status: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        let again = status["details"]["retryAfterSeconds"].as_u64();
        assert_eq!(again.is_some(), header, "{status}");
        (code, again, status)
    })
}

#[test]
fn a_uid_that_was_asked_for_is_held_against_every_item() {
    let fake = with_maps(&["a".into()]);
    let options = json!({"preconditions": {"uid": "other"}});
    assert_eq!(clear(&fake, &options), 409);
}

/// Puts a ConfigMap of some 200 KB that has more than 16 MiB as YAML, nearly all of it indentation.
fn put_deep(fake: &Fake, name: &str, revision: u64) {
    let data = (0..100).fold(json!(vec![1; 100_000]), |inner, _| json!({"a": inner}));
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": "default", "uid": name}});
    let key = key("configmaps", "default", name);
    let object = Object::from_value(key, document, Revision(revision), None);
    drop(fake.put(&Arc::new(object.expect("an object"))));
}

/// Deletes what this query selects, and asks for YAML; returns the code and the answer, which is not YAML.
fn clear_as_yaml(fake: &Arc<Fake>, query: &str) -> (u16, Value) {
    let api = Api::new(Arc::clone(fake) as _, Arc::new(Admission::default()));
    let request = Request::delete(format!("{MAPS}?{query}")).header("accept", "application/yaml");
    let request = request.body(Full::from("")).expect("a request");
    runtime().block_on(async {
        let answer = api.handle(request, Some(actor())).await;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("to its end");
        let answer = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        (code, answer)
    })
}

/// A client that is refused would delete again, and then what was made since.
#[test]
fn a_collection_that_went_is_not_refused_because_it_is_too_long_as_yaml() {
    let fake = with_maps(&["a".into()]);
    put_deep(&fake, "b", 10);
    let left = |name| {
        fake.state()
            .get(&key("configmaps", "default", name))
            .is_some()
    };
    let query = "fieldSelector=metadata.name=b";
    let (code, refused) = clear_as_yaml(&fake, &format!("{query}&dryRun=All"));
    assert_eq!((code, left("b")), (406, true), "{refused}");
    let (code, status) = clear_as_yaml(&fake, query);
    assert_eq!((code, left("a"), left("b")), (200, true, false));
    assert_eq!(
        (&status["kind"], &status["status"]),
        (&json!("Status"), &json!("Success"))
    );
}

/// A list that has begun could not be taken back once its second item is found to be too long.
#[test]
fn of_a_collection_that_went_no_list_is_begun_that_may_break_off() {
    let fake = with_maps(&[]);
    let flat = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "x".repeat(300 << 10)},
        "metadata": {"name": "a", "namespace": "default", "uid": "a"}});
    let object = Object::from_value(key("configmaps", "default", "a"), flat, Revision(9), None);
    drop(fake.put(&Arc::new(object.expect("an object"))));
    put_deep(&fake, "b", 10);
    let (code, status) = clear_as_yaml(&fake, "");
    assert_eq!(
        (code, &status["status"]),
        (200, &json!("Success")),
        "{status}"
    );
    let left = fake.state();
    assert!(left.get(&key("configmaps", "default", "a")).is_none());
}

/// What tells where the rest begins must not go with the list that cannot be shown.
#[test]
fn a_page_that_went_and_cannot_be_shown_says_where_the_rest_begins() {
    let fake = with_maps(&[]);
    put_deep(&fake, "a", 10);
    put_deep(&fake, "b", 11);
    let left = || {
        ["a", "b"].map(|name| {
            fake.state()
                .get(&key("configmaps", "default", name))
                .is_some()
        })
    };
    let (code, status) = clear_as_yaml(&fake, "limit=1");
    assert_eq!((code, left()), (200, [false, true]));
    assert_eq!(status["status"], "Success", "{status}");
    let metadata = &status["metadata"];
    let token = metadata["continue"].as_str().expect("a token");
    let expected = json!({"resourceVersion": "11", "continue": token, "remainingItemCount": 1});
    assert_eq!(metadata, &expected);
    let (code, status) = clear_as_yaml(&fake, &format!("limit=1&continue={token}"));
    assert_eq!((code, left()), (200, [false, false]), "{status}");
    assert_eq!(status["metadata"].get("continue"), None, "{status}");
}
