//! Explores small ownership graphs: `cargo graphs`. These are all of up to three objects; of four
//! objects all in which nothing is special and a reference may block or not, and all in which every
//! reference blocks and each object may be special in any way. Prints what it has seen; a stopped run
//! continues where it was.
//!
//! Each graph is explored state by state, which holds for any number of requests. Those of up to
//! three objects, and those of four in which every reference blocks and nothing is special, are also
//! followed through all runs with two requests: with up to two objects in every numbering, with three
//! in every numbering of one graph in `HINDSIGHT_NUMBERINGS` (101 by default).
//!
//! At the end, and alone with `HINDSIGHT_PACKED=1`, come the packed worlds: all graphs of up to three
//! objects with everything special in every combination, and of four objects all whose references
//! block or not, each of either scope, with a dangling reference or without, then those in which some
//! also have a client's finalizer or refer to an unknown kind. Built for processors with AVX2 this is
//! more than twice as fast: `RUSTFLAGS="-C target-cpu=x86-64-v3" cargo graphs`.
//!
//! `HINDSIGHT_FOUR_EDGES` is the stride over the runs of four objects whose references may block or
//! not (1 for all of them, which takes a day), `HINDSIGHT_FOUR` the one over those in which
//! everything may be special, and `HINDSIGHT_FOUR_STATES` the one over the same graphs state by
//! state; 0, the default of all three, leaves them out. `HINDSIGHT_STATES=1` leaves the runs out.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool tells what it does, and stops where it cannot"
)]

use hindsight_tests::dice::number;
use hindsight_tests::graphs::{
    Counts, FOUR_OF_EDGES, FOUR_THAT_BLOCK, Look, PLAIN_FOUR, TWO_CROSSED, TWO_OF_EVERYTHING,
    TWO_WITH_POLICIES, explore_all, of,
};
use hindsight_tests::packed::{self, FOUR_MORE, FOUR_OF_EITHER_SCOPE, of_everything};
use hindsight_tests::seeds::progress_file;
use hindsight_tests::shape::Family;
use std::path::Path;
use std::time::Instant;

/// Otherwise a third of the time is spent allocating memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Numbers between two lines of the report; a graph has one number for each way to number its
/// objects.
const PART: u64 = 20_000;
/// The same for packed worlds, where a number stands for all graphs that differ only in what blocks.
const PACKED_PART: u64 = 4_096;

fn main() {
    let place = progress_file("graphs");
    println!("progress in {}", place.display());
    let real = number("HINDSIGHT_PACKED", 0) == 0;
    let all = by_runs().into_iter().chain(by_states());
    for (name, family, look, stride) in all.filter(|(.., stride)| real && *stride > 0) {
        let of = |part| explore_all(family, look, part, step(stride));
        whole(&place, name, (family.count(), PART * stride), of);
    }
    for (name, family) in by_packed_worlds() {
        let of = |part| packed::explore_all(&family, part, 1);
        whole(&place, name, (family.count(), PACKED_PART), of);
    }
}

