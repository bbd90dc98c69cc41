//! Measures what snapshots and the thinning of the log cost writers: events per second and the
//! latency of a write without either, with snapshots, and with both, in turns.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::{Context, Result};
use clap::Parser;
use hindsight::{Config, ControlPlane, Retention};
use hindsight_benches::command::submit;
use hindsight_benches::percentiles::Figures;
use hindsight_core::command::{
    Create, Delete, FieldValidation, Intent, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::{Actor, Command, GroupResource, ObjectKey, Rule};
use serde_json::json;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Parser, Debug)]
#[command(about = "Measure what a retention costs the writers")]
struct Arguments {
    /// Writers at once
    #[arg(long, default_value_t = 4)]
    writers: usize,
    /// Commands that one writer hands in together
    #[arg(long, default_value_t = 16)]
    batch: usize,
    /// How long each run writes
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// How often each is run
    #[arg(long, default_value_t = 2)]
    turns: usize,
    /// Commits after which a snapshot is written and the log thinned
    #[arg(long, default_value_t = 20_000)]
    snapshot_every: u64,
    /// What is kept whole, in bytes
    #[arg(long, default_value_t = 1 << 20)]
    bytes: u64,
}

/// Objects of each writer that are never deleted, and changed again and again.
const LIVE_OBJECTS: u64 = 500;

/// The allocator that the server uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    println!("beside         events        p50        p99    longest   database   floor of newest");
    for _ in 0..arguments.turns {
        for background in [
            Background::Nothing,
            Background::Snapshots,
            Background::Thinning,
        ] {
            run(&arguments, background)?;
        }
    }
    Ok(())
}

/// What else goes on during the writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Background {
    Nothing,
    Snapshots,
    /// Snapshots, and the log is thinned after each.
    Thinning,
}

fn run(arguments: &Arguments, background: Background) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let retention = (background == Background::Thinning).then(|| Retention {
        age_micros: None,
        bytes: Some(arguments.bytes),
        kinds: Vec::new(),
    });
    let plane = ControlPlane::open(Config {
        data_dir: Some(directory.path().to_owned()),
        snapshot_every: match background {
            Background::Nothing => None,
            Background::Snapshots | Background::Thinning => {
                NonZeroU64::new(arguments.snapshot_every)
            }
        },
        retention,
        ..Config::default()
    })?;
    let budget = Duration::from_secs_f64(arguments.seconds);
    let start = Instant::now();
    let waits = std::thread::scope(|scope| {
        let one = |writer| {
            let plane = &plane;
            scope.spawn(move || write(plane, writer, arguments.batch, budget))
        };
        let threads: Vec<_> = (0..arguments.writers).map(one).collect();
        let each = threads.into_iter().map(|thread| thread.join().ok());
        each.collect::<Option<Result<Vec<_>>>>()
    });
    let waits = waits.context("a writer panicked")??.concat();
    let figures = Figures::new(waits, start.elapsed());
    let batch = u32::try_from(arguments.batch)?;
    let wait = |percent| figures.percentile(percent).as_secs_f64() * 1000.0;
    println!(
        "{:<10} {:>8.0}/s {:>7.2} ms {:>7.2} ms {:>7.1} ms {:>7} MB   {} of {}",
        format!("{background:?}").to_lowercase(),
        figures.rate() * f64::from(batch),
        wait(50),
        wait(99),
        wait(100),
        size(directory.path())? >> 20,
        plane.reader().floor()?,
        plane.state().revision,
    );
    Ok(())
}

fn size(directory: &Path) -> Result<u64> {
    Ok(std::fs::metadata(directory.join("events/db"))?.len())
}

/// Submits one batch after the other and returns how long each took.
fn write(
    plane: &ControlPlane,
    writer: usize,
    batch: usize,
    budget: Duration,
) -> Result<Vec<Duration>> {
    let actor = Arc::new(Actor::new("bench"));
    let (start, mut waits, mut made) = (Instant::now(), Vec::new(), 0);
    while start.elapsed() < budget {
        let commands: Vec<Command> = (0..batch)
            .map(|_| {
                made += 1;
                let intent = intent(writer, made);
                Command::new(Arc::clone(&actor), plane.now(), plane.seed(), intent)
            })
            .collect();
        let submitted = Instant::now();
        submit(plane, commands)?;
        waits.push(submitted.elapsed());
    }
    Ok(waits)
}

/// Mostly changes of existing objects; one write in eight creates an object, and the next one deletes
/// it.
fn intent(writer: usize, made: u64) -> Intent {
    let key = |name: &str| ObjectKey::new(GroupResource::new("", "configmaps"), "default", name);
    let create = |name: String| {
        Intent::Create(Create {
            key: key(""),
            version: "v1".into(),
            object: json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name}, "data": {"made": made.to_string(), "text": "a few words ".repeat(12)}}),
            validation: FieldValidation::Ignore,
        })
    };
    if made <= LIVE_OBJECTS {
        return create(format!("lasting-{writer}-{made}"));
    }
    match made % 8 {
        0 => create(format!("passing-{writer}-{made}")),
        1 => Intent::Delete(Delete {
            propagation: Some(Propagation::Background),
            ..Delete::new(
                Target::any(key(&format!("passing-{writer}-{}", made - 1))),
                "v1".into(),
                Rule::Requested,
            )
        }),
        _ => Intent::Patch(PatchObject {
            key: key(&format!("lasting-{writer}-{}", 1 + made % LIVE_OBJECTS)),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"data": {"made": made.to_string()}})),
            validation: FieldValidation::Ignore,
        }),
    }
}
