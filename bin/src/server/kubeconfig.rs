//! The administrator's kubeconfig.

use super::pki::{Pki, write_private};
use crate::cli::show::shell_word;
use crate::disk::is_full;
use anyhow::{Context, Result, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

const OTHERS: u32 = 0o077;
/// A kubeconfig that the server wrote takes a few KiB; a longer file is not read.
const OURS_BYTES_MAX: u64 = 64 << 10;
/// The names of the only cluster, user and context, each with the list that it is in.
const OURS: [(&str, &str); 3] = [
    ("clusters", CLUSTER),
    ("users", ADMIN),
    ("contexts", CLUSTER),
];
const CLUSTER: &str = "hindsight";
const ADMIN: &str = "admin";

/// Refuses a file that would be lost: what somebody else wrote, or a kubeconfig that also leads elsewhere.
/// `admin` is the kubeconfig that is written in any case.
pub(super) fn check(path: &Path, admin: &Path) -> Result<()> {
    let name = format!("--kubeconfig {}", path.display());
    // A first start makes the data directory.
    let is_made = |above: &Path| above.as_os_str().is_empty() || Some(above) == admin.parent();
    let above = path.parent().filter(|above| !is_made(above));
    if let Some(above) = above.filter(|above| !above.is_dir()) {
        bail!(
            "{name} cannot be written: there is no directory {}; create it, or name a file in one that exists",
            above.display()
        );
    }
    if !path.exists() || is_ours(path).with_context(|| format!("{name} cannot be read"))? {
        return Ok(());
    }
    let word = |path: &Path| shell_word(&path.to_string_lossy()).into_owned();
    bail!(
        "{name} is not replaced, because it holds more than what `hindsight serve` wrote there; name a file that \
         does not exist yet, or leave the option out: {} is written in any case, and `KUBECONFIG={}:{} kubectl \
         config view --flatten` prints both as one",
        admin.display(),
        word(path),
        word(admin)
    );
}

/// Whether the file is empty, or holds nothing but a cluster, a user and a context under our names.
fn is_ours(path: &Path) -> std::io::Result<bool> {
    let mut text = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(OURS_BYTES_MAX).read_to_end(&mut text)?;
    if text.is_empty() || text.len() as u64 == OURS_BYTES_MAX {
        return Ok(text.is_empty());
    }
    let text = String::from_utf8_lossy(&text);
    let config: Value = serde_saphyr::from_str(&text).unwrap_or_default();
    Ok(OURS.iter().all(|(list, ours)| {
        let named = config.get(list).and_then(Value::as_array);
        let name = named.and_then(|named| match named.as_slice() {
            [one] => one.get("name"),
            _ => None,
        });
        name.and_then(Value::as_str) == Some(*ours)
    }))
}

/// Writes the kubeconfig with its credentials, for the owner alone.
pub(super) fn write(path: &Path, address: SocketAddr, pki: &Pki) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": {
            "server": format!("https://{address}"),
            "certificate-authority-data": BASE64_STANDARD.encode(&pki.authority),
        }}],
        "users": [{"name": ADMIN, "user": {
            "client-certificate-data": BASE64_STANDARD.encode(&pki.admin.0),
            "client-key-data": BASE64_STANDARD.encode(&pki.admin.1),
        }}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": ADMIN}}],
        "current-context": CLUSTER,
    });
    let text = serde_saphyr::to_string(&config)?;
    if is_there(path, &text) {
        return Ok(());
    }
    write_private(path, &text).or_else(|error| {
        if !is_full(&error) || !path.is_file() {
            return Err(error);
        }
        write_over(path, &text).with_context(|| format!("{} cannot be written", path.display()))
    })
}

/// Whether the file exists as it should be, and for the owner alone.
fn is_there(path: &Path, text: &str) -> bool {
    let is_closed = path
        .metadata()
        .is_ok_and(|found| found.is_file() && found.mode() & OTHERS == 0);
    is_closed && std::fs::read(path).is_ok_and(|found| found == text.as_bytes())
}

/// Overwrites the file in its place, which is the only room for it on a full disk. What a kill leaves half
/// written, the next start writes again.
fn write_over(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::options().write(true).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_empty_or_our_own_is_replaced() {
        let temporary = tempfile::tempdir().expect("a directory");
        let admin = temporary.path().join("admin.kubeconfig");
        let pki = Pki::open(&temporary.path().join("pki"), [127, 0, 0, 1].into()).expect("made");
        write(&admin, ([127, 0, 0, 1], 1).into(), &pki).expect("written");
        let ours = std::fs::read_to_string(&admin).expect("there");
        let config: Value = serde_saphyr::from_str(&ours).expect("YAML");
        let [mut more, mut other] = [config.clone(), config];
        let contexts = more["contexts"].as_array_mut().expect("a list");
        contexts.push(json!({"name": "prod", "context": {}}));
        other["users"][0]["name"] = "alice".into();
        let [more, other] = [more, other].map(|one| one.to_string());
        let long = format!("{ours}\n#{}", " ".repeat(1 << 20));
        let path = temporary.path().join("config");
        check(&path, &admin).expect("it does not exist");
        for (text, is_replaced) in [
            ("", true),
            (ours.as_str(), true),
            (more.as_str(), false),
            (other.as_str(), false),
            ("a letter", false),
            ("apiVersion: v1\nkind: Config\n", false),
            (long.as_str(), false),
        ] {
            std::fs::write(&path, text).expect("written");
            let checked = check(&path, &admin);
            assert_eq!(checked.is_ok(), is_replaced, "{text:.300}");
            if let Err(error) = checked {
                let told = error.to_string();
                assert!(told.contains("config view --flatten"), "{told}");
                assert!(told.contains(&*admin.to_string_lossy()), "{told}");
            }
        }
        let nowhere = temporary.path().join("nowhere/config");
        let told = check(&nowhere, &admin).expect_err("refused").to_string();
        assert!(told.contains("nowhere; create it, or"), "{told}");
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
}
