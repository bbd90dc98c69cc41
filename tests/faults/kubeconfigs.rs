//! Kubeconfigs in places in which no other file can be given their name.

use super::full::Small;
use hindsight_tests::disk::{Disk, fill, skipped};
use hindsight_tests::server::{Server, serve};
use std::fs::{read_to_string, write};
use std::path::Path;
use std::process::{Command, Stdio};

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

/// As `kind create cluster` does, while `KUBECONFIG` names the file.
fn add_a_cluster(kubeconfig: &Path) {
    let added = Command::new("kubectl")
        .args(["config", "set-cluster", "docker-desktop", "--kubeconfig"])
        .arg(kubeconfig)
        .output();
    assert!(added.expect("kubectl runs").status.success());
}

#[test]
fn the_servers_own_kubeconfig_with_clusters_of_others_is_left_if_it_is_mounted_alone() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let [outside, data] = ["outside", "data"].map(|name| temporary.path().join(name));
    let own = data.join("admin.kubeconfig");
    assert_eq!(Server::start_on(&data).signal("TERM"), Some(0));
    std::fs::copy(&own, &outside).expect("copied");
    add_a_cluster(&outside);
    let both = read_to_string(&outside).expect("there");
    let Some(_mounted) = Disk::bind_mount(&outside, &own) else {
        skipped("a file that is mounted", "nothing can be mounted here");
        return;
    };
    let mut command = serve(&data);
    command.stderr(Stdio::piped());
    let server = Server::start_with(command, &data).expect("it starts");
    assert_eq!(read_to_string(&own).expect("there"), both);
    server.send("TERM");
    let (code, told) = server.ended();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("is mounted by itself: mount "), "{told}");
    assert!(!data.join("admin.kubeconfig.others-1").exists());
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
    add_a_cluster(&own);
    server.kubectl(&["get", "namespaces"]);
    assert_eq!(server.signal("TERM"), Some(0));
    let both = read_to_string(&own).expect("there");
    let filling = fill(&small.at);
    for end in ["KILL", "TERM"] {
        // Whether or not it is named.
        let mut command = serve(data);
        if end == "TERM" {
            command.arg("--kubeconfig").arg(&own);
        }
        let server = Server::start_with(command, data).expect("it starts");
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
