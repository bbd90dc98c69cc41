//! How to reach a server: its address, the authority to trust and our credentials, from the
//! kubeconfig of any cluster or set directly.

use anyhow::{Context, Result, anyhow};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is needed to talk to an API server. Certificates and keys are PEM.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// `https://host:port`.
    pub server: String,
    /// The certificate authority that issued the server's certificate.
    pub authority: Vec<u8>,
    /// A client certificate and its key.
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
    /// A bearer token.
    pub token: Option<String>,
}

impl Access {
    /// Reads the current context of a kubeconfig; the files that it names are relative to its folder.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).context("the kubeconfig cannot be read")?;
        let config: Value = serde_saphyr::from_str(&text).context("the kubeconfig is not YAML")?;
        let context = named(
            &config,
            "contexts",
            "context",
            member(&config, "current-context"),
        )?;
        let cluster = named(&config, "clusters", "cluster", member(context, "cluster"))?;
        let user = named(&config, "users", "user", member(context, "user"))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let server = member(cluster, "server")
            .as_str()
            .context("no server")?
            .to_owned();
        let authority = content(cluster, "certificate-authority", folder)?;
        let certificate = content(user, "client-certificate", folder)?;
        let key = content(user, "client-key", folder)?;
        Ok(Self {
            server,
            authority: authority.context("the kubeconfig trusts no authority")?,
            certificate: certificate.zip(key),
            token: member(user, "token").as_str().map(str::to_owned),
        })
    }
}

/// Returns the entry of this name from a list of a kubeconfig, or the first entry if the name is
/// missing.
fn named<'a>(config: &'a Value, list: &str, kind: &str, name: &Value) -> Result<&'a Value> {
    let entries = member(config, list)
        .as_array()
        .context("a list is missing")?;
    let wanted = name.as_str().filter(|name| !name.is_empty());
    let found = entries
        .iter()
        .find(|entry| wanted.is_none_or(|wanted| member(entry, "name") == wanted));
    found
        .map(|entry| member(entry, kind))
        .ok_or_else(|| anyhow!("the kubeconfig has no {kind} {name}"))
}

/// Returns the decoded `<name>-data`, or else the content of the file that `name` refers to.
fn content(entry: &Value, name: &str, folder: &Path) -> Result<Option<Vec<u8>>> {
    if let Some(text) = member(entry, &format!("{name}-data")).as_str() {
        let bytes = BASE64_STANDARD.decode(text);
        return bytes.map(Some).context("the kubeconfig holds bad base64");
    }
    let Some(file) = member(entry, name).as_str() else {
        return Ok(None);
    };
    let file = folder.join(PathBuf::from(file));
    let bytes = std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()));
    bytes.map(Some)
}

/// Returns the member, or `null` if it is missing.
fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}
