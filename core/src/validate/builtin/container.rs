//! Containers: what all have in common, and what each list of them adds. Source: `validateContainers`,
//! `validateInitContainers`, `validateEphemeralContainers` and `validateContainerCommon` of upstream's
//! `pkg/apis/core/validation`.

use super::amounts::resources;
use super::mounts::{self, Held};
use super::{Field, pod, probe, shown, variables};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, names};
use serde_json::json;
use std::collections::BTreeSet;

pub(super) use super::amounts::amounts;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const MESSAGES: [&str; 2] = ["File", "FallbackToLogsOnError"];
const PULLS: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const RESIZED: [&str; 2] = ["cpu", "memory"];
const RESIZES: [&str; 2] = ["NotRequired", "RestartContainer"];
const RESTARTS: [&str; 3] = ["Always", "Never", "OnFailure"];

/// Checks the containers of a pod, and what they use of what it holds.
pub(super) fn all(spec: &Field<'_>, held: &Held<'_>, causes: &mut CauseList) {
    let grace = spec.child("terminationGracePeriodSeconds").value.as_i64();
    let own = spec.child("containers");
    if own.is_empty() {
        causes.push_with(|| own.required(""));
    }
    let mut names = BTreeSet::new();
    let mut ports = BTreeSet::new();
    for container in own.items() {
        if causes.is_full() {
            return;
        }
        common(&container, held, causes);
        let name = container.child("name");
        if !names.insert(name.text()) {
            causes.push_with(|| FieldCause::duplicate(name.path.as_str(), &json!(name.text())));
        }
        probe::all(&container, grace, causes);
        restarts(&container, causes);
    }
    for container in own.items() {
        host_ports(&container, &container.path, &mut ports, causes);
    }
    for container in spec.child("initContainers").items() {
        if causes.is_full() {
            return;
        }
        common(&container, held, causes);
        restarts(&container, causes);
        let name = container.child("name");
        if names.contains(name.text()) {
            causes.push_with(|| FieldCause::duplicate(name.path.as_str(), &json!(name.text())));
        } else if !name.is_empty() {
            names.insert(name.text());
        }
        // Upstream looks at them one by one, each as if it were the first.
        let first = format!("{}.initContainers[0]", spec.path);
        host_ports(&container, &first, &mut BTreeSet::new(), causes);
        if container.child("restartPolicy").text() == "Always" {
            probe::all(&container, grace, causes);
        } else {
            probe::none(&container, causes);
        }
    }
    ephemeral(spec, &mut names, held, causes);
}

fn ephemeral<'a>(
    spec: &Field<'a>,
    names: &mut BTreeSet<&'a str>,
    held: &Held<'_>,
    causes: &mut CauseList,
) {
    let targets = names.clone();
    for container in spec.child("ephemeralContainers").items() {
        common(&container, held, causes);
        trimmed(&[container.child("image")], causes);
        let (name, target) = (
            container.child("name"),
            container.child("targetContainerName"),
        );
        if !names.insert(name.text()) {
            causes.push_with(|| FieldCause::duplicate(name.path.as_str(), &json!(name.text())));
        }
        if !target.is_empty() && !targets.contains(target.text()) {
            causes.push_with(|| target.not_found());
        }
    }
}

fn common(container: &Field<'_>, held: &Held<'_>, causes: &mut CauseList) {
    let (name, image) = (container.child("name"), container.child("image"));
    if name.is_empty() {
        causes.push_with(|| name.required(""));
    } else {
        name.refuse(names::label(name.text()).err(), causes);
    }
    if image.is_empty() {
        causes.push_with(|| image.required(""));
    }
    let policy = container.child("terminationMessagePolicy");
    policy.one_of(&MESSAGES, causes);
    ports(container, causes);
    variables::all(container, causes);
    mounts::mounts(container, held, causes);
    mounts::devices(container, held, causes);
    container.child("imagePullPolicy").one_of(&PULLS, causes);
    let amounts = container.child("resources");
    resources(&amounts, causes);
    mounts::claims(&amounts.child("claims"), held, causes);
    resizes(&container.child("resizePolicy"), causes);
    let security = container.child("securityContext");
    pod::identities(&security, &["runAsUser", "runAsGroup"], causes);
    pod::seccomp(&security.child("seccompProfile"), causes);
    escalation(&security, causes);
}

