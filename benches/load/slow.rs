//! A watcher that never reads, beside others that do: it must cost them nothing.

use crate::phase::Bench;
use crate::watch::{self, WatchLoad};
use crate::watchers::{self, Spread};
use anyhow::Result;
use hindsight_benches::client::ConnectOptions;

const SPREAD: Spread = Spread {
    watchers: 100,
    connections: 100,
};
/// Receive buffer of the watcher that never reads, in bytes; small, so that it is full soon.
const RECEIVE_BUFFER: u32 = 4096;

/// Measures the same load twice, without and with a watcher that never reads.
pub(crate) async fn run(bench: &Bench, load: WatchLoad) -> Result<()> {
    watch::prepare(bench).await?;
    let (rate, count) = load.writes(SPREAD.watchers);
    let without = watch::measure(bench, SPREAD, "alone", (count, Some(rate))).await?;
    let path = watchers::path(&bench.target).await?;
    let options = ConnectOptions {
        receive_buffer: Some(RECEIVE_BUFFER),
        ..ConnectOptions::default()
    };
    let mut connection = bench.target.dial(options).await?;
    let never_read = watchers::stream(&mut connection, &path).await?;
    let with = watch::measure(bench, SPREAD, "beside", (count, Some(rate))).await?;
    drop(never_read);
    let ratio = |percent| {
        let (with, without) = (with.percentile(percent), without.percentile(percent));
        with.as_secs_f64() / without.as_secs_f64()
    };
    println!(
        "one that never reads costs the others: p50 x {:.2}, p99 x {:.2}",
        ratio(50),
        ratio(99)
    );
    Ok(())
}
