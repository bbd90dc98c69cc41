//! Counts the instructions per operation under valgrind: unlike a time, the count does not vary on a
//! noisy machine. Prints each count beside the one recorded in `benches/instructions.txt`; `--write`
//! records the new counts there.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use clap::{Parser, ValueEnum};
use hindsight_benches::stepped;
use hindsight_benches::world::{self, MAPS, World};
use hindsight_gc::Collector;
use hindsight_log::Log;
use http::Method;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;

/// How many operations are counted; the figure is their mean.
const TIMES: usize = 50;
/// Objects that exist before the operations.
const OBJECTS: usize = 200;
/// Objects that exist before a batch: so many that the maps of the state have some depth, and that a copy of
/// their nodes shows in the count.
const OBJECTS_OF_BATCH: usize = 2_000;
/// The output flags a count whose ratio to the recorded one is above this.
const RATIO_MAX: f64 = 1.1;
const JSON: &str = "application/json";
const PROFILE: &str = if cfg!(debug_assertions) {
    "dev"
} else {
    "release"
};

#[derive(Parser, Debug)]
#[command(about = "Count the instructions of the hot paths under valgrind")]
struct Arguments {
    /// Only do this work, uncounted
    path: Option<HotPath>,
    /// Put the figures of this profile into the table
    #[arg(long)]
    write: bool,
    /// The table
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt"))]
    table: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HotPath {
    /// POST, from the request to the answer
    Create,
    /// A create among many that are submitted together, decided and written
    Batch,
    /// PUT
    Update,
    /// GET of one object
    Get,
    /// GET of the collection, an object
    List,
    /// A change, from the window to the bytes for one watcher
    WatchEvent,
    /// A removal by the collector: observed, planned, decided, written
    CascadeStep,
    /// A commit, from its frame to the state
    Replay,
}

/// The allocator that the server uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(path) = arguments.path {
        return work(path);
    }
    let mut table = Table::read(&arguments.table)?;
    println!("instructions an operation, {PROFILE} build");
    for path in HotPath::value_variants() {
        let name = path.to_possible_value().context("no name")?;
        let count = count(name.get_name())?;
        let known = table.known(name.get_name());
        let ratio = known.map_or_else(String::new, |known| {
            let ratio = to_f64(count) / to_f64(known);
            let alarm = if ratio > RATIO_MAX {
                "  <== MORE: WHY?"
            } else {
                ""
            };
            format!("x {ratio:.3} of {known}{alarm}")
        });
        println!("{:<14} {count:>10}  {ratio}", name.get_name());
        table.note(name.get_name(), count);
    }
    if arguments.write {
        std::fs::write(&arguments.table, table.text())?;
    }
    Ok(())
}

/// Runs the counted part of an operation: valgrind collects only within this function, which it finds
/// by name.
#[inline(never)]
fn counted<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

fn work(path: HotPath) -> Result<()> {
    let world = World::new(OBJECTS)?;
    match path {
        HotPath::Create => each(|index| {
            let body = world::map(OBJECTS + index, None).to_string().into();
            counted(|| world.ask(Method::POST, MAPS, JSON, body))
        }),
        HotPath::Update => each(|index| {
            let mut map = world::map(index, None);
            if let Some(data) = map.get_mut("data") {
                *data = serde_json::json!({"key": "another value"});
            }
            let (path, body) = (place(index), map.to_string().into());
            counted(|| world.ask(Method::PUT, &path, JSON, body))
        }),
        HotPath::Get => each(|index| {
            let path = place(index);
            counted(|| world.ask(Method::GET, &path, JSON, Bytes::new()))
        }),
        HotPath::Batch => batch(),
        HotPath::List => list(),
        HotPath::WatchEvent => watch(&world),
        HotPath::CascadeStep => cascade(&world),
        HotPath::Replay => replay(),
    }
}

