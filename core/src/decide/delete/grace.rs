//! Grace periods: only pods have them, and only while they run.

use crate::Time;
use crate::kind::Kind;
use crate::object::Object;
use serde_json::Value;

/// How a deletion handles the grace period of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grace {
    /// The type has no grace period, or it is over.
    None,
    /// The first request: a period of so many seconds from now.
    First(i64),
    /// A later request shortens the period.
    Shorter {
        /// The new period.
        seconds: i64,
        /// Its end.
        end: Time,
    },
    /// A deletion is under way and this request does not shorten its period.
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
                // From an end at the latest possible time one cannot compute when the deletion was
                // requested.
                let end = if end == Time::MAX {
                    now.plus_seconds(seconds)
                } else {
                    end.plus_seconds(seconds - old)
                };
                // A period that is already over ends now, as if one second had been asked for.
                let seconds = if end < now { seconds.min(1) } else { seconds };
                Self::Shorter { seconds, end }
            }
            Some(_) | None => Self::Pending,
        }
    }

    /// The value of `deletionGracePeriodSeconds`.
    pub(super) const fn seconds(self) -> i64 {
        match self {
            Self::None | Self::Pending => 0,
            Self::First(seconds) | Self::Shorter { seconds, .. } => seconds,
        }
    }

    /// The value of `deletionTimestamp`.
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

/// The grace period that admission sees in the options of a deletion, once the object has been looked at.
/// Source: upstream's `BeforeDelete`, which writes it there.
pub fn admission_grace(kind: &Kind, object: &Object, asked: Option<i64>) -> Option<i64> {
    let asked = asked.map(at_least_one);
    if !kind.strategy.graceful || object.is_deleting() {
        return asked;
    }
    Some(first(object, asked))
}

/// A negative period counts as one second, as upstream.
const fn at_least_one(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

/// The period of a first request: none for a pod that is on no node or has finished.
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
