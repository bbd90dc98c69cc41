//! The server process: TLS, identities, connections, and a clean end.

mod auth;
mod backup;
mod client_certificate;
mod connection;
mod departure;
mod gathered;
pub(crate) mod kubeconfig;
mod lingering;
mod pki;
mod queries;
mod slots;
mod timeouts;
mod unread;

use crate::data_dir::DataDir;
use crate::hint::hint;
use crate::lock_wait::{LockWait, RETRY_PAUSE};
use crate::{Config, ControlPlane, OpenError, hangup, named_file};
use anyhow::{Context, Result, bail};
use auth::Tokens;
use connection::ServerContext;
use hindsight_log::{DirectoryLock, Poison};
use kubeconfig::Use;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use timeouts::Timeouts;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A signal that is repeated within this time is the same one: `timeout` and others send it to a process and to
/// its group.
const SAME_SIGNAL: Duration = Duration::from_millis(100);

/// What `hindsight serve` was asked to do.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) data_dir: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) token_auth_file: Option<PathBuf>,
    /// Without the directory, which is above.
    pub(crate) config: Config,
}

/// Serves until a signal comes, and closes the log; `ready` is called once with the address and the
/// kubeconfig's path.
pub(crate) async fn run(options: Options, ready: impl FnOnce(SocketAddr, &Path)) -> Result<()> {
    // Before the start, which a signal ends cleanly too: what it has not finished, the next one does.
    let mut signalled = Box::pin(signalled()?);
    let started = tokio::select! {
        started = start(&options) => started?,
        () = &mut signalled => {
            log_status("stopped before it was ready");
            return Ok(());
        }
    };
    let Started {
        plane,
        listener,
        address,
        context,
    } = started;
    let poison = plane.poison().clone();
    let end = signalled_or_failed(&poison, signalled)?;
    log_status(&format!("listening on https://{address}"));
    ready(address, &DataDir(&options.data_dir).kubeconfig());
    connection::accept(listener, context, end).await;
    log_status("shutting down: no more requests are accepted");
    close(plane).await?;
    outcome(&poison)?;
    log_status("ended");
    Ok(())
}

/// A server that can accept connections.
struct Started {
    plane: ControlPlane,
    listener: TcpListener,
    address: SocketAddr,
    context: ServerContext,
}

/// Binds the address, opens the log, and writes down where the server is.
async fn start(options: &Options) -> Result<Started> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let tokens = match &options.token_auth_file {
        Some(file) => Tokens::read(file)?,
        None => Tokens::default(),
    };
    let named = options.kubeconfig.as_deref();
    let asked_for = named
        .map(|path| named_file::place(path, &format!("--kubeconfig {}", path.display())))
        .transpose()?;
    let data = DataDir(&options.data_dir);
    if let Some(path) = &asked_for {
        kubeconfig::check(path, data)?;
    }
    kubeconfig::check_own(data)?;
    let config = Config {
        data_dir: Some(options.data_dir.clone()),
        ..options.config.clone()
    };
    // Before the log is opened: a log that cannot be served is not written to.
    let mut wait = LockWait::begin(|what| tracing::warn!("{what}"));
    let listener = listen(options, &mut wait).await?;
    let plane = tokio::task::spawn_blocking(move || open(&config, &mut wait)).await??;
    let address = reachable(listener.local_addr()?);
    let directory = plane.directory().context("the log was closed")?;
    let data = DataDir(&directory);
    let pki = pki::Pki::open(&data.pki(), address.ip())?;
    write_kubeconfigs(data, asked_for.as_deref(), address, &pki)?;
    // Whoever finds the address there reads the kubeconfig next.
    plane.describe_holder(&format!("https://{address}"))?;
    let (tls, tokens) = (pki.tls()?, Arc::new(tokens));
    let context = ServerContext::new(plane.clone(), tls, tokens, Timeouts::default());
    Ok(Started {
        plane,
        listener,
        address,
        context,
    })
}

/// Writes the administrator's kubeconfig into the data directory, and to the file that was asked for.
fn write_kubeconfigs(
    data: DataDir<'_>,
    asked_for: Option<&Path>,
    address: SocketAddr,
    pki: &pki::Pki,
) -> Result<()> {
    kubeconfig::write_own(data, address, pki)?;
    let Some(path) = asked_for else {
        return Ok(());
    };
    // Checked again: the name may be that of a file that this start has made.
    match kubeconfig::check(path, data)? {
        Use::Own => Ok(()),
        Use::Written => kubeconfig::write(path, address, pki),
        Use::Kept => kubeconfig::warn_kept(path, data, address),
    }
}

/// A function, because each `info!` counts as several branches of whoever calls it.
fn log_status(what: &str) {
    tracing::info!("{what}");
}

/// Closes on a thread of its own, since other work may occupy all of the runtime's threads for blocking calls.
async fn close(plane: ControlPlane) -> Result<()> {
    let closing = plane.clone();
    match on_own_thread("end", move || closing.close()) {
        Ok(closed) => closed.await.context("closing the log panicked"),
        Err(_no_thread) => {
            plane.close();
            Ok(())
        }
    }
}

