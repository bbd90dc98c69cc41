//! Watches behind the window, which read the log.

use super::*;
use crate::watch::REPLAYS_MAX;

#[test]
fn unread_watches_behind_the_window_block_others_only_briefly() {
    let (_, api) = behind_the_window(3, 1);
    let path = "/api/v1/configmaps?watch=1&resourceVersion=1&timeoutSeconds=99999999";
    let open = || async {
        let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
        let mut body = answer.into_body();
        (first_frame(&mut body).await, body)
    };
    paused().block_on(async {
        let mut stalled = Vec::new();
        for _ in 0..REPLAYS_MAX {
            stalled.push(open().await.1);
        }
        assert!(open().await.0.contains("410"), "all seats are taken");
        tokio::time::sleep(STALLED * 2).await;
        let (seen, _body) = open().await;
        assert!(seen.contains("\"c2\"") && seen.contains("\"c3\""), "{seen}");
        for body in &mut stalled {
            let last = first_frame(body).await;
            assert!(last.contains("ERROR") && last.contains("410"), "{last}");
            assert!(body.frame().await.is_none());
        }
    });
}

#[test]
fn watches_wait_for_their_turn_to_read_a_log_that_is_short() {
    let (fake, api) = behind_the_window(3, 1);
    *fake.reading.lock().expect("a lock") = Duration::from_millis(300);
    let path = "/api/v1/configmaps?watch=1&resourceVersion=1";
    let watch = || async {
        let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
        first_frame(&mut answer.into_body()).await
    };
    paused().block_on(async {
        let all = join_all((0..3 * REPLAYS_MAX).map(|_| watch())).await;
        for seen in all {
            assert!(seen.contains("\"c2\"") && seen.contains("\"c3\""), "{seen}");
        }
    });
}

#[test]
fn a_watch_that_catches_up_ends_in_its_time_and_says_how_far_it_is() {
    const READING: Duration = Duration::from_secs(40);
    let (fake, api) = behind_the_window(3, 1);
    *fake.reading.lock().expect("a lock") = READING;
    let path = "/api/v1/configmaps?watch=1&resourceVersion=1&labelSelector=a=b";
    paused().block_on(async {
        for seconds in [3, 50] {
            let path = format!("{path}&timeoutSeconds={seconds}");
            let begun = Instant::now();
            let answer = api
                .handle(get(&path), Some(Arc::new(administrator())))
                .await;
            assert!(answer.into_body().frame().await.is_none());
            assert_eq!(begun.elapsed(), Duration::from_secs(seconds));
        }
        let path = format!("{path}&timeoutSeconds=999&allowWatchBookmarks=true");
        let begun = Instant::now();
        let answer = api
            .handle(get(&path), Some(Arc::new(administrator())))
            .await;
        let mark = first_frame(&mut answer.into_body()).await;
        assert_eq!(begun.elapsed(), READING * 2, "as soon as anything was read");
        assert!(mark.contains("BOOKMARK") && mark.contains("\"resourceVersion\":\"3\""));
    });
}

#[test]
fn what_a_watch_has_missed_comes_in_pieces() {
    const OBJECTS: u64 = 50;
    const BYTES: usize = 20 << 10;
    const READ: usize = 256 << 10;
    let (fake, api) = behind_the_window(OBJECTS, BYTES);
    let path = "/api/v1/configmaps?watch=1&resourceVersion=1";
    paused().block_on(async {
        let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
        let (mut body, mut seen) = (answer.into_body(), 1);
        while seen < OBJECTS {
            let piece = first_frame(&mut body).await;
            assert!(piece.len() < (64 << 10) + BYTES + 1024, "{}", piece.len());
            for line in piece.lines() {
                let event: Value = serde_json::from_str(line).expect("JSON");
                seen += 1;
                assert_eq!(event["object"]["metadata"]["name"], format!("c{seen}"));
            }
        }
    });
    let held = fake.held.lock().expect("a lock").iter().max().copied();
    let held = held.expect("it was read");
    let bound = READ..READ + BYTES + 1024;
    assert!(bound.contains(&held), "{held}");
}
