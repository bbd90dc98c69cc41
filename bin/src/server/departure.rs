//! Notices over HTTP/1.1 that the client of a watch is gone. hyper reads on while it writes an answer, and so comes to
//! the end of what the client sends, but only until there is something to read: what came behind the request, if only
//! an empty line, is for later, and nothing more is read before the answer ends. A silent watch would outlive its
//! client for as long as it lasts. So the socket is asked whether its other side is closed, whatever lies unread
//! before that.
//!
//! Other answers end soon by themselves, or with a write that fails; they may still be read by a client that has only
//! ended what it sends.

use super::timeouts::Requests;
use futures_util::FutureExt;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The time between two looks at the socket.
const LOOK_EVERY: Duration = Duration::from_secs(2);

pub(super) struct Departure {
    requests: Requests,
    /// Since the first watch.
    looks: Option<Interval>,
}

impl Departure {
    pub(super) const fn of(requests: Requests) -> Self {
        let looks = None;
        Self { requests, looks }
    }

    /// Is ready if there is a watch and its client is gone. While there is one, the task is woken for each look.
    pub(super) fn poll(&mut self, socket: &TcpStream, context: &mut Context<'_>) -> Poll<()> {
        if !self.requests.has_watch() {
            return Poll::Pending;
        }
        let looks = self.looks.get_or_insert_with(looks);
        while looks.poll_tick(context).is_ready() {
            let known = socket.ready(Interest::READABLE).now_or_never();
            if matches!(known, Some(Ok(ready)) if ready.is_read_closed()) {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

fn looks() -> Interval {
    let mut looks = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks
}
