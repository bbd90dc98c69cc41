//! Connections of no use, by a clock that stands still until everybody waits.

use super::*;
use crate::testing::plane;
use futures_util::stream::{self, StreamExt};
use hindsight_core::Actor;
use http::Request;
use http_body_util::{BodyExt, Full};
use tokio::time::{sleep, timeout};

/// What happens on a connection, and after how many seconds it was of no use for too long.
#[track_caller]
fn ends_after<F: Future<Output = ()>>(seconds: Option<u64>, happens: impl FnOnce(Requests) -> F) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    let ended = runtime.expect("a runtime").block_on(async {
        let (begun, requests) = (Instant::now(), Requests::none());
        let happens = happens(requests.clone());
        let timed_out = async {
            let timed_out = requests.timed_out(Timeouts::default());
            let timed_out = timeout(Duration::from_hours(24), timed_out).await;
            timed_out.ok().map(|_| begun.elapsed().as_secs())
        };
        tokio::join!(timed_out, happens).0
    });
    assert_eq!(ended, seconds);
}

fn whole(open: OpenRequest) -> Answer {
    Answer::new(ApiBody::full("x"), open, Timeouts::default())
}

fn stream(open: OpenRequest) -> Answer {
    let body = ApiBody::pieces(stream::pending().boxed());
    Answer::new(body, open, Timeouts::default())
}

async fn day() {
    sleep(Duration::from_hours(25)).await;
}

#[test]
fn a_connection_may_wait_for_its_first_request_and_longer_for_the_next() {
    ends_after(Some(32), async |_| {});
    ends_after(Some(90), async |requests| {
        requests.mark_authenticated();
        drop(requests.begin());
    });
    ends_after(Some(100), async |requests| {
        requests.mark_authenticated();
        let first = requests.begin();
        sleep(Duration::from_secs(10)).await;
        drop(first);
    });
}

#[test]
fn a_stream_of_an_authenticated_client_has_no_limit_and_requests_of_another_share_one() {
    for (is_authenticated, ends) in [(true, None), (false, Some(60))] {
        ends_after(ends, async |requests| {
            let first = requests.begin();
            if is_authenticated {
                requests.mark_authenticated();
            }
            let watch = stream(requests.begin());
            drop(first);
            day().await;
            drop(watch);
        });
        // Nor has a request that is not answered yet.
        ends_after(ends, async |requests| {
            if is_authenticated {
                requests.mark_authenticated();
            }
            let unanswered = requests.begin();
            day().await;
            drop(unanswered);
        });
    }
    ends_after(Some(60), async |requests| {
        for _ in 0..90 {
            sleep(Duration::from_secs(1)).await;
            drop(whole(requests.begin()));
        }
    });
}

#[test]
fn an_answer_that_is_there_must_be_taken_whatever_else_is_open() {
    ends_after(Some(35), async |requests| {
        requests.mark_authenticated();
        let watch = stream(requests.begin());
        let taken = whole(requests.begin());
        sleep(Duration::from_secs(5)).await;
        let first = whole(requests.begin());
        drop(taken);
        sleep(Duration::from_secs(5)).await;
        let second = whole(requests.begin());
        day().await;
        drop((watch, first, second));
    });
}

/// Over HTTP/2 an answer is handed on in whole once the client has room for its first byte.
#[test]
fn an_answer_that_was_handed_on_must_be_taken_too_and_a_long_one_has_longer() {
    for (length, ends) in [(1, 30), (1 << 20, 94)] {
        ends_after(Some(ends), async |requests| {
            requests.mark_authenticated();
            let watch = stream(requests.begin());
            let body = ApiBody::full(vec![b'x'; length]);
            let mut answer = Answer::new(body, requests.begin(), Timeouts::default());
            let sent = answer.frame().await.expect("one").expect("sound");
            drop(answer);
            day().await;
            assert_eq!(sent.into_data().expect("data").len(), length);
            drop(watch);
        });
    }
}

/// A long answer is indented while it is read.
#[test]
fn an_indented_answer_must_be_taken_like_any_other_at_the_pace_of_what_is_sent() {
    let plane = plane();
    let asked = |query: &str| {
        let request = Request::get(format!("/openapi/v3/api/v1{query}"));
        let request = request.body(Full::<Bytes>::default()).expect("a request");
        let actor = Some(Arc::new(Actor::new("t")));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let answer = runtime.block_on(plane.api().handle(request, actor));
        answer.into_body()
    };
    let length = asked("").size_hint().exact().expect("complete");
    let [unread, read] = ["?pretty=1"; 2].map(asked);
    assert_eq!(unread.size_hint().exact(), None);
    let timeouts = Timeouts {
        taking: Duration::from_secs(1),
        ..Timeouts::default()
    };
    let ends = 1 + length / reading::BYTES_PER_SECOND;
    ends_after(Some(ends), async |requests| {
        requests.mark_authenticated();
        let watch = stream(requests.begin());
        let unread = Answer::new(unread, requests.begin(), timeouts);
        day().await;
        drop((watch, unread));
    });
    ends_after(None, async |requests| {
        requests.mark_authenticated();
        let watch = stream(requests.begin());
        let begun = Instant::now();
        let mut read = Answer::new(read, requests.begin(), timeouts);
        while let Some(frame) = read.frame().await {
            let bytes = frame.expect("sound").into_data().expect("data");
            let micros = bytes.len() as u64 * 1_000_000 / reading::BYTES_PER_SECOND;
            sleep(Duration::from_micros(micros)).await;
        }
        assert!(begun.elapsed().as_secs() > ends, "it is longer indented");
        drop(read);
        day().await;
        drop(watch);
    });
}
