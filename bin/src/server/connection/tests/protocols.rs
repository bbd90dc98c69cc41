//! What is the same over HTTP/1.1 and HTTP/2.

use super::*;
use futures_util::{TryStreamExt, stream};
use http::header::CONTENT_LENGTH;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::client::conn::{http1, http2};
use tokio::sync::oneshot;

/// Sends a request over a connection of its own; returns the head of the answer, and its body.
async fn send<B>(peer: &Peer, protocol: &str, request: Request<B>) -> (Response<()>, Bytes)
where
    B: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + Unpin + 'static,
{
    let stream = TokioIo::new(peer.connect(protocol).await);
    let answer = if protocol == "h2" {
        let handshake = http2::handshake(TokioExecutor::new(), stream).await;
        let (mut sender, connection) = handshake.expect("a connection");
        tokio::spawn(connection);
        sender.send_request(request).await
    } else {
        let (mut sender, connection) = http1::handshake(stream).await.expect("a connection");
        tokio::spawn(connection);
        sender.send_request(request).await
    };
    let (parts, body) = answer.expect("an answer").into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    (Response::from_parts(parts, ()), body)
}

fn request(method: Method, path: &str) -> http::request::Builder {
    let uri = format!("https://a{path}");
    Request::builder()
        .method(method)
        .uri(uri)
        .header("host", "a")
}

/// Source: upstream's `MaxHeaderBytes`, which is the same for both.
#[test]
fn a_long_head_is_read() {
    let names: Vec<String> = (0..4_000).map(|index| format!("name-{index}")).collect();
    let selector = format!("app+in+({})", names.join(","));
    let path = format!("/api/v1/namespaces?labelSelector={selector}");
    served(Timeouts::default(), async |peer, _| {
        for protocol in ["http/1.1", "h2"] {
            let request = request(Method::GET, &path).body(Full::<Bytes>::default());
            let (answer, _) = send(&peer, protocol, request.expect("a request")).await;
            assert_eq!(answer.status(), 200, "{protocol}");
        }
    });
}

/// For more, hyper would allocate memory for each request.
#[test]
fn a_hundred_headers_are_read_by_either_protocol_and_more_by_http2_alone() {
    served(Timeouts::default(), async |peer, _| {
        for (protocol, headers, code) in [
            ("http/1.1", 100, 200),
            ("http/1.1", 101, 431),
            ("h2", 101, 200),
        ] {
            let mut request = request(Method::GET, "/livez");
            // One is the host.
            for _ in 1..headers {
                request = request.header("a", "b");
            }
            let request = request.body(Full::<Bytes>::default());
            let (answer, _) = send(&peer, protocol, request.expect("a request")).await;
            assert_eq!(answer.status(), code, "{protocol} {headers}");
        }
    });
}

#[test]
fn an_answer_to_head_has_the_length_of_a_body_and_none() {
    served(Timeouts::default(), async |peer, _| {
        for path in ["/livez", "/openapi/v3", "/nowhere"] {
            for protocol in ["http/1.1", "h2"] {
                let get = request(Method::GET, path).body(Full::<Bytes>::default());
                let (_, whole) = send(&peer, protocol, get.expect("a request")).await;
                let head = request(Method::HEAD, path).body(Full::<Bytes>::default());
                let (answer, body) = send(&peer, protocol, head.expect("a request")).await;
                assert!(body.is_empty(), "{protocol} {path}");
                let length = answer.headers().get(CONTENT_LENGTH);
                let expected = HeaderValue::from(whole.len());
                assert_eq!(length, Some(&expected), "{protocol} {path}");
            }
        }
    });
}

/// Source: RFC 9110, 8.6: a length that is stated must be that of the body.
#[test]
fn an_answer_to_head_states_no_length_that_is_not_known() {
    const DEFINITION: &str = r#"{"metadata": {"name": "as.b.c"}, "spec": {"group": "b.c",
        "scope": "Cluster", "names": {"plural": "as", "kind": "A"}, "versions": [{"name": "v1",
        "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}"#;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    served(Timeouts::default(), async |peer, _| {
        let post = request(Method::POST, definitions).body(Full::<Bytes>::from(DEFINITION));
        let (answer, _) = send(&peer, "h2", post.expect("a request")).await;
        assert_eq!(answer.status(), 201);
        for (path, is_known) in [
            ("/apis/b.c/v1/as", true),
            ("/apis/b.c/v1/as?watch=1", false),
        ] {
            for protocol in ["http/1.1", "h2"] {
                let head = request(Method::HEAD, path).body(Full::<Bytes>::default());
                let (answer, body) = send(&peer, protocol, head.expect("a request")).await;
                assert!(
                    answer.status() == 200 && body.is_empty(),
                    "{protocol} {path}"
                );
                let length = answer.headers().get(CONTENT_LENGTH);
                assert_eq!(length.is_some(), is_known, "{protocol} {path} {length:?}");
            }
        }
    });
}

/// curl shows an error of the stream, and not the answer, where that comes before the body was read.
#[test]
fn a_refusal_waits_a_little_for_the_body() {
    let timeouts = Timeouts {
        rest: PATIENCE,
        ..Timeouts::default()
    };
    served(timeouts, async |peer, _| {
        for protocol in ["http/1.1", "h2"] {
            let (body, late) = oneshot::channel::<Bytes>();
            let late = stream::once(late).map_ok(Frame::data);
            let post = request(Method::POST, "/api/v1/nothings").body(StreamBody::new(late));
            let sent = async {
                tokio::time::sleep(SHORT).await;
                body.send("{}".into()).expect("the stream is open");
            };
            let answer = send(&peer, protocol, post.expect("a request"));
            let ((answer, _), ()) = tokio::join!(answer, sent);
            assert_eq!(answer.status(), 404, "{protocol}");
        }
    });
}

#[test]
fn a_request_names_one_host() {
    served(Timeouts::default(), async |peer, _| {
        for (request, code) in [
            ("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n", "HTTP/1.1 200"),
            ("GET /livez HTTP/1.0\r\n\r\n", "HTTP/1.0 200"),
            ("GET /livez HTTP/1.1\r\n\r\n", "HTTP/1.1 400"),
            ("GET /api HTTP/1.1\r\n\r\n", "HTTP/1.1 400"),
            (
                "GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
                "HTTP/1.1 400",
            ),
            (
                "GET /livez HTTP/1.0\r\nhost: a\r\nhost: a\r\n\r\n",
                "HTTP/1.0 400",
            ),
        ] {
            let mut stream = peer.connect_unauthenticated("http/1.1").await;
            stream.write_all(request.as_bytes()).await.expect("sent");
            let said = read(&mut stream, "\r\n\r\n").await;
            assert!(said.starts_with(code), "{request}{said}");
            if code.ends_with("400") && code.starts_with("HTTP/1.1") {
                assert!(said.contains("connection: close\r\n"), "{said}");
            }
        }
    });
}
