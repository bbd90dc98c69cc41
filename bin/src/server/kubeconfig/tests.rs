//! Which files a start writes the kubeconfig to, and which it leaves alone.

use super::*;
use crate::server::pki::UNFINISHED;
use crate::testing::{NO_FILES, in_time};
use hindsight_log::WholeFile;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};
use std::os::unix::fs::symlink;

/// The data directory, with its `pki`, and the kubeconfig that a start at this port wrote.
fn started(data: &Path, port: u16) -> Value {
    let pki = Pki::open(&data.join("pki"), [127, 0, 0, 1].into()).expect("made");
    let written = DataDir(data).kubeconfig();
    write(&written, ([127, 0, 0, 1], port).into(), &pki).expect("written");
    let text = std::fs::read_to_string(written).expect("there");
    serde_saphyr::from_str(&text).expect("YAML")
}

/// The kubeconfig with another value at a path of its members.
fn with(config: &Value, above: &str, member: &str, value: impl Into<Value>) -> String {
    let mut changed = config.clone();
    changed.pointer_mut(above).expect("there")[member] = value.into();
    changed.to_string()
}

#[test]
fn only_what_is_empty_or_our_own_is_replaced() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = DataDir(temporary.path());
    let elsewhere = started(&temporary.path().join("elsewhere"), 1);
    let config = started(data.0, 1);
    let ours = std::fs::read_to_string(data.kubeconfig()).expect("there");
    let [cluster, user, context] = [
        "/clusters/0/cluster",
        "/users/0/user",
        "/contexts/0/context",
    ];
    let path = temporary.path().join("config");
    assert_eq!(check(&path, data).expect("it does not exist"), Use::Written);
    let long = format!("{ours}\n#{}", " ".repeat(1 << 20));
    let authority = &config["clusters"][0]["cluster"]["certificate-authority-data"];
    let prod = json!([{"name": "prod", "context": {}}]);
    let certificate = "client-certificate-data";
    let rewritten = with(&config, "", "preferences", json!({}));
    for (text, expected) in [
        (String::new(), Some(Use::Written)),
        (ours.clone(), Some(Use::Written)),
        (rewritten, Some(Use::Written)),
        (
            with(&config, cluster, "server", "https://[::1]:2"),
            Some(Use::Written),
        ),
        (ours.replace("hindsight-admin", "admin"), Some(Use::Written)),
        (
            with(&config, cluster, "server", "https://east:2"),
            Some(Use::Kept),
        ),
        (
            with(&config, cluster, "tls-server-name", "east"),
            Some(Use::Kept),
        ),
        (ours.replace("hindsight-admin", "alice"), Some(Use::Kept)),
        (ours.replace("hindsight", "east"), Some(Use::Kept)),
        (with(&config, user, "token", "secret"), Some(Use::Kept)),
        (
            with(&config, user, certificate, authority.clone()),
            Some(Use::Kept),
        ),
        (with(&config, context, "namespace", "team"), Some(Use::Kept)),
        (with(&config, "", "extensions", json!([])), Some(Use::Kept)),
        (
            with(&config, "", "preferences", json!({"colors": true})),
            Some(Use::Kept),
        ),
        (with(&config, "", "contexts", prod), Some(Use::Kept)),
        (format!("# of east\n{ours}"), Some(Use::Kept)),
        (elsewhere.to_string(), None),
        ("a letter".into(), None),
        ("apiVersion: v1\nkind: Config\n".into(), None),
        (long, None),
    ] {
        std::fs::write(&path, &text).expect("written");
        let checked = check(&path, data);
        assert_eq!(checked.as_ref().ok(), expected.as_ref(), "{text:.300}");
        if let Err(error) = checked {
            let told = error.to_string();
            assert!(told.contains("config view --flatten"), "{told}");
            assert!(told.contains("sed s/hindsight/NAME/ "), "{told}");
            assert!(
                told.contains(&*data.kubeconfig().to_string_lossy()),
                "{told}"
            );
        }
    }
}

