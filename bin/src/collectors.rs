//! Turns the collector's crank: durable changes in, batches of commands out.

use crate::effects;
use crate::published::News;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use hindsight_core::{Actor, Command, Decision, Rejection, State};
use hindsight_gc::{Collector, Step, Worker};
use hindsight_log::{Error, Reader, Submitted, Writer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Steps of one batch: they share an fsync.
const BATCH_STEPS_MAX: usize = 1024;
/// How long it sleeps at most when only the clock can make something due.
const IDLE: Duration = Duration::from_secs(1);

/// The thread; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Collectors {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collectors {
    pub(crate) fn start(
        state: State,
        reader: Reader,
        news: News,
        writer: Weak<Writer>,
    ) -> Result<Self, Error> {
        let (stop, stopped) = bounded(0);
        let driver = Driver {
            collector: Collector::new(&state),
            state: Arc::new(state),
            reader,
            news,
            writer,
        };
        let thread = std::thread::Builder::new()
            .name("collectors".into())
            .spawn(move || driver.run_guarded(&stopped))
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
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct Driver {
    collector: Collector,
    state: Arc<State>,
    reader: Reader,
    news: News,
    writer: Weak<Writer>,
}

impl Driver {
    /// A panic is a defect; whoever reads the log should hear of it when it happens.
    fn run_guarded(self, stopped: &Receiver<()>) {
        if catch_unwind(AssertUnwindSafe(|| self.run(stopped))).is_err() {
            tracing::error!(
                "the collectors ended in a panic; nothing is collected until a restart"
            );
        }
    }

    fn run(mut self, stopped: &Receiver<()>) {
        self.recall();
        while !is_stopped(stopped) {
            self.observe();
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

    /// Everything that was published since it looked last. After more than the window holds it begins
    /// anew, as after a restart.
    fn observe(&mut self) {
        let published = self.news.published.load();
        let after = self.state.revision;
        if let Ok(changes) = published.window.after(after, usize::MAX) {
            for change in &changes {
                self.collector.observe(change);
            }
        } else {
            tracing::warn!(%after, "the collectors fell behind and look at everything again");
            self.collector = Collector::new(&published.state);
            self.state = Arc::clone(&published.state);
            self.recall();
        }
        self.state = Arc::clone(&published.state);
    }

    /// A log that cannot be read leaves removals without the commit that made them necessary.
    fn recall(&mut self) {
        let back = self.reader.scan_back(self.state.revision);
        if let Err(error) = self.collector.recall(back) {
            tracing::warn!(%error, "what is collected now may not name its cause");
        }
    }

    /// Until something changes or the clock may have made something due; false at the end.
    fn wait(&mut self) -> bool {
        let moved = self.news.moved.recv_timeout(IDLE);
        !matches!(moved, Err(RecvTimeoutError::Disconnected))
    }
}

fn is_stopped(stopped: &Receiver<()>) -> bool {
    matches!(
        stopped.try_recv(),
        Err(crossbeam_channel::TryRecvError::Disconnected)
    )
}

pub(crate) fn command(worker: Worker, step: Step) -> Command {
    let user = match worker {
        Worker::GarbageCollector => "system:serviceaccount:kube-system:generic-garbage-collector",
        Worker::NamespaceController => "system:serviceaccount:kube-system:namespace-controller",
        Worker::DefinitionController => "system:apiserver",
        Worker::TtlController => "system:serviceaccount:kube-system:ttl-after-finished-controller",
    };
    let group = match worker {
        Worker::DefinitionController => "system:masters",
        Worker::GarbageCollector | Worker::NamespaceController | Worker::TtlController => {
            "system:serviceaccounts"
        }
    };
    let groups = vec![group.into(), "system:authenticated".into()];
    let actor = Arc::new(Actor {
        groups,
        ..Actor::new(user)
    });
    Command {
        cause: step.cause,
        manager: Some(worker.field_manager().into()),
        ..Command::new(actor, effects::now(), effects::seed(), step.intent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ControlPlane, published};
    use hindsight_core::command::{Create, Delete, FieldValidation, Preconditions, Target};
    use hindsight_core::{Cause, Change, GroupResource, Intent, ObjectKey, Revision, Rule};
    use hindsight_log::Publish;
    use hindsight_projector::Window;
    use serde_json::json;

    fn write(plane: &ControlPlane, object: serde_json::Value) -> Arc<Change> {
        let create = Create {
            key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", ""),
            version: "v1".into(),
            object,
            validation: FieldValidation::Ignore,
        };
        let before = plane.state().revision;
        let step = Step {
            cause: Cause::Request,
            intent: Intent::Create(create),
        };
        let command = command(Worker::GarbageCollector, step);
        let answers = plane.submit_blocking(vec![command]).expect("it is open");
        assert!(answers.iter().all(Result::is_ok));
        let mut changes = plane.changes_after(before, 1).expect("in the window");
        changes.remove(0)
    }

    /// With room for that many changes, how many steps follow from a dependent of nobody and what came
    /// after it.
    fn steps_with_a_window_of(changes_max: usize) -> usize {
        let config = Config {
            without_collectors: true,
            ..Config::default()
        };
        let plane = ControlPlane::open(config).expect("it opens");
        let state = plane.state();
        let window = Window::new(state.revision, changes_max, usize::MAX);
        let (mut publisher, news) = published::channel(State::clone(&state), window);
        let mut driver = Driver {
            collector: Collector::new(&state),
            state,
            reader: plane.reader().clone(),
            news,
            writer: Weak::new(),
        };
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
        let dependent = json!({"metadata": {"name": "d", "ownerReferences": [owner]}});
        for object in [dependent, json!({"metadata": {"name": "other"}})] {
            let change = write(&plane, object);
            publisher.publish(State::clone(&plane.state()), vec![change]);
        }
        driver.observe();
        let now = effects::now();
        driver.collector.next_batch(&driver.state, now, 10).len()
    }

    #[test]
    fn collectors_that_fell_behind_miss_nothing() {
        assert_eq!(steps_with_a_window_of(100), 1);
        assert_eq!(steps_with_a_window_of(1), 1);
    }

    #[test]
    fn after_a_restart_what_is_collected_names_the_cause_that_it_had_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = || {
            ControlPlane::open(Config {
                data_dir: Some(directory.path().join("data")),
                without_collectors: true,
                ..Config::default()
            })
            .expect("it opens")
        };
        let plane = open();
        let made = write(&plane, json!({"metadata": {"name": "owner"}}));
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": made.commit.uid.as_str()});
        let dependent = json!({"metadata": {"name": "child", "ownerReferences": [owner]}});
        write(&plane, dependent);
        let removed = delete(&plane, &made);
        drop(plane);

        let plane = open();
        let state = plane.state();
        let window = Window::new(state.revision, 1, usize::MAX);
        let (_, news) = published::channel(State::clone(&state), window);
        let mut driver = Driver {
            collector: Collector::new(&state),
            state,
            reader: plane.reader().clone(),
            news,
            writer: Weak::new(),
        };
        driver.recall();
        let now = effects::now();
        let steps = driver.collector.next_batch(&driver.state, now, 10);
        let causes: Vec<_> = steps.into_iter().map(|(_, step)| step.cause).collect();
        assert_eq!(causes, [Cause::Commit(removed)]);
    }

    fn delete(plane: &ControlPlane, made: &Change) -> Revision {
        let delete = Delete {
            target: Target {
                key: made.commit.key.clone(),
                uid: None,
                revision: None,
            },
            version: "v1".into(),
            preconditions: Preconditions::default(),
            orphan_dependents: None,
            propagation: None,
            grace_period_seconds: None,
            rule: Rule::Requested,
        };
        let step = Step {
            cause: Cause::Request,
            intent: Intent::Delete(delete),
        };
        let command = command(Worker::GarbageCollector, step);
        let answers = plane.submit_blocking(vec![command]).expect("it is open");
        assert!(answers.iter().all(Result::is_ok));
        plane.state().revision
    }
}
