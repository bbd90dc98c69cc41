//! Durable events through the embedded control plane from many writers, beside a plain append with
//! fdatasync in the same run.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::Result;
use clap::Parser;
use hindsight::{Config, ControlPlane};
use hindsight_core::command::{Create, FieldValidation, Intent};
use hindsight_core::{Actor, Cause, Command, GroupResource, ObjectKey, Request};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Parser, Debug)]
#[command(about = "Measure durable events per second in process")]
struct Arguments {
    /// Writers at once
    #[arg(long, default_value_t = 64)]
    writers: usize,
    /// Commands that one writer hands in together
    #[arg(long, default_value_t = 16)]
    batch: usize,
    /// Events in all
    #[arg(long, default_value_t = 200_000)]
    events: usize,
}

/// The server's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let directory = tempfile::tempdir()?;
    for batch in [1, arguments.writers * arguments.batch] {
        let rate = plain_append(directory.path(), batch, Duration::from_secs(2))?;
        println!("plain append, {batch:>5} a sync   {rate:>9.0} events/s");
    }
    let config = Config {
        data_dir: Some(directory.path().join("data")),
        ..Config::default()
    };
    let plane = ControlPlane::open(config)?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..arguments.writers {
            let plane = &plane;
            scope.spawn(move || {
                write(
                    plane,
                    writer,
                    arguments.writers,
                    arguments.events,
                    arguments.batch,
                );
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let events = f64::from(u32::try_from(arguments.events)?);
    println!(
        "durable, {:>3} writers           {:>9.0} events/s",
        arguments.writers,
        events / seconds
    );
    Ok(())
}

fn write(plane: &ControlPlane, writer: usize, writers: usize, events: usize, batch: usize) {
    let actor = Arc::new(Actor {
        user: "bench".into(),
        uid: "".into(),
        groups: Vec::new(),
    });
    let request = Arc::new(Request::default());
    let indices: Vec<usize> = (writer..events).step_by(writers).collect();
    for chunk in indices.chunks(batch) {
        let commands = chunk
            .iter()
            .map(|index| Command {
                actor: Arc::clone(&actor),
                request: Arc::clone(&request),
                time: plane.now(),
                seed: plane.seed(),
                cause: Cause::Request,
                intent: create(*index),
            })
            .collect();
        assert!(
            plane.submit_blocking(commands).is_ok(),
            "the log takes writes"
        );
    }
}

fn create(index: usize) -> Intent {
    Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", ""),
        version: "v1".into(),
        object: json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("c{index}")}, "data": {"key": "value"}}),
        validation: FieldValidation::Ignore,
    })
}

/// 400-byte events in a file of their own, synced every `batch`.
fn plain_append(directory: &std::path::Path, batch: usize, budget: Duration) -> Result<f64> {
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
