//! The real kubectl where it depends on schemas: explain, diff, strict validation, and the texts of
//! the server's refusals.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::manifests::{DEPLOYMENT, widgets};
use hindsight_tests::server::{Server, text};
use hindsight_tests::vitals::peak_mib;
use serde_json::Value;

const WIDGET: &str = "{type: object, description: A widget., properties: {spec: {
  type: object, required: [size], properties: {size: {
    type: integer, minimum: 1, description: How large it is.}}}}}";

#[test]
fn explain_knows_built_in_and_custom_kinds() {
    let server = Server::start();
    server.define(&widgets(WIDGET));
    for (place, expected) in [
        (
            "deployment.spec.template.spec.containers.ports",
            "containerPort\t<integer> -required-",
        ),
        (
            "service.spec.ports.targetPort",
            "FIELD: targetPort <IntOrString>",
        ),
        (
            "pod.spec.containers.resources",
            "limits\t<map[string]Quantity>",
        ),
        (
            "ingress.spec.rules.http.paths",
            "pathType\t<string> -required-",
        ),
        ("crd.spec.versions", "served\t<boolean> -required-"),
        ("widget", "A widget."),
        ("widget.spec", "size\t<integer> -required-"),
        ("widget.spec.size", "How large it is."),
        ("widget.metadata", "ownerReferences\t<[]OwnerReference>"),
    ] {
        let explained = server.kubectl(&["explain", place]);
        assert!(explained.contains(expected), "{place}:\n{explained}");
    }
    server.kubectl_fails(&["explain", "deployment.spec.replicaz"], "");
}

/// kubectl checks a list itself, with the schemas of version 2.
#[test]
fn definitions_that_were_read_as_a_list_can_be_applied_again() {
    let server = Server::start();
    server.define(&widgets(
        "{type: object, properties: {
  spec: {type: object, default: {}, properties: {
    colour: {type: string, default: red, enum: [red, green]},
    sizes: {type: array, items: {type: integer}},
    labels: {type: object, additionalProperties: {type: string}}}},
  template: {type: object, x-kubernetes-embedded-resource: true,
    x-kubernetes-preserve-unknown-fields: true}}}",
    ));
    let list = server.kubectl(&["get", "crd", "-o", "yaml"]);
    assert!(list.contains("kind: List"), "{list}");
    server.kubectl_with(&["replace", "-f", "-"], &list);
    let explained = server.kubectl(&["explain", "widget.template.metadata"]);
    assert!(explained.contains("ownerReferences"), "{explained}");
}

#[test]
fn diff_shows_what_an_apply_would_change() {
    let server = Server::start();
    server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    let same = server.try_kubectl(&["diff", "-f", "-"], DEPLOYMENT);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
    let manifest = DEPLOYMENT.replace("replicas: 2", "replicas: 5");
    let differs = server.try_kubectl(&["diff", "-f", "-"], &manifest);
    assert_eq!(differs.status.code(), Some(1), "{}", text(&differs.stderr));
    let shown = text(&differs.stdout);
    assert!(
        shown.contains("-  replicas: 2") && shown.contains("+  replicas: 5"),
        "{shown}"
    );
}

#[test]
fn apply_merges_lists_by_their_keys() {
    let server = Server::start();
    server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    let side = r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"x:1"}]}}}}"#;
    server.kubectl(&["patch", "deployment", "web", "-p", side]);
    let manifest = DEPLOYMENT.replace("nginx:1", "nginx:2");
    server.kubectl_with(&["apply", "-f", "-"], &manifest);
    let path = "jsonpath={.spec.template.spec.containers[*].image}";
    let images = server.kubectl(&["get", "deployment", "web", "-o", path]);
    let mut images: Vec<&str> = images.split(' ').collect();
    images.sort_unstable();
    assert_eq!(images, ["nginx:2", "x:1"], "what others added stays");
}

#[test]
fn validation_is_as_strict_as_it_is_asked_to_be() {
    let server = Server::start();
    let manifest = DEPLOYMENT.replace("replicas: 2", "replicaz: 2");
    let strict = server.kubectl_fails(&["apply", "--validate=strict", "-f", "-"], &manifest);
    let finding = "unknown field \"spec.replicaz\"";
    assert!(
        strict.contains(&format!("strict decoding error: {finding}")),
        "{strict}"
    );
    let warned = server.try_kubectl(&["apply", "--validate=warn", "-f", "-"], &manifest);
    assert!(warned.status.success());
    let warning = text(&warned.stderr);
    assert!(
        warning.contains(&format!("Warning: {finding}")),
        "{warning}"
    );
    let ignored = server.try_kubectl(&["apply", "--validate=ignore", "-f", "-"], &manifest);
    assert!(ignored.status.success() && !text(&ignored.stderr).contains("unknown field"));
}

