//! `hindsight serve`: the control plane as a process.

use super::logging::{self, LogFormat};
use super::parse::number;
use super::usage::usage_error_about;
use super::{Directory, keep, show};
use crate::Config;
use crate::config::SNAPSHOT_EVERY;
use crate::hint::hint;
use crate::server::{self, Options};
use crate::shell;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum, ValueHint};
use hindsight_core::GroupResource;
use hindsight_log::Retention;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  hindsight serve                           ./hindsight-data, on 127.0.0.1:6443
  hindsight serve --data-dir /var/lib/hindsight --listen 127.0.0.1:0
  hindsight serve --keep-history 90d --keep-kind secrets

Prints one line when it is ready, with the command to type next, and writes
DATA_DIR/admin.kubeconfig. SIGINT, SIGTERM and SIGHUP (a closed terminal) stop
it cleanly; under nohup SIGHUP is ignored. The log is kept for ever unless
--keep-history or --keep-history-bytes is given.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    #[command(flatten)]
    pub(super) directory: Directory,
    /// Address to listen on, such as 127.0.0.1:6443; port 0 picks a free one. The server's certificate is valid
    /// for this address and for loopback
    #[arg(long, env = "HINDSIGHT_LISTEN", default_value = "127.0.0.1:6443", value_parser = address)]
    listen: SocketAddr,
    /// Also write the administrator's kubeconfig to this file, if it does not exist yet, is empty, or was written
    /// by an earlier start; one for this data directory that says anything else is left as it is
    #[arg(long, env = "HINDSIGHT_KUBECONFIG", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// File of accepted tokens, with lines of token,user,uid,"group1,group2"
    #[arg(long, env = "HINDSIGHT_TOKEN_AUTH_FILE", value_hint = ValueHint::FilePath)]
    token_auth_file: Option<PathBuf>,
    /// Whether changing owner references requires permission to delete the object, and to finalize an owner
    /// whose deletion they block. There are no roles, so every user has it: this has no effect unless an
    /// embedding program supplies an authorizer
    #[arg(
        long,
        env = "HINDSIGHT_OWNER_REFERENCE_PERMISSIONS",
        default_value = "on"
    )]
    owner_reference_permissions: Switch,
    /// Whether garbage, deleted namespaces, finished jobs and old events are collected. If not, objects in
    /// foreground or orphan deletion and deleted namespaces stay as they are, as with an API server without its
    /// controllers: for tests of a controller that does this work itself. A later start with collectors catches up
    #[arg(long, env = "HINDSIGHT_COLLECTORS", default_value = "on")]
    collectors: Switch,
    /// Write a snapshot after this many commits, or after three quarters as many as there are objects if that is
    /// more, so that the next start need not read them; 0 for never
    #[arg(
        long,
        env = "HINDSIGHT_SNAPSHOT_EVERY",
        default_value_t = SNAPSHOT_EVERY,
        value_name = "COMMITS",
        value_parser = number,
        allow_negative_numbers = true
    )]
    snapshot_every: u64,
    /// Drop history older than this, such as 90d; deletions are always kept
    #[arg(long, env = "HINDSIGHT_KEEP_HISTORY", value_name = "AGE", value_parser = keep::age, allow_hyphen_values = true)]
    keep_history: Option<Duration>,
    /// Drop the oldest history while what is kept in full is larger than this, such as 10GiB; deletions are always kept
    #[arg(long, env = "HINDSIGHT_KEEP_HISTORY_BYTES", value_name = "SIZE", value_parser = keep::size, allow_hyphen_values = true)]
    keep_history_bytes: Option<keep::Size>,
    /// Keep all history of a resource, PLURAL or PLURAL.GROUP; may be repeated, or be a list with commas
    #[arg(
        long,
        env = "HINDSIGHT_KEEP_KIND",
        value_name = "RESOURCE",
        value_delimiter = ',',
        value_parser = keep::resource
    )]
    keep_kind: Vec<GroupResource>,
    /// Delete events this long after their last write, as kube-apiserver does; 0 for never. What was deleted stays
    /// in the log
    #[arg(
        long,
        env = "HINDSIGHT_EVENT_TTL",
        value_name = "AGE",
        default_value = "1h",
        value_parser = keep::event_ttl,
        allow_hyphen_values = true
    )]
    event_ttl: Duration,
    /// Format of the server's own log on standard error; `RUST_LOG` selects what is logged, by default warnings
    #[arg(long, env = "HINDSIGHT_LOG_FORMAT", default_value = "text")]
    log_format: LogFormat,
}

