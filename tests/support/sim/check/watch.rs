//! The guarantees of a watch, one check for each by name. What should have been received is derived
//! from the history alone.

use super::{Checked, ensure};
use crate::sim::history::History;
use crate::sim::trace::Trace;
use crate::sim::watchers::{Event, Kind, Received, Watcher};
use hindsight_core::{Object, Revision};
use std::collections::{BTreeMap, BTreeSet};

/// What a watch received from one list to the next: the revision of the list, what came, and the
/// revision that was reached.
struct Stretch<'a> {
    from: Revision,
    received: &'a [Received],
    until: Revision,
}

/// Judges everything that a watch received.
pub fn check(history: &History, watcher: &Watcher, trace: &mut Trace) -> Checked {
    let due = due(history, watcher);
    for stretch in stretches(watcher) {
        let events = stretch.events();
        trace.count("events received", events.len() as u64);
        ordered(&events)?;
        unique(&events)?;
        atomic(&events)?;
        filtered(&events, &due)?;
        is_create(&events, &due)?;
        resumable(&stretch, &due)?;
        bookmarkable(&stretch, &due)?;
        reliable(&stretch, &events, &due)?;
    }
    contents(history, watcher)?;
    lists(history, watcher)
}

impl Stretch<'_> {
    fn events(&self) -> Vec<&Event> {
        let events = self.received.iter().filter_map(|one| match one {
            Received::Event(event) => Some(event),
            Received::List(..) | Received::Resumed(_) | Received::Bookmark(_) => None,
        });
        events.collect()
    }
}

fn stretches(watcher: &Watcher) -> Vec<Stretch<'_>> {
    let received = &watcher.received;
    let lists = received
        .iter()
        .enumerate()
        .filter_map(|(index, one)| match one {
            Received::List(at, _) => Some((index, *at)),
            _ => None,
        });
    let lists: Vec<(usize, Revision)> = lists.collect();
    let end = (received.len(), watcher.position.unwrap_or_default());
    let ends = lists.iter().skip(1).copied().chain(std::iter::once(end));
    let stretch =
        |((first, from), (last, until)): (&(usize, Revision), (usize, Revision))| Stretch {
            from: *from,
            received: &received[first + 1..last],
            until,
        };
    let mut found: Vec<Stretch<'_>> = lists.iter().zip(ends).map(stretch).collect();
    // A new list shows a later state: what lies between was not due as events.
    let count = found.len();
    for stretch in found.iter_mut().take(count.saturating_sub(1)) {
        stretch.until = stretch.last_told();
    }
    found
}

impl Stretch<'_> {
    /// The last revision that the stretch certainly reached.
    fn last_told(&self) -> Revision {
        let told = self.received.iter().map(|one| match one {
            Received::Event(event) => event.revision,
            Received::Bookmark(at) | Received::Resumed(at) | Received::List(at, _) => *at,
        });
        told.max().unwrap_or(self.from)
    }
}

/// Every event that the watch must receive, by revision.
fn due(history: &History, watcher: &Watcher) -> BTreeMap<Revision, Event> {
    let selection = &watcher.selection;
    let mut due = BTreeMap::new();
    for (commit, state) in history.with_states() {
        let before = state.get(&commit.key).cloned();
        let held = |object: Option<&Object>| object.is_some_and(|one| selection.holds(one));
        let kind = match (
            held(before.as_deref()),
            held(commit.object().map(|one| &**one)),
        ) {
            (false, true) => Some(Kind::Added),
            (true, true) => Some(Kind::Modified),
            (true, false) => Some(Kind::Deleted),
            (false, false) => None,
        };
        if let Some(kind) = kind {
            let is_known = watcher.knows_unselected || kind != Kind::Added;
            let event = Event {
                kind,
                revision: commit.revision,
                key: commit.key.clone(),
                uid: commit.uid.clone(),
                previous: before.filter(|_| is_known).map(|object| object.revision),
            };
            due.insert(commit.revision, event);
        }
    }
    due
}

/// Checks that revisions never step back.
fn ordered(events: &[&Event]) -> Checked {
    let step = events
        .windows(2)
        .find(|pair| pair[1].revision < pair[0].revision);
    ensure("watch: ordered", step.is_none(), || format!("{step:?}"))
}

/// Checks that nothing is delivered twice.
fn unique(events: &[&Event]) -> Checked {
    let mut seen = BTreeSet::new();
    let again = events
        .iter()
        .find(|one| !seen.insert((one.revision, one.uid.clone())));
    ensure("watch: unique", again.is_none(), || format!("{again:?}"))
}

