//! Measured phases: requests that are spread over clients, and their latencies.

use crate::Arguments;
use crate::cores::Cores;
use crate::requests::{self, MAPS, Request};
use crate::serving::{self, Serving};
use anyhow::{Context, Result};
use bytes::Bytes;
use hindsight_benches::client::Target;
use hindsight_benches::percentiles::Figures;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::process::Child;

/// How many full lists are measured.
const LISTS: usize = 20;

/// The server under test, and what is known of it so far.
pub(crate) struct Bench {
    pub(crate) target: Arc<Target>,
    pub(crate) own_server: Option<Serving>,
    /// The process that serves, if we started it.
    process: Option<u32>,
    pub(crate) clients: usize,
    profile: Option<PathBuf>,
    ceiling: Option<f64>,
    filled: bool,
}

impl Bench {
    pub(crate) fn new(target: Target, own_server: Option<Serving>, arguments: &Arguments) -> Self {
        Self {
            target: Arc::new(target),
            process: own_server.as_ref().and_then(|own| own.pid().ok()),
            own_server,
            clients: arguments.clients,
            profile: arguments.profile.clone(),
            ceiling: None,
            filled: false,
        }
    }

    /// The static answer in place of the server under test.
    pub(crate) async fn of_static_answer(&self) -> Result<(Child, Self)> {
        let (process, target) = serving::static_answer().await?;
        let bench = Self {
            target: Arc::new(target),
            own_server: None,
            process: process.id(),
            clients: self.clients,
            profile: None,
            ceiling: None,
            filled: false,
        };
        Ok((process, bench))
    }

    /// Starts the CPU accounting of the phase of this name.
    pub(crate) async fn cores(&self, phase: &str) -> Result<Cores> {
        let file = self.profile.as_ref().map(|folder| folder.join(phase));
        Cores::watch(self.process, file).await
    }

    /// Measures the static answer; later figures are printed as a share of it.
    pub(crate) async fn ceiling(&mut self, requests: usize) -> Result<()> {
        let (_process, fixed) = self.of_static_answer().await?;
        let cores = fixed.cores("static").await?;
        let figures = each(&fixed.target, self.clients, requests, requests::get).await?;
        println!("static           {figures}  {}", cores.used()?);
        self.ceiling = Some(figures.rate());
        Ok(())
    }

    pub(crate) async fn creates(&mut self, objects: usize) -> Result<()> {
        self.measure("creates", objects, requests::create).await?;
        self.filled = true;
        if let Some(own_server) = &self.own_server {
            println!(
                "memory at {objects:>6} {:>8.1} MB",
                own_server.resident_mb()?
            );
        }
        Ok(())
    }

    pub(crate) async fn gets(&mut self, objects: usize) -> Result<()> {
        self.fill(objects).await?;
        self.measure("gets", objects, requests::get).await
    }

    pub(crate) async fn replaces(&mut self, objects: usize) -> Result<()> {
        self.fill(objects).await?;
        self.measure("replaces", objects, requests::replace).await
    }

    async fn measure(&self, name: &str, count: usize, make: fn(usize) -> Request) -> Result<()> {
        let cores = self.cores(name).await?;
        let figures = each(&self.target, self.clients, count, make).await?;
        let share = self.share(&figures);
        println!("{name:<16} {figures}{share}  {}", cores.used()?);
        Ok(())
    }

    fn share(&self, figures: &Figures) -> String {
        self.ceiling.map_or_else(String::new, |ceiling| {
            format!("  {:.0} % of static", 100.0 * figures.rate() / ceiling)
        })
    }

    /// Creates the objects that a workload needs, unless an earlier workload did.
    pub(crate) async fn fill(&mut self, objects: usize) -> Result<()> {
        if self.filled {
            return Ok(());
        }
        self.filled = true;
        let accepts = |status: StatusCode| status.is_success() || status == StatusCode::CONFLICT;
        spread(
            &self.target,
            self.clients,
            objects,
            (requests::create, accepts),
        )
        .await?;
        Ok(())
    }

    /// Lists the whole collection repeatedly and measures the time to the first and to the last byte.
    pub(crate) async fn lists(&mut self, objects: usize) -> Result<()> {
        self.fill(objects).await?;
        let mut connection = self.target.connect().await?;
        let (mut first, mut whole, mut bytes) = (Vec::new(), Vec::new(), 0);
        let cores = self.cores("lists").await?;
        let start = Instant::now();
        for _ in 0..LISTS {
            let sent = Instant::now();
            let mut body = connection
                .open(Method::GET, MAPS, Bytes::new())
                .await?
                .into_body();
            bytes = 0;
            while let Some(frame) = body.frame().await {
                if bytes == 0 {
                    first.push(sent.elapsed());
                }
                bytes += frame?.data_ref().map_or(0, Bytes::len);
            }
            whole.push(sent.elapsed());
        }
        let elapsed = start.elapsed();
        let (first, whole) = (Figures::new(first, elapsed), Figures::new(whole, elapsed));
        let mb = f64::from(u32::try_from(bytes)?) / 1_048_576.0;
        let sooner = first.percentile(50).as_secs_f64() * 1000.0;
        println!(
            "lists of {objects:>7} {whole}  {mb:.1} MB each, first byte p50 {sooner:.2} ms  {}",
            cores.used()?
        );
        Ok(())
    }
}

/// Spreads requests that must succeed over the clients, each with a connection of its own.
pub(crate) async fn each<F>(
    target: &Arc<Target>,
    clients: usize,
    count: usize,
    make: F,
) -> Result<Figures>
where
    F: Fn(usize) -> Request + Clone + Send + Sync + 'static,
{
    spread(target, clients, count, (make, |status| status.is_success())).await
}

async fn spread<F>(
    target: &Arc<Target>,
    clients: usize,
    count: usize,
    (make, accepts): (F, fn(StatusCode) -> bool),
) -> Result<Figures>
where
    F: Fn(usize) -> Request + Clone + Send + Sync + 'static,
{
    let mut tasks = Vec::new();
    let start = Instant::now();
    for client in 0..clients {
        let (target, make) = (Arc::clone(target), make.clone());
        tasks.push(tokio::spawn(async move {
            let mut connection = target.connect().await?;
            let mut latencies = Vec::with_capacity(count / clients + 1);
            for index in (client..count).step_by(clients) {
                let Request { method, path, body } = make(index);
                let sent = Instant::now();
                let (status, answer) = connection.send(method.clone(), &path, body).await?;
                latencies.push(sent.elapsed());
                let text = || String::from_utf8_lossy(&answer);
                anyhow::ensure!(accepts(status), "{method} {path}: {status}: {}", text());
            }
            Ok::<_, anyhow::Error>(latencies)
        }));
    }
    let mut latencies = Vec::with_capacity(count);
    for task in tasks {
        latencies.extend(task.await.context("a client failed")??);
    }
    Ok(Figures::new(latencies, start.elapsed()))
}
