//! The status of a pod: what its containers have come to, in one word. Source: `printPod` of upstream's
//! `pkg/printers/internalversion/printers.go`.

use super::{ago, at, flag, holds, is_deleting, list, number, text};
use hindsight_core::Time;
use serde_json::{Value, json};

/// The reason of a pod that is held back from scheduling by its gates.
const GATED: &str = "SchedulingGated";

pub(super) fn cell(name: &str, pod: &Value, now: Time) -> Option<Value> {
    Some(match name {
        "ready" => json!(format!("{}/{}", Pod::of(pod).ready, long_running(pod))),
        "restarts" => json!(Pod::of(pod).restarts.shown(now)),
        "pod-status" => json!(status(pod)),
        _ => return None,
    })
}

/// The condition of a row whose pod is over.
pub(in crate::table) fn completed(pod: &Value) -> Option<Value> {
    let phase = text(pod, "status.phase");
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!({"type": "Completed", "status": "True", "reason": phase, "message": message}))
}

/// The status. A deletion takes precedence over what the containers say, but a finished pod is not shown as
/// terminating.
fn status(pod: &Value) -> String {
    let is_over = matches!(text(pod, "status.phase"), "Succeeded" | "Failed");
    if is_deleting(pod) && text(pod, "status.reason") == "NodeLost" {
        "Unknown".into()
    } else if is_deleting(pod) && !is_over {
        "Terminating".into()
    } else {
        Pod::of(pod).reason
    }
}

/// The number of containers that are to run as long as the pod does.
fn long_running(pod: &Value) -> usize {
    let init = list(pod, "spec.initContainers");
    let sidecars = init.iter().filter(|one| is_sidecar(one));
    list(pod, "spec.containers").len() + sidecars.count()
}

/// Whether an init container is a sidecar: it starts before the main containers, and keeps running beside them.
fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

/// How often containers were restarted, and when the last of the earlier runs ended.
#[derive(Debug, Default, Clone, Copy)]
struct Restarts {
    count: i64,
    last: Option<Time>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(number(container, "restartCount"));
        let ended = Time::parse(text(container, "lastState.terminated.finishedAt"));
        self.last = self.last.max(ended);
    }

    fn shown(self, now: Time) -> String {
        match self.last.filter(|_| self.count != 0) {
            None => self.count.to_string(),
            Some(last) => {
                format!("{} ({} ago)", self.count, ago(last, now))
            }
        }
    }
}

struct Pod {
    reason: String,
    ready: usize,
    restarts: Restarts,
}

impl Pod {
    fn of(pod: &Value) -> Self {
        let mut found = Self {
            reason: reason(pod).into(),
            ready: 0,
            restarts: Restarts::default(),
        };
        let mut sidecar_restarts = Restarts::default();
        let is_initializing = found.read_init_containers(pod, &mut sidecar_restarts);
        if !is_initializing || holds(pod, "Initialized") {
            found.restarts = sidecar_restarts;
            found.read_containers(pod);
        }
        found
    }

    /// Reads the init containers, which run one after the other; true while they are not done.
    fn read_init_containers(&mut self, pod: &Value, sidecar_restarts: &mut Restarts) -> bool {
        let specified = list(pod, "spec.initContainers");
        let statuses = list(pod, "status.initContainerStatuses");
        for (index, container) in statuses.iter().enumerate() {
            let same = |one: &&Value| text(one, "name") == text(container, "name");
            let is_sidecar = specified.iter().find(same).is_some_and(is_sidecar);
            self.restarts.add(container);
            if is_sidecar {
                sidecar_restarts.add(container);
            }
            if is_done(container) {
                continue;
            }
            if is_sidecar && flag(container, "started") {
                self.ready += usize::from(flag(container, "ready"));
                continue;
            }
            let waits = text(container, "state.waiting.reason");
            self.reason = match ended(container) {
                Some(ended) => format!("Init:{ended}"),
                None if !matches!(waits, "" | "PodInitializing") => format!("Init:{waits}"),
                None => format!("Init:{index}/{}", specified.len()),
            };
            return true;
        }
        false
    }

    /// Reads the main containers; the reason that is shown is that of the first one that has one.
    fn read_containers(&mut self, pod: &Value) {
        let mut any_runs = false;
        for container in list(pod, "status.containerStatuses").iter().rev() {
            self.restarts.add(container);
            let waits = text(container, "state.waiting.reason");
            if !waits.is_empty() {
                self.reason = waits.into();
            } else if let Some(ended) = ended(container) {
                self.reason = ended;
            } else if flag(container, "ready") && at(container, "state.running").is_some() {
                any_runs = true;
                self.ready += 1;
            }
        }
        if any_runs && self.reason == "Completed" {
            let is_ready = holds(pod, "Ready");
            self.reason = if is_ready { "Running" } else { "NotReady" }.into();
        }
    }
}

