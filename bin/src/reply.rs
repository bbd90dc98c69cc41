//! One answer for one waiting thread, which parks until it arrives: a channel's receiver would spin first, and
//! an fsync takes longer than any spin.

use hindsight_core::Submitted;
use hindsight_log::Reply;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread::{self, Thread};

/// Wakes the thread whatever becomes of the answer: sent, or dropped with the queue that it was in.
struct Waker(Thread);

impl Drop for Waker {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// Fields are dropped in this order, so that the thread never wakes up while the sender still exists.
struct Answer {
    sender: Sender<Submitted>,
    _waker: Waker,
}

impl Answer {
    fn send(self, outcome: Submitted) {
        self.sender.send(outcome).ok();
    }
}

/// What the calling thread waits with.
pub(crate) struct Waiter(Receiver<Submitted>);

/// A reply for the writer, and what the calling thread waits with.
pub(crate) fn channel() -> (Reply, Waiter) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let answer = Answer {
        sender,
        _waker: Waker(thread::current()),
    };
    (
        Box::new(move |outcome| answer.send(outcome)),
        Waiter(receiver),
    )
}

impl Waiter {
    /// Parks until the answer arrives, or nobody is left to give it. Other wake-ups of the thread do no harm.
    pub(crate) fn wait(self) -> Option<Submitted> {
        loop {
            match self.0.try_recv() {
                Ok(outcome) => return Some(outcome),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => thread::park(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_wakes_and_so_does_a_dropped_reply() {
        let (answer, waiter) = channel();
        let other = thread::spawn(move || answer(Ok(Vec::new())));
        assert!(matches!(waiter.wait(), Some(Ok(answers)) if answers.is_empty()));
        other.join().expect("it ends");

        let (answer, waiter) = channel();
        let other = thread::spawn(move || drop(answer));
        assert!(waiter.wait().is_none());
        other.join().expect("it ends");
    }
}
