//! A list: whole where it is small, and otherwise piece by piece, so that a large one neither waits for
//! its end nor takes its size in memory, and others are answered between two pieces. Objects of one that
//! nobody takes are given up: they may be there for its sake alone.

use super::items::Items;
use crate::backend::Permit;
use crate::body::{ApiBody, Unfinished, frame};
use crate::lease::Lease;
use crate::respond;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use hindsight_core::Object;
use http::Response;
use std::sync::Arc;

/// A larger list is streamed.
const WHOLE_BYTES_MAX: usize = 256 << 10;
/// A piece is complete with the object that reaches this.
const PIECE_BYTES: usize = 64 << 10;
/// Or with so much of what is stored, of which only a part may be shown.
const READ_BYTES: usize = 256 << 10;

/// The pieces that are still to come.
pub(super) struct Pieces {
    items: Items,
    rest: Lease<Rest>,
    size: usize,
    started: Vec<u8>,
    /// Of a piece, what was not sent yet.
    ready: Bytes,
    separates: bool,
    end: Option<End>,
}

/// After it nothing is made any more.
enum End {
    Whole,
    /// The objects were given up, for nobody took them.
    Unfinished,
}

struct Rest {
    objects: std::vec::IntoIter<Arc<Object>>,
    _permit: Option<Permit>,
}

impl Pieces {
    pub(super) fn new(items: Items, objects: Vec<Arc<Object>>, permit: Option<Permit>) -> Self {
        let size = objects.iter().map(|object| object.body.len() + 1).sum();
        let started = items.head(objects.is_empty());
        let rest = Rest {
            objects: objects.into_iter(),
            _permit: permit,
        };
        Self {
            items,
            rest: if size > WHOLE_BYTES_MAX {
                Lease::new(rest)
            } else {
                Lease::lasting(rest)
            },
            size,
            started,
            ready: Bytes::new(),
            separates: false,
            end: None,
        }
    }

    pub(super) fn answer(mut self) -> Response<ApiBody> {
        let syntax = self.items.syntax();
        if self.size <= WHOLE_BYTES_MAX {
            let whole = self.fill(usize::MAX, usize::MAX);
            return respond::written(ApiBody::full(whole), syntax);
        }
        let pieces = stream::unfold(self, |mut pieces| async move {
            tokio::task::yield_now().await;
            let piece = pieces.next()?;
            Some((piece, pieces))
        });
        respond::written(ApiBody::pieces(pieces.boxed()), syntax)
    }

    /// Items until there are so many bytes, or so many were read, or all.
    fn fill(&mut self, limit: usize, read_limit: usize) -> Bytes {
        let mut piece = std::mem::take(&mut self.started);
        let mut read = 0;
        while piece.len() < limit && read < read_limit {
            let next = self.rest.with(|rest| rest.objects.next());
            let object = match next {
                Some(Some(object)) => object,
                Some(None) => {
                    piece.extend_from_slice(self.items.tail());
                    self.end = Some(End::Whole);
                    break;
                }
                None => {
                    self.end = Some(End::Unfinished);
                    break;
                }
            };
            if std::mem::replace(&mut self.separates, true) {
                piece.extend_from_slice(self.items.between());
            }
            read += object.body.len();
            self.rest.taken(object.body.len());
            self.items.write(&object, &mut piece);
        }
        piece.into()
    }
}

impl Iterator for Pieces {
    type Item = Result<Bytes, Unfinished>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() && self.end.is_none() {
            self.started.reserve(PIECE_BYTES + PIECE_BYTES / 8);
            self.ready = self.fill(PIECE_BYTES, READ_BYTES);
        }
        if !self.ready.is_empty() {
            self.rest.used();
            return Some(Ok(frame(&mut self.ready)));
        }
        match self.end.replace(End::Whole) {
            Some(End::Unfinished) => Some(Err(Unfinished)),
            Some(End::Whole) | None => None,
        }
    }
}

#[cfg(test)]
mod tests;
