//! Members of a service that do nothing, or that are better written in another way. Source: `GetWarningsForService`
//! of upstream's `pkg/api/service`.

use super::Field;
use crate::validate::formats;

const NAMED: &str = "ExternalName";
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";

pub(super) fn all(service: &Field<'_>, told: &mut Vec<String>) {
    let spec = service.child("spec");
    let annotations = service.at("metadata.annotations");
    if !annotations.child(HINTS).is_absent() {
        told.push(format!(
            "annotation {HINTS} is deprecated, please use {MODE} instead"
        ));
    }
    let own = spec.child("clusterIP").text();
    if !matches!(own, "" | "None") {
        addresses(&spec.select("clusterIPs[]"), told);
    }
    let is_named = spec.child("type").text() == NAMED;
    let is_headless = spec.child("type").text() == "ClusterIP" && own == "None";
    let outside = spec.child("externalIPs");
    if is_headless {
        headless(&spec, told);
    }
    addresses(&spec.select("externalIPs[]"), told);
    if !outside.is_empty() && !is_headless && !is_named {
        told.push(format!(
            "{} is deprecated and may no longer be implemented in some clusters",
            outside.path
        ));
    }
    let balancer = spec.child("loadBalancerIP");
    addresses(&[balancer], told);
    for range in spec.child("loadBalancerSourceRanges").items() {
        let doubts = formats::doubtful_range(range.text()).into_iter();
        told.extend(doubts.map(|doubt| format!("{}: {doubt}", range.path)));
    }
    if is_named && !outside.is_empty() {
        told.push(format!(
            "{} is ignored when spec.type is {NAMED:?}",
            outside.path
        ));
    }
    let name = spec.child("externalName");
    if !is_named && !name.is_empty() {
        told.push(format!(
            "{} is ignored when spec.type is not {NAMED:?}",
            name.path
        ));
    }
    let distribution = spec.child("trafficDistribution");
    if distribution.text() == "PreferClose" {
        told.push(format!(
            "{}: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
            distribution.path
        ));
    }
}

fn headless(spec: &Field<'_>, told: &mut Vec<String>) {
    for (member, called) in [
        ("loadBalancerIP", "loadBalancerIP"),
        ("externalIPs", "externalIPs"),
        ("sessionAffinity", "SessionAffinity"),
    ] {
        let member = spec.child(member);
        if !member.is_empty() && member.text() != "None" {
            told.push(format!("spec.{called} is ignored for headless services"));
        }
    }
}

fn addresses(places: &[Field<'_>], told: &mut Vec<String>) {
    for place in places {
        let doubt = formats::doubtful_address(place.text());
        told.extend(doubt.map(|doubt| format!("{}: {doubt}", place.path)));
    }
}
