//! Documents about the kinds that there are, for discovery and OpenAPI. They are built one at a time and beside the
//! threads that answer requests, and those that were built last are kept: with many custom kinds a document takes
//! seconds, and many clients ask for the same one.

use crate::body::Syntax;
use crate::offload::LONG_BYTES;
use crate::status::Failure;
use crate::unpoisoned::unpoisoned;
use crate::{discovery, openapi};
use bytes::Bytes;
use hindsight_core::Revision;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of documents that are kept, unless the newest alone has more. Those of the built-in kinds fit in.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The most bytes of long documents that there are: that are kept, or are still sent though others are kept by now.
const BYTES_MAX: usize = 2 * KEPT_BYTES_MAX;

/// One of the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Document {
    Discovery(discovery::Document, Syntax),
    OpenApi(openapi::Document),
}

/// What was built last.
#[derive(Debug)]
pub(crate) struct Documents {
    /// Its one permit goes to who builds, so that any number of requests takes the time and the memory of one.
    building: Arc<Semaphore>,
    kept: Arc<Mutex<Kept>>,
    /// Its permits are the bytes that other long documents may have.
    room: Arc<Semaphore>,
    restored: Revision,
}

impl Documents {
    /// Documents of a log to which a backup was last restored at this revision.
    pub(crate) fn of(restored: Revision) -> Self {
        Self {
            building: Arc::new(Semaphore::new(1)),
            kept: Arc::default(),
            room: Arc::new(Semaphore::new(BYTES_MAX)),
            restored,
        }
    }

    /// Which life of the log they are of. In another one the same generation of a definition may be another document.
    pub(crate) const fn restored(&self) -> Revision {
        self.restored
    }

    /// A document with this tag: as it was built before, or built now. A client that leaves meanwhile takes
    /// nothing away from the others. 429 if those that others still read leave no room for it.
    pub(crate) async fn get(
        &self,
        document: Document,
        tag: &str,
        build: impl FnOnce() -> Result<Vec<u8>, Failure> + Send + 'static,
    ) -> Result<Bytes, Failure> {
        if let Some(bytes) = unpoisoned(self.kept.lock()).get(&document, tag) {
            return Ok(bytes);
        }
        let permit = Arc::clone(&self.building).acquire_owned().await;
        if let Some(bytes) = unpoisoned(self.kept.lock()).get(&document, tag) {
            return Ok(bytes);
        }
        let (kept, room) = (Arc::clone(&self.kept), Arc::clone(&self.room));
        let tag = tag.to_owned();
        let work = move || {
            let text = build()?;
            let kept = unpoisoned(kept.lock()).keep(document, tag, text, &room);
            drop(permit);
            kept.ok_or_else(Failure::no_room)
        };
        let Ok(runtime) = Handle::try_current() else {
            return work();
        };
        let built = runtime.spawn_blocking(work).await;
        built.map_err(|failed| Failure::internal(format!("no document: {failed}")))?
    }
}

/// A finished document.
#[derive(Debug)]
struct Built {
    document: Document,
    tag: String,
    bytes: Bytes,
}

/// The text of a document, and its room, for as long as it is kept or sent.
struct Held {
    text: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// Finished documents, the newest last.
#[derive(Debug, Default)]
struct Kept(VecDeque<Built>);

impl Kept {
    fn get(&self, document: &Document, tag: &str) -> Option<Bytes> {
        let mut all = self.0.iter();
        let found = all.find(|one| one.document == *document && one.tag == tag);
        found.map(|one| one.bytes.clone())
    }

    /// Keeps a document instead of what it was before, and lets go of the oldest while all are too long. `None` if
    /// there is no room for it.
    fn keep(
        &mut self,
        document: Document,
        tag: String,
        text: Vec<u8>,
        room: &Arc<Semaphore>,
    ) -> Option<Bytes> {
        self.0.retain(|one| one.document != document);
        let room = self.room_for(text.len(), room)?;
        let bytes = Bytes::from_owner(Held { text, _room: room });
        self.0.push_back(Built {
            document,
            tag,
            bytes: bytes.clone(),
        });
        let mut all: usize = self.0.iter().map(|one| one.bytes.len()).sum();
        while all > KEPT_BYTES_MAX && self.0.len() > 1 {
            let oldest = self.0.pop_front();
            all -= oldest.map_or(0, |one| one.bytes.len());
        }
        Some(bytes)
    }

