//! From a name to addresses. The system's resolver blocks a thread for as long as a name server is
//! silent, whoever has stopped waiting for it: so it has few of those that all else needs too.

use anyhow::{Context, Result, bail};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// Names that are looked up at one time, those that nobody waits for any more too.
const LOOKUPS_MAX: usize = 16;

/// Finds who is behind `host:port`, and blocks meanwhile.
pub(super) type Resolve = fn(&str) -> io::Result<Vec<SocketAddr>>;

/// The resolver, and how many ask it.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    resolve: Resolve,
    places: Arc<Semaphore>,
}

impl Default for Lookup {
    fn default() -> Self {
        Self::with(|address| Ok(address.to_socket_addrs()?.collect()))
    }
}

impl Lookup {
    pub(super) fn with(resolve: Resolve) -> Self {
        Self {
            resolve,
            places: Arc::new(Semaphore::new(LOOKUPS_MAX)),
        }
    }

    /// To the first of its addresses that answers.
    pub(super) async fn connect(&self, address: &str) -> Result<TcpStream> {
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
        let place = Arc::clone(&self.places).acquire_owned().await?;
        let (resolve, address) = (self.resolve, address.to_owned());
        let look_up = move || {
            let found = resolve(&address);
            drop(place);
            found
        };
        Ok(tokio::task::spawn_blocking(look_up).await??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;
    use tokio::task::spawn_blocking;
    use tokio::time::timeout;

    /// Whether name servers answer.
    static ANSWERS: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

    fn silent(address: &str) -> io::Result<Vec<SocketAddr>> {
        let (answers, came) = &ANSWERS;
        let answers = answers.lock().expect("unpoisoned");
        let waited = came.wait_while(answers, |answers| !*answers);
        drop(waited.expect("unpoisoned"));
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
            for _ in 0..2 * LOOKUPS_MAX {
                let asked = lookup.connect("nowhere.example:443");
                let waited = timeout(Duration::from_millis(1), asked).await;
                assert!(waited.is_err(), "nobody answers");
            }
            let others = timeout(Duration::from_mins(2), spawn_blocking(|| ())).await;
            others.expect("they have their turn").expect("done");
            *ANSWERS.0.lock().expect("unpoisoned") = true;
            ANSWERS.1.notify_all();
            let told = lookup.connect("nowhere.example:443").await;
            let told = format!("{:#}", told.expect_err("there is nobody"));
            assert_eq!(
                told,
                "dial tcp nowhere.example:443: lookup nowhere.example:443: no such host"
            );
        });
    }
}
