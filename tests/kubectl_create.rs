//! Every command of kubectl that creates an object: what it would send as JSON is what is stored,
//! though newer versions send protobuf.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::server::{Server, kubeconfig_with_token, serve, text};
use serde_json::{Value, json};

/// Command lines, each with fields that must be in the object.
const CREATED: &[(&str, &str)] = &[
    (
        "create deployment web --image=nginx:1 --port=80 --replicas=0",
        r#"{"kind": "Deployment", "spec": {"replicas": 0, "template": {"spec": {"containers":
            [{"image": "nginx:1", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}}}}"#,
    ),
    (
        "create role r --verb=get,list --resource=pods,deployments.apps --resource-name=a",
        r#"{"rules": [{"verbs": ["get", "list"], "resources": ["pods"], "apiGroups": [""]},
            {"apiGroups": ["apps"], "resourceNames": ["a"]}]}"#,
    ),
    (
        "create rolebinding rb --role=r --user=u --group=g --serviceaccount=default:sa",
        r#"{"roleRef": {"kind": "Role", "name": "r"}, "subjects":
            [{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"},
             {"kind": "ServiceAccount", "name": "sa", "namespace": "default"}]}"#,
    ),
    (
        "create clusterrole cr --verb=get --non-resource-url=/logs/*",
        r#"{"rules": [{"verbs": ["get"], "nonResourceURLs": ["/logs/*"]}]}"#,
    ),
    (
        "create clusterrole sum --aggregation-rule=part=yes",
        r#"{"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}}"#,
    ),
    (
        "create clusterrolebinding crb --clusterrole=cr --user=u",
        r#"{"roleRef": {"kind": "ClusterRole", "name": "cr"}}"#,
    ),
    (
        "create service clusterip s1 --tcp=80:8080",
        r#"{"spec": {"type": "ClusterIP", "ports": [{"name": "80-8080", "port": 80, "targetPort": 8080}]}}"#,
    ),
    (
        "create service clusterip s2 --clusterip=None",
        r#"{"spec": {"clusterIP": "None"}}"#,
    ),
    (
        "create service nodeport s3 --tcp=80:web --node-port=30080",
        r#"{"spec": {"type": "NodePort", "ports": [{"targetPort": "web", "nodePort": 30080}]}}"#,
    ),
    (
        "create service loadbalancer s4 --tcp=80",
        r#"{"spec": {"type": "LoadBalancer"}}"#,
    ),
    (
        "create service externalname s5 --external-name=e.example.com",
        r#"{"spec": {"type": "ExternalName", "externalName": "e.example.com"}}"#,
    ),
    (
        "create job j --image=busybox -- echo hello",
        r#"{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers":
            [{"command": ["echo", "hello"]}]}}}}"#,
    ),
    (
        "create cronjob cj --image=busybox --schedule=@hourly",
        r#"{"spec": {"schedule": "@hourly", "jobTemplate": {"spec": {"template": {"spec":
            {"restartPolicy": "OnFailure"}}}}}}"#,
    ),
    (
        "create job once --from=cronjob/cj",
        r#"{"metadata": {"ownerReferences": [{"kind": "CronJob", "name": "cj"}]}}"#,
    ),
    (
        "create quota q --hard=cpu=1500m,memory=1G,pods=2 --scopes=NotBestEffort",
        r#"{"spec": {"hard": {"cpu": "1500m", "memory": "1G", "pods": "2"}, "scopes": ["NotBestEffort"]}}"#,
    ),
    (
        "create priorityclass low --value=-5 --global-default --preemption-policy=Never",
        r#"{"value": -5, "globalDefault": true, "preemptionPolicy": "Never"}"#,
    ),
    (
        "create poddisruptionbudget half --selector=app=web --min-available=50%",
        r#"{"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}}"#,
    ),
    (
        "create poddisruptionbudget none --selector=app=web --max-unavailable=0",
        r#"{"spec": {"maxUnavailable": 0}}"#,
    ),
    (
        "create ingress ing --rule=foo.com/bar=s1:8080,tls=cert --class=c --default-backend=d:http",
        r#"{"spec": {"ingressClassName": "c", "defaultBackend": {"service": {"port": {"name": "http"}}},
            "tls": [{"hosts": ["foo.com"], "secretName": "cert"}], "rules": [{"host": "foo.com", "http":
            {"paths": [{"path": "/bar", "pathType": "Exact", "backend": {"service": {"name": "s1"}}}]}}]}}"#,
    ),
    (
        "create secret generic sg --from-literal=k=v",
        r#"{"type": "Opaque", "data": {"k": "dg=="}}"#,
    ),
    (
        "create secret docker-registry sd --docker-username=u --docker-password=p",
        r#"{"type": "kubernetes.io/dockerconfigjson"}"#,
    ),
    (
        "create configmap cm --from-literal=k= --from-literal=l=w",
        r#"{"data": {"k": "", "l": "w"}}"#,
    ),
    (
        "create namespace ns",
        r#"{"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}"#,
    ),
    ("create serviceaccount sa", r#"{"kind": "ServiceAccount"}"#),
    (
        "run p --image=nginx --port=80 --env=A=B --labels=x=y --restart=Never -- -g",
        r#"{"metadata": {"labels": {"x": "y"}}, "spec": {"restartPolicy": "Never", "containers":
            [{"name": "p", "args": ["-g"], "env": [{"name": "A", "value": "B"}]}]}}"#,
    ),
    (
        "expose deployment web --port=80 --target-port=8080",
        r#"{"spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}}"#,
    ),
    (
        "expose pod p --port=99 --name=exposed --protocol=UDP",
        r#"{"spec": {"selector": {"x": "y"}, "ports": [{"port": 99, "protocol": "UDP"}]}}"#,
    ),
];

