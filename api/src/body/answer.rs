//! The memory that long answers may occupy which are made for one client and are complete at once: an object in
//! another form than it is stored in, a page of the log, a list that is not streamed. How long an answer is shows when
//! it is made, so few are made at one time, and each keeps its seat until it has found room. A long item of a list that
//! is streamed takes room too.

use super::{ApiBody, Bodies};
use crate::offload::{LONG_BYTES, offload};
use crate::status::Failure;
use http::Response;
use http_body::Body;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

impl Bodies {
    /// Makes an answer that is likely to be long, beside the threads that answer requests. It keeps its room until
    /// it was sent.
    pub(crate) async fn made(
        bounds: Option<&Self>,
        make: impl FnOnce() -> Result<Response<ApiBody>, Failure> + Send + 'static,
    ) -> Result<Response<ApiBody>, Failure> {
        let Some(bounds) = bounds else {
            return offload(usize::MAX, make).await?;
        };
        let _seat = Self::room_in(&bounds.makers, 1).await?;
        let answer = offload(usize::MAX, make).await??;
        bounds.counted(answer).await
    }

    /// An answer that keeps room until it was sent, if it is complete and long; 429 if there is none.
    pub async fn counted(&self, answer: Response<ApiBody>) -> Result<Response<ApiBody>, Failure> {
        let bytes = answer.body().size_hint().exact().unwrap_or_default();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes <= LONG_BYTES {
            return Ok(answer);
        }
        let room = self.room_for_answer(bytes).await?;
        Ok(answer.map(|body| body.holding(room)))
    }

    /// Room for an answer of so many bytes, or for a part of one, in turn. Whatever it is, it finds room at some time.
    pub(crate) async fn room_for_answer(
        &self,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, Failure> {
        Self::room_in(&self.answers, bytes.min(self.room_max)).await
    }

    /// The same, if some is free.
    pub(crate) fn spare_room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes.min(self.room_max)).ok()?;
        let room = Arc::clone(&self.answers).try_acquire_many_owned(bytes);
        room.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn answers_keep_their_room_until_they_are_sent_and_few_are_made_at_once() {
        let bounds = Bodies::bounded(0, Duration::MAX);
        let all = bounds.answers.available_permits();
        let made = |bytes| {
            let make = move || Ok(Response::new(ApiBody::full(vec![0_u8; bytes])));
            Bodies::made(Some(&bounds), make)
        };
        let kept = made(LONG_BYTES + 1).await.expect("room");
        assert_eq!(bounds.answers.available_permits(), all - LONG_BYTES - 1);
        let refused = made(usize::from(u16::MAX) + all).await;
        assert_eq!(refused.expect_err("no room").code, 429);
        let body = kept.into_body().collect().await.expect("it is complete");
        drop(body);
        assert_eq!(bounds.answers.available_permits(), all);
        let longest = made(2 * all)
            .await
            .expect("whatever it is, it has room at some time");
        made(LONG_BYTES).await.expect("it needs none");
        let seats = bounds.makers.available_permits();
        let taken =
            Arc::clone(&bounds.makers).acquire_many_owned(u32::try_from(seats).expect("few"));
        let taken = taken.await.expect("free");
        assert_eq!(made(1).await.expect_err("no seat").code, 429);
        drop((taken, longest));
        made(1).await.expect("a seat");
    }
}
