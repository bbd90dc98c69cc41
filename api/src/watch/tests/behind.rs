//! Watches behind the window, which read the log.

use super::*;
use crate::api::REPLAYS_MAX;
use crate::backend::fake::beside;
use crate::pace::READ_BYTES;
use std::sync::atomic::Ordering;
use tokio::time::timeout;

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
        assert!(mark.contains("BOOKMARK") && mark.contains("\"resourceVersion\":\"2\""));
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

const GADGETS: &str = "/apis/example.com/v1/gadgets?watch=1&timeoutSeconds=99999";
/// From the first gadget on: the others were missed, or all come initially.
const ALL_GADGETS: [(&str, u64); 2] = [("&resourceVersion=1", 2), ("", 1)];
const OBJECTS: u64 = 100;
const STORED_BYTES: usize = 1 << 10;
const SHOWN_BYTES: usize = 200 << 10;

/// Gadgets that are short. All are from before the window, and from before their definition gained a long default.
async fn shown_long() -> Api {
    let fake = Arc::new(Fake::new());
    for revision in 1..=OBJECTS {
        let name = format!("g{revision:03}");
        let key = ObjectKey::new(GroupResource::new("example.com", "gadgets"), "", &name);
        let document = json!({"apiVersion": "example.com/v1", "kind": "Gadget",
            "metadata": {"name": name, "uid": name, "creationTimestamp": "1970-01-01T00:00:00Z",
                "annotations": {"k": "v".repeat(STORED_BYTES)}}});
        let object = Object::from_value(key, document, Revision(revision), None);
        fake.put_before_the_window(&Arc::new(object.expect("an object")));
    }
    let default = json!({"type": "string", "default": "v".repeat(SHOWN_BYTES)});
    let schema = json!({"type": "object", "properties": {"x": default}});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}});
    let definition = json!({"metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "versions": [version],
            "names": {"plural": "gadgets", "kind": "Gadget"}}});
    let api = Api::new(fake as _, Arc::new(Admission::default()));
    let request = Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        .body(Full::from(definition.to_string()));
    let known = Some(Arc::new(administrator()));
    let answer = api.handle(request.expect("a request"), known).await;
    assert_eq!(answer.status(), 201);
    api
}

async fn watch_gadgets(api: &Api, query: &str) -> ApiBody {
    let path = format!("{GADGETS}{query}");
    let answer = api
        .handle(get(&path), Some(Arc::new(administrator())))
        .await;
    answer.into_body()
}

#[test]
fn of_small_objects_that_are_shown_long_an_unread_watch_holds_one() {
    for (query, _) in ALL_GADGETS {
        paused().block_on(async {
            let api = shown_long().await;
            let mut body = watch_gadgets(&api, query).await;
            let mut held = first_frame(&mut body).await;
            tokio::time::sleep(STALLED * 2).await;
            // What it goes on with is what it held all the time.
            let rest = body.collect().await.expect("sound").to_bytes();
            held.push_str(std::str::from_utf8(&rest).expect("text"));
            let last = held.lines().last().expect("some");
            assert!(last.contains("ERROR") && last.contains("410"), "{last}");
            let bound = SHOWN_BYTES..(64 << 10) + SHOWN_BYTES + STORED_BYTES + 1024;
            assert!(bound.contains(&held.len()), "{query}: {}", held.len());
        });
    }
}

#[test]
fn a_slow_reader_gets_everything_however_long_it_is_shown() {
    const BYTES_PER_SECOND: usize = 20 << 10;
    for (query, first) in ALL_GADGETS {
        paused().block_on(async {
            let api = shown_long().await;
            let mut body = watch_gadgets(&api, query).await;
            let mut seen = String::new();
            for number in first..=OBJECTS {
                while !seen.contains('\n') {
                    let piece = first_frame(&mut body).await;
                    let seconds = piece.len().div_ceil(BYTES_PER_SECOND) as u64;
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    seen.push_str(&piece);
                }
                let (line, rest) = seen.split_once('\n').expect("a line");
                let event: Value = serde_json::from_str(line).expect("JSON");
                let name = &event["object"]["metadata"]["name"];
                assert_eq!(name, &format!("g{number:03}"), "{query}: {event}");
                seen = rest.to_owned();
            }
        });
    }
}

