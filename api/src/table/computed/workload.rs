//! Cells of pods, of the kinds that create them, and of nodes.

use super::{
    at, condition, flag, holds, is_deleting, joined, labels, list, number, or_none, reference,
    since, text,
};
use hindsight_core::Time;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const METRICS_MAX: usize = 2;
const NODE_ROLE: &str = "node-role.kubernetes.io/";

pub(super) fn cell(name: &str, object: &Value, now: Time) -> Option<Value> {
    Some(match name {
        "readiness-gates" => json!(readiness_gates(object)),
        "pod-labels" => json!(labels(object, "template.metadata.labels")),
        "selector" => json!(selector(object)),
        "node-selector" => json!(labels(object, "spec.template.spec.nodeSelector")),
        "controller" => json!(controller(object)),
        "replicas" => json!(format!(
            "{}/{}",
            number(object, "status.readyReplicas"),
            number(object, "spec.replicas")
        )),
        "completions" => json!(completions(object)),
        "duration" => duration(object, now),
        "job-status" => json!(job_status(object)),
        "suspend" => json!(if flag(object, "spec.suspend") {
            "True"
        } else {
            "False"
        }),
        "active" => json!(list(object, "status.active").len()),
        "last-schedule" => match since(object, "status.lastScheduleTime", now) {
            Value::String(unknown) if unknown == "<unknown>" => json!("<none>"),
            ago => ago,
        },
        "min-available" => limit(object, "spec.minAvailable"),
        "max-unavailable" => limit(object, "spec.maxUnavailable"),
        "scale-target" => json!(reference(object, "spec.scaleTargetRef")),
        "targets" => json!(targets(object)),
        "min-pods" => match at(object, "spec.minReplicas").and_then(Value::as_i64) {
            Some(least) => json!(least.to_string()),
            None => json!("<unset>"),
        },
        "max-pods" => json!(number(object, "spec.maxReplicas")),
        "current-pods" => json!(number(object, "status.currentReplicas")),
        "node-status" => json!(node_status(object)),
        "roles" => json!(roles(object)),
        "internal-ip" => json!(node_address(object, "InternalIP")),
        "node-external-ip" => json!(node_address(object, "ExternalIP")),
        _ => return None,
    })
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let open = gates.iter().filter(|gate| {
        let wanted = text(gate, "conditionType");
        holds(pod, wanted)
    });
    format!("{}/{}", open.count(), gates.len())
}

/// A member of each container of the pod that the object holds at this path.
pub(in crate::table) fn containers(pod: &str, member: &str, object: &Value) -> Value {
    let pod = at(object, pod).unwrap_or(&Value::Null);
    let containers = list(pod, "containers").iter();
    json!(joined(containers.map(|one| text(one, member))))
}

/// A label selector, or a plain map of labels.
fn selector(object: &Value) -> String {
    let paths = ["spec.selector", "spec.jobTemplate.spec.selector"];
    let mut found = paths
        .iter()
        .filter_map(|path| Some((path, at(object, path)?)));
    let Some((path, selector)) = found.next() else {
        return "<none>".into();
    };
    let is_plain =
        selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
    if is_plain {
        return labels(object, path);
    }
    label_selector(selector)
}

/// The requirements of a selector by their keys, and their values in order. Source: upstream's `FormatLabelSelector`.
pub(super) fn label_selector(selector: &Value) -> String {
    let equal = at(selector, "matchLabels").and_then(Value::as_object);
    let equal = equal.into_iter().flatten().map(|(key, value)| {
        let value = value.as_str().unwrap_or_default();
        (key.as_str(), format!("{key}={value}"))
    });
    let expressions = list(selector, "matchExpressions").iter();
    let expressions = expressions.map(|one| (text(one, "key"), requirement(one)));
    let mut said: Vec<(&str, String)> = equal.chain(expressions).collect();
    said.sort_by_key(|(key, _)| *key);
    let said: Vec<String> = said.into_iter().map(|(_, said)| said).collect();
    or_none(&said.join(","))
}

fn requirement(expression: &Value) -> String {
    let key = text(expression, "key");
    let values = list(expression, "values").iter().filter_map(Value::as_str);
    let mut values: Vec<&str> = values.collect();
    values.sort_unstable();
    let values = values.join(",");
    match text(expression, "operator") {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.into(),
    }
}

