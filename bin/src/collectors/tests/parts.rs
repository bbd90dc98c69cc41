//! What becomes of the parts of a batch that are not submitted at once.

use super::*;
use crate::opening::empty_state;
use crate::published::window_after;
use crate::reply;
use hindsight_log::{Log, MemoryStorage, Records, Storage};

const DEPENDENTS: usize = 3;

/// Collectors that have some dependents without an owner and an old event to remove, and write to a log of their own.
fn driver() -> (Arc<Writer>, Driver) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let log = Log::open(Arc::clone(&storage), empty_state()).expect("opened");
    let window = window_after(log.state().revision);
    let (publisher, feed) = published::channel(log.state().clone(), window, log.latest());
    let published = Arc::clone(&feed.published);
    let writer = Arc::new(log.start(Box::new(publisher)).expect("started"));
    let now = effects::now();
    let create = |resource: &str, namespace: &str, object: serde_json::Value| {
        let create = Create {
            key: ObjectKey::new(GroupResource::new("", resource), namespace, ""),
            version: "v1".into(),
            object,
            validation: FieldValidation::Ignore,
        };
        let (actor, time) = (Arc::new(Actor::new("t")), now.plus_seconds(-7_200));
        Command::new(actor, time, effects::seed(), Intent::Create(create))
    };
    let named = |name: &str| json!({"metadata": {"name": name}});
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}});
    let mut commands = vec![
        create("namespaces", "", named("default")),
        create("events", "default", event),
    ];
    let dependents = (0..DEPENDENTS).map(|number| dependent(&format!("d{number}")));
    commands.extend(dependents.map(|object| create("configmaps", "default", object)));
    let (answer, waiter) = reply::channel();
    writer.submit_here(commands, answer);
    let written = waiter.wait().expect("answered").expect("it is open");
    assert!(written.iter().all(Result::is_ok), "{written:?}");
    let state = Arc::clone(&published.load().state);
    let mut driver = Driver {
        collector: Collector::new(&state),
        state,
        ..alone(&plane(), feed)
    };
    driver.surroundings.reader = Reader::new(storage as Arc<dyn Records>);
    driver.surroundings.writer = Arc::downgrade(&writer);
    driver.surroundings.event_ttl = Some(Duration::from_hours(1));
    driver.begin();
    (writer, driver)
}

/// The answers to others come meanwhile.
#[test]
fn what_was_left_of_a_batch_comes_again_until_it_was_submitted() {
    let (_writer, mut driver) = driver();
    for (left, others) in [(3, 1), (2, 0), (1, 0), (0, 0)] {
        let steps = batch(&mut driver);
        let halves = split_advancing(steps.clone()).map(|half| half.len());
        assert_eq!(halves, [left, others]);
        // Each step is a part of its own.
        driver.part_bytes = smallest();
        let outcome = driver.submit_all(steps);
        assert_eq!(outcome == BatchOutcome::Idle, left == 0);
        driver.observe();
    }
}

/// It would be the first again in the next batch, and in every one as long as it stays out of date.
#[test]
fn a_part_that_is_out_of_date_is_not_in_the_way_of_the_next() {
    let (_writer, mut driver) = driver();
    let mut steps = batch(&mut driver);
    let Intent::Delete(first) = &mut steps[0].intent else {
        panic!("{steps:?}");
    };
    first.target.uid = Some("of-another".into());
    driver.part_bytes = smallest();
    assert_eq!(driver.submit_all(steps), BatchOutcome::Progress);
    driver.observe();
    let configmaps = GroupResource::new("", "configmaps");
    let left = driver.state.list(&configmaps, None);
    let left: Vec<&str> = left.map(|object| &*object.key.name).collect();
    assert_eq!(left, ["d0", "d2"]);
}

#[test]
fn parts_grow_again_once_there_was_room() {
    let (_writer, mut driver) = driver();
    let small = smallest();
    driver.part_bytes = small;
    let steps = batch(&mut driver);
    assert_eq!(driver.submit_all(steps), BatchOutcome::Progress);
    assert_eq!(driver.part_bytes, small.after(BatchOutcome::Progress));
    assert_ne!(driver.part_bytes, small);
}

/// Parts of one step each, after a disk that stayed full.
fn smallest() -> PartBytes {
    let no_room = BatchOutcome::Refused(Refusal::NoRoom);
    let parts = (0..10).fold(PartBytes::default(), |parts, _| parts.after(no_room));
    assert_eq!(parts.get(), 1);
    parts
}
