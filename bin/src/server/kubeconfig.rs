//! The administrator's kubeconfig.

use super::pki::{Pki, write_private};
use crate::named_file::is_full;
use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

const OTHERS: u32 = 0o077;

/// Writes the kubeconfig with its credentials, for the owner alone.
pub(super) fn write(path: &Path, address: SocketAddr, pki: &Pki) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "hindsight", "cluster": {
            "server": format!("https://{address}"),
            "certificate-authority-data": BASE64_STANDARD.encode(&pki.authority),
        }}],
        "users": [{"name": "admin", "user": {
            "client-certificate-data": BASE64_STANDARD.encode(&pki.admin.0),
            "client-key-data": BASE64_STANDARD.encode(&pki.admin.1),
        }}],
        "contexts": [{"name": "hindsight", "context": {"cluster": "hindsight", "user": "admin"}}],
        "current-context": "hindsight",
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
