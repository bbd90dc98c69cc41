//! Watchers of one collection: each reads its stream and notes how old every event was when it
//! arrived. Events carry the time at which their write was sent, so one clock measures both ends.

use crate::requests::MAPS;
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use hindsight_benches::client::{ConnectOptions, Connection, Target};
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use memchr::memmem::Finder;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// The text that precedes the time in an event.
const MARK: &str = "\"sent\":\"";
/// How long a watcher waits for the next event before the measurement fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time zero of the clock that events carry.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds since `EPOCH`; events write them with twenty digits.
pub(crate) fn clock() -> u64 {
    u64::try_from(EPOCH.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// How watchers are spread over connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) watchers: usize,
    /// As many as watchers means HTTP/1.1; fewer means HTTP/2 with several streams each.
    pub(crate) connections: usize,
}

impl Spread {
    pub(crate) fn name(self) -> &'static str {
        if self.is_http2() { "h2" } else { "h1" }
    }

    fn is_http2(self) -> bool {
        self.connections < self.watchers
    }
}

/// What one watcher saw.
pub(crate) struct Seen {
    pub(crate) delays: Vec<Duration>,
    pub(crate) last: Instant,
}

/// Watchers whose streams are open but not read yet.
pub(crate) struct Watchers {
    streams: Vec<Incoming>,
    /// Kept because an HTTP/2 connection ends with its last handle.
    connections: Vec<Connection>,
}

impl Watchers {
    /// Opens all streams; from then on every event is sent to each watcher.
    pub(crate) async fn open(target: &Arc<Target>, spread: Spread) -> Result<Self> {
        let mut watchers = Self {
            streams: Vec::with_capacity(spread.watchers),
            connections: Vec::new(),
        };
        let path = path(target).await?;
        let options = ConnectOptions {
            http2: spread.is_http2(),
            ..ConnectOptions::default()
        };
        for _ in 0..spread.connections {
            let mut connection = target.dial(options).await?;
            for _ in 0..spread.watchers / spread.connections {
                watchers.streams.push(stream(&mut connection, &path).await?);
            }
            watchers.connections.push(connection);
        }
        Ok(watchers)
    }

    /// Lets each watcher read until it has seen this number of events.
    pub(crate) fn read(self, events: usize) -> ReadingWatchers {
        let tasks = self.streams.into_iter();
        ReadingWatchers {
            tasks: tasks
                .map(|stream| tokio::spawn(follow(stream, events)))
                .collect(),
            connections: self.connections,
        }
    }
}

/// Watchers that are reading their streams.
pub(crate) struct ReadingWatchers {
    tasks: Vec<JoinHandle<Result<Seen>>>,
    connections: Vec<Connection>,
}

impl ReadingWatchers {
    /// Waits until all have seen everything.
    pub(crate) async fn finish(self) -> Result<Vec<Seen>> {
        let mut all = Vec::with_capacity(self.tasks.len());
        for task in self.tasks {
            all.push(task.await??);
        }
        drop(self.connections);
        Ok(all)
    }
}

/// Returns the path of a watch that starts at the current revision.
pub(crate) async fn path(target: &Target) -> Result<String> {
    let mut connection = target.connect().await?;
    let list = format!("{MAPS}?limit=1");
    let answer = connection.send_ok(Method::GET, &list, Bytes::new()).await?;
    let list: serde_json::Value = serde_json::from_slice(&answer)?;
    let revision = list.pointer("/metadata/resourceVersion");
    let revision = revision.and_then(serde_json::Value::as_str);
    let revision = revision.context("a list without a revision")?;
    Ok(format!("{MAPS}?watch=true&resourceVersion={revision}"))
}

/// Opens one watch.
pub(crate) async fn stream(connection: &mut Connection, path: &str) -> Result<Incoming> {
    let response = connection.open(Method::GET, path, Bytes::new()).await?;
    let status = response.status();
    ensure!(status.is_success(), "a watch was refused: {status}");
    Ok(response.into_body())
}

async fn follow(mut stream: Incoming, events: usize) -> Result<Seen> {
    let finder = Finder::new(MARK);
    let mut delays = Vec::with_capacity(events);
    let mut rest: Vec<u8> = Vec::new();
    while delays.len() < events {
        let next = tokio::time::timeout(PATIENCE, stream.frame());
        let Ok(Some(frame)) = next.await else {
            let text = String::from_utf8_lossy(&rest);
            bail!("a watch ended after {} of {events}: {text}", delays.len());
        };
        let Ok(bytes) = frame?.into_data() else {
            continue;
        };
        let now = clock();
        rest.extend_from_slice(&bytes);
        let whole = memchr::memrchr(b'\n', &rest).map_or(0, |at| at + 1);
        let (lines, _) = rest.split_at(whole);
        for at in finder.find_iter(lines) {
            let sent = lines.get(at + MARK.len()..at + MARK.len() + 20);
            let sent = sent.and_then(|digits| std::str::from_utf8(digits).ok());
            let sent: u64 = sent.context("an event without a time")?.parse()?;
            delays.push(Duration::from_nanos(now.saturating_sub(sent)));
        }
        if memchr::memmem::find(lines, b"\"type\":\"ERROR\"").is_some() {
            bail!("a watch failed: {}", String::from_utf8_lossy(lines));
        }
        rest.drain(..whole);
    }
    Ok(Seen {
        delays,
        last: Instant::now(),
    })
}
