//! Measures durable events per second through the embedded control plane with many writers, beside
//! two baselines in the same run: a plain append with fdatasync, and the storage layer alone.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::{Context, Result};
use clap::Parser;
use hindsight::{Config, ControlPlane};
use hindsight_benches::command::submit;
use hindsight_core::command::{Create, FieldValidation, Intent};
use hindsight_core::{Actor, Command, GroupResource, ObjectKey, Revision};
use hindsight_log::{SledStorage, Storage};
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

/// How long each of the three writes before the next one's turn.
const TURN: Duration = Duration::from_millis(100);

/// The allocator that the server uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    println!("writers  batch   plain append   storage alone   ratio        durable   ratio");
    for (writers, batch) in [(1, 1), (1, 64), (arguments.writers, arguments.batch)] {
        let directory = tempfile::tempdir()?;
        let budget = Duration::from_secs_f64(arguments.seconds);
        let [plain, stored, durable] = alternate(directory.path(), (writers, batch), budget)?;
        let ratio =
            |of: &[f64]| 100.0 * median(plain.iter().zip(of).map(|(one, other)| other / one));
        let (stored_ratio, durable_ratio) = (ratio(&stored), ratio(&durable));
        let (plain, stored, durable) = (median(plain), median(stored), median(durable));
        println!(
            "{writers:>7} {batch:>6} {plain:>12.0}/s {stored:>13.0}/s {stored_ratio:>5.0} % \
             {durable:>12.0}/s {durable_ratio:>5.0} %"
        );
    }
    Ok(())
}

/// Returns the rates of all three, measured in alternating turns, so that other load on the disk
/// slows all of them alike.
fn alternate(
    directory: &Path,
    (writers, batch): (usize, usize),
    budget: Duration,
) -> Result<[Vec<f64>; 3]> {
    let mut plain = PlainFile::new(directory, writers * batch)?;
    let mut stored = SledLog::new(directory, writers * batch)?;
    let plane = ControlPlane::open(Config {
        data_dir: Some(directory.join("data")),
        ..Config::default()
    })?;
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    let mut names = 0;
    let start = Instant::now();
    while start.elapsed() < budget * 3 {
        let turn = Instant::now();
        let written = plain.append_for(TURN)?;
        rates[0].push(f64::from(written) / turn.elapsed().as_secs_f64());
        let turn = Instant::now();
        let written = stored.append_for(TURN)?;
        rates[1].push(f64::from(written) / turn.elapsed().as_secs_f64());
        let turn = Instant::now();
        let written = durable(&plane, (writers, batch), names)?;
        rates[2].push(f64::from(written) / turn.elapsed().as_secs_f64());
        names += 1;
    }
    Ok(rates)
}

fn median(rates: impl IntoIterator<Item = f64>) -> f64 {
    let mut rates: Vec<f64> = rates.into_iter().collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

/// Returns how many events the writers write in one turn; each waits for its batch before it submits
/// the next.
fn durable(plane: &ControlPlane, (writers, batch): (usize, usize), names: u32) -> Result<u32> {
    std::thread::scope(|scope| {
        let one = |writer| scope.spawn(move || write(plane, &format!("{names}-{writer}"), batch));
        let threads: Vec<_> = (0..writers).map(one).collect();
        let each = threads.into_iter().map(|thread| thread.join().ok());
        each.sum::<Option<Result<u32>>>()
    })
    .context("a writer panicked")?
}

fn write(plane: &ControlPlane, name: &str, batch: usize) -> Result<u32> {
    let actor = Arc::new(Actor::new("bench"));
    let (start, mut written) = (Instant::now(), 0);
    while start.elapsed() < TURN {
        let commands: Vec<Command> = (0..batch)
            .map(|_| {
                written += 1;
                let intent = create(name, written);
                Command::new(Arc::clone(&actor), plane.now(), plane.seed(), intent)
            })
            .collect();
        submit(plane, commands)?;
    }
    Ok(written)
}

fn create(name: &str, index: u32) -> Intent {
    Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", ""),
        version: "v1".into(),
        object: json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("c{name}-{index}")}, "data": {"key": "value"}}),
        validation: FieldValidation::Ignore,
    })
}

/// The first baseline: 400-byte events appended to a file, with an fdatasync after each batch.
struct PlainFile {
    file: std::fs::File,
    bytes: Vec<u8>,
    batch: u32,
}

impl PlainFile {
    fn new(directory: &Path, batch: usize) -> Result<Self> {
        Ok(Self {
            file: std::fs::File::create(directory.join("plain"))?,
            bytes: vec![7; 400 * batch],
            batch: u32::try_from(batch)?,
        })
    }

    /// Returns how many events were written in a turn.
    fn append_for(&mut self, turn: Duration) -> Result<u32> {
        let (start, mut events) = (Instant::now(), 0_u32);
        while start.elapsed() < turn {
            self.file.write_all(&self.bytes)?;
            self.file.sync_data()?;
            events = events.saturating_add(self.batch);
        }
        Ok(events)
    }
}

/// The second baseline: frames of the same size in the log's storage, with a sync after each. It
/// shows what the storage layer costs before anything is decided.
struct SledLog {
    storage: SledStorage,
    frame: Vec<u8>,
    next: Revision,
    batch: u32,
}

impl SledLog {
    fn new(directory: &Path, batch: usize) -> Result<Self> {
        Ok(Self {
            storage: SledStorage::open(&directory.join("stored"))?,
            frame: vec![7; 400 * batch],
            next: Revision::default().next(),
            batch: u32::try_from(batch)?,
        })
    }

    /// Returns how many events were written in a turn.
    fn append_for(&mut self, turn: Duration) -> Result<u32> {
        let (start, mut events) = (Instant::now(), 0_u32);
        while start.elapsed() < turn {
            self.storage.append(self.next, &self.frame)?;
            self.storage.sync()?;
            self.next = self.next.next();
            events = events.saturating_add(self.batch);
        }
        Ok(events)
    }
}
