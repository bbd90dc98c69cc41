//! Bodies that are large, slow, or never complete, over an engine that answers when it is told to.

use super::*;
use crate::backend::fake::Fake;
use crate::{Admission, Api, ApiBody};
use futures_util::stream::{self, StreamExt};
use hindsight_core::Actor;
use http::{Request, Response, header};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, Full, StreamBody};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

const ARRIVAL: Duration = Duration::from_secs(30);
const NAMESPACES: &str = "/api/v1/namespaces";

/// Runs a test in which time passes only while everybody waits.
fn paused<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(test)
}

struct Served {
    fake: Arc<Fake>,
    bodies: Bodies,
    api: Api,
}

/// An API with room for one body of unknown length.
fn served() -> Served {
    let fake = Arc::new(Fake::new());
    let bodies = Bodies::bounded(0, ARRIVAL);
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let api = api.with_bodies(bodies.clone());
    Served { fake, bodies, api }
}

impl Served {
    async fn ask<B>(&self, request: Request<B>) -> Response<ApiBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let actor = Some(Arc::new(Actor::new("admin")));
        self.api.handle(request, actor).await
    }

    fn free(&self) -> usize {
        self.bodies.room.available_permits()
    }
}

fn post<B>(body: B) -> Request<B> {
    let request = Request::post(NAMESPACES).header(header::CONTENT_TYPE, "application/json");
    request.body(body).expect("a request")
}