    /// Room for so many bytes; a few take none. The oldest that are kept make room, unless they are being sent.
    fn room_for(&mut self, bytes: usize, room: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        let wanted = if bytes <= LONG_BYTES {
            0
        } else {
            u32::try_from(bytes.min(BYTES_MAX)).ok()?
        };
        loop {
            if let Ok(taken) = Arc::clone(room).try_acquire_many_owned(wanted) {
                return Some(taken);
            }
            self.0.pop_front()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn document(version: &str) -> Document {
        Document::OpenApi(openapi::Document::Of {
            group: String::new(),
            version: version.to_owned(),
        })
    }

    /// Counts how often it builds.
    struct Counted {
        documents: Documents,
        builds: Arc<AtomicUsize>,
    }

    impl Counted {
        fn new() -> Self {
            Self {
                documents: Documents::of(Revision::ZERO),
                builds: Arc::default(),
            }
        }

        async fn get(&self, tag: &str) -> Bytes {
            let (builds, text) = (Arc::clone(&self.builds), tag.as_bytes().to_vec());
            let build = move || {
                builds.fetch_add(1, Ordering::SeqCst);
                Ok(text)
            };
            let built = self.documents.get(document("v1"), tag, build).await;
            built.expect("a document")
        }

        fn builds(&self) -> usize {
            self.builds.load(Ordering::SeqCst)
        }
    }

    #[tokio::test]
    async fn what_many_ask_for_is_built_once() {
        let counted = Counted::new();
        let all = join_all((0..8).map(|_| counted.get("a"))).await;
        assert!(all.iter().all(|bytes| bytes == "a"));
        assert_eq!(counted.builds(), 1);
        assert_eq!(counted.get("b").await, "b", "a tag stands for its document");
        assert_eq!((counted.get("b").await, counted.builds()), ("b".into(), 2));
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_costs_the_next_one_nothing() {
        let counted = Counted::new();
        drop(counted.get("a").now_or_never());
        assert_eq!(counted.get("a").await, "a");
        assert_eq!(counted.builds(), 1);
    }

    #[test]
    fn without_a_runtime_a_document_is_built_at_once() {
        let counted = Counted::new();
        let built = counted.get("a").now_or_never();
        assert_eq!(built.expect("it waits for nobody"), "a");
    }

    /// Each time that a definition changes another client may begin to read what was built then.
    #[tokio::test]
    async fn documents_that_others_still_read_leave_no_room_for_so_many_more() {
        const BYTES: usize = 16 << 20;
        let documents = Documents::of(Revision::ZERO);
        let get = async |tag: &str| {
            let build = || Ok(vec![b'a'; BYTES]);
            documents.get(document("v1"), tag, build).await
        };
        let mut read = Vec::new();
        for number in 0..BYTES_MAX / BYTES {
            let tag = number.to_string();
            read.push(get(&tag).await.expect("room"));
            read.push(get(&tag).await.expect("the same"));
        }
        assert_eq!(get("last").await.expect_err("no room").code, 429);
        let short = documents.get(document("v2"), "t", || Ok(vec![b'a']));
        assert_eq!(short.await.expect("a short one"), "a");
        read.pop();
        assert_eq!(get("last").await.expect_err("it is read twice").code, 429);
        read.pop();
        drop(get("last").await.expect("room"));
        drop(get("another").await.expect("what nobody reads takes none"));
    }

    #[test]
    fn so_many_bytes_are_kept_and_the_newest_always() {
        let mut kept = Kept::default();
        for (version, mebibytes, left) in
            [("v1", 40, 1), ("v2", 20, 2), ("v3", 10, 2), ("v4", 70, 1)]
        {
            let text = vec![0; mebibytes << 20];
            let room = Arc::new(Semaphore::new(BYTES_MAX));
            kept.keep(document(version), "t".into(), text, &room)
                .expect("room");
            assert_eq!(kept.0.len(), left, "{version}");
            assert!(kept.get(&document(version), "t").is_some(), "{version}");
            assert!(kept.get(&document(version), "u").is_none(), "{version}");
        }
    }
}
