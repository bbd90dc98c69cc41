//! Watches: each has a position of its own and pulls changes; nobody keeps a queue for it.

mod replay;
#[cfg(test)]
mod tests;

pub(crate) use replay::REPLAYS_MAX;

use crate::body::ApiBody;
use crate::handler::{Api, Asked};
use crate::list::Selection;
use crate::respond::{self, Accept, View};
use crate::status::Failure;
use crate::verbs::in_version;
use crate::{table, wait};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use hindsight_core::rejection::FieldCause;
use hindsight_core::selector::Seen;
use hindsight_core::{Change, Object, Revision};
use http::Response;
use replay::Replay;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Changes that one turn of a watch looks at.
const TURN_CHANGES_MAX: usize = 512;
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
const DEFAULT_SECONDS: u64 = 1800;

/// Opens a stream of events.
pub(crate) async fn open(api: &Api, mut asked: Asked) -> Result<Response<ApiBody>, Failure> {
    if asked.past {
        let message = "the past does not change: it cannot be watched";
        return Err(Failure::new(405, "MethodNotAllowed", message));
    }
    if let Some(name) = asked.place.name.take() {
        return Err(Failure::bad_request(format!(
            "watch {name} with a field selector"
        )));
    }
    let selection = Selection::of(&asked)?;
    let initial = wants_initial(&asked)?;
    let revision = asked
        .params
        .revision()?
        .filter(|revision| *revision > Revision::ZERO);
    let ahead = revision.filter(|wanted| initial && *wanted > asked.state.revision);
    let mut late = None;
    if let Some(wanted) = ahead {
        match wait::not_older(&*api.backend, wanted).await {
            Ok(state) => asked.state = state,
            Err(failure) => late = Some(failure),
        }
    }
    let seconds = asked.params.integer("timeoutSeconds")?.unwrap_or(0);
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    let jitter = u64::from(api.backend.seed().first().copied().unwrap_or(0)) * 7;
    let lifetime = Duration::from_secs(seconds.unwrap_or(DEFAULT_SECONDS + jitter));
    let position = if initial {
        asked.state.revision
    } else {
        revision.unwrap_or(asked.state.revision)
    };
    let mut watch = Watch {
        api: api.clone(),
        position,
        selection,
        ends: Instant::now() + lifetime,
        next_bookmark: Instant::now() + BOOKMARK_EVERY,
        bookmarks: asked.params.flag("allowWatchBookmarks") == Some(true),
        headings: true,
        ready: VecDeque::new(),
        replay: None,
        over: false,
        asked,
    };
    match late {
        Some(failure) => watch.fail(&failure),
        None if initial => watch.initial(),
        None => {}
    }
    let chunks = stream::unfold(watch, |mut watch| async move {
        let chunk = watch.next().await?;
        Some((chunk, watch))
    });
    Ok(respond::stream(ApiBody::stream(chunks.boxed())))
}

/// A watch from nowhere begins with what is there, unless the client says otherwise.
fn wants_initial(asked: &Asked) -> Result<bool, Failure> {
    let matching = asked.params.text("resourceVersionMatch");
    let sends = asked.params.flag("sendInitialEvents");
    let field = "resourceVersionMatch";
    let causes = match (sends, matching) {
        (Some(_), "") => vec![FieldCause::forbidden(
            field,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        )],
        (None, matching) if !matching.is_empty() => vec![FieldCause::forbidden(
            field,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )],
        (Some(_), matching) if matching != "NotOlderThan" => {
            vec![FieldCause::not_supported(
                field,
                matching,
                &["NotOlderThan"],
            )]
        }
        _ => Vec::new(),
    };
    if !causes.is_empty() {
        return Err(Failure::invalid_options("ListOptions", causes));
    }
    let from_nowhere = matches!(asked.params.text("resourceVersion"), "" | "0");
    Ok(sends.unwrap_or(from_nowhere))
}

struct Watch {
    api: Api,
    asked: Asked,
    selection: Selection,
    position: Revision,
    ends: Instant,
    next_bookmark: Instant,
    bookmarks: bool,
    headings: bool,
    ready: VecDeque<Bytes>,
    replay: Option<Replay>,
    over: bool,
}

impl Watch {
    /// Everything that is there, in list order, and the mark that ends it.
    fn initial(&mut self) {
        let state = Arc::clone(&self.asked.state);
        let selection = self.selection.clone();
        for object in selection.objects(&state) {
            let event = self.event("ADDED", object);
            self.ready.push_back(event);
        }
        if self.bookmarks && self.asked.params.flag("sendInitialEvents") == Some(true) {
            let bookmark = self.bookmark(true);
            self.ready.push_back(bookmark);
        }
    }

