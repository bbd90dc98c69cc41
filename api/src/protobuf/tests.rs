//! Bodies as Go clients write them, and bodies as nobody does.

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
    let document = decode(&body("apps/v1", "Deployment", &field(2, &spec))).expect("readable");
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

#[test]
fn what_is_not_known_is_refused_and_named() {
    for (bytes, code, message) in [
        (
            body("v1", "ConfigMap", &field(9, b"x")),
            400,
            "field 9 of core.ConfigMap is unknown",
        ),
        (
            body("v1", "ConfigMap", &field(1, &number(15, 1))),
            400,
            "field 15 of meta.ObjectMeta is unknown (field 1 of core.ConfigMap)",
        ),
        (
            body("example.com/v1", "Deployment", b""),
            415,
            "a Deployment of example.com/v1 is not read as protobuf",
        ),
        (b"{}".to_vec(), 400, "does not begin with k8s"),
        (
            body("v1", "ConfigMap", &[0x0a, 9]),
            400,
            "core.ConfigMap is cut short or damaged",
        ),
        (
            body("v1", "ConfigMap", &number(1, 1)),
            400,
            "metadata is not of its type",
        ),
    ] {
        let (found, text) = refusal(&bytes);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(message), "{text}");
    }
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
