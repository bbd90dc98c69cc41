//! Functions of timestamps and durations. There is no `now`: evaluation must be deterministic.

use super::super::meter::{Fault, Meter};
use super::super::time;
use super::super::value::Value;
use super::Native;
use crate::duration;
use chrono::{DateTime, Datelike, Timelike, Utc};

type Result<T> = std::result::Result<T, Fault>;

const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLISECOND;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    let mut all: Vec<(&'static str, Native)> = vec![
        (
            "timestamp(string) timestamp\ntimestamp(timestamp) timestamp\ntimestamp(int) timestamp",
            timestamp,
        ),
        (
            "duration(string) duration\nduration(duration) duration",
            duration,
        ),
    ];
    all.extend(dates());
    all.extend(clocks());
    all
}

fn dates() -> [(&'static str, Native); 6] {
    [
        ("timestamp.getFullYear() int", |_, given| {
            date(given, |moment| i64::from(moment.year()))
        }),
        ("timestamp.getMonth() int", |_, given| {
            date(given, |moment| i64::from(moment.month0()))
        }),
        ("timestamp.getDate() int", |_, given| {
            date(given, |moment| i64::from(moment.day()))
        }),
        ("timestamp.getDayOfMonth() int", |_, given| {
            date(given, |moment| i64::from(moment.day0()))
        }),
        ("timestamp.getDayOfWeek() int", |_, given| {
            date(given, |moment| {
                i64::from(moment.weekday().num_days_from_sunday())
            })
        }),
        ("timestamp.getDayOfYear() int", |_, given| {
            date(given, |moment| i64::from(moment.ordinal0()))
        }),
    ]
}

fn clocks() -> [(&'static str, Native); 4] {
    [
        (
            "timestamp.getHours() int\nduration.getHours() int",
            |_, given| clock(given, 3600 * SECOND, |moment| i64::from(moment.hour())),
        ),
        (
            "timestamp.getMinutes() int\nduration.getMinutes() int",
            |_, given| clock(given, 60 * SECOND, |moment| i64::from(moment.minute())),
        ),
        (
            "timestamp.getSeconds() int\nduration.getSeconds() int",
            |_, given| clock(given, SECOND, |moment| i64::from(moment.second())),
        ),
        (
            "timestamp.getMilliseconds() int\nduration.getMilliseconds() int",
            |_, given| match given {
                [Value::Duration(span)] => Ok(Value::Int(span / MILLISECOND)),
                _ => date(given, |moment| i64::from(moment.timestamp_subsec_millis())),
            },
        ),
    ]
}

fn date<'a>(given: &[Value<'a>], part: fn(&DateTime<Utc>) -> i64) -> Result<Value<'a>> {
    match given {
        [Value::Timestamp(moment)] => Ok(Value::Int(part(moment))),
        _ => Err(Fault::no_overload()),
    }
}

fn clock<'a>(given: &[Value<'a>], unit: i64, part: fn(&DateTime<Utc>) -> i64) -> Result<Value<'a>> {
    match given {
        [Value::Duration(span)] => Ok(Value::Int(span / unit)),
        _ => date(given, part),
    }
}

fn timestamp<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let moment = match given {
        [Value::Timestamp(moment)] => Some(*moment),
        [Value::Text(text)] => {
            meter.text(text.as_str().len())?;
            time::timestamp(text.as_str())
        }
        [Value::Int(seconds)] => {
            DateTime::from_timestamp(*seconds, 0).filter(|moment| Value::moment(*moment).is_some())
        }
        _ => return Err(Fault::no_overload()),
    };
    let wrong = || Fault::failed("type conversion error to 'google.protobuf.Timestamp'");
    moment.map(Value::Timestamp).ok_or_else(wrong)
}

fn duration<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let span = match given {
        [Value::Duration(span)] => Some(*span),
        [Value::Text(text)] => {
            meter.text(text.as_str().len())?;
            duration::parse(text.as_str())
        }
        _ => return Err(Fault::no_overload()),
    };
    let wrong = || Fault::failed("type conversion error to 'google.protobuf.Duration'");
    span.map(Value::Duration).ok_or_else(wrong)
}
