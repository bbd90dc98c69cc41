//! Since when a persistent volume has been in its phase. Source: the strategies of upstream's
//! `pkg/registry/core/persistentvolume`.

use crate::Time;
use serde_json::{Value, json};

const SINCE: &str = "lastPhaseTransitionTime";

/// The status of a new volume.
pub(super) fn pending(now: Time) -> Value {
    json!({"phase": "Pending", SINCE: now.to_rfc3339()})
}

/// Notes when the phase changed, unless the client says so itself. Both documents are complete.
pub(super) fn note_phase(old: &Value, next: &mut Value, now: Time) {
    let before = old.get("status").unwrap_or(&Value::Null);
    let Some(after) = next.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    let has_moved = before.get("phase") != after.get("phase");
    let is_told = after.get(SINCE).is_some_and(Value::is_string);
    let is_same = before.get(SINCE) == after.get(SINCE);
    if has_moved && (is_same || !is_told) {
        after.insert(SINCE.into(), now.to_rfc3339().into());
    } else if let Some(since) = before.get(SINCE).filter(|_| !is_told) {
        after.insert(SINCE.into(), since.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_phase_moves_with_it() {
        let now = Time(1_700_000_000_000_000);
        let (then, told) = ("2023-01-01T00:00:00Z", "2023-02-02T00:00:00Z");
        let old = json!({"status": {"phase": "Pending", SINCE: then}});
        let moved = now.to_rfc3339();
        for (phase, sent, expected) in [
            ("Pending", None, then),
            ("Pending", Some(told), told),
            ("Available", None, &*moved),
            ("Available", Some(then), &*moved),
            ("Available", Some(told), told),
        ] {
            let mut next = json!({"status": {"phase": phase}});
            if let Some(sent) = sent {
                next["status"][SINCE] = sent.into();
            }
            note_phase(&old, &mut next, now);
            assert_eq!(next["status"][SINCE], expected, "{phase} {sent:?}");
        }
        let stored = json!({"status": {"phase": "Pending"}});
        let mut same = stored.clone();
        note_phase(&stored, &mut same, now);
        assert_eq!(same, stored);
    }
}
