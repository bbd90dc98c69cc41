//! How many may look at the past at the same time, and what becomes of the next one.

mod definitions;

use super::kept::{REPLACED_MAX, STATES_MAX};
use super::{FOLDS_MAX, Pasts, SEATS_MAX, SWEEP_EVERY, UNUSED_MAX};
use crate::testing::plane;
use crate::{Clock, Config, ControlPlane};
use bytes::Bytes;
use hindsight_api::{AsOf, AsOfError, Backend, LostByRestore, StateAt};
use hindsight_core::{Revision, State, Time};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use tower_service::Service;

/// So large that lists of such objects come in pieces.
const BODY_BYTES: usize = 300 << 10;

async fn at(plane: &ControlPlane, revision: u64) -> Result<StateAt, AsOfError> {
    Backend::as_of(plane, AsOf::Revision(Revision(revision))).await
}

async fn ask(
    plane: &ControlPlane,
    method: &str,
    path: &str,
    body: String,
) -> Response<hindsight_api::ApiBody> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let request = request.body(Full::<Bytes>::from(body)).expect("a request");
    plane.service().call(request).await.expect("an answer")
}

#[test]
fn one_reader_of_the_past_too_many_waits_and_gets_429() {
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        for name in ["a", "b"] {
            let map = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
            let made = ask(&plane, "POST", "/api/v1/namespaces/default/configmaps", map).await;
            assert_eq!(made.status(), 201);
        }
        let newest = plane.state().revision.0;
        assert!(newest > SEATS_MAX as u64 + 1, "{newest}");
        let mut held = Vec::new();
        for revision in 1..=SEATS_MAX as u64 {
            held.push(at(&plane, revision).await.expect("a seat"));
        }
        let one_more = at(&plane, 1).await;
        assert!(matches!(one_more, Err(AsOfError::Busy)));
        let path = "/as-of/2/api/v1/namespaces";
        let refused = ask(&plane, "GET", path, String::new()).await;
        assert_eq!(refused.status(), 429);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(
            at(&plane, newest)
                .await
                .expect("in memory")
                .state
                .revision
                .0,
            newest
        );
        // The one that waits is next.
        let (waits, ()) = tokio::join!(at(&plane, 5), async {
            tokio::task::yield_now().await;
            held.pop();
        });
        waits.expect("a seat");
        let shown = ask(&plane, "GET", path, String::new()).await;
        assert_eq!(shown.status(), 200);
    });
}

#[test]
fn a_list_of_the_past_has_its_seat_until_it_is_read() {
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        let before = plane.state().revision.next().0;
        for name in ["a", "b"] {
            let data = "v".repeat(BODY_BYTES);
            let map = format!(r#"{{"metadata": {{"name": "{name}"}}, "data": {{"k": "{data}"}}}}"#);
            let made = ask(&plane, "POST", "/api/v1/namespaces/default/configmaps", map).await;
            assert_eq!(made.status(), 201);
        }
        let free = || plane.pasts().seats.available_permits();
        for path in [
            format!("/as-of/{before}/api/v1/configmaps"),
            format!("/api/v1/configmaps?resourceVersion={before}&resourceVersionMatch=Exact"),
        ] {
            let answer = ask(&plane, "GET", &path, String::new()).await;
            assert_eq!(
                (answer.status(), free()),
                (http::StatusCode::OK, SEATS_MAX - 1)
            );
            answer.into_body().collect().await.expect("read");
            assert_eq!(free(), SEATS_MAX);
        }
    });
}

