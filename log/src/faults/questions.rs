//! Questions about a log that is thinned meanwhile, at whichever of their reads.

use super::disk::Disk;
use super::script::{self, empty};
use crate::{Error, MemoryStorage, Reader, Records, Stored, Tail, Writer, thin};
use hindsight_core::{Change, Pruned, Revision, State, Time};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const OBJECTS: usize = 4;
const ROUNDS: usize = 3;

type Frames = Vec<(Revision, Arc<[u8]>)>;

/// A log of one commit in each frame: objects that are changed now and then, and one of them deleted.
fn logged() -> Frames {
    let disk = Arc::new(Disk::default());
    let writer = script::open(&disk);
    let mut commands = script::Commands::default();
    let mut write = |intent| {
        let command = commands.command(intent);
        script::submit(&writer, &disk, vec![command]).expect("written");
    };
    let namespace = json!({"metadata": {"name": "default"}});
    write(script::create("namespaces", "", namespace));
    for round in 0..ROUNDS {
        for object in 0..OBJECTS {
            let name = format!("a{object}");
            let map = json!({"metadata": {"name": name}});
            write(match round {
                0 => script::create("configmaps", "default", map),
                _ => script::patch(&name, json!({"data": {"k": round.to_string()}})),
            });
        }
    }
    write(script::delete("a0"));
    write(script::patch("a1", json!({"data": {"k": "last"}})));
    drop::<Writer>(writer);
    disk.frames()
}

fn reader(frames: &Frames) -> Reader {
    Reader::new(Arc::new(Disk::holding(frames.clone(), None)))
}

fn thinned(frames: &Frames, floor: Revision) -> Frames {
    let disk = Arc::new(Disk::holding(frames.clone(), None));
    thin_to(&disk, floor);
    disk.frames()
}

fn thin_to(disk: &Arc<Disk>, floor: Revision) {
    let reader = Reader::new(Arc::clone(disk) as Arc<dyn Records>);
    thin(&**disk, &reader, floor, empty(), &[]).expect("thinned");
}

/// A log that is thinned at one of its reads.
#[derive(Debug)]
struct Overtaken {
    disk: Arc<Disk>,
    floor: Revision,
    /// Reads up to that one, with it.
    left: AtomicUsize,
}

impl Overtaken {
    fn new(frames: &Frames, floor: Revision, at: usize) -> Arc<Self> {
        Arc::new(Self {
            disk: Arc::new(Disk::holding(frames.clone(), None)),
            floor,
            left: AtomicUsize::new(at),
        })
    }

    fn read(&self) {
        let one_less = |left: usize| left.checked_sub(1);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        if self.left.fetch_update(set, fetch, one_less) == Ok(1) {
            thin_to(&self.disk, self.floor);
        }
    }

    fn is_thinned(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }
}

impl Records for Overtaken {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.read();
        self.disk.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.read();
        self.disk.at_or_before(until)
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.disk.witnessed()
    }
}

/// Asks of a log that is thinned up to one floor while it is thinned up to another, once for each read that the
/// question makes.
fn at_every_read(ask: impl Fn(&Reader, Revision)) {
    let frames = logged();
    let newest = reader(&frames).newest().expect("read");
    let [early, middle] = [3, 2].map(|part| Revision(newest.0 / part));
    for (before, floor) in [
        (None, middle),
        (None, newest),
        (Some(early), middle),
        (Some(early), newest),
    ] {
        let frames = before.map_or_else(|| frames.clone(), |before| thinned(&frames, before));
        let mut reads = 1;
        loop {
            let overtaken = Overtaken::new(&frames, floor, reads);
            ask(
                &Reader::new(Arc::clone(&overtaken) as Arc<dyn Records>),
                floor,
            );
            if !overtaken.is_thinned() {
                break;
            }
            reads += 1;
        }
        assert!(reads > 5, "{floor}");
    }
}

