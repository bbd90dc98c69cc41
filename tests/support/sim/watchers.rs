//! Watches as informers keep them: a list, then events, and a position that survives a restart of the
//! server.

use super::server::{Server, empty};
use crate::dice::Dice;
use hindsight_core::selector::WatchEvent;
use hindsight_core::{Change, GroupResource, Object, ObjectKey, Revision, State, Uid, apply};
use hindsight_log::Error;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Changes that one turn reads, unless it reads the log to its end.
const TURN_CHANGES_MAX: usize = 5;

/// The objects that a watch believes to be there, each with its version.
pub type Held = BTreeMap<ObjectKey, (Uid, Revision)>;

/// What a watch selects.
#[derive(Debug, Clone)]
pub struct Selection {
    /// One namespace; all of them if `None`.
    pub namespace: Option<&'static str>,
    /// Whether only objects with the label `shown` are selected.
    pub shown: bool,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ADDED`.
    Added,
    /// `MODIFIED`.
    Modified,
    /// `DELETED`.
    Deleted,
}

/// One event as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its kind.
    pub kind: Kind,
    /// The revision of the change.
    pub revision: Revision,
    /// The object that changed.
    pub key: ObjectKey,
    /// Its UID.
    pub uid: Uid,
    /// The previous version, as far as the watch knows it.
    pub previous: Option<Revision>,
}

/// What a watch received, in order.
#[derive(Debug, Clone)]
pub enum Received {
    /// A list.
    List(Revision, Held),
    /// The stream resumes after this revision: it was broken, or the window had moved on.
    Resumed(Revision),
    /// An event.
    Event(Event),
    /// Everything up to this revision was delivered.
    Bookmark(Revision),
}

/// One watch.
#[derive(Debug)]
pub struct Watcher {
    /// What it selects.
    pub selection: Selection,
    /// Whether it sees previous versions that it does not select. Over HTTP no watch does: an object
    /// that comes into the selection has no version before it.
    pub knows_unselected: bool,
    /// Everything it received.
    pub received: Vec<Received>,
    /// The revision up to which it has seen everything; `None` before its first list.
    pub position: Option<Revision>,
    /// The objects that it believes exist.
    pub cache: Held,
    /// The versions that lists and events showed, each with the revision of the change. Over HTTP they are JSON, and
    /// are judged there.
    pub shown: Vec<(Kind, Revision, Arc<Object>)>,
    /// For how many more of its turns it does not read.
    pub stalled: u64,
    /// Loses one event in this many, if that is what is broken on purpose.
    pub loses_one_in: Option<u64>,
    /// Repeats one event in this many, if that is what is broken on purpose.
    pub repeats_one_in: Option<u64>,
    /// Shows changes with the contents from before them, if that is what is broken on purpose.
    pub shows_older: bool,
    /// Resumes from a position before a restore, if that is what is broken on purpose.
    pub resumes_across_restores: bool,
}

/// This version, but with the contents of an older one. Only the contents tell that.
pub fn with_contents_of(version: &Arc<Object>, older: &Object) -> Arc<Object> {
    if older.meta.uid == version.meta.uid {
        Arc::new(older.shown_at(Some(version.revision)))
    } else {
        Arc::clone(version)
    }
}

impl Selection {
    /// A random selection.
    pub fn any(dice: &mut Dice) -> Self {
        Self {
            namespace: dice.pick(&[None, Some("n1"), Some("n2")]),
            shown: dice.roll(2) == 0,
        }
    }

    /// Whether it selects this object.
    pub fn holds(&self, object: &Object) -> bool {
        *object.key.resource.resource == *"configmaps"
            && self
                .namespace
                .is_none_or(|one| one == &*object.key.namespace)
            && (!self.shown
                || object
                    .meta
                    .labels
                    .get("shown")
                    .is_some_and(|one| **one == *"yes"))
    }

    /// The objects of a state that it selects.
    pub fn of(&self, state: &State) -> Held {
        let version = |one: &Arc<Object>| {
            let version = (one.meta.uid.clone(), one.revision);
            (one.key.clone(), version)
        };
        self.objects(state).iter().map(version).collect()
    }

    fn objects(&self, state: &State) -> Vec<Arc<Object>> {
        let maps = GroupResource::new("", "configmaps");
        let objects = state.list(&maps, self.namespace);
        let selected = objects.filter(|object| self.holds(object));
        selected.cloned().collect()
    }
}

impl Watcher {
    /// A watch that has not listed yet.
    pub const fn new(selection: Selection) -> Self {
        Self {
            selection,
            knows_unselected: true,
            received: Vec::new(),
            position: None,
            cache: BTreeMap::new(),
            shown: Vec::new(),
            stalled: 0,
            loses_one_in: None,
            repeats_one_in: None,
            shows_older: false,
            resumes_across_restores: false,
        }
    }

    /// Reads further changes, from the window or from the log.
    pub fn turn(&mut self, server: &Server, dice: &mut Dice) -> Result<(), Error> {
        if self.stalled > 0 {
            self.stalled -= 1;
            return Ok(());
        }
        let Some(position) = self.position else {
            self.list(&server.state);
            return Ok(());
        };
        if position < server.restored && !self.resumes_across_restores {
            self.list(&server.state);
            return Ok(());
        }
        match server.window.after(position, TURN_CHANGES_MAX) {
            Ok(changes) => {
                for change in &changes {
                    self.take(change, dice);
                }
            }
            Err(_) if dice.roll(2) == 0 => self.list(&server.state),
            Err(_) => match self.replay(server, position, dice) {
                Err(Error::Pruned(_)) => self.list(&server.state),
                other => other?,
            },
        }
        if dice.roll(4) == 0 {
            self.received.extend(self.position.map(Received::Bookmark));
        }
        Ok(())
    }

    /// Breaks the stream; the watch resumes from its position.
    pub fn disconnect(&mut self) {
        self.received.extend(self.position.map(Received::Resumed));
    }

    fn list(&mut self, state: &State) {
        let listed = self.selection.objects(state).into_iter();
        let shown = listed.map(|one| (Kind::Added, one.revision, one));
        self.shown.extend(shown);
        self.cache = self.selection.of(state);
        self.position = Some(state.revision);
        self.received
            .push(Received::List(state.revision, self.cache.clone()));
    }

    /// Reads from the log the changes that have left the window.
    fn replay(&mut self, server: &Server, after: Revision, dice: &mut Dice) -> Result<(), Error> {
        let mut state = server.reader.state_at(empty(), after)?;
        let commits = server.reader.scan_all(after.next());
        let most = dice.pick(&[TURN_CHANGES_MAX, usize::MAX]);
        let commits = commits.take(most).collect::<Result<Vec<_>, _>>()?;
        self.received.push(Received::Resumed(after));
        for commit in commits {
            let commit = Arc::new(commit);
            let previous = apply(&mut state, &commit);
            self.take(&Change { commit, previous }, dice);
        }
        Ok(())
    }

    fn take(&mut self, change: &Change, dice: &mut Dice) {
        self.position = Some(change.commit.revision);
        let holds =
            |version: Option<&Arc<Object>>| version.is_some_and(|one| self.selection.holds(one));
        let before = holds(change.previous.as_ref());
        let after = holds(change.commit.object());
        let Some(seen) = change.watch_event(before, after) else {
            return;
        };
        let (kind, object) = match seen {
            WatchEvent::Added(object) => (Kind::Added, object),
            WatchEvent::Modified(object) => (Kind::Modified, object),
            WatchEvent::Deleted(object) => (Kind::Deleted, object),
        };
        let event = Event {
            kind,
            revision: change.commit.revision,
            key: object.key.clone(),
            uid: object.meta.uid.clone(),
            previous: change.previous.as_ref().map(|object| object.revision),
        };
        if self.loses_one_in.is_some_and(|sides| dice.roll(sides) == 0) {
            return;
        }
        if self
            .repeats_one_in
            .is_some_and(|sides| dice.roll(sides) == 0)
        {
            self.received.push(Received::Event(event.clone()));
        }
        match kind {
            Kind::Added | Kind::Modified => {
                let version = (event.uid.clone(), event.revision);
                self.cache.insert(event.key.clone(), version)
            }
            Kind::Deleted => self.cache.remove(&event.key),
        };
        self.shown
            .push((kind, event.revision, self.seen(change, object)));
        self.received.push(Received::Event(event));
    }

    /// The version that an event shows.
    fn seen(&self, change: &Change, object: &Arc<Object>) -> Arc<Object> {
        let before = change.previous.as_ref().filter(|_| self.shows_older);
        before.map_or_else(
            || Arc::clone(object),
            |before| with_contents_of(object, before),
        )
    }
}
