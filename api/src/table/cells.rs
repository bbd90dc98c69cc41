//! The cells of one row.

use super::age::ago;
use super::columns::{Column, Source};
use super::computed::{self, at};
use super::jsonpath::Looks;
use hindsight_core::Time;
use serde_json::{Number, Value, json};
use std::io::{self, Write};

/// The most bytes that the texts of a row have together. Every column of a custom kind may show the whole object,
/// and a list has many rows; nobody reads a line of this length.
pub(super) const ROW_BYTES_MAX: usize = 1 << 20;
/// The end of a text of which the rest is not shown.
const CUT: &str = "...";

pub(super) fn cells(
    columns: &[Column],
    object: &Value,
    now: Time,
    looks: &mut Looks,
) -> Vec<Value> {
    let mut room = ROW_BYTES_MAX;
    let cell = |column: &Column| {
        let cell = match &column.source {
            Source::Member { path, missing } => member(object, path, missing),
            Source::Count(path) => at(object, path).cloned().unwrap_or(json!(0)),
            Source::Computed(name) => {
                computed::cell(name, object, now).unwrap_or(json!("<unknown>"))
            }
            Source::Containers { pod, member } => computed::containers(pod, member, object),
            Source::Path(path) => {
                let found = path.first(object, looks).unwrap_or(&Value::Null);
                custom(&column.type_name, found, now, room)
            }
        };
        let Value::String(text) = cell else {
            return cell;
        };
        let shown = if text.len() > room {
            cut(&text, room)
        } else {
            text
        };
        room = room.saturating_sub(shown.len());
        shown.into()
    };
    columns.iter().map(cell).collect()
}

/// A value as its column shows it; a value of another type is not shown. No more of it is written than there is
/// room for.
fn custom(type_name: &str, value: &Value, now: Time, room: usize) -> Value {
    match (type_name, value) {
        ("string", Value::String(text)) => cut(text, room).into(),
        ("string", Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_)) => {
            json_of(value, room).into()
        }
        ("integer", Value::Number(number)) => whole(number),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) if text.is_empty() => json!("<unknown>"),
        ("date", Value::String(text)) => {
            Time::parse(text).map_or(json!("<invalid>"), |then| json!(ago(then, now)))
        }
        _ => Value::Null,
    }
}

/// The text, or its beginning where there is no room for all of it.
fn cut(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(room.saturating_sub(CUT.len()));
    let begun = text.get(..end).unwrap_or_default();
    format!("{begun}{CUT}")
}

/// The same for the JSON of a value, of which only as much is written as is needed.
fn json_of(value: &Value, room: usize) -> String {
    let mut begun = Beginning {
        bytes: Vec::new(),
        // One more, so that it is seen where something is missing.
        limit: room.saturating_add(1),
    };
    // An error only says that there is more.
    drop(serde_json::to_writer(&mut begun, value));
    cut(&String::from_utf8_lossy(&begun.bytes), room)
}

/// Takes the beginning of what is written, and then refuses the rest.
struct Beginning {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.bytes.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

fn member(object: &Value, path: &str, missing: &str) -> Value {
    let found = at(object, path).filter(|value| !value.is_null() && *value != "");
    found.cloned().unwrap_or(json!(missing))
}

#[cfg(test)]
mod tests {
    use super::super::columns;
    use super::*;

    #[test]
    fn what_is_not_there_is_shown_as_its_column_says() {
        let object = json!({"a": {"b": "c", "empty": ""}, "count": 3});
        for (column, expected) in [
            ("A=a.b", json!("c")),
            ("A=a.b?", json!("c")),
            ("A=a.c", json!("<none>")),
            ("A=a.empty", json!("<none>")),
            ("A=a.c?", json!("")),
            ("A=a.c?<unset>", json!("<unset>")),
            ("A=#count", json!(3)),
            ("A=#a.c", json!(0)),
        ] {
            let made = columns::builtin(None, column);
            let shown = cells(made.as_slice(), &object, Time(0), &mut Looks::default());
            assert_eq!(shown, [expected], "{column}");
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
                custom(type_name, &value, now, ROW_BYTES_MAX),
                expected,
                "{type_name} {value}"
            );
        }
    }

    #[test]
    fn of_what_is_too_long_the_beginning_is_shown() {
        let two = "\u{e9}";
        for (value, room, expected) in [
            (json!("abcdef"), 6, "abcdef"),
            (json!("abcdef"), 5, "ab..."),
            (json!("abcdef"), 0, "..."),
            (json!(format!("a{two}cdef")), 5, "a..."),
            (json!([1, 2, 3]), 7, "[1,2,3]"),
            (json!([1, 2, 3]), 6, "[1,..."),
            (json!([two, two]), 5, "[\"..."),
            (json!(12345), 4, "1..."),
        ] {
            let now = Time(0);
            let shown = custom("string", &value, now, room);
            assert_eq!(shown, expected, "{value} in {room}");
        }
    }
}
