//! The cells of one row.

use super::age::human;
use super::columns::{Column, Source};
use super::computed::{self, at};
use hindsight_core::Time;
use serde_json::{Number, Value, json};

pub(super) fn cells(columns: &[Column], object: &Value, now: Time) -> Vec<Value> {
    let cell = |column: &Column| match &column.source {
        Source::Named(source) => named(source, object, now),
        Source::Containers { pod, member } => computed::containers(pod, member, object),
        Source::Path(path) => {
            let found = path.first(object).unwrap_or(&Value::Null);
            custom(&column.type_name, found, now)
        }
    };
    columns.iter().map(cell).collect()
}

/// A value as its column shows it; a value of another type is not shown.
fn custom(type_name: &str, value: &Value, now: Time) -> Value {
    match (type_name, value) {
        ("string", Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_)) => {
            json!(value.to_string())
        }
        ("integer", Value::Number(number)) => whole(number),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", _) => value.clone(),
        ("date", Value::String(text)) if text.is_empty() => json!("<unknown>"),
        ("date", Value::String(text)) => Time::parse(text).map_or(json!("<invalid>"), |then| {
            json!(human((now.0 - then.0) / 1_000_000))
        }),
        _ => Value::Null,
    }
}

/// A number as an integer; its fraction is cut off.
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
    if let Some(name) = source.strip_prefix('@') {
        return computed::cell(name, object, now);
    }
    let (path, missing) = source.split_once('?').unwrap_or((source, "<none>"));
    let found = at(object, path).filter(|value| !value.is_null() && *value != "");
    found.cloned().unwrap_or(json!(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_shown_as_its_column_says() {
        let now = Time::parse("2024-01-01T00:01:30Z").expect("a time");
        let object = json!({"a": {"b": "c", "empty": ""}, "count": 3});
        for (source, expected) in [
            ("a.b", json!("c")),
            ("a.b?", json!("c")),
            ("a.c", json!("<none>")),
            ("a.empty", json!("<none>")),
            ("a.c?", json!("")),
            ("a.c?<unset>", json!("<unset>")),
            ("#count", json!(3)),
            ("#a.c", json!(0)),
        ] {
            assert_eq!(named(source, &object, now), expected, "{source}");
        }
    }

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
                custom(type_name, &value, now),
                expected,
                "{type_name} {value}"
            );
        }
    }
}
