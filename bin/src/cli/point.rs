//! Points in the past, as they are typed.

use crate::effects;
use anyhow::{Result, bail};
use hindsight_api::AsOf;
use hindsight_core::Time;
use std::time::Duration;

/// A point in the past, and how it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) text: String,
    pub(super) at: AsOf,
}

impl Point {
    /// Refuses a time that lies ahead, which would otherwise be answered with the newest state.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(ahead) = self.ahead() {
            bail!("{ahead}; leave --as-of out to see the current state");
        }
        Ok(())
    }

    /// The point as it follows what was so then.
    pub(super) fn told(&self) -> String {
        match self.at {
            AsOf::Revision(revision) => format!(" at revision {revision}"),
            AsOf::Time(_) => format!(" as of {}", self.text),
        }
    }

    /// Says so if this is a time that lies ahead.
    pub(super) fn ahead(&self) -> Option<String> {
        let now = effects::now();
        match self.at {
            AsOf::Time(time) if time > now => Some(format!(
                "{} is in the future: it is now {}",
                self.text,
                now.to_rfc3339()
            )),
            AsOf::Time(_) | AsOf::Revision(_) => None,
        }
    }

    /// Older servers understand only full times, so dates and ages are sent as such.
    fn of(time: Time) -> Self {
        Self {
            text: time.to_rfc3339_micros(),
            at: AsOf::Time(time),
        }
    }
}

/// Parses a revision, a time, a date, which begins in UTC, or an age by this machine's clock.
pub(super) fn point(text: &str) -> Result<Point, String> {
    if let Some(at) = AsOf::parse(text) {
        let text = text.to_owned();
        return Ok(Point { text, at });
    }
    let date = Time::parse(&format!("{text}T00:00:00Z"));
    let time = date.or_else(|| {
        Some(before(
            effects::now(),
            humantime::parse_duration(text).ok()?,
        ))
    });
    time.map(Point::of).ok_or_else(|| {
        "expected a revision, such as 42, an RFC 3339 time, such as 2026-01-31T12:00:00Z, a date in UTC, such as \
         2026-01-31, or how long ago, such as 90m or 7d"
            .into()
    })
}

fn before(now: Time, age: Duration) -> Time {
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    Time(now.0.saturating_sub(age)).max(Time::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_revision_a_time_a_date_or_an_age() {
        for (typed, asked) in [
            ("42", "42"),
            ("2026", "2026"),
            ("2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00+01:00"),
            ("2026-01-31", "2026-01-31T00:00:00.000000Z"),
            ("9999999y", "0001-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(point(typed).expect(typed).text, asked);
        }
        let begun = effects::now();
        for (typed, seconds) in [
            ("90s", 90),
            ("1h", 3_600),
            ("1h 30m", 5_400),
            ("7d", 604_800),
            ("1m", 60),
            ("1M", 2_630_016),
            ("1y", 31_557_600),
        ] {
            let AsOf::Time(time) = point(typed).expect(typed).at else {
                panic!("{typed} is no time");
            };
            let spread = time.0 - (begun.0 - seconds * 1_000_000);
            assert!((0..60_000_000).contains(&spread), "{typed}: {spread}");
        }
        for typed in ["", "yesterday", "-1", "+7", "-1h", "2026-13-01", "5parsecs"] {
            let told = point(typed).expect_err(typed);
            assert!(
                told.contains("such as 2026-01-31, or how long ago"),
                "{told}"
            );
        }
    }
}
