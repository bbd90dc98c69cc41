//! More concurrent writes than the server's queue has places for.

use super::{MAPS, create, map};
use hindsight_tests::recorder::stored;
use hindsight_tests::server::Server;
use hindsight_tests::strace::Strace;
use hindsight_tests::streams::{STREAMS_MAX, Streams};
use hindsight_tests::wire::{Caller, Wire};
use http::Response;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Longer than the fault stays on in this test.
const STUCK: &str = "delay_enter=600000000";
/// Places in the log's queue. Beside those that wait there, three batches of as many may be under
/// way.
const PLACES: usize = 4096;
const CONNECTIONS_MAX: usize = 4 * PLACES / STREAMS_MAX + 2;
const READS: usize = 5;
/// Looks at the probe, a tenth of a second apart: it bounds a failing run.
const PROBES_MAX: usize = 600;

type Answer = (String, Response<String>);

/// Writes that were sent concurrently, and their answers as they come.
struct Crowd<'a> {
    caller: &'a Caller,
    sender: UnboundedSender<Answer>,
    answers: UnboundedReceiver<Answer>,
    sent: usize,
}

impl<'a> Crowd<'a> {
    fn new(caller: &'a Caller) -> Self {
        let (sender, answers) = unbounded_channel();
        Self {
            caller,
            sender,
            answers,
            sent: 0,
        }
    }

    /// Sends this many more, over a connection of their own.
    async fn send(&mut self, count: usize) {
        let mut streams = Streams::connect(self.caller).await.expect("connected");
        for _ in 0..count {
            let name = format!("c{}", self.sent);
            let sent = streams.send("POST", MAPS, map(&name, 1)).await;
            let (answer, sender) = (sent.expect("sent"), self.sender.clone());
            tokio::spawn(async move {
                let answer = answer.await.expect("an answer");
                sender.send((name, answer)).ok();
            });
            self.sent += 1;
        }
    }

    /// Sends more until the first answer comes.
    async fn grow(&mut self) -> Answer {
        for _ in 0..CONNECTIONS_MAX {
            self.send(STREAMS_MAX).await;
            if let Ok(first) = self.answers.try_recv() {
                return first;
            }
        }
        self.answers.recv().await.expect("an answer")
    }
}

/// Checks that the answer is the 429 with which a Kubernetes API server asks a client to retry.
fn is_told_to_come_again(answer: &Response<String>) {
    assert_eq!(answer.status(), 429, "{}", answer.body());
    assert_eq!(answer.headers()["retry-after"], "1");
    assert_eq!(answer.headers()["content-type"], "application/json");
    let status: serde_json::Value = serde_json::from_str(answer.body()).expect("JSON");
    let wanted = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too many writes are waiting; try again in a second",
        "reason": "TooManyRequests", "details": {"retryAfterSeconds": 1}, "code": 429,
    });
    assert_eq!(status, wanted);
}

/// Whether the probe reports that writes wait. It may take one more write: the first refused one was
/// no answer of the disk, or writes decided after that refusal may have taken its place.
fn is_unready(wire: &mut Wire) -> bool {
    std::thread::sleep(Duration::from_millis(100));
    let probe = wire.ask("GET", "/readyz", "").expect("an answer");
    probe.code == 500 && probe.body.contains("writes are waiting")
}

#[test]
fn behind_a_stuck_disk_one_write_too_many_is_told_to_come_again_and_the_others_wait() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let caller = Caller::of(&server);
    let mut wire = caller.connect().expect("connected");
    create(&mut wire, "before", 1);
    let Some(stuck) = Strace::attach(server.pid(), "fdatasync", STUCK) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut crowd = Crowd::new(&caller);
    let (name, answer) = runtime.block_on(crowd.grow());
    is_told_to_come_again(&answer);
    for _ in 0..READS {
        let reply = wire.ask("GET", MAPS, "").expect("an answer");
        assert_eq!(reply.code, 200);
        assert!(reply.body.contains("before") && !reply.body.contains("\"c0\""));
    }
    assert!(
        (0..PROBES_MAX).any(|_| {
            runtime.block_on(crowd.send(1));
            is_unready(&mut wire)
        }),
        "it is ready"
    );
    let Crowd {
        mut answers,
        sender,
        sent,
        ..
    } = crowd;
    drop(sender);
    let (mut written, mut refused) = (BTreeSet::new(), BTreeSet::from([name]));
    while let Ok((name, answer)) = answers.try_recv() {
        is_told_to_come_again(&answer);
        refused.insert(name);
    }
    drop(stuck);
    while let Some((name, answer)) = runtime.block_on(answers.recv()) {
        if answer.status() == 201 {
            written.insert(name);
        } else {
            is_told_to_come_again(&answer);
            refused.insert(name);
        }
    }
    println!("of {sent} writes at once {} waited", written.len());
    assert_eq!(written.len() + refused.len(), sent);
    assert!(written.len() >= PLACES, "{}", written.len());
    create(&mut wire, "after", 1);
    server.signal("KILL");
    let stored: BTreeSet<String> = stored(&Server::start_on(&directory)).into_keys().collect();
    let lost: Vec<_> = written.difference(&stored).collect();
    assert!(lost.is_empty(), "{lost:?} were answered");
    let unasked: Vec<_> = refused.intersection(&stored).collect();
    assert!(unasked.is_empty(), "{unasked:?} were refused");
}
