//! How the program is configured, what it reports about itself, and the examples that embed it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_tests::http::Client;
use hindsight_tests::manifests::dependent;
use hindsight_tests::server::{Server, binary, kubeconfig_with_token, serve, text};
use hindsight_tests::wire::Caller;
use serde_json::{Value, json};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn tokens(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("tokens.csv");
    std::fs::write(&path, "the-token,alice,17,\"people,others\"\n").expect("written");
    path
}

/// The user that the server authenticates the bearer of the token as.
fn whoami(server: &Server, kubeconfig: &Path) -> Value {
    let output = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(kubeconfig_with_token(kubeconfig, "the-token"))
        .arg("--cache-dir")
        .arg(server.directory().join("cache"))
        .args(["auth", "whoami", "-o", "json"])
        .output()
        .expect("kubectl runs");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    told["status"]["userInfo"].clone()
}

fn assert_known(server: &Server, kubeconfig: &Path) {
    let user = whoami(server, kubeconfig);
    assert_eq!(
        (&user["username"], &user["uid"]),
        (&"alice".into(), &"17".into())
    );
    let groups = user["groups"].as_array().expect("groups");
    assert!(groups.contains(&"people".into()) && groups.contains(&"others".into()));
}

#[test]
fn a_server_without_collectors_leaves_what_they_would_collect_to_the_next_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path();
    let mut command = serve(data);
    command.args(["--collectors", "off"]);
    let server = Server::start_with(command, data).expect("it starts");
    server.kubectl(&["create", "configmap", "owner"]);
    let kid = dependent("kid", "owner", &server.uid("configmap/owner"));
    server.kubectl_with(&["create", "-f", "-"], &kid);
    server.kubectl(&[
        "delete",
        "configmap",
        "owner",
        "--cascade=foreground",
        "--wait=false",
    ]);
    let waits = server.kubectl(&[
        "get",
        "configmap",
        "owner",
        "-o",
        "jsonpath={.metadata.finalizers}",
    ]);
    assert_eq!(waits, "[\"foregroundDeletion\"]");
    assert_eq!(server.signal("TERM"), Some(0));
    let server = Server::start_on(data);
    let both = [
        "wait",
        "configmap/owner",
        "configmap/kid",
        "--for=delete",
        "--timeout=120s",
    ];
    server.kubectl(&both);
}

#[test]
fn flags_say_where_it_listens_whom_it_knows_and_where_the_kubeconfig_goes() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    let mut command = serve(&data);
    command.arg("--kubeconfig").arg(&copy);
    command
        .arg("--token-auth-file")
        .arg(tokens(directory.path()));
    let server = Server::start_with(command, &data).expect("it starts");
    assert!(server.ready.contains("https://127.0.0.1:") && server.ready.contains("kubectl"));
    assert_known(&server, &copy);
    for (token, name) in [("the-token", Some("alice")), ("another", None)] {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let raw = ["create", "--raw", path, "-f", "-"];
        let told = server.try_kubectl(&raw, &review.to_string());
        let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
        let status = &told["status"];
        assert_eq!(status["authenticated"] == true, name.is_some(), "{told}");
        assert_eq!(status["user"]["username"].as_str(), name, "{told}");
    }
}

#[test]
fn a_file_that_a_kubeconfig_would_replace_stays_and_nothing_is_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, letter) = (
        directory.path().join("data"),
        directory.path().join("letter"),
    );
    std::fs::write(&letter, "Dear all").expect("written");
    let started = |path: &Path| {
        let mut command = serve(&data);
        command.arg("--kubeconfig").arg(path).stderr(Stdio::piped());
        Server::start_with(command, &data)
    };
    let refused = |path: &Path, why: &str| {
        let refused = started(path).expect_err("it would be lost");
        let told = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains(why), "{told}");
    };
    refused(&letter, "is not replaced");
    refused(&directory.path().join("none/config"), "create it, or name");
    assert!(!data.exists(), "it was opened");
    assert_eq!(std::fs::read(&letter).expect("there"), b"Dear all");
    let copy = directory.path().join("copy");
    for _ in 0..2 {
        let server = started(&copy).expect("missing, or its own");
        assert_eq!(server.signal("TERM"), Some(0));
    }
    let key = data.join("pki/ca.key");
    let before = std::fs::read(&key).expect("there");
    refused(&key, "pki is a part of the data directory");
    assert_eq!(std::fs::read(&key).expect("there"), before);
}

