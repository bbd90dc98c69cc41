//! Addresses and ranges that programs read differently, field by field.

use super::{patched, right, said};

const ADDRESS: [(&str, &str); 2] = [
    ("010.0.0.1", "must not have leading 0s"),
    ("::ffff:10.0.0.1", "must not be an IPv4-mapped IPv6 address"),
];
const RANGE: [(&str, &str); 3] = [
    (
        "10.0.0.0/08",
        "must not have leading 0s in IP or prefix length",
    ),
    (
        "::ffff:10.0.0.0/120",
        "must not have an IPv4-mapped IPv6 address",
    ),
    (
        "10.1.2.3/8",
        "must not have bits set beyond the prefix length",
    ),
];

/// Resource, a patch with `%` for the text, the path of the cause.
const ADDRESSES: &[(&str, &str, &str)] = &[
    (
        "services",
        r#"{"spec": {"clusterIP": "%", "clusterIPs": ["%"]}}"#,
        "spec.clusterIPs[0]",
    ),
    (
        "services",
        r#"{"spec": {"externalIPs": ["192.0.2.1", "%"]}}"#,
        "spec.externalIPs[1]",
    ),
    (
        "pods",
        r#"{"spec": {"hostAliases": [{"ip": "%", "hostnames": ["a"]}]}}"#,
        "spec.hostAliases[0].ip",
    ),
    (
        "deployments",
        r#"{"spec": {"template": {"spec": {"dnsConfig": {"nameservers": ["%"]}}}}}"#,
        "spec.template.spec.dnsConfig.nameservers[0]",
    ),
    (
        "endpoints",
        r#"{"subsets": [{"addresses": [{"ip": "%"}], "ports": [{"port": 80}]}]}"#,
        "subsets[0].addresses[0].ip",
    ),
];
const RANGES: &[(&str, &str, &str)] = &[
    (
        "services",
        r#"{"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["%"]}}"#,
        "spec.loadBalancerSourceRanges[0]",
    ),
    (
        "networkpolicies",
        r#"{"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "%"}}]}]}}"#,
        "spec.ingress[0].from[0].ipBlock.cidr",
    ),
    (
        "networkpolicies",
        r#"{"spec": {"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "%"}}]}]}}"#,
        "spec.egress[0].to[0].ipBlock.cidr",
    ),
    (
        "nodes",
        r#"{"spec": {"podCIDR": "%", "podCIDRs": ["%"]}}"#,
        "spec.podCIDRs[0]",
    ),
];

#[test]
fn what_programs_read_differently_is_refused_where_it_is_new() {
    let addresses = ADDRESSES.iter().map(|row| (row, &ADDRESS[..]));
    let ranges = RANGES.iter().map(|row| (row, &RANGE[..]));
    for ((resource, change, field), texts) in addresses.chain(ranges) {
        for (text, why) in texts {
            let new = patched(&right(resource), &change.replace('%', text));
            let cause = format!("{field}: Invalid value: {text:?}: {why}");
            assert_eq!(said(resource, &new, None), [cause], "{resource}");
            let changed = patched(&new, r#"{"x": "y"}"#);
            let kept = said(resource, &changed, Some(&new));
            assert!(kept.iter().all(|one| !one.contains(why)), "{kept:?}");
        }
    }
}
