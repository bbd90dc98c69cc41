//! Many watchers of one collection. A delay is the time from sending a write until a watcher has its
//! event: it includes the request, the fsync and the delivery.

use crate::phase::Bench;
use crate::requests::MAPS;
use crate::watchers::{Seen, Spread, Watchers, clock};
use anyhow::{Result, ensure};
use bytes::Bytes;
use hindsight_benches::client::Target;
use hindsight_benches::percentiles::Figures;
use http::{Method, StatusCode};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WRITERS: usize = 8;
/// Objects that are written again and again.
const WATCHED: usize = 64;
/// Deliveries of a flood, in which every writer sends its next write as soon as the last one is
/// answered.
const FLOOD: usize = 1_000_000;

/// One connection for each watcher, and few connections with many streams.
const SPREADS: [Spread; 4] = [
    Spread {
        watchers: 100,
        connections: 100,
    },
    Spread {
        watchers: 100,
        connections: 4,
    },
    Spread {
        watchers: 1_000,
        connections: 1_000,
    },
    Spread {
        watchers: 1_000,
        connections: 10,
    },
];

/// The offered load: deliveries per second to all watchers together, and how long it lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchLoad {
    pub(crate) deliveries: usize,
    pub(crate) duration: Duration,
}

impl WatchLoad {
    /// Returns the writes per second, and in all, that this load means for this number of watchers.
    pub(crate) fn writes(self, watchers: usize) -> (usize, usize) {
        let rate = (self.deliveries / watchers).max(1);
        let seconds = usize::try_from(self.duration.as_secs()).unwrap_or(1);
        (rate, rate * seconds.max(1))
    }
}

pub(crate) async fn run(bench: &Bench, load: WatchLoad) -> Result<()> {
    prepare(bench).await?;
    let (_process, fixed) = bench.of_static_answer().await?;
    for spread in SPREADS {
        let (rate, count) = load.writes(spread.watchers);
        measure(&fixed, spread, "static", (count, Some(rate))).await?;
        measure(bench, spread, "paced", (count, Some(rate))).await?;
        measure(bench, spread, "flood", (FLOOD / spread.watchers, None)).await?;
    }
    Ok(())
}

/// Creates the objects that are written later.
pub(crate) async fn prepare(bench: &Bench) -> Result<()> {
    let mut connection = bench.target.connect().await?;
    for index in 0..WATCHED {
        let (status, answer) = connection.send(Method::POST, MAPS, map(index).1).await?;
        let text = || String::from_utf8_lossy(&answer);
        let made = status.is_success() || status == StatusCode::CONFLICT;
        ensure!(made, "{status}: {}", text());
    }
    Ok(())
}

/// Sends `count` writes, at a rate or as fast as they are answered, and prints one line of figures.
pub(crate) async fn measure(
    bench: &Bench,
    spread: Spread,
    name: &str,
    (count, rate): (usize, Option<usize>),
) -> Result<Figures> {
    let watchers = Watchers::open(&bench.target, spread).await?;
    let phase = format!("{name}-{}-{}", spread.watchers, spread.name());
    let cores = bench.cores(&phase).await?;
    let start = Instant::now();
    let reading = watchers.read(count);
    let writes = write(&bench.target, count, rate).await?;
    let seen = reading.finish().await?;
    let figures = figures_of(seen, start);
    let Spread { watchers, .. } = spread;
    println!(
        "{name} {watchers:>4} {:<4}  {figures}  {:.0} writes/s  {}",
        spread.name(),
        writes.rate(),
        cores.used()?
    );
    Ok(figures)
}

fn figures_of(seen: Vec<Seen>, start: Instant) -> Figures {
    let last = seen.iter().map(|one| one.last).max().unwrap_or(start);
    let delays = seen.into_iter().flat_map(|one| one.delays).collect();
    Figures::new(delays, last.duration_since(start))
}

/// Sends writes from a few writers. With a rate, each write has a due time; it is sent later only if
/// its writer's previous write is not answered by then.
pub(crate) async fn write(
    target: &Arc<Target>,
    count: usize,
    rate: Option<usize>,
) -> Result<Figures> {
    let mut tasks = Vec::new();
    let start = tokio::time::Instant::now();
    for writer in 0..WRITERS {
        let target = Arc::clone(target);
        tasks.push(tokio::spawn(async move {
            let mut connection = target.connect().await?;
            let mut latencies = Vec::new();
            for index in (writer..count).step_by(WRITERS) {
                if let Some(rate) = rate {
                    let due = Duration::from_secs(1) * u32::try_from(index)?;
                    tokio::time::sleep_until(start + due / u32::try_from(rate)?).await;
                }
                let sent = Instant::now();
                let (path, map) = map(index);
                connection.send_ok(Method::PUT, &path, map).await?;
                latencies.push(sent.elapsed());
            }
            Ok::<_, anyhow::Error>(latencies)
        }));
    }
    let mut latencies = Vec::with_capacity(count);
    for task in tasks {
        latencies.extend(task.await??);
    }
    Ok(Figures::new(latencies, start.elapsed()))
}

/// A replace whose body carries the time at which it was sent.
fn map(index: usize) -> (String, Bytes) {
    let name = format!("watched-{}", index % WATCHED);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
        "data": {"key": "a value of about forty bytes, more or less",
            "sent": format!("{:020}", clock())}});
    (format!("{MAPS}/{name}"), map.to_string().into())
}
