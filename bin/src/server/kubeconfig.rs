//! The administrator's kubeconfig.

use super::pki::{Pki, write_private};
use anyhow::{Context, Result, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// As the system has it.
const LINKS_MAX: usize = 40;

/// Writes it, credentials inside, for the owner alone.
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
    write_private(path, &serde_saphyr::to_string(&config)?)
}

/// Where one is written that somebody asked for: links stay and what they lead to is replaced, which
/// must be a file or not there yet.
pub(super) fn place(path: &Path) -> Result<PathBuf> {
    let unusable = || format!("--kubeconfig {} cannot be written", path.display());
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => path.canonicalize().with_context(unusable),
        Ok(_) => bail!(
            "--kubeconfig {} is no regular file, and would be replaced by one; name a file, or one that is \
             not there yet",
            path.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(end_of_links(path)),
        Err(error) => Err(error).with_context(unusable),
    }
}

/// What links lead to that is not there yet.
fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = end.read_link() else { break };
        end.pop();
        end.push(target);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_stays_and_what_is_no_file_is_not_replaced() {
        let temporary = tempfile::tempdir().expect("a directory");
        let directory = temporary.path().canonicalize().expect("there");
        let [file, link, dangling, missing] =
            ["file", "link", "dangling", "missing"].map(|name| directory.join(name));
        std::fs::write(&file, "").expect("written");
        symlink("file", &link).expect("linked");
        symlink("other", directory.join("between")).expect("linked");
        symlink("between", &dangling).expect("linked");
        for (named, written) in [
            (&file, &file),
            (&link, &file),
            (&dangling, &directory.join("other")),
            (&missing, &missing),
        ] {
            assert_eq!(place(named).expect("usable"), *written);
        }
        let device = directory.join("device");
        symlink("/dev/null", &device).expect("linked");
        for other in [&directory, Path::new("/dev/null"), &device] {
            let error = place(other).expect_err("refused");
            assert!(error.to_string().contains("no regular file"), "{error:#}");
        }
    }
}
