//! Bits that flip by themselves: in frames, and in the files that hold them.

use super::disk::{Disk, Step};
use super::is_long;
use super::script::{empty, run};
use crate::frame::decoded::read;
use crate::frame::{self, Format};
use crate::retention::thin;
use crate::{Error, Log, Reader, Records, SledStorage, Storage};
use hindsight_core::Revision;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

const LOG_BYTES: usize = 1 << 20;
/// The usual run flips one bit in this many of a log.
const BITS_APART: usize = 4999;

pub(super) type Frames = Vec<(Revision, Arc<[u8]>)>;

/// The frames of the script, which is run once for all tests.
pub(super) fn frames() -> Frames {
    static FRAMES: OnceLock<Frames> = OnceLock::new();
    FRAMES.get_or_init(recorded).clone()
}

fn recorded() -> Frames {
    let disk = Arc::new(Disk::default());
    assert_eq!(run(&disk), []);
    let appended = |step: &Step| match step {
        Step::Append(first, bytes) => Some((*first, Arc::clone(bytes))),
        _ => None,
    };
    disk.steps().iter().filter_map(appended).collect()
}

fn turned(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut turned = bytes.to_vec();
    turned[bit / 8] ^= 1 << (bit % 8);
    turned
}

/// Opening and verifying read each frame with `read` and stop at its refusal, as the next test shows.
#[test]
fn every_turned_bit_of_a_log_is_noticed() {
    let frames = frames();
    let total: usize = frames.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(total > LOG_BYTES, "{total}");
    let step = if is_long() { 1 } else { BITS_APART };
    let mut begin = 0;
    let mut bits = 0;
    for (first, bytes) in &frames {
        let end = (begin + bytes.len() * 8).min(LOG_BYTES * 8);
        let here: Vec<usize> = (begin..end).filter(|bit| bit % step == 0).collect();
        bits += here.len();
        let begun = begin;
        here.into_par_iter().for_each(|bit| {
            let turned = turned(bytes, bit - begun);
            assert!(read(*first, &turned).is_err(), "bit {bit}");
        });
        begin = end;
    }
    println!("{bits} bits turned, each noticed");
    assert_eq!(bits, (LOG_BYTES * 8).div_ceil(step));
}

/// The chain does not cover all of a thinned frame; its own checksum covers the rest.
#[test]
fn every_turned_bit_of_what_was_thinned_is_noticed() {
    let whole = Arc::new(Disk::holding(frames(), None));
    let reader = Reader::new(Arc::clone(&whole) as Arc<dyn Records>);
    let floor = frames()[frames().len() / 2].0.previous();
    thin(&*whole, &reader, floor, empty(), &[]).expect("thinned");
    let is_thinned =
        |one: &(Revision, Arc<[u8]>)| frame::payload(&one.1).0 == Some(Format::Placeholder);
    let thinned: Frames = whole.frames().into_iter().filter(is_thinned).collect();
    assert!(thinned.len() > 3, "{}", thinned.len());
    let step = if is_long() { 1 } else { BITS_APART / 50 };
    let mut bits = 0;
    for (first, bytes) in &thinned {
        let here: Vec<usize> = (0..bytes.len() * 8).step_by(step).collect();
        bits += here.len();
        here.into_par_iter().for_each(|bit| {
            assert!(
                read(*first, &turned(bytes, bit)).is_err(),
                "{first}: bit {bit}"
            );
        });
        read(*first, bytes).expect("itself it is sound");
    }
    println!("{bits} bits turned, each noticed");
}

#[test]
fn a_turned_bit_refuses_the_log_and_the_record_is_named() {
    let frames = frames();
    for place in (0..frames.len()).step_by(20) {
        let (first, bytes) = &frames[place];
        let mut damaged = frames.clone();
        damaged[place].1 = turned(bytes, place * 7919 % (bytes.len() * 8)).into();
        let disk = Arc::new(Disk::holding(damaged, None)) as Arc<dyn Storage>;
        let verified = crate::verify(&Reader::new(Arc::clone(&disk) as _), |_| {});
        let errors = [verified.err(), Log::open(disk, empty()).err()];
        for error in errors {
            let revision = match error.expect("refused") {
                Error::Corrupt { revision, .. } => revision,
                other => panic!("{other}"),
            };
            assert_eq!(revision, *first);
        }
    }
}

#[test]
fn before_a_damaged_end_the_past_is_read_as_it_was() {
    let mut frames = frames();
    let (last, bytes) = frames.last().expect("some").clone();
    let sound = Reader::new(Arc::new(Disk::holding(frames.clone(), None)));
    frames.pop();
    frames.push((last, turned(&bytes, bytes.len() * 4).into()));
    let damaged = Reader::new(Arc::new(Disk::holding(frames, None)));
    assert!(damaged.newest().is_err());
    let half = |reader: &Reader| reader.state_at(empty(), Revision(last.0 / 2));
    let [found, expected] = [&damaged, &sound].map(|reader| half(reader).expect("folded"));
    assert_eq!(found.hash(), expected.hash());
    assert!(damaged.state_at(empty(), last).is_err());
}

/// Reading backward must not skip a missing record.
#[test]
fn a_record_that_is_missing_is_noticed_backwards_too() {
    let frames = frames();
    let newest = frames.last().expect("some").0;
    let back = |frames: Frames| {
        let reader = Reader::new(Arc::new(Disk::holding(frames, None)));
        let mut commits = reader.scan_back(Revision::MAX);
        commits.find_map(Result::err)
    };
    assert!(back(frames.clone()).is_none());
    for place in (0..frames.len() - 1).step_by(20) {
        let mut holed = frames.clone();
        let (first, _) = holed.remove(place);
        match back(holed).expect("noticed") {
            Error::Corrupt { revision, .. } => assert!(first <= revision && revision < newest),
            other => panic!("{other}"),
        }
    }
}

/// A crash may leave any of the frames that a thinned one replaces.
#[test]
fn what_is_left_of_what_was_thinned_is_no_hole_backwards() {
    let whole = frames();
    let disk = Arc::new(Disk::holding(whole.clone(), None));
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    let floor = whole[whole.len() / 2].0.previous();
    thin(&*disk, &reader, floor, empty(), &[]).expect("thinned");
    let kept: Vec<_> = reader
        .scan(Revision(1))
        .map(|one| one.expect("kept"))
        .collect();
    for apart in [1, 2, 3, 7] {
        let left = whole.iter().step_by(apart).cloned();
        let mut frames: BTreeMap<_, _> = left.collect();
        frames.extend(disk.frames());
        let reader = Reader::new(Arc::new(Disk::holding(frames, None)));
        let back = reader.scan_back(Revision::MAX);
        let back: BTreeSet<_> = back.map(|one| one.expect("no hole").revision).collect();
        for commit in &kept {
            assert!(
                back.contains(&commit.revision),
                "{apart}: {}",
                commit.revision
            );
        }
    }
}

pub(super) fn open(directory: &Path) -> Result<Revision, Error> {
    let storage = SledStorage::open(&directory.join("events"))?;
    let log = Log::open(Arc::new(storage), empty())?;
    Ok(log.state().revision)
}
