//! Deletes one owner and measures how soon its last dependent is gone, as seen by a client that
//! polls.

use crate::phase::{Bench, each};
use crate::requests::{self, MAPS};
use anyhow::{Context, Result};
use bytes::Bytes;
use hindsight_benches::client::Connection;
use http::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause between two polls.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) async fn run(bench: &mut Bench, dependents: usize) -> Result<()> {
    bench.fill(dependents).await?;
    let mut connection = bench.target.connect().await?;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let body = owner.to_string().into();
    let answer = connection.send_ok(Method::POST, MAPS, body).await?;
    let owner: Value = serde_json::from_slice(&answer)?;
    let uid = owner.pointer("/metadata/uid").and_then(Value::as_str);
    let uid: Arc<str> = uid.context("no uid")?.into();
    let before = count(&mut connection).await?;
    let adopt = move |index| requests::adopt(index, &uid);
    each(&bench.target, bench.clients, dependents, adopt).await?;
    let cores = bench.cores("cascade").await?;
    let start = Instant::now();
    let owner = format!("{MAPS}/owner");
    connection
        .send_ok(Method::DELETE, &owner, Bytes::new())
        .await?;
    while count(&mut connection).await? + dependents + 1 > before {
        tokio::time::sleep(PAUSE).await;
    }
    let rate = f64::from(u32::try_from(dependents)?) / start.elapsed().as_secs_f64();
    println!(
        "cascade          {rate:>8.0}/s  ({dependents} dependents)  {}",
        cores.used()?
    );
    if let Some(own_server) = &bench.own_server {
        println!("memory at end    {:>8.1} MB", own_server.resident_mb()?);
    }
    Ok(())
}

async fn count(connection: &mut Connection) -> Result<usize> {
    let path = format!("{MAPS}?limit=1");
    let answer = connection.send_ok(Method::GET, &path, Bytes::new()).await?;
    let list: Value = serde_json::from_slice(&answer)?;
    let shown = list.get("items").and_then(Value::as_array);
    let more = list.pointer("/metadata/remainingItemCount");
    let more = more.and_then(Value::as_u64).unwrap_or(0);
    Ok(shown.map_or(0, Vec::len) + usize::try_from(more)?)
}
