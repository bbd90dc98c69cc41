//! When a warning is given about a dependent, how often, and its contents.

use super::Warnings;
use crate::collector::Collector;
use crate::testing::{empty, remove, write};
use hindsight_core::{Change, Intent, State, Time};
use hindsight_projector::OwnershipGraph;
use serde_json::{Value, json};
use std::convert::Infallible;

const CONFIG_MAPS: (&str, &str) = ("", "configmaps");
const PRIORITY_CLASSES: (&str, &str) = ("scheduling.k8s.io", "priorityclasses");

struct World {
    state: State,
    collector: Collector,
    changes: Vec<Change>,
}

impl World {
    fn new() -> Self {
        let state = empty();
        let collector = Collector::new(&state);
        Self {
            state,
            collector,
            changes: Vec::new(),
        }
    }

    fn write(&mut self, resource: (&str, &str), document: Value) {
        let change = write(&mut self.state, resource, document);
        self.collector.observe(&change);
        self.changes.push(change);
    }

    fn remove(&mut self, resource: (&str, &str), namespace: &str, name: &str) {
        let change = remove(&mut self.state, resource, (namespace, name));
        self.collector.observe(&change);
        self.changes.push(change);
    }

    /// The warnings of a collector that begins now and has read the log.
    fn begun_anew(&mut self) -> Vec<Value> {
        self.collector = Collector::new(&self.state);
        let back = self
            .changes
            .iter()
            .rev()
            .map(|change| Ok::<_, Infallible>(&*change.commit));
        self.collector.recall(back).expect("it reads");
        self.take_warnings()
    }

    /// Objects named `there...` are in one namespace, all others in another.
    fn config_map(&mut self, name: &str, references: &[Value]) {
        let namespace = if name.starts_with("there") {
            "two"
        } else {
            "one"
        };
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "ownerReferences": references}});
        self.write(CONFIG_MAPS, document);
    }

    fn take_warnings(&mut self) -> Vec<Value> {
        let batch = self.collector.next_batch(&self.state, Time(0), 100);
        self.collector.settle(batch.iter().map(|_| Ok(())));
        let events = batch.into_iter().filter_map(|step| {
            let Intent::Create(create) = step.intent else {
                return None;
            };
            assert_eq!(&*create.key.resource.resource, "events");
            let mut event = create.object;
            event["metadata"]["namespace"] = json!(&*create.key.namespace);
            Some(event)
        });
        events.collect()
    }
}

fn to(uid: &str) -> Value {
    reference(("v1", "ConfigMap"), uid, uid)
}

fn reference((api_version, kind): (&str, &str), name: &str, uid: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid})
}

#[test]
fn only_the_first_reference_that_looks_wrong_is_told_of_and_its_namespace_is_looked_at_first() {
    let by_name = |kind, name, uid| reference(("v1", kind), name, uid);
    let cases: [(&str, &[Value], Option<&str>); 9] = [
        ("right", &[to("here")], None),
        ("of nobody", &[to("nobody")], None),
        ("elsewhere", &[to("there")], Some("there")),
        (
            "elsewhere, whatever it is called",
            &[by_name("Pod", "wrong", "there")],
            Some("wrong"),
        ),
        (
            "by a wrong name first",
            &[by_name("ConfigMap", "wrong", "here"), to("there")],
            None,
        ),
        (
            "by a wrong kind first",
            &[by_name("Secret", "here", "here"), to("there")],
            None,
        ),
        (
            "by another version first",
            &[reference(("v2", "ConfigMap"), "here", "here"), to("there")],
            None,
        ),
        (
            "elsewhere last",
            &[to("here"), to("nobody"), to("there")],
            Some("there"),
        ),
        (
            "elsewhere twice",
            &[to("there"), to("there-too")],
            Some("there"),
        ),
    ];
    for (case, references, wanted) in cases {
        let mut world = World::new();
        for owner in ["here", "there", "there-too"] {
            world.config_map(owner, &[]);
        }
        world.config_map("dependent", references);
        let told = world.take_warnings();
        let names: Vec<&str> = told
            .iter()
            .filter_map(|event| event["message"].as_str())
            .collect();
        let wanted: Vec<String> = wanted
            .iter()
            .map(|name| format!("name: {name}, uid: "))
            .collect();
        assert_eq!(names.len(), wanted.len(), "{case}: {names:?}");
        let says = |(name, wanted): (&&str, &String)| name.contains(wanted);
        assert!(names.iter().zip(&wanted).all(says), "{case}: {names:?}");
    }
}

