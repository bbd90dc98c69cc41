//! A mixed load that mostly reads: of a hundred requests, 80 get one object, 5 list a hundred objects
//! and 15 replace one.

use crate::phase::Bench;
use crate::requests::{self, Request};
use anyhow::Result;
use hindsight_benches::client::Target;
use hindsight_benches::percentiles::Figures;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Share {
    verb: &'static str,
    /// Upper bound of this share's draws out of 100; the lower bound is that of the share before.
    until: usize,
    make: fn(usize) -> Request,
}

const SHARES: [Share; 3] = [
    Share {
        verb: "get",
        until: 80,
        make: requests::get,
    },
    Share {
        verb: "list",
        until: 85,
        make: requests::page,
    },
    Share {
        verb: "replace",
        until: 100,
        make: requests::replace,
    },
];

/// The index of a share, and a latency.
type Timed = (usize, Duration);

pub(crate) async fn run(bench: &mut Bench, objects: usize, seconds: u64) -> Result<()> {
    bench.fill(objects).await?;
    let cores = bench.cores("mixed").await?;
    let start = Instant::now();
    let duration = Duration::from_secs(seconds);
    let mut tasks = Vec::new();
    for client in 0..bench.clients {
        let target = Arc::clone(&bench.target);
        tasks.push(tokio::spawn(one(target, client, objects, duration)));
    }
    let mut all: Vec<Timed> = Vec::new();
    for task in tasks {
        all.extend(task.await??);
    }
    let elapsed = start.elapsed();
    let whole = Figures::new(all.iter().map(|(_, took)| *took).collect(), elapsed);
    println!("mixed            {whole}  {}", cores.used()?);
    for (share, Share { verb, .. }) in SHARES.iter().enumerate() {
        let of = all.iter().filter(|(one, _)| *one == share);
        let figures = Figures::new(of.map(|(_, took)| *took).collect(), elapsed);
        println!("  {verb:<14} {figures}");
    }
    Ok(())
}

async fn one(
    target: Arc<Target>,
    client: usize,
    objects: usize,
    duration: Duration,
) -> Result<Vec<Timed>> {
    let mut connection = target.connect().await?;
    let (start, mut all, mut draw) = (Instant::now(), Vec::new(), client * 7919 + 1);
    while start.elapsed() < duration {
        draw = next(draw);
        let (share, object) = ((draw >> 16) % 100, (draw >> 24) % objects);
        let found = SHARES.iter().position(|one| share < one.until);
        let Some((at, Share { make, .. })) = found.and_then(|at| Some((at, SHARES.get(at)?)))
        else {
            continue;
        };
        let request = make(object);
        let sent = Instant::now();
        let (method, path) = (request.method, request.path);
        connection.send_ok(method, &path, request.body).await?;
        all.push((at, sent.elapsed()));
    }
    Ok(all)
}

/// The next pseudo-random draw, so that every run sends the same requests. Source: Knuth's MMIX
/// generator.
const fn next(draw: usize) -> usize {
    draw.wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}