#[test]
fn a_state_that_is_kept_is_told_whenever_the_log_is_thinned() {
    let whole = reader(&logged());
    let newest = whole.newest().expect("read");
    let at = |revision: Revision| whole.state_at(empty(), revision).expect("whole").hash();
    let is_told = |told: Result<State, Error>, revision: Revision| {
        assert_eq!(told.expect("it is kept").hash(), at(revision));
    };
    for revision in [0, 1, 4, u64::MAX] {
        at_every_read(|reader, floor| {
            let revision = Revision(floor.0.saturating_add(revision)).min(newest);
            is_told(reader.state_at(empty(), revision), revision);
        });
    }
    at_every_read(|reader, _| is_told(reader.newest_state(empty()), newest));
    at_every_read(|reader, _| {
        let late = Time(i64::MAX);
        is_told(reader.state_at_time(empty(), late), newest);
    });
    at_every_read(|reader, floor| {
        let asked = floor.previous();
        match reader.state_at(empty(), asked) {
            Err(Error::Pruned(pruned)) => assert_eq!(pruned, Pruned { asked, floor }),
            told => is_told(told, asked),
        }
    });
}

#[test]
fn changes_that_are_kept_are_read_back_whenever_the_log_is_thinned() {
    let revisions = |change: &Arc<Change>| {
        let previous = change.previous.as_ref().map(|object| object.revision);
        (change.commit.revision, previous)
    };
    let read_back = |reader: &Reader, until: Revision| {
        let mut found = Vec::new();
        let take = |changes: Vec<Arc<Change>>| found.extend(changes.iter().map(revisions));
        let begun = reader.changes(empty(), Revision(1), until, take);
        assert_eq!(begun.expect("read"), Revision::ZERO);
        found
    };
    let whole = reader(&logged());
    let newest = whole.newest().expect("read");
    let happened = read_back(&whole, newest);
    at_every_read(|reader, floor| {
        let found = read_back(reader, newest);
        assert!(found.is_sorted_by(|one, next| one.0 < next.0), "{found:?}");
        assert!(found.iter().all(|one| happened.contains(one)), "{found:?}");
        let kept = happened.iter().filter(|one| one.0 > floor);
        assert!(kept.into_iter().all(|one| found.contains(one)), "{found:?}");
    });
}

/// What is thinned into a frame that was passed is not there any more, and nothing may follow it.
#[test]
fn a_log_that_is_thinned_does_not_seem_to_end_earlier() {
    let newest = reader(&logged()).newest().expect("read");
    at_every_read(|reader, floor| {
        let last = reader.entries(Revision(1)).last().expect("some");
        match last {
            Ok(last) => assert_eq!(last.revision(), newest),
            Err(Error::Pruned(pruned)) => assert_eq!(pruned.floor, floor),
            Err(other) => panic!("{other}"),
        }
    });
}

/// A fork that ends earlier would be another world than the one that was asked for.
#[test]
fn a_beginning_that_is_copied_is_whole_or_overtaken_whenever_the_log_is_thinned() {
    let whole = reader(&logged());
    let newest = whole.newest().expect("read");
    let overtaken = AtomicUsize::new(0);
    for after in [0, 1, 2, u64::MAX] {
        at_every_read(|reader, floor| {
            let before = floor.previous();
            let until = Revision(before.0.saturating_add(after)).min(newest);
            let copy = || {
                let to = Arc::new(MemoryStorage::default());
                reader.copy_until(until, &*to).map(|()| Reader::new(to))
            };
            let copied = match copy() {
                Err(Error::Overtaken { floor: told }) => {
                    assert_eq!(told, floor);
                    overtaken.fetch_add(1, Ordering::SeqCst);
                    copy()
                }
                at_once => at_once,
            };
            if let Err(Error::Pruned(pruned)) = copied {
                let asked = until;
                assert_eq!((pruned, asked), (Pruned { asked, floor }, before));
                return;
            }
            let copied = copied.expect("it is kept");
            assert_eq!(copied.newest().expect("read"), until);
            let state = |of: &Reader| of.state_at(empty(), until).expect("kept");
            assert_eq!(state(&copied).hash(), state(&whole).hash(), "{until}");
        });
    }
    assert!(overtaken.into_inner() > 0);
}