#[test]
fn a_kubeconfig_that_was_changed_stays_and_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    let start = || {
        let mut command = serve(&data);
        command.arg("--kubeconfig").arg(&copy);
        command.stderr(Stdio::piped());
        Server::start_with(command, &data).expect("it starts")
    };
    let server = start();
    let address = Caller::of(&server).address().to_owned();
    assert_eq!(server.signal("TERM"), Some(0));
    let mut kubectl = Command::new("kubectl");
    kubectl.arg("--kubeconfig").arg(&copy).args(["config"]);
    kubectl.args(["set-context", "--current", "--namespace=team"]);
    assert!(kubectl.output().expect("it runs").status.success());
    let changed = std::fs::read(&copy).expect("there");
    assert!(text(&changed).contains("namespace: team"));
    // So that the next server listens elsewhere.
    let _taken = TcpListener::bind(&address);
    let server = start();
    server.send("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    let leads = format!("leads to https://{address}, and this server is at");
    for told in [
        "is left as it is",
        &leads,
        "kubectl config set-cluster hindsight",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    assert!(std::fs::read(&copy).expect("there") == changed);
}

#[test]
fn tokens_that_every_user_of_the_machine_may_read_are_warned_of() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, tokens) = (directory.path().join("data"), tokens(directory.path()));
    for (mode, is_warned) in [(0o600, false), (0o640, false), (0o644, true)] {
        std::fs::set_permissions(&tokens, Permissions::from_mode(mode)).expect("set");
        let mut command = serve(&data);
        command.arg("--token-auth-file").arg(&tokens);
        command.stderr(Stdio::piped());
        let server = Server::start_with(command, &data).expect("it starts");
        server.send("TERM");
        let (code, said) = server.ended();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.contains("chmod o-r"), is_warned, "{mode:o}: {said}");
    }
}

#[test]
fn whoever_forgets_tls_is_told_so() {
    let server = Server::start();
    let mut stream = TcpStream::connect(Caller::of(&server).address()).expect("connected");
    let request = "GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert_eq!(head, "HTTP/1.0 400 Bad Request");
    assert!(
        body.contains("an HTTP request to an HTTPS server"),
        "{body}"
    );
}

#[test]
fn variables_stand_for_flags() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    let mut command = Command::new(binary("hindsight"));
    command
        .arg("serve")
        .env("HINDSIGHT_DATA_DIR", &data)
        .env("HINDSIGHT_LISTEN", "127.0.0.1:0")
        .env("HINDSIGHT_KUBECONFIG", &copy)
        .env("HINDSIGHT_TOKEN_AUTH_FILE", tokens(directory.path()))
        .env("HINDSIGHT_LOG_FORMAT", "json")
        .env("RUST_LOG", "info")
        .stderr(Stdio::piped());
    let server = Server::start_with(command, &data).expect("it starts");
    assert!(data.join("events").exists());
    assert_known(&server, &copy);
    server.send("TERM");
    let (_, said) = server.ended();
    assert!(said.contains("listening on "), "{said}");
    for line in said.lines() {
        let entry = serde_json::from_str::<Value>(line).expect(line);
        assert!(entry["level"].is_string(), "{line}");
    }
}

#[test]
fn a_server_that_listens_on_all_addresses_is_found_on_this_machine() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let mut command = Command::new(binary("hindsight"));
    command.args(["serve", "--listen", "0.0.0.0:0"]);
    command.arg("--data-dir").arg(&data);
    let server = Server::start_with(command, &data).expect("it starts");
    assert!(
        server.ready.contains("https://127.0.0.1:"),
        "{}",
        server.ready
    );
    server.kubectl(&["get", "namespaces"]);
}

