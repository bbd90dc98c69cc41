//! Backups of a running server and restores from them: what clients see, and what is refused.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use futures_util::TryStreamExt;
use hindsight_tests::http::MAPS;
use hindsight_tests::server::{
    Server, binary, hindsight, kubeconfig_with_token, serve, stdout, text,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_mins(1);
const BUMP: u64 = 1_000_000_000;

struct Place {
    _temporary: tempfile::TempDir,
    data: PathBuf,
    file: PathBuf,
}

impl Place {
    fn new() -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        Self {
            data: temporary.path().join("data"),
            file: temporary.path().join("file.backup"),
            _temporary: temporary,
        }
    }

    fn other(&self) -> PathBuf {
        self.data.with_file_name("other")
    }

    fn backup(&self, more: &[&str]) -> Output {
        let file = self.file.to_str().expect("UTF-8");
        hindsight(&self.data, &[&["backup", file], more].concat())
    }

    fn restore(&self, directory: &Path) -> Output {
        let file = self.file.to_str().expect("UTF-8");
        hindsight(directory, &["restore", file])
    }
}

fn revision_of(server: &Server, name: &str) -> u64 {
    let path = "jsonpath={.metadata.resourceVersion}";
    let text = server.kubectl(&["get", "configmap", name, "-o", path]);
    text.parse().expect("a revision")
}

fn refused(output: &Output, why: &str) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(why), "{message}");
}

/// The revisions at which the log reports that a backup was restored.
fn listed_restores(directory: &Path) -> Vec<u64> {
    let log = |more: &[&str]| stdout(&hindsight(directory, &[&["log"], more].concat()));
    let entries: Value = serde_json::from_str(&log(&["-o", "json"])).expect("JSON");
    let entries = entries.as_array().expect("a list").iter();
    let restores = entries.filter(|entry| entry["verb"] == "restore");
    let revisions: Vec<u64> = restores
        .filter_map(|one| one["revision"].as_u64())
        .collect();
    let text = log(&[]);
    let is_one = |line: &&str| line.contains("a backup was restored");
    let lines: Vec<&str> = text.lines().filter(is_one).collect();
    let first = |line: &&str| line.split_whitespace().next()?.parse().ok();
    let told: Vec<u64> = lines.iter().filter_map(first).collect();
    assert_eq!(told, revisions);
    assert!(log(&["--verb", "restore"]).lines().eq(lines));
    let later = revisions.iter().map(|at| at + 1).max().unwrap_or_default();
    let after = log(&["--since", &later.to_string()]);
    let of_one = log(&["configmap/kept", "-n", "default"]);
    let by_verb = log(&["--verb", "create"]);
    let by_user = log(&["--user", "admin"]);
    for without in [after, of_one, by_verb, by_user] {
        assert!(
            without.contains("configmaps") && !without.contains("restored"),
            "{without}"
        );
    }
    revisions
}

fn create(server: &Server, name: &str) {
    server.kubectl(&["create", "configmap", name]);
}

/// Checks that lists at exactly this version, and at one not older than it, are refused as expired.
fn lists_have_expired(server: &Server, known: u64) {
    let exactly = "The resourceVersion for the provided list is too old";
    for (matching, expected) in [
        ("", "too old resource version"),
        (
            "&resourceVersionMatch=NotOlderThan",
            "too old resource version",
        ),
        ("&resourceVersionMatch=Exact", exactly),
        ("&limit=1", exactly),
    ] {
        let list = format!("{MAPS}?resourceVersion={known}{matching}");
        let message = server.kubectl_fails(&["get", "--raw", &list], "");
        assert!(message.contains(expected), "{list}: {message}");
    }
}