#[test]
fn a_directory_that_does_not_exist_is_named() {
    let temporary = tempfile::tempdir().expect("a directory");
    let nowhere = temporary.path().join("nowhere/config");
    let told = check(&nowhere, DataDir(temporary.path())).expect_err("refused");
    let told = told.to_string();
    assert!(told.contains("nowhere; create it, or"), "{told}");
}

#[test]
fn where_a_file_that_was_changed_does_not_lead_here_it_is_told_how_to_correct_that() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = DataDir(temporary.path());
    let config = started(data.0, 1);
    let path = temporary.path().join("config");
    let changed = with(&config, "/contexts/0/context", "namespace", "team");
    std::fs::write(&path, &changed).expect("written");
    let at = |port| {
        let found = Found::read(&path, data).expect("read");
        found.kept(&path, data, ([127, 0, 0, 1], port).into())
    };
    let (here, elsewhere) = (at(1), at(2));
    for told in [&here, &elsewhere] {
        assert!(told.contains("config is left as it is"), "{told}");
        assert!(told.contains("the current kubeconfig is "), "{told}");
        assert!(told.contains("admin.kubeconfig"), "{told}");
    }
    assert!(!here.contains("set-cluster"), "{here}");
    let command = "/config leads to https://127.0.0.1:1, and this server is at https://127.0.0.1:2: if clients do not \
        reach it there, run `kubectl config set-cluster hindsight --server https://127.0.0.1:2 --kubeconfig ";
    assert!(elsewhere.contains(command), "{elsewhere}");
}

#[test]
fn what_is_from_before_the_authority_was_replaced_is_kept_and_the_refusal_says_what_to_do() {
    let temporary = tempfile::tempdir().expect("a directory");
    let above = temporary.path().canonicalize().expect("there");
    let (data, path) = (DataDir(&above), above.join("config"));
    started(data.0, 1);
    std::fs::copy(data.kubeconfig(), &path).expect("copied");
    check(&path, data).expect("its own");
    std::fs::remove_dir_all(data.pki()).expect("removed");
    let refused = || check(&path, data).expect_err("refused").to_string();
    assert!(refused().contains("remove this one if"), "{}", refused());
    Pki::open(&data.pki(), [127, 0, 0, 1].into()).expect("made");
    let told = format!("as after {} was replaced", data.pki().display());
    assert!(refused().contains(&told), "{}", refused());
    check(&data.kubeconfig(), data).expect("it is written in any case");
}

/// The certificate of an authority that ends in this year.
fn issue(name: &str, key: &KeyPair, year: i32) -> String {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(year, 1, 1);
    params.self_signed(key).expect("signed").pem()
}

/// The same for a data directory whose authority somebody made with this key, and ends in 2040.
fn started_with(data: DataDir<'_>, key: &KeyPair) -> Value {
    std::fs::create_dir(data.pki()).expect("made");
    let authority = data.pki().join(AUTHORITY);
    std::fs::write(&authority, issue("ours", key, 2040)).expect("written");
    std::fs::write(data.pki().join("ca.key"), key.serialize_pem()).expect("written");
    started(data.0, 1)
}

/// As the warning about its end advises.
#[test]
fn what_has_the_authority_of_before_it_was_issued_anew_is_written_anew() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, path) = (DataDir(temporary.path()), temporary.path().join("config"));
    let [key, other] = [(); 2].map(|()| KeyPair::generate().expect("a key"));
    let config = started_with(data, &key);
    let authority = data.pki().join(AUTHORITY);
    let changed = with(&config, "", "current-context", "mine");
    for (name, by, found) in [
        ("ours", &key, Some([Use::Written, Use::Kept])),
        ("ours", &other, None),
        ("theirs", &key, None),
    ] {
        std::fs::write(&authority, issue(name, by, 2050)).expect("written");
        let check = |text: &str| {
            std::fs::write(&path, text).expect("written");
            check(&path, data).ok()
        };
        let uses = [config.to_string(), changed.clone()].map(|text| check(&text));
        assert_eq!(
            uses,
            [0, 1].map(|at| found.map(|found| found[at])),
            "{name}"
        );
    }
}

