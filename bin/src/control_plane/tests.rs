//! What a submitter is told when nobody is left to answer.

use super::*;
use hindsight_core::command::{Create, FieldValidation};
use hindsight_core::{Actor, GroupResource, Intent, ObjectKey};
use serde_json::json;
use std::task::{Context, Wake, Waker};

/// Somebody who watches, with a defect.
struct Broken;

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        panic!("a defect");
    }
}

fn create(plane: &ControlPlane, name: &str) -> Vec<Command> {
    let intent = Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "namespaces"), "", ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}}),
        validation: FieldValidation::Warn,
    });
    let actor = Arc::new(Actor::new("t"));
    vec![Command::new(actor, plane.now(), plane.seed(), intent)]
}

#[test]
fn of_a_write_that_a_panic_left_unanswered_nobody_is_told_that_nothing_was_done() {
    let here: fn(&ControlPlane, Vec<Command>) -> _ = ControlPlane::submit_blocking;
    let waited = |plane: &ControlPlane, commands| {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(plane.submit(commands))
    };
    for submit in [here, waited] {
        let config = Config {
            collectors: false,
            ..Config::default()
        };
        let plane = ControlPlane::open(config).expect("it opens");
        let mut changed = plane.changed();
        changed.borrow_and_update();
        let mut watching = Box::pin(changed.changed());
        let waker = Waker::from(Arc::new(Broken));
        let polled = watching.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        let before = plane.state().revision;
        let told = submit(&plane, create(&plane, "a"));
        assert!(matches!(told, Err(Unavailable::Poisoned(_))), "{told:?}");
        assert!(plane.poison().wait().contains("panic"));
        assert!(plane.reader().newest().expect("read") > before, "it was");
        let next = submit(&plane, create(&plane, "b"));
        assert!(matches!(next, Err(Unavailable::Poisoned(_))), "{next:?}");
    }
}
