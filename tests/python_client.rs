//! The official Python client. `tests/run` installs it; without it this test fails with a message.

use hindsight_tests::server::{Server, stdout};
use hindsight_tests::tree::repository;
use std::process::Command;

#[test]
fn the_python_client_works() {
    let python = std::env::var("HINDSIGHT_TEST_PYTHON")
        .expect("HINDSIGHT_TEST_PYTHON is not set: run tests/run, which installs the client");
    let server = Server::start();
    let output = Command::new(python)
        .arg(repository().join("tests/python/client_test.py"))
        .arg(server.kubeconfig())
        .output()
        .expect("python starts");
    assert_eq!(stdout(&output).matches("ok ").count(), 5);
}