/// As while an authority is exchanged, or behind a proxy that has one of its own.
#[test]
fn what_trusts_other_authorities_beside_ours_is_kept_with_them() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, path) = (DataDir(temporary.path()), temporary.path().join("config"));
    let [key, other] = [(); 2].map(|()| KeyPair::generate().expect("a key"));
    let config = started_with(data, &key);
    let (ours, former) = (issue("ours", &key, 2040), issue("ours", &key, 2030));
    let others = issue("theirs", &other, 2040);
    std::fs::write(data.pki().join(AUTHORITY), &ours).expect("written");
    for (trusted, expected) in [
        (ours.clone(), Some(Use::Written)),
        (former.clone(), Some(Use::Written)),
        (format!("{ours}{others}"), Some(Use::Kept)),
        (format!("{others}{ours}"), Some(Use::Kept)),
        (format!("{others}{former}"), Some(Use::Kept)),
        (format!("{former}{ours}"), Some(Use::Kept)),
        (format!("of the east\n{former}"), Some(Use::Kept)),
        (format!("{former}of the east\n"), Some(Use::Kept)),
        (others, None),
    ] {
        let encoded = BASE64_STANDARD.encode(&trusted);
        let cluster = "/clusters/0/cluster";
        let text = with(&config, cluster, "certificate-authority-data", encoded);
        std::fs::write(&path, text).expect("written");
        assert_eq!(check(&path, data).ok(), expected, "{trusted}");
    }
}

/// Clients refuse the server then, although its key is the same.
#[test]
fn where_a_file_that_is_kept_trusts_what_ends_it_is_told_how_to_correct_that() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (data, path) = (DataDir(temporary.path()), temporary.path().join("config"));
    let key = KeyPair::generate().expect("a key");
    let config = started_with(data, &key);
    let changed = with(&config, "/contexts/0/context", "namespace", "team");
    std::fs::write(&path, changed).expect("written");
    let told = || {
        let found = Found::read(&path, data).expect("read");
        found.kept(&path, data, ([127, 0, 0, 1], 1).into())
    };
    assert!(!told().contains("set-cluster"), "{}", told());
    let authority = data.pki().join(AUTHORITY);
    std::fs::write(&authority, issue("ours", &key, 2050)).expect("written");
    let command = format!(
        "`kubectl config set-cluster hindsight --certificate-authority {} --embed-certs --kubeconfig {}`",
        authority.display(),
        path.display()
    );
    assert!(told().contains(&command), "{}", told());
    assert!(told().contains("ends on 2040-01-01 "), "{}", told());
}

#[test]
fn what_is_beside_it_is_somebody_elses() {
    let temporary = tempfile::tempdir().expect("a directory");
    let [config, new, bait] =
        ["config", "config.new", "bait"].map(|name| temporary.path().join(name));
    std::fs::write(&new, "theirs").expect("written");
    std::fs::write(&bait, "theirs").expect("written");
    symlink(&bait, temporary.path().join("config.hindsight-unfinished")).expect("linked");
    write_private(&config, "key").expect("written");
    for theirs in [new, bait] {
        assert_eq!(std::fs::read_to_string(theirs).expect("there"), "theirs");
    }
    let found = config.symlink_metadata().expect("there");
    assert!(found.is_file() && found.mode() & OTHERS == 0);
    assert!(is_there(&config, "key") && !is_there(&config, "other"));
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&config, open).expect("opened");
    assert!(!is_there(&config, "key"), "others may read it");
}

#[test]
fn an_authority_that_is_no_file_is_not_read_for_a_kubeconfig() {
    for put in NO_FILES {
        let temporary = tempfile::tempdir().expect("a directory");
        let above = temporary.path().to_owned();
        let data = DataDir(&above);
        started(data.0, 1);
        let (path, authority) = (above.join("config"), data.pki().join(AUTHORITY));
        std::fs::copy(data.kubeconfig(), &path).expect("copied");
        std::fs::remove_file(&authority).expect("removed");
        put(&authority);
        let checked = in_time(move || check(&path, DataDir(&above)));
        checked.expect_err("it cannot be told from one of another cluster");
    }
}