#[test]
fn what_kubectl_makes_is_stored_as_it_would_write_it() {
    let server = Server::start();
    for (line, expected) in CREATED {
        // What follows `--` is the command of a container.
        let (options, command) = line.split_once(" -- ").unwrap_or((line, ""));
        let run = |extra: &[&str]| {
            let mut all: Vec<&str> = options.split(' ').collect();
            all.extend_from_slice(extra);
            if !command.is_empty() {
                all.push("--");
                all.extend(command.split(' '));
            }
            json_of(&server.kubectl(&all))
        };
        let sent = run(&["-o", "json", "--dry-run=client"]);
        let stored = run(&["-o", "json"]);
        for part in [
            &sent,
            &serde_json::from_str(expected).expect("a row is JSON"),
        ] {
            assert_eq!(missing(&stored, part, ""), None, "{line}\n{stored:#}");
        }
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("kubectl prints JSON")
}

/// The first path at which `whole` lacks what is in `part`; a missing object and an empty one are the
/// same.
fn missing(whole: &Value, part: &Value, path: &str) -> Option<String> {
    match (whole, part) {
        (_, Value::Null) => None,
        (Value::Null, Value::Object(empty)) if empty.is_empty() => None,
        (Value::Object(whole), Value::Object(part)) => part.iter().find_map(|(name, part)| {
            let found = whole.get(name).unwrap_or(&Value::Null);
            missing(found, part, &format!("{path}.{name}"))
        }),
        (Value::Array(whole), Value::Array(part)) if whole.len() == part.len() => {
            let mut pairs = whole.iter().zip(part);
            pairs.find_map(|(whole, part)| missing(whole, part, &format!("{path}[]")))
        }
        _ if whole == part => None,
        _ => Some(format!("{path}: {part} is not {whole}")),
    }
}

#[test]
fn missing_finds_what_is_missing() {
    let whole = json!({"a": [{"b": 1, "c": 2}], "d": 0});
    assert_eq!(
        missing(&whole, &json!({"a": [{"b": 1}], "x": {}, "y": null}), ""),
        None
    );
    for part in [
        json!({"a": []}),
        json!({"d": false}),
        json!({"e": 0}),
        json!([]),
    ] {
        assert!(missing(&whole, &part, "").is_some(), "{part}");
    }
}

const NODE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n";

#[test]
fn a_drained_node_takes_no_pods_and_loses_those_that_it_had() {
    let server = Server::start();
    server.kubectl_with(&["create", "-f", "-"], NODE);
    let binding = |pod: &str| {
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
            "target": {"kind": "Node", "name": "n1"}})
        .to_string()
    };
    for pod in ["a", "b", "elsewhere"] {
        server.kubectl(&["run", pod, "--image=i"]);
    }
    let own = "/api/v1/namespaces/default/pods/a/binding";
    server.kubectl_with(&["create", "--raw", own, "-f", "-"], &binding("a"));
    let named = "/api/v1/namespaces/default/bindings";
    server.kubectl_with(&["create", "--raw", named, "-f", "-"], &binding("b"));
    let again = server.kubectl_fails(&["create", "--raw", own, "-f", "-"], &binding("a"));
    assert!(again.contains("already assigned to node"), "{again}");
    let dry = server.kubectl(&["drain", "n1", "--force", "--dry-run=server"]);
    assert!(dry.contains("drained"), "{dry}");
    server.kubectl(&["drain", "n1", "--force", "--grace-period=0"]);
    assert_eq!(
        server.kubectl(&["get", "pods", "-o", "name"]),
        "pod/elsewhere\n"
    );
    let spec = |server: &Server| json_of(&server.kubectl(&["get", "node", "n1", "-o", "json"]));
    assert_eq!(spec(&server)["spec"]["unschedulable"], true);
    server.kubectl(&["uncordon", "n1"]);
    assert_eq!(spec(&server)["spec"]["unschedulable"], Value::Null);
}