#[test]
fn what_several_ask_for_at_once_is_folded_once() {
    Runtime::new().expect("a runtime").block_on(async {
        let pasts = Pasts::new(Arc::default());
        let empty = plane().empty_state();
        let folds = Arc::new(AtomicUsize::new(0));
        let ask = || {
            let (folds, state) = (Arc::clone(&folds), State::clone(&empty));
            let fold = move || {
                folds.fetch_add(1, Ordering::SeqCst);
                Ok((state, None))
            };
            pasts.at(AsOf::Revision(Revision(1)), Revision(9), fold)
        };
        // While both folds are taken all of them wait, and the later ones find what the first has folded.
        let other = Arc::clone(&pasts.folds).acquire_many_owned(2).await;
        let mut free = other.expect("free");
        let one = free.split(1).expect("one of two");
        let asked = async { tokio::join!(ask(), ask(), ask()) };
        let (found, ()) = tokio::join!(asked, async {
            tokio::task::yield_now().await;
            drop(one);
        });
        assert!(found.0.is_ok() && found.1.is_ok() && found.2.is_ok());
        assert_eq!(folds.load(Ordering::SeqCst), 1);
    });
}

/// The next write may be at that time, too.
#[test]
fn what_a_time_shows_is_kept_only_where_something_later_is_known() {
    Runtime::new().expect("a runtime").block_on(async {
        let pasts = Pasts::new(Arc::default());
        let empty = plane().empty_state();
        let point = AsOf::Time(Time(5));
        for (shown, newest) in [(3, 3), (4, 4), (4, 5), (4, 5)] {
            let mut state = empty.clone();
            state.revision = Revision(shown);
            let lost = LostByRestore {
                backup: Revision(shown),
                restored: Revision(9),
            };
            let fold = move || Ok((state, Some(lost)));
            let found = pasts.at(point, Revision(newest), fold).await;
            let found = found.expect("folded");
            assert_eq!(found.state.revision, Revision(shown));
            assert_eq!(found.lost, Some(lost), "kept or newly folded");
            assert_eq!(
                pasts.recent.get(point, Instant::now()).is_some(),
                shown < newest
            );
        }
    });
}

/// A fold takes as long as the log is long, and each one holds a state of its own.
#[test]
fn a_time_after_all_that_was_written_shows_the_newest_state_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    let now = Arc::new(AtomicI64::new(0));
    let open = || {
        let now = Arc::clone(&now);
        let clock = Clock::new(move || Time(now.load(Ordering::SeqCst)));
        let config = Config {
            collectors: false,
            data_dir: Some(directory.path().into()),
            clock,
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens")
    };
    let begun = Time::parse("2030-01-01T00:00:00Z").expect("a time");
    let second = |seconds: i64| begun.plus_seconds(seconds);
    now.store(begun.0, Ordering::SeqCst);
    Runtime::new().expect("a runtime").block_on(async {
        let mut plane = open();
        let mut revisions = Vec::new();
        // The clock steps back before the last.
        for (name, at) in [("a", 10), ("b", 30), ("c", 20)] {
            now.store(second(at).0, Ordering::SeqCst);
            let map = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
            let made = ask(&plane, "POST", "/api/v1/namespaces/default/configmaps", map).await;
            assert_eq!(made.status(), 201);
            revisions.push(plane.state().revision);
        }
        now.store(second(60).0, Ordering::SeqCst);
        for is_reopened in [false, true] {
            if is_reopened {
                plane.close();
                plane = open();
                // A watch comes back, for which what it missed is put into the window.
                assert!(Backend::reach_back(&plane, revisions[0]).await);
            }
            for (at, shown) in [(10, 0), (20, 0), (29, 0), (30, 2), (60, 2)] {
                let found = Backend::as_of(&plane, AsOf::Time(second(at))).await;
                let found = found.expect("answered");
                assert_eq!(found.state.revision, revisions[shown], "{at}");
                let is_newest = Arc::ptr_eq(&found.state, &plane.state());
                assert_eq!(
                    (is_newest, found.seat.is_none()),
                    (shown == 2, shown == 2),
                    "{at}"
                );
            }
            let later = Backend::as_of(&plane, AsOf::Time(second(61))).await;
            assert!(matches!(later, Err(AsOfError::NotCome { .. })));
        }
    });
}