/// Checks that what happened at one revision is delivered together: here, as one event.
fn atomic(events: &[&Event]) -> Checked {
    let split = events
        .windows(2)
        .find(|pair| pair[1].revision == pair[0].revision);
    ensure("watch: atomic", split.is_none(), || format!("{split:?}"))
}

/// Checks that every event was selected and is what happened.
fn filtered(events: &[&Event], due: &BTreeMap<Revision, Event>) -> Checked {
    let same = |one: &&&Event| {
        let due = due.get(&one.revision);
        due.is_some_and(|due| (due.kind, &due.key, &due.uid) == (one.kind, &one.key, &one.uid))
    };
    let wrong = events.iter().find(|one| !same(one));
    ensure("watch: filtered", wrong.is_none(), || format!("{wrong:?}"))
}

/// Checks that an event has a previous version exactly if the object is not new to the watch.
fn is_create(events: &[&Event], due: &BTreeMap<Revision, Event>) -> Checked {
    let same = |one: &&&Event| {
        due.get(&one.revision)
            .is_some_and(|due| due.previous == one.previous)
    };
    let wrong = events.iter().find(|one| !same(one));
    ensure("watch: is-create", wrong.is_none(), || format!("{wrong:?}"))
}

/// Checks that no event between beginning and end is left out.
fn reliable(stretch: &Stretch<'_>, events: &[&Event], due: &BTreeMap<Revision, Event>) -> Checked {
    let got: BTreeSet<Revision> = events.iter().map(|one| one.revision).collect();
    let owed = due.range(stretch.from.next()..);
    let owed = owed.take_while(|(revision, _)| **revision <= stretch.until);
    let missing = owed
        .map(|(_, event)| event)
        .find(|one| !got.contains(&one.revision));
    ensure("watch: reliable", missing.is_none(), || {
        format!("{missing:?} between {} and {}", stretch.from, stretch.until)
    })
}

/// Checks that a resumed stream goes on with the first event after its position.
fn resumable(stretch: &Stretch<'_>, due: &BTreeMap<Revision, Event>) -> Checked {
    for pair in stretch.received.windows(2) {
        if let [Received::Resumed(at), Received::Event(event)] = pair {
            let next = due.range(at.next()..).next().map(|(revision, _)| *revision);
            ensure("watch: resumable", next == Some(event.revision), || {
                format!("after {at} comes {next:?}, it went on with {event:?}")
            })?;
        }
    }
    Ok(())
}

/// Checks that everything up to a bookmark was delivered before it, and nothing of that after it.
fn bookmarkable(stretch: &Stretch<'_>, due: &BTreeMap<Revision, Event>) -> Checked {
    let mut told = stretch.from;
    let mut marked = stretch.from;
    for one in stretch.received {
        match one {
            Received::Event(event) => {
                ensure("watch: bookmarkable", event.revision > marked, || {
                    format!("{event:?} after the bookmark {marked}")
                })?;
                told = event.revision;
            }
            Received::Bookmark(at) => {
                let owed = due.range(told.next()..at.next()).next();
                ensure("watch: bookmarkable", owed.is_none(), || {
                    format!("{owed:?} was not told before the bookmark {at}")
                })?;
                marked = *at;
            }
            Received::List(..) | Received::Resumed(_) => {}
        }
    }
    Ok(())
}

/// Checks that lists and events show the versions that were written, and a deletion the version before it.
fn contents(history: &History, watcher: &Watcher) -> Checked {
    for (kind, at, shown) in &watcher.shown {
        let written = match kind {
            Kind::Added | Kind::Modified => history.commit(*at).and_then(|one| one.object()),
            Kind::Deleted => {
                let before = history.state(at.previous());
                before.and_then(|before| before.get(&shown.key))
            }
        };
        ensure("watch: contents", written == Some(shown), || {
            format!("{kind:?} at {at} shows {shown:?}, and {written:?} was written")
        })?;
    }
    Ok(())
}

/// Checks that every list is the selection of the state at its revision, and so is the last list with
/// the events after it.
fn lists(history: &History, watcher: &Watcher) -> Checked {
    let expected = |at| Some(watcher.selection.of(history.state(at)?));
    for one in &watcher.received {
        if let Received::List(at, objects) = one {
            ensure(
                "watch: list",
                expected(*at).as_ref() == Some(objects),
                || format!("at {at}: {objects:?}"),
            )?;
        }
    }
    let at = watcher.position.unwrap_or_default();
    ensure(
        "watch: list and events",
        expected(at).as_ref() == Some(&watcher.cache),
        || format!("at {at} the watch believes {:?}", watcher.cache),
    )
}
