//! Every ownership graph of up to three objects, and of four every one in which nothing is special and
//! every reference blocks: `cargo graphs`. Prints what it has seen; a run that was stopped goes on where
//! it was. Those of up to two objects are tried in every numbering, and of three every so many-th
//! (`HINDSIGHT_NUMBERINGS`, 101 unless told otherwise). `HINDSIGHT_FOUR_EDGES` is the stride over those of
//! four objects in which nothing is special and a reference may block or not (1 for all of them, which takes
//! a day), `HINDSIGHT_FOUR` over all the others (0, the default of both, leaves them out: there are too many).
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool tells what it does, and stops where it cannot"
)]

use hindsight_tests::dice::number;
use hindsight_tests::graphs::{
    Counts, FOUR_OF_EDGES, Numberings, PLAIN_FOUR, TWO_CROSSED, TWO_WITH_POLICIES, explore_all, of,
};
use hindsight_tests::seeds::progress_file;
use hindsight_tests::shape::Family;
use std::path::Path;
use std::time::Instant;

/// A third of the time is memory otherwise.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Numbers between two lines of the report; a graph has as many as it can be renumbered.
const PART: u64 = 20_000;

fn main() {
    let place = progress_file("graphs");
    println!("progress in {}", place.display());
    let (edges, four) = (
        number("HINDSIGHT_FOUR_EDGES", 0),
        number("HINDSIGHT_FOUR", 0),
    );
    let numbered = number("HINDSIGHT_NUMBERINGS", 101);
    let (one, all) = (Numberings::One, Numberings::All);
    let families = [
        ("1 object", of(1), all, 1),
        ("2 objects", of(2), all, 1),
        (
            "2 objects with policies of their own",
            TWO_WITH_POLICIES,
            all,
            1,
        ),
        ("2 objects, two things at once", TWO_CROSSED, all, 1),
        ("3 objects in every numbering", of(3), all, numbered),
        ("3 objects", of(3), one, 1),
        ("4 objects, nothing special", PLAIN_FOUR, one, 1),
        ("4 objects, blocking or not", FOUR_OF_EDGES, one, edges),
        ("4 objects", of(4), one, four),
    ];
    for (name, family, numberings, stride) in families {
        if stride > 0 {
            let counts = whole(&place, name, (family, numberings), stride);
            println!("{name}: {counts}");
        }
    }
}

/// A family, from where the last run of it was stopped.
fn whole(
    place: &Path,
    name: &str,
    (family, numberings): (Family, Numberings),
    stride: u64,
) -> Counts {
    let (mut next, mut counts) = begun(place, name);
    let (since, first) = (Instant::now(), counts.graphs);
    let step = usize::try_from(stride).expect("a small number");
    while next < family.count() {
        let until = next.saturating_add(PART.saturating_mul(stride));
        counts.add(&explore_all(family, numberings, (next, until), step));
        next = until.min(family.count());
        note(place, name, next, &counts);
        let made = f64::from(u32::try_from(counts.graphs - first).unwrap_or(u32::MAX));
        let rate = made / since.elapsed().as_secs_f64();
        let (part, all) = (next / stride, family.count() / stride);
        println!("{name}: {part} of {all} numbers, {counts}; {rate:.0} graphs a second");
    }
    counts
}

/// Name, next number, counts: a line a family.
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
