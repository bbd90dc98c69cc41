//! The processes that this program starts and measures: `hindsight serve`, and the static answer.

use anyhow::{Context, Result};
use hindsight_benches::client::Target;
use hindsight_benches::kubeconfig::Access;
use hindsight_benches::process;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// `hindsight serve` on a directory of its own.
pub(crate) struct Serving {
    process: Child,
    directory: tempfile::TempDir,
    pub(crate) ready: Duration,
}

impl Serving {
    pub(crate) async fn start() -> Result<Self> {
        Self::on(tempfile::tempdir()?).await
    }

    async fn on(directory: tempfile::TempDir) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("hindsight");
        let mut command = Command::new(&program);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(directory.path().join("data"));
        let start = Instant::now();
        let (process, _) = spawn_and_read_line(command)
            .await
            .with_context(|| format!("{}: build it first", program.display()))?;
        Ok(Self {
            process,
            directory,
            ready: start.elapsed(),
        })
    }

    /// Stops the server cleanly and starts it again on the same directory.
    pub(crate) async fn restart(mut self) -> Result<Self> {
        let stopped = Command::new("kill")
            .args(["-TERM", &self.pid()?.to_string()])
            .status();
        stopped.await?;
        self.process.wait().await?;
        Self::on(self.directory).await
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("data/admin.kubeconfig")
    }

    pub(crate) fn pid(&self) -> Result<u32> {
        self.process.id().context("the server ended")
    }

    pub(crate) fn resident_mb(&self) -> Result<f64> {
        process::resident_mb(self.pid()?)
    }
}

/// Starts the static answer in a process of its own, which ends when the handle is dropped.
pub(crate) async fn static_answer() -> Result<(Child, Target)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--serve-static");
    let (process, line) = spawn_and_read_line(command).await?;
    let (address, authority) = line.split_once(' ').context("it said nothing")?;
    let access = Access {
        server: address.to_owned(),
        authority: authority.replace("\\n", "\n").into_bytes(),
        ..Access::default()
    };
    Ok((process, Target::new(&access)?))
}

/// Starts a server and waits for its first line.
async fn spawn_and_read_line(mut command: Command) -> Result<(Child, String)> {
    let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let stdout = process.stdout.take().context("no output")?;
    let line = BufReader::new(stdout).lines().next_line().await?;
    Ok((process, line.context("it did not start")?))
}
