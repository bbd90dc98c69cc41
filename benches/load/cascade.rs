//! Deletes an owner with each policy, and measures how soon all that follows is done, as seen by a client
//! that polls, and how long two others wait meanwhile: one that creates, and one that reads.

use crate::phase::{Bench, each};
use crate::requests::{self, Request};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use hindsight_benches::client::{Connection, Target};
use hindsight_benches::percentiles::Figures;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const NAMESPACES: &str = "/api/v1/namespaces";
const CASCADE: &str = "/api/v1/namespaces/cascade/configmaps";
const OTHERS: &str = "/api/v1/namespaces/others/configmaps";
const POLICIES: [&str; 3] = ["Background", "Foreground", "Orphan"];
/// Pause between two polls.
const POLL: Duration = Duration::from_millis(5);
/// Pause between an answer and the next request of those who wait meanwhile.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) async fn run(bench: &Bench, dependents: usize) -> Result<()> {
    let mut connection = bench.target.connect().await?;
    for name in ["cascade", "others"] {
        let body = json!({"metadata": {"name": name}}).to_string();
        let (status, answer) = connection
            .send(Method::POST, NAMESPACES, body.into())
            .await?;
        let text = || String::from_utf8_lossy(&answer);
        let exists = status.is_success() || status == StatusCode::CONFLICT;
        ensure!(exists, "namespace {name}: {status}: {}", text());
    }
    for policy in POLICIES {
        one(bench, &mut connection, dependents, policy).await?;
    }
    if let Some(own_server) = &bench.own_server {
        println!("memory at end    {:>8.1} MB", own_server.resident_mb()?);
    }
    Ok(())
}

async fn one(
    bench: &Bench,
    connection: &mut Connection,
    dependents: usize,
    policy: &str,
) -> Result<()> {
    let before = count(connection).await?;
    let body = json!({"metadata": {"name": "owner"}}).to_string().into();
    let answer = connection.send_ok(Method::POST, CASCADE, body).await?;
    let owner: Value = serde_json::from_slice(&answer)?;
    let uid = owner.pointer("/metadata/uid").and_then(Value::as_str);
    let uid: Arc<str> = uid.context("no uid")?.into();
    let make = move |index| requests::dependent(CASCADE, index, &uid);
    each(&bench.target, bench.clients, dependents, make).await?;

    let name = policy.to_lowercase();
    let cores = bench.cores(&format!("cascade-{name}")).await?;
    let done = Arc::new(AtomicBool::new(false));
    let creates = waiting(&bench.target, &done, move |index| {
        requests::create_in(OTHERS, &format!("{name}-{index}"))
    });
    let gets = waiting(&bench.target, &done, |_| requests::read(OTHERS));
    let start = Instant::now();
    let owner = format!("{CASCADE}/owner");
    let deletion = format!("{owner}?propagationPolicy={policy}");
    let sent = connection.send_ok(Method::DELETE, &deletion, Bytes::new());
    sent.await?;
    while exists(connection, &owner).await?
        || (policy != "Orphan" && count(connection).await? > before)
    {
        tokio::time::sleep(POLL).await;
    }
    let rate = f64::from(u32::try_from(dependents)?) / start.elapsed().as_secs_f64();
    let cores = cores.used()?;
    done.store(true, Ordering::Relaxed);
    println!("cascade          {rate:>8.0}/s  ({dependents} dependents, {policy})  {cores}");
    for (verb, client) in [("creates", creates), ("gets", gets)] {
        let figures = client.await.context("a client failed")??;
        let longest = figures.percentile(100).as_secs_f64() * 1000.0;
        println!("  {verb:<14} {figures}  max {longest:>7.2} ms");
    }
    Ok(())
}

/// A client of its own, which sends one request after another until it is `done`.
fn waiting(
    target: &Arc<Target>,
    done: &Arc<AtomicBool>,
    make: impl Fn(usize) -> Request + Send + 'static,
) -> JoinHandle<Result<Figures>> {
    let (target, done) = (Arc::clone(target), Arc::clone(done));
    tokio::spawn(async move {
        let mut connection = target.connect().await?;
        let (start, mut waited) = (Instant::now(), Vec::new());
        while !done.load(Ordering::Relaxed) {
            let Request { method, path, body } = make(waited.len());
            let sent = Instant::now();
            connection.send_ok(method, &path, body).await?;
            waited.push(sent.elapsed());
            tokio::time::sleep(PAUSE).await;
        }
        Ok(Figures::new(waited, start.elapsed()))
    })
}

async fn exists(connection: &mut Connection, path: &str) -> Result<bool> {
    let (status, _) = connection.send(Method::GET, path, Bytes::new()).await?;
    ensure!(
        status.is_success() || status == StatusCode::NOT_FOUND,
        "GET {path}: {status}"
    );
    Ok(status.is_success())
}

async fn count(connection: &mut Connection) -> Result<usize> {
    let path = format!("{CASCADE}?limit=1");
    let answer = connection.send_ok(Method::GET, &path, Bytes::new()).await?;
    let list: Value = serde_json::from_slice(&answer)?;
    let shown = list.get("items").and_then(Value::as_array);
    let more = list.pointer("/metadata/remainingItemCount");
    let more = more.and_then(Value::as_u64).unwrap_or(0);
    Ok(shown.map_or(0, Vec::len) + usize::try_from(more)?)
}
