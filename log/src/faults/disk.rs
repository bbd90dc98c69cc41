//! A storage that records its calls, fails where it is told to, and can be crashed at any step: what was
//! synced survives, and of the rest whatever the test chooses.

use crate::storage::conformance::{Backend, conforms};
use crate::{Error, Purpose, Records, Storage, Stored, Tail, Witnessed};
use hindsight_core::Revision;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

const DELETIONS_BYTES: usize = 8 << 10;
/// What a snapshot must leave to writes.
pub(super) const AHEAD_BYTES: usize = 64 << 10;

/// A call of the disk, or something that clients saw meanwhile.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Append(Revision, Arc<[u8]>),
    /// Replaces the frames from the first revision to the second.
    Replace(Revision, Revision, Arc<[u8]>),
    Sync,
    FailedSync,
    Witness(Tail),
    /// The newest note is durable, unless an older one reaches this revision.
    SyncedNote(Revision),
    /// Readers and watchers see everything up to here.
    Shown(Revision),
    /// Somebody received an answer about everything up to here.
    Told(Revision),
}

/// Which call fails, counted from zero, and how.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Faults {
    pub(super) append: Option<(usize, ErrorKind)>,
    pub(super) sync: Option<(usize, ErrorKind)>,
    pub(super) replace: Option<(usize, ErrorKind)>,
    pub(super) tidy: Option<(usize, ErrorKind)>,
    /// No note of a later revision can be synced.
    pub(super) witness: Option<Revision>,
    pub(super) read: Option<(usize, ErrorKind)>,
    /// Replaced frames are left behind.
    pub(super) leaves_replaced: bool,
}

#[derive(Debug, Default)]
pub(super) struct Disk {
    faults: Faults,
    found: Option<Tail>,
    inner: Mutex<Inner>,
    /// Notified when the disk is no longer stuck.
    moves: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    frames: BTreeMap<Revision, Arc<[u8]>>,
    steps: Vec<Step>,
    appends: usize,
    syncs: usize,
    replacements: usize,
    tidied: usize,
    reads: usize,
    /// Syncs do not return.
    is_stuck: bool,
    /// Its capacity in bytes.
    space: Option<usize>,
    /// Steps of clean-up that are left.
    owed: usize,
}

impl Disk {
    pub(super) fn failing(faults: Faults) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }

    /// A disk without faults that holds these frames.
    pub(super) fn holding(
        frames: impl IntoIterator<Item = (Revision, Arc<[u8]>)>,
        found: Option<Tail>,
    ) -> Self {
        let inner = Inner {
            frames: frames.into_iter().collect(),
            ..Inner::default()
        };
        Self {
            found,
            inner: Mutex::new(inner),
            ..Self::default()
        }
    }

    pub(super) fn with(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    pub(super) fn note(&self, step: Step) {
        self.inner().steps.push(step);
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        self.inner().steps.clone()
    }

    pub(super) fn set_space(&self, bytes: usize) {
        self.inner().space = Some(bytes);
    }

    pub(super) fn set_owed(&self, steps: usize) {
        self.inner().owed = steps;
    }

    pub(super) fn owed(&self) -> usize {
        self.inner().owed
    }

    pub(super) fn used(&self) -> usize {
        self.inner().frames.values().map(|frame| frame.len()).sum()
    }

    pub(super) fn frames(&self) -> Vec<(Revision, Arc<[u8]>)> {
        let inner = self.inner();
        let frames = inner.frames.iter();
        frames
            .map(|(first, bytes)| (*first, Arc::clone(bytes)))
            .collect()
    }

    /// Syncs block while the disk is stuck.
    pub(super) fn set_stuck(&self, is_stuck: bool) {
        self.inner().is_stuck = is_stuck;
        self.moves.notify_all();
    }

    pub(super) fn syncs(&self) -> usize {
        self.inner().syncs
    }

    pub(super) fn replacements(&self) -> usize {
        self.inner().replacements
    }

    /// How often it was asked to tidy.
    pub(super) fn tidied(&self) -> usize {
        self.inner().tidied
    }

    pub(super) fn reads(&self) -> usize {
        self.inner().reads
    }

    pub(super) fn appends(&self) -> usize {
        self.inner().appends
    }

    fn read(&self) -> Result<MutexGuard<'_, Inner>, Error> {
        let mut inner = self.inner();
        inner.reads += 1;
        fails(inner.reads, self.faults.read, "reading")?;
        Ok(inner)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nobody panics while holding it")
    }
}