#[test]
fn certificates_are_approved_or_denied_and_never_both() {
    let server = Server::start();
    for name in ["a", "d"] {
        let request = json!({"apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest", "metadata": {"name": name},
            "spec": {"request": "Zg==", "signerName": "example.com/s", "usages": ["client auth"]}});
        server.kubectl_with(&["create", "-f", "-"], &request.to_string());
    }
    server.kubectl(&["certificate", "approve", "a"]);
    server.kubectl(&["certificate", "deny", "d"]);
    for (name, verdict) in [("a", "Approved"), ("d", "Denied")] {
        let read = json_of(&server.kubectl(&["get", "csr", name, "-o", "json"]));
        assert_eq!(read["status"]["conditions"][0]["type"], verdict);
        assert_eq!(read["spec"]["username"], "admin");
    }
    server.kubectl_fails(&["certificate", "deny", "a"], "");
}

#[test]
fn rights_are_asked_for_as_kubectl_asks() {
    let server = Server::start();
    for line in [
        "auth can-i create pods",
        "auth can-i get pods/log -n x --subresource=log",
        "auth can-i get /metrics",
        "auth can-i * *",
        "auth can-i --list",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let answer = server.kubectl(&arguments);
        assert!(answer.contains("yes") || answer.contains("[*]"), "{answer}");
    }
}

/// What is refused to a user who is no administrator, or to everybody, with the reason that requests get.
#[test]
fn rights_that_requests_do_not_have_are_not_promised() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, tokens) = (
        temporary.path().join("data"),
        temporary.path().join("tokens"),
    );
    std::fs::write(&tokens, "secret-token,alice,1,\"people\"\n").expect("written");
    let mut command = serve(&data);
    command.arg("--token-auth-file").arg(&tokens);
    let server = Server::start_with(command, &data).expect("it starts");
    let alice = kubeconfig_with_token(&server.kubeconfig(), "secret-token");
    let admin = server.kubeconfig().display().to_string();
    let backup = "/hindsight/v1/backup";
    for (user, right, refused) in [
        (&admin, ["get", backup], None),
        (&alice, ["get", "/hindsight/v1/log"], None),
        (&alice, ["get", backup], Some(&["get", "--raw", backup][..])),
        (
            &admin,
            ["impersonate", "users/bob"],
            Some(&["get", "--raw", "/livez", "--as", "bob"]),
        ),
    ] {
        let asked = [&["--kubeconfig", user, "auth", "can-i"], &right[..]].concat();
        let said = text(&server.try_kubectl(&asked, "").stdout);
        let Some(request) = refused else {
            assert_eq!(said.trim(), "yes", "{right:?}");
            continue;
        };
        let told = server.kubectl_fails(&[&["--kubeconfig", user], request].concat(), "");
        let why = said.trim().strip_prefix("no - ").expect("a reason");
        assert!(told.contains(why), "{said} {told}");
    }
    let all = server.kubectl(&["--kubeconfig", &alice, "auth", "can-i", "--list"]);
    assert!(
        all.contains("/hindsight/v1/why") && !all.contains(backup),
        "{all}"
    );
}

