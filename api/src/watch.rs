//! Watches. Each has its own position and pulls changes; there are no queues per watcher.

mod line;
mod options;
pub(crate) mod relay;
mod replay;
mod shown;
#[cfg(test)]
mod tests;

use crate::apart::apart;
use crate::api::Api;
use crate::body::{ApiBody, PIECE_BYTES, frame};
use crate::lease::Lease;
use crate::list::Selection;
use crate::pace::Pace;
use crate::position;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use hindsight_core::selector::WatchEvent;
use hindsight_core::{Change, Expired, Object, Revision, Unavailable};
use http::Response;
use line::push;
use options::{InitialEvents, lifetime, room_for_selectors};
use replay::Replay;
use serde_json::json;
use shown::{Shown, Sight};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, Sleep, timeout_at};

/// The most changes that one turn of a watch asks for.
const TURN_CHANGES_MAX: usize = 512;
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// The last bookmark comes this long before the end.
const LAST_BOOKMARK_BEFORE: Duration = Duration::from_secs(2);
/// How long a watch outlives its kind.
const AFTER_ITS_KIND: Duration = Duration::from_secs(1);

/// Opens a stream of events.
pub(crate) async fn open(
    api: &Api,
    mut request: Box<ResourceRequest>,
) -> Result<Response<ApiBody>, Failure> {
    if request.is_past {
        return Err(position::past_does_not_change("it cannot be watched"));
    }
    // Otherwise it would end at once, without an error, and clients would open the next one without a pause.
    if api.relay.has_ended() || api.backend.changed().has_changed().is_err() {
        return Err(Unavailable::Stopping.into());
    }
    let mut selection = Selection::of(&request)?;
    let room = room_for_selectors(api, &request).await?;
    request.params.integer("limit")?;
    let initial_events = InitialEvents::of(&request)?;
    let initial = initial_events != InitialEvents::None;
    let revision = request
        .params
        .revision()?
        .filter(|revision| *revision > Revision::ZERO);
    let ahead = revision.filter(|wanted| initial && *wanted > request.state.revision);
    let mut early_failure = revision.and_then(|known| position::check(&*api.backend, known).err());
    if let Some(wanted) = ahead {
        early_failure = request.catch_up(api, wanted).await.err().or(early_failure);
        selection = Selection::of(&request)?;
    }
    let lifetime = lifetime(api, &request)?;
    let opened = request.state.revision;
    let after = revision.filter(|_| !initial).unwrap_or(opened);
    let ends = Instant::now() + lifetime;
    let initial_objects = if initial && early_failure.is_none() {
        let objects = selection.objects(&api.fields, &request.state).await?;
        Some(lease_objects(objects))
    } else {
        None
    };
    let bookmarks = request.params.flag("allowWatchBookmarks") == Some(true);
    let next_bookmark = bookmarks.then(|| bookmark_time(Instant::now(), ends));
    let shown = Arc::new(Shown::of(api, &request));
    let mut watch = Box::new(Watch {
        newest_revision: api.relay.subscribe(&*api.backend),
        api: api.clone(),
        position: after.min(opened),
        after,
        selection,
        _room_for_selectors: room,
        shown,
        ends,
        alarm: Box::pin(tokio::time::sleep_until(ends)),
        next_bookmark,
        marks_initial: bookmarks && initial_events == InitialEvents::MarkedObjects,
        headings: true,
        initial_objects,
        ready: Vec::new(),
        sending: Bytes::new(),
        pace: Pace::default(),
        replay: None,
        opened,
        phase: Phase::Live,
    });
    watch.set_alarm();
    if let Some(failure) = early_failure {
        watch.fail(&failure);
    }
    let pieces = stream::unfold(watch, |mut watch| async move {
        let piece = watch.next().await?;
        Some((Ok(piece), watch))
    });
    Ok(respond::events(ApiBody::pieces(pieces.boxed())))
}