#[test]
fn a_page_under_a_point_of_the_past_is_not_of_a_later_one() {
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        let maps = "/api/v1/namespaces/default/configmaps";
        for name in ["a", "b", "c"] {
            let map = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
            let made = ask(&plane, "POST", maps, map).await;
            assert_eq!(made.status(), 201);
        }
        let newest = plane.state().revision.0;
        let list = async |path: String| {
            let answer = ask(&plane, "GET", &path, String::new()).await;
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await.expect("read").to_bytes();
            let list: Value = serde_json::from_slice(&body).expect("JSON");
            (code, list)
        };
        let (_, first) = list(format!("{maps}?limit=1")).await;
        let token = first["metadata"]["continue"]
            .as_str()
            .expect("a token")
            .to_owned();
        for (point, code) in [(newest, 200), (newest - 1, 400)] {
            let next = list(format!("/as-of/{point}{maps}?limit=1&continue={token}")).await;
            assert_eq!(next.0, code, "{point}");
        }
    });
}

#[test]
fn a_plane_that_was_closed_answers_nothing_of_the_past_any_more_and_says_that_it_stops() {
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        write(&plane, "POST", "b", "1").await;
        let before = plane.state().revision.0 - 1;
        let looked_at = format!("/as-of/{before}{MAPS}");
        let found = ask(&plane, "GET", &looked_at, String::new()).await;
        assert_eq!(found.status(), 200);
        plane.close();
        for path in ["/as-of/1/api/v1/namespaces", &looked_at, &looked_at] {
            let refused = ask(&plane, "GET", path, String::new()).await;
            assert_eq!(refused.status(), 503, "{path}");
        }
        let map = r#"{"metadata": {"name": "a"}}"#.to_owned();
        let refused = ask(&plane, "POST", "/api/v1/namespaces/default/configmaps", map).await;
        assert_eq!(refused.status(), 503);
    });
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn write(plane: &ControlPlane, method: &str, name: &str, data: &str) {
    let map = json!({"metadata": {"name": name}, "data": {"k": data}});
    let path = if method == "PUT" {
        format!("{MAPS}/{name}")
    } else {
        MAPS.to_owned()
    };
    let written = ask(plane, method, &path, map.to_string()).await;
    assert!(written.status().is_success(), "{method} {name}");
}

/// A page of one object, after the place that is named.
async fn page(plane: &ControlPlane, after: Option<&str>) -> (u16, Value) {
    let after = after.map_or_else(String::new, |token| format!("&continue={token}"));
    let answer = ask(
        plane,
        "GET",
        &format!("{MAPS}?limit=1{after}"),
        String::new(),
    )
    .await;
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("read").to_bytes();
    (code, serde_json::from_slice(&body).expect("JSON"))
}

fn revision_of(page: &Value) -> Revision {
    let text = page["metadata"]["resourceVersion"].as_str();
    Revision::parse(text.expect("a version")).expect("a revision")
}

fn token_of(page: &Value) -> Option<String> {
    Some(page["metadata"]["continue"].as_str()?.to_owned())
}

async fn all_of(seats: &Arc<Semaphore>, count: usize) -> OwnedSemaphorePermit {
    let count = u32::try_from(count).expect("few");
    let all = Arc::clone(seats).acquire_many_owned(count).await;
    all.expect("open")
}

#[test]
fn the_pages_of_lists_at_many_revisions_take_no_seat_and_fold_nothing() {
    const LISTS: usize = 8;
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        for name in ["a", "b", "c"] {
            write(&plane, "POST", name, "0").await;
        }
        let pasts = plane.pasts();
        let _seats = all_of(&pasts.seats, SEATS_MAX).await;
        let _folds = all_of(&pasts.folds, FOLDS_MAX).await;
        let mut lists = Vec::new();
        for list in 0..LISTS {
            let (code, first) = page(&plane, None).await;
            assert_eq!(code, 200, "{first}");
            lists.push((revision_of(&first), token_of(&first)));
            for name in ["b", "c"] {
                write(&plane, "PUT", name, &(list + 1).to_string()).await;
            }
        }
        for name in ["b", "c"] {
            for (list, (revision, token)) in lists.iter_mut().enumerate() {
                let (code, next) = page(&plane, token.as_deref()).await;
                assert_eq!((code, revision_of(&next)), (200, *revision), "{next}");
                assert_eq!(next["items"][0]["metadata"]["name"], name);
                assert_eq!(next["items"][0]["data"]["k"], list.to_string());
                *token = token_of(&next);
            }
        }
        assert!(lists.iter().all(|(_, token)| token.is_none()));
    });
}

