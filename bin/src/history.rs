//! The log as explanations read it: recent commits are read back, older ones are found by an index.

mod definitions;
#[cfg(test)]
#[cfg(feature = "http")]
mod tests;
mod walk;

pub(crate) use definitions::Defined;

use crate::unpoisoned::unpoisoned;
use definitions::Definitions;
use hindsight_core::kind::Kind;
use hindsight_core::{Commit, GroupResource, ObjectKey, Revision, Uid};
#[cfg(feature = "http")]
use hindsight_log::Entry;
use hindsight_log::{Error, Reader};
use hindsight_projector::{History, PositionIndex};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, TryLockError};

/// How many commits a question reads back before it uses the index, and builds it if need be; and how many of those
/// that the index knows may have been dropped.
const NEAR_COMMITS_MAX: usize = 1_024;
/// The most commits that the index covers; those after them are read back as if there were no index.
const INDEXED_COMMITS_MAX: usize = 1 << 24;

/// How many commits are read before the index is locked to take them.
const BATCH_COMMITS: usize = 1_024;

/// An index of where each object is in the log. It is empty until a question reaches far back; the next one
/// that does adds what was written since. It is derived: it may be thrown away at any time.
#[derive(Debug)]
pub(crate) struct HistoryIndex {
    /// Locked for a moment at a time, and never while the log is read.
    places: RwLock<PositionIndex>,
    /// Held while commits are added. Questions that do not need these do not take it.
    walk: Mutex<()>,
    near: usize,
    /// Empty until a question is about a kind or an object that is not there.
    definitions: Mutex<Definitions>,
}

impl Default for HistoryIndex {
    fn default() -> Self {
        Self::new(NEAR_COMMITS_MAX, INDEXED_COMMITS_MAX)
    }
}

impl HistoryIndex {
    fn new(near: usize, max: usize) -> Self {
        Self {
            places: RwLock::new(PositionIndex::new(max)),
            walk: Mutex::default(),
            near,
            definitions: Mutex::default(),
        }
    }

    fn places(&self) -> RwLockReadGuard<'_, PositionIndex> {
        unpoisoned(self.places.read())
    }

    fn covers(&self) -> Revision {
        self.places().covers()
    }

    /// Adds what was written since, unless the index covers enough already. A question that needs what another
    /// is adding waits for it.
    fn extend(&self, reader: &Reader, wanted: Revision) -> Result<(), Error> {
        if self.covers() >= wanted {
            return Ok(());
        }
        let walk = unpoisoned(self.walk.lock());
        self.forget_dropped(reader, &walk)?;
        if self.covers() >= wanted || self.places().is_full() {
            return Ok(());
        }
        self.add(walk::commits(reader, self.covers().next()))
    }

    /// Lets go of the places of commits that were dropped from the log, of which each costs a reading in vain, once
    /// there may be more of them than are read back anyway.
    fn forget_dropped(&self, reader: &Reader, _walk: &MutexGuard<'_, ()>) -> Result<(), Error> {
        let (from, floor) = (self.places().floor(), reader.floor()?);
        let dropped = usize::try_from(floor.0.saturating_sub(from.0));
        if dropped.is_ok_and(|dropped| dropped < self.near) {
            return Ok(());
        }
        let mut kept = BTreeSet::new();
        let until = floor.min(self.covers());
        if from < until {
            for commit in reader.scan(from.next()) {
                let revision = match commit {
                    Ok(commit) => commit.revision,
                    // It is being thinned at this moment. The next question finds out what is left.
                    Err(Error::Pruned(_)) => return Ok(()),
                    Err(error) => return Err(error),
                };
                if revision > until {
                    break;
                }
                kept.insert(revision);
            }
        }
        unpoisoned(self.places.write()).raise_floor(floor, &kept);
        Ok(())
    }

    /// The commit at this place of an object, which may have been dropped since it was indexed: then the place is
    /// forgotten.
    fn commit(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        place: Revision,
    ) -> Result<Option<Commit>, Error> {
        let found = reader.commit(place)?;
        if found.is_none() {
            unpoisoned(self.places.write()).forget(key, place);
        }
        Ok(found)
    }

    fn add(&self, mut commits: impl Iterator<Item = Result<Commit, Error>>) -> Result<(), Error> {
        loop {
            let read = commits.by_ref().take(BATCH_COMMITS);
            let place = |commit: Commit| (commit.key, commit.uid, commit.revision);
            let read: Vec<_> = read.map(|one| one.map(place)).collect::<Result<_, _>>()?;
            let mut places = unpoisoned(self.places.write());
            for (key, uid, revision) in &read {
                places.push(key, uid, *revision);
            }
            if read.len() < BATCH_COMMITS || places.is_full() {
                return Ok(());
            }
        }
    }
}

/// Looks up commits in a log.
#[derive(Debug)]
pub(crate) struct LogHistory<'a> {
    reader: &'a Reader,
    index: &'a HistoryIndex,
    /// How many commits were read back so far.
    read: Cell<usize>,
    /// Whether the index was asked to forget what was dropped.
    is_clean: Cell<bool>,
    /// The last restore, zero for none, if that is known without a reading.
    #[cfg(feature = "http")]
    restored: Option<Revision>,
}

impl<'a> LogHistory<'a> {
    /// A log with its index, which grows as needed.
    pub(crate) const fn new(reader: &'a Reader, index: &'a HistoryIndex) -> Self {
        Self {
            reader,
            index,
            read: Cell::new(0),
            is_clean: Cell::new(false),
            #[cfg(feature = "http")]
            restored: None,
        }
    }

