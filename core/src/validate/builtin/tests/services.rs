//! What is wrong with services, and in which order it is said.

use super::{Create, Update, check_creates, check_updates};

const CREATES: &[Create<'static>] = &[
    (
        "services",
        r#"{"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2", "10.0.0.3"], "ipFamilies": ["IPv5", "IPv4", "IPv4"], "ipFamilyPolicy": "Both"}}"#,
        &[
            r#"spec.clusterIPs: Invalid value: ["10.0.0.2","10.0.0.3"]: first value must match `clusterIP`"#,
            r#"spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6""#,
            r#"spec.ipFamilies[2]: Duplicate value: "IPv4""#,
            r#"spec.ipFamilyPolicy: Unsupported value: "Both": supported values: "PreferDualStack", "RequireDualStack", "SingleStack""#,
            r#"spec.clusterIPs: Invalid value: ["10.0.0.2","10.0.0.3"]: may specify no more than one IP for each IP family"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"clusterIPs": ["None", "10.0.0.1"]}}"#,
        &[
            r#"spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: must be empty when `clusterIP` is not specified"#,
            r#"spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: 'None' must be the first and only value"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"clusterIP": "fd00::1", "ipFamilies": ["IPv4"]}}"#,
        &[
            r#"spec.clusterIPs[0]: Invalid value: "fd00::1": expected an IPv4 value as indicated by `ipFamilies[0]`"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"type": "LoadBalancer", "clusterIP": "None"}}"#,
        &[
            r#"spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for LoadBalancer services"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"type": "ExternalName", "externalName": "a..", "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}}"#,
        &[
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
            "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
            "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
            r#"spec.externalName: Invalid value: "a.": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"ports": [{"name": "a", "port": 80, "protocol": "tcp", "targetPort": "http_1"}, {"name": "a", "port": 81, "targetPort": 70000}, {"name": "b.c", "port": 81}]}}"#,
        &[
            r#"spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP""#,
            r#"spec.ports[0].targetPort: Invalid value: "http_1": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"#,
            r#"spec.ports[1].name: Duplicate value: "a""#,
            "spec.ports[1].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            r#"spec.ports[2].name: Invalid value: "b.c": must not contain dots"#,
            r#"spec.ports[2]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":81,"TargetPort":0,"NodePort":0}"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30000}, {"name": "b", "port": 81, "nodePort": 30000}]}}"#,
        &["spec.ports[1].nodePort: Duplicate value: 30000"],
    ),
    (
        "services",
        r#"{"spec": {"sessionAffinity": "Cookie", "externalIPs": ["x", "127.0.0.1", "0.0.0.0", "fe80::1", "224.0.0.1"], "type": "Inside"}}"#,
        &[
            r#"spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None""#,
            r#"spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            r#"spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)"#,
            r#"spec.externalIPs[2]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)"#,
            r#"spec.externalIPs[3]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)"#,
            r#"spec.externalIPs[4]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"#,
            r#"spec.type: Unsupported value: "Inside": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}}}"#,
        &[
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
        ],
    ),
    (
        "services",
        r#"{"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8", "10"], "allocateLoadBalancerNodePorts": true, "externalTrafficPolicy": "Local", "healthCheckNodePort": 30000, "internalTrafficPolicy": "Near", "trafficDistribution": "Far"}}"#,
        &[
            "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
            r#"spec.LoadBalancerSourceRanges[1]: Invalid value: "10": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
            "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
            r#"spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services"#,
            "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            r#"spec.internalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local""#,
            r#"spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", "PreferSameNode""#,
        ],
    ),
];

#[test]
fn what_is_wrong_with_services_is_said() {
    check_creates(CREATES);
}

const UPDATES: &[Update<'static>] = &[
    (
        "services",
        r#"{"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}}"#,
        r#"{"spec": {"clusterIP": "fd00::1", "ipFamilies": ["IPv6"]}}"#,
        &[
            r#"spec.clusterIPs[0]: Invalid value: ["fd00::1"]: may not change once set"#,
            r#"spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"clusterIP": "10.0.0.1"}}"#,
        r#"{"spec": {"clusterIP": null}}"#,
        &["spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset"],
    ),
    (
        "services",
        r#"{"spec": {"clusterIP": "10.0.0.1"}}"#,
        r#"{"spec": {"type": "ExternalName", "externalName": "a", "clusterIP": null, "internalTrafficPolicy": null}}"#,
        &[],
    ),
    (
        "services",
        r#"{"spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001}}"#,
        r#"{"spec": {"healthCheckNodePort": 30002}}"#,
        &["spec.healthCheckNodePort: Forbidden: field is immutable"],
    ),
    (
        "services",
        "{}",
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}"#,
        &[
            "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
        ],
    ),
    (
        "services",
        r#"{"spec": {"type": "LoadBalancer"}}"#,
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}"#,
        &[],
    ),
    (
        "services",
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}"#,
        r#"{"status": {"conditions": [{"type": "a", "status": "True"}]}}"#,
        &[],
    ),
    (
        "services",
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}"#,
        r#"{"status": {"loadBalancer": {"ingress": null}}}"#,
        &[],
    ),
    (
        "services",
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}"#,
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}]}}}"#,
        &[
            "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
        ],
    ),
    (
        "services",
        r#"{"spec": {"type": "LoadBalancer"}}"#,
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "a", "ipMode": "VIP"}, {"ip": "192.0.2.1"}, {"hostname": "a_b", "ipMode": "Proxy"}, {"ip": "::1", "ipMode": "Some", "hostname": "192.0.2.1"}, {"ip": "192.0.2.1", "ipMode": "Proxy", "hostname": "a.b"}]}}}"#,
        &[
            r#"status.loadBalancer.ingress[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            "status.loadBalancer.ingress[2].ipMode: Forbidden: may not be specified when `ip` is not set",
            r#"status.loadBalancer.ingress[2].hostname: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            r#"status.loadBalancer.ingress[3].ipMode: Unsupported value: "Some": supported values: "Proxy", "VIP""#,
            r#"status.loadBalancer.ingress[3].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address"#,
        ],
    ),
    (
        "ingresses",
        "{}",
        r#"{"status": {"loadBalancer": {"ingress": [{"ip": "a"}, {"hostname": "192.0.2.1"}, {"ip": "192.0.2.1", "hostname": "a.b"}]}}}"#,
        &[
            r#"status.loadBalancer.ingress[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            r#"status.loadBalancer.ingress[1].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address"#,
        ],
    ),
];

#[test]
fn what_of_a_service_is_set_once_stays() {
    check_updates(UPDATES);
}