/// A family of graphs, how each graph is explored, and the stride over their numbers; 0 leaves the
/// family out.
type Part = (&'static str, Family, Look, u64);

fn step(stride: u64) -> usize {
    usize::try_from(stride).expect("a small number")
}

fn by_packed_worlds() -> [(&'static str, packed::Family); 5] {
    [
        ("packed worlds of 1 object", of_everything(1)),
        ("packed worlds of 2 objects", of_everything(2)),
        ("packed worlds of 3 objects", of_everything(3)),
        (
            "packed worlds of 4 objects, dangling or not, of either scope",
            FOUR_OF_EITHER_SCOPE,
        ),
        (
            "packed worlds of 4 objects, some held or unresolvable too",
            FOUR_MORE,
        ),
    ]
}

fn by_runs() -> [Part; 9] {
    let (edges, four) = (
        number("HINDSIGHT_FOUR_EDGES", 0),
        number("HINDSIGHT_FOUR", 0),
    );
    let numbered = number("HINDSIGHT_NUMBERINGS", 101);
    let runs = u64::from(number("HINDSIGHT_STATES", 0) == 0);
    [
        ("1 object", of(1), Look::Numberings, runs),
        ("2 objects", of(2), Look::Numberings, runs),
        (
            "2 objects with policies of their own",
            TWO_WITH_POLICIES,
            Look::Numberings,
            runs,
        ),
        (
            "2 objects, two things at once",
            TWO_CROSSED,
            Look::Numberings,
            runs,
        ),
        (
            "3 objects in every numbering",
            of(3),
            Look::Numberings,
            runs * numbered,
        ),
        ("3 objects", of(3), Look::Runs, runs),
        ("4 objects, nothing special", PLAIN_FOUR, Look::Runs, runs),
        (
            "4 objects, blocking or not",
            FOUR_OF_EDGES,
            Look::Runs,
            runs * edges,
        ),
        ("4 objects", of(4), Look::Runs, runs * four),
    ]
}

fn by_states() -> [Part; 7] {
    let four = number("HINDSIGHT_FOUR_STATES", 0);
    [
        ("states of 1 object", of(1), Look::States, 1),
        (
            "states of 2 objects with everything",
            TWO_OF_EVERYTHING,
            Look::States,
            1,
        ),
        ("states of 3 objects", of(3), Look::States, 1),
        (
            "states of 4 objects, every request",
            FOUR_OF_EDGES,
            Look::States,
            101,
        ),
        ("states of 4 objects", FOUR_OF_EDGES, Look::StatesAlone, 1),
        (
            "states of 4 objects that block",
            FOUR_THAT_BLOCK,
            Look::StatesAlone,
            1,
        ),
        (
            "states of 4 objects with everything",
            of(4),
            Look::StatesAlone,
            four,
        ),
    ]
}

/// Explores a family of so many numbers, from where the last run of it was stopped, and tells how far it
/// is after each part.
fn whole(
    place: &Path,
    name: &str,
    (count, part): (u64, u64),
    explore: impl Fn((u64, u64)) -> Counts,
) {
    let (mut next, mut counts) = begun(place, name);
    let (since, first) = (Instant::now(), counts.graphs);
    while next < count {
        let until = next.saturating_add(part).min(count);
        counts.add(&explore((next, until)));
        next = until;
        note(place, name, next, &counts);
        let made = f64::from(u32::try_from(counts.graphs - first).unwrap_or(u32::MAX));
        let rate = made / since.elapsed().as_secs_f64();
        println!("{name}: up to {next} of {count}, {counts}; {rate:.0} graphs a second");
    }
    println!("{name}: {counts}");
}

/// The progress so far, one line per family: name, next number, counts.
fn lines(place: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(place).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn begun(place: &Path, name: &str) -> (u64, Counts) {
    let line = lines(place)
        .into_iter()
        .find(|line| line.split('\t').next() == Some(name));
    let numbers = line.map(|line| {
        let numbers = line.split('\t').skip(1).map(str::parse::<u64>);
        numbers.collect::<Result<Vec<_>, _>>().expect("numbers")
    });
    match numbers.as_deref() {
        Some(&[next, graphs, requests, states, steps]) => {
            let counts = Counts {
                graphs,
                requests,
                states,
                steps,
            };
            (next, counts)
        }
        _ => (0, Counts::default()),
    }
}

fn note(place: &Path, name: &str, next: u64, counts: &Counts) {
    let mut lines = lines(place);
    lines.retain(|line| line.split('\t').next() != Some(name));
    let Counts {
        graphs,
        requests,
        states,
        steps,
    } = counts;
    lines.push(format!(
        "{name}\t{next}\t{graphs}\t{requests}\t{states}\t{steps}"
    ));
    std::fs::write(place, lines.join("\n")).expect("a file that can be written");
}
