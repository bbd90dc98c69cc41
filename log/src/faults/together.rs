//! What is submitted together: a crash leaves all that it came to or nothing, and of what is too much for one record
//! the first decisions, none of them in part. Each command is decided by itself.

use super::disk::{Crash, Disk, Faults, Step};
use super::script::{Commands, Silent, create, delete, empty, noise, patch};
use crate::{Log, Reader, Records, Stages, Storage, Writer, frame};
use hindsight_core::command::{Delete, Target};
use hindsight_core::{
    Decision, GroupResource, Intent, ObjectKey, Revision, Rule, State, Submitted, Unavailable,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::sync::{Arc, mpsc};

/// Several of these do not fit into a frame of 64 KiB, which ends between commits that do not belong together.
const LARGE_BYTES: usize = 30 << 10;
/// As many as are more than the 8 MiB that are stored as one record.
const PODS: usize = 90;
const POD_BYTES: usize = 100 << 10;
/// Of the many crashes of so much, only some are tried.
const CRASHES_APART: usize = 12;

/// The revisions of what a command came to, `None` if it was refused or changed nothing.
type Came = Option<RangeInclusive<Revision>>;
/// What became of a submission: of each of its commands, or of none.
type Outcome = Result<Vec<Came>, Unavailable>;

struct ByBatch {
    disk: Arc<Disk>,
    writer: Writer,
    stages: Stages,
    commands: Commands,
}

impl ByBatch {
    fn open(disk: &Arc<Disk>) -> Self {
        let log = Log::open(Arc::clone(disk) as Arc<dyn Storage>, empty()).expect("opened");
        let (writer, stages) = log.by_stages(Box::new(Silent));
        Self {
            disk: Arc::clone(disk),
            writer,
            stages,
            commands: Commands::default(),
        }
    }

    /// Submits these, which are decided as one batch and synced at once.
    fn batch(&mut self, submissions: &[Vec<Intent>]) -> Vec<Outcome> {
        let submit = |intents: &Vec<Intent>| {
            let made = intents
                .iter()
                .map(|one| self.commands.command(one.clone()))
                .collect();
            let (sender, answer) = mpsc::channel();
            let disk = Arc::clone(&self.disk);
            let reply = move |submitted: Submitted| {
                let told = outcome(submitted);
                let newest = told.iter().flatten().flatten().map(|one| *one.end()).max();
                newest
                    .into_iter()
                    .for_each(|one| disk.note(Step::Told(one)));
                sender.send(told).expect("somebody waits");
            };
            self.writer.submit(made, Box::new(reply));
            answer
        };
        let waiting: Vec<_> = submissions.iter().map(submit).collect();
        while self.stages.decide() {
            assert!(self.stages.sync());
        }
        let answers = waiting.iter().map(|one| one.recv().expect("an answer"));
        answers.collect()
    }
}

fn outcome(submitted: Submitted) -> Outcome {
    let came = |decision: &Decision| {
        let (first, last) = (decision.commits.first()?, decision.commits.last()?);
        Some(first.revision..=last.revision)
    };
    let each = |one: &Result<Decision, _>| one.as_ref().ok().and_then(came);
    submitted.map(|all| all.iter().map(each).collect())
}

fn map(name: &str, seed: u64) -> Intent {
    let data = json!({"k": noise(seed, LARGE_BYTES)});
    let object = json!({"metadata": {"name": name}, "data": data});
    create("configmaps", "default", object)
}

/// On no node, so that its deletion is a mark and a removal, two commits of one decision.
fn pod(name: &str, bytes: usize) -> Intent {
    let container = json!({"name": "c", "image": "i", "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File"});
    let object = json!({"metadata": {"name": name, "annotations": {"k": noise(1, bytes)}},
        "spec": {"containers": [container], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}});
    create("pods", "default", object)
}

fn delete_pod(name: &str) -> Intent {
    let key = ObjectKey::new(GroupResource::new("", "pods"), "default", name);
    Intent::Delete(Delete::new(Target::any(key), "v1".into(), Rule::Requested))
}

fn namespace() -> Vec<Intent> {
    let namespace = json!({"metadata": {"name": "default"}});
    vec![create("namespaces", "", namespace)]
}

/// Batches of submissions: large ones between small ones, with commands that are refused or change nothing.
fn batches() -> Vec<Vec<Vec<Intent>>> {
    let changed = |name: &str, seed| patch(name, json!({"data": {"k": noise(seed, LARGE_BYTES)}}));
    vec![
        vec![namespace()],
        vec![
            (0..5).map(|one| map(&format!("a{one}"), one)).collect(),
            vec![
                map("b", 10),
                map("b", 11),
                delete("nothing"),
                patch("b", json!({})),
                changed("b", 12),
                delete("b"),
            ],
            vec![pod("p", LARGE_BYTES), delete_pod("p"), map("c", 13)],
            vec![map("d", 14)],
            vec![delete("nothing"), delete("nothing either")],
        ],
        vec![
            (0..5)
                .map(|one| changed(&format!("a{one}"), 20 + one))
                .collect(),
            (0..5).map(|one| delete(&format!("a{one}"))).collect(),
            vec![map("a0", 30), delete("d"), map("e", 31)],
        ],
    ]
}

/// Runs all batches until the log fails.
fn run(disk: &Arc<Disk>) -> Vec<Outcome> {
    let mut log = ByBatch::open(disk);
    let batches = batches();
    batches.iter().flat_map(|one| log.batch(one)).collect()
}

/// From the first revision of what a submission came to until the last.
fn extent(came: &[Came]) -> Came {
    let (first, last) = (
        came.iter().flatten().next()?,
        came.iter().flatten().next_back()?,
    );
    Some(*first.start()..=*last.end())
}

/// The state at the end of each revision, of a log without faults.
fn hashes(disk: &Arc<Disk>) -> BTreeMap<Revision, String> {
    let reader = Reader::new(Arc::clone(disk) as Arc<dyn Records>);
    let newest = reader.newest().expect("read").0;
    let hash = |revision| {
        let state = reader.state_at(empty(), revision).expect("folded");
        (revision, state.hash())
    };
    (0..=newest).map(Revision).map(hash).collect()
}

/// Crashes at each step, with every number of frames that may be left of those that were not synced; tells the state
/// that each leaves, and what had been told by then.
fn crashes(disk: &Disk, mut left: impl FnMut(&State, Revision)) -> usize {
    let mut crash = Crash::before_everything();
    let mut tried = 0;
    for step in disk.steps() {
        crash.follow(&step);
        for kept in 0..=crash.unsynced.len() {
            let disk = crash.keeping(|index| index < kept, crash.newest_witness());
            let log = Log::open(Arc::new(disk) as Arc<dyn Storage>, empty()).expect("opened");
            left(log.state(), crash.told);
            tried += 1;
        }
    }
    tried
}

/// Checks every crash of this disk; the extents are those of what was submitted, the hashes those of its states.
fn assert_whole(
    disk: &Disk,
    extents: &[RangeInclusive<Revision>],
    hashes: &BTreeMap<Revision, String>,
) -> usize {
    crashes(disk, |state, told| {
        let newest = state.revision;
        assert!(newest >= told, "{told} was told, and {newest} is left");
        let torn = extents
            .iter()
            .find(|one| one.contains(&newest) && *one.end() != newest);
        assert_eq!(torn, None, "{newest} is in the middle of it");
        assert_eq!(state.hash(), hashes[&newest], "{newest}");
    })
}

#[test]
fn a_crash_leaves_all_of_what_was_submitted_together_or_nothing() {
    let disk = Arc::new(Disk::default());
    let told = run(&disk);
    let came: Vec<Vec<Came>> = told.into_iter().collect::<Result<_, _>>().expect("told");
    let written = |index: usize| came[index].iter().map(Option::is_some).collect::<Vec<_>>();
    // Whoever is refused, or has nothing to change, keeps none of the others.
    assert_eq!(written(2), [true, false, false, false, true, true]);
    assert_eq!(written(3), [true; 3]);
    assert_eq!(written(5), [false; 2]);
    let of_pod = came[3][1].clone().expect("written");
    assert_eq!(of_pod.end().0, of_pod.start().0 + 1, "a mark and a removal");
    let extents: Vec<_> = came.iter().filter_map(|one| extent(one)).collect();
    // In the order in which they were submitted, and without gaps.
    let follow = |pair: &[RangeInclusive<Revision>]| pair[0].end().next() == *pair[1].start();
    assert!(extents.windows(2).all(follow), "{extents:?}");
    let hashes = hashes(&disk);
    let tried = assert_whole(&disk, &extents, &hashes);
    assert!(tried > 20, "{tried}");
    let frames = disk.frames();
    let is_long = |frame: &&(Revision, Arc<[u8]>)| frame.1.len() > 64 << 10;
    assert!(
        frames.iter().filter(is_long).count() > 1,
        "else nothing would be cut"
    );
    for fails in 0..disk.syncs() {
        let faults = Faults {
            sync: Some((fails, ErrorKind::Other)),
            ..Faults::default()
        };
        assert_failed(faults, &extents, &hashes);
    }
    for fails in 0..disk.appends() {
        let faults = Faults {
            append: Some((fails, ErrorKind::Other)),
            ..Faults::default()
        };
        assert_failed(faults, &extents, &hashes);
    }
}

/// Of a log that fails nothing more is told, and what it was told of nobody knows until it is opened again.
fn assert_failed(
    faults: Faults,
    extents: &[RangeInclusive<Revision>],
    hashes: &BTreeMap<Revision, String>,
) {
    let disk = Arc::new(Disk::failing(faults));
    // What is found is synced when a log is opened.
    let other = Arc::new(Disk::failing(faults)) as Arc<dyn Storage>;
    if Log::open(other, empty()).is_err() {
        return;
    }
    let told = run(&disk);
    let is_poisoned = |one: &&Outcome| matches!(one, Err(Unavailable::Poisoned(_)));
    let failed = told.iter().filter(is_poisoned).count();
    assert_eq!(failed, told.iter().filter(|one| one.is_err()).count());
    assert_whole(&disk, extents, hashes);
}

#[test]
fn what_is_too_much_for_one_record_is_cut_between_decisions_and_told_as_a_whole() {
    let disk = Arc::new(Disk::default());
    let mut log = ByBatch::open(&disk);
    let names: Vec<String> = (0..PODS).map(|one| format!("p{one:02}")).collect();
    log.batch(&[namespace()]);
    for names in names.chunks(PODS / 3) {
        let pods = names.iter().map(|name| pod(name, POD_BYTES)).collect();
        log.batch(&[pods]).remove(0).expect("told");
    }
    let frames = disk.frames().len();
    let deletions = names.iter().map(|name| delete_pod(name)).collect();
    let told = log.batch(&[deletions]).remove(0).expect("told");
    let decisions: Vec<_> = told.iter().flatten().cloned().collect();
    assert_eq!(decisions.len(), PODS);
    let (begin, end) = (*decisions[0].start(), *decisions[PODS - 1].end());
    assert_eq!(end.0 - begin.0 + 1, 2 * PODS as u64);
    let cut = disk.frames().split_off(frames);
    assert!(cut.len() > 1, "it is stored in one record");
    for (first, bytes) in &cut {
        let last = frame::end(*first, bytes).expect("whole").previous();
        let is_whole = |decision: &RangeInclusive<Revision>| {
            !decision.contains(first) || decision.start() == first
        };
        assert!(decisions.iter().all(is_whole), "{first} is in a decision");
        assert!(decisions.iter().any(|one| *one.end() == last), "{last}");
    }
    let last = |wanted: fn(&Step) -> bool| disk.steps().iter().rposition(wanted);
    let appended = last(|step| matches!(step, Step::Append(..)));
    let synced = last(|step| matches!(step, Step::Sync));
    let answered = last(|step| matches!(step, Step::Told(_)));
    assert!(
        appended < synced && synced < answered,
        "it is told once all of it is synced"
    );
    let mut gone = Vec::new();
    for kept in (0..=cut.len()).step_by(CRASHES_APART).chain([cut.len()]) {
        let kept = disk.frames().into_iter().take(frames + kept);
        let left = Arc::new(Disk::holding(kept, None)) as Arc<dyn Storage>;
        let log = Log::open(left, empty()).expect("opened");
        let objects = log.state().objects();
        let pods = objects.filter(|one| &*one.key.resource.resource == "pods");
        let left: Vec<_> = pods
            .map(|one| (&*one.key.name, one.is_deleting()))
            .collect();
        gone.push(PODS - left.len());
        let expected = names.iter().map(|name| (name.as_str(), false));
        let expected = expected.skip(PODS - left.len());
        assert!(
            left.iter().copied().eq(expected),
            "the first of them are gone: {left:?}"
        );
    }
    assert_eq!((gone.first(), gone.last()), (Some(&0), Some(&PODS)));
    assert!(gone.is_sorted() && gone.len() > 4, "{gone:?}");
}
