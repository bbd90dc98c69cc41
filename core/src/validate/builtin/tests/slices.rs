//! What is wrong with endpoints in slices, and what an update may leave as it is.

use super::{Create, Update, check_creates, check_updates, said};
use serde_json::{Value, json};

const CREATES: &[Create<'static>] = &[
    (
        "endpointslices",
        r#"{"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1", "127.0.0.1"], "nodeName": "n.a", "hostname": "h", "zone": "Any zone", "deprecatedTopology": {"a b": "c d"}, "hints": {"forZones": [{"name": "A"}, {"name": "b"}], "forNodes": [{"name": "a.b"}]}}], "ports": [{"name": "a", "protocol": "SCTP", "appProtocol": "x.io/y"}, {}]}"#,
        &[],
    ),
    (
        "endpointslices",
        r#"{"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0", "fd00::1", "010.0.0.1", "::ffff:10.0.0.1", "0.0.0.0", "169.254.0.1", "224.0.0.1"]}]}"#,
        &[
            r#"endpoints[0].addresses[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            r#"endpoints[0].addresses[1]: Invalid value: "fd00::1": must be an IPv4 address"#,
            r#"endpoints[0].addresses[2]: Invalid value: "010.0.0.1": must not have leading 0s"#,
            r#"endpoints[0].addresses[3]: Invalid value: "::ffff:10.0.0.1": must not be an IPv4-mapped IPv6 address"#,
            r#"endpoints[0].addresses[4]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)"#,
            r#"endpoints[0].addresses[5]: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)"#,
            r#"endpoints[0].addresses[6]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"#,
        ],
    ),
    (
        "endpointslices",
        r#"{"addressType": "IPv6", "endpoints": [{"addresses": ["fd00::1", "FD00:0::1", "::1"]}, {"addresses": ["10.0.0.1", "fe80::1"]}]}"#,
        &[
            r#"endpoints[1].addresses[0]: Invalid value: "10.0.0.1": must be an IPv6 address"#,
            r#"endpoints[1].addresses[1]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)"#,
        ],
    ),
    (
        "endpointslices",
        r#"{"addressType": "FQDN", "endpoints": [{"addresses": ["a.b", "a.b.", "10.0.0.1"]}, {"addresses": ["", "a.", "*.a.b"]}]}"#,
        &[
            "endpoints[1].addresses[0]: Required value",
            r#"endpoints[1].addresses[1]: Invalid value: "a": should be a domain with at least two segments separated by dots"#,
            r#"endpoints[1].addresses[2]: Invalid value: "*.a.b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
        ],
    ),
    (
        "endpointslices",
        r#"{"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "a_b", "hostname": "a.b", "hints": {"forZones": [{"name": "a b"}, {"name": "c"}, {"name": "c"}], "forNodes": [{"name": "n"}, {"name": "n"}, {}]}}], "ports": [{"protocol": ""}]}"#,
        &[
            r#"ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP""#,
            r#"endpoints[0].nodeName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            r#"endpoints[0].hostname: Invalid value: "a.b": must not contain dots"#,
            r#"endpoints[0].hints.forZones[0].name: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#,
            r#"endpoints[0].hints.forZones[2].name: Duplicate value: "c""#,
            r#"endpoints[0].hints.forNodes[1].name: Duplicate value: "n""#,
            r#"endpoints[0].hints.forNodes[2].name: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
        ],
    ),
];

#[test]
fn what_is_wrong_with_slices_is_said() {
    check_creates(CREATES);
}

const OLD: &str = r#"{"addressType": "IPv4", "endpoints": [{"addresses": ["010.0.0.1"]}], "ports": [{"port": 1}]}"#;
const OTHER: &str = r#"{"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}"#;

const UPDATES: &[Update<'static>] = &[
    (
        "endpointslices",
        OLD,
        r#"{"ports": [{"port": 2, "protocol": "UDP"}]}"#,
        &[],
    ),
    (
        "endpointslices",
        OLD,
        r#"{"endpoints": [{"addresses": ["010.0.0.1", "10.0.0.2"]}]}"#,
        &[r#"endpoints[0].addresses[0]: Invalid value: "010.0.0.1": must not have leading 0s"#],
    ),
    ("endpointslices", OLD, r#"{"endpoints": null}"#, &[]),
    (
        "endpointslices",
        OTHER,
        r#"{"endpoints": [{"addresses": ["10.0.0.2"]}]}"#,
        &[],
    ),
    (
        "endpointslices",
        OTHER,
        r#"{"addressType": "IPv6"}"#,
        &[r#"addressType: Invalid value: "IPv6": field is immutable"#],
    ),
];

/// Source: the pull request that made addresses strict (kubernetes/kubernetes#122550).
#[test]
fn endpoints_that_stay_as_they_are_are_not_looked_at() {
    check_updates(UPDATES);
}

#[test]
fn a_slice_has_as_many_of_each_as_a_client_can_take() {
    let endpoint = json!({"addresses": ["10.0.0.1"]});
    let addresses = |count| json!([{"addresses": vec!["10.0.0.1"; count]}]);
    let zones = |count| -> Value {
        (0..count)
            .map(|at| json!({"name": at.to_string()}))
            .collect()
    };
    let ports = |count| -> Value {
        let port = |at: i32| json!({"name": at.to_string(), "protocol": "TCP"});
        (0..count).map(port).collect()
    };
    let hints =
        |member: &str, count| json!([{"addresses": ["10.0.0.1"], "hints": {member: zones(count)}}]);
    for (member, right, wrong, why) in [
        (
            "endpoints",
            json!(vec![&endpoint; 1_000]),
            json!(vec![&endpoint; 1_001]),
            "endpoints: Too many: 1001: must have at most 1000 items",
        ),
        (
            "endpoints",
            addresses(100),
            addresses(101),
            "endpoints[0].addresses: Too many: 101: must have at most 100 items",
        ),
        (
            "endpoints",
            hints("forZones", 8),
            hints("forZones", 9),
            "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
        ),
        (
            "endpoints",
            hints("forNodes", 8),
            hints("forNodes", 9),
            "endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items",
        ),
        (
            "ports",
            ports(20_000),
            ports(20_001),
            "ports: Too many: 20001: must have at most 20000 items",
        ),
    ] {
        let told = |list: Value| {
            let slice = json!({"addressType": "IPv4", member: list});
            said("endpointslices", &slice, None)
        };
        assert_eq!(told(right), [""; 0], "{why}");
        assert_eq!(told(wrong), [why]);
    }
}