/// Puts this text into the place of the administrator's kubeconfig.
fn put_own(data: DataDir<'_>, text: &str) {
    std::fs::write(data.kubeconfig(), text).expect("written");
}

/// The kubeconfig of another cluster.
fn of_another(ours: &Value) -> String {
    ours.to_string().replace("hindsight", "production")
}

#[test]
fn no_first_start_replaces_a_kubeconfig_of_somebody_else() {
    let temporary = tempfile::tempdir().expect("a directory");
    let [first, last] = ["first", "last"].map(|name| temporary.path().join(name));
    let ours = started(&last, 1);
    std::fs::create_dir(&first).expect("made");
    let data = DataDir(&first);
    check_own(data).expect("there is none");
    put_own(data, "");
    check_own(data).expect("nothing is lost with it");
    let clusters = json!([ours["clusters"][0], {"name": "kind", "cluster": {}}]);
    let users = json!([ours["users"][0], {"name": "kind", "user": {}}]);
    let refused = |data: DataDir<'_>, text: &str| {
        put_own(data, text);
        let told = check_own(data).expect_err(text).to_string();
        assert!(
            told.contains("move it elsewhere, or name another data directory"),
            "{told}"
        );
        let found = std::fs::read_to_string(data.kubeconfig()).expect("there");
        assert_eq!(found, text);
    };
    for text in [
        of_another(&ours),
        with(&ours, "", "clusters", clusters),
        with(&ours, "", "users", users),
        with(&ours, "/users/0", "name", "alice"),
        format!("{ours}\n{}", "#".repeat(1 << 16)),
        "a letter".into(),
        "{".into(),
    ] {
        refused(data, &text);
    }
    std::fs::rename(DataDir(&last).pki(), data.pki()).expect("moved");
    // An authority of somebody else's, with all that it has signed.
    refused(data, &of_another(&ours));
}

#[test]
fn what_another_process_is_writing_is_not_written_over() {
    let temporary = tempfile::tempdir().expect("a directory");
    let pki = Pki::open(&temporary.path().join("pki"), [127, 0, 0, 1].into()).expect("made");
    let path = temporary.path().join("config");
    std::fs::write(&path, "theirs").expect("written");
    let writing = WholeFile::begin(&path, UNFINISHED).expect("begun");
    write(&path, ([127, 0, 0, 1], 1).into(), &pki).expect_err("it is in use");
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "theirs");
    drop(writing);
    write(&path, ([127, 0, 0, 1], 1).into(), &pki).expect("nobody writes it");
}

/// The kubeconfig with a second entry in one of its lists.
fn with_another(ours: &Value, list: &str) -> String {
    let mut both = ours[list].clone();
    let mut other = both[0].clone();
    other["name"] = "docker-desktop".into();
    both.as_array_mut().expect("a list").insert(0, other);
    with(ours, "", list, both)
}

/// What a start at port 2 leaves of this text in the place of the administrator's kubeconfig: the texts that it has
/// moved aside. Beside a log it is not refused.
fn set_aside(data: DataDir<'_>, text: &str) -> Vec<String> {
    put_own(data, text);
    check_own(data).expect("there is a log");
    let pki = Pki::open(&data.pki(), [127, 0, 0, 1].into()).expect("opened");
    write_own(data, ([127, 0, 0, 1], 2).into(), &pki).expect("written");
    let written = std::fs::read_to_string(data.kubeconfig()).expect("there");
    assert!(written.contains("https://127.0.0.1:2"), "{written}");
    let aside = (1..)
        .map(|number| data.0.join(format!("admin.kubeconfig.others-{number}")))
        .map_while(|place| std::fs::read_to_string(place).ok());
    aside.collect()
}

