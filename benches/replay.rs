//! Measures what a start costs: a log of many events is opened with a snapshot and without, each in a
//! process of its own. Also prints the log's size on the disk beside the bytes of its events, and how
//! long writers wait while a snapshot is written.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::{Context, Result, ensure};
use clap::Parser;
use hindsight::{Config, ControlPlane};
use hindsight_benches::command::command;
use hindsight_benches::percentiles::Figures;
use hindsight_core::command::{Create, FieldValidation, Intent, Patch, PatchObject};
use hindsight_core::{GroupResource, ObjectKey};
use hindsight_log::{Reader, SledStorage, verify};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Commands that are submitted as one batch.
const BATCH: usize = 1024;
const NEVER: Option<NonZeroU64> = None;

#[derive(Parser, Debug)]
#[command(about = "Measure what a start costs")]
struct Arguments {
    /// Events in the log
    #[arg(long, default_value_t = 1_000_000)]
    events: usize,
    /// Events that are handed in together, and share a sync
    #[arg(long, default_value_t = BATCH)]
    batch: usize,
    /// Objects that they are about
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// Open this directory and say what it took; used by the program itself
    #[arg(long, hide = true)]
    open: Option<PathBuf>,
}

/// The allocator that the server uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(directory) = &arguments.open {
        return open(directory);
    }
    let directory = tempfile::tempdir()?;
    let data = directory.path().join("data");
    let bodies = fill(&data, &arguments)?;
    let disk = mega(size(&data.join("events"))?);
    let (bodies, commits) = (mega(bodies), mega(encoded(&data)?));
    println!(
        "{} events of {} objects, {commits:.0} MB, of which bodies {bodies:.0}; {disk:.0} MB on the disk ({:.2} and {:.2} times)",
        arguments.events,
        arguments.objects,
        disk / commits,
        disk / bodies
    );
    open_in_new_process("opened without a snapshot", &data)?;
    snapshot(&data)?;
    open_in_new_process("opened with a snapshot   ", &data)
}

/// Fills the log and returns the bytes of the objects' bodies that were written.
fn fill(data: &Path, arguments: &Arguments) -> Result<u64> {
    let plane = plane(data, NEVER)?;
    let mut bodies = 0;
    let indices: Vec<usize> = (0..arguments.events).collect();
    let start = Instant::now();
    for chunk in indices.chunks(arguments.batch.max(1)) {
        let commands = chunk
            .iter()
            .map(|index| command(&plane, intent(*index, arguments.objects)));
        let answers = plane.submit_blocking(commands.collect())?;
        for answer in answers {
            let object = answer?.outcome.object().body.len();
            bodies += u64::try_from(object)?;
        }
    }
    println!("written in {:.1} s", start.elapsed().as_secs_f64());
    Ok(bodies)
}

/// Returns the bytes of all encoded events before compression.
fn encoded(data: &Path) -> Result<u64> {
    let storage = SledStorage::open(&data.join("events"))?;
    let report = verify(&Reader::new(Arc::new(storage)), |_| {})?;
    Ok(report.commit_bytes)
}

fn plane(data: &Path, snapshot_every: Option<NonZeroU64>) -> Result<ControlPlane> {
    Ok(ControlPlane::open(Config {
        data_dir: Some(data.to_owned()),
        snapshot_every,
        ..Config::default()
    })?)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}

/// Every object is created first; then they are changed in turn.
fn intent(index: usize, objects: usize) -> Intent {
    let name = format!("c{}", index % objects);
    let data = json!({"value": noise(index)});
    if index < objects {
        let object: Value = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name}, "data": data});
        return Intent::Create(Create {
            key: key(""),
            version: "v1".into(),
            object,
            validation: FieldValidation::Ignore,
        });
    }
    Intent::Patch(PatchObject {
        key: key(&name),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"data": data})),
        validation: FieldValidation::Ignore,
    })
}

/// 200 characters that hardly compress, different for each index.
fn noise(index: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = (index as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let place = usize::try_from(state >> 58).unwrap_or_default();
        LETTERS.get(place).copied().map_or('=', char::from)
    };
    (0..200).map(letter).collect()
}

fn open_in_new_process(what: &str, data: &Path) -> Result<()> {
    let program = std::env::current_exe()?;
    let output = std::process::Command::new(program)
        .arg("--open")
        .arg(data)
        .output()?;
    ensure!(output.status.success(), "{:?}", output.stderr);
    print!("{what}  {}", String::from_utf8(output.stdout)?);
    Ok(())
}

fn open(directory: &Path) -> Result<()> {
    let start = Instant::now();
    let plane = plane(directory, NEVER)?;
    let seconds = start.elapsed().as_secs_f64();
    let state = plane.state();
    println!(
        "{seconds:>6.2} s, revision {}, {} objects, peak of memory {}",
        state.revision,
        state.len(),
        peak()?
    );
    Ok(())
}

/// Measures sequential writes while nothing else happens and while a snapshot of all objects is
/// written, which the first commit makes due.
fn snapshot(data: &Path) -> Result<()> {
    let quiet = write_latencies(&plane(data, NEVER)?, 1_000_000, |done| done < 1_000)?;
    println!("a write, while nothing else goes on  {quiet}");
    let directory = data.join("snapshots");
    let busy = write_latencies(&plane(data, NonZeroU64::new(1))?, 2_000_000, |_| {
        !has_snapshot(&directory)
    })?;
    println!("a write, beside the first snapshot   {busy}");
    let longest = |figures: &Figures| figures.percentile(100).as_secs_f64() * 1000.0;
    println!(
        "the longest of them                  {:.2} ms and {:.2} ms",
        longest(&quiet),
        longest(&busy)
    );
    Ok(())
}

fn has_snapshot(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut ends = entries.map(|entry| entry.path().extension() == Some("snapshot".as_ref()));
    ends.any(|is_snapshot| is_snapshot)
}

/// Measures writes while `keeps_going`. They are numbered from `first`, which no earlier write was,
/// so each changes something.
fn write_latencies(
    plane: &ControlPlane,
    first: usize,
    keeps_going: impl Fn(usize) -> bool,
) -> Result<Figures> {
    let begin = Instant::now();
    let mut latencies = Vec::new();
    while keeps_going(latencies.len()) {
        let start = Instant::now();
        let commands = vec![command(plane, intent(first + latencies.len(), 1_000))];
        let answers = plane.submit_blocking(commands)?;
        let is_change = answers
            .iter()
            .flatten()
            .all(|answer| !answer.commits.is_empty());
        ensure!(is_change, "a write changed nothing");
        latencies.push(start.elapsed());
    }
    Ok(Figures::new(latencies, begin.elapsed()))
}

fn size(path: &Path) -> Result<u64> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in std::fs::read_dir(path)? {
        bytes += size(&entry?.path())?;
    }
    Ok(bytes)
}

#[allow(clippy::cast_precision_loss, reason = "a figure for people")]
fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn peak() -> Result<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: u64 = line
        .and_then(|line| line.split_whitespace().next())
        .context("no VmHWM")?
        .parse()?;
    Ok(format!("{:.0} MB", mega(kilobytes * 1024)))
}
