//! Resolves names to addresses. The system's resolver blocks a thread for as long as a name server is silent,
//! even if nobody waits for the result any more. So lookups get only a few of the threads that everything else
//! needs too, and each name at most one of them.

use crate::unpoisoned::unpoisoned;
use anyhow::{Context, Result, anyhow, bail};
use futures_util::TryFutureExt;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

/// The most names that are looked up at the same time, including those that nobody waits for any more.
const LOOKUPS_MAX: usize = 16;

/// The least time for an address, if there is so much left. Source: `partialDeadline` in Go's `net`.
const SHARE_MIN: Duration = Duration::from_secs(2);

/// Resolves `host:port`, and blocks meanwhile.
type Resolve = fn(&str) -> io::Result<Vec<SocketAddr>>;
/// Connects to an address.
type Connect = fn(SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>>;
/// `None` for as long as the result is not known.
type Resolution = Option<Result<Vec<SocketAddr>, Arc<io::Error>>>;

/// The resolver, and the lookups that are under way.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    resolve: Resolve,
    connect: Connect,
    seats: Arc<Semaphore>,
    under_way: Arc<Mutex<BTreeMap<String, watch::Receiver<Resolution>>>>,
}

impl Default for Lookup {
    fn default() -> Self {
        Self::with(
            |address| Ok(address.to_socket_addrs()?.collect()),
            |address| Box::pin(TcpStream::connect(address)),
        )
    }
}

impl Lookup {
    fn with(resolve: Resolve, connect: Connect) -> Self {
        Self {
            resolve,
            connect,
            seats: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            under_way: Arc::default(),
        }
    }

    /// Connects to the first of the hosts that accepts. As nothing was sent to the others, each may be tried.
    pub(super) async fn connect_any(
        &self,
        addresses: &[String],
        limit: Duration,
    ) -> Result<TcpStream> {
        let end = Instant::now() + limit;
        let connected = first_of(addresses, end, |one, share| self.connect(one, share));
        connected
            .await
            .map_err(|last| last.unwrap_or_else(|| anyhow!("there is no address")))
    }

    /// Connects to the first of the addresses of a host that accepts.
    async fn connect(&self, address: &str, limit: Duration) -> Result<TcpStream> {
        let dialled = || format!("dial tcp {address}");
        let end = Instant::now() + limit;
        let found = self.find(address).await.with_context(dialled)?;
        let connect = |one: &SocketAddr, _| (self.connect)(*one).map_err(anyhow::Error::from);
        match first_of(&found, end, connect).await {
            Ok(stream) => Ok(stream),
            Err(Some(error)) => Err(error).with_context(dialled),
            Err(None) => bail!("dial tcp {address}: there is no address of that name"),
        }
    }

    async fn find(&self, address: &str) -> Result<Vec<SocketAddr>> {
        if let Ok(known) = address.parse() {
            return Ok(vec![known]);
        }
        let mut result = self.lookup(address);
        let found = result.wait_for(Option::is_some).await;
        match found.ok().and_then(|found| Resolution::clone(&found)) {
            Some(found) => Ok(found?),
            None => Err(anyhow!("the lookup panicked")),
        }
    }

    /// The result of looking up a name, shared by all who ask while the lookup is under way.
    fn lookup(&self, address: &str) -> watch::Receiver<Resolution> {
        let mut under_way = unpoisoned(self.under_way.lock());
        let known = under_way.get(address);
        if let Some(known) = known.filter(|known| known.has_changed().is_ok()) {
            return known.clone();
        }
        let (sender, result) = watch::channel(None);
        under_way.insert(address.to_owned(), result.clone());
        let (lookup, address) = (self.clone(), address.to_owned());
        tokio::spawn(async move {
            let seat = lookup.seats.acquire_owned().await;
            let look_up = move || {
                let found = (lookup.resolve)(&address).map_err(Arc::new);
                unpoisoned(lookup.under_way.lock()).remove(&address);
                sender.send_replace(Some(found));
                drop(seat);
            };
            tokio::task::spawn_blocking(look_up).await
        });
        result
    }
}