#[test]
fn a_reference_is_told_of_when_it_comes_and_not_when_it_changes() {
    let mut world = World::new();
    world.config_map("there", &[]);
    world.config_map("here", &[]);
    let blocking = |blocks: bool| {
        let mut reference = to("there");
        reference["blockOwnerDeletion"] = json!(blocks);
        reference
    };
    world.config_map("dependent", &[to("here")]);
    assert_eq!(world.take_warnings().len(), 0, "nobody is elsewhere");
    world.config_map("dependent", &[to("here"), to("there")]);
    assert_eq!(world.take_warnings().len(), 1, "it came");
    for references in [
        vec![to("here"), blocking(true)],
        vec![blocking(false), to("here")],
        vec![blocking(false)],
        vec![blocking(false), to("nobody")],
    ] {
        world.config_map("dependent", &references);
        assert_eq!(world.take_warnings().len(), 0, "{references:?}");
    }
    world.config_map("dependent", &[to("here")]);
    world.config_map("dependent", &[to("here"), to("there")]);
    assert_eq!(world.take_warnings().len(), 1, "it came again");
}

#[test]
fn an_owner_that_comes_after_its_dependents_is_told_of_to_each_that_is_elsewhere() {
    let mut world = World::new();
    world.config_map("near", &[to("here"), to("there")]);
    world.config_map("far", &[reference(("v1", "ConfigMap"), "wrong", "there")]);
    world.config_map("there-beside", &[to("there")]);
    assert_eq!(world.take_warnings().len(), 0);
    world.config_map("there", &[]);
    let told = world.take_warnings();
    let mut names: Vec<&str> = told
        .iter()
        .filter_map(|one| one["involvedObject"]["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["far", "near"]);
    let under = told.iter().map(|one| one["metadata"]["name"].as_str());
    assert_eq!(
        under.collect::<Vec<_>>(),
        [Some("far.farthere"), Some("near.nearthere")]
    );
    world.config_map("there", &[]);
    assert_eq!(world.take_warnings().len(), 0, "it only changed");
}

#[test]
fn a_collector_that_begins_tells_under_the_name_under_which_it_was_told() {
    let mut world = World::new();
    world.config_map("there", &[]);
    world.config_map("here", &[]);
    world.config_map("dependent", &[to("here"), to("there")]);
    let told = world.take_warnings();
    assert_eq!(told.len(), 1);
    world.config_map("dependent", &[to("here"), to("there")]);
    world.collector = Collector::new(&world.state);
    assert_eq!(world.take_warnings(), told);
}

#[test]
fn who_was_told_is_not_told_again_by_a_collector_that_begins_where_the_event_was_deleted() {
    let mut world = World::new();
    world.config_map("there", &[]);
    world.config_map("dependent", &[to("there")]);
    let told = world.take_warnings().remove(0);
    let name = told["metadata"]["name"].as_str().expect("a name");
    let mut event = told.clone();
    event["metadata"]["uid"] = json!("event");
    world.write(("", "events"), event);
    assert_eq!(world.begun_anew().len(), 0, "it is there");
    world.remove(("", "events"), "one", name);
    assert_eq!(world.begun_anew().len(), 0, "it was there");
    world.config_map("dependent", &[]);
    world.config_map("dependent", &[to("there")]);
    assert_eq!(world.begun_anew(), [told], "the reference came again");
}

#[test]
fn a_collector_that_begins_tells_of_no_reference_that_was_not_the_first_when_it_came() {
    let misspelt = || reference(("v1", "ConfigMap"), "misspelt", "here");
    let mut world = World::new();
    world.config_map("there", &[]);
    world.config_map("here", &[]);
    world.config_map("dependent", &[misspelt(), to("there")]);
    assert_eq!(world.take_warnings().len(), 0, "a wrong name came first");
    assert_eq!(world.begun_anew().len(), 0);
    world.config_map("dependent", &[to("there")]);
    assert_eq!(world.take_warnings().len(), 0, "it did not come now");
    assert_eq!(world.begun_anew().len(), 0, "nor when somebody begins");
    world.config_map("dependent", &[misspelt(), to("there")]);
    world.remove(CONFIG_MAPS, "one", "here");
    assert_eq!(
        world.begun_anew().len(),
        0,
        "nor when the other's owner is gone"
    );
}

#[test]
fn a_collector_that_begins_tells_what_nobody_came_to_tell() {
    let mut world = World::new();
    world.config_map("there", &[]);
    world.config_map("here", &[]);
    world.config_map(
        "dependent",
        &[to("here"), to("there-too"), to("there-three")],
    );
    world.config_map("there-too", &[]);
    world.config_map(
        "dependent",
        &[to("here"), to("there-too"), to("there-three"), to("there")],
    );
    world.config_map("there-three", &[]);
    let told = world.take_warnings();
    assert_eq!(told.len(), 3);
    let mut anew = world.begun_anew();
    anew.sort_by_key(|event| told.iter().position(|one| one == event));
    assert_eq!(anew, told);
}

#[test]
fn what_a_dependent_is_told() {
    let mut world = World::new();
    world.config_map("there", &[]);
    world.config_map("dependent", &[to("there")]);
    let message = "ownerRef [v1/ConfigMap, namespace: one, name: there, uid: there] does not exist in namespace \"one\"";
    let time = "1970-01-01T00:00:00Z";
    let component = "garbage-collector-controller";
    assert_eq!(
        world.take_warnings(),
        [json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "one", "name": "dependent.dependenthere"},
        "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "one",
            "name": "dependent", "uid": "dependent"},
        "reason": "OwnerRefInvalidNamespace", "message": message, "type": "Warning",
        "source": {"component": component}, "reportingComponent": component, "reportingInstance": "",
        "count": 1, "firstTimestamp": time, "lastTimestamp": time})]
    );
}

