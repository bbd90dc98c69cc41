//! The specification of pods, in the order in which upstream checks it. Source: `ValidatePodSpec`,
//! `ValidatePodTemplateSpec` and `ValidatePodCreate` of upstream's `pkg/apis/core/validation`.

use super::mounts::Held;
use super::{Field, Subject, container, job_pods, placement};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, labels, names, qualified_name};
use std::collections::BTreeSet;

const SECONDS_MAX: i64 = 2_147_483_647;
const ID: &str = "must be between 0 and 2147483647, inclusive";
const NAMESERVERS_MAX: usize = 3;
const RESTARTS: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const SECCOMP: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

/// Checks the specification of a pod or of a template.
pub(super) fn spec(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let held = Held::of(spec, subject, causes);
    container::all(spec, &held, causes);
    host_ports(spec, subject.resource == "pods", causes);
    spec.child("restartPolicy").one_of(&RESTARTS, causes);
    spec.child("dnsPolicy").one_of(&DNS, causes);
    let selector = spec.child("nodeSelector");
    labels(selector.value, &selector.path, causes);
    security(&spec.child("securityContext"), causes);
    placement::affinity(&spec.child("affinity"), causes);
    dns(spec, causes);
    gates(spec, causes);
    placement::spread(&spec.child("topologySpreadConstraints"), causes);
    host_users(spec, causes);
    for member in ["serviceAccountName", "nodeName"] {
        spec.child(member).check_subdomain(causes);
    }
    let seconds = spec.child("activeDeadlineSeconds");
    if seconds
        .value
        .as_i64()
        .is_some_and(|number| !(1..=SECONDS_MAX).contains(&number))
    {
        causes.push_with(|| seconds.invalid("must be between 1 and 2147483647, inclusive"));
    }
    for name in ["hostname", "subdomain"].map(|member| spec.child(member)) {
        let problem = names::label(name.text()).err();
        name.refuse(problem.filter(|_| !name.is_empty()), causes);
    }
    placement::tolerations(&spec.child("tolerations"), causes);
    for alias in spec.child("hostAliases").items() {
        let address = alias.child("ip");
        if let Some(why) = formats::old_address(address.text()) {
            causes.push_with(|| address.invalid_as(&format!("{:?}", address.text()), &why));
        }
        for name in alias.child("hostnames").items() {
            name.refuse(names::subdomain(name.text()).err(), causes);
        }
    }
    spec.child("priorityClassName").check_subdomain(causes);
    spec.child("runtimeClassName").check_subdomain(causes);
    let preemption = spec.child("preemptionPolicy");
    preemption.one_of(&["PreemptLowerPriority", "Never"], causes);
    container::amounts(&spec.child("overhead"), causes);
    system(&spec.child("os"), causes);
}

