//! Connections of no use, by a clock that stands still until everybody waits.

use super::*;
use futures_util::stream::{self, StreamExt};
use http_body_util::BodyExt;
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
            timed_out.ok().map(|()| begun.elapsed().as_secs())
        };
        tokio::join!(timed_out, happens).0
    });
    assert_eq!(ended, seconds);
}

fn whole(open: OpenRequest) -> Answer {
    Answer::new(ApiBody::full("x"), open, Timeouts::default())
}

fn stream(open: OpenRequest) -> Answer {
    let body = ApiBody::stream(stream::pending().boxed());
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