fn namespace(name: &str) -> String {
    format!(r#"{{"metadata": {{"name": "{name}"}}}}"#)
}

/// A body that sends this, and then nothing for as long as the sender is kept. Its length is not announced.
fn unfinished(
    text: &str,
) -> (
    mpsc::Sender<Bytes>,
    impl Body<Data = Bytes, Error = Infallible>,
) {
    let (sender, receiver) = mpsc::channel(8);
    sender.try_send(text.to_owned().into()).expect("room");
    let frames = stream::unfold(receiver, |mut receiver: mpsc::Receiver<Bytes>| async move {
        let data = receiver.recv().await?;
        Some((Ok(Frame::data(data)), receiver))
    });
    (sender, StreamBody::new(frames.boxed()))
}

/// A body that announces its length, and of which nothing ever comes.
struct Announced {
    length: u64,
    may_be_polled: bool,
}

/// A body without a byte that never ends.
const ENDLESS: Announced = Announced {
    length: 0,
    may_be_polled: true,
};

impl Announced {
    /// A body of this length that must not be polled.
    const fn unread(length: u64) -> Self {
        Self {
            length,
            may_be_polled: false,
        }
    }
}

impl Body for Announced {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        assert!(self.may_be_polled, "it is asked for");
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

async fn told(answer: Response<ApiBody>) -> (u16, String, serde_json::Value) {
    let (parts, body) = answer.into_parts();
    let retry = parts.headers.get(header::RETRY_AFTER);
    let retry = retry.and_then(|value| value.to_str().ok());
    let retry = retry.unwrap_or_default().to_owned();
    let body = body.collect().await.expect("a body").to_bytes();
    let document = serde_json::from_slice(&body).expect("a document");
    (parts.status.as_u16(), retry, document)
}

#[test]
fn half_a_body_is_a_timeout_and_gives_its_room_back() {
    paused(async {
        let (served, begun) = (served(), Instant::now());
        let all = served.free();
        let (sender, body) = unfinished("{\"metadata\": ");
        let (code, retry, status) = told(served.ask(post(body)).await).await;
        assert_eq!(begun.elapsed(), ARRIVAL);
        assert_eq!((code, &*retry), (504, ""));
        assert_eq!(status["reason"], "Timeout");
        let message = "Timeout: request did not complete within the allotted timeout";
        assert_eq!(status["message"], message);
        assert_eq!(served.free(), all);
        assert!(sender.is_closed(), "nobody reads it any more");
    });
}

#[test]
fn a_body_without_a_byte_has_to_end_too() {
    paused(async {
        let (served, begun) = (served(), Instant::now());
        let (code, ..) = told(served.ask(post(ENDLESS)).await).await;
        assert_eq!((code, begun.elapsed()), (504, ARRIVAL));
    });
}

#[test]
fn a_long_head_takes_room_while_its_body_is_waited_for() {
    paused(async {
        let served = served();
        let all = served.free();
        for (bytes, least) in [(10, 0), (3_000, 6_000)] {
            let manager = "v".repeat(bytes);
            let request = Request::post(format!("{NAMESPACES}?fieldManager={manager}"));
            let request = request.body(ENDLESS).expect("a request");
            let looks = async {
                tokio::task::yield_now().await;
                all - served.free()
            };
            let (_, taken) = tokio::join!(served.ask(request), looks);
            assert!((least..=least + 200).contains(&taken), "{bytes}: {taken}");
            assert_eq!(served.free(), all);
        }
    });
}

#[test]
fn a_body_without_room_waits_a_little_and_gets_429() {
    paused(async {
        let served = served();
        let (_sender, body) = unfinished("{");
        let fills = served.ask(post(body));
        let begun = Instant::now();
        let waits = async {
            let answer = served.ask(post(Full::from(namespace("a")))).await;
            assert_eq!(begun.elapsed(), WAIT_MAX);
            told(answer).await
        };
        let (_, (code, retry, status)) = tokio::join!(fills, waits);
        assert_eq!((code, &*retry), (429, "1"));
        assert_eq!(status["reason"], "TooManyRequests");
        assert_eq!(status["details"]["retryAfterSeconds"], 1);
        let later = served.ask(post(Full::from(namespace("a")))).await;
        assert_eq!(later.status(), 201, "there is room again");
    });
}

#[test]
fn bodies_that_are_half_there_do_not_wait_for_each_other() {
    paused(async {
        let served = served();
        let begun = Instant::now();
        let ask = async |name: &str| {
            let (head, tail) = (r#"{"metadata": "#, format!(r#"{{"name": "{name}"}}}}"#));
            let (sender, body) = unfinished(head);
            let client = async {
                sender.send(tail.into()).await.expect("it is read");
                drop(sender);
            };
            tokio::join!(served.ask(post(body)), client).0.status()
        };
        let (first, second, third) = tokio::join!(ask("a"), ask("b"), ask("c"));
        assert_eq!([first, second, third].map(|code| code.as_u16()), [201; 3]);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    });
}

#[test]
fn a_body_keeps_its_room_until_its_request_is_answered_and_no_more_than_its_length() {
    paused(async {
        let (served, body) = (served(), namespace("a"));
        let all = served.free();
        let (answers, slow) = oneshot::channel();
        *served.fake.slow.lock().expect("a lock") = Some(slow);
        let (sender, sent) = unfinished(&body);
        drop(sender);
        let meanwhile = async {
            while served.fake.submitted.lock().expect("a lock").is_empty() {
                tokio::task::yield_now().await;
            }
            assert_eq!(served.free(), all - body.len());
            answers.send(()).expect("it waits");
        };
        let (answer, ()) = tokio::join!(served.ask(post(sent)), meanwhile);
        assert_eq!(answer.status(), 201);
        assert_eq!(served.free(), all);
    });
}

/// Of what many bodies say, each many times as long as its text, so much would otherwise wait for the writer.
#[test]
fn what_is_decoded_from_a_body_has_room_of_its_own_until_the_answer() {
    paused(async {
        let served = served();
        let free = || served.bodies.documents.available_permits();
        let all = free();
        let body = |name: &str| {
            let many = r#"{"":0},"#.repeat(10_000);
            let text = format!(r#"{{"metadata": {{"name": "{name}"}}, "more": [{many}0]}}"#);
            post(Full::from(text))
        };
        let (answers, slow) = oneshot::channel();
        *served.fake.slow.lock().expect("a lock") = Some(slow);
        let meanwhile = async {
            while served.fake.submitted.lock().expect("a lock").is_empty() {
                tokio::task::yield_now().await;
            }
            assert!(free() < all / 2);
            let refused = served.ask(body("b")).await;
            assert_eq!(refused.status(), 429);
            answers.send(()).expect("it waits");
        };
        let (answer, ()) = tokio::join!(served.ask(body("a")), meanwhile);
        assert_eq!(answer.status(), 201);
        assert_eq!(free(), all);
        assert_eq!(served.ask(body("b")).await.status(), 201);
    });
}

#[test]
fn a_request_without_a_body_needs_no_room() {
    paused(async {
        let served = served();
        let made = served.ask(post(Full::from(namespace("a")))).await;
        assert_eq!(made.status(), 201);
        let all = u32::try_from(served.free()).expect("few");
        let _taken = served.bodies.room.try_acquire_many(all).expect("all of it");
        let begun = Instant::now();
        let requests = [
            (Request::get(NAMESPACES), 200),
            (Request::delete("/api/v1/namespaces/a"), 200),
        ];
        for (request, code) in requests {
            let request = request.body(Full::<Bytes>::default()).expect("a request");
            assert_eq!(served.ask(request).await.status(), code);
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    });
}

#[test]
fn a_body_that_says_that_it_is_too_long_is_refused_before_it_is_asked_for() {
    paused(async {
        for bytes in [REQUEST_BYTES_MAX as u64 + 1, u64::MAX] {
            let (code, _, status) = told(served().ask(post(Announced::unread(bytes))).await).await;
            assert_eq!(code, 413);
            assert_eq!(status["reason"], "RequestEntityTooLarge");
        }
    });
}