impl Records for Disk {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        let inner = self.read()?;
        let found = inner.frames.range(from..).next();
        Ok(found.map(|(first, bytes)| (*first, bytes.to_vec())))
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        let inner = self.read()?;
        let found = inner.frames.range(..=until).next_back();
        Ok(found.map(|(first, bytes)| (*first, bytes.to_vec())))
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(self.found)
    }
}

impl Storage for Disk {
    /// A frame whose append failed may still be there after a crash.
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        let mut inner = self.inner();
        inner.appends += 1;
        inner.steps.push(Step::Append(first, frame.into()));
        fails(inner.appends, self.faults.append, "appending")?;
        inner.frames.insert(first, frame.into());
        Ok(())
    }

    fn ensure_witnessed(&self, last: Revision) -> Result<Witnessed, Error> {
        if self.faults.witness.is_none_or(|newest| last <= newest) {
            self.note(Step::SyncedNote(last));
            return Ok(Witnessed::up_to(last));
        }
        Err(Error::io("syncing the note")(ErrorKind::StorageFull.into()))
    }

    fn replace(&self, first: Revision, witnessed: Witnessed, frame: &[u8]) -> Result<(), Error> {
        let last = witnessed.last();
        let mut inner = self.inner();
        inner.replacements += 1;
        inner.steps.push(Step::Replace(first, last, frame.into()));
        fails(inner.replacements, self.faults.replace, "replacing")?;
        if !self.faults.leaves_replaced {
            inner.frames.retain(|at, _| *at < first || *at > last);
        }
        inner.frames.insert(first, frame.into());
        Ok(())
    }

    fn tidy(&self) -> Result<bool, Error> {
        let mut inner = self.inner();
        inner.tidied += 1;
        fails(inner.tidied, self.faults.tidy, "tidying")?;
        let left = inner.owed.checked_sub(1);
        inner.owed = left.unwrap_or(0);
        Ok(left.is_some())
    }

    fn sync(&self) -> Result<(), Error> {
        let inner = self.inner();
        let moving = self.moves.wait_while(inner, |inner| inner.is_stuck);
        let mut inner = moving.expect("nobody panics while holding it");
        inner.syncs += 1;
        let outcome = fails(inner.syncs, self.faults.sync, "syncing");
        let step = outcome.as_ref().map_or(Step::FailedSync, |()| Step::Sync);
        inner.steps.push(step);
        outcome
    }

    fn ensure_space(&self, bytes: usize, purpose: Purpose) -> bool {
        let spare = match purpose {
            Purpose::Writes => DELETIONS_BYTES,
            Purpose::Deletions | Purpose::Snapshot { thins: true } => 0,
            Purpose::Snapshot { thins: false } => AHEAD_BYTES,
        };
        let space = self.inner().space;
        space.is_none_or(|space| self.used() + bytes + spare <= space)
    }

    fn witness(&self, tail: &Tail) {
        self.note(Step::Witness(*tail));
    }
}

impl Backend for Disk {
    fn storage(&self) -> &dyn Storage {
        self
    }

    /// What was synced, with the first of the later frames, any number of them; a replacement together
    /// with some of the frames that it replaces; and a note of any age since one was synced. The newest comes last.
    fn crashed(&self) -> Vec<Box<dyn Backend>> {
        let steps = self.steps();
        let is_sync = |step: &Step| matches!(step, Step::Sync);
        let synced = steps.iter().rposition(is_sync).map_or(0, |last| last + 1);
        let mut notes = vec![None];
        for step in &steps {
            follow_note(step, &mut notes);
        }
        let mut left: Vec<Box<dyn Backend>> = Vec::new();
        for note in notes {
            for done in synced..=steps.len() {
                for leaves_replaced in [true, false] {
                    let mut frames = BTreeMap::new();
                    let (last, before) = steps[..done].split_last().expect("something was done");
                    before
                        .iter()
                        .for_each(|step| carry_out(step, &mut frames, false));
                    carry_out(last, &mut frames, leaves_replaced);
                    left.push(Box::new(Self::holding(frames, note)));
                }
            }
        }
        left
    }