#[test]
fn the_pages_of_a_list_whose_state_is_no_longer_kept_are_folded() {
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        for name in ["a", "b"] {
            write(&plane, "POST", name, "0").await;
        }
        let (_, first) = page(&plane, None).await;
        let token = token_of(&first).expect("there is more");
        write(&plane, "PUT", "b", "1").await;
        let newest = plane.state();
        for other in 1..=STATES_MAX as u64 {
            let mut state = State::clone(&newest);
            state.revision = Revision(newest.revision.0 + other);
            Backend::keep(&plane, Arc::new(state));
        }
        let pasts = plane.pasts();
        let folds = all_of(&pasts.folds, FOLDS_MAX).await;
        let (code, refused) = page(&plane, Some(&token)).await;
        assert_eq!(code, 429, "{refused}");
        drop(folds);
        let (code, second) = page(&plane, Some(&token)).await;
        assert_eq!((code, revision_of(&second)), (200, revision_of(&first)));
        assert_eq!(second["items"][0]["data"]["k"], "0");
        let point = AsOf::Revision(revision_of(&first));
        assert!(pasts.recent.get(point, Instant::now()).is_some());
    });
}

#[test]
fn a_state_is_kept_for_pages_until_too_much_of_it_was_replaced() {
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        for name in ["a", "b"] {
            write(&plane, "POST", name, &"v".repeat(BODY_BYTES)).await;
        }
        let (_, first) = page(&plane, None).await;
        let (pasts, revision) = (plane.pasts(), revision_of(&first));
        let almost = REPLACED_MAX - BODY_BYTES;
        pasts.kept.replaced(almost, Instant::now());
        // What is new replaces no version.
        write(&plane, "POST", "c", &"v".repeat(BODY_BYTES)).await;
        assert!(pasts.kept(revision).is_some());
        write(&plane, "PUT", "b", "small").await;
        assert!(pasts.kept(revision).is_none());
    });
}

#[test]
fn a_plane_that_was_closed_holds_no_states_for_pages() {
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        for name in ["a", "b"] {
            write(&plane, "POST", name, "0").await;
        }
        let (_, first) = page(&plane, None).await;
        let token = token_of(&first).expect("there is more");
        write(&plane, "PUT", "b", "1").await;
        plane.close();
        let (code, refused) = page(&plane, Some(&token)).await;
        assert_eq!(code, 503, "{refused}");
    });
}

#[tokio::test(start_paused = true)]
async fn states_that_nobody_uses_are_dropped_after_some_minutes() {
    let pasts = Pasts::new(Arc::default());
    let (point, newest) = (AsOf::Revision(Revision(1)), Revision(9));
    let mut state = plane().empty_state();
    state.revision = Revision(1);
    pasts.keep(Arc::new(state.clone()));
    let fold = move || Ok((state, None));
    pasts.at(point, newest, fold).await.expect("folded");
    let kept = || {
        let folded = pasts.recent.get(point, Instant::now());
        (pasts.kept(Revision(1)).is_some(), folded.is_some())
    };
    // Each look is a use.
    for _ in 0..3 {
        sleep(UNUSED_MAX / 2).await;
        assert_eq!(kept(), (true, true));
    }
    sleep(UNUSED_MAX + 2 * SWEEP_EVERY).await;
    assert_eq!(kept(), (false, false));
}