/// Parses an address. Names are not looked up: a name may have several addresses, and the certificate is for
/// the one that is listened on.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected ADDRESS:PORT with a numeric address, such as 127.0.0.1:6443, [::1]:6443, or 0.0.0.0:6443 for all \
         of this machine's addresses"
            .into()
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Serve {
    /// Begins the server's own log, unless options contradict one another.
    pub(super) fn begin_log(&self) -> Result<()> {
        if let Some((option, complaint)) = self.complaint() {
            return Err(usage_error_about("serve", option, complaint));
        }
        logging::of_server(self.log_format);
        Ok(())
    }

    pub(super) fn run(self) -> Result<ExitCode> {
        self.directory.check_no_file()?;
        if self.listen.ip().is_unspecified() {
            hint(
                "the server's certificate is valid only for loopback: clients that connect to another address reject \
                 it; listen on the address that they use, or set tls-server-name: localhost in their kubeconfig",
            );
        }
        let age = self.keep_history.and_then(keep::doubt_age);
        let size = self.keep_history_bytes.as_ref().and_then(keep::doubt_size);
        let kinds = self.keep_kind.iter().filter_map(keep::doubt_resource);
        let doubts = age.into_iter().chain(size).chain(kinds);
        doubts.for_each(|doubt| hint(&doubt));
        let config = Config {
            snapshot_every: NonZeroU64::new(self.snapshot_every),
            retention: self.retention(),
            owner_reference_permissions: self.owner_reference_permissions == Switch::On,
            collectors: self.collectors == Switch::On,
            event_ttl: Some(self.event_ttl).filter(|ttl| !ttl.is_zero()),
            ..Config::default()
        };
        let options = Options {
            data_dir: self.directory.data_dir.clone(),
            listen: self.listen,
            kubeconfig: self.kubeconfig,
            token_auth_file: self.token_auth_file,
            config,
        };
        let runtime = start_runtime()?;
        let served = runtime.block_on(server::run(options, |address, kubeconfig| {
            let kubeconfig = kubeconfig.to_string_lossy();
            let kubeconfig = shell::word(&kubeconfig);
            let ready = show::print_line(&format!(
                "hindsight is ready on https://{address}; try: kubectl --kubeconfig {kubeconfig} get namespaces"
            ));
            if let Err(error) = ready {
                tracing::warn!("{error:#}");
            }
        }));
        // Waits for nothing: what is still being looked up or read is of use to nobody.
        runtime.shutdown_background();
        served?;
        Ok(ExitCode::SUCCESS)
    }

    /// A complaint about options that would have no effect together, which nobody means, after the one that it is
    /// about.
    fn complaint(&self) -> Option<(&'static str, &'static str)> {
        let limited = self.keep_history.is_some() || self.keep_history_bytes.is_some();
        if !limited && !self.keep_kind.is_empty() {
            return Some((
                "--keep-kind",
                "--keep-kind has no effect, because no history is dropped: add --keep-history or \
                 --keep-history-bytes, or leave it out to keep everything",
            ));
        }
        (limited && self.snapshot_every == 0).then_some((
            "--snapshot-every",
            "with --snapshot-every 0 no history is ever dropped, because it is dropped only below a snapshot: give a \
             number of commits, or leave --keep-history and --keep-history-bytes out",
        ))
    }

    /// `None` if everything is kept.
    fn retention(&self) -> Option<Retention> {
        if self.keep_history.is_none() && self.keep_history_bytes.is_none() {
            return None;
        }
        let age = self.keep_history.map(|age| age.as_micros());
        Some(Retention {
            age_micros: age.map(|age| i64::try_from(age).unwrap_or(i64::MAX)),
            bytes: self.keep_history_bytes.as_ref().map(|size| size.bytes),
            kinds: self.keep_kind.clone(),
        })
    }
}

/// The threads of an idle server, and some more.
const THREADS_MIN: usize = 24;