/// To show one takes as long as to read one that is as long.
#[test]
fn others_have_their_turn_while_small_objects_are_shown_long() {
    for (query, _) in ALL_GADGETS {
        let (shown, turns) = paused().block_on(async {
            let api = shown_long().await;
            let mut body = watch_gadgets(&api, query).await;
            // What has to be waited for before: the log is read.
            let mut shown = first_frame(&mut body).await.len();
            let all = async {
                while shown < SHOWN_BYTES * 50 {
                    shown += first_frame(&mut body).await.len();
                }
                shown
            };
            beside(all).await
        });
        let least = shown / (READ_BYTES + SHOWN_BYTES) - 1;
        assert!(turns as usize >= least, "{query}: {turns} of {least}");
    }
}

/// What it waits for is given to it first, and it would not notice.
#[test]
fn watches_that_are_not_polled_keep_no_other_from_catching_up() {
    let path = "/api/v1/configmaps?watch=1&resourceVersion=1&timeoutSeconds=999999";
    for reads_back in [true, false] {
        let (fake, api) = behind_the_window(3, 1);
        fake.reads_back.store(reads_back, Ordering::Relaxed);
        paused().block_on(async {
            let open = async || {
                let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
                answer.into_body()
            };
            let all = u32::try_from(REPLAYS_MAX).expect("a few");
            let turns = api.replays.acquire_many(all).await.expect("all");
            let reading = reads_back.then(|| fake.reading_back.try_lock().expect("free"));
            let mut kept = Vec::new();
            for _ in 0..REPLAYS_MAX {
                let mut body = open().await;
                let waits = timeout(Duration::from_millis(100), body.frame()).await;
                assert!(waits.is_err(), "{reads_back}");
                kept.push(body);
            }
            drop((turns, reading));
            tokio::time::sleep(STALLED * 2).await;
            let mut other = open().await;
            let seen = timeout(Duration::from_hours(1), first_frame(&mut other)).await;
            let seen = seen.expect("it goes on");
            assert!(seen.contains("\"c2\"") && seen.contains("\"c3\""), "{seen}");
            for body in &mut kept {
                // It has lost its turn if it had one.
                let next = first_frame(body).await;
                assert_eq!(next.contains("\"c2\""), reads_back, "{next}");
                assert_eq!(next.contains("410"), !reads_back, "{next}");
            }
        });
    }
}

/// What it read of the log would be read again, and nobody else could read it meanwhile.
#[test]
fn a_watch_that_has_caught_up_gives_its_turn_back_and_may_fall_behind_again() {
    let (fake, api) = behind_the_window(3, 1);
    fake.happens(&object(4, 1));
    let path = "/api/v1/configmaps?watch=1&resourceVersion=1";
    paused().block_on(async {
        let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
        let (mut body, mut seen) = (answer.into_body(), String::new());
        while !seen.contains("\"c4\"") {
            seen += &first_frame(&mut body).await;
        }
        assert_eq!(api.replays.available_permits(), REPLAYS_MAX);
        fake.happens(&object(5, 1));
        fake.empty_the_window();
        fake.happens(&object(6, 1));
        while !seen.contains("\"c6\"") {
            seen += &first_frame(&mut body).await;
        }
        let events = seen.lines().map(|line| {
            let event: Value = serde_json::from_str(line).expect("JSON");
            event["object"]["metadata"]["name"].clone()
        });
        let events: Vec<Value> = events.collect();
        assert_eq!(events, ["c2", "c3", "c4", "c5", "c6"]);
    });
}
