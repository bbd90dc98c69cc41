//! A watch as an informer keeps it over HTTP: it lists, follows, loses its connection, resumes from
//! the last revision that it received, and lists again if that has expired. A connection that fails is
//! an error: whether it may is for the test to say. What came whole before that is kept.

use super::MAPS_IN_ALL_NAMESPACES;
use super::expiries::{Notes, is_dropped};
use hindsight_core::{GroupResource, Object, ObjectKey, Revision, Uid};
use hindsight_tests::dice::Dice;
use hindsight_tests::sim::history::History;
use hindsight_tests::sim::watchers::{Event, Held, Kind, Received, Selection, Watcher};
use hindsight_tests::wire::{Caller, Wire, request};
use serde_json::Value;
use std::io::Result;
use std::ops::AddAssign;

/// How long nothing may come although something must: it bounds a failing run.
const SILENT_SECONDS_MAX: u64 = 180;
/// `timeoutSeconds` of the streams; some end by themselves in the middle, of those some after a bookmark.
const STREAM_SECONDS: [u64; 3] = [1, 3, 30];
/// `timeoutSeconds` of a stream on which it stays until the bookmark that comes two seconds before the end.
const STAY_SECONDS: u64 = 4;
const STAYS_MAX: usize = 10;
const PAGE: usize = 10;
/// A connection is broken after fewer events than this.
const EVENTS_MAX: u64 = 80;

/// Counts of what happened to an informer.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub(super) lists: u64,
    pub(super) expired: u64,
    pub(super) resumed: u64,
    /// Events of revisions that precede the start of the server.
    pub(super) from_the_log: u64,
    /// Bookmarks that came after an event of their stream.
    pub(super) bookmarks: u64,
    /// Streams that failed after an event had come on them.
    pub(super) failed: u64,
}

#[derive(Debug)]
pub(super) struct Informer {
    pub(super) watcher: Watcher,
    pub(super) counts: Counts,
    pub(super) notes: Notes,
    /// The objects that the events showed.
    shown: Vec<(Kind, Revision, Value)>,
    dice: Dice,
    stream: Option<Wire>,
    /// Whether an event came on the stream.
    has_event: bool,
    /// How many seconds the stream lasts.
    seconds: u64,
    /// How many seconds nothing came, over all streams since the last event.
    silent: u64,
    /// Where the log ended when the server started.
    pub(super) start: Revision,
}

/// What one line of a stream was.
enum Line {
    Event,
    Bookmark(Value),
    /// With the message.
    Expired(String),
    End,
}

fn key(object: &Value) -> ObjectKey {
    let of = |name: &str| object["metadata"][name].as_str().expect("a text");
    let maps = GroupResource::new("", "configmaps");
    ObjectKey::new(maps, of("namespace"), of("name"))
}

fn revision(object: &Value) -> Revision {
    let text = object["metadata"]["resourceVersion"].as_str();
    let revision = text.and_then(Revision::parse);
    revision.unwrap_or_else(|| panic!("no revision in {object}"))
}

fn uid(object: &Value) -> Uid {
    object["metadata"]["uid"].as_str().expect("a uid").into()
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.lists += other.lists;
        self.expired += other.expired;
        self.resumed += other.resumed;
        self.from_the_log += other.from_the_log;
        self.bookmarks += other.bookmarks;
        self.failed += other.failed;
    }
}

impl Informer {
    pub(super) fn new(selection: Selection, seed: u64) -> Self {
        let mut watcher = Watcher::new(selection);
        watcher.knows_unselected = false;
        Self {
            watcher,
            counts: Counts::default(),
            notes: Notes::default(),
            shown: Vec::new(),
            dice: Dice(seed),
            stream: None,
            has_event: false,
            seconds: 0,
            silent: 0,
            start: Revision::ZERO,
        }
    }

    /// Reads on until it has seen this object, over as many connections as that takes.
    pub(super) fn follow(&mut self, caller: &Caller, last: &ObjectKey) -> Result<()> {
        while !self.watcher.cache.contains_key(last) {
            let before = self.watcher.received.len();
            self.open(caller)?;
            let most = 1 + self.dice.roll(EVENTS_MAX);
            for _ in 0..most {
                if self.watcher.cache.contains_key(last) || !self.read()? {
                    break;
                }
            }
            self.leave();
            self.bear(before);
        }
        Ok(())
    }

    /// Tolerates a stream on which at most a bookmark came, but not for ever.
    fn bear(&mut self, before: usize) {
        let is_silent = self.watcher.received.len() <= before + 1;
        self.silent = if is_silent {
            self.silent + self.seconds
        } else {
            0
        };
        let (silent, position) = (self.silent, self.watcher.position);
        assert!(
            silent < SILENT_SECONDS_MAX,
            "nothing comes after {position:?}"
        );
    }

