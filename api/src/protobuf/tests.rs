//! Bodies as Go clients write them, and malformed ones.

use super::*;
use serde_json::json;

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).expect("short")];
    out.extend_from_slice(bytes);
    out
}

fn number(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    let rest = [field(3, b""), field(4, b"")].concat();
    [MAGIC.to_vec(), field(1, &meta), field(2, raw), rest].concat()
}

fn config_map() -> Vec<u8> {
    let entry = [field(1, b"k"), field(2, b"v")].concat();
    let raw = [field(1, &field(1, b"a")), field(2, &entry)].concat();
    body("v1", "ConfigMap", &raw)
}

/// Decodes as the endpoint of config maps does.
fn decode(bytes: &[u8]) -> Result<Value, Failure> {
    super::decode(bytes, "v1", "ConfigMap")
}

fn decode_as(bytes: &[u8], kind: &str) -> Value {
    super::decode(bytes, "v1", kind).expect("readable")
}

fn refusal(bytes: &[u8]) -> (u16, String) {
    let failure = decode(bytes).expect_err("refused");
    let message = failure.to_json()["message"].as_str().map(str::to_owned);
    (failure.code, message.expect("a message"))
}

#[test]
fn a_config_map_reads_as_its_document() {
    let expected = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a"}, "data": {"k": "v"}});
    assert_eq!(decode(&config_map()).expect("readable"), expected);
}

#[test]
fn zeros_stay_where_they_mean_something() {
    // replicas is a pointer, minReadySeconds is not, the selector's labels are a map.
    let labels = field(1, &[field(1, b"app"), field(2, b"")].concat());
    let spec = [number(1, 0), field(2, &labels), number(5, 0)].concat();
    let bytes = body("apps/v1", "Deployment", &field(2, &spec));
    let document = decode(&bytes).expect("readable");
    let expected = json!({"replicas": 0, "selector": {"matchLabels": {"app": ""}}});
    assert_eq!(document["spec"], expected);
}