/// What the first of these comes to that connects before this time, of which each has a share; otherwise why the last did
/// not, if there is any.
async fn first_of<'a, T, C>(
    all: &'a [T],
    end: Instant,
    connect: impl Fn(&'a T, Duration) -> C,
) -> Result<TcpStream, Option<anyhow::Error>>
where
    C: Future<Output = Result<TcpStream>>,
{
    let mut last = None;
    for (one, left) in all.iter().zip((1..=all.len()).rev()) {
        let share = share(end - Instant::now(), left);
        match in_share(share, left, connect(one, share)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last)
}

/// The time that the first of so many takes at most.
fn share(remaining: Duration, left: usize) -> Duration {
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    (remaining / left).max(remaining.min(SHARE_MIN))
}

/// What comes of it in its share of the time. The last of all has as long as its caller waits.
async fn in_share(
    share: Duration,
    left: usize,
    connected: impl Future<Output = Result<TcpStream>>,
) -> Result<TcpStream> {
    if left == 1 {
        return connected.await;
    }
    let connected = timeout(share, connected).await;
    connected.unwrap_or_else(|_| Err(anyhow!("i/o timeout")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, TcpListener};
    use std::sync::Condvar;
    use tokio::task::spawn_blocking;

    const SILENT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

    /// The silent address of the port, and one that may accept.
    #[expect(clippy::unnecessary_wraps, reason = "what looks up a name may fail")]
    fn two(address: &str) -> io::Result<Vec<SocketAddr>> {
        let port = address.rsplit(':').next().unwrap_or_default();
        let at = |ip: Ipv4Addr| (IpAddr::from(ip), port.parse().expect("a port")).into();
        Ok([SILENT, Ipv4Addr::LOCALHOST].map(at).into())
    }

    fn but_for_the_silent(address: SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> {
        if address.ip() == IpAddr::from(SILENT) {
            return Box::pin(std::future::pending());
        }
        Box::pin(async move {
            let stream = std::net::TcpStream::connect(address)?;
            stream.set_nonblocking(true)?;
            TcpStream::from_std(stream)
        })
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_does_not_answer_leaves_the_others_their_time() {
        let lookup = Lookup::with(two, but_for_the_silent);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        for (addresses, seconds) in [
            (
                vec![format!("{SILENT}:{port}"), format!("127.0.0.1:{port}")],
                5,
            ),
            (vec![format!("both.example:{port}")], 5),
            (
                vec![format!("{SILENT}:{port}"), format!("both.example:{port}")],
                5 + 2,
            ),
        ] {
            let begun = Instant::now();
            let limit = Duration::from_secs(10);
            let connected = timeout(limit, lookup.connect_any(&addresses, limit)).await;
            connected.expect("in time").expect("connected");
            assert_eq!(begun.elapsed().as_secs(), seconds, "{addresses:?}");
        }
        let told = [SILENT, SILENT].map(|ip| format!("{ip}:{port}"));
        let limit = Duration::from_secs(3);
        let none = timeout(limit, lookup.connect_any(&told, limit)).await;
        assert!(none.is_err(), "the last has all that is left");
    }

    #[test]
    fn a_share_is_no_shorter_than_two_seconds_if_these_are_left() {
        for (remaining, left, seconds) in [(10, 2, 5), (10, 1, 10), (3, 3, 2), (1, 2, 1), (0, 2, 0)]
        {
            let seconds = Duration::from_secs(seconds);
            assert_eq!(share(Duration::from_secs(remaining), left), seconds);
        }
    }

    /// Whether name servers answer.
    static ANSWERS: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

    /// Blocks until name servers answer; for one name there is always an answer.
    fn silent(address: &str) -> io::Result<Vec<SocketAddr>> {
        if !address.starts_with("here") {
            let (answers, came) = &ANSWERS;
            let answers = answers.lock().expect("unpoisoned");
            let waited = came.wait_while(answers, |answers| !*answers);
            drop(waited.expect("unpoisoned"));
        }
        Err(io::Error::other(format!("lookup {address}: no such host")))
    }

    #[test]
    fn a_name_server_that_is_silent_takes_no_thread_that_others_need() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(LOOKUPS_MAX + 1)
            .build()
            .expect("a runtime");
        let lookup = Lookup::with(silent, |_| Box::pin(std::future::pending()));
        let patience = Duration::from_mins(2);
        runtime.block_on(async {
            let unanswered = async |address: &str| {
                let waited =
                    timeout(Duration::from_millis(1), lookup.connect(address, patience)).await;
                assert!(waited.is_err(), "nobody answers");
            };
            for _ in 0..2 * LOOKUPS_MAX {
                unanswered("nowhere.example:443").await;
            }
            let other = timeout(patience, lookup.connect("here.example:443", patience)).await;
            let told = format!("{:#}", other.expect("told").expect_err("nobody"));
            let dialled = "dial tcp here.example:443: lookup here.example:443: no such host";
            assert_eq!(told, dialled);
            for index in 0..2 * LOOKUPS_MAX {
                unanswered(&format!("nowhere{index}.example:443")).await;
            }
            let others = timeout(patience, spawn_blocking(|| ())).await;
            others.expect("they have their turn").expect("done");
            *ANSWERS.0.lock().expect("unpoisoned") = true;
            ANSWERS.1.notify_all();
            let told = lookup.connect("nowhere.example:443", patience).await;
            assert!(told.is_err());
            let nothing_is_kept = async {
                while !unpoisoned(lookup.under_way.lock()).is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            timeout(patience, nothing_is_kept).await.expect("told");
        });
    }
}