    /// Reads this many events or bookmarks, and leaves.
    pub(super) fn follow_some(&mut self, caller: &Caller, count: usize) -> Result<()> {
        let mut left = 0..count;
        while !left.is_empty() {
            let before = self.watcher.received.len();
            self.open(caller)?;
            while !left.is_empty() && self.read()? {
                left.next();
            }
            self.leave();
            self.bear(before);
        }
        Ok(())
    }

    /// Opens a stream, and reads until a bookmark has followed an event. Where the machine is slow, the bookmark before
    /// the end may come first.
    pub(super) fn stay(&mut self, caller: &Caller) -> Result<()> {
        let before = self.counts.bookmarks;
        for _ in 0..STAYS_MAX {
            self.open_for(caller, STAY_SECONDS)?;
            while self.counts.bookmarks == before && self.read()? {}
            if self.counts.bookmarks > before {
                break;
            }
        }
        assert!(self.counts.bookmarks > before, "none came after an event");
        self.leave();
        Ok(())
    }

    /// Opens a stream unless one is open: from its position, or after a list.
    pub(super) fn open(&mut self, caller: &Caller) -> Result<()> {
        if self.stream.is_some() {
            return Ok(());
        }
        let seconds = self.dice.pick(&STREAM_SECONDS);
        self.open_for(caller, seconds)
    }

