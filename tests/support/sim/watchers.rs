//! Watches as informers keep them: a list, then events, and a position that outlives the server.

use super::server::{Server, empty};
use crate::dice::Dice;
use hindsight_core::selector::Seen;
use hindsight_core::{Change, GroupResource, Object, ObjectKey, Revision, State, Uid, apply};
use hindsight_log::Error;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Changes that one turn looks at, where it does not read the log to its end.
const TURN_CHANGES_MAX: usize = 5;

/// What a watch selects.
#[derive(Debug, Clone)]
pub struct Selection {
    /// All of them, or one.
    pub namespace: Option<&'static str>,
    /// By the label `shown`.
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
    /// What it says.
    pub kind: Kind,
    /// When.
    pub revision: Revision,
    /// Of which object.
    pub key: ObjectKey,
    /// Its identity.
    pub uid: Uid,
    /// The version before, as far as whoever watches knows it.
    pub previous: Option<Revision>,
}

/// What a watch received, in order.
#[derive(Debug, Clone)]
pub enum Received {
    /// A list.
    List(Revision, BTreeMap<ObjectKey, Uid>),
    /// The stream goes on from here: the server was gone, or the window had moved on.
    Resumed(Revision),
    /// An event.
    Event(Event),
    /// Everything until here was told.
    Bookmark(Revision),
}

/// One watch.
#[derive(Debug)]
pub struct Watcher {
    /// What it selects.
    pub selection: Selection,
    /// Whether it is told of versions that it does not select. Over HTTP none is: what comes into a selection
    /// has no version before it.
    pub knows_unselected: bool,
    /// Everything it received.
    pub received: Vec<Received>,
    /// Up to where it has seen everything; nothing before its first list.
    pub position: Option<Revision>,
    /// What it believes is there.
    pub cache: BTreeMap<ObjectKey, Uid>,
    /// It does not read for so many of its turns.
    pub stalled: u64,
    /// Loses or repeats one event in so many, where that is what is broken.
    pub loses: Option<u64>,
    /// As `loses`.
    pub repeats: Option<u64>,
    /// Goes on from before a restore, where that is what is broken.
    pub resumes: bool,
}

impl Selection {
    /// Any selection.
    pub fn any(dice: &mut Dice) -> Self {
        Self {
            namespace: dice.pick(&[None, Some("n1"), Some("n2")]),
            shown: dice.roll(2) == 0,
        }
    }

    /// Whether it holds this object.
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

    /// What it holds of a state.
    pub fn of(&self, state: &State) -> BTreeMap<ObjectKey, Uid> {
        let maps = GroupResource::new("", "configmaps");
        let objects = state.list(&maps, self.namespace);
        let held = objects.filter(|object| self.holds(object));
        held.map(|object| (object.key.clone(), object.meta.uid.clone()))
            .collect()
    }
}

impl Watcher {
    /// A watch that has not begun.
    pub const fn new(selection: Selection) -> Self {
        Self {
            selection,
            knows_unselected: true,
            received: Vec::new(),
            position: None,
            cache: BTreeMap::new(),
            stalled: 0,
            loses: None,
            repeats: None,
            resumes: false,
        }
    }

    /// Reads on, from the window or from the log.
    pub fn turn(&mut self, server: &Server, dice: &mut Dice) -> Result<(), Error> {
        if self.stalled > 0 {
            self.stalled -= 1;
            return Ok(());
        }
        let Some(position) = self.position else {
            self.list(&server.state);
            return Ok(());
        };
        if position < server.restored && !self.resumes {
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
                Err(Error::Pruned { .. }) => self.list(&server.state),
                other => other?,
            },
        }
        if dice.roll(4) == 0 {
            self.received.extend(self.position.map(Received::Bookmark));
        }
        Ok(())
    }

    /// The stream was broken; the position is what remains of it.
    pub fn disconnect(&mut self) {
        self.received.extend(self.position.map(Received::Resumed));
    }

    fn list(&mut self, state: &State) {
        self.cache = self.selection.of(state);
        self.position = Some(state.revision);
        self.received
            .push(Received::List(state.revision, self.cache.clone()));
    }

    /// What left the window is read from the log.
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
        let selection = self.selection.clone();
        let Some(seen) = change.seen_by(|object| selection.holds(object)) else {
            return;
        };
        let (kind, object) = match seen {
            Seen::Added(object) => (Kind::Added, object),
            Seen::Modified(object) => (Kind::Modified, object),
            Seen::Deleted(object) => (Kind::Deleted, object),
        };
        let event = Event {
            kind,
            revision: change.commit.revision,
            key: object.key.clone(),
            uid: object.meta.uid.clone(),
            previous: change.previous.as_ref().map(|object| object.revision),
        };
        if self.loses.is_some_and(|sides| dice.roll(sides) == 0) {
            return;
        }
        if self.repeats.is_some_and(|sides| dice.roll(sides) == 0) {
            self.received.push(Received::Event(event.clone()));
        }
        match kind {
            Kind::Added | Kind::Modified => self.cache.insert(event.key.clone(), event.uid.clone()),
            Kind::Deleted => self.cache.remove(&event.key),
        };
        self.received.push(Received::Event(event));
    }
}
