//! Grace periods: only pods have them, and only while they run.

use crate::Time;
use crate::kind::Kind;
use crate::object::Object;
use serde_json::Value;

/// How a deletion treats the object's time to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grace {
    /// The type has no grace, or its grace is over.
    None,
    /// The first request: so many seconds from now.
    First(i64),
    /// A later request shortens the period, which now ends then.
    Shorter {
        /// The new period.
        seconds: i64,
        /// Its end.
        end: Time,
    },
    /// A deletion is under way and this request does not shorten it.
    Pending,
}

impl Grace {
    pub(super) fn of(kind: &Kind, object: &Object, asked: Option<i64>, now: Time) -> Self {
        if !kind.strategy.graceful {
            return Self::None;
        }
        let asked = asked.map(at_least_one);
        let Some(end) = object.meta.deletion_timestamp else {
            return Self::First(first(object, asked));
        };
        let old = object
            .meta
            .deletion_grace_period_seconds
            .map_or(0, at_least_one);
        match asked {
            _ if old == 0 => Self::None,
            Some(seconds) if seconds < old => {
                // An end behind all times does not tell when it was asked for.
                let end = if end == Time::MAX {
                    now.plus_seconds(seconds)
                } else {
                    end.plus_seconds(seconds - old)
                };
                // What is over already ends now, as if a second had been asked for.
                let seconds = if end < now { seconds.min(1) } else { seconds };
                Self::Shorter { seconds, end }
            }
            Some(_) | None => Self::Pending,
        }
    }

    /// What is written to `deletionGracePeriodSeconds`.
    pub(super) const fn seconds(self) -> i64 {
        match self {
            Self::None | Self::Pending => 0,
            Self::First(seconds) | Self::Shorter { seconds, .. } => seconds,
        }
    }

    /// What is written to `deletionTimestamp`.
    pub(super) fn deletion_time(self, now: Time) -> Time {
        match self {
            Self::None | Self::Pending => now,
            Self::First(seconds) => now.plus_seconds(seconds),
            Self::Shorter { end, .. } => end.max(now),
        }
    }

    pub(super) const fn shortens(self) -> bool {
        matches!(self, Self::Shorter { .. })
    }
}

/// The seconds to stop as they stand in the options of a deletion once the object has been looked at,
/// which is how whoever admits it sees them. Source: upstream's `BeforeDelete`, which writes them there.
pub fn grace_told(kind: &Kind, object: &Object, asked: Option<i64>) -> Option<i64> {
    let asked = asked.map(at_least_one);
    if !kind.strategy.graceful || object.is_deleting() {
        return asked;
    }
    Some(first(object, asked))
}

/// Upstream reads a negative period as one second.
const fn at_least_one(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

/// A pod that no node runs, or that has finished, gets no time.
fn first(object: &Object, asked: Option<i64>) -> i64 {
    let document = object.document();
    let text = |pointer: &str| {
        document
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    let finished = matches!(text("/status/phase"), "Succeeded" | "Failed");
    if text("/spec/nodeName").is_empty() || finished {
        return 0;
    }
    let own = document
        .pointer("/spec/terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    asked.or(own).map_or(0, at_least_one)
}