#[test]
fn no_later_start_is_hindered_by_a_kubeconfig_of_ours_or_keeps_it() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = DataDir(temporary.path());
    let ours = started(data.0, 1);
    let own = std::fs::read_to_string(data.kubeconfig()).expect("there");
    std::fs::remove_file(data.kubeconfig()).expect("removed");
    check_own(data).expect("a crash between pki and the kubeconfig");
    std::fs::create_dir(data.events()).expect("made");
    let context = "/contexts/0/context";
    for text in [
        String::new(),
        own.clone(),
        own[..own.len() / 2].to_owned(),
        own.replace("hindsight-admin", "admin"),
        with(&ours, context, "namespace", "team"),
        with(&ours, "/clusters/0/cluster", "server", "https://east:2"),
    ] {
        assert!(set_aside(data, &text).is_empty(), "{text}");
        std::fs::rename(data.pki(), data.0.join("old")).expect("moved");
        assert!(set_aside(data, &text).is_empty(), "pki is to be new");
        std::fs::remove_dir_all(data.0.join("old")).expect("removed");
        std::fs::rename(data.events(), data.0.join("aside")).expect("moved");
        put_own(data, &text);
        check_own(data).expect("the log is to be new");
        std::fs::rename(data.0.join("aside"), data.events()).expect("moved back");
    }
}

/// As `kind create cluster` and `gcloud` do, while `KUBECONFIG` names the file.
#[test]
fn what_others_have_in_a_kubeconfig_is_not_lost_with_the_next_start() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = DataDir(temporary.path());
    let ours = started(data.0, 1);
    let own = std::fs::read_to_string(data.kubeconfig()).expect("there");
    std::fs::create_dir(data.events()).expect("made");
    let mut kept = Vec::new();
    for text in [
        with_another(&ours, "clusters"),
        with_another(&ours, "users"),
        with_another(&ours, "contexts"),
        of_another(&ours),
        format!("{own}\n{}", "#".repeat(1 << 17)),
        "a letter".to_owned(),
        "{".to_owned(),
    ] {
        kept.push(text.clone());
        assert_eq!(set_aside(data, &text), kept);
    }
    std::fs::remove_dir_all(data.pki()).expect("removed");
    let text = with_another(&ours, "clusters");
    kept.push(text.clone());
    assert_eq!(set_aside(data, &text), kept, "pki is to be new");
}

/// Here a link to itself; in practice a disk that fails.
#[test]
fn a_kubeconfig_that_cannot_be_examined_is_not_written_over() {
    let temporary = tempfile::tempdir().expect("a directory");
    let data = DataDir(temporary.path());
    started(data.0, 1);
    std::fs::remove_file(data.kubeconfig()).expect("removed");
    symlink(data.kubeconfig(), data.kubeconfig()).expect("linked");
    let pki = Pki::open(&data.pki(), [127, 0, 0, 1].into()).expect("opened");
    let written = write_own(data, ([127, 0, 0, 1], 2).into(), &pki);
    let refusals = [written, check_own(data)].map(|one| one.expect_err("unknown").to_string());
    for told in refusals {
        assert!(told.starts_with("examining "), "{told}");
    }
    let found = data.kubeconfig().symlink_metadata().expect("there");
    assert!(found.is_symlink());
}

#[test]
fn of_several_entries_ours_is_found_wherever_it_is() {
    let temporary = tempfile::tempdir().expect("a directory");
    let ours = started(temporary.path(), 1);
    let config = |text: &str| serde_saphyr::from_str::<Value>(text).expect("YAML");
    let several = config(&with_another(&ours, "clusters"));
    assert_eq!(own_cluster(&several), Some(&ours["clusters"][0]));
    assert_ne!(own_cluster(&several), Some(&several["clusters"][0]));
    let several = config(&with_another(&ours, "users"));
    assert_eq!(own_user(&several), Some(&ours["users"][0]));
    let of_the_same_name = with_another(&ours, "users").replace("docker-desktop", "admin");
    assert_eq!(
        own_user(&config(&of_the_same_name)),
        Some(&ours["users"][0])
    );
    let renamed = config(&of_another(&ours));
    assert_eq!(own_cluster(&renamed), Some(&renamed["clusters"][0]));
    assert_eq!(own_user(&renamed), Some(&renamed["users"][0]));
    assert_eq!(own_cluster(&json!({})), None);
}
