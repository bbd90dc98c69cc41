//! Resolves names to addresses. The system's resolver blocks a thread for as long as a name server is silent,
//! even if nobody waits for the result any more. So lookups get only a few of the threads that everything else
//! needs too, and each name at most one of them.

use crate::unpoisoned::unpoisoned;
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

/// The most names that are looked up at the same time, including those that nobody waits for any more.
const LOOKUPS_MAX: usize = 16;

/// Resolves `host:port`, and blocks meanwhile.
type Resolve = fn(&str) -> io::Result<Vec<SocketAddr>>;
/// `None` for as long as the result is not known.
type Resolution = Option<Result<Vec<SocketAddr>, Arc<io::Error>>>;

/// The resolver, and the lookups that are under way.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    resolve: Resolve,
    places: Arc<Semaphore>,
    under_way: Arc<Mutex<BTreeMap<String, watch::Receiver<Resolution>>>>,
}

impl Default for Lookup {
    fn default() -> Self {
        Self::with(|address| Ok(address.to_socket_addrs()?.collect()))
    }
}

impl Lookup {
    fn with(resolve: Resolve) -> Self {
        Self {
            resolve,
            places: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            under_way: Arc::default(),
        }
    }

    /// Connects to the first of the hosts that accepts. As nothing was sent to the others, each may be tried.
    pub(super) async fn connect_any(&self, addresses: &[String]) -> Result<TcpStream> {
        let mut last = anyhow!("there is no address");
        for address in addresses {
            match self.connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to the first of the addresses of a host that accepts.
    async fn connect(&self, address: &str) -> Result<TcpStream> {
        let dialled = || format!("dial tcp {address}");
        let mut last = None;
        for found in self.find(address).await.with_context(dialled)? {
            match TcpStream::connect(found).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Err(error).with_context(dialled),
            None => bail!("dial tcp {address}: there is no address of that name"),
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
            let place = lookup.places.acquire_owned().await;
            let look_up = move || {
                let found = (lookup.resolve)(&address).map_err(Arc::new);
                unpoisoned(lookup.under_way.lock()).remove(&address);
                sender.send_replace(Some(found));
                drop(place);
            };
            tokio::task::spawn_blocking(look_up).await
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Condvar;
    use std::time::Duration;
    use tokio::task::spawn_blocking;
    use tokio::time::timeout;

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
        let lookup = Lookup::with(silent);
        runtime.block_on(async {
            let unanswered = async |address: &str| {
                let waited = timeout(Duration::from_millis(1), lookup.connect(address)).await;
                assert!(waited.is_err(), "nobody answers");
            };
            let patience = Duration::from_mins(2);
            for _ in 0..2 * LOOKUPS_MAX {
                unanswered("nowhere.example:443").await;
            }
            let other = timeout(patience, lookup.connect("here.example:443")).await;
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
            assert!(lookup.connect("nowhere.example:443").await.is_err());
            let nothing_is_kept = async {
                while !unpoisoned(lookup.under_way.lock()).is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            timeout(patience, nothing_is_kept).await.expect("told");
        });
    }
}
