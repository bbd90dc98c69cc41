//! Checks the simulator's disk against what every storage must do: a schedule shows only as much as
//! the disk resembles a real one.

use hindsight_core::Revision;
use hindsight_log::{Purpose, Storage, Stored, Tail, Witnessed};
use hindsight_tests::dice::Dice;
use hindsight_tests::sim::disk::Disk;
use hindsight_tests::sim::options::Options;

#[path = "../../log/src/storage/conformance/cases.rs"]
mod cases;

use cases::{Backend, conforms};

/// Power cuts tried at each moment, which leave more or less of what was not synced.
const CUTS: u64 = 8;

/// Disks of different dice: a note reaches some of them at once, and others late.
const DISKS: std::ops::RangeInclusive<u64> = 1..=8;

struct Simulated(Disk);

impl Simulated {
    fn new(seed: u64) -> Self {
        Self(Disk::new(Dice(seed), false))
    }

    /// A disk that breaks a promise: of notes that it reports as durable.
    fn with_lagging_notes(seed: u64) -> Self {
        let lagging = Self::new(seed);
        lagging.0.inner().ignores_notes = true;
        lagging
    }

    /// A copy of the disk with another seed.
    fn with(&self, seed: u64) -> Self {
        let copy = Self::new(seed);
        let (from, mut to) = (self.0.inner(), copy.0.inner());
        to.live.clone_from(&from.live);
        to.durable.clone_from(&from.durable);
        to.replaced.clone_from(&from.replaced);
        (to.witness, to.durable_witness) = (from.witness, from.durable_witness);
        drop(to);
        copy
    }
}

impl Backend for Simulated {
    fn storage(&self) -> &dyn Storage {
        &self.0
    }

    fn crashed(&self) -> Vec<Box<dyn Backend>> {
        let cut = |seed| {
            let copy = self.with(seed);
            copy.0.cut_power(Options::plain().faults, false);
            copy
        };
        let killed = self.with(0);
        killed.0.kill();
        let all = (1..=CUTS).map(cut).chain([killed]);
        all.map(|one| Box::new(one) as Box<dyn Backend>).collect()
    }

    fn is_bounded(&self) -> bool {
        false
    }
}

#[test]
fn the_disk_of_the_simulator_conforms() {
    for seed in DISKS {
        conforms(&|| Box::new(Simulated::new(seed)));
    }
}

#[test]
#[should_panic(expected = "is replaced, and noted is")]
fn a_disk_whose_notes_lag_does_not_conform() {
    for seed in DISKS {
        conforms(&|| Box::new(Simulated::with_lagging_notes(seed)));
    }
}