#[test]
fn a_dependent_of_the_whole_cluster_is_told_in_the_default_namespace() {
    let mut world = World::new();
    world.config_map("there", &[]);
    let document = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "wide", "ownerReferences": [to("there")]}});
    world.write(PRIORITY_CLASSES, document);
    let told = world.take_warnings();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["metadata"]["namespace"], "default");
    let involved = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "name": "wide", "uid": "wide"});
    assert_eq!(told[0]["involvedObject"], involved);
    let message = "ownerRef [v1/ConfigMap, namespace: , name: there, uid: there] does not exist in namespace \"\"";
    assert_eq!(told[0]["message"], message);
}

#[test]
fn events_are_no_owners_and_no_dependents() {
    let mut world = World::new();
    let event = |name: &str, namespace: &str, references: &[Value]| {
        json!({"apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": namespace, "ownerReferences": references}})
    };
    world.config_map("there", &[]);
    world.write(("", "events"), event("dependent", "one", &[to("there")]));
    world.write(("", "events"), event("happened", "two", &[]));
    let to_event = reference(("v1", "Event"), "happened", "happened");
    world.config_map("refers", std::slice::from_ref(&to_event));
    assert_eq!(world.take_warnings(), Vec::<Value>::new());
    world.config_map("refers-to-both", &[to_event, to("there")]);
    assert_eq!(
        world.take_warnings().len(),
        1,
        "an event is not the first that looks wrong"
    );
}

#[test]
fn every_dependent_has_a_name_that_an_event_can_begin_with_or_is_told_under_its_uid() {
    let longest = "a".repeat(253);
    for (name, wanted) in [
        ("plain.name", "plain.name.uthere"),
        ("sys:x", "u.uthere"),
        (&longest, "u.uthere"),
    ] {
        let mut world = World::new();
        world.config_map("there", &[]);
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata":
            {"name": name, "namespace": "one", "uid": "u", "ownerReferences": [to("there")]}});
        world.write(CONFIG_MAPS, document);
        let told = world.take_warnings();
        assert_eq!(told[0]["metadata"]["name"], wanted);
        assert_eq!(told[0]["involvedObject"]["name"], name);
    }
}

#[test]
fn a_commit_of_the_log_is_compared_with_the_doubts_about_its_object_only() {
    const DOUBTS: usize = 50;
    let mut world = World::new();
    world.config_map("there", &[]);
    for number in 0..DOUBTS {
        world.config_map(&format!("d{number}"), &[to("there")]);
    }
    for number in 0..10 * DOUBTS {
        world.config_map(&format!("other{number}"), &[to("d0")]);
    }
    let graph = OwnershipGraph::rebuild(&world.state);
    let mut warnings = Warnings::default();
    for object in world.state.objects() {
        warnings.begin(&world.state, object, &graph);
    }
    let mut doubts = warnings.doubts();
    for change in world.changes.iter().rev() {
        doubts.read(&change.commit);
    }
    assert!(doubts.is_empty());
    assert_eq!(doubts.looked_up, DOUBTS);
}
