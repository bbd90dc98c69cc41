//! Defaults of built-in kinds: a table of paths and values, and values that are derived from other fields.
//! A path segment `*` stands for every item of a list.

mod alias;
mod derived;
mod pod;
mod table;

use crate::kind::Kind;
use crate::managed::fill_structures;
use crate::room::Room;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use table::{CONTAINER, POD_SPEC, PROBE, ROWS};

/// The annotation in which a daemon set says how many pod templates it has had.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// A default: its path and its value.
struct Default {
    path: Vec<&'static str>,
    member: &'static str,
    /// Whether an empty value or zero counts as missing.
    fills_empty: bool,
    value: Value,
}

/// The table, read once.
static DEFAULTS: LazyLock<BTreeMap<&'static str, Vec<Default>>> = LazyLock::new(|| {
    let mut table: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (resource, row) in ROWS.lines().filter_map(|row| row.split_once(' ')) {
        table.entry(resource).or_default().extend(read(row));
    }
    table
});
static POD_DEFAULTS: LazyLock<Vec<Default>> = LazyLock::new(|| rows(POD_SPEC));
static CONTAINER_DEFAULTS: LazyLock<Vec<Default>> = LazyLock::new(|| rows(CONTAINER));
static PROBE_DEFAULTS: LazyLock<Vec<Default>> = LazyLock::new(|| rows(PROBE));

fn rows(table: &'static str) -> Vec<Default> {
    table.lines().filter_map(read).collect()
}

fn read(row: &'static str) -> Option<Default> {
    let (path, json) = row.split_once(' ')?;
    let mut path: Vec<&str> = path.split('/').collect();
    let member = path.pop()?;
    let bare = member.strip_suffix('!');
    Some(Default {
        path,
        member: bare.unwrap_or(member),
        fills_empty: bare.is_some(),
        value: serde_json::from_str(json).ok()?,
    })
}

/// Fills in the defaults that a document of a built-in kind leaves out, as far as it may have so many bytes with them.
/// Whether it may: otherwise it is too long to be stored, and lacks some.
pub(crate) fn apply_within(kind: &Kind, document: &mut Value, bytes_max: usize) -> bool {
    let resource = &*kind.resource.resource;
    if resource == "secrets" {
        fold_string_data(document);
    }
    fill_structures(document);
    let room = &mut Room::of(document, bytes_max);
    derived::before_the_table(resource, document);
    fill(document, DEFAULTS.get(resource).into_iter().flatten(), room);
    derived::after_the_table(resource, document, room);
    if let Some(pod) = &kind.pod {
        complete_pods(resource, document, pod, room);
    }
    room.is_enough()
}

#[cfg(test)]
pub(crate) fn apply(kind: &Kind, document: &mut Value) {
    assert!(apply_within(
        kind,
        document,
        crate::object::OBJECT_BYTES_MAX
    ));
}

fn complete_pods(resource: &str, document: &mut Value, pod: &str, room: &mut Room) {
    let path: Vec<&str> = pod.split('.').collect();
    // A job must state its restart policy; there is no default.
    let is_job = matches!(resource, "jobs" | "cronjobs");
    let own = |default: &&Default| !(is_job && default.member == "restartPolicy");
    for spec in objects_at(document, &path) {
        alias::account(spec);
        pod::volumes(spec, room);
        fill(spec, POD_DEFAULTS.iter().filter(own), room);
        for list in CONTAINERS {
            for container in objects_at(spec, &[list, "*"]) {
                complete_container(container, room);
            }
        }
        if resource == "pods" {
            pod::requests(spec, room);
            pod::host_ports(spec, room);
        }
    }
}

fn complete_container(container: &mut Value, room: &mut Room) {
    fill(container, &*CONTAINER_DEFAULTS, room);
    for probe in PROBES {
        for probe in objects_at(container, &[probe]) {
            fill(probe, &*PROBE_DEFAULTS, room);
        }
    }
    if let Some(members) = container.as_object_mut() {
        pod::pull_policy(members, ["image", "imagePullPolicy"], room);
    }
}

/// Fills in defaults where the parent object exists; a default never creates its parent.
fn fill<'a>(
    document: &mut Value,
    defaults: impl IntoIterator<Item = &'a Default>,
    room: &mut Room,
) {
    for default in defaults {
        if !room.is_enough() {
            return;
        }
        for members in objects(document, &default.path) {
            let is_missing = default.is_missing_in(members);
            if is_missing && room.takes_member(default.member, &default.value) {
                members.insert(default.member.into(), default.value.clone());
            }
        }
    }
}

