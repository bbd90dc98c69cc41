//! The real kubectl, without any flag that relaxes its checks.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::manifests::{DEPLOYMENT, dependent};
use hindsight_tests::server::{Server, stdout, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 9}
              colour: {type: string, default: red}
          status: {type: object, properties: {size: {type: integer}}}
";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("kubectl prints JSON")
}

#[test]
fn objects_are_created_read_changed_and_deleted() {
    let server = Server::start();
    server.kubectl(&["create", "configmap", "a", "--from-literal=k=v"]);
    server.kubectl(&["label", "configmap", "a", "team=red"]);
    server.kubectl(&["annotate", "configmap", "a", "note=1"]);
    let read = json(&server.kubectl(&["get", "configmap", "a", "-o", "json"]));
    assert_eq!(read["data"]["k"], "v");
    assert_eq!(read["metadata"]["labels"]["team"], "red");
    assert_eq!(read["metadata"]["annotations"]["note"], "1");
    for output in [
        "wide",
        "yaml",
        "name",
        "jsonpath={.data.k}",
        "custom-columns=N:.metadata.name",
    ] {
        assert!(
            !server
                .kubectl(&["get", "configmap", "a", "-o", output])
                .trim()
                .is_empty()
        );
    }
    let described = server.kubectl(&["describe", "configmap", "a"]);
    assert!(described.contains("team=red"), "{described}");
    assert_eq!(
        server.kubectl(&["delete", "configmap", "a"]).trim(),
        "configmap \"a\" deleted"
    );
    let missing = server.kubectl_fails(&["get", "configmap", "a"], "");
    assert!(missing.contains("configmaps \"a\" not found"), "{missing}");
}

#[test]
fn apply_is_idempotent_and_shows_its_difference() {
    let server = Server::start();
    let created = server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    assert!(created.contains("created"), "{created}");
    let again = server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    assert!(again.contains("unchanged"), "{again}");
    let three = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    let difference = server.try_kubectl(&["diff", "-f", "-"], &three);
    assert_eq!(
        difference.status.code(),
        Some(1),
        "{}",
        text(&difference.stderr)
    );
    assert!(text(&difference.stdout).contains("+  replicas: 3"));
    let changed = server.kubectl_with(&["apply", "-f", "-"], &three);
    assert!(changed.contains("configured"), "{changed}");
    let table = server.kubectl(&["get", "deployments"]);
    assert!(table.contains("READY") && table.contains("0/3"), "{table}");
}

#[test]
fn every_patch_type_and_scale_work() {
    let server = Server::start();
    server.kubectl_with(&["apply", "-f", "-"], DEPLOYMENT);
    let patch = |kind: &str, document: &str| {
        server.kubectl(&["patch", "deployment", "web", "--type", kind, "-p", document])
    };
    patch(
        "json",
        r#"[{"op":"replace","path":"/spec/replicas","value":4}]"#,
    );
    patch("merge", r#"{"metadata":{"labels":{"merged":"yes"}}}"#);
    patch(
        "strategic",
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}"#,
    );
    let read = json(&server.kubectl(&["get", "deployment", "web", "-o", "json"]));
    assert_eq!(read["spec"]["replicas"], 4);
    assert_eq!(read["metadata"]["labels"]["merged"], "yes");
    let containers = read["spec"]["template"]["spec"]["containers"]
        .as_array()
        .expect("a list");
    assert_eq!(
        containers.len(),
        2,
        "a strategic patch merges containers by name"
    );
    server.kubectl(&["scale", "deployment", "web", "--replicas=7"]);
    let replicas = server.kubectl(&[
        "get",
        "deployment",
        "web",
        "-o",
        "jsonpath={.spec.replicas}",
    ]);
    assert_eq!(replicas, "7");
}

#[test]
fn replace_and_edit_work() {
    let server = Server::start();
    server.kubectl(&["create", "configmap", "a", "--from-literal=k=v"]);
    let manifest = server.kubectl(&["get", "configmap", "a", "-o", "yaml"]);
    let replaced = server.kubectl_with(&["replace", "-f", "-"], &manifest.replace("k: v", "k: w"));
    assert!(replaced.contains("replaced"), "{replaced}");
    let stale = server.kubectl_fails(&["replace", "-f", "-"], &manifest.replace("k: v", "k: x"));
    assert!(stale.contains("the object has been modified"), "{stale}");
    let mut edit = std::process::Command::new("kubectl");
    edit.env("KUBE_EDITOR", "sed -i s/k:\\ w/k:\\ edited/")
        .arg("--kubeconfig");
    let edited = edit
        .arg(server.kubeconfig())
        .args(["edit", "configmap", "a"])
        .output();
    stdout(&edited.expect("kubectl edit runs"));
    assert_eq!(
        server.kubectl(&["get", "configmap", "a", "-o", "jsonpath={.data.k}"]),
        "edited"
    );
}