/// Checks a template of pods: its labels, whose path has no `metadata` in upstream's reports, and its pods.
pub(super) fn template(template: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    // Those of a new job are checked once it has labelled its pods.
    if subject.resource != "jobs" || job_pods::change(subject) {
        let path = format!("{}.labels", template.path);
        labels(template.at("metadata.labels").value, &path, causes);
    }
    let pod = template.child("spec");
    spec(&pod, subject, causes);
    let ephemeral = pod.child("ephemeralContainers");
    if !ephemeral.is_empty() {
        causes
            .push_with(|| ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// Checks what only pods have to keep to, and new ones.
pub(super) fn pod(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    self::spec(spec, subject, causes);
    for list in ["containers[].image", "initContainers[].image"] {
        container::trimmed(&spec.select(list), causes);
    }
    if subject.old.is_some() {
        return;
    }
    let ephemeral = spec.child("ephemeralContainers");
    if !ephemeral.is_empty() {
        causes.push_with(|| ephemeral.forbidden("cannot be set on create"));
    }
    let node = spec.child("nodeName");
    if !node.is_empty() && !spec.child("schedulingGates").is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        causes.push_with(|| node.forbidden(why));
    }
}

/// In the network of the host, a port is a port of the host; a template may leave it out. Source:
/// `validatePodHostNetworkDeps`.
fn host_ports(spec: &Field<'_>, is_pod: bool, causes: &mut CauseList) {
    if !spec.child("hostNetwork").is_true() {
        return;
    }
    for port in spec.select("containers[].ports[]") {
        let (own, host) = (port.child("containerPort"), port.child("hostPort"));
        if (is_pod || host.number() != 0) && host.number() != own.number() {
            let why = "must match `containerPort` when `hostNetwork` is true";
            causes.push_with(|| host.invalid_as(&host.number().to_string(), why));
        }
    }
}

fn security(context: &Field<'_>, causes: &mut CauseList) {
    identities(context, &["fsGroup", "runAsUser", "runAsGroup"], causes);
    for group in context.child("supplementalGroups").items() {
        identity(&group, causes);
    }
    let policy = context.child("fsGroupChangePolicy");
    policy.one_of(&["Always", "OnRootMismatch"], causes);
    seccomp(&context.child("seccompProfile"), causes);
}

/// Checks numbers of users and groups.
pub(super) fn identities(context: &Field<'_>, names: &[&str], causes: &mut CauseList) {
    for name in names {
        identity(&context.child(name), causes);
    }
}

fn identity(place: &Field<'_>, causes: &mut CauseList) {
    if !(0..=SECONDS_MAX).contains(&place.number()) {
        causes.push_with(|| place.invalid(ID));
    }
}

/// Source: `validateSeccompProfileField`.
pub(super) fn seccomp(profile: &Field<'_>, causes: &mut CauseList) {
    if profile.is_absent() {
        return;
    }
    let kind = profile.child("type");
    if kind.is_empty() {
        causes.push_with(|| kind.required("type is required when seccompProfile is set"));
    }
    kind.one_of(&SECCOMP, causes);
    let file = profile.child("localhostProfile");
    if kind.text() == "Localhost" && file.is_absent() {
        causes.push_with(|| file.required("must be set when seccomp type is Localhost"));
    }
}

/// Source: `validatePodDNSConfig`.
fn dns(spec: &Field<'_>, causes: &mut CauseList) {
    let config = spec.child("dnsConfig");
    let servers = config.child("nameservers");
    if spec.child("dnsPolicy").text() == "None" {
        if config.is_absent() {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            return causes.push_with(|| config.required(why));
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return causes.push_with(|| servers.required(why));
        }
    }
    if servers.items().count() > NAMESERVERS_MAX {
        causes.push_with(|| servers.invalid("must not have more than 3 nameservers"));
    }
    for server in servers.items() {
        server.refuse(formats::old_address(server.text()), causes);
    }
    for option in config.child("options").items() {
        if option.child("name").is_empty() {
            causes.push_with(|| option.required("must not be empty"));
        }
    }
}

fn gates(spec: &Field<'_>, causes: &mut CauseList) {
    for gate in spec.select("readinessGates[].conditionType") {
        gate.refuse(qualified_name(gate.text()), causes);
    }
    let mut seen = BTreeSet::new();
    for gate in spec.child("schedulingGates").items() {
        let name = Field {
            path: gate.path.clone(),
            ..gate.child("name")
        };
        name.refuse(qualified_name(name.text()), causes);
        if !seen.insert(name.text()) {
            causes.push_with(|| name.duplicate());
        }
    }
}

/// Source: `validateHostUsers`.
fn host_users(spec: &Field<'_>, causes: &mut CauseList) {
    if spec.child("hostUsers").value != &serde_json::Value::Bool(false) {
        return;
    }
    for (member, called) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec.child(member).is_true() {
            causes.push_with(|| spec.child(called).forbidden("when `hostUsers` is false"));
        }
    }
}

fn system(os: &Field<'_>, causes: &mut CauseList) {
    let name = os.child("name");
    if os.is_absent() {
        return;
    }
    if name.is_empty() {
        causes.push_with(|| name.required("cannot be empty"));
    } else if !matches!(name.text(), "linux" | "windows") {
        // Upstream's path ends before the name.
        let known = ["linux", "windows"];
        causes.push_with(|| FieldCause::not_supported(os.path.as_str(), name.text(), &known));
    }
}
