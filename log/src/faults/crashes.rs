//! Crashes the script at every step, with every disk that may be left: the log that opens holds all that
//! was shown or acknowledged, nothing that was not submitted, and replays to the same state.

use super::disk::{Crash, Disk, Step};
use super::is_long;
use super::script::{Expected, empty, expected, run};
use crate::{Error, Log, Storage, Tail};
use hindsight_core::Revision;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Up to this many unsynced frames, every subset of them is tried.
const SUBSETS_MAX: usize = 10;

/// The newest revision of logs that opened, by their number of frames and the note that was found.
type Opened = BTreeMap<(usize, Option<Revision>), Revision>;

#[test]
fn every_crash_of_a_thousand_commits_leaves_all_that_was_acknowledged_and_no_more() {
    let disk = Arc::new(Disk::default());
    assert_eq!(run(&disk), []);
    let expected = expected(&disk);
    let mut opened = Opened::new();
    let (mut states, mut refused) = (0, 0);
    let mut crash = Crash::before_everything();
    let steps = disk.steps();
    for step in &steps {
        crash.follow(step);
        let synced = newest(&crash);
        assert!(crash.shown <= synced, "{} was shown too early", crash.shown);
        assert!(crash.told <= crash.shown, "{} was told early", crash.told);
        states += check_lawful(&crash, &expected, &mut opened);
        if matches!(step, Step::Append(..)) {
            refused += check_broken(&crash);
        }
    }
    assert!(newest(&crash) >= Revision(1000));
    println!(
        "{} steps, {states} crashes that leave {} different disks, {refused} broken ones refused",
        steps.len(),
        opened.len()
    );
    assert!(states > 2 * steps.len() && refused > 0);
    if !is_long() {
        assert_page_says([steps.len(), states, opened.len(), refused]);
    }
}

/// The usual run is the same each time, and the page tells what it tries.
fn assert_page_says(counts: [usize; 4]) {
    let page = include_str!("../../../docs/reliability.md");
    let [steps, states, disks, refused] = counts.map(grouped);
    for text in [
        format!("; {states} crashes of a script on the recording storage |"),
        format!(
            "| crashes of a script of 1,000 commits on the recording storage | {steps} steps, {states} crashes, \
             {disks} different disks, {refused} broken ones refused | 1,000 commits | 0 | each `tests/run` |"
        ),
    ] {
        let is_there = page.contains(&text);
        assert!(is_there, "docs/reliability.md must say now:\n{text}");
    }
}

/// A number as pages give it, with a comma before each group of three digits.
fn grouped(number: usize) -> String {
    let (rest, last) = (number / 1000, number % 1000);
    if rest == 0 {
        return last.to_string();
    }
    format!("{},{last:03}", grouped(rest))
}

/// The last revision that must have survived.
fn newest(crash: &Crash) -> Revision {
    crash
        .synced
        .last()
        .map_or(Revision::ZERO, |(first, bytes)| {
            let next = crate::frame::end(*first, bytes).expect("whole");
            next.previous()
        })
}

/// Crashes within the contract of [`Storage`]: the first of the unsynced frames survive, and a note of
/// any age. This includes whatever a second crash during recovery can leave.
fn check_lawful(crash: &Crash, expected: &Expected, opened: &mut Opened) -> usize {
    let mut states = 0;
    for witness in witnesses(crash) {
        for kept in 0..=crash.unsynced.len() {
            let key = (crash.synced.len() + kept, witness.map(|tail| tail.revision));
            let revision = *opened
                .entry(key)
                .or_insert_with(|| opens(crash.keeping(|index| index < kept, witness), expected));
            assert!(revision >= crash.told && revision >= crash.shown);
            states += 1;
        }
    }
    states
}

