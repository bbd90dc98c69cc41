//! What a clock of an embedding program moves.

use crate::{Clock, Config, ControlPlane, Retention};
use hindsight_core::command::{Create, FieldValidation, Patch, PatchObject};
use hindsight_core::kind::Subresource;
use hindsight_core::{Actor, Command, GroupResource, Intent, ObjectKey, Time};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

const BEGIN: Time = Time(2_000_000_000_000_000);
const HOUR: i64 = 3_600;

/// A control plane whose clock stands still until it is moved.
struct Timed {
    plane: ControlPlane,
    micros: Arc<AtomicI64>,
}

impl Timed {
    fn open(config: Config) -> Self {
        let micros = Arc::new(AtomicI64::new(BEGIN.0));
        let read = Arc::clone(&micros);
        let config = Config {
            clock: Clock::new(move || Time(read.load(Ordering::SeqCst))),
            event_ttl: Some(Duration::from_hours(2)),
            ..config
        };
        let plane = ControlPlane::open(config).expect("it opens");
        Self { plane, micros }
    }

    fn pass(&self, seconds: i64) {
        self.micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
        self.plane.clock_changed();
    }

    fn carry_out(&self, intent: Intent) {
        let plane = &self.plane;
        let command = Command::new(Arc::new(Actor::new("t")), plane.now(), plane.seed(), intent);
        let answers = plane.submit_blocking(vec![command]).expect("it is open");
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }

    fn create(&self, key: &ObjectKey, object: Value) {
        self.carry_out(Intent::Create(Create {
            key: key.clone(),
            version: "v1".into(),
            object,
            validation: FieldValidation::Strict,
        }));
    }

    fn is_there(&self, key: &ObjectKey) -> bool {
        self.plane.state().get(key).is_some()
    }

    /// Waits until the collectors have looked at the clock and deleted it.
    fn goes(&self, key: &ObjectKey) {
        let begun = Instant::now();
        while self.is_there(key) {
            assert!(begun.elapsed() < Duration::from_mins(1), "{key} stays");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn job() -> Value {
    let container = json!({"name": "c", "image": "i"});
    json!({"metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": HOUR,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}})
}

/// Writes what the controller of jobs would write.
fn finish(timed: &Timed, key: &ObjectKey) {
    let at = timed.plane.now().to_rfc3339();
    let condition = |kind| json!({"type": kind, "status": "True", "lastTransitionTime": at});
    let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
    let status = json!({"startTime": at, "completionTime": at, "conditions": conditions});
    timed.carry_out(Intent::Patch(PatchObject {
        key: key.clone(),
        version: "v1".into(),
        subresource: Some(Subresource::Status),
        patch: Patch::Merge(json!({"status": status})),
        validation: FieldValidation::Strict,
    }));
}

#[test]
fn a_job_goes_when_the_clock_of_the_program_says_so() {
    let timed = Timed::open(Config::default());
    let key = ObjectKey::new(GroupResource::new("batch", "jobs"), "default", "j");
    timed.create(&key, job());
    finish(&timed, &key);
    timed.pass(HOUR - 1);
    std::thread::sleep(Duration::from_millis(50));
    assert!(timed.is_there(&key), "a second is left");
    timed.pass(1);
    timed.goes(&key);
    let created = ObjectKey::namespace("default");
    let state = timed.plane.state();
    let namespace = state.get(&created).expect("it is there");
    assert_eq!(
        namespace.meta.creation_timestamp,
        Some(BEGIN),
        "the first objects too"
    );
    timed.plane.close();
}

#[test]
fn an_event_goes_when_the_clock_of_the_program_says_so() {
    let timed = Timed::open(Config::default());
    let key = ObjectKey::new(GroupResource::new("", "events"), "default", "e");
    let about = json!({"namespace": "default"});
    let event = json!({"metadata": {"name": "e"}, "involvedObject": about});
    timed.create(&key, event);
    timed.pass(HOUR);
    std::thread::sleep(Duration::from_millis(50));
    assert!(timed.is_there(&key), "an hour is left");
    timed.pass(HOUR);
    timed.goes(&key);
    timed.plane.close();
}

#[test]
fn history_becomes_old_by_the_clock_of_the_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let month = Retention {
        age_micros: Some(30 * 24 * HOUR * 1_000_000),
        bytes: None,
        kinds: Vec::new(),
    };
    let timed = Timed::open(Config {
        data_dir: Some(directory.path().into()),
        snapshot_every: NonZeroU64::new(1),
        retention: Some(month),
        ..Config::default()
    });
    let begun = Instant::now();
    let floor = || timed.plane.reader().floor().expect("readable");
    let first = floor();
    // One step of the clock counts for a part of the age at most.
    for day in 0.. {
        if floor() > first {
            assert!(day > 30, "a month has not passed by day {day}");
            break;
        }
        assert!(begun.elapsed() < Duration::from_mins(2), "it is all kept");
        let key = ObjectKey::new(
            GroupResource::new("", "configmaps"),
            "default",
            &day.to_string(),
        );
        timed.create(&key, json!({"metadata": {"name": day.to_string()}}));
        timed.pass(24 * HOUR);
    }
    timed.plane.close();
}