#[test]
fn lists_select_sort_and_page() {
    let server = Server::start();
    for (name, team) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        server.kubectl(&["create", "configmap", name]);
        server.kubectl(&["label", "configmap", name, &format!("team={team}")]);
    }
    let names = |arguments: &[&str]| {
        let mut all = vec!["get", "configmaps", "-o", "name"];
        all.extend_from_slice(arguments);
        server
            .kubectl(&all)
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&["-l", "team=red"]), ["configmap/a", "configmap/c"]);
    assert_eq!(names(&["-l", "team notin (red)"]), ["configmap/b"]);
    assert_eq!(
        names(&["--field-selector", "metadata.name=b"]),
        ["configmap/b"]
    );
    assert_eq!(
        names(&["--chunk-size=1"]),
        ["configmap/a", "configmap/b", "configmap/c"]
    );
    assert_eq!(names(&["--sort-by={.metadata.name}"]).len(), 3);
    let everywhere = server.kubectl(&["get", "namespaces,configmaps", "-A"]);
    assert!(everywhere.contains("kube-system") && everywhere.contains("configmap/c"));
}

#[test]
fn wait_and_watch_see_what_happens() {
    let server = Server::start();
    server.kubectl(&["create", "namespace", "seen"]);
    server.kubectl(&[
        "wait",
        "namespace/seen",
        "--for=jsonpath={.status.phase}=Active",
    ]);
    server.kubectl(&["create", "configmap", "a", "-n", "seen"]);
    let mut watch = std::process::Command::new("kubectl");
    watch.arg("--kubeconfig").arg(server.kubeconfig());
    watch.args([
        "get",
        "configmaps",
        "-n",
        "seen",
        "-w",
        "--output-watch-events",
    ]);
    watch
        .arg("--request-timeout=2m")
        .stdout(std::process::Stdio::piped());
    let mut watching = watch.spawn().expect("kubectl starts");
    let seen = BufReader::new(watching.stdout.take().expect("a pipe"));
    let mut seen = seen.lines().map_while(Result::ok);
    let mut comes = |kind: &str| assert!(seen.any(|line| line.contains(kind)), "{kind}");
    comes("ADDED");
    server.kubectl(&["label", "configmap", "a", "-n", "seen", "x=y"]);
    comes("MODIFIED");
    server.kubectl(&["delete", "configmap", "a", "-n", "seen"]);
    comes("DELETED");
    watching.kill().expect("it is ours");
    watching.wait().expect("it ends");
    server.kubectl(&["delete", "namespace", "seen", "--wait"]);
    server.kubectl_fails(&["get", "namespace", "seen"], "");
}

#[test]
fn deletion_honours_cascade_selection_and_raw_requests() {
    let server = Server::start();
    let depend = |name: &str, owner: &str| {
        let uid = server.uid(&format!("configmap/{owner}"));
        let manifest = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  ownerReferences:\n  - \
             {{apiVersion: v1, kind: ConfigMap, name: {owner}, uid: {uid}, blockOwnerDeletion: true}}\n"
        );
        server.kubectl_with(&["create", "-f", "-"], &manifest);
    };
    for (owner, child, cascade) in [
        ("o1", "c1", "background"),
        ("o2", "c2", "foreground"),
        ("o3", "c3", "orphan"),
    ] {
        server.kubectl(&["create", "configmap", owner]);
        depend(child, owner);
        server.kubectl(&[
            "delete",
            "configmap",
            owner,
            &format!("--cascade={cascade}"),
            "--wait",
        ]);
        if cascade == "foreground" {
            server.kubectl_fails(&["get", "configmap", child], "");
        }
    }
    server.kubectl(&["wait", "configmap/c1", "--for=delete", "--timeout=120s"]);
    let orphan = json(&server.kubectl(&["get", "configmap", "c3", "-o", "json"]));
    assert_eq!(orphan["metadata"]["ownerReferences"], Value::Null);
    server.kubectl(&["label", "configmap", "c3", "gone=soon"]);
    server.kubectl(&["delete", "configmaps", "-l", "gone=soon"]);
    server.kubectl(&["create", "configmap", "d"]);
    server.kubectl(&["delete", "--raw", "/api/v1/namespaces/default/configmaps/d"]);
    server.kubectl(&["create", "configmap", "e"]);
    server.kubectl(&["delete", "configmaps", "--all", "--grace-period=0"]);
    assert_eq!(
        server.kubectl(&["get", "configmaps", "-o", "name"]).trim(),
        ""
    );
}

#[test]
fn kubectl_learns_the_kinds_from_discovery_and_openapi() {
    let server = Server::start();
    let resources = server.kubectl(&["api-resources", "-o", "wide"]);
    for kind in [
        "configmaps",
        "deployments",
        "customresourcedefinitions",
        "leases",
        "jobs",
    ] {
        assert!(
            resources.contains(kind),
            "{kind} is missing in:\n{resources}"
        );
    }
    let versions = server.kubectl(&["api-versions"]);
    assert!(versions.lines().any(|one| one == "apps/v1"), "{versions}");
    let explained = server.kubectl(&["explain", "deployment.spec.replicas"]);
    assert!(explained.contains("integer"), "{explained}");
    let unknown = server.kubectl_fails(
        &["create", "-f", "-"],
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {k: v}\n",
    );
    assert!(unknown.contains("unknown field \"dta\""), "{unknown}");
    let who = server.kubectl(&["auth", "whoami", "-o", "json"]);
    assert!(who.contains("system:masters"), "{who}");
}

