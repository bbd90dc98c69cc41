//! Clients that write without pause and record every answer.

use crate::dice::Dice;
use crate::server::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const CLIENTS: usize = 8;
/// Names that a client uses; it creates, changes and deletes objects under them.
const NAMES: u64 = 12;
/// The most bytes of a body: mostly few, and now and then more than fits into a frame beside others.
const BYTES_MAX: u64 = 1000;
const BYTES_MANY: u64 = 54_000;

/// The `resourceVersion` of every object, by name.
pub type Stored = BTreeMap<String, String>;

/// What each name that was written must show.
#[derive(Debug, Default)]
pub struct Ledger {
    names: BTreeMap<String, Known>,
    /// How many writes were answered.
    pub answered: u64,
    /// When the newest answered write was begun, and when the last answer came.
    pub newest: Option<(SystemTime, SystemTime)>,
}

#[derive(Debug, Clone)]
enum Known {
    /// A client was told that the object has this version, or does not exist.
    Answered(Option<String>),
    /// A request was not answered; the object had this version before it.
    Unanswered(Request, Option<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Write,
    Delete,
}

impl Ledger {
    /// Checks that everything is as it was answered, and that nothing exists that no client sent. A
    /// request that was not answered took effect or did not; which of both is found is then expected
    /// to stay so.
    pub fn check(&mut self, server: &Server) {
        let stored = stored(server);
        for (name, known) in &mut self.names {
            let found = stored.get(name);
            match known {
                Known::Answered(version) => {
                    assert_eq!(found, version.as_ref(), "{name} was answered");
                }
                Known::Unanswered(request, before) => {
                    let happened = match request {
                        Request::Write => found.is_some() && found != before.as_ref(),
                        Request::Delete => found.is_none(),
                    };
                    assert!(
                        happened || found == before.as_ref(),
                        "{name}: {request:?}, {found:?}"
                    );
                }
            }
            *known = Known::Answered(found.cloned());
        }
        let is_own = |name: &&String| name.as_str() == "kube-root-ca.crt";
        let mut others = stored.keys().filter(|name| !self.names.contains_key(*name));
        assert_eq!(others.find(|name| !is_own(name)), None, "nobody wrote it");
    }

    /// Adds what other clients wrote.
    pub fn extend(&mut self, other: Self) {
        self.names.extend(other.names);
        self.answered += other.answered;
        self.newest = latest(self.newest, other.newest);
    }

    fn current_version(&self, name: &str) -> Option<String> {
        match self.names.get(name) {
            Some(Known::Answered(version)) => version.clone(),
            Some(Known::Unanswered(..)) | None => None,
        }
    }

    fn note_request(&mut self, name: &str, request: Request) {
        let before = self.current_version(name);
        self.names
            .insert(name.into(), Known::Unanswered(request, before));
    }

    fn note_answer(&mut self, name: &str, version: Option<String>, begun: SystemTime) {
        self.names.insert(name.into(), Known::Answered(version));
        self.answered += 1;
        self.newest = latest(self.newest, Some((begun, SystemTime::now())));
    }
}

/// The later of each of the two moments.
fn latest<T: Ord + Copy>(one: Option<(T, T)>, other: Option<(T, T)>) -> Option<(T, T)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.max(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Clients that are writing to one server.
#[derive(Debug)]
pub struct Recorder {
    runtime: Runtime,
    tasks: JoinSet<()>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    ledger: Mutex<Ledger>,
    is_over: AtomicBool,
}

impl Recorder {
    /// Starts the clients; every name begins with the prefix.
    pub fn start(server: &Server, prefix: &str, seed: u64) -> Self {
        Self::with_clients(CLIENTS, server, prefix, seed)
    }

    /// Starts this many clients, each of which waits for an answer before its next request.
    pub fn with_clients(clients: usize, server: &Server, prefix: &str, seed: u64) -> Self {
        let runtime = runtime();
        let shared = Arc::new(Shared::default());
        let mut tasks = JoinSet::new();
        for client in 0..clients {
            let prefix = format!("{prefix}-{client}");
            let dice = Dice(seed.wrapping_mul(31).wrapping_add(client as u64));
            let work = work(maps(server), prefix, dice, Arc::clone(&shared));
            tasks.spawn_on(work, runtime.handle());
        }
        Self {
            runtime,
            tasks,
            shared,
        }
    }

    /// Stops the clients, and returns what was sent and answered. Panics if a client was told that a write of it was wrong.
    pub fn stop(mut self) -> Ledger {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.runtime.block_on(async {
            while let Some(ended) = self.tasks.join_next().await {
                ended.expect("no client was refused");
            }
        });
        std::mem::take(&mut *self.shared.ledger.lock().expect("unpoisoned"))
    }
}

/// The ConfigMaps that a server holds.
pub fn stored(server: &Server) -> Stored {
    let listed = async {
        let maps = maps(server).await;
        maps.list(&ListParams::default()).await.expect("listed")
    };
    let one = |map: ConfigMap| {
        let revision = map.metadata.resource_version.unwrap_or_default();
        (map.metadata.name.unwrap_or_default(), revision)
    };
    runtime()
        .block_on(listed)
        .items
        .into_iter()
        .map(one)
        .collect()
}

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

fn maps(server: &Server) -> impl Future<Output = Api<ConfigMap>> + use<> {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).expect("a kubeconfig");
    async move {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let client = Client::try_from(config.expect("a usable kubeconfig"));
        Api::default_namespaced(client.expect("a client"))
    }
}

/// Writes until it is over, or the server or its log fails.
async fn work(
    maps: impl Future<Output = Api<ConfigMap>>,
    prefix: String,
    mut dice: Dice,
    shared: Arc<Shared>,
) {
    let maps = maps.await;
    let ledger = || shared.ledger.lock().expect("unpoisoned");
    while !shared.is_over.load(Ordering::SeqCst) {
        let name = format!("{prefix}-{}", dice.roll(NAMES));
        let there = ledger().current_version(&name);
        let begun = SystemTime::now();
        let version = if there.is_some() && dice.roll(3) == 0 {
            ledger().note_request(&name, Request::Delete);
            let deleted = maps.delete(&name, &DeleteParams::default()).await;
            deleted.map(|_| None)
        } else {
            ledger().note_request(&name, Request::Write);
            let map = map(&name, there.as_deref(), &mut dice);
            let params = PostParams::default();
            let written = match there {
                Some(_) => maps.replace(&name, &params, &map).await,
                None => maps.create(&params, &map).await,
            };
            written.map(|map| map.metadata.resource_version)
        };
        let version = match version {
            Ok(version) => version,
            Err(kube::Error::Api(status)) if status.code < 500 => {
                panic!("{name}: a sound write was refused: {status:?}")
            }
            Err(_) => return,
        };
        ledger().note_answer(&name, version, begun);
    }
}

/// An object whose text hardly compresses.
fn map(name: &str, revision: Option<&str>, dice: &mut Dice) -> ConfigMap {
    let most = if dice.roll(20) == 0 {
        BYTES_MANY
    } else {
        BYTES_MAX
    };
    let letter = |dice: &mut Dice| char::from(b'!' + u8::try_from(dice.roll(90)).expect("small"));
    let text: String = (0..dice.roll(most)).map(|_| letter(dice)).collect();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            resource_version: revision.map(Into::into),
            ..ObjectMeta::default()
        },
        data: Some([("k".to_owned(), text)].into()),
        ..ConfigMap::default()
    }
}