/// The time of the next bookmark: at regular intervals and shortly before the end, so that the next watch of a
/// client whose objects rarely change begins near the newest revision. Source: upstream's `nextBookmarkTime`.
fn bookmark_time(now: Instant, ends: Instant) -> Instant {
    let regular = now + BOOKMARK_EVERY;
    let last = ends.checked_sub(LAST_BOOKMARK_BEFORE);
    last.filter(|last| *last > now)
        .map_or(regular, |last| last.min(regular))
}

type Objects = std::vec::IntoIter<Arc<Object>>;

/// The initial objects. More of them than are sent in one go are released if the client does not read.
fn lease_objects(objects: Vec<Arc<Object>>) -> Lease<Objects> {
    let bytes: usize = objects.iter().map(|object| object.body.len()).sum();
    let objects = objects.into_iter();
    if bytes > PIECE_BYTES {
        Lease::new(objects)
    } else {
        Lease::unlimited(objects)
    }
}

fn stalled() -> Failure {
    Failure::expired("too old resource version: the client read nothing for too long")
}

struct Watch {
    api: Api,
    selection: Selection,
    _room_for_selectors: Option<OwnedSemaphorePermit>,
    shown: Arc<Shown>,
    newest_revision: Receiver<Revision>,
    position: Revision,
    /// What the client has seen, which may lie ahead of the newest revision.
    after: Revision,
    ends: Instant,
    /// Goes off at the end or at the next bookmark, whichever is sooner.
    alarm: Pin<Box<Sleep>>,
    /// Only for clients that want bookmarks.
    next_bookmark: Option<Instant>,
    /// Whether a bookmark marks the end of the initial objects.
    marks_initial: bool,
    headings: bool,
    /// Initial objects that were not sent yet.
    initial_objects: Option<Lease<Objects>>,
    /// Lines that were not sent yet.
    ready: Vec<u8>,
    /// The rest of the lines that are being sent.
    sending: Bytes,
    pace: Pace,
    replay: Option<Replay>,
    /// The revision of the state from which the kind was taken.
    opened: Revision,
    phase: Phase,
}

/// How far a watch has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It tells what happens.
    Live,
    /// Its kind is gone: it tells nothing more, and ends soon.
    WithoutKind,
    /// It ends once what is ready has been sent.
    Over,
}

/// What a bookmark tells the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bookmark {
    /// The position of the watch.
    Position,
    /// The position, and that all initial objects have been sent.
    EndOfInitial,
}

impl Watch {
    /// Writes the next initial objects in list order and, after the last, the bookmark that ends them.
    async fn send_initial(&mut self, objects: Lease<Objects>) {
        loop {
            let Some(next) = objects.with(Iterator::next) else {
                return self.fail(&stalled());
            };
            let Some(object) = next else {
                break;
            };
            let before = self.ready.len();
            let looked = self.write_event(WatchEvent::Added(&object), None).await;
            if self.is_over() {
                return;
            }
            let made = object.body.len().max(self.ready.len() - before);
            objects.record_bytes(made);
            self.pace.read(made + looked).await;
            if self.ready.len() >= PIECE_BYTES {
                self.initial_objects = Some(objects);
                return;
            }
        }
        if self.marks_initial {
            self.write_bookmark(Bookmark::EndOfInitial);
        }
    }