/// The reason or phase in the pod's own status.
fn reason(pod: &Value) -> &str {
    let waits_at_gates = list(pod, "status.conditions")
        .iter()
        .any(|one| text(one, "type") == "PodScheduled" && text(one, "reason") == GATED);
    let said = [text(pod, "status.reason"), text(pod, "status.phase")];
    if waits_at_gates {
        return GATED;
    }
    said.into_iter()
        .find(|said| !said.is_empty())
        .unwrap_or_default()
}

/// How a container ended, if it did.
fn ended(container: &Value) -> Option<String> {
    let state = at(container, "state.terminated").filter(|state| !state.is_null())?;
    let (reason, signal) = (text(state, "reason"), number(state, "signal"));
    Some(if !reason.is_empty() {
        reason.into()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", number(state, "exitCode"))
    })
}

fn is_done(container: &Value) -> bool {
    ended(container).is_some() && number(container, "state.terminated.exitCode") == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_800_000_000_000_000);

    fn shown(pod: &Value) -> [Value; 3] {
        ["ready", "pod-status", "restarts"].map(|name| cell(name, pod, NOW).expect("a cell"))
    }

    fn pod(init: &Value, statuses: &Value) -> Value {
        json!({"spec": {"initContainers": init, "containers": [{"name": "c"}]},
            "status": statuses})
    }

    #[test]
    fn what_begins_a_pod_is_counted_until_it_is_done() {
        let init = json!([{"name": "a"}, {"name": "b"}]);
        let done =
            json!({"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        for (state, expected) in [
            (json!({"running": {}}), "Init:1/2"),
            (
                json!({"waiting": {"reason": "PodInitializing"}}),
                "Init:1/2",
            ),
            (
                json!({"waiting": {"reason": "CrashLoopBackOff"}}),
                "Init:CrashLoopBackOff",
            ),
            (json!({"terminated": {"exitCode": 3}}), "Init:ExitCode:3"),
            (
                json!({"terminated": {"exitCode": 0, "signal": 9}}),
                "Pending",
            ),
            (
                json!({"terminated": {"exitCode": 1, "signal": 9}}),
                "Init:Signal:9",
            ),
            (
                json!({"terminated": {"exitCode": 3, "reason": "Error"}}),
                "Init:Error",
            ),
        ] {
            let status = json!({"phase": "Pending",
                "initContainerStatuses": [done, {"name": "b", "state": state}]});
            assert_eq!(shown(&pod(&init, &status))[1], expected, "{state}");
        }
    }

    #[test]
    fn the_first_containers_reason_is_the_pods() {
        for (states, expected) in [
            (json!([{"terminated": {"exitCode": 1}}]), "ExitCode:1"),
            (
                json!([{"terminated": {"exitCode": 1, "signal": 9}}]),
                "Signal:9",
            ),
            (
                json!([{"waiting": {"reason": "ErrImagePull"}}, {"terminated": {"exitCode": 1}}]),
                "ErrImagePull",
            ),
            (
                json!([{"terminated": {"exitCode": 0, "reason": "Completed"}}, {"running": {}}]),
                "NotReady",
            ),
        ] {
            let states = states.as_array().expect("a list").iter();
            let statuses: Vec<Value> = states
                .map(|state| json!({"ready": true, "state": state}))
                .collect();
            let status = json!({"phase": "Running", "containerStatuses": statuses});
            assert_eq!(shown(&pod(&json!([]), &status))[1], expected, "{status}");
        }
    }

    /// Source: `hasPodReadyCondition`, which takes any.
    #[test]
    fn a_pod_is_ready_if_any_condition_says_so() {
        let ended = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let runs = json!({"ready": true, "state": {"running": {}}});
        for (second, expected) in [("True", "Running"), ("False", "NotReady")] {
            let status = json!({"phase": "Running", "containerStatuses": [ended, runs],
                "conditions": [{"type": "Ready", "status": "False"},
                    {"type": "Ready", "status": second}]});
            assert_eq!(shown(&pod(&json!([]), &status))[1], expected, "{status}");
        }
    }

    #[test]
    fn what_goes_on_beside_the_others_is_counted_with_them() {
        let init = json!([{"name": "a", "restartPolicy": "Always"}]);
        let status = json!({"phase": "Running",
            "initContainerStatuses": [{"name": "a", "started": true, "ready": true, "restartCount": 2}],
            "containerStatuses": [{"name": "c", "ready": true, "restartCount": 1,
                "state": {"running": {}}}]});
        assert_eq!(shown(&pod(&init, &status)), ["2/2", "Running", "3"]);
    }

    #[test]
    fn the_last_restart_has_a_time() {
        let ended = NOW.plus_seconds(-3600).to_rfc3339();
        let status = json!({"phase": "Running", "containerStatuses": [{"restartCount": 5,
            "lastState": {"terminated": {"finishedAt": ended}}}]});
        assert_eq!(shown(&pod(&json!([]), &status))[2], "5 (60m ago)");
    }

    #[test]
    fn a_pod_that_waits_at_scheduling_gates_says_so() {
        let gated = json!([{"type": "PodScheduled", "status": "False", "reason": GATED}]);
        let status = json!({"phase": "Pending", "conditions": gated});
        assert_eq!(shown(&pod(&json!([]), &status))[1], GATED);
    }
}