/// The result of the process, once the log is closed.
fn outcome(poison: &Poison) -> Result<()> {
    match poison.reason() {
        None => Ok(()),
        Some(reason) => bail!(
            "the event log failed: {reason}\nevery write that was answered had been fsynced; check the disk, then \
             start the server again; if it ends like this again, `hindsight verify` tells what is damaged and how to \
             save the rest"
        ),
    }
}

/// Binds the address. If that fails, the server that holds the directory usually has the address too: it may be
/// about to end, and if not, that is the error to report.
async fn listen(options: &Options, wait: &mut LockWait) -> Result<TcpListener> {
    let mut bound = TcpListener::bind(options.listen).await;
    while bound.is_err() && options.data_dir.exists() {
        let locked = DirectoryLock::check(&options.data_dir);
        // After the lock: a server gives the address back before the directory.
        bound = TcpListener::bind(options.listen).await;
        match locked {
            Err(error) if bound.is_err() => {
                if !wait.covers(&error) {
                    return Err(error.into());
                }
            }
            Ok(()) | Err(_) => break,
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
    bound.with_context(|| {
        format!(
            "cannot listen on {}; give another address with --listen, such as 127.0.0.1:0 for any free port",
            options.listen
        )
    })
}

/// Opens the log, as soon as nobody else holds its directory.
fn open(config: &Config, wait: &mut LockWait) -> Result<ControlPlane, OpenError> {
    loop {
        match ControlPlane::open(config.clone()) {
            Err(OpenError::Log(error)) if wait.covers(&error) => {
                std::thread::sleep(RETRY_PAUSE);
            }
            opened => return opened,
        }
    }
}

/// The address at which a client on this machine reaches a server that listens on every address.
const fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// Runs work on a thread of its own, which may last as long as the process. The receiver yields an error if the
/// work panics.
fn on_own_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<oneshot::Receiver<()>> {
    let (done, waiter) = oneshot::channel();
    let run = move || {
        work();
        done.send(()).ok();
    };
    std::thread::Builder::new().name(name.into()).spawn(run)?;
    Ok(waiter)
}

/// Resolves when the server has to end: at a signal, or once the log has failed.
fn signalled_or_failed<S: Future<Output = ()>>(
    poison: &Poison,
    signalled: S,
) -> Result<impl Future<Output = ()> + use<S>> {
    let failure = poison.clone();
    let failed = on_own_thread("failure", move || {
        failure.wait();
    })?;
    Ok(async {
        tokio::select! {
            () = signalled => {}
            Ok(()) = failed => {}
        }
    })
}

/// Resolves at the first SIGINT, SIGTERM or SIGHUP after this call: from here on none ends the process by itself.
/// A second SIGINT or SIGTERM ends it without waiting for a disk that stands still; a terminal that closes may
/// send any number of SIGHUP.
#[expect(
    clippy::exit,
    reason = "whatever else ends the process waits for the disk"
)]
fn signalled() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hung_up = hangup::watch()?;
    let mut next = async move || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let (first, waiter) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            () = next() => {}
            () = hangup::next(&mut hung_up) => {}
        }
        first.send(()).ok();
        second_signal(next).await;
        hint(
            "stopped at the second signal: every write that was answered is fsynced, and what was in progress may or \
             may not be written",
        );
        std::process::exit(1);
    });
    Ok(async {
        waiter.await.ok();
    })
}

/// Resolves at the next signal that is not a repetition of the first.
async fn second_signal(mut next: impl AsyncFnMut()) {
    let first = Instant::now();
    loop {
        next().await;
        if first.elapsed() >= SAME_SIGNAL {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fill, tree};
    use tokio::time::sleep;

    fn options(data_dir: &Path, listen: SocketAddr) -> Options {
        Options {
            data_dir: data_dir.to_owned(),
            listen,
            kubeconfig: None,
            token_auth_file: None,
            config: Config::default(),
        }
    }

    #[tokio::test]
    async fn a_first_start_beside_a_kubeconfig_of_somebody_else_writes_nothing() {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        fill(at, &["admin.kubeconfig"]);
        let before = tree(at);
        let refused = start(&options(at, ([127, 0, 0, 1], 0).into())).await;
        let told = refused.err().expect("it is refused").to_string();
        assert!(told.contains("admin.kubeconfig is not replaced"), "{told}");
        assert!(tree(at) == before && !DirectoryLock::path(at).exists());
    }

    #[tokio::test]
    async fn a_start_whose_address_is_taken_writes_nothing() {
        let temporary = tempfile::tempdir().expect("a directory");
        let lock = DirectoryLock::path(temporary.path());
        std::fs::write(&lock, "of somebody else").expect("written");
        let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
        let options = options(temporary.path(), taken.local_addr().expect("an address"));
        let mut wait = LockWait::begin(|_| {});
        let refused = listen(&options, &mut wait).await.expect_err("taken");
        assert!(refused.to_string().contains("--listen"), "{refused}");
        let left = std::fs::read_to_string(&lock).expect("there");
        assert_eq!(left, "of somebody else");
    }

    /// On a paused clock.
    #[tokio::test(start_paused = true)]
    async fn a_signal_that_is_sent_to_the_process_and_to_its_group_is_one() {
        let begin = Instant::now();
        let mut pauses = [1, 98, 2, 1_000].into_iter().map(Duration::from_millis);
        second_signal(async || sleep(pauses.next().unwrap_or_default()).await).await;
        assert_eq!(begin.elapsed(), Duration::from_millis(101));
    }
}