    /// The next bytes; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.sending.is_empty() {
                self.sending = std::mem::take(&mut self.ready).into();
            }
            if !self.sending.is_empty() {
                self.initial_objects.iter().for_each(Lease::renew);
                self.replay.iter().for_each(Replay::renew);
                return Some(frame(&mut self.sending));
            }
            let has_ended = self.is_over() || self.api.relay.has_ended();
            if has_ended || Instant::now() >= self.ends {
                return None;
            }
            if let Some(objects) = self.initial_objects.take() {
                self.send_initial(objects).await;
                continue;
            }
            self.newest_revision.borrow_and_update();
            self.process_changes().await;
            if !self.ready.is_empty() || self.is_over() {
                continue;
            }
            tokio::select! {
                biased;
                moved = self.newest_revision.changed() => {
                    if moved.is_err() {
                        self.phase = Phase::Over;
                    }
                }
                () = self.alarm.as_mut() => self.on_alarm(),
            }
        }
    }

    fn set_alarm(&mut self) {
        let wake = self.next_wake();
        self.alarm.as_mut().reset(wake);
    }

    fn on_alarm(&mut self) {
        let now = Instant::now();
        if self.next_bookmark.is_some_and(|next| now >= next) {
            self.next_bookmark = Some(bookmark_time(now, self.ends));
            self.write_bookmark(Bookmark::Position);
        }
        self.set_alarm();
    }

    /// Goes through the changes since the last turn, until there is something to send, there are no more
    /// changes, or it is time for a bookmark or the end.
    async fn process_changes(&mut self) {
        while self.ready.is_empty() && self.phase == Phase::Live {
            let now = Instant::now();
            if now >= self.ends {
                return;
            }
            if now >= self.next_wake() {
                self.on_alarm();
                continue;
            }
            match self.next_changes().await {
                Ok(changes) if changes.is_empty() => return,
                Ok(changes) => self.derive_events(&changes).await,
                Err(failure) => self.fail(&failure),
            }
        }
    }

    /// Derives events from changes until a piece is full. Those that are left over are asked for again.
    async fn derive_events(&mut self, changes: &[Arc<Change>]) {
        for change in changes {
            self.position = change.commit.revision;
            if self.is_ended_by(change) {
                self.end_with_its_kind(change);
                return;
            }
            let (before, mut looked) = (self.ready.len(), 0);
            if self.position > self.after {
                looked = self.derive_event(change).await;
            }
            if self.is_over() {
                return;
            }
            let made = self.ready.len() - before;
            if let Some(replay) = &self.replay {
                replay.record(change, made);
            }
            let read = self.read_cost(change).max(made);
            self.pace.read(read + looked).await;
            if self.ready.len() >= PIECE_BYTES || self.is_due() {
                return;
            }
        }
    }

    /// Ends the watch: at once if there is a kind that a new one could watch. After a removal it stays for a second
    /// and tells nothing, so that whoever watches definitions too hears of that first, and does not take for a fault
    /// that there is nothing to watch. Source: upstream's `crdHandler.tearDown`.
    fn end_with_its_kind(&mut self, change: &Change) {
        if change.commit.object().is_some() {
            self.phase = Phase::Over;
            return;
        }
        self.phase = Phase::WithoutKind;
        self.next_bookmark = None;
        self.ends = self.ends.min(Instant::now() + AFTER_ITS_KIND);
        self.set_alarm();
    }

    /// Whether the change redefines or removes the kind that is watched. A new watch sees the kind as it is
    /// then.
    fn is_ended_by(&self, change: &Change) -> bool {
        let is_newer = change.commit.revision > self.opened;
        let kind = self.shown.kind();
        is_newer && kind.is_custom() && change.redefines(&kind.resource)
    }

    /// Whether it is time for a bookmark, or for the end.
    fn is_due(&self) -> bool {
        Instant::now() >= self.next_wake()
    }

    fn next_wake(&self) -> Instant {
        self.next_bookmark
            .map_or(self.ends, |next| next.min(self.ends))
    }

    /// The cost of telling whether a change concerns this watch: how much of its objects is read.
    fn read_cost(&self, change: &Change) -> usize {
        if !self.selection.covers(&change.commit.key) {
            return 0;
        }
        let versions = change.commit.object().into_iter().chain(&change.previous);
        versions
            .map(|object| self.selection.read_cost(object))
            .sum()
    }

    /// The next changes: from the window, or from the log if the window does not reach back far enough; none if the
    /// watch is over, or every watch, before the log is read.
    async fn next_changes(&mut self) -> Result<Vec<Arc<Change>>, Failure> {
        match self.read_window() {
            Ok(changes) => {
                self.replay = None;
                Ok(changes)
            }
            Err(expired) => {
                let (ends, mut newest) = (self.ends, self.newest_revision.clone());
                tokio::select! {
                    biased;
                    _ = newest.wait_for(|_| false) => Ok(Vec::new()),
                    missed = timeout_at(ends, self.read_missed(expired)) => {
                        missed.unwrap_or_else(|_over| Ok(Vec::new()))
                    }
                }
            }
        }
    }

    fn read_window(&self) -> Result<Vec<Arc<Change>>, Expired> {
        let backend = &self.api.backend;
        backend.changes_after(self.position, TURN_CHANGES_MAX)
    }

    /// The next changes that the window does not reach. After a restart they are read back into it, for all watches
    /// at once; what has left it this watch reads in its turn.
    async fn read_missed(&mut self, expired: Expired) -> Result<Vec<Arc<Change>>, Failure> {
        if self.replay.is_none() {
            let backend = Arc::clone(&self.api.backend);
            let reaches_back = async move { backend.reach_back(expired.asked).await };
            if apart(reaches_back).await?
                && let Ok(changes) = self.read_window()
            {
                return Ok(changes);
            }
            let replay = apart(Replay::after(self.api.clone(), expired)).await?;
            self.replay = Some(replay?);
        }
        match &self.replay {
            Some(replay) => replay.changes_after(self.position, &self.api).await,
            None => Ok(Vec::new()),
        }
    }

    /// Ends the watch with an error.
    fn fail(&mut self, failure: &Failure) {
        let status = failure.to_json().to_string();
        push(&mut self.ready, "ERROR", status.as_bytes());
        self.phase = Phase::Over;
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Derives the event of this watch from a change: an object that comes to match is added, one that no
    /// longer does is deleted. Returns what the columns of tables looked at.
    async fn derive_event(&mut self, change: &Change) -> usize {
        if !self.selection.covers(&change.commit.key) {
            return 0;
        }
        let (before, after) = match self.selects(change).await {
            Ok(selects) => selects,
            Err(failure) => {
                self.fail(&failure);
                return 0;
            }
        };
        let Some(event) = change.watch_event(before, after) else {
            return 0;
        };
        let is_left = matches!(event, WatchEvent::Deleted(_));
        let left = is_left.then_some(change.commit.revision);
        self.write_event(event, left).await
    }

    /// Whether the versions before and after a change match.
    async fn selects(&self, change: &Change) -> Result<(bool, bool), Failure> {
        let (selection, fields) = (&self.selection, &self.api.fields);
        let before = match &change.previous {
            Some(object) => selection.matches(fields, object).await?,
            None => false,
        };
        let after = match change.commit.object() {
            Some(object) => selection.matches(fields, object).await?,
            None => false,
        };
        Ok((before, after))
    }

    /// Writes an event. Returns what the columns of tables looked at.
    async fn write_event(&mut self, event: WatchEvent<'_>, left: Option<Revision>) -> usize {
        let headings = std::mem::take(&mut self.headings);
        let now = self.api.backend.now();
        let sight = Sight {
            left,
            now,
            headings,
        };
        match self.shown.make(event.object(), sight).await {
            Ok((body, looked)) => {
                push(&mut self.ready, event.name(), &body);
                looked
            }
            Err(failure) => {
                self.fail(&failure);
                0
            }
        }
    }

    /// Writes a bookmark: an empty object that carries only the position. None is sent if the client's position lies
    /// ahead, for that was never reached.
    fn write_bookmark(&mut self, mark: Bookmark) {
        if self.after > self.position {
            return;
        }
        let mut metadata = json!({"resourceVersion": self.position.to_string()});
        let ends_initial = mark == Bookmark::EndOfInitial;
        if let Some(metadata) = metadata.as_object_mut().filter(|_| ends_initial) {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            metadata.insert("annotations".into(), annotations);
        }
        let headings = std::mem::take(&mut self.headings);
        let object = self.shown.bookmark(&metadata, headings);
        push(&mut self.ready, "BOOKMARK", object.to_string().as_bytes());
    }
}