fn each<T>(operation: impl FnMut(usize) -> Result<T>) -> Result<()> {
    (0..TIMES)
        .map(operation)
        .try_for_each(|done| done.map(drop))
}

fn place(index: usize) -> String {
    format!("{MAPS}/{}", world::name(index))
}

/// Creates `TIMES` objects in one submission, so that the mean is per object.
fn batch() -> Result<()> {
    let world = World::new(OBJECTS_OF_BATCH)?;
    let intents = (0..TIMES).map(|index| world::create(OBJECTS_OF_BATCH + index));
    let intents: Vec<_> = intents.collect();
    counted(|| world.write(intents))
}

/// Lists `TIMES` objects in one request, so that the mean is per object.
fn list() -> Result<()> {
    let world = World::new(TIMES)?;
    counted(|| world.ask(Method::GET, MAPS, JSON, Bytes::new())).map(drop)
}

/// Delivers each event by itself, as on a server that is not busy.
fn watch(world: &World) -> Result<()> {
    let path = format!(
        "{MAPS}?watch=true&resourceVersion={}",
        world.state().revision
    );
    let mut watch = world.open(Method::GET, &path, JSON, Bytes::new())?;
    each(|index| {
        world.write(vec![world::update(index, "watched")])?;
        counted(|| world.next(&mut watch))
    })
}

fn cascade(world: &World) -> Result<()> {
    let state = world.state();
    let owner = state.get(&world::key(0)).context("an owner")?;
    let uid = owner.meta.uid.as_str();
    let owned = (0..TIMES).map(|index| world::owned(OBJECTS + index, Some((0, uid))));
    world.write(owned.collect())?;
    world.plane.take_changes();
    let mut collector = Collector::new(&world.state());
    world.collect(&mut collector)?;
    world.write(vec![world::delete(0)])?;
    counted(|| world.collect(&mut collector))?;
    ensure!(world.state().get(&world::key(OBJECTS)).is_none());
    Ok(())
}

/// Replays a log of `TIMES` commits, the namespace's among them.
fn replay() -> Result<()> {
    let world = World::new(TIMES - 1)?;
    let (storage, empty) = (world.plane.storage(), stepped::empty());
    let log = counted(|| Log::open(storage, empty))?;
    ensure!(log.state().hash() == world.state().hash());
    Ok(())
}

/// Returns the instructions of one operation, as parsed from valgrind's output.
fn count(path: &str) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*instructions*counted*")
        .arg(std::env::current_exe()?)
        .arg(path)
        .output()
        .context("valgrind cannot be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{path} failed: {said}");
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let collected = collected.context("valgrind counted nothing")?.1.trim();
    Ok(collected.parse::<u64>()? / u64::try_from(TIMES)?)
}

/// Recorded counts, by hot path and build profile.
#[derive(Debug, Default)]
struct Table {
    figures: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Table {
    /// Reads the table, which is empty if the file does not exist yet.
    fn read(file: &PathBuf) -> Result<Self> {
        let mut table = Self::default();
        let text = std::fs::read_to_string(file).unwrap_or_default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            if let (Some(path), Some(profile), Some(count)) =
                (words.next(), words.next(), words.next())
            {
                let figures = table.figures.entry(path.to_owned()).or_default();
                figures.insert(profile.to_owned(), count.parse()?);
            }
        }
        Ok(table)
    }

    fn known(&self, path: &str) -> Option<u64> {
        self.figures.get(path)?.get(PROFILE).copied()
    }

    fn note(&mut self, path: &str, count: u64) {
        let figures = self.figures.entry(path.to_owned()).or_default();
        figures.insert(PROFILE.to_owned(), count);
    }

    fn text(&self) -> String {
        let mut text = String::from(
            "# Instructions an operation, as `instructions --write` counted them with Rust 1.95.\n",
        );
        for (path, figures) in &self.figures {
            for (profile, count) in figures {
                writeln!(text, "{path:<14} {profile:<8} {count:>10}").ok();
            }
        }
        text
    }
}

fn to_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
