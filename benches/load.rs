//! Loads a Kubernetes API server with 32 clients over TLS and prints what it did, beside a static
//! TLS answer on the same cores. `--kubeconfig` points it at any server; without it, it starts
//! `hindsight serve` on a fresh directory.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use clap::Parser;
use hindsight_benches::client::{Connection, Target};
use hindsight_benches::percentiles::Figures;
use hindsight_benches::static_server;
use http::Method;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[derive(Parser, Debug)]
#[command(about = "Measure an API server: creates, reads, lists and cascades, durable, over TLS")]
struct Arguments {
    /// Server to measure; without it `hindsight serve` is started beside this program
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Connections at once
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// Objects to create, list and delete
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow!("a TLS provider is installed twice"))?;
    let own = if arguments.kubeconfig.is_none() {
        Some(Own::start().await?)
    } else {
        None
    };
    let kubeconfig = arguments
        .kubeconfig
        .clone()
        .or(own.as_ref().map(Own::kubeconfig));
    let target = Target::from_kubeconfig(&kubeconfig.context("no server")?)?;
    let bench = Bench {
        target: Arc::new(target),
        clients: arguments.clients,
    };
    if let Some(own) = &own {
        println!(
            "ready after      {:>8.0} ms",
            own.ready.as_secs_f64() * 1000.0
        );
        println!("memory idle      {:>8.1} MB", own.resident_mb()?);
    }
    bench.run(arguments.objects, own.as_ref()).await
}

struct Bench {
    target: Arc<Target>,
    clients: usize,
}

impl Bench {
    async fn run(&self, objects: usize, own: Option<&Own>) -> Result<()> {
        let ceiling = self.ceiling(objects).await?;
        println!("static TLS       {ceiling}");
        let share = |figures: &Figures| 100.0 * figures.rate() / ceiling.rate();
        let creates = self.each(&self.target, objects, create).await?;
        println!(
            "creates          {creates}  {:.0} % of static",
            share(&creates)
        );
        if let Some(own) = own {
            println!("memory at {objects:>6} {:>8.1} MB", own.resident_mb()?);
        }
        let reads = self.each(&self.target, objects, read).await?;
        println!("gets             {reads}  {:.0} % of static", share(&reads));
        self.list().await?;
        let updates = self.each(&self.target, objects, replace).await?;
        println!(
            "replaces         {updates}  {:.0} % of static",
            share(&updates)
        );
        self.cascade(objects).await?;
        if let Some(own) = own {
            println!("memory at end    {:>8.1} MB", own.resident_mb()?);
        }
        Ok(())
    }

    async fn ceiling(&self, requests: usize) -> Result<Figures> {
        let body = Bytes::from(vec![b'x'; 350]);
        let (address, pem) = static_server::start(body).await?;
        let target = Arc::new(Target::anonymous(address, pem.as_bytes())?);
        self.each(&target, requests, read).await
    }

    /// Spreads `count` requests over the clients, each with its own connection.
    async fn each<F>(&self, target: &Arc<Target>, count: usize, make: F) -> Result<Figures>
    where
        F: Fn(usize) -> (Method, String, Bytes) + Copy + Send + Sync + 'static,
    {
        let mut tasks = Vec::new();
        let start = Instant::now();
        for client in 0..self.clients {
            let (target, clients) = (Arc::clone(target), self.clients);
            tasks.push(tokio::spawn(async move {
                let mut connection = target.connect().await?;
                let mut latencies = Vec::with_capacity(count / clients + 1);
                for index in (client..count).step_by(clients) {
                    let (method, path, body) = make(index);
                    let sent = Instant::now();
                    connection.must(method, &path, body).await?;
                    latencies.push(sent.elapsed());
                }
                Ok::<_, anyhow::Error>(latencies)
            }));
        }
        let mut latencies = Vec::with_capacity(count);
        for task in tasks {
            latencies.extend(task.await??);
        }
        Ok(Figures::new(latencies, start.elapsed()))
    }

    async fn list(&self) -> Result<()> {
        let mut connection = self.target.connect().await?;
        let mut latencies = Vec::new();
        let mut bytes = 0;
        let start = Instant::now();
        for _ in 0..10 {
            let sent = Instant::now();
            bytes = connection
                .must(Method::GET, MAPS, Bytes::new())
                .await?
                .len();
            latencies.push(sent.elapsed());
        }
        let figures = Figures::new(latencies, start.elapsed());
        println!("whole lists      {figures}  {:.1} MB each", to_mb(bytes));
        Ok(())
    }

