//! Durable events through the embedded control plane from many writers, beside a plain append with
//! fdatasync in the same run.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::{Context, Result};
use clap::Parser;
use hindsight::{Config, ControlPlane};
use hindsight_core::command::{Create, FieldValidation, Intent};
use hindsight_core::{Actor, Cause, Command, GroupResource, ObjectKey, Request};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Parser, Debug)]
#[command(about = "Measure durable events per second in process")]
struct Arguments {
    /// Writers at once, in the last case
    #[arg(long, default_value_t = 64)]
    writers: usize,
    /// Commands that one writer hands in together, in the last case
    #[arg(long, default_value_t = 16)]
    batch: usize,
    /// How long each case runs
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

/// The server's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    println!("writers  batch   plain append        durable   ratio");
    for (writers, batch) in [(1, 1), (1, 64), (arguments.writers, arguments.batch)] {
        let directory = tempfile::tempdir()?;
        let budget = Duration::from_secs_f64(arguments.seconds);
        let plain = plain_append(directory.path(), writers * batch, budget)?;
        let durable = durable(directory.path(), (writers, batch), budget)?;
        let ratio = 100.0 * durable / plain;
        println!("{writers:>7} {batch:>6} {plain:>12.0}/s {durable:>12.0}/s {ratio:>5.0} %");
    }
    Ok(())
}

/// Events a second of so many writers who each wait for a batch before the next.
fn durable(directory: &Path, (writers, batch): (usize, usize), budget: Duration) -> Result<f64> {
    let plane = ControlPlane::open(Config {
        data_dir: Some(directory.join("data")),
        ..Config::default()
    })?;
    let start = Instant::now();
    let written: u32 = std::thread::scope(|scope| {
        let one = |writer| {
            let plane = &plane;
            scope.spawn(move || write(plane, writer, batch, budget))
        };
        let threads: Vec<_> = (0..writers).map(one).collect();
        let each = threads.into_iter().map(|thread| thread.join().ok());
        each.sum::<Option<u32>>()
    })
    .context("a writer failed")?;
    Ok(f64::from(written) / start.elapsed().as_secs_f64())
}

fn write(plane: &ControlPlane, writer: usize, batch: usize, budget: Duration) -> u32 {
    let actor = Arc::new(Actor {
        user: "bench".into(),
        uid: "".into(),
        groups: Vec::new(),
    });
    let request = Arc::new(Request::default());
    let (start, mut written) = (Instant::now(), 0);
    while start.elapsed() < budget {
        let commands: Vec<Command> = (0..batch)
            .map(|_| {
                written += 1;
                Command {
                    actor: Arc::clone(&actor),
                    request: Arc::clone(&request),
                    time: plane.now(),
                    seed: plane.seed(),
                    cause: Cause::Request,
                    intent: create(writer, written),
                }
            })
            .collect();
        assert!(
            plane.submit_blocking(commands).is_ok(),
            "the log takes writes"
        );
    }
    written
}

fn create(writer: usize, index: u32) -> Intent {
    Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", ""),
        version: "v1".into(),
        object: json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("c{writer}-{index}")}, "data": {"key": "value"}}),
        validation: FieldValidation::Ignore,
    })
}

/// 400-byte events in a file of their own, synced every `batch`.
fn plain_append(directory: &Path, batch: usize, budget: Duration) -> Result<f64> {
    let mut file = std::fs::File::create(directory.join("plain"))?;
    let bytes = vec![7_u8; 400 * batch];
    let start = Instant::now();
    let mut events = 0_u32;
    while start.elapsed() < budget {
        file.write_all(&bytes)?;
        file.sync_data()?;
        events = events.saturating_add(u32::try_from(batch)?);
    }
    Ok(f64::from(events) / start.elapsed().as_secs_f64())
}