#[test]
fn the_command_to_type_next_can_be_typed_whatever_the_directory_is_called() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("my data");
    let server = Server::start_on(&data);
    let named = format!("--kubeconfig '{}/admin.kubeconfig' ", data.display());
    assert!(server.ready.contains(&named), "{}", server.ready);
}

#[test]
fn the_info_level_reports_each_event_once() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = temporary.path().join("data");
    let run = |requests: usize| -> Vec<String> {
        let mut command = serve(&data);
        command.args(["--snapshot-every", "20", "--keep-history-bytes", "1B"]);
        command.env("RUST_LOG", "info").stderr(Stdio::piped());
        let server = Server::start_with(command, &data).expect("it starts");
        for request in 0..requests {
            server.kubectl(&["create", "configmap", &format!("c{requests}-{request}")]);
        }
        server.send("TERM");
        let (_, said) = server.ended();
        said.lines().map(str::to_owned).collect()
    };
    let (first, second) = (run(70), run(1));
    let told =
        |lines: &[String], what: &str| lines.iter().filter(|line| line.contains(what)).count();
    for (lines, begun) in [
        (&first, "the whole log was read"),
        (&second, "was read from a snapshot on"),
    ] {
        for what in [
            begun,
            "listening on https://127.0.0.1:",
            "shutting down",
            "ended",
        ] {
            assert_eq!(told(lines, what), 1, "{what}: {lines:#?}");
        }
    }
    let snapshots = told(&first, "a snapshot was written revision=");
    assert!((2..=5).contains(&snapshots), "{first:#?}");
    let floors = told(&first, "history was dropped") + told(&second, "history was dropped");
    assert!((1..=5).contains(&floors), "{first:#?} {second:#?}");
    assert!(
        first.len() < 20,
        "none is told for each request: {first:#?}"
    );
}

#[test]
fn its_own_log_is_text_or_json() {
    let directory = tempfile::tempdir().expect("a directory");
    for (format, is_json) in [("text", false), ("json", true)] {
        let data = directory.path().join(format);
        std::fs::create_dir_all(data.join("snapshots")).expect("made");
        // A file that is not a snapshot causes a warning.
        let snapshot = data.join("snapshots/00000000000000000001.snapshot");
        std::fs::write(snapshot, "none").expect("written");
        let mut command = serve(&data);
        command
            .args(["--log-format", format])
            .stderr(Stdio::piped());
        let mut process = command.stdout(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        let stderr = process.stderr.take().expect("a pipe");
        let mut stderr = std::io::BufReader::new(stderr);
        std::io::BufRead::read_line(&mut stderr, &mut line).expect("a line");
        process.kill().expect("it ran");
        process.wait().expect("it ends");
        assert!(line.contains("a damaged snapshot was set aside"), "{line}");
        let read = serde_json::from_str::<Value>(&line);
        assert_eq!(read.is_ok(), is_json, "{line}");
    }
}

#[test]
fn each_line_of_a_log_in_json_is_json_also_when_a_start_is_refused() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, letter) = (
        temporary.path().join("data"),
        temporary.path().join("letter"),
    );
    std::fs::write(&letter, "Dear all").expect("written");
    for (is_refused, filter, told) in [
        (false, "loud=loud", ["is invalid", "only for loopback"]),
        (true, "off", ["only for loopback", "is not replaced"]),
    ] {
        let mut command = Command::new(binary("hindsight"));
        command.args(["serve", "--listen", "0.0.0.0:0", "--log-format", "json"]);
        command.arg("--data-dir").arg(&data).env("RUST_LOG", filter);
        if is_refused {
            command.arg("--kubeconfig").arg(&letter);
        }
        command.stderr(Stdio::piped());
        let said = match Server::start_with(command, &data) {
            Ok(server) => {
                server.send("TERM");
                server.ended().1
            }
            Err(refused) => text(&refused.stderr),
        };
        let messages = said.lines().map(|line| {
            let entry: Value = serde_json::from_str(line).expect(line);
            entry["fields"]["message"].as_str().expect(line).to_owned()
        });
        let messages: Vec<String> = messages.collect();
        for what in told {
            assert!(messages.iter().any(|one| one.contains(what)), "{said}");
        }
    }
}

