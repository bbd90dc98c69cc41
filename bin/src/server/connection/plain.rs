//! Clients that send HTTP without TLS.

use std::io::{Error, ErrorKind, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How a request begins that no handshake begins with. Source: Go's `tlsRecordHeaderLooksLikeHTTP`.
const BEGINNINGS: [[u8; 5]; 5] = [*b"GET /", *b"HEAD ", *b"POST ", *b"PUT /", *b"OPTIO"];
/// As Go's `net/http` says it.
const ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
/// How much of such a request is read at most.
const REQUEST_BYTES: usize = 8 << 10;

/// Returns the connection, unless it begins with a request: then the client is told what is wrong.
pub(super) async fn refuse_http(mut stream: TcpStream) -> Result<TcpStream> {
    let mut begin = [0; 5];
    stream.peek(&mut begin).await?;
    if !BEGINNINGS.contains(&begin) {
        return Ok(stream);
    }
    // A connection that is closed with something unread takes the answer away from the client. Not an array: every
    // connection would have room for it for as long as it lasts.
    let mut request = vec![0; REQUEST_BYTES];
    let read = stream.read(&mut request).await?;
    stream.write_all(ANSWER).await?;
    stream.shutdown().await?;
    let why = format!("a client sent {read} bytes of HTTP, and not of TLS");
    Err(Error::new(ErrorKind::InvalidData, why))
}
