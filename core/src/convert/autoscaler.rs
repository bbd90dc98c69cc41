//! `HorizontalPodAutoscaler`s: `autoscaling/v1` has a single metric, the CPU; everything else is kept
//! in annotations, in the structures of v1. Source: `pkg/apis/autoscaling/v1/conversion.go`.

use crate::document::object_or_insert;
use crate::quantity::Quantity;
use serde_json::{Map, Value, json};

type Members = Map<String, Value>;
/// Paths in v1, with their counterparts in v2.
type Paths = &'static [(&'static str, &'static str)];

const PREFIX: &str = "autoscaling.alpha.kubernetes.io/";

/// The types of metrics: the member for each, and the paths of its fields in spec and status.
const SOURCES: [(&str, Paths, Paths); 5] = [
    (
        "resource",
        &[
            ("name", "name"),
            ("targetAverageUtilization", "target/averageUtilization"),
            ("targetAverageValue", "target/averageValue"),
        ],
        &[
            ("name", "name"),
            ("currentAverageUtilization", "current/averageUtilization"),
            ("currentAverageValue", "current/averageValue"),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name"),
            ("container", "container"),
            ("targetAverageUtilization", "target/averageUtilization"),
            ("targetAverageValue", "target/averageValue"),
        ],
        &[
            ("name", "name"),
            ("container", "container"),
            ("currentAverageUtilization", "current/averageUtilization"),
            ("currentAverageValue", "current/averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric/name"),
            ("selector", "metric/selector"),
            ("targetAverageValue", "target/averageValue"),
        ],
        &[
            ("metricName", "metric/name"),
            ("selector", "metric/selector"),
            ("currentAverageValue", "current/averageValue"),
        ],
    ),
    (
        "object",
        &[
            ("target", "describedObject"),
            ("metricName", "metric/name"),
            ("selector", "metric/selector"),
            ("targetValue", "target/value"),
            ("averageValue", "target/averageValue"),
        ],
        &[
            ("target", "describedObject"),
            ("metricName", "metric/name"),
            ("selector", "metric/selector"),
            ("currentValue", "current/value"),
            ("averageValue", "current/averageValue"),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "metric/name"),
            ("metricSelector", "metric/selector"),
            ("targetValue", "target/value"),
            ("targetAverageValue", "target/averageValue"),
        ],
        &[
            ("metricName", "metric/name"),
            ("metricSelector", "metric/selector"),
            ("currentValue", "current/value"),
            ("currentAverageValue", "current/averageValue"),
        ],
    ),
];

/// The type of a target, by the field that holds its value.
const TARGET_TYPES: [(&str, &str); 3] = [
    ("averageUtilization", "Utilization"),
    ("averageValue", "AverageValue"),
    ("value", "Value"),
];

/// The members of a behavior. In the annotation they begin with capitals, as in upstream's internal type, which is what
/// it writes there; like Go, this reads them in any case.
const OF_BEHAVIOR: [&str; 9] = [
    "scaleUp",
    "scaleDown",
    "stabilizationWindowSeconds",
    "selectPolicy",
    "policies",
    "tolerance",
    "type",
    "value",
    "periodSeconds",
];

/// v1 writes this even if it is 0, v2 does not.
const COUNT: &str = "currentReplicas";

pub(super) fn to_v2(object: &mut Members) {
    let metrics = take_annotation(object, "metrics");
    let behavior = take_annotation(object, "behavior");
    let current = take_annotation(object, "current-metrics");
    let conditions = take_annotation(object, "conditions");
    if let Some(spec) = member(object, "spec") {
        let cpu = spec.remove("targetCPUUtilizationPercentage");
        let cpu = cpu.filter(|cpu| !cpu.is_null()).map(|cpu| {
            json!({"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": cpu}}})
        });
        let rest = items(metrics)
            .into_iter()
            .map(|metric| newer(metric, |source| source.1));
        let metrics: Vec<Value> = cpu.into_iter().chain(rest).collect();
        put(
            spec,
            "metrics",
            Some(metrics)
                .filter(|list| !list.is_empty())
                .map(Value::Array),
        );
        put(spec, "behavior", behavior.map(|it| renamed(it, of_v2)));
    }
    let metrics = items(current)
        .into_iter()
        .map(|metric| newer(metric, |source| source.2));
    let metrics: Vec<Value> = metrics.collect();
    let status = member(object, "status");
    let Some(status) = status else { return };
    if status.get(COUNT) == Some(&json!(0)) {
        status.remove(COUNT);
    }
    let cpu = status.remove("currentCPUUtilizationPercentage");
    let cpu = cpu
        .filter(|cpu| metrics.is_empty() && !cpu.is_null())
        .map(|cpu| {
            json!([{"type": "Resource", "resource": {"name": "cpu",
            "current": {"averageUtilization": cpu}}}])
        });
    let metrics = Some(metrics).filter(|list| !list.is_empty());
    put(status, "currentMetrics", metrics.map(Value::Array).or(cpu));
    put(status, "conditions", conditions);
}

