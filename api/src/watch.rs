//! Watches. Each has its own position and pulls changes; there are no queues per watcher.

mod line;
mod options;
mod replay;
#[cfg(test)]
mod tests;

pub(crate) use replay::REPLAYS_MAX;

use crate::accept::View;
use crate::body::{ApiBody, frame};
use crate::handler::{Api, Routed};
use crate::lease::Lease;
use crate::list::Selection;
use crate::pace::Pace;
use crate::respond;
use crate::status::Failure;
use crate::{position, table};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use hindsight_core::selector::Seen;
use hindsight_core::{Change, Object, Revision, State};
use http::Response;
use line::push;
use options::{Beginning, lifetime};
use replay::Replay;
use serde_json::json;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, Sleep, timeout_at};

/// The size of a piece: what is sent in one go ends with the object that reaches it.
const PIECE_BYTES: usize = 64 << 10;
/// The most changes that one turn of a watch asks for.
const TURN_CHANGES_MAX: usize = 512;
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// The last bookmark comes this long before the end.
const LAST_BOOKMARK_BEFORE: Duration = Duration::from_secs(2);
static NOTHING: LazyLock<Arc<State>> =
    LazyLock::new(|| Arc::new(State::new(crate::builtin_kinds())));

/// Opens a stream of events.
pub(crate) async fn open(api: &Api, mut asked: Box<Routed>) -> Result<Response<ApiBody>, Failure> {
    if asked.past {
        let message = "the past does not change: it cannot be watched";
        return Err(Failure::new(405, "MethodNotAllowed", message));
    }
    let mut selection = Selection::of(&asked)?;
    asked.params.integer("limit")?;
    let Beginning { initial, marked } = Beginning::of(&asked)?;
    let revision = asked
        .params
        .revision()?
        .filter(|revision| *revision > Revision::ZERO);
    let ahead = revision.filter(|wanted| initial && *wanted > asked.state.revision);
    let mut late = revision.and_then(|known| position::check(&*api.backend, known).err());
    if let Some(wanted) = ahead {
        late = asked.catch_up(api, wanted).await.err().or(late);
        selection = Selection::of(&asked)?;
    }
    let lifetime = lifetime(api, &asked)?;
    let opened = asked.state.revision;
    let after = revision.filter(|_| !initial).unwrap_or(opened);
    let ends = Instant::now() + lifetime;
    let begins_with = if initial && late.is_none() {
        Some(beginning(selection.objects(&asked.state).await))
    } else {
        None
    };
    // Otherwise the watch would keep this state in memory for as long as it lasts.
    asked.state = Arc::clone(&NOTHING);
    let mut watch = Watch {
        moved: api.backend.changed(),
        api: api.clone(),
        position: after.min(opened),
        after,
        selection,
        ends,
        alarm: Box::pin(tokio::time::sleep_until(ends)),
        next_bookmark: next_bookmark(Instant::now(), ends),
        bookmarks: asked.params.flag("allowWatchBookmarks") == Some(true),
        marked,
        headings: true,
        begins_with,
        ready: Vec::new(),
        sending: Bytes::new(),
        pace: Pace::default(),
        replay: None,
        opened,
        over: false,
        asked,
    };
    watch.set_alarm();
    if let Some(failure) = late {
        watch.fail(&failure);
    }
    let chunks = stream::unfold(watch, |mut watch| async move {
        let chunk = watch.next().await?;
        Some((chunk, watch))
    });
    Ok(respond::stream(ApiBody::stream(chunks.boxed())))
}

/// The time of the next bookmark: at regular intervals and shortly before the end, so that the next watch of a
/// client whose objects rarely change begins near the newest revision. Source: upstream's `nextBookmarkTime`.
fn next_bookmark(now: Instant, ends: Instant) -> Instant {
    let regular = now + BOOKMARK_EVERY;
    let last = ends.checked_sub(LAST_BOOKMARK_BEFORE);
    last.filter(|last| *last > now)
        .map_or(regular, |last| last.min(regular))
}

type Objects = std::vec::IntoIter<Arc<Object>>;

/// The initial objects. More of them than are sent in one go are released if the client does not read.
fn beginning(objects: Vec<Arc<Object>>) -> Lease<Objects> {
    let bytes: usize = objects.iter().map(|object| object.body.len()).sum();
    let objects = objects.into_iter();
    if bytes > PIECE_BYTES {
        Lease::new(objects)
    } else {
        Lease::lasting(objects)
    }
}

