//! The cells of one row.

use super::age::human;
use super::columns::{Column, Source};
use hindsight_core::Time;
use serde_json::{Number, Value, json};

pub(super) fn cells(columns: &[Column], object: &Value, now: Time) -> Vec<Value> {
    let cell = |column: &Column| match &column.source {
        Source::Named(source) => named(source, object, now),
        Source::Path(path) => {
            let found = path.first(object).unwrap_or_default();
            custom(&column.type_name, found, now)
        }
    };
    columns.iter().map(cell).collect()
}

/// A value as its column shows it; what is not of the column's type is not shown.
fn custom(type_name: &str, value: Value, now: Time) -> Value {
    match (type_name, &value) {
        ("string", Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_)) => {
            json!(value.to_string())
        }
        ("integer", Value::Number(number)) => whole(number),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", _) => value,
        ("date", Value::String(text)) if text.is_empty() => json!("<unknown>"),
        ("date", Value::String(text)) => Time::parse(text).map_or(json!("<invalid>"), |then| {
            json!(human((now.0 - then.0) / 1_000_000))
        }),
        _ => Value::Null,
    }
}

/// Digits behind the point are cut off.
fn whole(number: &Number) -> Value {
    let text = number
        .as_f64()
        .map(|number| format!("{:.0}", number.trunc()));
    let parsed = text.and_then(|text| text.parse::<i64>().ok());
    number.as_i64().or(parsed).map_or(Value::Null, Value::from)
}

fn named(source: &str, object: &Value, now: Time) -> Value {
    if let Some(path) = source.strip_prefix('#') {
        return at(object, path).cloned().unwrap_or(json!(0));
    }
    match source {
        "@age" => since(object, "metadata.creationTimestamp", now),
        "@data" => {
            let count = |member| {
                object
                    .get(member)
                    .and_then(Value::as_object)
                    .map_or(0, serde_json::Map::len)
            };
            json!(count("data") + count("binaryData"))
        }
        "@replicas" => {
            json!(format!(
                "{}/{}",
                number(object, "status.readyReplicas"),
                number(object, "spec.replicas")
            ))
        }
        "@completions" => {
            json!(format!(
                "{}/{}",
                number(object, "status.succeeded"),
                number(object, "spec.completions")
            ))
        }
        "@job-status" => json!(job_status(object)),
        "@ready" => json!(ready(object)),
        "@restarts" => json!(restarts(object)),
        "@pod-status" => json!(pod_status(object)),
        path => match at(object, path) {
            Some(Value::Null) | None => json!("<none>"),
            Some(value) => value.clone(),
        },
    }
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    object.pointer(&format!("/{}", path.replace('.', "/")))
}

fn number(object: &Value, path: &str) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or(0)
}

fn since(object: &Value, path: &str, now: Time) -> Value {
    let then = at(object, path)
        .and_then(Value::as_str)
        .and_then(Time::parse);
    then.map_or(json!("<unknown>"), |then| {
        json!(human((now.0 - then.0) / 1_000_000))
    })
}

fn containers(object: &Value) -> &[Value] {
    at(object, "status.containerStatuses")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn ready(pod: &Value) -> String {
    let total = at(pod, "spec.containers")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    let ready = containers(pod)
        .iter()
        .filter(|one| one.get("ready") == Some(&Value::Bool(true)));
    format!("{}/{total}", ready.count())
}

fn restarts(pod: &Value) -> i64 {
    containers(pod)
        .iter()
        .filter_map(|one| one.get("restartCount")?.as_i64())
        .sum()
}

/// Terminating beats the containers' reasons, which beat the phase.
fn pod_status(pod: &Value) -> String {
    if at(pod, "metadata.deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return "Terminating".into();
    }
    let reason = |one: &Value| {
        let state = ["/state/waiting/reason", "/state/terminated/reason"];
        let found = state
            .iter()
            .find_map(|pointer| one.pointer(pointer)?.as_str());
        found.map(str::to_owned)
    };
    let own = at(pod, "status.reason")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let phase = || {
        at(pod, "status.phase")
            .and_then(Value::as_str)
            .unwrap_or("Unknown")
            .to_owned()
    };
    containers(pod)
        .iter()
        .find_map(reason)
        .or(own)
        .unwrap_or_else(phase)
}

fn job_status(job: &Value) -> &'static str {
    let conditions = at(job, "status.conditions").and_then(Value::as_array);
    let holds = |name: &str| {
        conditions.into_iter().flatten().any(|one| {
            one.get("type").and_then(Value::as_str) == Some(name)
                && one.get("status").and_then(Value::as_str) == Some("True")
        })
    };
    match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if at(job, "metadata.deletionTimestamp").is_some() => "Terminating",
        () if holds("Suspended") => "Suspended",
        () => "Running",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_the_type_of_their_column() {
        let now = Time::parse("2024-01-01T00:01:30Z").expect("a time");
        for (type_name, value, expected) in [
            ("string", json!("a"), json!("a")),
            ("string", json!(5), json!("5")),
            ("string", json!(true), json!("true")),
            ("string", json!(["a", 1]), json!("[\"a\",1]")),
            ("string", json!({"a": 1}), json!("{\"a\":1}")),
            ("string", Value::Null, Value::Null),
            ("integer", json!(5), json!(5)),
            ("integer", json!(5.9), json!(5)),
            ("integer", json!("5"), Value::Null),
            ("number", json!(5.5), json!(5.5)),
            ("boolean", json!(true), json!(true)),
            ("boolean", json!("true"), Value::Null),
            ("date", json!("2024-01-01T00:00:00Z"), json!("90s")),
            ("date", json!("yesterday"), json!("<invalid>")),
            ("date", json!(5), Value::Null),
        ] {
            assert_eq!(
                custom(type_name, value.clone(), now),
                expected,
                "{type_name} {value}"
            );
        }
    }
}