#[test]
fn a_dry_run_answers_and_changes_nothing() {
    let server = Server::start();
    let answer = server.kubectl(&["create", "configmap", "a", "--dry-run=server", "-o", "json"]);
    assert_eq!(json(&answer)["metadata"]["name"], "a");
    server.kubectl_fails(&["get", "configmap", "a"], "");
    server.kubectl(&["create", "configmap", "b"]);
    server.kubectl(&["delete", "configmap", "b", "--dry-run=server"]);
    server.kubectl(&["get", "configmap", "b"]);
}

#[test]
fn custom_kinds_are_served_validated_and_removed_with_their_definition() {
    let server = Server::start();
    server.define(WIDGETS);
    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
    server.kubectl_with(&["apply", "-f", "-"], widget);
    let table = server.kubectl(&["get", "wd"]);
    assert!(table.contains("SIZE") && table.contains('3'), "{table}");
    assert_eq!(
        server.kubectl(&["get", "wd", "w", "-o", "jsonpath={.spec.colour}"]),
        "red"
    );
    let invalid = server.kubectl_fails(&["apply", "-f", "-"], &widget.replace("3}", "30}"));
    assert!(invalid.contains("spec.size"), "{invalid}");
    server.kubectl(&["scale", "widget", "w", "--replicas=5"]);
    assert_eq!(
        server.kubectl(&["get", "wd", "w", "-o", "jsonpath={.spec.size}"]),
        "5"
    );
    assert!(
        server
            .kubectl(&["explain", "widget.spec"])
            .contains("colour")
    );
    server.kubectl(&["delete", "crd", "widgets.example.com"]);
    server.kubectl_fails(&["get", "widgets"], "");
}

#[test]
fn why_names_the_user_behind_a_cascade() {
    let server = Server::start();
    server.kubectl(&["create", "configmap", "owner"]);
    let manifest = dependent("child", "owner", &server.uid("configmap/owner"));
    server.kubectl_with(&["create", "-f", "-"], &manifest);
    server.kubectl(&["delete", "configmap", "owner"]);
    server.kubectl(&["wait", "configmap/child", "--for=delete", "--timeout=120s"]);
    let why = json(&stdout(&server.hindsight(&[
        "why",
        "configmap/child",
        "-o",
        "json",
    ])));
    assert_eq!(why["state"], "deleted");
    assert_eq!(why["rule"], "owners-absent");
    assert_eq!(why["root"]["user"], "admin");
    assert_eq!(why["root"]["verb"], "delete");
    let log = stdout(&server.hindsight(&["log", "configmap/child"]));
    assert!(log.lines().count() >= 2, "{log}");
}

/// Logs of a pod and commands in it, and impersonation.
#[test]
fn what_cannot_be_had_here_is_refused_in_words() {
    let server = Server::start();
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}"#;
    let made = server.try_kubectl(&["create", "-f", "-"], pod);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let refused = |arguments: &[&str]| {
        let output = server.try_kubectl(arguments, "");
        assert!(!output.status.success(), "{arguments:?}");
        text(&output.stderr)
    };
    let said = refused(&["create", "configmap", "b", "--as=bob"]);
    assert!(said.contains("User \"admin\" cannot impersonate"), "{said}");
    for path in ["backup", "state", "log"] {
        let path = format!("/hindsight/v1/{path}");
        let said = refused(&["get", "--raw", &path, "--as=bob"]);
        assert!(said.contains("User \"admin\" cannot impersonate"), "{said}");
    }
    let said = refused(&["get", "configmap", "b"]);
    assert!(said.contains("not found"), "{said}");
    let nothing = server.try_kubectl(&["logs", "p"], "");
    assert!(nothing.status.success() && nothing.stdout.is_empty());
    let said = refused(&["logs", "p", "-c", "d"]);
    assert!(
        said.contains("container d is not valid for pod p"),
        "{said}"
    );
    let said = refused(&["exec", "p", "--", "ls"]);
    assert!(said.contains("does not have a host assigned"), "{said}");
    let said = refused(&["logs", "other"]);
    assert!(said.contains("\"other\" not found"), "{said}");
}

#[test]
fn kubectl_shows_the_warning_of_a_deprecated_version() {
    let server = Server::start();
    let warned = |arguments: &[&str]| {
        let output = server.try_kubectl(arguments, "");
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        let warnings = said.lines().filter(|line| line.starts_with("Warning:"));
        warnings.map(str::to_owned).collect::<Vec<_>>()
    };
    let told =
        "Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    assert_eq!(warned(&["get", "endpoints"]), [told]);
    assert_eq!(warned(&["get", "endpointslices"]), [""; 0]);
}