    fn open_for(&mut self, caller: &Caller, seconds: u64) -> Result<()> {
        let mut wire = caller.connect()?;
        self.notes.ask(&mut wire)?;
        let how = match self.watcher.position {
            None if self.dice.roll(2) == 0 => {
                "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&".into()
            }
            None => format!("resourceVersion={}&", self.list(&mut wire)?),
            Some(at) => {
                self.counts.resumed += 1;
                self.watcher.disconnect();
                format!("resourceVersion={at}&")
            }
        };
        self.seconds = seconds;
        let path = self.path(&format!(
            "watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&{how}"
        ));
        self.notes.open(self.watcher.position, self.start);
        wire.send(request("GET", &path, "").as_bytes())?;
        assert_eq!(wire.head()?.0, 200, "{path}");
        self.stream = Some(wire);
        self.has_event = false;
        if how.starts_with("send") {
            self.begin()?;
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.stream = None;
        self.notes.close();
    }

    /// Reads the next line; false if the stream is over.
    pub(super) fn read(&mut self) -> Result<bool> {
        let line = self
            .line()
            .inspect_err(|_| self.counts.failed += u64::from(self.has_event))?;
        let is_open = match line {
            Line::Event => {
                self.has_event = true;
                true
            }
            Line::Bookmark(mark) => {
                self.counts.bookmarks += u64::from(self.has_event);
                let at = revision(&mark);
                self.watcher.received.push(Received::Bookmark(at));
                self.watcher.position = Some(at);
                true
            }
            Line::Expired(message) => {
                self.counts.expired += 1;
                let position = self.watcher.position.take();
                self.notes.expire(position.expect("a position"), &message);
                false
            }
            Line::End => false,
        };
        if !is_open {
            self.leave();
        }
        Ok(is_open)
    }

    fn path(&self, rest: &str) -> String {
        let place = match self.watcher.selection.namespace {
            Some(namespace) => format!("/api/v1/namespaces/{namespace}/configmaps"),
            None => MAPS_IN_ALL_NAMESPACES.to_owned(),
        };
        let labels = if self.watcher.selection.shown {
            "labelSelector=shown%3Dyes"
        } else {
            ""
        };
        format!("{place}?{rest}{labels}")
    }

    /// Lists in pages, all of which are of one revision.
    fn list(&mut self, wire: &mut Wire) -> Result<Revision> {
        let (mut items, mut rest) = (Vec::new(), String::new());
        // Of the first page: that of the newest state, whose revision later pages must still find.
        let mut begun = None;
        self.notes.open(None, self.start);
        loop {
            let path = self.path(&format!("limit={PAGE}&continue={rest}&"));
            let reply = wire.ask("GET", &path, "")?;
            if reply.code != 200 {
                // Too many requests for past states at once, or the revision of the first page has
                // expired.
                assert!([410, 429].contains(&reply.code), "{}", reply.body);
                if reply.code == 410 {
                    let at = begun.expect("the newest state has not expired");
                    assert!(is_dropped(wire, at)?, "page of {at}: {}", reply.body);
                }
                (items, rest, begun) = (Vec::new(), String::new(), None);
                continue;
            }
            let mut list: Value = serde_json::from_str(&reply.body).expect("JSON");
            begun = Some(revision(&list));
            items.append(list["items"].as_array_mut().expect("items"));
            let token = list["metadata"]["continue"].as_str();
            token.unwrap_or_default().clone_into(&mut rest);
            if rest.is_empty() {
                let at = revision(&list);
                self.notes.close();
                self.listed(at, &items);
                return Ok(at);
            }
        }
    }

    /// Reads the initial events of a stream, up to the bookmark that ends them.
    fn begin(&mut self) -> Result<()> {
        let (events, shown) = (self.watcher.received.len(), self.shown.len());
        let mark = loop {
            match self.line() {
                Ok(Line::Event) => {}
                Ok(Line::Bookmark(mark)) => break mark,
                // No list was begun.
                Ok(Line::Expired(_) | Line::End) => panic!("no beginning"),
                // A part of a list is none; the next one takes the place of what it left in the cache.
                Err(error) => {
                    self.watcher.received.truncate(events);
                    self.shown.truncate(shown);
                    self.watcher.position = None;
                    return Err(error);
                }
            }
        };
        let annotation = &mark["metadata"]["annotations"]["k8s.io/initial-events-end"];
        assert_eq!(annotation, "true", "{mark}");
        let items: Vec<Value> = self.shown.drain(shown..).map(|(.., one)| one).collect();
        let mut begun = self.watcher.received.drain(events..);
        let is_added = |one| {
            matches!(
                one,
                Received::Event(Event {
                    kind: Kind::Added,
                    ..
                })
            )
        };
        assert!(
            begun.all(is_added),
            "nothing else is there at the beginning"
        );
        drop(begun);
        let at = revision(&mark);
        self.listed(at, &items);
        self.watcher.received.push(Received::Bookmark(at));
        Ok(())
    }

    fn listed(&mut self, at: Revision, items: &[Value]) {
        self.counts.lists += 1;
        let shown = items.iter().map(|one| {
            let mut object = one.clone();
            // Items of a list leave these out.
            object["apiVersion"] = "v1".into();
            object["kind"] = "ConfigMap".into();
            (Kind::Added, revision(one), object)
        });
        self.shown.extend(shown);
        let cache = items
            .iter()
            .map(|one| (key(one), (uid(one), revision(one))));
        let cache: Held = cache.collect();
        assert_eq!(cache.len(), items.len(), "an object comes twice");
        let watcher = &mut self.watcher;
        watcher.received.push(Received::List(at, cache.clone()));
        (watcher.cache, watcher.position) = (cache, Some(at));
    }

    fn line(&mut self) -> Result<Line> {
        let stream = self.stream.as_mut().expect("a stream");
        let Some(line) = stream.event()? else {
            return Ok(Line::End);
        };
        let mut line: Value = serde_json::from_str(&line).expect("JSON");
        if line["type"] != "ERROR" {
            self.notes.read();
        }
        let object = line["object"].take();
        let kind = match line["type"].as_str() {
            Some("ADDED") => Kind::Added,
            Some("MODIFIED") => Kind::Modified,
            Some("DELETED") => Kind::Deleted,
            Some("BOOKMARK") => return Ok(Line::Bookmark(object)),
            _ => {
                assert_eq!(object["code"], 410, "{line} {object}");
                let message = object["message"].as_str().expect("a message");
                return Ok(Line::Expired(message.to_owned()));
            }
        };
        self.take(kind, object);
        Ok(Line::Event)
    }

    /// Takes an event; its previous version is the one that the informer knows.
    fn take(&mut self, kind: Kind, object: Value) {
        let (key, uid, revision) = (key(&object), uid(&object), revision(&object));
        let cache = &mut self.watcher.cache;
        let previous = match kind {
            Kind::Deleted => cache.remove(&key),
            Kind::Added | Kind::Modified => cache.insert(key.clone(), (uid.clone(), revision)),
        };
        let previous = previous.map(|(_, revision)| revision);
        self.watcher.received.push(Received::Event(Event {
            kind,
            revision,
            key,
            uid,
            previous,
        }));
        self.watcher.position = Some(revision);
        self.counts.from_the_log += u64::from(revision <= self.start);
        self.shown.push((kind, revision, object));
    }

    /// Checks that each item of a list, and each event, shows the version that was written at its revision, and a
    /// `DELETED` event the version before, with the revision of the removal.
    pub(super) fn shows_what_was_written(&self, history: &History) {
        for (kind, at, shown) in &self.shown {
            let commit = history.commit(*at).expect("it is checked already");
            let mut expected = match kind {
                Kind::Added | Kind::Modified => commit.object().map(|one| one.document()),
                Kind::Deleted => history
                    .state(at.previous())
                    .and_then(|state| state.get(&commit.key))
                    .map(|one: &std::sync::Arc<Object>| one.document()),
            };
            if let Some(expected) = &mut expected {
                expected["metadata"]["resourceVersion"] = at.to_string().into();
            }
            assert_eq!(Some(shown), expected.as_ref(), "{kind:?} at {at}");
        }
    }
}
