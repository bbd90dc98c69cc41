//! Watches that come back after a restart, when the window is empty.

use super::*;
use std::sync::atomic::Ordering;

#[test]
fn watches_that_come_back_at_any_position_after_a_restart_read_one_window() {
    const WATCHES: u64 = 200;
    let (fake, api) = behind_the_window(WATCHES + 1, 1);
    fake.reads_back.store(true, Ordering::Relaxed);
    let watch = async |after: u64| {
        let path = format!("/api/v1/configmaps?watch=1&resourceVersion={after}");
        let actor = Some(Arc::new(administrator()));
        let answer = api.handle(get(&path), actor).await;
        let (mut body, mut seen) = (answer.into_body(), String::new());
        while (seen.matches('\n').count() as u64) < WATCHES + 1 - after {
            seen.push_str(&first_frame(&mut body).await);
        }
        seen
    };
    let seen = paused().block_on(join_all((1..=WATCHES).map(&watch)));
    for (seen, after) in seen.iter().zip(1..) {
        let names = seen.lines().map(|line| {
            let event: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(event["type"], "ADDED", "{line}");
            event["object"]["metadata"]["name"].to_string()
        });
        let missed = (after + 1..=WATCHES + 1).map(|at| format!("\"c{at}\""));
        assert!(names.eq(missed), "{after}: {seen}");
    }
    let read = fake.held.lock().expect("a lock");
    assert!(read.is_empty(), "none read the log for itself");
}

#[test]
fn for_a_watch_that_is_too_far_behind_nothing_is_read() {
    for (behind, reads) in [(100_000, 1), (100_001, 0)] {
        let fake = Arc::new(Fake::new());
        for revision in [1, 1 + behind] {
            fake.put_before_the_window(&object(revision, 1));
        }
        let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
        let path = "/api/v1/configmaps?watch=1&resourceVersion=1";
        let (code, events) = paused().block_on(events(&api, path));
        // Who reads this log finds that most of it is missing.
        assert_eq!((code, types(&events)), (200, vec!["ERROR"]), "{behind}");
        assert_eq!(events[0]["object"]["code"], 410, "{behind}");
        let read = fake.held.lock().expect("a lock").len();
        assert_eq!(read, reads, "{behind}");
    }
}