#[test]
fn what_clients_know_of_before_a_restore_has_expired_and_the_past_is_still_there() {
    let place = Place::new();
    let server = Server::start_on(&place.data);
    create(&server, "kept");
    let kept = revision_of(&server, "kept");
    let told = stdout(&place.backup(&["-o", "json"]));
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let newest = told["revision"].as_u64().expect("a revision");
    assert!(newest >= kept);
    create(&server, "lost");
    let lost = revision_of(&server, "lost");
    drop(server);

    let other = place.other();
    let restored = stdout(&place.restore(&other));
    let continued = restored.split_once("continue after ").expect("it is told");
    let continued = continued.1.lines().next().expect("a line");
    let continued: u64 = continued.parse().expect("a revision");
    assert!(continued > newest + BUMP, "{restored}");
    let server = Server::start_on(&other);
    let names = server.kubectl(&["get", "configmaps", "-o", "name"]);
    assert_eq!(names.trim(), "configmap/kept");
    for known in [kept, newest, lost, newest + 1000] {
        let watch = format!("{MAPS}?watch=1&timeoutSeconds=5&resourceVersion={known}");
        let events = server.kubectl(&["get", "--raw", &watch]);
        assert!(
            events.contains("\"ERROR\"") && events.contains("\"code\":410"),
            "{events}"
        );
        lists_have_expired(&server, known);
    }
    create(&server, "new");
    assert!(revision_of(&server, "new") > continued);
    let past = |at: u64| {
        let list = server.kubectl(&["get", "--raw", &format!("/as-of/{at}{MAPS}")]);
        (list.contains("\"kept\""), list.contains("\"new\""))
    };
    assert_eq!(past(kept - 1), (false, false));
    assert_eq!(past(kept), (true, false));
    assert_eq!(past(newest + BUMP / 2), (true, false), "in the gap");
    assert_eq!(past(revision_of(&server, "new")), (true, true));
    assert!(stdout(&server.hindsight(&["why", "configmap/kept"])).contains("live"));
    let log = stdout(&server.hindsight(&["log", "configmap/new", "-n", "default"]));
    assert!(log.contains("created"), "{log}");

    let online = listed_restores(&other);
    assert_eq!(server.signal("TERM"), Some(0));
    assert_eq!(online, [continued]);
    assert_eq!(listed_restores(&other), online);
    let verified = stdout(&hindsight(&other, &["verify", "--deep"]));
    assert!(
        verified.contains("a backup was restored at revision"),
        "{verified}"
    );
    let until = newest.to_string();
    let replayed = |directory| stdout(&hindsight(directory, &["replay", "--until", &until]));
    assert_eq!(replayed(&place.data), replayed(&other));
}

#[test]
fn a_list_that_was_begun_before_a_restore_has_expired_and_one_of_the_past_goes_on() {
    let place = Place::new();
    let server = Server::start_on(&place.data);
    let begun = |server: &Server, past: &str| {
        let first = format!("{past}/api/v1/namespaces?limit=1");
        let page: Value =
            serde_json::from_str(&server.kubectl(&["get", "--raw", &first])).expect("JSON");
        let token = page["metadata"]["continue"].as_str().expect("a token");
        format!("{first}&continue={token}")
    };
    let next = begun(&server, "");
    server.kubectl(&["get", "--raw", &next]);
    stdout(&place.backup(&[]));
    drop(server);
    let other = place.other();
    stdout(&place.restore(&other));
    let server = Server::start_on(&other);
    let message = server.kubectl_fails(&["get", "--raw", &next], "");
    let expected = "The provided continue parameter is too old";
    assert!(message.contains(expected), "{message}");
    let second = server.kubectl(&["get", "--raw", &begun(&server, "/as-of/4")]);
    assert!(second.contains("kube-node-lease"), "{second}");
}

