//! A limit on the length of files (`ulimit -f`): a process that exceeds it is ended by a signal
//! without a message.

use super::full::{large, write_until_full};
use super::verify;
use hindsight_tests::server::{Server, limited, text};
use std::path::Path;
use std::process::Stdio;

/// `hindsight serve` under a limit on the length of files; the shell counts blocks of 512 bytes.
fn with_files_of(mib: u64, directory: &Path) -> std::process::Command {
    let mut command = limited(directory, &format!("ulimit -f {}", mib << 11));
    command.stderr(Stdio::piped());
    command
}

#[test]
fn a_database_that_may_not_become_longer_is_as_a_full_disk() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let start = || Server::start_with(with_files_of(56, &directory), &directory).expect("started");
    let server = start();
    write_until_full(&server, "c");
    server.kubectl(&["delete", "configmap", "c0"]);
    server.signal("KILL");
    for life in 1..6 {
        let server = start();
        write_until_full(&server, &format!("d{life}-"));
        let names = server.kubectl(&["get", "configmaps", "-o", "name"]);
        assert!(!names.contains("configmap/c0\n"), "{names}");
        server.kubectl(&["delete", "configmap", &format!("c{life}")]);
        assert_eq!(server.signal("TERM"), Some(0));
    }
    let server = Server::start_on(&directory);
    server.kubectl_with(&["create", "-f", "-"], &large("later"));
    assert_eq!(server.signal("TERM"), Some(0));
    verify(&directory);
}

#[test]
fn a_limit_that_is_too_low_is_named_and_nothing_is_written() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("data");
    let refused = |mib: u64| {
        let command = with_files_of(mib, &directory);
        let ended = Server::start_with(command, &directory).expect_err("it is refused");
        assert_eq!(ended.status.code(), Some(1), "{mib} MiB");
        let message = text(&ended.stderr);
        assert!(message.contains("ulimit -f"), "{mib} MiB: {message}");
        message
    };
    // Not even the lock file can be written.
    refused(0);
    let message = refused(12);
    assert!(message.contains("12582912 bytes"), "{message}");
    assert!(!directory.join("events/db").exists());
    let server = Server::start_on(&directory);
    server.kubectl(&["create", "configmap", "a"]);
    server.signal("KILL");
    let before = std::fs::read(directory.join("events/db")).expect("read");
    let message = refused(12);
    assert!(message.contains("12582912 bytes"), "{message}");
    let after = std::fs::read(directory.join("events/db")).expect("read");
    assert!(before == after);
    let server = Server::start_on(&directory);
    assert!(server.kubectl(&["get", "configmaps"]).contains("a "));
}
