//! The form of schedules. Source: `ParseStandard` of the library that upstream reads them with,
//! `github.com/robfig/cron`.

use crate::duration;
use core::ops::RangeInclusive;

const FIELDS: usize = 5;
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const NAMED: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// What a field of a schedule may be: its numbers, and names for them from the first on.
type Bounds = (RangeInclusive<i64>, &'static [&'static str]);

const BOUNDS: [Bounds; FIELDS] = [
    (0..=59, &[]),
    (0..=23, &[]),
    (1..=31, &[]),
    (1..=12, MONTHS),
    (0..=6, DAYS),
];

/// Checks a schedule; the error says what is wrong with it, in the words of the library.
pub(super) fn parse(schedule: &str) -> Result<(), String> {
    let is_zone = schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=");
    let rest = schedule.split_once(' ').map_or("", |(_, rest)| rest.trim());
    let schedule = if is_zone { rest } else { schedule };
    if schedule.is_empty() {
        return Err("empty spec string".into());
    }
    if let Some(length) = schedule.strip_prefix("@every ") {
        let why = |why| format!("failed to parse duration {schedule}: {why}");
        return duration::read(length).map(|_| ()).map_err(why);
    }
    if schedule.starts_with('@') {
        let why = || format!("unrecognized descriptor: {schedule}");
        return NAMED.contains(&schedule).then_some(()).ok_or_else(why);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS {
        let count = fields.len();
        let listed = fields.join(" ");
        return Err(format!(
            "expected exactly {FIELDS} fields, found {count}: [{listed}]"
        ));
    }
    for (text, bounds) in fields.iter().zip(&BOUNDS) {
        for part in text.split(',').filter(|part| !part.is_empty()) {
            range(part, bounds)?;
        }
    }
    Ok(())
}

/// Checks one of the parts that commas separate: a number, a range, or either with a step.
fn range(text: &str, (bounds, names): &Bounds) -> Result<(), String> {
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts
        .first()
        .map_or("", |first| *first)
        .split('-')
        .collect();
    let (mut low, mut high) = (*bounds.start(), *bounds.end());
    if !matches!(ends.as_slice(), ["*" | "?", ..]) {
        let first = *bounds.start();
        low = number_or_name(ends.first().copied().unwrap_or(""), names, first)?;
        high = match ends.as_slice() {
            [_] => low,
            [_, last] => number_or_name(last, names, first)?,
            _ => return Err(format!("too many hyphens: {text}")),
        };
    }
    let mut step = 1;
    match parts.as_slice() {
        [_] => {}
        [_, every] => {
            step = number(every)?;
            if ends.len() == 1 {
                high = *bounds.end();
            }
        }
        _ => return Err(format!("too many slashes: {text}")),
    }
    let (least, most) = (bounds.start(), bounds.end());
    if low < *least {
        Err(format!(
            "beginning of range ({low}) below minimum ({least}): {text}"
        ))
    } else if high > *most {
        Err(format!(
            "end of range ({high}) above maximum ({most}): {text}"
        ))
    } else if low > high {
        Err(format!(
            "beginning of range ({low}) beyond end of range ({high}): {text}"
        ))
    } else if step == 0 {
        Err(format!("step of range should be a positive number: {text}"))
    } else {
        Ok(())
    }
}

fn number_or_name(text: &str, names: &[&str], first: i64) -> Result<i64, String> {
    let lower = text.to_lowercase();
    let found = (first..).zip(names).find(|(_, name)| **name == lower);
    found.map_or_else(|| number(text), |(number, _)| Ok(number))
}

fn number(text: &str) -> Result<i64, String> {
    let found: i64 = text.parse().map_err(|_unreadable| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
    })?;
    if found < 0 {
        return Err(format!("negative number ({found}) not allowed: {text}"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_say_when() {
        for schedule in [
            "* * * * *",
            "*/5 0-23/2 1,15 JAN-dec sun",
            "? 5/10 1 1 0",
            "@daily",
            "@every 1h30m",
            "@every .5s",
            "@every 5.s",
            "@every -1.5h",
            "TZ=UTC 1 * * * *",
        ] {
            assert_eq!(parse(schedule), Ok(()), "{schedule}");
        }
        for (schedule, why) in [
            ("", "empty spec string"),
            ("* *", "expected exactly 5 fields, found 2: [* *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "a * * * *",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
            ),
            ("@often", "unrecognized descriptor: @often"),
            (
                "@every day",
                "failed to parse duration @every day: time: invalid duration \"day\"",
            ),
            (
                "@every .s",
                "failed to parse duration @every .s: time: invalid duration \".s\"",
            ),
            (
                "@every 1.2.3s",
                "failed to parse duration @every 1.2.3s: time: missing unit in duration \"1.2.3s\"",
            ),
            (
                "@every 5",
                "failed to parse duration @every 5: time: missing unit in duration \"5\"",
            ),
            (
                "@every 1d",
                "failed to parse duration @every 1d: time: unknown unit \"d\" in duration \"1d\"",
            ),
            (
                "@every 9999999h",
                "failed to parse duration @every 9999999h: time: invalid duration \"9999999h\"",
            ),
        ] {
            assert_eq!(parse(schedule), Err(why.into()), "{schedule}");
        }
    }
}
