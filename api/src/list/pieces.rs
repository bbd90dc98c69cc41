//! A list of objects as JSON: whole where it is small, and otherwise piece by piece, so that a large
//! one neither waits for its end nor takes its size in memory.

use crate::backend::Place;
use crate::body::{ApiBody, Syntax};
use crate::handler::Asked;
use crate::respond;
use crate::verbs::Form;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use hindsight_core::Object;
use http::Response;
use std::sync::Arc;

/// A larger list is streamed.
const WHOLE_BYTES_MAX: usize = 256 << 10;
/// A piece is complete with the object that reaches this.
const PIECE_BYTES: usize = 64 << 10;

/// The pieces that are still to come.
pub(super) struct Pieces {
    form: Form,
    items: std::vec::IntoIter<Arc<Object>>,
    started: Vec<u8>,
    separates: bool,
    over: bool,
    _held: Option<Place>,
}

impl Pieces {
    /// `head` is everything before the first item.
    pub(super) fn new(
        asked: &Asked,
        head: String,
        items: Vec<Arc<Object>>,
        held: Option<Place>,
    ) -> Self {
        Self {
            form: Form::of(asked),
            items: items.into_iter(),
            started: head.into_bytes(),
            separates: false,
            over: false,
            _held: held,
        }
    }

    pub(super) fn answer(mut self, syntax: Syntax) -> Response<ApiBody> {
        let sizes = self.items.as_slice().iter();
        let size: usize = sizes.map(|object| object.body.len() + 1).sum();
        if syntax == Syntax::Json && size > WHOLE_BYTES_MAX {
            return respond::stream(ApiBody::stream(stream::iter(self).boxed()));
        }
        self.started.reserve(size + 2);
        let whole = self.fill(usize::MAX);
        respond::json_bytes(200, whole, syntax)
    }

    /// Items until there are so many bytes, or all.
    fn fill(&mut self, limit: usize) -> Bytes {
        let mut piece = std::mem::take(&mut self.started);
        while piece.len() < limit {
            let Some(object) = self.items.next() else {
                piece.extend_from_slice(b"]}");
                self.over = true;
                break;
            };
            if std::mem::replace(&mut self.separates, true) {
                piece.push(b',');
            }
            piece.extend_from_slice(&self.form.body(&object));
        }
        piece.into()
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        self.started.reserve(PIECE_BYTES + PIECE_BYTES / 8);
        Some(self.fill(PIECE_BYTES))
    }
}