pub(super) fn to_v1(object: &mut Members) {
    let mut notes = Vec::new();
    if let Some(spec) = member(object, "spec") {
        let mut metrics = items(spec.remove("metrics"));
        if let Some(at) = metrics
            .iter()
            .position(|metric| utilization(metric, "target").is_some())
        {
            let cpu = metrics.remove(at);
            put(
                spec,
                "targetCPUUtilizationPercentage",
                utilization(&cpu, "target"),
            );
        }
        let older = metrics
            .into_iter()
            .map(|metric| older(metric, |source| source.1));
        notes.push(("metrics", older.collect()));
        let behavior = spec.remove("behavior").unwrap_or_default();
        notes.push(("behavior", renamed(behavior, capitalized)));
    }
    if let Some(status) = member(object, "status") {
        status.entry(COUNT).or_insert_with(|| json!(0));
        let metrics = items(status.remove("currentMetrics"));
        let cpu = metrics
            .iter()
            .find_map(|metric| utilization(metric, "current"));
        put(status, "currentCPUUtilizationPercentage", cpu);
        let older = metrics
            .into_iter()
            .map(|metric| older(metric, |source| source.2));
        notes.push(("current-metrics", older.collect()));
        notes.push((
            "conditions",
            status.remove("conditions").unwrap_or_default(),
        ));
    }
    for (name, value) in notes {
        annotate(object, name, &value);
    }
}

/// Returns the utilization, if the metric is about the CPU.
fn utilization(metric: &Value, side: &str) -> Option<Value> {
    let source = metric
        .get("resource")
        .filter(|source| source.get("name") == Some(&json!("cpu")))?;
    let value = source.get(side)?.get("averageUtilization")?;
    Some(value.clone()).filter(|value| !value.is_null())
}

type Source = (&'static str, Paths, Paths);

fn newer(metric: Value, side: fn(&Source) -> Paths) -> Value {
    let mut metric = moved(metric, side, |(v1, v2)| (v1, v2));
    for source in metric.as_object_mut().into_iter().flat_map(Map::values_mut) {
        let target = source.get_mut("target").and_then(Value::as_object_mut);
        let Some(target) = target else { continue };
        drop_zero_beside_average(target);
        let said = TARGET_TYPES
            .iter()
            .find(|(name, _)| target.contains_key(*name));
        if let Some((_, name)) = said {
            target.insert("type".into(), json!(name));
        }
    }
    metric
}

/// v1 says 0 for a value that an object's metric does not have. Source: upstream's pull request 137856.
fn drop_zero_beside_average(target: &mut Members) {
    let text = target.get("value").and_then(Value::as_str);
    let is_zero = text
        .and_then(Quantity::parse)
        .is_some_and(|value| value.sign() == 0);
    if is_zero && target.contains_key("averageValue") {
        target.remove("value");
    }
}

/// Names the members of a behavior in another way, and leaves out those that are null.
fn renamed(value: Value, name: fn(String) -> String) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            let renamed = members.map(|(key, value)| (name(key), renamed(value, name)));
            Value::Object(renamed.collect())
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|item| renamed(item, name));
            Value::Array(items.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn of_v2(key: String) -> String {
    let known = OF_BEHAVIOR
        .iter()
        .find(|known| known.eq_ignore_ascii_case(&key));
    known.map_or(key, |known| (*known).to_owned())
}

fn capitalized(mut key: String) -> String {
    if let Some(first) = key.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    key
}

fn older(metric: Value, side: fn(&Source) -> Paths) -> Value {
    moved(metric, side, |(v1, v2)| (v2, v1))
}

/// Moves the fields of a metric's source to their paths in the other version.
fn moved(
    mut metric: Value,
    side: fn(&Source) -> Paths,
    direction: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    for source in &SOURCES {
        let Some(old) = metric.get_mut(source.0).filter(|old| old.is_object()) else {
            continue;
        };
        let mut new = json!({});
        for (from, to) in side(source).iter().copied().map(direction) {
            if let Some(value) = old.pointer(&format!("/{from}")) {
                insert(&mut new, to, value.clone());
            }
        }
        *old = new;
    }
    metric
}

fn insert(document: &mut Value, path: &str, value: Value) {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(mut members) = document.as_object_mut() else {
        return;
    };
    if !parent.is_empty() {
        let inner = members.entry(parent).or_insert_with(|| json!({}));
        let Some(inner) = inner.as_object_mut() else {
            return;
        };
        members = inner;
    }
    members.insert(name.into(), value);
}

fn member<'a>(object: &'a mut Members, name: &str) -> Option<&'a mut Members> {
    object.get_mut(name).and_then(Value::as_object_mut)
}

fn items(list: Option<Value>) -> Vec<Value> {
    match list {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn put(members: &mut Members, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        members.insert(name.into(), value);
    }
}

/// Keeps what v1 cannot express as JSON in an annotation, unless it is empty.
fn annotate(object: &mut Members, name: &str, value: &Value) {
    let nothing = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let Some(metadata) = member(object, "metadata").filter(|_| !nothing) else {
        return;
    };
    if let Some(annotations) = object_or_insert(metadata, "annotations") {
        annotations.insert(format!("{PREFIX}{name}"), value.to_string().into());
    }
}

/// Removes an annotation and returns its value; one that is not JSON stays where it is.
fn take_annotation(object: &mut Members, name: &str) -> Option<Value> {
    let metadata = member(object, "metadata")?;
    let annotations = member(metadata, "annotations")?;
    let key = format!("{PREFIX}{name}");
    let value = serde_json::from_str(annotations.get(&key)?.as_str()?).ok()?;
    annotations.remove(&key);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    Some(value)
}

#[cfg(test)]
mod tests;