    fn is_bounded(&self) -> bool {
        self.inner().space.is_some()
    }
}

/// Keeps the list of notes of which any may be found after a crash.
fn follow_note(step: &Step, notes: &mut Vec<Option<Tail>>) {
    match step {
        Step::Witness(tail) => notes.push(Some(*tail)),
        Step::SyncedNote(last) => {
            let newest = notes.pop();
            notes.retain(|note| note.is_some_and(|note| note.revision >= *last));
            notes.extend(newest);
        }
        _ => {}
    }
}

fn carry_out(step: &Step, frames: &mut BTreeMap<Revision, Arc<[u8]>>, leaves_replaced: bool) {
    match step {
        Step::Append(first, bytes) => {
            frames.insert(*first, Arc::clone(bytes));
        }
        Step::Replace(first, last, bytes) => {
            frames.retain(|at, _| leaves_replaced || at < first || at > last);
            frames.insert(*first, Arc::clone(bytes));
        }
        Step::Sync
        | Step::FailedSync
        | Step::Witness(_)
        | Step::SyncedNote(_)
        | Step::Shown(_)
        | Step::Told(_) => {}
    }
}

#[test]
fn it_conforms_with_room_and_without() {
    conforms(&|| Box::new(Disk::default()));
    conforms(&|| {
        let disk = Disk::default();
        disk.set_space(64 << 20);
        Box::new(disk)
    });
}

fn fails(count: usize, fault: Option<(usize, ErrorKind)>, what: &str) -> Result<(), Error> {
    match fault {
        Some((at, kind)) if count == at + 1 => Err(Error::Io {
            what: what.into(),
            source: kind.into(),
        }),
        _ => Ok(()),
    }
}

/// The disk after some steps: what must survive, and what may.
#[derive(Debug, Default, Clone)]
pub(super) struct Crash {
    pub(super) synced: Vec<(Revision, Arc<[u8]>)>,
    pub(super) unsynced: Vec<(Revision, Arc<[u8]>)>,
    /// Any of these notes may be the one that is found.
    pub(super) witnesses: Vec<Option<Tail>>,
    pub(super) shown: Revision,
    pub(super) told: Revision,
}

impl Crash {
    pub(super) fn before_everything() -> Self {
        Self {
            witnesses: vec![None],
            ..Self::default()
        }
    }

    pub(super) fn follow(&mut self, step: &Step) {
        match step {
            Step::Append(first, bytes) => self.unsynced.push((*first, Arc::clone(bytes))),
            Step::Sync => self.synced.append(&mut self.unsynced),
            // Crashes of a log that is thinned are tested one by one: see `retention`.
            Step::Replace(..) | Step::FailedSync => {}
            Step::Witness(_) | Step::SyncedNote(_) => follow_note(step, &mut self.witnesses),
            Step::Shown(revision) => self.shown = self.shown.max(*revision),
            Step::Told(revision) => self.told = self.told.max(*revision),
        }
    }

    pub(super) fn newest_witness(&self) -> Option<Tail> {
        self.witnesses.last().copied().flatten()
    }

    /// What was synced, and those of the rest that are kept.
    pub(super) fn keeping(&self, kept: impl Fn(usize) -> bool, witness: Option<Tail>) -> Disk {
        let rest = self.unsynced.iter().enumerate();
        let rest = rest.filter(|(index, _)| kept(*index)).map(|(_, one)| one);
        Disk::holding(self.synced.iter().chain(rest).cloned(), witness)
    }

    /// What was synced, the unsynced frames before the last, and this many bytes of the last.
    pub(super) fn torn(&self, bytes: usize, witness: Option<Tail>) -> Option<Disk> {
        let (last, before) = self.unsynced.split_last()?;
        let cut = last.1.get(..bytes)?.into();
        let frames = self.synced.iter().chain(before).cloned();
        Some(Disk::holding(frames.chain([(last.0, cut)]), witness))
    }
}