/// How long a thread that blocks waits for more to do: for ever. The one that opened the log then stays, so that whatever
/// is to be done finds a thread, even while no other can be started: without any, tokio keeps what it was given in its
/// queue, with all that it holds, until somebody starts a thread.
const THREADS_WAIT: Duration = Duration::from_hours(24 * 365);

/// The workers are fed by one writer; more of them would only wait.
const WORKERS_MAX: usize = 8;
/// With fewer, one long answer would hold up all others.
const WORKERS_MIN: usize = 2;

fn start_runtime() -> Result<tokio::runtime::Runtime> {
    has_threads()
        .context("cannot start enough threads; stop some processes, or raise their limit")?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let cores = std::thread::available_parallelism().map_or(WORKERS_MIN, usize::from);
    let workers = cores.clamp(WORKERS_MIN, WORKERS_MAX);
    builder.thread_keep_alive(THREADS_WAIT);
    Ok(builder.worker_threads(workers).enable_all().build()?)
}

/// Checks that this many threads can run at once: with fewer, tokio panics or waits for ever.
fn has_threads() -> std::io::Result<()> {
    let (stop, stopped) = crossbeam_channel::bounded::<()>(0);
    let wait = || {
        let stopped = stopped.clone();
        std::thread::Builder::new().spawn(move || stopped.recv().is_ok())
    };
    let started: Vec<_> = (0..THREADS_MIN).map(|_| wait()).collect();
    drop(stop);
    for thread in started {
        thread?.join().ok();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EVENT_TTL;

    const HOUR: Duration = Duration::from_hours(1);

    /// The command line as `serve` reads it.
    fn parsed(arguments: &[&str]) -> Result<Serve, clap::Error> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            serve: Serve,
        }
        let line = ["serve"].into_iter().chain(arguments.iter().copied());
        <Line as clap::Parser>::try_parse_from(line).map(|line| line.serve)
    }

    #[test]
    fn every_flag_has_a_variable() {
        let serve = <Serve as Args>::augment_args(clap::Command::new("serve"));
        let mut flags = 0;
        for argument in serve.get_arguments() {
            let Some(flag) = argument.get_long() else {
                continue;
            };
            flags += 1;
            let variable = format!("HINDSIGHT_{}", flag.to_uppercase().replace('-', "_"));
            assert_eq!(argument.get_env(), Some(variable.as_ref()), "--{flag}");
        }
        assert!(flags >= 12, "{flags}");
    }

    #[test]
    fn without_flags_it_listens_on_loopback_keeps_all_history_and_events_for_an_hour() {
        let serve = parsed(&[]).expect("parsed");
        assert_eq!(serve.directory.data_dir, PathBuf::from("hindsight-data"));
        assert_eq!(serve.listen, SocketAddr::from(([127, 0, 0, 1], 6443)));
        assert_eq!((serve.event_ttl, EVENT_TTL), (HOUR, HOUR));
        assert_eq!(serve.snapshot_every, 100_000);
        assert!(serve.retention().is_none() && serve.keep_kind.is_empty());
        assert!(serve.kubeconfig.is_none() && serve.token_auth_file.is_none());
    }

    #[test]
    fn what_can_be_turned_off_is_on_unless_it_is() {
        type Read = fn(Serve) -> Switch;
        let permissions: Read = |serve| serve.owner_reference_permissions;
        let collectors: Read = |serve| serve.collectors;
        for (flag, read) in [
            ("--owner-reference-permissions", permissions),
            ("--collectors", collectors),
        ] {
            let switch = |arguments: &[&str]| parsed(arguments).map(read);
            assert_eq!(switch(&[]).expect("parsed"), Switch::On);
            assert_eq!(switch(&[flag, "off"]).expect("parsed"), Switch::Off);
            let other = switch(&[flag, "no"]).expect_err("refused");
            let told = other.to_string();
            assert!(told.contains("[possible values: on, off]"), "{told}");
        }
    }

    #[test]
    fn where_to_listen_is_an_address_and_a_port() {
        for text in ["127.0.0.1:6443", "[::1]:0", "0.0.0.0:6443"] {
            assert!(address(text).is_ok(), "{text}");
        }
        for text in ["localhost:6443", ":6443", "6443", "127.0.0.1", "::1:6443x"] {
            let told = address(text).expect_err(text);
            assert!(told.contains("such as 127.0.0.1:6443"), "{told}");
        }
    }
}
