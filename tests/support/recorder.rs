//! Clients that write without pause and remember every answer.

use crate::server::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const CLIENTS: usize = 8;

/// Answers by name of the object: its revision.
pub type Answers = BTreeMap<String, String>;

/// Clients at work on one server.
#[derive(Debug)]
pub struct Recorder {
    runtime: Runtime,
    tasks: JoinSet<()>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    answers: Mutex<Answers>,
    sent: Mutex<BTreeSet<String>>,
    is_over: AtomicBool,
}

impl Recorder {
    /// Starts; every name begins with the prefix.
    pub fn start(server: &Server, prefix: &str) -> Self {
        let runtime = runtime();
        let shared = Arc::new(Shared::default());
        let mut tasks = JoinSet::new();
        for client in 0..CLIENTS {
            let prefix = format!("{prefix}-{client}");
            let work = work(maps(server), prefix, Arc::clone(&shared));
            tasks.spawn_on(work, runtime.handle());
        }
        Self {
            runtime,
            tasks,
            shared,
        }
    }

    /// The answers that have arrived by now.
    pub fn answers(&self) -> Answers {
        self.shared.answers.lock().expect("unpoisoned").clone()
    }

    /// Stops; all that was answered, and all that was sent.
    pub fn stop(mut self) -> (Answers, BTreeSet<String>) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.runtime
            .block_on(async { while self.tasks.join_next().await.is_some() {} });
        let sent = self.shared.sent.lock().expect("unpoisoned").clone();
        (self.answers(), sent)
    }
}

/// What a server holds.
pub fn stored(server: &Server) -> Answers {
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

/// Everything answered is there as it was answered, and nothing is there that nobody sent.
pub fn check(server: &Server, answered: &Answers, sent: &BTreeSet<String>) {
    let stored = stored(server);
    for (name, revision) in answered {
        assert_eq!(stored.get(name), Some(revision), "{name} was answered");
    }
    let unknown: Vec<_> = stored.keys().filter(|name| !sent.contains(*name)).collect();
    assert!(unknown.is_empty(), "nobody wrote {unknown:?}");
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

/// Until it is over or the server refuses.
async fn work(maps: impl Future<Output = Api<ConfigMap>>, prefix: String, shared: Arc<Shared>) {
    let maps = maps.await;
    let mut made = 0;
    while !shared.is_over.load(Ordering::SeqCst) {
        let name = format!("{prefix}-{made}");
        made += 1;
        shared.sent.lock().expect("unpoisoned").insert(name.clone());
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                ..ObjectMeta::default()
            },
            data: Some([("k".to_owned(), "v".repeat(made % 3000))].into()),
            ..ConfigMap::default()
        };
        let Ok(answer) = maps.create(&PostParams::default(), &map).await else {
            return;
        };
        let revision = answer.metadata.resource_version.unwrap_or_default();
        let mut answers = shared.answers.lock().expect("unpoisoned");
        answers.insert(name, revision);
    }
}
