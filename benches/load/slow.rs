//! A watcher that never reads, beside others that do: it must cost them nothing.

use crate::phase::Bench;
use crate::watch::{self, WatchLoad};
use crate::watchers::{self, Spread};
use anyhow::Result;
use hindsight_benches::client::ConnectOptions;
use hindsight_benches::percentiles::Figures;

const SPREAD: Spread = Spread {
    watchers: 100,
    connections: 100,
};
/// Receive buffer of the watcher that never reads, in bytes; small, so that it is full soon.
const RECEIVE_BUFFER: u32 = 4096;

/// Pairs of windows, one without it and one with it; a single pair shows how the machine differs from
/// second to second.
const PAIRS: usize = 9;
/// Each window is this part of the load.
const PART: usize = 5;
/// Writes before each window: more events than the buffers on the way to the watcher have room for.
const FILL: usize = 5_000;

/// Measures the same load without and with a watcher that never reads, in turns.
pub(crate) async fn run(bench: &Bench, load: WatchLoad) -> Result<()> {
    watch::prepare(bench).await?;
    let (mut p50, mut p99) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let without = window(bench, load, "alone").await?;
        let path = watchers::path(&bench.target).await?;
        let options = ConnectOptions {
            receive_buffer: Some(RECEIVE_BUFFER),
            ..ConnectOptions::default()
        };
        let mut connection = bench.target.dial(options).await?;
        let never_read = watchers::stream(&mut connection, &path).await?;
        let with = window(bench, load, "beside").await?;
        drop(never_read);
        let ratio = |percent| {
            let (with, without) = (with.percentile(percent), without.percentile(percent));
            with.as_secs_f64() / without.as_secs_f64()
        };
        p50.push(ratio(50));
        p99.push(ratio(99));
    }
    println!(
        "one that never reads costs the others (median of {PAIRS} pairs): p50 x {:.2}, p99 x {:.2}",
        median(p50),
        median(p99)
    );
    Ok(())
}

async fn window(bench: &Bench, load: WatchLoad, name: &str) -> Result<Figures> {
    let (rate, count) = load.writes(SPREAD.watchers);
    watch::write(&bench.target, FILL, None).await?;
    let count = (count / PART).max(1);
    watch::measure(bench, SPREAD, name, (count, Some(rate))).await
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_unstable_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}
