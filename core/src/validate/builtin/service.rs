//! Services, in upstream's order. What concerns their addresses and ports on nodes is looked at before the
//! rest, and reported alone. Source: `ValidateService` and `ValidateServiceUpdate` of upstream's
//! `pkg/apis/core/validation`, and `pkg/registry/core/service`.

use super::{Field, IMMUTABLE, Subject, service_address, service_ports};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, labels, names, qualified_name};
use serde_json::json;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const SET_ONCE: &str = "may not change once set";
const AFFINITY_MAX: i64 = 86_400;
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];

pub(super) fn check(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let old = subject.old.as_ref().map(|old| old.child("spec"));
    let addresses = service_address::addresses(spec, old.as_ref());
    if !is_named(spec) {
        service_address::related(spec, &addresses, causes);
    }
    if causes.is_empty() {
        service_ports::on_nodes(subject, causes);
    }
    if !causes.is_empty() {
        return;
    }
    service_address::changed(subject, spec, causes);
    if let Some(old) = &old {
        changed(old, spec, causes);
    }
    kept_to_its_type(spec, &addresses, causes);
    reached(spec, causes);
    service_ports::together(spec, causes);
    balanced(spec, causes);
    policies(spec, causes);
}

fn is_named(spec: &Field<'_>) -> bool {
    spec.child("type").text() == "ExternalName"
}

fn is_balanced(spec: &Field<'_>) -> bool {
    spec.child("type").text() == "LoadBalancer"
}

/// Whether a load balancer checks each node for pods of the service.
fn is_checked(spec: &Field<'_>) -> bool {
    is_balanced(spec) && spec.child("externalTrafficPolicy").text() == "Local"
}

/// What an update leaves as long as it has a use.
fn changed(old: &Field<'_>, new: &Field<'_>, causes: &mut CauseList) {
    let class = new.child("loadBalancerClass");
    let is_other = |name: &str| old.child(name).value != new.child(name).value;
    if is_balanced(old) && is_balanced(new) && is_other("loadBalancerClass") {
        causes.push_with(|| class.invalid(SET_ONCE));
    }
    let checks = new.child("healthCheckNodePort");
    if is_checked(old)
        && is_checked(new)
        && old.child("healthCheckNodePort").number() != checks.number()
    {
        causes.push_with(|| checks.forbidden(IMMUTABLE));
    }
}

/// The part of the specification that comes with the type, and the ports.
fn kept_to_its_type(spec: &Field<'_>, addresses: &[&str], causes: &mut CauseList) {
    let (kind, ports) = (spec.child("type").text(), spec.child("ports"));
    let is_headless = addresses == ["None"];
    if ports.is_empty() && !is_headless && !is_named(spec) {
        causes.push_with(|| ports.required(""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            causes.push_with(|| FieldCause::invalid("spec.clusterIPs[0]", &json!("None"), &why));
        }
        "ExternalName" => {
            let why = "may not be set for ExternalName services";
            if !addresses.is_empty() {
                causes.push_with(|| spec.child("clusterIPs").forbidden(why));
            }
            if !spec.child("ipFamilies").is_empty() {
                causes.push_with(|| spec.child("ipFamilies").forbidden(why));
            }
            if !spec.child("ipFamilyPolicy").is_absent() {
                causes.push_with(|| spec.child("ipFamilyPolicy").forbidden(why));
            }
            external_name(&spec.child("externalName"), causes);
        }
        _ => {}
    }
    service_ports::each(&ports, causes);
    let selector = spec.child("selector");
    labels(selector.value, &selector.path, causes);
}

fn external_name(name: &Field<'_>, causes: &mut CauseList) {
    let text = name.text();
    let host = text.strip_suffix('.').unwrap_or(text);
    if host.is_empty() {
        causes.push_with(|| name.required(""));
    } else {
        let why = names::subdomain(host).err();
        causes.extend(why.map(|why| name.invalid_as(&format!("{host:?}"), &why)));
    }
}

/// From where a service is reached, and which clients stay with their pods.
fn reached(spec: &Field<'_>, causes: &mut CauseList) {
    let affinity = spec.child("sessionAffinity");
    affinity.one_of(&["ClientIP", "None"], causes);
    let seconds = spec.at("sessionAffinityConfig.clientIP.timeoutSeconds");
    let is_out = |number: i64| number <= 0 || number > AFFINITY_MAX;
    if affinity.text() == "ClientIP" && seconds.value.as_i64().is_some_and(is_out) {
        let why = format!("must be greater than 0 and less than {AFFINITY_MAX}");
        causes.push_with(|| seconds.invalid(&why));
    }
    for address in spec.child("externalIPs").items() {
        match formats::old_address(address.text()) {
            Some(why) => causes.push_with(|| address.invalid(&why)),
            None => address.refuse(formats::special(address.text()), causes),
        }
    }
    let kind = spec.child("type");
    kind.one_of(&TYPES, causes);
}

/// What only load balancers have.
fn balanced(spec: &Field<'_>, causes: &mut CauseList) {
    let is_balanced = is_balanced(spec);
    let ranges = spec.child("loadBalancerSourceRanges");
    if !ranges.is_empty() {
        // Upstream's path begins like the name in Go.
        let place = Field {
            path: "spec.LoadBalancerSourceRanges".into(),
            value: ranges.value,
        };
        if !is_balanced {
            causes.push_with(|| place.forbidden(ONLY_BALANCED));
        }
        for range in place.items() {
            range.refuse(formats::old_range(range.text().trim()), causes);
        }
    }
    let allocates = spec.child("allocateLoadBalancerNodePorts");
    if !is_balanced && !allocates.is_absent() {
        causes.push_with(|| allocates.forbidden(ONLY_BALANCED));
    }
    let class = spec.child("loadBalancerClass");
    if class.is_absent() {
        return;
    }
    if is_balanced {
        class.refuse(qualified_name(class.text()), causes);
    } else {
        causes.push_with(|| class.forbidden(ONLY_BALANCED));
    }
}

/// Which pods get the traffic.
fn policies(spec: &Field<'_>, causes: &mut CauseList) {
    let kind = spec.child("type").text();
    let has_addresses = !spec.child("externalIPs").is_empty();
    let is_outside =
        matches!(kind, "LoadBalancer" | "NodePort") || kind == "ClusterIP" && has_addresses;
    let outside = spec.child("externalTrafficPolicy");
    if !is_outside && !outside.is_empty() {
        let why = "may only be set for externally-accessible services";
        causes.push_with(|| outside.invalid(why));
    } else {
        outside.one_of(&["Cluster", "Local"], causes);
    }
    let checks = spec.child("healthCheckNodePort");
    if checks.number() != 0 && !is_checked(spec) {
        let why =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push_with(|| checks.invalid(why));
    }
    spec.child("internalTrafficPolicy")
        .one_of(&["Cluster", "Local"], causes);
    let distribution = spec.child("trafficDistribution");
    if !distribution.is_absent() && !DISTRIBUTIONS.contains(&distribution.text()) {
        causes.push_with(|| distribution.not_supported(&DISTRIBUTIONS));
    }
}