/// A manifest, and lines that kubectl prints.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {}}}",
        &[
            "The Deployment \"a\" is invalid: ",
            "* spec.selector: Required value",
            "* spec.template.spec.containers: Required value",
        ],
    ),
    (
        "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}",
        &[
            "The Job \"a\" is invalid: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
        ],
    ),
    (
        "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 70000}]}}",
        &[
            "* spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "* spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ],
    ),
    (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Maybe, containers: [{name: A, image: b}]}}",
        &[
            "* spec.containers[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of",
            "* spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ],
    ),
];

#[test]
fn refusals_read_as_they_do_elsewhere() {
    let server = Server::start();
    for (manifest, lines) in REFUSED {
        let manifest = format!("---\n{manifest}");
        let failure = server.kubectl_fails(&["create", "-f", "-"], &manifest);
        for line in *lines {
            assert!(failure.contains(line), "{line} is missing in:\n{failure}");
        }
    }
}

#[test]
fn what_may_not_change_is_said_to_be_immutable() {
    let server = Server::start();
    server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    let manifest = DEPLOYMENT.replace("app: web}", "app: other}");
    let failure = server.kubectl_fails(&["apply", "-f", "-"], &manifest);
    assert!(
        failure.contains("The Deployment \"web\" is invalid: spec.selector"),
        "{failure}"
    );
    assert!(failure.contains("field is immutable"), "{failure}");
    server.kubectl(&["create", "configmap", "a", "--from-literal=k=v"]);
    server.kubectl(&["patch", "configmap", "a", "-p", r#"{"immutable":true}"#]);
    let change = r#"{"data":{"k":"w"}}"#;
    let failure = server.kubectl_fails(&["patch", "configmap", "a", "-p", change], "");
    let expected = "The ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set";
    assert!(failure.contains(expected), "{failure}");
    server.kubectl(&["label", "configmap", "a", "still=labelled"]);
}

#[test]
fn a_patch_that_breaks_an_object_is_invalid() {
    let server = Server::start();
    server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    let change = r#"{"spec":{"replicas":"many"}}"#;
    for kind in ["merge", "strategic"] {
        let patch = ["patch", "deployment", "web", "--type", kind, "-p", change];
        let failure = server.kubectl_fails(&patch, "");
        assert!(
            failure.contains("The request is invalid: patch: Invalid value"),
            "{failure}"
        );
    }
}

#[test]
fn both_versions_of_openapi_tell_how_lists_merge() {
    let server = Server::start();
    for (path, ports) in [
        (
            "/openapi/v2",
            "/definitions/io.k8s.api.core.v1.Container/properties/ports",
        ),
        (
            "/openapi/v3/apis/apps/v1",
            "/components/schemas/io.k8s.api.core.v1.Container/properties/ports",
        ),
    ] {
        let document = server.kubectl(&["get", "--raw", path]);
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let ports = document.pointer(ports).expect("a field");
        assert_eq!(
            ports["x-kubernetes-patch-merge-key"], "containerPort",
            "{path}"
        );
        assert_eq!(ports["x-kubernetes-list-type"], "map", "{path}");
    }
}

/// As trees, these definitions take some 15 MiB each.
#[test]
fn a_document_of_many_definitions_is_never_a_tree() {
    let server = Server::start();
    let fields = |at: u32| format!("p{at:05}: {{type: string}}");
    let fields: Vec<String> = (0..10_000).map(fields).collect();
    let schema = format!("{{type: object, properties: {{{}}}}}", fields.join(", "));
    for number in 0..20 {
        let definition = widgets(&schema)
            .replace("widget", &format!("w{number}widget"))
            .replace("Widget", &format!("W{number}Widget"));
        server.kubectl_with(&["create", "--validate=false", "-f", "-"], &definition);
    }
    let last = "crd/w19widgets.example.com";
    server.kubectl(&["wait", last, "--for=condition=Established"]);
    let before = peak_mib(server.pid());
    for path in ["/openapi/v3/apis/example.com/v1", "/openapi/v2"] {
        let document = server.kubectl(&["get", "--raw", path]);
        assert!(document.len() > 5 << 20, "{path} {}", document.len());
    }
    let grown = peak_mib(server.pid()).saturating_sub(before);
    assert!(grown < 60, "{before} MiB have grown by {grown}");
}