impl Default {
    fn is_missing_in(&self, members: &Map<String, Value>) -> bool {
        if self.fills_empty {
            is_empty(members, self.member)
        } else {
            is_missing(members, self.member)
        }
    }
}

fn is_missing(members: &Map<String, Value>, member: &str) -> bool {
    members.get(member).is_none_or(Value::is_null)
}

/// Whether a member is missing, empty or zero: where upstream's type cannot tell these apart.
fn is_empty(members: &Map<String, Value>, member: &str) -> bool {
    match members.get(member) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Number(number)) => number.as_i64() == Some(0),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Bool(_)) => false,
    }
}

/// The objects at a path in which `*` stands for every item.
fn objects<'a>(document: &'a mut Value, path: &[&str]) -> Vec<&'a mut Map<String, Value>> {
    let found = objects_at(document, path).into_iter();
    found.filter_map(Value::as_object_mut).collect()
}

fn objects_at<'a>(document: &'a mut Value, path: &[&str]) -> Vec<&'a mut Value> {
    let mut level = vec![document];
    for segment in path {
        let below = level.into_iter();
        level = below.flat_map(|value| children(value, segment)).collect();
    }
    level
}

fn children<'a>(value: &'a mut Value, segment: &str) -> Vec<&'a mut Value> {
    match value {
        Value::Array(items) if segment == "*" => items.iter_mut().collect(),
        Value::Object(members) => members.get_mut(segment).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Vec::new()
        }
    }
}

fn insert_missing(members: &mut Map<String, Value>, member: &str, value: Value) {
    if is_missing(members, member) {
        members.insert(member.into(), value);
    }
}

pub(crate) fn insert_empty(members: &mut Map<String, Value>, member: &str, value: Value) {
    if is_empty(members, member) {
        members.insert(member.into(), value);
    }
}

/// The same in one of many items, if there is room for it.
fn fill_missing(members: &mut Map<String, Value>, member: &str, value: Value, room: &mut Room) {
    if is_missing(members, member) && room.takes_member(member, &value) {
        members.insert(member.into(), value);
    }
}

fn fill_empty(members: &mut Map<String, Value>, member: &str, value: Value, room: &mut Room) {
    if is_empty(members, member) && room.takes_member(member, &value) {
        members.insert(member.into(), value);
    }
}

/// Adds the amounts that another map has and this one lacks, if there is room for them.
fn fill_absent(amounts: &mut Map<String, Value>, other: Option<&Value>, room: &mut Room) {
    for (name, amount) in other.and_then(Value::as_object).into_iter().flatten() {
        if !amounts.contains_key(name) && room.takes_member(name, amount) {
            amounts.insert(name.clone(), amount.clone());
        }
    }
}