    async fn cascade(&self, dependents: usize) -> Result<()> {
        let mut connection = self.target.connect().await?;
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
        let answer = connection
            .must(Method::POST, MAPS, bytes_of(&owner)?)
            .await?;
        let owner: Value = serde_json::from_slice(&answer)?;
        let uid: Arc<str> = owner
            .pointer("/metadata/uid")
            .and_then(Value::as_str)
            .context("no uid")?
            .into();
        let before = self.count(&mut connection).await?;
        self.adopt(&uid, dependents).await?;
        let start = Instant::now();
        connection
            .must(Method::DELETE, &format!("{MAPS}/owner"), Bytes::new())
            .await?;
        while self.count(&mut connection).await? + dependents + 1 > before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let figures = Figures::new(vec![start.elapsed(); dependents], start.elapsed());
        println!(
            "cascade          {:>8.0}/s  ({dependents} dependents)",
            figures.rate()
        );
        Ok(())
    }

    async fn adopt(&self, uid: &Arc<str>, dependents: usize) -> Result<()> {
        let mut tasks = Vec::new();
        for client in 0..self.clients {
            let (target, clients, uid) = (Arc::clone(&self.target), self.clients, Arc::clone(uid));
            tasks.push(tokio::spawn(async move {
                let mut connection = target.connect().await?;
                let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
                    "uid": &*uid}]);
                for index in (client..dependents).step_by(clients) {
                    let map = config_map(index, &owner);
                    let path = format!("{MAPS}/{}", name(index));
                    connection.must(Method::PUT, &path, bytes_of(&map)?).await?;
                }
                Ok::<_, anyhow::Error>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(())
    }

    async fn count(&self, connection: &mut Connection) -> Result<usize> {
        let path = format!("{MAPS}?limit=1");
        let answer = connection.must(Method::GET, &path, Bytes::new()).await?;
        let list: Value = serde_json::from_slice(&answer)?;
        let shown = list
            .get("items")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let more = list
            .pointer("/metadata/remainingItemCount")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        Ok(shown + usize::try_from(more)?)
    }
}

/// `hindsight serve`, started for the measurement.
struct Own {
    process: tokio::process::Child,
    directory: tempfile::TempDir,
    ready: Duration,
}

impl Own {
    async fn start() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let program = std::env::current_exe()?.with_file_name("hindsight");
        let start = Instant::now();
        let mut process = tokio::process::Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(directory.path().join("data"))
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} is missing: build it first", program.display()))?;
        let stdout = process.stdout.take().context("no output")?;
        let line = BufReader::new(stdout).lines().next_line().await?;
        line.context("the server did not start")?;
        Ok(Self {
            process,
            directory,
            ready: start.elapsed(),
        })
    }

    fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("data/admin.kubeconfig")
    }

    /// Resident memory in megabytes.
    fn resident_mb(&self) -> Result<f64> {
        let pid = self.process.id().context("the server ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: u32 = line
            .and_then(|line| line.split_whitespace().next())
            .context("no VmRSS")?
            .parse()?;
        Ok(f64::from(kilobytes) / 1024.0)
    }
}

fn name(index: usize) -> String {
    format!("c{index:06}")
}

fn config_map(index: usize, owners: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name(index), "ownerReferences": owners},
        "data": {"key": "a value of about forty bytes, more or less"},
    })
}

fn create(index: usize) -> (Method, String, Bytes) {
    let body = config_map(index, &Value::Null).to_string();
    (Method::POST, MAPS.into(), body.into())
}

fn read(index: usize) -> (Method, String, Bytes) {
    (Method::GET, format!("{MAPS}/{}", name(index)), Bytes::new())
}

/// A replace without a revision: the last writer wins.
fn replace(index: usize) -> (Method, String, Bytes) {
    let mut map = config_map(index, &Value::Null);
    if let Some(data) = map.get_mut("data") {
        *data = json!({"key": "another value"});
    }
    (
        Method::PUT,
        format!("{MAPS}/{}", name(index)),
        map.to_string().into(),
    )
}

fn bytes_of(value: &Value) -> Result<Bytes> {
    Ok(serde_json::to_vec(value)?.into())
}

fn to_mb(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1_048_576.0
}
