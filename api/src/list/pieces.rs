//! Writes a list: in one go where it is small and has room, and otherwise piece by piece. A large list then neither
//! waits for its end nor takes its size in memory, and other requests are answered between two pieces. If the client
//! stops reading, the remaining objects are released: the list may be all that keeps them in memory.

use super::items::Items;
use crate::backend::Seat;
use crate::body::{ApiBody, Bodies, PIECE_BYTES, Syntax, Unfinished, frame};
use crate::lease::Lease;
use crate::offload::{LONG_BYTES, offload};
use crate::pace::READ_BYTES;
use crate::respond;
use crate::status::Failure;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use hindsight_core::Object;
use http::Response;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The most bytes of a list that is written in one go. It is streamed
/// - if its objects together are longer than this;
/// - if it turns out to be longer when it is written: the rows of a table may be far longer than the objects;
/// - where answers have bounded room, if its objects are longer than [`LONG_BYTES`] and no room is free for it;
/// - there, too, if its objects are shorter than that, but it is longer when it is written.
const WHOLE_BYTES_MAX: usize = 256 << 10;

/// Where answers have bounded room, an item that is longer than this takes room for its length until it was sent: a
/// short object may have 16 MiB as YAML. No piece goes on after so long an item, so that a piece has at most one.
const ITEM_BYTES_MAX: usize = WHOLE_BYTES_MAX;

/// A list of which some pieces are still to be sent.
pub(super) struct Pieces {
    items: Arc<Items>,
    rest: Lease<Rest>,
    size: usize,
    started: Vec<u8>,
    bounds: Option<Bodies>,
    /// The room that the piece has which is being written: that of a short list, or of a long item.
    room: Option<OwnedSemaphorePermit>,
    separates: bool,
    made: Made,
}

/// How far the pieces were made.
enum Made {
    /// There is a next one.
    InPart,
    /// All of them.
    Whole,
    /// As far as the next item, which cannot be written.
    UpTo(Box<Failure>),
    /// Nothing is sent any more.
    Over,
}

struct Rest {
    objects: std::vec::IntoIter<Arc<Object>>,
    /// What was not sent yet of the current piece.
    ready: Bytes,
    /// The room for it, if it has some.
    room: Option<OwnedSemaphorePermit>,
    _seat: Option<Seat>,
}

impl Rest {
    fn send(&mut self) -> Option<Bytes> {
        if self.ready.is_empty() {
            return None;
        }
        let frame = frame(&mut self.ready);
        if self.room.is_none() {
            return Some(frame);
        }
        self.room.take_if(|_| self.ready.is_empty());
        // A frame that is on its way would keep the whole piece in memory, which has no room by then.
        Some(Bytes::copy_from_slice(&frame))
    }
}

/// Whether a list of items of these lengths may break off once it has begun. What is this short is written in one go,
/// and is not too long as YAML.
pub(super) fn may_break_off(lengths: impl Iterator<Item = usize>, syntax: Syntax) -> bool {
    let (sum, longest) = lengths.fold((0, 0), |(sum, longest), length| {
        (sum + length, longest.max(length))
    });
    sum > LONG_BYTES && (syntax == Syntax::Yaml || longest > ITEM_BYTES_MAX)
}

impl Pieces {
    pub(super) fn new(
        items: Items,
        objects: Vec<Arc<Object>>,
        seat: Option<Seat>,
        bounds: Option<Bodies>,
    ) -> Self {
        let size = objects.iter().map(|object| object.body.len() + 1).sum();
        let started = items.head(objects.is_empty());
        let rest = Rest {
            objects: objects.into_iter(),
            ready: Bytes::new(),
            room: None,
            _seat: seat,
        };
        Self {
            items: Arc::new(items),
            rest: Lease::unlimited(rest),
            size,
            started,
            bounds,
            room: None,
            separates: false,
            made: Made::InPart,
        }
    }

    pub(super) async fn answer(mut self) -> Response<ApiBody> {
        let syntax = self.items.syntax();
        let whole_max = self.take_room();
        if self.size <= whole_max {
            let mut begun = self.fill(whole_max).await;
            while matches!(self.made, Made::InPart) && begun.len() < whole_max {
                tokio::task::yield_now().await;
                self.started = begun;
                begun = self.fill(whole_max).await;
            }
            if matches!(self.made, Made::Whole) {
                return respond::written(whole(begun, self.room.take()), syntax);
            }
            self.make_ready(begun);
        } else if syntax == Syntax::Yaml || self.begins_long() {
            // An item that is too long, or has no room, can only be refused before anything is sent.
            let begun = self.fill(self.started.len() + 1).await;
            self.make_ready(begun);
        }
        if let Made::UpTo(unwritable) = &self.made {
            return respond::failure(unwritable, Syntax::Json);
        }
        self.rest.limit();
        let pieces = stream::unfold(self, |mut pieces| async move {
            tokio::task::yield_now().await;
            let piece = pieces.next().await?;
            Some((piece, pieces))
        });
        respond::written(ApiBody::pieces(pieces.boxed()), syntax)
    }

