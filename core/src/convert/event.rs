//! Events: the form of the core group, in which they are stored, and that of `events.k8s.io`, in
//! which most fields have other names. Source: `pkg/apis/events/v1/conversion.go`.

use serde_json::{Map, Value};

/// Names in `events.k8s.io`, and in the core group.
const FIELDS: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];

pub(super) fn to_core(event: &mut Map<String, Value>) {
    for (name, core) in FIELDS {
        rename(event, name, core);
    }
}

pub(super) fn from_core(event: &mut Map<String, Value>) {
    for (name, core) in FIELDS {
        rename(event, core, name);
    }
}

fn rename(event: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = event.remove(from) {
        event.insert(to.into(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_goes_there_and_back() {
        let new = json!({"note": "n", "reason": "r", "regarding": {"kind": "Pod"}, "type": "Normal",
            "reportingController": "c", "reportingInstance": "i", "deprecatedCount": 2,
            "series": {"count": 3}, "eventTime": null, "deprecatedSource": {"component": "x"}});
        let mut event = new.as_object().cloned().expect("an object");
        to_core(&mut event);
        let core = json!({"message": "n", "reason": "r", "involvedObject": {"kind": "Pod"},
            "type": "Normal", "reportingComponent": "c", "reportingInstance": "i", "count": 2,
            "series": {"count": 3}, "eventTime": null, "source": {"component": "x"}});
        assert_eq!(Value::Object(event.clone()), core);
        from_core(&mut event);
        assert_eq!(Value::Object(event), new);
    }
}
