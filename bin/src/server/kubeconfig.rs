//! The administrator's kubeconfig.

use super::pki::{Pki, write_private};
use anyhow::Result;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;

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