#[test]
fn it_says_that_it_lives_and_which_version_it_is() {
    let server = Server::start();
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(server.kubectl(&["get", "--raw", path]), "ok", "{path}");
    }
    let told = server.kubectl(&["get", "--raw", "/readyz?verbose"]);
    assert!(told.starts_with("[+]ping ok\n[+]log ok\n"), "{told}");
    let version = server.kubectl(&["get", "--raw", "/version"]);
    let version: Value = serde_json::from_str(&version).expect("JSON");
    assert_eq!(version["major"], "1");
    let told = server.kubectl(&["version"]);
    assert!(told.contains("Server Version: v1."), "{told}");
}

#[test]
fn discovery_is_told_whole_or_group_by_group_and_says_the_same() {
    let plane = ControlPlane::open(Config::default()).expect("a control plane");
    let client = Client::new(&plane);
    let whole = |path: &str| {
        let answer = client.send_with("GET", path, &[("accept", DISCOVERY)], "");
        assert_eq!(answer.code, 200);
        assert_eq!(answer.json()["kind"], "APIGroupDiscoveryList");
        answer.json()["items"].as_array().expect("groups").clone()
    };
    let mut compared = 0;
    for group in whole("/api").iter().chain(&whole("/apis")) {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        for version in group["versions"].as_array().expect("versions") {
            let number = version["version"].as_str().expect("a version");
            let path = match name {
                "" => format!("/api/{number}"),
                name => format!("/apis/{name}/{number}"),
            };
            let told = client.send("GET", &path, "", "").json();
            let plain = told["resources"].as_array().expect("resources");
            for resource in version["resources"].as_array().expect("resources") {
                let kind = &resource["responseKind"]["kind"];
                let same = |one: &&Value| one["name"] == resource["resource"];
                let found = plain.iter().find(same).expect("told by both");
                assert_eq!(
                    (&found["kind"], &found["verbs"]),
                    (kind, &resource["verbs"])
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn the_examples_that_embed_it_run() {
    for (example, told) in [
        ("embedded", "all gone at revision"),
        ("served", "made settings over HTTP"),
        ("without_http", "it began with alice (delete)"),
    ] {
        let output = Command::new(binary(&format!("examples/{example}"))).output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains(told), "{example}");
    }
}

#[test]
fn events_go_some_time_after_their_last_write_also_if_that_was_before_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let keeping = |ttl: &str| {
        let mut command = serve(directory.path());
        command.args(["--event-ttl", ttl]);
        Server::start_with(command, directory.path()).expect("it starts")
    };
    let server = keeping("0");
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
        "involvedObject": {"namespace": "default"}, "reason": "Tested"});
    server.kubectl_with(&["create", "-f", "-"], &event.to_string());
    // When the first goes the collectors have seen the event, and when the second goes they have nothing under way.
    for name in ["first", "second"] {
        let doomed = dependent(name, "owner", "nobody");
        server.kubectl_with(&["create", "-f", "-"], &doomed);
        let object = format!("configmap/{name}");
        server.kubectl(&["wait", "--for=delete", &object, "--timeout=120s"]);
    }
    let name = "jsonpath={.metadata.name}";
    assert_eq!(server.kubectl(&["get", "event", "e", "-o", name]), "e");
    server.signal("TERM");

    let server = keeping("1ms");
    server.kubectl(&["wait", "--for=delete", "event/e", "--timeout=60s"]);
    let why = text(&server.hindsight(&["why", "events", "default/e"]).stdout);
    assert!(why.contains("a policy asked for it (policy)"), "{why}");
    assert!(why.contains("policy event-ttl"), "{why}");
}