/// Reviews, each of which needs no metadata, and what its answer says. Older versions of kubectl check on their own
/// what the server's schemas require.
const REVIEWS: &[(&str, &str)] = &[
    (
        "{apiVersion: authorization.k8s.io/v1, kind: SelfSubjectAccessReview,
          spec: {resourceAttributes: {resource: pods, verb: get}}}",
        r#"{"allowed": true}"#,
    ),
    (
        "{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview,
          spec: {user: ann, resourceAttributes: {resource: pods, verb: get}}}",
        r#"{"allowed": true}"#,
    ),
    (
        "{apiVersion: authorization.k8s.io/v1, kind: LocalSubjectAccessReview,
          spec: {user: ann, resourceAttributes: {namespace: default, resource: pods, verb: get}}}",
        r#"{"allowed": true}"#,
    ),
    (
        "{apiVersion: authorization.k8s.io/v1, kind: SelfSubjectRulesReview,
          spec: {namespace: default}}",
        r#"{"incomplete": false}"#,
    ),
    (
        "{apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}",
        r#"{"userInfo": {"username": "admin"}}"#,
    ),
    (
        "{apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {token: t}}",
        r#"{"error": "invalid bearer token"}"#,
    ),
];

#[test]
fn a_review_needs_no_metadata() {
    let server = Server::start();
    for (manifest, expected) in REVIEWS {
        let manifest = format!("---\n{manifest}");
        let answer = server.kubectl_with(&["create", "-o", "json", "-f", "-"], &manifest);
        let expected = serde_json::from_str(expected).expect("a row is JSON");
        let answer = json_of(&answer);
        assert_eq!(
            missing(&answer["status"], &expected, ""),
            None,
            "{answer:#}"
        );
    }
}

#[test]
fn rollouts_pause_resume_restart_and_tell_their_history() {
    let server = Server::start();
    server.kubectl(&["create", "deployment", "web", "--image=nginx:1"]);
    let spec = |server: &Server| {
        json_of(&server.kubectl(&["get", "deployment", "web", "-o", "json"]))["spec"].take()
    };
    server.kubectl(&["rollout", "pause", "deployment/web"]);
    assert_eq!(spec(&server)["paused"], true);
    server.kubectl(&["rollout", "resume", "deployment/web"]);
    assert_eq!(spec(&server)["paused"], Value::Null);
    server.kubectl(&["rollout", "restart", "deployment/web"]);
    let annotations = &spec(&server)["template"]["metadata"]["annotations"];
    assert!(annotations["kubectl.kubernetes.io/restartedAt"].is_string());
    server.kubectl(&["rollout", "history", "deployment/web"]);
    server.kubectl(&["set", "image", "deployment/web", "nginx=nginx:2"]);
    server.kubectl(&["set", "env", "deployment/web", "A=B"]);
    server.kubectl(&["set", "resources", "deployment/web", "--limits=cpu=200m"]);
    let container = &spec(&server)["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "nginx:2");
    assert_eq!(container["env"][0]["value"], "B");
    assert_eq!(container["resources"]["limits"]["cpu"], "200m");
}
