//! Puts load on a Kubernetes API server over TLS and prints its throughput and latencies, beside
//! those of a static TLS answer on the same cores. Without `--kubeconfig` or `--server` it starts
//! `hindsight serve` on a fresh directory.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

mod cascade;
mod cores;
mod memory;
mod mixed;
mod phase;
mod requests;
mod serving;
mod slow;
mod watch;
mod watchers;

use anyhow::{Context, Result, anyhow};
use clap::{Parser, ValueEnum};
use hindsight_benches::client::Target;
use hindsight_benches::kubeconfig::Access;
use hindsight_benches::static_server;
use phase::Bench;
use serde_json::json;
use serving::Serving;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Parser, Debug)]
#[command(about = "Measure an API server: writes, reads, watches, cascades, durable, over TLS")]
struct Arguments {
    /// A kubeconfig of the server to measure; without it `hindsight serve` is started
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Another server than the kubeconfig's, or one without a kubeconfig: `https://host:port`
    #[arg(long)]
    server: Option<String>,
    /// The authority that the server's certificate comes from, as PEM
    #[arg(long)]
    ca: Option<PathBuf>,
    /// Bearer token
    #[arg(long, env = "HINDSIGHT_LOAD_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Only these workloads; those that need objects make them first, unmeasured
    #[arg(long, value_name = "NAME")]
    only: Vec<Workload>,
    /// Connections at once
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// Objects to create, read, list and delete
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// How long each of the workloads runs that have no end of their own
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Watch events a second that are offered to all watchers together
    #[arg(long, default_value_t = 50_000)]
    deliveries: usize,
    /// Have `perf` write a profile of our own server for each phase, into this folder
    #[arg(long, value_name = "FOLDER")]
    profile: Option<PathBuf>,
    /// Be the static answer: prints where it listens and the certificate to trust
    #[arg(long, hide = true)]
    serve_static: bool,
}

/// In the order in which they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// The ceiling: a fixed TLS answer from a process of its own
    Static,
    /// POST of small `ConfigMaps`
    Creates,
    /// GET of one object
    Gets,
    /// GET of the whole collection
    Lists,
    /// PUT of one object
    Replaces,
    /// GET, list of 100 and PUT at 80 : 5 : 15
    Mixed,
    /// 100 and 1,000 watchers of one collection, over HTTP/1.1 and HTTP/2, of the static answer too
    Watch,
    /// 100 watchers without and with one that never reads
    SlowWatcher,
    /// An owner of many is deleted with each policy, while others create and read
    Cascade,
    /// Memory idle, at 10,000 and at 200,000 objects, and the start after it; our own server only
    Memory,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow!("a TLS provider is installed twice"))?;
    if arguments.serve_static {
        let filler = "x".repeat(300);
        let answer = json!({"metadata": {"resourceVersion": "1"}, "filler": filler});
        return static_server::announce(answer.to_string().into()).await;
    }
    let (target, own_server) = server(&arguments).await?;
    let mut bench = Bench::new(target, own_server, &arguments);
    for workload in Workload::value_variants() {
        if arguments.only.is_empty() || arguments.only.contains(workload) {
            run(&mut bench, *workload, &arguments).await?;
        }
    }
    Ok(())
}

async fn run(bench: &mut Bench, workload: Workload, arguments: &Arguments) -> Result<()> {
    let objects = arguments.objects;
    match workload {
        Workload::Static => bench.ceiling(objects).await,
        Workload::Creates => bench.creates(objects).await,
        Workload::Gets => bench.gets(objects).await,
        Workload::Lists => bench.lists(objects).await,
        Workload::Replaces => bench.replaces(objects).await,
        Workload::Mixed => mixed::run(bench, objects, arguments.seconds).await,
        Workload::Watch => watch::run(bench, watch_load(arguments)).await,
        Workload::SlowWatcher => slow::run(bench, watch_load(arguments)).await,
        Workload::Cascade => cascade::run(bench, objects).await,
        Workload::Memory => memory::run().await,
    }
}

fn watch_load(arguments: &Arguments) -> watch::WatchLoad {
    watch::WatchLoad {
        deliveries: arguments.deliveries,
        duration: Duration::from_secs(arguments.seconds),
    }
}

/// Returns the server that the arguments name, or starts one of our own.
async fn server(arguments: &Arguments) -> Result<(Target, Option<Serving>)> {
    let mut own_server = None;
    let mut access = match (&arguments.kubeconfig, &arguments.server) {
        (Some(file), _) => Access::read(file)?,
        (None, Some(_)) => Access::default(),
        (None, None) => {
            let serving = Serving::start().await?;
            let access = Access::read(&serving.kubeconfig())?;
            let (ready, idle) = (serving.ready.as_secs_f64() * 1000.0, serving.resident_mb()?);
            println!("ready after      {ready:>8.0} ms");
            println!("memory idle      {idle:>8.1} MB");
            own_server = Some(serving);
            access
        }
    };
    if let Some(server) = &arguments.server {
        access.server.clone_from(server);
    }
    if let Some(file) = &arguments.ca {
        access.authority = std::fs::read(file).context("the authority cannot be read")?;
    }
    access.token = arguments.token.clone().or(access.token);
    Ok((Target::new(&access)?, own_server))
}
