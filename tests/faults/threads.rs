//! A moment in which no thread can be started.

use hindsight_tests::server::Server;
use hindsight_tests::strace::Strace;
use hindsight_tests::wire::{Caller, request};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// More than are read before a thread reads ahead.
const WRITES: usize = 1_000;

/// The first event of a watch of what came after this version.
fn first_missed(caller: &Caller, version: &str) -> String {
    let mut wire = caller.connect().expect("connected");
    let path = format!("{MAPS}?watch=1&resourceVersion={version}");
    wire.send(request("GET", &path, "").as_bytes())
        .expect("sent");
    assert_eq!(wire.head().expect("an answer").0, 200);
    wire.event().expect("readable").expect("an event")
}

#[test]
fn without_new_threads_the_log_is_read_and_watches_get_what_they_missed() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let mut wire = Caller::of(&server).connect().expect("connected");
    for number in 0..WRITES {
        let map = format!(r#"{{"metadata": {{"name": "c{number}"}}}}"#);
        let made = wire.ask("POST", MAPS, &map).expect("an answer");
        assert_eq!(made.code, 201);
    }
    let version = ["-o", "jsonpath={.metadata.resourceVersion}"];
    let version = server.kubectl(&[&["get", "configmap", "c0"][..], &version].concat());
    assert_eq!(server.signal("TERM"), Some(0));
    let server = Server::start_on(&directory);
    let caller = Caller::of(&server);
    let Some(tracer) = Strace::attach(server.pid(), "clone,clone3", "error=EAGAIN") else {
        return;
    };
    let told = server.kubectl(&["get", "--raw", "/hindsight/v1/log?since=1"]);
    assert!(told.contains("default/c900"), "{told:.300}");
    let first = first_missed(&caller, &version);
    assert!(first.contains(r#""name":"c1""#), "{first:.300}");
    drop(tracer);
    let first = first_missed(&caller, &version);
    assert!(first.contains(r#""name":"c1""#), "{first:.300}");
}