#[test]
fn members_of_an_inlined_message_belong_to_the_one_around_it() {
    let action = field(
        2,
        &[field(1, b"/"), field(2, &[0x08, 0, 0x10, 80])].concat(),
    );
    let probe = [field(1, &action), number(2, 3)].concat();
    let container = [field(1, b"c"), field(10, &probe)].concat();
    let pod = field(2, &field(2, &container));
    let document = decode(&body("v1", "Pod", &pod)).expect("readable");
    let expected = json!({"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 3});
    assert_eq!(document["spec"]["containers"][0]["livenessProbe"], expected);
}

/// As upstream decodes its types: messages are merged, lists grow, and of other values the last counts, even a zero.
#[test]
fn a_message_that_comes_in_parts_is_one() {
    let [name, labels, other] = [
        field(1, b"a"),
        field(11, &[field(1, b"k"), field(2, b"v")].concat()),
        field(1, b"b"),
    ];
    let container = |name: &[u8]| field(2, &field(1, name));
    let action = |action: &[u8]| field(1, &field(2, action));
    let probed = |probe: &[u8]| field(2, &[field(1, b"c"), field(10, probe)].concat());
    let read = |raw: &[Vec<u8>]| decode_as(&body("v1", "Pod", &raw.concat()), "Pod");
    let meta = read(&[field(1, &name), field(1, &labels), field(1, &other)]);
    assert_eq!(meta["metadata"], json!({"name": "b", "labels": {"k": "v"}}));
    let spec = read(&[field(2, &container(b"a")), field(2, &container(b"b"))]);
    let expected = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    assert_eq!(spec["spec"], expected);
    let parts = [
        action(&field(1, b"/")),
        action(&field(4, b"HTTPS")),
        number(2, 3),
        number(2, 0),
    ];
    let pod = read(&[field(2, &probed(&parts.concat()))]);
    let expected = json!({"httpGet": {"path": "/", "scheme": "HTTPS"}});
    let probe = &pod["spec"]["containers"][0]["livenessProbe"];
    assert_eq!(*probe, expected);
}

#[test]
fn what_is_no_message_of_the_kind_is_refused_and_named() {
    for (bytes, message) in [
        (
            body("example.com/v1", "Deployment", b""),
            "Deployment in version \"v1\" cannot be handled as a ConfigMap",
        ),
        (
            body("v1", "ConfigMaps", b""),
            "ConfigMaps in version \"v1\" cannot be handled as a ConfigMap",
        ),
        (b"{}".to_vec(), "does not begin with k8s"),
        (MAGIC.to_vec(), "nothing follows the k8s prefix"),
        (
            body("v1", "ConfigMap", &[0x0a, 9]),
            "core.ConfigMap is cut short or damaged",
        ),
        (
            body("v1", "ConfigMap", &number(1, 1)),
            "metadata has the wrong type",
        ),
        // A group, which would have to be skipped to its end, and eight bytes where a text belongs.
        (body("v1", "ConfigMap", &[0x4b, 0x4c]), "damaged"),
        (
            body(
                "v1",
                "ConfigMap",
                &field(1, &[0x09, 0, 0, 0, 0, 0, 0, 0, 0]),
            ),
            "name has the wrong type",
        ),
        ([MAGIC, &[0x0b, 0x0c]].concat(), "its envelope is damaged"),
        ([MAGIC, &number(2, 1)].concat(), "its envelope is damaged"),
    ] {
        let (code, text) = refusal(&bytes);
        assert_eq!(code, 400, "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn a_kind_without_messages_takes_none() {
    let bytes = body("v1", "ConfigMap", b"");
    let refused = super::decode(&bytes, "example.com/v1", "Widget").expect_err("refused");
    assert_eq!(refused.code, 415);
    let told = refused.to_json()["message"].to_string();
    assert!(
        told.contains("a Widget of example.com/v1 is not supported as protobuf"),
        "{told}"
    );
}

#[test]
fn what_it_does_not_say_of_its_kind_is_the_endpoints() {
    let raw = field(1, &field(1, b"a"));
    let lease =
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}});
    for bytes in [
        [MAGIC.to_vec(), field(2, &raw)].concat(),
        body("", "", &raw),
        body("", "Lease", &raw),
        body("coordination.k8s.io/v1", "", &raw),
    ] {
        let read = super::decode(&bytes, "coordination.k8s.io/v1", "Lease").expect("readable");
        assert_eq!(read, lease);
    }
    // A kind without a version is looked up in the endpoint's group.
    let other = super::decode(
        &body("", "ConfigMap", &raw),
        "coordination.k8s.io/v1",
        "Lease",
    );
    assert_eq!(other.expect_err("refused").code, 400);
}

#[test]
fn fields_of_a_later_version_are_skipped_whatever_they_are() {
    let later = [
        number(15, 1),
        field(14, b"x"),
        vec![0x6d, 1, 2, 3, 4],
        vec![0x69, 1, 2, 3, 4, 5, 6, 7, 8],
    ]
    .concat();
    let entry = [field(1, b"k"), field(2, b"v"), later.clone()].concat();
    // Fields from 16 on need two bytes of tag; this is field 18.
    let meta = [field(1, b"a"), vec![0x90, 0x01, 1]].concat();
    let raw = [later.clone(), field(1, &meta), field(2, &entry)].concat();
    let type_meta = [field(1, b"v1"), field(2, b"ConfigMap"), later.clone()].concat();
    let said = [field(3, b"gzip"), field(4, b"application/json")].concat();
    let bytes = [
        MAGIC.to_vec(),
        field(1, &type_meta),
        field(2, &raw),
        said,
        later,
    ]
    .concat();
    let expected = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a"}, "data": {"k": "v"}});
    assert_eq!(decode(&bytes).expect("readable"), expected);
}

#[test]
fn no_cut_and_no_flipped_byte_panics() {
    let bytes = config_map();
    for length in 0..bytes.len() {
        drop(decode(&bytes[..length]));
    }
    for index in 0..bytes.len() {
        for value in 0..=255 {
            let mut damaged = bytes.clone();
            damaged[index] = value;
            drop(decode(&damaged));
        }
    }
}

#[test]
fn definitions_and_services_of_apis_are_no_protobuf() {
    for (version, kind) in [
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
    ] {
        let sent = body(version, kind, &field(1, &field(1, b"a")));
        let refused = super::decode(&sent, version, kind).expect_err("refused");
        assert_eq!(refused.code, 415, "{kind}");
    }
}