/// Upstream's reports do not say which policy is wrong. Source: `validateResizePolicy`.
fn resizes(list: &Field<'_>, causes: &mut CauseList) {
    let mut seen = BTreeSet::new();
    for policy in list.items() {
        let resource = policy.child("resourceName");
        if !seen.insert(resource.text()) {
            let field = policy.path.as_str();
            causes.push_with(|| FieldCause::duplicate(field, &json!(resource.text())));
        }
        let known = [
            (resource, &RESIZED),
            (policy.child("restartPolicy"), &RESIZES),
        ];
        for (text, known) in known {
            let text = text.text();
            if text.is_empty() {
                causes.push_with(|| list.required(""));
            } else if !known.contains(&text) {
                let field = list.path.as_str();
                causes.push_with(|| FieldCause::not_supported(field, text, known));
            }
        }
    }
}

/// A container that may not gain privileges has none that it would have to gain. Source:
/// `ValidateSecurityContext`.
fn escalation(context: &Field<'_>, causes: &mut CauseList) {
    let escalates = context.child("allowPrivilegeEscalation");
    if escalates.is_absent() || escalates.is_true() {
        return;
    }
    let mut refuse = |what: &str| {
        causes.push_with(|| {
            let shown = shown::object(context.value, shown::SECURITY_CONTEXT);
            let why = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            context.invalid_as(&shown, &why)
        });
    };
    if context.child("privileged").is_true() {
        refuse("`privileged` to true");
    }
    for capability in context.at("capabilities.add").items() {
        if capability.text() == "CAP_SYS_ADMIN" {
            refuse("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
}

/// Source: `validateContainerPorts`.
fn ports(container: &Field<'_>, causes: &mut CauseList) {
    let mut known = BTreeSet::new();
    for port in container.child("ports").items() {
        let (name, own) = (port.child("name"), port.child("containerPort"));
        if !name.is_empty() {
            let problems = formats::port_name(name.text());
            if problems.is_empty() && !known.insert(name.text()) {
                causes.push_with(|| name.duplicate());
            }
            name.refuse(problems, causes);
        }
        if own.is_empty() {
            causes.push_with(|| own.required(""));
        }
        for place in [&own, &port.child("hostPort")] {
            if place.number() != 0 && !formats::is_port(place.number()) {
                causes.push_with(|| place.invalid(formats::PORT));
            }
        }
        port.child("protocol").one_of(&PROTOCOLS, causes);
    }
}

/// A port of the host is used once. Source: `checkHostPortConflicts`.
fn host_ports(
    container: &Field<'_>,
    path: &str,
    used: &mut BTreeSet<String>,
    causes: &mut CauseList,
) {
    for (index, port) in container.child("ports").items().enumerate() {
        let number = port.child("hostPort").number();
        let (protocol, address) = (port.child("protocol").text(), port.child("hostIP").text());
        let what = format!("{protocol}/{address}/{number}");
        if number != 0 && !used.insert(what.clone()) {
            let field = format!("{path}.ports[{index}].hostPort");
            causes.push_with(|| FieldCause::duplicate(field, &json!(what)));
        }
    }
}

/// Source: `validateContainerRestartPolicy`.
fn restarts(container: &Field<'_>, causes: &mut CauseList) {
    let policy = container.child("restartPolicy");
    if policy.is_absent() && !container.child("restartPolicyRules").is_empty() {
        let why = "must specify restartPolicy when restart rules are used";
        causes.push_with(|| policy.required(why));
    }
    if !policy.is_absent() && !RESTARTS.contains(&policy.text()) {
        causes.push_with(|| policy.not_supported(&RESTARTS));
    }
}

/// The image of a pod has no space around it; templates may. Source: `validateContainerOnlyForPod`.
pub(super) fn trimmed(images: &[Field<'_>], causes: &mut CauseList) {
    for image in images {
        if image.text().trim() != image.text() {
            causes.push_with(|| image.invalid("must not have leading or trailing whitespace"));
        }
    }
}