    /// The next bytes; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        let mut changed = self.api.backend.changed();
        loop {
            if !self.ready.is_empty() {
                return Some(self.drain());
            }
            if self.over || Instant::now() >= self.ends {
                return None;
            }
            changed.borrow_and_update();
            self.turn().await;
            if !self.ready.is_empty() {
                continue;
            }
            let wake = if self.bookmarks {
                self.ends.min(self.next_bookmark)
            } else {
                self.ends
            };
            tokio::select! {
                moved = changed.changed() => self.over = moved.is_err(),
                () = tokio::time::sleep_until(wake) => self.mark_time(),
            }
        }
    }

    fn drain(&mut self) -> Bytes {
        let mut bytes = Vec::with_capacity(self.ready.iter().map(Bytes::len).sum());
        for chunk in self.ready.drain(..) {
            bytes.extend_from_slice(&chunk);
        }
        bytes.into()
    }

    fn mark_time(&mut self) {
        if self.bookmarks && Instant::now() >= self.next_bookmark {
            self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
            let bookmark = self.bookmark(false);
            self.ready.push_back(bookmark);
        }
    }

    /// Looks at the changes since the last turn, until one concerns this watch.
    async fn turn(&mut self) {
        while self.ready.is_empty() {
            match self.changes().await {
                Ok(changes) if changes.is_empty() => return,
                Ok(changes) => {
                    for change in &changes {
                        self.position = change.commit.revision;
                        if let Some(event) = self.derive(change) {
                            self.ready.push_back(event);
                        }
                    }
                }
                Err(failure) => self.fail(&failure),
            }
        }
    }

    /// What came next: from the window, or from the log where that is too short.
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
        let mut replay = match self.replay.take() {
            Some(replay) => replay,
            None => Replay::after(&self.api, expired).await?,
        };
        let changes = replay.next(&self.api, TURN_CHANGES_MAX).await?;
        self.replay = Some(replay);
        Ok(changes)
    }

    /// The last thing that this watch says.
    fn fail(&mut self, failure: &Failure) {
        let status = failure.to_json().to_string();
        self.ready.push_back(line("ERROR", &status.into()));
        self.over = true;
    }

    /// What a change is to this selection: entering it adds, leaving it deletes.
    fn derive(&mut self, change: &Change) -> Option<Bytes> {
        if !self.selection.covers(&change.commit.key) {
            return None;
        }
        let seen = change.seen_by(|object| self.selection.matches(object))?;
        Some(match seen {
            Seen::Added(object) => self.event("ADDED", object),
            Seen::Modified(object) => self.event("MODIFIED", object),
            Seen::Deleted(object) => {
                let last = with_revision(object, change.commit.revision);
                self.event("DELETED", &last)
            }
        })
    }

    fn event(&mut self, kind: &str, object: &Object) -> Bytes {
        let body = match self.asked.accept.view {
            View::Object => in_version(&self.asked, object),
            View::Metadata => table::metadata_only(&self.asked, object).to_string().into(),
            View::Table => {
                let headings = std::mem::take(&mut self.headings);
                let metadata = json!({"resourceVersion": object.revision.to_string()});
                let envelope = table::Envelope { metadata, headings };
                table::of(&self.asked, &[object], envelope)
                    .to_string()
                    .into()
            }
        };
        line(kind, &body)
    }

    /// An empty object that carries nothing but the position.
    fn bookmark(&self, ends_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.position.to_string(),
            "creationTimestamp": Value::Null});
        if let Some(metadata) = metadata.as_object_mut().filter(|_| ends_initial) {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            metadata.insert("annotations".into(), annotations);
        }
        let Accept { view, .. } = self.asked.accept;
        let (kind, version) = match view {
            View::Object => (
                &*self.asked.kind.kind,
                self.asked.kind.api_version(&self.asked.version.name),
            ),
            View::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned()),
            View::Table => ("Table", "meta.k8s.io/v1".to_owned()),
        };
        let mut object = json!({"kind": kind, "apiVersion": version, "metadata": metadata});
        if let Some(members) = object.as_object_mut().filter(|_| view == View::Table) {
            members.insert("columnDefinitions".into(), json!([]));
            members.insert("rows".into(), json!([]));
        }
        line("BOOKMARK", &object.to_string().into())
    }
}

fn line(kind: &str, object: &Bytes) -> Bytes {
    let mut bytes = Vec::with_capacity(object.len() + kind.len() + 24);
    bytes.extend_from_slice(b"{\"type\":\"");
    bytes.extend_from_slice(kind.as_bytes());
    bytes.extend_from_slice(b"\",\"object\":");
    bytes.extend_from_slice(object);
    bytes.extend_from_slice(b"}\n");
    bytes.into()
}

/// The object as it was, under the revision of its removal.
fn with_revision(object: &Object, revision: Revision) -> Object {
    let mut document = object.document();
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), revision.to_string().into());
    }
    let body = serde_json::to_vec(&document).unwrap_or_default().into();
    Object {
        body,
        revision,
        ..object.clone()
    }
}
