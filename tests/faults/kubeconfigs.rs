//! Kubeconfigs in places in which no other file can be given their name.

use super::full::Small;
use hindsight_tests::disk::{Disk, fill, skipped};
use hindsight_tests::server::{Server, serve};
use std::fs::{read_to_string, write};
use std::process::Command;

/// As with `docker run --volume ./kubeconfig:/kubeconfig`.
#[test]
fn a_kubeconfig_that_is_mounted_alone_is_written_in_its_place() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let [outside, inside, data] =
        ["outside", "inside", "data"].map(|name| temporary.path().join(name));
    for path in [&outside, &inside] {
        write(path, "").expect("made");
    }
    let Some(_mounted) = Disk::bind_mount(&outside, &inside) else {
        skipped("a file that is mounted", "nothing can be mounted here");
        return;
    };
    for _ in 0..2 {
        let mut command = serve(&data);
        command.arg("--kubeconfig").arg(&inside);
        let server = Server::start_with(command, &data).expect("it starts");
        let own = read_to_string(data.join("admin.kubeconfig")).expect("there");
        assert_eq!(read_to_string(&outside).expect("there"), own);
        assert_eq!(server.signal("TERM"), Some(0));
    }
}

/// Neither what tools have added nor the server's own credentials are lost.
#[test]
fn on_a_full_disk_a_kubeconfig_with_clusters_of_others_is_left_and_moved_once_there_is_room() {
    let Some(small) = Small::of(64, "a kubeconfig on a full disk") else {
        return;
    };
    let data = &small.directory;
    let [own, aside] =
        ["admin.kubeconfig", "admin.kubeconfig.others-1"].map(|name| data.join(name));
    let server = Server::start_on(data);
    let added = Command::new("kubectl")
        .args(["config", "set-cluster", "docker-desktop", "--kubeconfig"])
        .arg(&own)
        .output();
    assert!(added.expect("kubectl runs").status.success());
    server.kubectl(&["get", "namespaces"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let both = read_to_string(&own).expect("there");
    let filling = fill(&small.at);
    for end in ["KILL", "TERM"] {
        let server = Server::start_on(data);
        assert_eq!(read_to_string(&own).expect("there"), both);
        assert!(!aside.exists());
        server.signal(end);
        fill(&small.at);
    }
    std::fs::remove_file(filling).expect("removed");
    let server = Server::start_on(data);
    assert_eq!(read_to_string(&aside).expect("there"), both);
    assert!(!read_to_string(&own).expect("there").contains("docker"));
    server.kubectl(&["get", "namespaces"]);
    assert_eq!(server.signal("TERM"), Some(0));
}
