//! `hindsight serve`.

use super::{Directory, show};
use crate::server::{self, Options};
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    directory: Directory,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, env = "HINDSIGHT_LISTEN", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Write the administrator's kubeconfig here too
    #[arg(long, env = "HINDSIGHT_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Tokens that are accepted: lines of token,user,uid,"group1,group2"
    #[arg(long, env = "HINDSIGHT_TOKEN_AUTH_FILE")]
    token_auth_file: Option<PathBuf>,
    /// Whether changing owner references takes permissions: to delete the object, and to finalize
    /// an owner whose deletion they block
    #[arg(
        long,
        env = "HINDSIGHT_OWNER_REFERENCE_PERMISSIONS",
        default_value = "on"
    )]
    owner_reference_permissions: Switch,
    /// How the process's own log is written
    #[arg(long, env = "HINDSIGHT_LOG_FORMAT", default_value = "text")]
    log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Serve {
    pub(super) fn run(self) -> Result<ExitCode> {
        start_logging(self.log_format);
        let options = Options {
            data_dir: self.directory.data_dir,
            listen: self.listen,
            kubeconfig: self.kubeconfig,
            token_auth_file: self.token_auth_file,
            without_owner_reference_permissions: self.owner_reference_permissions == Switch::Off,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        runtime.block_on(server::run(options, |address, kubeconfig| {
            let kubeconfig = kubeconfig.display();
            show::line(&format!(
                "hindsight is ready on https://{address}; try: kubectl --kubeconfig {kubeconfig} get namespaces"
            ));
        }))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// To standard error; `RUST_LOG` selects, warnings by default.
fn start_logging(format: LogFormat) {
    use std::io::IsTerminal;
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}
