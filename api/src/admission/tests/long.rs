//! Long requests about which webhooks are asked.

use super::*;
use crate::admission::carry_out::carry_out;
use crate::admission::write::Write;
use crate::admission::{WriteRequest, admit_and_carry_out, capped_deadline};
use crate::offload::LONG_BYTES;
use crate::params::WriteOptions;
use crate::testing::runtime;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

/// A write of this length.
fn write<'a>(
    scene: &'a Scene,
    admission: &'a Admission,
    write_request: &'a WriteRequest,
    bytes: usize,
) -> Write<'a> {
    Write {
        backend: &*scene.fake,
        admission,
        write_request,
        bytes,
        bodies: None,
        deadline: capped_deadline(None),
    }
}

/// In which polls of a request of this length two webhooks are asked, of which the first answers this: what is decided on
/// another thread is waited for.
fn asked_at(bytes: usize, first: Value) -> Vec<usize> {
    let (polls, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(vec![])));
    let (now, noted) = (Arc::clone(&polls), Arc::clone(&asked));
    let answers = move |_: &Value| {
        let poll = now.load(Ordering::Relaxed);
        let mut noted = noted.lock().expect("a lock");
        noted.push(poll);
        let is_first = noted.len() == 1;
        Some(if is_first {
            first.clone()
        } else {
            json!({"allowed": true})
        })
    };
    let scene = Scene::new("mutatingwebhookconfigurations", &["CREATE"], answers);
    scene.configure("validatingwebhookconfigurations", &["CREATE"]);
    let command = create("", "configmaps", "default", &named("a"));
    let write_request = WriteRequest::new(command, WriteOptions::default());
    let admission = scene.admission();
    let written = admit_and_carry_out(write(&scene, &admission, &write_request, bytes));
    let mut written = pin!(written);
    let counted = poll_fn(|context| {
        polls.fetch_add(1, Ordering::Relaxed);
        written.as_mut().poll(context)
    });
    assert!(runtime().block_on(counted).is_ok(), "it is allowed");
    let asked = asked.lock().expect("a lock");
    asked.clone()
}

#[test]
fn what_is_shown_of_a_long_request_is_made_on_another_thread() {
    let allowed = json!({"allowed": true});
    assert_eq!(asked_at(LONG_BYTES, allowed.clone()), [1, 1]);
    // At least one poll each: to decide, to show the object, and to write the question down.
    let long = asked_at(LONG_BYTES + 1, allowed);
    let [mutating, validating] = *long else {
        panic!("{long:?}");
    };
    assert!(mutating > 3 && validating > mutating + 2, "{long:?}");
}

/// What this allows, and says in so many bytes.
fn annotated(bytes: usize) -> Value {
    json!({"allowed": true, "auditAnnotations": {"k": "v".repeat(bytes)}})
}

#[test]
fn a_long_answer_of_a_webhook_is_read_on_another_thread() {
    assert_eq!(asked_at(10, annotated(10)), [1, 1]);
    let long = asked_at(10, annotated(LONG_BYTES));
    assert!(matches!(*long, [1, next] if next > 1), "{long:?}");
}

#[test]
fn what_a_webhook_makes_long_is_looked_at_on_another_thread_from_then_on() {
    let change = json!([{"op": "add", "path": "/data", "value": {"k": "v".repeat(LONG_BYTES)}}]);
    let [_, read] = *asked_at(10, annotated(2 * LONG_BYTES)) else {
        panic!("both are asked");
    };
    let [_, changed] = *asked_at(10, patched(&change)) else {
        panic!("both are asked");
    };
    // To apply the patch, to put it into the command, to decide that, to show the object, and to write it down.
    assert!(changed >= read + 5, "{changed} {read}");
}

/// How many hold this after the first poll.
async fn holders_after_a_poll<T>(held: &Arc<T>, future: impl Future) -> usize {
    let mut future = pin!(future);
    poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending(), "it is long");
        Poll::Ready(Arc::strong_count(held))
    })
    .await
}

#[test]
fn a_long_command_is_copied_on_another_thread() {
    let (scene, long) = (Scene::denying(&["CREATE"]), LONG_BYTES + 1);
    let actor = Arc::new(Actor::new("somebody"));
    let command = Command {
        actor: Arc::clone(&actor),
        ..create("", "configmaps", "default", &named("a"))
    };
    let write_request = WriteRequest::new(command.clone(), WriteOptions::default());
    runtime().block_on(async {
        let before = Arc::strong_count(&actor);
        let written = carry_out(&*scene.fake, command, long, false);
        assert_eq!(holders_after_a_poll(&actor, written).await, before);
        let (before, admission) = (Arc::strong_count(&actor), scene.admission());
        let written = admit_and_carry_out(write(&scene, &admission, &write_request, long));
        let of_the_subject = 1;
        let holders = holders_after_a_poll(&actor, written).await;
        assert_eq!(holders, before + of_the_subject);
    });
}