fn controller(object: &Value) -> String {
    let owners = list(object, "metadata.ownerReferences");
    let Some(owner) = owners.iter().find(|one| flag(one, "controller")) else {
        return "<none>".into();
    };
    let api_version = text(owner, "apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let kind = text(owner, "kind").to_lowercase();
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", text(owner, "name"))
}

fn completions(job: &Value) -> String {
    let done = number(job, "status.succeeded");
    match at(job, "spec.completions").and_then(Value::as_i64) {
        Some(wanted) => format!("{done}/{wanted}"),
        None if number(job, "spec.parallelism") > 1 => {
            format!("{done}/1 of {}", number(job, "spec.parallelism"))
        }
        None => format!("{done}/1"),
    }
}

fn duration(job: &Value, now: Time) -> Value {
    if text(job, "status.startTime").is_empty() {
        return json!("");
    }
    let end = Time::parse(text(job, "status.completionTime"));
    since(job, "status.startTime", end.unwrap_or(now))
}

fn job_status(job: &Value) -> &'static str {
    let fails = holds(job, "FailureTarget");
    match () {
        () if holds(job, "Complete") => "Complete",
        () if holds(job, "Failed") => "Failed",
        () if is_deleting(job) => "Terminating",
        () if holds(job, "Suspended") => "Suspended",
        () if fails => "FailureTarget",
        () if holds(job, "SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn limit(budget: &Value, path: &str) -> Value {
    match at(budget, path) {
        Some(Value::Number(number)) => json!(number.to_string()),
        Some(Value::String(share)) => json!(share),
        _ => json!("N/A"),
    }
}

/// The current and the target value of each metric; the third and later ones are only counted.
fn targets(autoscaler: &Value) -> String {
    let metrics = list(autoscaler, "spec.metrics");
    let current = list(autoscaler, "status.currentMetrics");
    let shown = metrics.iter().enumerate().take(METRICS_MAX);
    let shown: Vec<String> = shown
        .map(|(index, metric)| target(metric, current.get(index)))
        .collect();
    let more = metrics.len().saturating_sub(METRICS_MAX);
    match (shown.is_empty(), more) {
        (true, _) => "<none>".into(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} + {more} more...", shown.join(", ")),
    }
}

/// A quantity as text; it may be written as a number.
fn written(quantity: &Value) -> Option<String> {
    match quantity {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A quantity that Go prints although it is not there.
const NIL: &str = "<nil>";
const UNKNOWN: &str = "<unknown>";

/// One metric, as in `cpu: 50%/80%`: the form of its target decides for both sides, and only metrics of resources show
/// a name. Source: upstream's `formatHPAMetrics`.
fn target(metric: &Value, current: Option<&Value>) -> String {
    let member = match text(metric, "type") {
        "External" => "external",
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".into(),
    };
    let wanted = at(metric, &format!("{member}.target"));
    let is = current
        .and_then(|all| all.get(member))
        .filter(|one| !one.is_null());
    let amount = |of: Option<&Value>, form: &str| of.and_then(|of| written(of.get(form)?));
    let now = |form: &str| amount(is?.get("current"), form);
    let printed = |form: &str| match is {
        Some(is) => amount(is.get("current"), form).unwrap_or(NIL.into()),
        None => UNKNOWN.into(),
    };
    let average = amount(wanted, "averageValue");
    match (member, average) {
        ("external" | "object", Some(average)) => {
            let now = now("averageValue");
            format!("{}/{average} (avg)", now.as_deref().unwrap_or(UNKNOWN))
        }
        ("external" | "object", None) => {
            let wanted = amount(wanted, "value").unwrap_or(NIL.into());
            format!("{}/{wanted}", printed("value"))
        }
        ("pods", average) => {
            let average = average.unwrap_or(NIL.into());
            format!("{}/{average}", printed("averageValue"))
        }
        (_, average) => {
            let name = text(metric, &format!("{member}.name"));
            let share = |share: Option<String>| share.map(|share| format!("{share}%"));
            let (now, wanted) = match average {
                Some(average) => (printed("averageValue"), average),
                None => (
                    share(now("averageUtilization")).unwrap_or(UNKNOWN.into()),
                    share(amount(wanted, "averageUtilization")).unwrap_or("<auto>".into()),
                ),
            };
            format!("{name}: {now}/{wanted}")
        }
    }
}

fn node_status(node: &Value) -> String {
    let mut said = match condition(node, "Ready").map(|one| text(one, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if flag(node, "spec.unschedulable") {
        said.push_str(",SchedulingDisabled");
    }
    said
}

fn roles(node: &Value) -> String {
    let labels = at(node, "metadata.labels").and_then(Value::as_object);
    let roles = labels.into_iter().flatten().filter_map(|(key, value)| {
        let role = key.strip_prefix(NODE_ROLE);
        let old = (key == "kubernetes.io/role")
            .then(|| value.as_str())
            .flatten();
        role.or(old).filter(|role| !role.is_empty())
    });
    let roles: BTreeSet<&str> = roles.collect();
    joined(roles.into_iter())
}

fn node_address(node: &Value, kind: &str) -> String {
    let mut addresses = list(node, "status.addresses").iter();
    let found = addresses.find(|one| text(one, "type") == kind);
    or_none(found.map_or("", |one| text(one, "address")))
}