    /// The same log, of which the last restore is known; zero if there was none.
    #[cfg(feature = "http")]
    pub(crate) fn last_restored(self, restored: Revision) -> Self {
        let restored = Some(restored);
        Self { restored, ..self }
    }

    /// Lets go of what was dropped, once in the life of this history, unless another question adds to the index.
    fn forget_dropped(&self) -> Result<(), Error> {
        if self.is_clean.replace(true) {
            return Ok(());
        }
        let walk = match self.index.walk.try_lock() {
            Ok(walk) => walk,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        self.index.forget_dropped(self.reader, &walk)
    }

    /// The last commit that touched this object, among those that the index covers.
    fn indexed(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        mut until: Revision,
    ) -> Result<Option<Commit>, Error> {
        self.forget_dropped()?;
        loop {
            let Some(place) = self.index.places().before(key, uid, until) else {
                return Ok(None);
            };
            match self.index.commit(self.reader, key, place)? {
                Some(commit) if touches(&commit, key, uid) => return Ok(Some(commit)),
                _ => until = place.previous(),
            }
        }
    }

    /// The kinds that were defined at any time with such a resource and, as far as it is known, such a kind, the
    /// latest first.
    #[cfg(feature = "http")]
    pub(crate) fn defined(
        &self,
        is_it: impl Fn(&GroupResource, Option<&Kind>) -> bool,
    ) -> Result<Vec<Defined>, Error> {
        Ok(self.definitions()?.find(is_it))
    }

    /// The last restore of a backup. What was written between the backup and the restore is not in the log.
    #[cfg(feature = "http")]
    pub(crate) fn restored(&self) -> Result<Option<Revision>, Error> {
        match self.restored {
            Some(restored) => Ok(Some(restored).filter(|at| *at > Revision::ZERO)),
            None => Ok(self.definitions()?.restored),
        }
    }

    #[cfg(feature = "http")]
    pub(crate) fn newest(&self) -> Result<Revision, Error> {
        self.reader.newest()
    }

    fn definitions(&self) -> Result<MutexGuard<'a, Definitions>, Error> {
        let mut definitions = unpoisoned(self.index.definitions.lock());
        definitions.extend(self.reader)?;
        Ok(definitions)
    }

    /// Every commit from `from` on that is kept, oldest first, with the restores between them.
    #[cfg(feature = "http")]
    pub(crate) fn all(&self, from: Revision) -> impl Iterator<Item = Result<Entry, Error>> {
        self.reader.entries(from)
    }

    /// The commits among them that touched this object.
    #[cfg(feature = "http")]
    pub(crate) fn touched(
        &self,
        key: &ObjectKey,
        from: Revision,
    ) -> Result<impl Iterator<Item = Result<Commit, Error>>, Error> {
        let newest = self.newest()?.0;
        let near = u64::try_from(self.index.near).unwrap_or(u64::MAX);
        let far = Revision(newest.saturating_sub(near));
        if from <= far {
            self.index.extend(self.reader, far)?;
        }
        self.forget_dropped()?;
        let (index, reader, covers) = (self.index, self.reader, self.index.covers());
        let (known, mut next) = (key.clone(), from);
        let indexed = std::iter::from_fn(move || {
            loop {
                let place = index.places().after(&known, next)?;
                next = place.next();
                if place > covers {
                    return None;
                }
                if let Some(read) = index.commit(reader, &known, place).transpose() {
                    return Some(read);
                }
            }
        });
        let rest = self.reader.scan(from.max(covers.next()));
        let key = key.clone();
        let touches = move |commit: &Commit| commit.key == key;
        let all = indexed.chain(rest);
        Ok(all.filter(move |commit| commit.as_ref().map_or(true, &touches)))
    }
}

fn touches(commit: &Commit, key: &ObjectKey, uid: Option<&Uid>) -> bool {
    commit.key == *key && uid.is_none_or(|uid| *uid == commit.uid)
}

impl History for LogHistory<'_> {
    type Error = Error;

    fn floor(&self) -> Result<Revision, Error> {
        self.reader.floor()
    }

    fn commit(&self, revision: Revision) -> Result<Option<Commit>, Error> {
        self.reader.commit(revision)
    }

    fn last(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        until: Revision,
    ) -> Result<Option<Commit>, Error> {
        let (mut covers, mut is_extended) = (self.index.covers(), false);
        for commit in self.reader.scan_back(until) {
            let commit = commit?;
            if commit.revision <= covers {
                break;
            }
            if touches(&commit, key, uid) {
                return Ok(Some(commit));
            }
            self.read.set(self.read.get() + 1);
            if self.read.get() >= self.index.near && !is_extended {
                self.index.extend(self.reader, commit.revision.previous())?;
                (covers, is_extended) = (self.index.covers(), true);
            }
        }
        self.indexed(key, uid, until.min(covers))
    }

    fn once_defined(&self, group: &str, kind: &str) -> Result<Vec<GroupResource>, Error> {
        let is_it = |resource: &GroupResource, called: Option<&Kind>| {
            *resource.group == *group && called.is_none_or(|called| *called.kind == *kind)
        };
        let mut resources: Vec<GroupResource> = Vec::new();
        for Defined { resource, .. } in self.definitions()?.find(is_it) {
            if !resources.contains(&resource) {
                resources.push(resource);
            }
        }
        Ok(resources)
    }
}
