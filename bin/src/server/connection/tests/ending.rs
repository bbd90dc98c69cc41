//! How connections end: with the server, for want of requests, and with the certificate of their client.

use super::*;
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, date_time_ymd};
use std::time::SystemTime;
use tokio::sync::oneshot;

/// HTTP/2, and settings that change nothing.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// What a `GOAWAY` that still lets requests in begins with.
const GOAWAY: &str = "\x07\0\0\0\0\0\x7f";

/// Runs a server that lets requests in progress end within this time, and a client that stops it.
fn stopped_within<F: Future<Output = ()>>(
    ending: Duration,
    talk: impl FnOnce(Peer, oneshot::Sender<()>) -> F,
) {
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move { stopped.await.unwrap_or_default() };
    let timeouts = Timeouts {
        ending,
        ..Timeouts::default()
    };
    let talk = |peer, _| talk(peer, stop);
    served_until(shutdown, Limits::default(), timeouts, talk);
}

#[test]
fn a_stopping_server_does_not_wait_for_connections_without_a_request() {
    stopped_within(PATIENCE * 2, async |peer, stop| {
        let mut silent = TcpStream::connect(peer.address).await.expect("connected");
        // It will not answer the question that goes before the end of HTTP/2.
        let mut mute = peer.connect("h2").await;
        mute.write_all(PREFACE).await.expect("sent");
        let mut idle = peer.connect("http/1.1").await;
        idle.write_all(PROBE.as_bytes()).await.expect("sent");
        read(&mut idle, "200 OK").await;
        // Once a later connection is served, these were accepted.
        expect_code(peer.connect("http/1.1").await, "/livez", "", "200").await;
        stop.send(()).expect("it runs");
        assert_eq!(read(&mut silent, "").await, "");
        read(&mut mute, "").await;
        read(&mut idle, "").await;
    });
}

#[test]
fn a_watch_comes_to_its_end_with_the_server_and_holds_it_up_no_longer_if_it_is_not_read() {
    stopped_within(PATIENCE * 2, async |peer, stop| {
        let mut watch = peer.connect("http/1.1").await;
        watch.write_all(WATCH.as_bytes()).await.expect("sent");
        read(&mut watch, "kube-system").await;
        let stream = TokioIo::new(peer.connect("h2").await);
        let mut client = http2::Builder::new(TokioExecutor::new());
        let client = client.initial_stream_window_size(0).handshake(stream);
        let (mut sender, connection) = client.await.expect("a connection");
        let connection = tokio::spawn(connection);
        let unread = Request::get("https://a/api/v1/namespaces?watch=1");
        let unread = unread.body(Full::<Bytes>::default()).expect("a request");
        let unread = sender.send_request(unread).await.expect("a head");
        stop.send(()).expect("it runs");
        let said = read(&mut watch, "").await;
        assert!(said.ends_with("0\r\n\r\n"), "{said}");
        let ended = timeout(PATIENCE, connection).await.expect("in time");
        drop((ended, unread));
    });
}

/// Sends half of a write, and returns once the server reads it.
async fn write_half(peer: &Peer) -> TlsStream<TcpStream> {
    let mut stream = peer.connect("http/1.1").await;
    let asks = "\r\nexpect: 100-continue\r\n\r\n";
    let head = HALF_A_BODY.replacen("\r\n\r\n", asks, 1);
    stream.write_all(head.as_bytes()).await.expect("sent");
    read(&mut stream, "100 Continue\r\n\r\n").await;
    stream
}

