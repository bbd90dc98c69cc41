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