#[test]
fn a_backup_is_private_and_whole_and_replaces_nothing_unasked() {
    let place = Place::new();
    let server = Server::start_on(&place.data);
    stdout(&place.backup(&[]));
    let mode = std::fs::metadata(&place.file).expect("there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    refused(&place.backup(&[]), "--force");
    stdout(&place.backup(&["--force"]));
    let online = std::fs::read(&place.file).expect("read");
    let piped = server.hindsight(&["backup", "-", "-o", "json"]);
    let told: Value = serde_json::from_slice(&piped.stderr).expect("JSON and nothing else");
    assert!(piped.status.success() && told["frames"].is_u64(), "{told}");
    drop(server);
    stdout(&place.backup(&["--force"]));
    let offline = std::fs::read(&place.file).expect("read");
    // The heads differ in the time of the backup.
    let head = 5 + 9 + 16;
    assert_eq!(online[head..], offline[head..]);
    assert_eq!(online[head..], piped.stdout[head..]);
}

#[test]
fn only_an_administrator_gets_a_backup() {
    let place = Place::new();
    let tokens = place.file.with_file_name("tokens");
    std::fs::write(&tokens, "secret-token,alice,1,\"people\"\n").expect("written");
    let mut command = serve(&place.data);
    command.arg("--token-auth-file").arg(&tokens);
    let server = Server::start_with(command, &place.data).expect("it starts");
    let path = "/hindsight/v1/backup";
    let alice = kubeconfig_with_token(&server.kubeconfig(), "secret-token");
    let message = server.kubectl_fails(&["--kubeconfig", &alice, "get", "--raw", path], "");
    assert!(message.contains("system:masters"), "{message}");
}

#[test]
fn a_directory_is_restored_into_whole_or_not_at_all() {
    let place = Place::new();
    drop(Server::start_on(&place.data));
    let told = stdout(&place.backup(&["-o", "json"]));
    assert!(told.lines().count() > 5, "a member a line: {told}");
    refused(&place.restore(&place.data), "already contains a log");
    let other = place.other();
    let whole = std::fs::read(&place.file).expect("read");
    std::fs::write(&place.file, &whole[..whole.len() - 1]).expect("written");
    refused(&place.restore(&other), "file.backup cannot be restored");
    assert!(!other.exists(), "nothing is left of what was made for it");
    std::fs::create_dir(&other).expect("made");
    refused(&place.restore(&other), "cannot be used");
    assert!(!other.join("restoring").exists() && !other.join("events").exists());
    std::fs::write(&place.file, &whole).expect("written");

    std::fs::create_dir_all(other.join("restoring/events")).expect("made");
    std::fs::write(other.join("events.tail"), "moved already").expect("written");
    refused(
        &serve(&other).output().expect("it runs"),
        "was not finished",
    );
    refused(&hindsight(&other, &["verify"]), "was not finished");
    stdout(&place.restore(&other));
    assert!(!other.join("restoring").exists());

    std::fs::create_dir(other.join("restoring")).expect("made");
    stdout(&hindsight(&other, &["verify", "--deep"]));
    assert!(!other.join("restoring").exists());

    let third = other.with_file_name("third");
    let file = place.file.to_str().expect("UTF-8");
    let none = hindsight(&third, &["restore", file, "--bump-revision", "0"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("issued again"));
}

async fn client(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a usable kubeconfig")).expect("a client")
}

/// Reads on until a whole list has come, and returns its names.
async fn listed(
    events: &mut (
             impl futures_util::TryStream<Ok = watcher::Event<ConfigMap>, Error = watcher::Error> + Unpin
         ),
) -> Vec<String> {
    let mut names = Vec::new();
    let list = async {
        loop {
            match events.try_next().await {
                Ok(Some(watcher::Event::Init)) => names.clear(),
                Ok(Some(watcher::Event::InitApply(object))) => names.push(object.name_any()),
                Ok(Some(watcher::Event::InitDone)) => return,
                Ok(None) => panic!("the watch ended"),
                // The server is away for a while.
                Ok(Some(_)) | Err(_) => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, list)
        .await
        .expect("a list comes");
    names.retain(|name| name != "kube-root-ca.crt");
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_goes_on_by_itself_over_a_restore() {
    let place = Place::new();
    let server = Server::start_on(&place.data);
    create(&server, "kept");
    stdout(&place.backup(&[]));
    create(&server, "lost");
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    let events = watcher(maps, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    assert_eq!(listed(&mut events).await, ["kept", "lost"]);

    let address = server.ready.split("https://").nth(1).expect("an address");
    let address = address.split(';').next().expect("an address").to_owned();
    drop(server);
    for part in ["events", "events.tail", "events.reserve", "snapshots"] {
        let aside = place.data.join(format!("old-{part}"));
        std::fs::rename(place.data.join(part), aside).ok();
    }
    stdout(&place.restore(&place.data));
    let mut command = Command::new(binary("hindsight"));
    command.args(["serve", "--listen", &address, "--data-dir"]);
    command.arg(&place.data);
    let again = Server::start_with(command, &place.data).expect("it starts");
    assert_eq!(listed(&mut events).await, ["kept"]);
    create(&again, "new");
    let seen = async {
        loop {
            if let Ok(Some(watcher::Event::Apply(object))) = events.try_next().await {
                return object.name_any();
            }
        }
    };
    let seen = tokio::time::timeout(PATIENCE, seen)
        .await
        .expect("it goes on");
    assert_eq!(seen, "new");
}

/// Otherwise a backup made by root would replace a device by a file of that name, with every Secret
/// in it.
#[test]
fn a_backup_replaces_files_alone_and_follows_links() {
    let mut place = Place::new();
    drop(Server::start_on(&place.data));
    let beside = |name: &str| place.file.with_file_name(name);
    let [file, link, dangling, pipe, directory] =
        ["file", "link", "dangling", "pipe", "directory"].map(beside);
    std::fs::write(&file, "older").expect("written");
    symlink("file", &link).expect("linked");
    symlink("missing", &dangling).expect("linked");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    std::fs::create_dir(&directory).expect("made");
    let kind = |path: &Path| path.symlink_metadata().expect("there").file_type();
    for (other, why) in [
        (&pipe, "not a regular file"),
        (&directory, "is a directory; name a file"),
        (&link, "already exists"),
    ] {
        let before = kind(other);
        place.file.clone_from(other);
        refused(&place.backup(&[]), why);
        if other != &link {
            refused(&place.backup(&["--force"]), why);
        }
        assert_eq!(kind(other), before, "{}", other.display());
    }
    for (named, options, written) in [
        (&link, &["--force"][..], &file),
        (&dangling, &[], &dangling.with_file_name("missing")),
    ] {
        place.file.clone_from(named);
        stdout(&place.backup(options));
        assert!(kind(named).is_symlink() && kind(written).is_file());
        let begin = std::fs::read(written).expect("readable");
        assert!(begin.starts_with(b"HSBK"), "{}", named.display());
    }
}

/// Flips a bit in each copy of a text in the database, and removes the journal, as if the record had
/// left it long ago.
fn damage(data: &Path, text: &str) {
    std::fs::remove_file(data.join("events/journal")).expect("removed");
    let path = data.join("events/db");
    let mut bytes = std::fs::read(&path).expect("read");
    let is_there = |window: (usize, &[u8])| (window.1 == text.as_bytes()).then_some(window.0);
    let found: Vec<usize> = bytes
        .windows(text.len())
        .enumerate()
        .filter_map(is_there)
        .collect();
    assert!(!found.is_empty(), "{text} is not there");
    found.into_iter().for_each(|at| bytes[at] ^= 1);
    std::fs::write(path, bytes).expect("written");
}

/// Which of 30 records is damaged.
const DAMAGED: usize = 20;

/// Creates a ConfigMap whose record is neither merged with others nor compressed.
fn create_alone(server: &Server, name: &str) {
    let noise = (0..1500).map(|number: u32| {
        let mut hasher = DefaultHasher::new();
        number.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    });
    let data = format!("--from-literal=k={}", noise.collect::<String>());
    server.kubectl(&["create", "configmap", name, &data]);
}

/// Left alone, the engine would open a shorter log and blank what comes after the damage.
#[test]
fn of_a_damaged_log_nothing_is_lost_by_starts_and_what_is_whole_is_saved() {
    let place = Place::new();
    let server = Server::start_on(&place.data);
    let names: Vec<String> = (0..30).map(|number| format!("zqxjk{number:02}")).collect();
    for (number, name) in (0..).zip(&names) {
        if number == DAMAGED {
            create_alone(&server, name);
        } else {
            create(&server, name);
        }
    }
    let damaged_at = revision_of(&server, &names[DAMAGED]);
    assert_eq!(server.signal("TERM"), Some(0));
    damage(&place.data, &names[DAMAGED]);
    let database = place.data.join("events/db");
    let before = std::fs::read(&database).expect("read");
    let last = format!("intact up to revision {}, ", damaged_at - 1);
    for _ in 0..2 {
        refused(&serve(&place.data).output().expect("it runs"), &last);
        refused(&hindsight(&place.data, &["verify"]), &last);
        refused(&place.backup(&[]), &last);
    }
    assert!(
        std::fs::read(&database).expect("read") == before,
        "it was written to"
    );

    let told = text(&place.backup(&["--intact"]).stderr);
    assert!(told.contains(&last), "{told}");
    let other = place.other();
    stdout(&place.restore(&other));
    let server = Server::start_on(&other);
    let found = server.kubectl(&["get", "configmaps", "-o", "name"]);
    let expected = names[..DAMAGED]
        .iter()
        .map(|name| format!("configmap/{name}"));
    let own = ["configmap/kube-root-ca.crt".to_owned()];
    let found: Vec<&str> = found.lines().filter(|one| *one != own[0]).collect();
    assert_eq!(found, expected.collect::<Vec<String>>());
    assert!(
        server.hindsight(&["verify"]).status.code() == Some(1),
        "it is served"
    );
}

#[test]
fn of_a_whole_log_all_of_it_is_intact_and_a_server_keeps_others_out() {
    let place = Place::new();
    let server = Server::start_on(&place.data);
    refused(&place.backup(&["--intact"]), "a server is using ");
    drop(server);
    let told = place.backup(&["--intact"]);
    assert!(text(&told.stderr).contains("where it ends"), "{told:?}");
    let saved = stdout(&told);
    let whole = stdout(&place.backup(&["--force"]));
    let chain = |told: &str| told.split(", chain ").nth(1).map(str::to_owned);
    assert_eq!(chain(&saved), chain(&whole));
}

#[test]
fn of_a_log_without_its_database_no_backup_replaces_another() {
    let place = Place::new();
    assert_eq!(Server::start_on(&place.data).signal("TERM"), Some(0));
    stdout(&place.backup(&[]));
    let good = std::fs::read(&place.file).expect("read");
    std::fs::write(place.data.join("events/db"), "").expect("emptied");
    refused(&place.backup(&["--intact", "--force"]), "is intact, so no");
    assert!(std::fs::read(&place.file).expect("read") == good);
    let unfinished = place.file.with_file_name("file.backup.unfinished");
    assert!(!unfinished.exists());
}
