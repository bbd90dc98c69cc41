//! What is wrong with quotas, limits and endpoints, and in which order it is said.

use super::{Create, check_creates, kind};
use crate::validate::builtin::object;
use serde_json::json;

const CREATES: &[Create<'static>] = &[
    (
        "resourcequotas",
        r#"{"spec": {"hard": {"cpu": "1", "pods": "1", "a.b/c": "1", "services": "1"}, "scopes": ["BestEffort", "NotTerminating"]}}"#,
        &[
            r#"spec.scopes: Invalid value: ["BestEffort","NotTerminating"]: unsupported scope applied to resource"#,
            r#"spec.scopes: Invalid value: ["BestEffort","NotTerminating"]: unsupported scope applied to resource"#,
            r#"spec.scopes: Invalid value: ["BestEffort","NotTerminating"]: unsupported scope applied to resource"#,
        ],
    ),
    (
        "resourcequotas",
        r#"{"spec": {"hard": {"services": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}}}"#,
        &[
            r#"spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"PriorityClass","Operator":"In","Values":null}]}: unsupported scope applied to resource"#,
            "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        ],
    ),
    (
        "resourcequotas",
        r#"{"spec": {"scopeSelector": {"matchExpressions": [{"scopeName": "Some", "operator": "Is"}, {"scopeName": "BestEffort", "operator": "Exists", "values": ["a"]}, {"scopeName": "NotBestEffort", "operator": "DoesNotExist"}]}}}"#,
        &[
            r#"spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Some": unsupported scope"#,
            r#"spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator"#,
            r#"spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"#,
            r#"spec.scopeSelector.matchExpressions.operator: Invalid value: "DoesNotExist": must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"#,
            "spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes",
        ],
    ),
    (
        "limitranges",
        r#"{"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}, "default": {"cpu": "3"}, "defaultRequest": {"cpu": "4"}, "maxLimitRequestRatio": {"cpu": "500m"}}]}}"#,
        &[
            r#"spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1"#,
            r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "4": default request value 4 is greater than max value 1"#,
            r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "4": default request value 4 is greater than default limit value 3"#,
            r#"spec.limits[0].default[cpu]: Invalid value: "1": default value 3 is greater than max value 1"#,
            r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1"#,
        ],
    ),
    (
        "limitranges",
        r#"{"spec": {"limits": [{"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "3"}, "default": {"cpu": "500m", "a.b/c": "2"}, "defaultRequest": {"cpu": "100m", "a.b/c": "1"}, "maxLimitRequestRatio": {"cpu": "4"}}]}}"#,
        &[
            r#"spec.limits[0].defaultRequest[a.b/c]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in a.b/c"#,
            r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "100m": min value 1 is greater than default request value 100m"#,
            r#"spec.limits[0].default[cpu]: Invalid value: "1": min value 1 is greater than default value 500m"#,
            r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater than max/min = 3.000000"#,
        ],
    ),
    (
        "limitranges",
        r#"{"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}, "max": {"storage": "1"}}, {"type": "Pod"}, {"type": "PersistentVolumeClaim"}, {"type": "Node"}]}}"#,
        &[
            r#"spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers"#,
            "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
            r#"spec.limits[1].type: Duplicate value: "Pod""#,
            "spec.limits[2].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
            r#"spec.limits[3].type: Invalid value: "Node": must be a standard limit type or fully qualified"#,
        ],
    ),
    (
        "endpoints",
        r#"{"subsets": [{}, {"addresses": [{"ip": "169.254.0.1"}, {"ip": "127.0.0.1"}], "notReadyAddresses": [{"ip": "x", "hostname": "a.b"}], "ports": [{"port": 0}, {"name": "a", "port": 1, "protocol": "X"}]}]}"#,
        &[
            "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
            r#"subsets[1].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)"#,
            r#"subsets[1].notReadyAddresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            r#"subsets[1].notReadyAddresses[0].hostname: Invalid value: "a.b": must not contain dots"#,
            r#"subsets[1].notReadyAddresses[0].ip: Invalid value: "x": must be a valid IP address"#,
            "subsets[1].ports[0].name: Required value",
            "subsets[1].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            r#"subsets[1].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP""#,
        ],
    ),
    (
        "endpointslices",
        r#"{"addressType": "IP", "endpoints": [{}], "ports": [{"name": "a"}, {"name": "a"}, {"name": "b.c"}]}"#,
        &[
            r#"addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6""#,
            r#"ports[1].name: Duplicate value: "a""#,
            r#"ports[2].name: Invalid value: "b.c": must not contain dots"#,
            "endpoints[0].addresses: Required value: must contain at least 1 address",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "securityContext": {"allowPrivilegeEscalation": false, "privileged": true, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}}]}}"#,
        &[
            r#"spec.containers[0].securityContext: Invalid value: {"Capabilities":{"add":["CAP_SYS_ADMIN"]},"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true"#,
            r#"spec.containers[0].securityContext: Invalid value: {"Capabilities":{"add":["CAP_SYS_ADMIN"]},"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"#,
        ],
    ),
];

#[test]
fn what_is_wrong_with_limits_and_endpoints_is_said() {
    check_creates(CREATES);
}

/// A configuration has a mebibyte, and what is in base64 is counted as what it stands for.
#[test]
fn the_data_of_an_object_has_a_limit() {
    let encoded = "A".repeat(1_398_100) + "AA==";
    let longer = "A".repeat(1_398_100) + "AAA=";
    for (resource, member, text, fits) in [
        ("secrets", "data", longer.clone(), false),
        ("secrets", "data", encoded.clone(), true),
        ("configmaps", "binaryData", encoded.clone(), true),
        ("configmaps", "binaryData", longer, false),
        ("configmaps", "data", encoded, false),
        ("configmaps", "data", "A".repeat(1_048_576), true),
    ] {
        let new = json!({ member: {"a": text} });
        let causes = object(&kind(resource), &new, None);
        assert_eq!(causes.is_empty(), fits, "{resource} {member}");
    }
}
