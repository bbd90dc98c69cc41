//! What an answer leaves unread of the request's body. The rest is read, too, if it comes soon: over HTTP/1.1 the
//! next request on the connection follows the body, and over HTTP/2 some clients take an answer that comes before
//! for a failure. If it does not come, an HTTP/1.1 answer announces that the connection will be closed.

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, Response, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The most bytes that are read only to be discarded. Source: `maxPostHandlerReadBytes` of Go's HTTP server.
const REST_BYTES_MAX: usize = 256 << 10;

/// A body that is handed back if it is dropped before its end.
#[derive(Debug)]
pub(super) struct ReturnedBody<B: Body> {
    body: Option<B>,
    is_begun: bool,
    back: Option<oneshot::Sender<Rest<B>>>,
}

#[derive(Debug)]
struct Rest<B> {
    body: B,
    is_begun: bool,
}

/// Answers, and leaves the connection ready for the next request or announces that it will be closed. The rest of
/// the body has so long to arrive: a client may send it only after the answer.
pub(super) async fn answer_and_drain<B, A, F>(
    request: Request<B>,
    patience: Duration,
    answer: impl FnOnce(Request<ReturnedBody<B>>) -> F,
) -> Response<A>
where
    B: Body<Data = Bytes> + Unpin,
    F: Future<Output = Response<A>>,
{
    let is_http1 = request.version() < Version::HTTP_2;
    let is_announced = request.headers().contains_key(EXPECT);
    let (back, mut returned) = oneshot::channel();
    let returned_body = request.map(|body| ReturnedBody {
        body: Some(body),
        is_begun: false,
        back: Some(back),
    });
    let mut response = answer(returned_body).await;
    let Ok(rest) = returned.try_recv() else {
        return response;
    };
    // Reading a body that was announced would ask for it, and one whose reading had begun was given up.
    let may_read = !is_announced && !rest.is_begun;
    let is_read = may_read && drain(rest.body, patience).await;
    if is_http1 && !is_read {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

/// Whether the end of the body came soon, and after not too many bytes.
async fn drain<B: Body<Data = Bytes> + Unpin>(mut body: B, patience: Duration) -> bool {
    if body.size_hint().lower() > REST_BYTES_MAX as u64 {
        return false;
    }
    let all = async {
        let mut left = REST_BYTES_MAX;
        while let Some(frame) = body.frame().await {
            let length = match frame {
                Ok(frame) => frame.data_ref().map_or(0, Bytes::len),
                Err(_) => return false,
            };
            let Some(rest) = left.checked_sub(length) else {
                return false;
            };
            left = rest;
        }
        true
    };
    timeout(patience, all).await.unwrap_or(false)
}

impl<B: Body<Data = Bytes> + Unpin> Body for ReturnedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.is_begun = true;
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body.as_ref().map(Body::size_hint);
        hint.unwrap_or_else(|| SizeHint::with_exact(0))
    }
}

impl<B: Body> Drop for ReturnedBody<B> {
    fn drop(&mut self) {
        let rest = self.body.take().zip(self.back.take());
        if let Some((body, back)) = rest.filter(|(body, _)| !body.is_end_stream()) {
            let is_begun = self.is_begun;
            drop(back.send(Rest { body, is_begun }));
        }
    }
}