/// Moves `stringData`, which is write-only, into `data`.
fn fold_string_data(document: &mut Value) {
    let Some(root) = document.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = root.remove("stringData") else {
        return;
    };
    let data = root
        .entry("data")
        .or_insert_with(|| Value::Object(Map::new()));
    let Some(data) = data.as_object_mut() else {
        return;
    };
    for (key, value) in plain {
        data.insert(
            key,
            BASE64_STANDARD
                .encode(value.as_str().unwrap_or_default())
                .into(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::OBJECT_BYTES_MAX;
    use crate::testing::builtin_kind as kind;
    use serde_json::json;

    #[test]
    fn every_row_is_a_default_of_a_kind() {
        let count = |table: &str| table.lines().filter(|row| !row.is_empty()).count();
        assert_eq!(DEFAULTS.values().map(Vec::len).sum::<usize>(), count(ROWS));
        for (read, table) in [
            (&POD_DEFAULTS, POD_SPEC),
            (&CONTAINER_DEFAULTS, CONTAINER),
            (&PROBE_DEFAULTS, PROBE),
        ] {
            assert_eq!(read.len(), count(table), "{table}");
        }
        for resource in DEFAULTS.keys() {
            assert_eq!(&*kind(resource).resource.resource, *resource);
        }
    }

    #[test]
    fn what_is_missing_is_filled_and_what_is_there_stays() {
        let mut deployment = json!({"spec": {"replicas": 0, "template": {"spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": 1}]}]}}}});
        apply(&kind("deployments"), &mut deployment);
        assert_eq!(deployment["spec"]["replicas"], 0);
        assert_eq!(deployment["spec"]["revisionHistoryLimit"], 10);
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(pod["terminationGracePeriodSeconds"], 30);
        assert_eq!(pod["containers"][0]["ports"][0]["protocol"], "TCP");
    }

    #[test]
    fn what_is_empty_is_missing_where_upstreams_field_cannot_tell() {
        let probe = json!({"periodSeconds": 0, "initialDelaySeconds": 0});
        let container = json!({"name": "a", "terminationMessagePath": "", "livenessProbe": probe});
        let pod = json!({"restartPolicy": "", "terminationGracePeriodSeconds": 0,
            "containers": [container], "volumes": [{"name": "v", "hostPath": {"type": ""}}]});
        let mut document = json!({"spec": pod});
        apply(&kind("pods"), &mut document);
        let pod = &document["spec"];
        assert_eq!(pod["restartPolicy"], "Always");
        assert_eq!(pod["terminationGracePeriodSeconds"], 0);
        assert_eq!(pod["volumes"][0]["hostPath"]["type"], "");
        let container = &pod["containers"][0];
        assert_eq!(container["terminationMessagePath"], "/dev/termination-log");
        assert_eq!(container["livenessProbe"]["periodSeconds"], 10);
        assert_eq!(container["livenessProbe"]["initialDelaySeconds"], 0);
    }

    #[test]
    fn whoever_keeps_a_pod_has_it_completed() {
        let kinds = crate::builtin::kinds();
        let mut keepers = Vec::new();
        for (kind, way) in kinds
            .iter()
            .filter_map(|kind| Some((kind, kind.pod.as_ref()?)))
        {
            let pod = json!({"containers": [{"name": "a", "image": "i"}]});
            let steps = way.rsplit('.');
            let mut document = steps.fold(pod, |inner, step| json!({step: inner}));
            apply(kind, &mut document);
            let pod = format!("/{}", way.replace('.', "/"));
            let pod = document.pointer(&pod).expect("its pod");
            assert_eq!(pod["dnsPolicy"], "ClusterFirst", "{}", kind.resource);
            assert_eq!(pod["containers"][0]["imagePullPolicy"], "Always");
            let restarts = match &*kind.kind {
                "Job" | "CronJob" => Value::Null,
                _ => json!("Always"),
            };
            assert_eq!(pod["restartPolicy"], restarts, "{}", kind.resource);
            keepers.push(&*kind.kind);
        }
        keepers.sort_unstable();
        let upstream = "CronJob DaemonSet Deployment Job Pod PodTemplate ReplicaSet \
            ReplicationController StatefulSet";
        assert_eq!(keepers.join(" "), upstream);
    }

    #[test]
    fn what_has_many_places_for_defaults_does_not_become_endless() {
        const PLACES: usize = 300_000;
        let list = |item: Value| Value::from(vec![item; PLACES]);
        let request = json!({"exactly": {}});
        let resources = json!({"resources": {"limits": {"cpu": 1}}});
        for (resource, document) in [
            ("pods", json!({"spec": {"containers": list(json!({}))}})),
            ("pods", json!({"spec": {"volumes": list(json!({}))}})),
            (
                "pods",
                json!({"spec": {"containers": [{"ports": list(json!({}))}]}}),
            ),
            (
                "pods",
                json!({"spec": {"containers": vec![resources; 100_000]}}),
            ),
            ("services", json!({"spec": {"ports": list(json!({}))}})),
            (
                "rolebindings",
                json!({"subjects": vec![json!({"kind": "User"}); 150_000]}),
            ),
            (
                "resourceclaims",
                json!({"spec": {"devices": {"requests": vec![request; 150_000]}}}),
            ),
        ] {
            let mut document = document;
            let fits = apply_within(&kind(resource), &mut document, OBJECT_BYTES_MAX);
            let bytes = document.to_string().len();
            assert!(!fits, "{resource} {bytes}");
            let most = OBJECT_BYTES_MAX * 4 / 3;
            assert!(
                (OBJECT_BYTES_MAX..most).contains(&bytes),
                "{resource} {bytes}"
            );
        }
    }

    #[test]
    fn string_data_becomes_data() {
        for (plain, encoded) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            let mut secret = json!({"stringData": {"k": plain}});
            apply(&kind("secrets"), &mut secret);
            assert_eq!(secret["data"]["k"], encoded);
            assert_eq!(secret["stringData"], Value::Null);
        }
    }
}