fn stalled() -> Failure {
    Failure::expired("too old resource version: the client read nothing for too long")
}

struct Watch {
    api: Api,
    asked: Box<Routed>,
    selection: Selection,
    moved: Receiver<Revision>,
    position: Revision,
    /// What the client has seen, which may lie ahead of the newest revision.
    after: Revision,
    ends: Instant,
    /// Goes off at the end or at the next bookmark, whichever is sooner.
    alarm: Pin<Box<Sleep>>,
    next_bookmark: Instant,
    bookmarks: bool,
    /// Whether a bookmark marks the end of the initial objects.
    marked: bool,
    headings: bool,
    /// Initial objects that were not sent yet.
    begins_with: Option<Lease<Objects>>,
    /// Lines that were not sent yet.
    ready: Vec<u8>,
    /// The rest of the lines that are being sent.
    sending: Bytes,
    pace: Pace,
    replay: Option<Replay>,
    /// The revision of the state from which the kind was taken.
    opened: Revision,
    over: bool,
}

/// What a bookmark tells the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The position of the watch.
    Position,
    /// The position, and that all initial objects have been sent.
    EndOfInitial,
}

impl Watch {
    /// Writes the next initial objects in list order and, after the last, the bookmark that ends them.
    async fn begin(&mut self, objects: Lease<Objects>) {
        loop {
            let Some(next) = objects.with(Iterator::next) else {
                return self.fail(&stalled());
            };
            let Some(object) = next else {
                break;
            };
            self.event("ADDED", &object);
            objects.taken(object.body.len());
            self.pace.read(object.body.len()).await;
            if self.ready.len() >= PIECE_BYTES {
                self.begins_with = Some(objects);
                return;
            }
        }
        if self.bookmarks && self.marked {
            self.bookmark(Mark::EndOfInitial);
        }
    }