    /// How long the list may be to be written in one go. It then has room for that.
    fn take_room(&mut self) -> usize {
        let Some(bounds) = &self.bounds else {
            return WHOLE_BYTES_MAX;
        };
        if self.size <= LONG_BYTES || self.size > WHOLE_BYTES_MAX {
            return LONG_BYTES;
        }
        self.room = bounds.spare_room(WHOLE_BYTES_MAX);
        match self.room {
            Some(_) => WHOLE_BYTES_MAX,
            None => LONG_BYTES,
        }
    }

    fn begins_long(&self) -> bool {
        let is_long = |first: &Arc<Object>| first.body.len() > ITEM_BYTES_MAX;
        let first = |rest: &mut Rest| rest.objects.as_slice().first().is_some_and(is_long);
        self.rest.with(first) == Some(true)
    }

    /// Has this piece sent next. It keeps its room until then.
    fn make_ready(&mut self, piece: Vec<u8>) {
        let room = self.room.take();
        self.rest.with(|rest| {
            rest.ready = piece.into();
            rest.room = room;
        });
    }

    /// Writes items until the piece has `limit` bytes, or none is left. The piece also ends once [`READ_BYTES`]
    /// of the stored objects were read, of which only a part may be shown, or the columns of a table looked at
    /// as much: other requests are then answered first.
    async fn fill(&mut self, limit: usize) -> Vec<u8> {
        let mut piece = std::mem::take(&mut self.started);
        let mut read = 0;
        while piece.len() < limit && read < READ_BYTES {
            let next = self.rest.with(|rest| rest.objects.next());
            let Some(Some(object)) = next else {
                if next.is_some() {
                    piece.extend_from_slice(self.items.tail(!self.separates));
                    self.made = Made::Whole;
                }
                break;
            };
            if std::mem::replace(&mut self.separates, true) {
                piece.extend_from_slice(self.items.between());
            }
            let before = piece.len();
            match self.write(&object, &mut piece).await {
                Ok(cost) => read += cost,
                Err(failure) => {
                    self.made = Made::UpTo(Box::new(failure));
                    break;
                }
            }
            let written = piece.len() - before;
            self.rest.record_bytes(written.max(object.body.len()));
        }
        piece
    }

    /// Appends one item, and takes room for a long one. How long it is shows when it is made; where no room is free it
    /// is let go until there is some, so that those which wait hold neither memory nor room.
    async fn write(&mut self, object: &Arc<Object>, to: &mut Vec<u8>) -> Result<usize, Failure> {
        let before = to.len();
        let cost = self.make(object, to).await?;
        let bytes = to.len() - before;
        let Some(bounds) = self.bounds.as_ref().filter(|_| bytes > ITEM_BYTES_MAX) else {
            return Ok(cost);
        };
        self.room = bounds.spare_room(bytes);
        if self.room.is_none() {
            to.truncate(before);
            to.shrink_to_fit();
            self.room = Some(bounds.room_for_answer(bytes).await?);
            self.make(object, to).await?;
        }
        Ok(cost)
    }

    /// Appends one item, as [`Items::write`] does, and makes a long one on another thread.
    async fn make(&self, object: &Arc<Object>, to: &mut Vec<u8>) -> Result<usize, Failure> {
        let bytes = self.items.made_bytes(object);
        if bytes <= LONG_BYTES {
            return self.items.write(object, to);
        }
        let (items, object) = (Arc::clone(&self.items), Arc::clone(object));
        let make = move || {
            let mut made = Vec::new();
            items.write(&object, &mut made).map(|cost| (made, cost))
        };
        let (made, cost) = offload(bytes, make).await??;
        to.extend_from_slice(&made);
        Ok(cost)
    }

    async fn next(&mut self) -> Option<Result<Bytes, Unfinished>> {
        loop {
            let Some(ready) = self.rest.with(Rest::send) else {
                let made = std::mem::replace(&mut self.made, Made::Over);
                return (!matches!(made, Made::Over)).then_some(Err(Unfinished::Stalled));
            };
            if let Some(frame) = ready {
                return Some(Ok(frame));
            }
            if matches!(self.made, Made::InPart) {
                self.started.reserve(PIECE_BYTES + PIECE_BYTES / 8);
                let piece = self.fill(PIECE_BYTES).await;
                self.make_ready(piece);
                continue;
            }
            return match std::mem::replace(&mut self.made, Made::Over) {
                Made::UpTo(failure) => Some(Err(Unfinished::Unwritable(failure))),
                Made::InPart | Made::Whole | Made::Over => None,
            };
        }
    }
}

/// A list in one go, which keeps as much of its room as it needs until it was sent.
fn whole(list: Vec<u8>, room: Option<OwnedSemaphorePermit>) -> ApiBody {
    let Some(mut room) = room else {
        return ApiBody::full(list);
    };
    let surplus = room.num_permits().saturating_sub(list.len());
    drop(room.split(surplus));
    ApiBody::full(list).holding(room)
}

#[cfg(test)]
mod tests;
