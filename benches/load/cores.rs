//! CPU use of client and server during a phase and, on request, a `perf` profile of the server.

use anyhow::{Context, Result};
use hindsight_benches::process;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Time that `perf` needs to attach to all threads.
const ATTACHING: Duration = Duration::from_millis(500);

/// CPU accounting since the start of a phase.
pub(crate) struct Cores {
    start: Instant,
    server: Option<u32>,
    before: (Duration, Duration),
    profile: Option<Child>,
}

impl Cores {
    /// Starts counting; with a file, `perf` records a profile of the server there.
    pub(crate) async fn watch(server: Option<u32>, file: Option<PathBuf>) -> Result<Self> {
        let profile = match server.zip(file) {
            Some((server, file)) => {
                let perf = record(server, &file)?;
                tokio::time::sleep(ATTACHING).await;
                Some(perf)
            }
            None => None,
        };
        Ok(Self {
            start: Instant::now(),
            server,
            before: now(server)?,
            profile,
        })
    }

    /// Ends the phase and returns the cores used, such as `cores: client 0.71, server 1.02`.
    pub(crate) fn used(mut self) -> Result<String> {
        let (ours, theirs) = now(self.server)?;
        let elapsed = self.start.elapsed().as_secs_f64();
        if let Some(mut perf) = self.profile.take() {
            let perf_id = perf.id().to_string();
            Command::new("kill").args(["-INT", &perf_id]).status()?;
            perf.wait()?;
        }
        let cores = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() / elapsed;
        let client = cores(self.before.0, ours);
        Ok(match self.server {
            Some(_) => {
                let server = cores(self.before.1, theirs);
                format!("cores: client {client:.2}, server {server:.2}")
            }
            None => format!("cores: client {client:.2}"),
        })
    }
}

/// CPU time so far: ours, and the server's where it is known.
fn now(server: Option<u32>) -> Result<(Duration, Duration)> {
    let served = server.map_or(Ok(Duration::ZERO), process::cpu)?;
    Ok((process::cpu(std::process::id())?, served))
}

fn record(server: u32, file: &PathBuf) -> Result<Child> {
    let mut perf = Command::new("perf");
    perf.args(["record", "--quiet", "--freq=499", "--call-graph=dwarf"]);
    perf.args(["--pid", &server.to_string(), "--output"]);
    perf.arg(file).spawn().context("perf cannot be started")
}