    /// The next bytes; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.sending.is_empty() {
                self.sending = std::mem::take(&mut self.ready).into();
            }
            if !self.sending.is_empty() {
                self.begins_with.iter().for_each(Lease::used);
                self.replay.iter().for_each(Replay::used);
                return Some(frame(&mut self.sending));
            }
            if self.over || Instant::now() >= self.ends {
                return None;
            }
            if let Some(objects) = self.begins_with.take() {
                self.begin(objects).await;
                continue;
            }
            self.moved.borrow_and_update();
            self.turn().await;
            if !self.ready.is_empty() || self.over {
                continue;
            }
            tokio::select! {
                biased;
                moved = self.moved.changed() => self.over = moved.is_err(),
                () = self.alarm.as_mut() => self.mark_time(),
            }
        }
    }

    fn set_alarm(&mut self) {
        let wake = self.wakes();
        self.alarm.as_mut().reset(wake);
    }

    fn mark_time(&mut self) {
        let now = Instant::now();
        if self.bookmarks && now >= self.next_bookmark {
            self.next_bookmark = next_bookmark(now, self.ends);
            self.bookmark(Mark::Position);
        }
        self.set_alarm();
    }

    /// Goes through the changes since the last turn, until there is something to send, there are no more
    /// changes, or it is time for a bookmark or the end.
    async fn turn(&mut self) {
        while self.ready.is_empty() && !self.over && Instant::now() < self.ends {
            if self.is_due() {
                self.mark_time();
                continue;
            }
            let ends = self.ends;
            match timeout_at(ends, self.changes()).await {
                Ok(Ok(changes)) if changes.is_empty() => return,
                Ok(Ok(changes)) => self.look_at(&changes).await,
                Ok(Err(failure)) => self.fail(&failure),
                Err(_) => return,
            }
        }
    }

    /// Derives events from changes until a piece is full. Changes from the window that are left over are asked
    /// for again.
    async fn look_at(&mut self, changes: &[Arc<Change>]) {
        for change in changes {
            self.position = change.commit.revision;
            if self.is_ended_by(change) {
                self.over = true;
                return;
            }
            if self.position > self.after {
                self.derive(change);
            }
            self.pace.read(self.reads(change)).await;
            let is_enough = self.ready.len() >= PIECE_BYTES || self.is_due();
            if is_enough && self.replay.is_none() {
                return;
            }
        }
    }

    /// Whether the change redefines or removes the kind that is watched. A new watch sees the kind as it is
    /// then.
    fn is_ended_by(&self, change: &Change) -> bool {
        let is_newer = change.commit.revision > self.opened;
        is_newer && self.asked.kind.is_custom() && change.redefines(&self.asked.kind.resource)
    }

    /// Whether it is time for a bookmark, or for the end.
    fn is_due(&self) -> bool {
        Instant::now() >= self.wakes()
    }

    fn wakes(&self) -> Instant {
        if self.bookmarks {
            self.ends.min(self.next_bookmark)
        } else {
            self.ends
        }
    }

    /// The cost of telling whether a change concerns this watch: how much of its objects is read.
    fn reads(&self, change: &Change) -> usize {
        if !self.selection.covers(&change.commit.key) {
            return 0;
        }
        let versions = change.commit.object().into_iter().chain(&change.previous);
        versions.map(|object| self.selection.reads(object)).sum()
    }

    /// The next changes: from the window, or from the log if the window does not reach back far enough.
    async fn changes(&mut self) -> Result<Vec<Arc<Change>>, Failure> {
        let window = self
            .api
            .backend
            .changes_after(self.position, TURN_CHANGES_MAX);
        let expired = match window {
            Ok(changes) => {
                self.replay = None;
                return Ok(changes);
            }
            Err(expired) => expired,
        };
        if self.replay.is_none() {
            self.replay = Some(Replay::after(&self.api, expired).await?);
        }
        match &self.replay {
            Some(replay) => replay.next(&self.api).await,
            None => Ok(Vec::new()),
        }
    }

    /// Ends the watch with an error.
    fn fail(&mut self, failure: &Failure) {
        let status = failure.to_json().to_string();
        push(&mut self.ready, "ERROR", status.as_bytes());
        self.over = true;
    }

    /// Derives the event of this watch from a change: an object that comes to match is added, one that no
    /// longer does is deleted.
    fn derive(&mut self, change: &Change) {
        if !self.selection.covers(&change.commit.key) {
            return;
        }
        match change.seen_by(|object| self.selection.matches(object)) {
            Some(Seen::Added(object)) => self.event("ADDED", object),
            Some(Seen::Modified(object)) => self.event("MODIFIED", object),
            Some(Seen::Deleted(object)) => {
                let object = self.asked.form.object(object);
                self.event("DELETED", &object.shown_at(Some(change.commit.revision)));
            }
            None => {}
        }
    }

    fn event(&mut self, kind: &str, object: &Object) {
        let body = match self.asked.accept.view {
            View::Object => self.asked.form.body(object),
            View::Metadata => {
                let metadata = table::metadata_of(self.asked.accept.meta, &self.asked.form, object);
                metadata.to_string().into()
            }
            View::Table => {
                let headings = std::mem::take(&mut self.headings);
                let now = self.api.backend.now();
                let table = table::of(&self.asked, object, now, headings);
                table.to_string().into()
            }
        };
        push(&mut self.ready, kind, &body);
    }

    /// A bookmark: an empty object that carries only the position. None is sent if the client's position lies
    /// ahead, for that was never reached.
    fn bookmark(&mut self, mark: Mark) {
        if self.after > self.position {
            return;
        }
        let mut metadata = json!({"resourceVersion": self.position.to_string()});
        let ends_initial = mark == Mark::EndOfInitial;
        if let Some(metadata) = metadata.as_object_mut().filter(|_| ends_initial) {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            metadata.insert("annotations".into(), annotations);
        }
        let Routed { kind, version, .. } = &*self.asked;
        let object = match self.asked.accept.view {
            View::Object => {
                json!({"kind": kind.kind, "apiVersion": kind.api_version(&version.name),
                "metadata": metadata})
            }
            View::Metadata => json!({"kind": "PartialObjectMetadata",
                "apiVersion": self.asked.accept.meta, "metadata": metadata}),
            View::Table => {
                let headings = std::mem::take(&mut self.headings);
                table::of_bookmark(&self.asked, &metadata, headings)
            }
        };
        push(&mut self.ready, "BOOKMARK", object.to_string().as_bytes());
    }
}