/// Crashes outside the contract, which a storage must not show: frames behind a missing one, or a last
/// frame that is cut short. They are refused, and whether the record was acknowledged is reported as
/// unknown.
fn check_broken(crash: &Crash) -> usize {
    let left = broken(crash);
    left.par_iter().for_each(|disk| {
        let error = Log::open(Arc::clone(disk) as Arc<dyn Storage>, empty()).expect_err("refused");
        let Error::Corrupt { revision, source } = error else {
            panic!("{error}")
        };
        let reason = source.to_string();
        assert!(revision > crash.told, "{revision}");
        assert!(reason.ends_with("is unknown"), "{reason}");
    });
    left.len()
}

/// Opens the log and compares it with what it was at this revision.
fn opens(disk: Disk, expected: &Expected) -> Revision {
    let disk = Arc::new(disk);
    let log = Log::open(Arc::clone(&disk) as Arc<dyn Storage>, empty()).expect("opened");
    let state = log.state();
    let (tail, hash) = &expected[&state.revision];
    assert_eq!(log.end.tail(), *tail);
    assert_eq!(state.hash(), *hash);
    let synced = disk.steps().iter().any(|step| matches!(step, Step::Sync));
    assert!(synced, "what was found is shown before it is durable");
    state.revision
}

fn broken(crash: &Crash) -> Vec<Arc<Disk>> {
    let witness = crash.newest_witness();
    let subsets = 0..1_usize << crash.unsynced.len().min(SUBSETS_MAX);
    let is_prefix = |kept: &usize| (kept + 1).is_power_of_two();
    let gaps = subsets
        .filter(|kept| !is_prefix(kept))
        .map(|kept| crash.keeping(|index| kept >> index & 1 == 1, witness));
    let length = crash.unsynced.last().map_or(0, |(_, bytes)| bytes.len());
    let cuts = cuts(length).into_iter();
    let torn = cuts.filter_map(|bytes| crash.torn(bytes, witness));
    gaps.chain(torn).map(Arc::new).collect()
}

/// Where a write may be torn; every other place is the same to the checksum, as `frame` shows.
fn cuts(length: usize) -> Vec<usize> {
    if is_long() {
        return (0..length).step_by(512).chain([length - 1]).collect();
    }
    [length - 1, length / 4096 * 4096].into()
}

/// Notes of any age; in the usual run not all of those in the middle, which do not differ from each
/// other.
fn witnesses(crash: &Crash) -> Vec<Option<Tail>> {
    if is_long() {
        return crash.witnesses.clone();
    }
    let mut chosen: Vec<Option<Tail>> = crash.witnesses.iter().rev().take(2).copied().collect();
    chosen.extend(
        crash
            .witnesses
            .first()
            .filter(|_| crash.witnesses.len() > 2),
    );
    chosen
}

#[test]
fn a_record_that_was_acknowledged_and_is_gone_is_told_from_one_that_never_was() {
    let disk = Arc::new(Disk::default());
    assert_eq!(run(&disk), []);
    let mut crash = Crash::before_everything();
    let (mut notes, mut tried) = (0, 0);
    for step in disk.steps() {
        let before = crash.clone();
        crash.follow(&step);
        if !matches!(step, Step::Witness(_)) || before.newest_witness().is_none() {
            continue;
        }
        notes += 1;
        if !is_long() && notes % 10 != 0 {
            continue;
        }
        tried += 1;
        let last = crash.synced.pop().expect("something was synced");
        let lost = crash.keeping(|_| false, crash.newest_witness());
        let error = Log::open(Arc::new(lost), empty()).expect_err("refused");
        assert!(matches!(error, Error::Lost { .. }), "{error}");
        let mut rotten = last.1.to_vec();
        rotten[60] ^= 1;
        let frames = crash
            .synced
            .iter()
            .cloned()
            .chain([(last.0, rotten.into())]);
        let rotten = Disk::holding(frames, crash.newest_witness());
        let error = Log::open(Arc::new(rotten), empty()).expect_err("refused");
        assert!(error.to_string().contains("it was acknowledged"), "{error}");
        crash.synced.push(last);
    }
    assert!(tried > 10, "{tried} of {notes}");
}
