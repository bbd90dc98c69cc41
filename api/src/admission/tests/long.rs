//! Long requests about which webhooks are asked.

use super::*;
use crate::admission::{WriteRequest, admit_and_carry_out};
use crate::offload::LONG_BYTES;
use crate::params::WriteOptions;
use crate::testing::runtime;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};

/// In which polls of a request of this length its webhooks are asked: what is decided on another thread is
/// waited for.
fn asked_at(bytes: usize) -> Vec<usize> {
    let (polls, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(vec![])));
    let (now, noted) = (Arc::clone(&polls), Arc::clone(&asked));
    let answers = move |_: &Value| {
        let poll = now.load(Ordering::Relaxed);
        noted.lock().expect("a lock").push(poll);
        Some(json!({"allowed": true}))
    };
    let scene = Scene::new("mutatingwebhookconfigurations", &["CREATE"], answers);
    scene.configure("validatingwebhookconfigurations", &["CREATE"]);
    let command = create("", "configmaps", "default", &named("a"));
    let write_request = WriteRequest::new(command, WriteOptions::default());
    let admission = scene.admission();
    let written = admit_and_carry_out(&*scene.fake, &admission, &write_request, bytes, None);
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
    assert_eq!(asked_at(LONG_BYTES), [1, 1]);
    // At least one poll each: to decide, to show the object, and to write the question down.
    let long = asked_at(LONG_BYTES + 1);
    let [mutating, validating] = *long else {
        panic!("{long:?}");
    };
    assert!(mutating > 3 && validating > mutating + 2, "{long:?}");
}