#[test]
fn a_request_in_progress_is_answered_by_a_stopping_server_if_it_comes_soon() {
    stopped_within(PATIENCE * 2, async |peer, stop| {
        let mut write = write_half(&peer).await;
        stop.send(()).expect("it runs");
        // As long as a connection has on which nothing is in progress, and again.
        tokio::time::sleep(CLOSING * 2).await;
        let rest = format!("{:26}", r#""name": "late"}}"#);
        write.write_all(rest.as_bytes()).await.expect("sent");
        let said = read(&mut write, "").await;
        assert!(said.starts_with("HTTP/1.1 201"), "{said}");
    });
    stopped_within(SHORT, async |peer, stop| {
        let mut write = write_half(&peer).await;
        stop.send(()).expect("it runs");
        assert_eq!(read(&mut write, "").await, "");
    });
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("a short frame");
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

fn probe(stream: u8) -> Vec<u8> {
    frame(1, 5, stream, b"\x82\x87\x41\x01a\x04\x06/livez")
}

/// Sends this on a connection, and the head of a write once the server says that it ends because nothing else came.
/// Returns once the server has the write.
async fn write_across_the_end(peer: &Peer, sent: &[u8]) -> TlsStream<TcpStream> {
    let head = b"\x83\x87\x41\x01a\x04\x12/api/v1/namespaces\x0f\x10\x10application/json";
    // What comes later on the connection is answered: so the write was there in time.
    let crossing = [frame(1, 4, 3, head), probe(5)].concat();
    let answered = "\0\0\0\x05ok";
    loop {
        let mut stream = peer.connect("h2").await;
        stream.write_all(sent).await.ok();
        read(&mut stream, GOAWAY).await;
        // On a busy machine the connection may have come to its end before this.
        stream.write_all(&crossing).await.ok();
        if read(&mut stream, answered).await.contains(answered) {
            return stream;
        }
    }
}

#[test]
fn a_request_that_crosses_the_end_of_an_idle_connection_is_answered() {
    let unused = Timeouts {
        first: SHORT,
        ending: PATIENCE * 2,
        ..Timeouts::default()
    };
    let used = Timeouts {
        idle: SHORT,
        ending: PATIENCE * 2,
        ..Timeouts::default()
    };
    for (timeouts, requests) in [(unused, vec![]), (used, probe(1))] {
        served(timeouts, async |peer, _| {
            let sent = [PREFACE, &requests].concat();
            let write = write_across_the_end(&peer, &sent);
            let mut write = timeout(PATIENCE * 2, write).await.expect("in time");
            // As long as a connection has on which nothing is in progress, and again.
            tokio::time::sleep(CLOSING * 2).await;
            let body = frame(0, 1, 3, br#"{"metadata": {"name": "late"}}"#);
            write.write_all(&body).await.expect("sent");
            let said = read(&mut write, r#""name":"late""#).await;
            assert!(said.contains(r#""name":"late""#), "{said}");
        });
    }
}

/// A certificate of the authority that ends so many seconds from now.
fn ending_certificate(peer: &Peer, seconds: u64) -> (String, String) {
    let read = |name| std::fs::read_to_string(peer.directory.join(name)).expect("readable");
    let key = || KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority
        .distinguished_name
        .push(DnType::CommonName, "hindsight-ca");
    let signer = KeyPair::from_pem(&read("ca.key")).expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.distinguished_name.push(DnType::CommonName, "short");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let ends = now.expect("after 1970") + Duration::from_secs(seconds);
    params.not_after = date_time_ymd(1970, 1, 1) + ends;
    let own = key();
    let certificate = params.signed_by(&own, &Issuer::new(authority, signer));
    (certificate.expect("signed").pem(), own.serialize_pem())
}

/// The codes of the answers on one connection: the first, and the first that is another.
async fn codes(peer: &Peer) -> (u16, u16) {
    let stream = TokioIo::new(peer.connect("http/1.1").await);
    let (mut sender, connection) = http1::handshake(stream).await.expect("a connection");
    tokio::spawn(connection);
    let mut first = None;
    loop {
        let request = Request::get("/api/v1/namespaces/default").header("host", "a");
        let request = request.body(Full::<Bytes>::default()).expect("a request");
        let answer = sender.send_request(request).await.expect("an answer");
        let code = answer.status().as_u16();
        answer.into_body().collect().await.expect("a whole body");
        let first = *first.get_or_insert(code);
        if code != first || code == 401 {
            return (first, code);
        }
        tokio::time::sleep(SHORT).await;
    }
}

#[test]
fn a_connection_outlives_the_certificate_of_its_client_and_the_client_is_unknown_then() {
    served(Timeouts::default(), async |mut peer, _| {
        let mut found = (401, 401);
        let mut seconds = 1;
        // Where a handshake takes long, a certificate may have ended before the first request.
        while found.0 == 401 && seconds < 64 {
            seconds *= 2;
            peer.pki.admin = ending_certificate(&peer, seconds);
            found = timeout(PATIENCE * 2, codes(&peer)).await.expect("in time");
        }
        assert_eq!(found, (200, 401));
    });
}
