//! Turns the collector's crank: durable changes in, batches of commands out.

use crate::effects;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use hindsight_core::{Actor, Change, Command, Decision, Rejection, Request, State};
use hindsight_gc::{Collector, Step, Worker};
use hindsight_log::{Error, Submitted, Writer};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Steps of one batch: they share an fsync.
const BATCH_STEPS_MAX: usize = 1024;
/// How long it sleeps at most when only the clock can make something due.
const IDLE: Duration = Duration::from_secs(1);

/// A durable batch: the state after it, and what changed.
pub(crate) type Batch = (Arc<State>, Vec<Arc<Change>>);

/// The thread; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Collectors {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collectors {
    pub(crate) fn start(
        state: State,
        changes: Receiver<Batch>,
        writer: Weak<Writer>,
    ) -> Result<Self, Error> {
        let (stop, stopped) = bounded(0);
        let driver = Driver {
            collector: Collector::new(&state),
            state: Arc::new(state),
            changes,
            writer,
        };
        let thread = std::thread::Builder::new()
            .name("collectors".into())
            .spawn(move || driver.run(&stopped))
            .map_err(|source| Error::Io {
                what: "starting the collectors".into(),
                source,
            })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Collectors {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the collectors ended in a panic");
        }
    }
}

struct Driver {
    collector: Collector,
    state: Arc<State>,
    changes: Receiver<Batch>,
    writer: Weak<Writer>,
}

impl Driver {
    fn run(mut self, stopped: &Receiver<()>) {
        while !is_stopped(stopped) {
            self.observe_waiting();
            let steps = self
                .collector
                .next_batch(&self.state, effects::now(), BATCH_STEPS_MAX);
            let moved = !steps.is_empty() && self.carry_out(steps);
            if !moved && !self.wait() {
                return;
            }
        }
    }

    /// Submits a batch; whether it changed anything.
    fn carry_out(&mut self, steps: Vec<(Worker, Step)>) -> bool {
        let Some(writer) = self.writer.upgrade() else {
            return false;
        };
        let commands = steps
            .into_iter()
            .map(|(worker, step)| command(worker, step))
            .collect();
        let (sender, receiver) = bounded(1);
        writer.submit(
            commands,
            Box::new(move |outcome: Submitted| drop(sender.send(outcome))),
        );
        drop(writer);
        let Ok(Ok(answers)) = receiver.recv() else {
            return false;
        };
        self.collector
            .settle(answers.iter().map(|answer| answer.as_ref().map(|_| ())));
        let wrote = |answer: &Result<Decision, Rejection>| {
            answer
                .as_ref()
                .is_ok_and(|decision| !decision.commits.is_empty())
        };
        answers.iter().any(wrote)
    }

    fn observe_waiting(&mut self) {
        while let Ok(batch) = self.changes.try_recv() {
            self.observe(batch);
        }
    }

    fn observe(&mut self, (state, changes): Batch) {
        for change in changes {
            self.collector.observe(&change);
        }
        self.state = state;
    }

    /// Until something changes or the clock may have made something due; false at the end.
    fn wait(&mut self) -> bool {
        match self.changes.recv_timeout(IDLE) {
            Ok(batch) => {
                self.observe(batch);
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }
}

fn is_stopped(stopped: &Receiver<()>) -> bool {
    matches!(
        stopped.try_recv(),
        Err(crossbeam_channel::TryRecvError::Disconnected)
    )
}

fn command(worker: Worker, step: Step) -> Command {
    let user = match worker {
        Worker::GarbageCollector => "system:serviceaccount:kube-system:generic-garbage-collector",
        Worker::NamespaceController => "system:serviceaccount:kube-system:namespace-controller",
        Worker::DefinitionController => "system:apiserver",
        Worker::TtlController => "system:serviceaccount:kube-system:ttl-after-finished-controller",
    };
    let groups = vec![
        "system:serviceaccounts".into(),
        "system:authenticated".into(),
    ];
    Command {
        actor: Arc::new(Actor {
            user: user.into(),
            uid: "".into(),
            groups,
        }),
        request: Arc::new(Request::default()),
        time: effects::now(),
        seed: effects::seed(),
        cause: step.cause,
        intent: step.intent,
    }
}
