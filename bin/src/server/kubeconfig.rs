//! The administrator's kubeconfig.

#[cfg(test)]
mod tests;

use super::client_certificate::{end_of, user_of};
use super::pki::{AUTHORITY, FILE_BYTES_MAX, Pki, failed, write_private};
use crate::data_dir::DataDir;
use crate::disk::{is_full, is_mounted};
use crate::users::administrator;
use crate::{named_file, shell};
use anyhow::{Context, Result, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use chrono::DateTime;
use hindsight_log::regular;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const OTHERS: u32 = 0o077;
/// A kubeconfig that the server wrote takes a few KiB; a longer file is not read.
const OURS_BYTES_MAX: u64 = 64 << 10;
/// The name of the cluster and of the context.
const CLUSTER: &str = "hindsight";
/// The name of the user's entry. When kubeconfigs are merged, one of two entries with equal names is lost, and many
/// have a user `admin`, whose credentials this server would then be sent.
const USER: &str = "hindsight-admin";
/// The names under which a start may have written the user's entry, the one that nobody else uses first.
const USERS: [&str; 2] = [USER, "admin"];

/// What differs between the kubeconfigs that starts of one data directory write. The certificate and its key are
/// in base64.
struct Entries<'a> {
    user: &'a str,
    server: &'a str,
    certificate: &'a str,
    key: &'a str,
}

impl Entries<'_> {
    /// The kubeconfig with these entries and no others.
    fn config(&self, authority: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CLUSTER, "cluster": {
                "server": self.server,
                "certificate-authority-data": BASE64_STANDARD.encode(authority),
            }}],
            "users": [{"name": self.user, "user": {
                "client-certificate-data": self.certificate,
                "client-key-data": self.key,
            }}],
            "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": self.user}}],
            "current-context": CLUSTER,
        })
    }

    /// Whether a start may have written them: for an address, and for the administrator.
    fn are_ours(&self) -> bool {
        let address = self.server.strip_prefix("https://");
        let is_address = address.is_some_and(|address| address.parse::<SocketAddr>().is_ok());
        USERS.contains(&self.user) && is_address && self.is_for_administrator()
    }

    fn is_for_administrator(&self) -> bool {
        let Ok(certificate) = BASE64_STANDARD.decode(self.certificate) else {
            return false;
        };
        let certificate = CertificateDer::from_pem_slice(&certificate).ok();
        let user = certificate.map(|certificate| user_of(&certificate));
        matches!(user, Some(Ok(Some(user))) if *user == administrator())
    }
}

/// What a start does with a file that the user names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is `admin.kubeconfig` itself, which every start writes.
    Own,
    /// It is written: nothing of the user's is lost with it.
    Written,
    /// It is left as it is: it is for this data directory, and is not as a start writes it.
    Kept,
}

/// Whether to write this file. Refuses one that is neither empty nor for this data directory.
pub(super) fn check(path: &Path, data: DataDir<'_>) -> Result<Use> {
    let name = format!("--kubeconfig {}", path.display());
    let admin = data.kubeconfig();
    match data.part_at(path) {
        Some(part) if part == admin => return Ok(Use::Own),
        Some(part) => return Err(named_file::of_part(&part, &name, data)),
        None => {}
    }
    // A first start makes the data directory.
    let is_made = |above: &Path| above.as_os_str().is_empty() || above == data.0;
    let above = path.parent().filter(|above| !is_made(above));
    if let Some(above) = above.filter(|above| !above.is_dir()) {
        bail!(
            "{name} cannot be written: there is no directory {}; create it, or name a file in one that exists",
            above.display()
        );
    }
    let unread = || {
        format!(
            "{name} cannot be read; name another file, or give the user that runs the server read permission"
        )
    };
    if !path.try_exists().with_context(unread)? {
        return Ok(Use::Written);
    }
    let found = Found::read(path, data).with_context(unread)?;
    if let Some(found) = found.usage() {
        return Ok(found);
    }
    let word = |path: &Path| shell::word(&path.to_string_lossy()).into_owned();
    bail!(
        "{name} is not replaced, because it is not empty and has no cluster with the certificate authority of {}\n\
         name a new file, or remove this one if it is of no use any more, as after {} was replaced; without the \
         option {} is written all the same\n\
         to have both in one file: `KUBECONFIG={}:{} kubectl config view --flatten` prints them; of entries with \
         equal names it takes only the first, so if {CLUSTER} or {USER} is there already, rename ours before with \
         `sed s/{CLUSTER}/NAME/ {} > FILE`",
        data.0.display(),
        data.pki().display(),
        admin.display(),
        word(path),
        word(&admin),
        word(&admin)
    );
}

/// Refuses a directory without a log in which the name of the administrator's kubeconfig is that of somebody else's.
/// Beside a log nothing is refused: what is not ours is moved aside. What is no file is refused when it is to be
/// written.
pub(super) fn check_own(data: DataDir<'_>) -> Result<()> {
    let path = data.kubeconfig();
    if data.events().exists() || !is_file(&path)? {
        return Ok(());
    }
    let name = path.display();
    let found = Found::read(&path, data).with_context(|| {
        format!(
            "{name} cannot be read, and so it is not replaced; give the user that runs the server read permission, \
             move it elsewhere, or name another data directory"
        )
    })?;
    if found.is_ours_alone() {
        return Ok(());
    }
    bail!(
        "{name} is not replaced, because it is neither empty nor one that `hindsight serve` wrote; move it elsewhere, or \
         name another data directory"
    );
}

/// Writes the administrator's kubeconfig. What is there is moved aside if clusters, users or contexts of others would be
/// lost with it. Where it cannot be moved, because it is mounted by itself or
/// the disk has no room for both, it stays.
pub(super) fn write_own(data: DataDir<'_>, address: SocketAddr, pki: &Pki) -> Result<()> {
    let path = data.kubeconfig();
    let is_ours = |found: Found| found.is_ours_alone();
    if !is_file(&path)? || Found::read(&path, data).is_ok_and(is_ours) {
        return write(&path, address, pki);
    }
    let (name, place) = (path.display(), unused_beside(&path));
    match replace(&path, &place, || write(&path, address, pki)) {
        Err(error) if has_no_place_aside(&error) => {
            tracing::warn!(
                "{name} has entries that `hindsight serve` did not write, and is left as it is, so that it \
                 may not lead to this server: {error:#}; then restart the server"
            );
        }
        replaced => {
            replaced?;
            tracing::warn!(
                "{name} had entries that `hindsight serve` did not write; it is {} now, and was written anew; \
                 to use both, run `export KUBECONFIG={}:{}`",
                place.display(),
                shell::word(&path.to_string_lossy()),
                shell::word(&place.to_string_lossy())
            );
        }
    }
    Ok(())
}

/// Whether there is a file. Of one that cannot be examined it is not known what would be lost with it.
fn is_file(path: &Path) -> Result<bool> {
    Ok(regular::found(path)?.is_some_and(|found| found.is_file()))
}

/// Moves what is there aside and writes the file anew. If that fails, what was there is back.
fn replace(path: &Path, place: &Path, write: impl FnOnce() -> Result<()>) -> Result<()> {
    std::fs::rename(path, place).map_err(failed("moved aside", path))?;
    write().or_else(|error| {
        std::fs::rename(place, path).map_err(failed("moved back", path))?;
        Err(error)
    })
}

/// A name for what is moved aside that nothing has.
fn unused_beside(path: &Path) -> PathBuf {
    let mut number = 1_u32;
    loop {
        let place = path.with_extension(format!("kubeconfig.others-{number}"));
        if place.symlink_metadata().is_err() {
            return place;
        }
        number = number.saturating_add(1);
    }
}

/// The cluster of ours in a kubeconfig, or its first.
pub(crate) fn own_cluster(config: &Value) -> Option<&Value> {
    own(config, "clusters", &[CLUSTER])
}

/// The user of ours in a kubeconfig, or its first.
pub(crate) fn own_user(config: &Value) -> Option<&Value> {
    own(config, "users", &USERS)
}

fn own<'a>(config: &'a Value, list: &str, names: &[&str]) -> Option<&'a Value> {
    let entries = config.get(list)?.as_array()?;
    let named = |name: &&str| entries.iter().find(|entry| name_of(entry) == Some(name));
    names.iter().find_map(named).or_else(|| entries.first())
}

fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name")?.as_str()
}

/// Says that a file was left as it is, and where it does not lead to the server at this address.
pub(super) fn warn_kept(path: &Path, data: DataDir<'_>, address: SocketAddr) -> Result<()> {
    tracing::warn!("{}", Found::read(path, data)?.kept(path, data, address));
    Ok(())
}

/// The certificates in a text, up to what is none.
fn certificates(text: &str) -> impl Iterator<Item = CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(text.as_bytes()).map_while(Result::ok)
}

/// Whether the text is one certificate, with nothing else that would be lost with it.
fn is_certificate_alone(text: &str) -> bool {
    let [begin, end] = ["BEGIN", "END"].map(|what| format!("-----{what} CERTIFICATE-----"));
    let text = text.trim();
    text.starts_with(&begin) && text.ends_with(&end) && text.matches("-----").count() == 4
}

/// Whether both are certificates of one authority, by its name and its key.
fn is_reissued(one: &CertificateDer<'_>, other: &CertificateDer<'_>) -> bool {
    let examined = [one, other].map(|one| x509_parser::parse_x509_certificate(one));
    let [Ok((_, one)), Ok((_, other))] = examined else {
        return false;
    };
    one.subject().as_raw() == other.subject().as_raw()
        && one.public_key().raw == other.public_key().raw
}

/// A cluster that trusts the authority of the data directory.
struct Cluster<'a> {
    name: &'a str,
    server: &'a str,
    /// All that it trusts.
    trusted: String,
}

/// What is in the file that the user names.
struct Found {
    text: String,
    config: Value,
    /// The certificate authority of the data directory, if there is one.
    authority: Option<String>,
}

impl Found {
    fn read(path: &Path, data: DataDir<'_>) -> std::io::Result<Self> {
        let mut text = Vec::new();
        let file = regular::open(path)?;
        file.take(OURS_BYTES_MAX).read_to_end(&mut text)?;
        let is_cut = text.len() as u64 == OURS_BYTES_MAX;
        let text = String::from_utf8_lossy(&text).into_owned();
        let config = if is_cut {
            None
        } else {
            serde_saphyr::from_str(&text).ok()
        };
        Ok(Self {
            text,
            config: config.unwrap_or_default(),
            authority: regular::text(&data.pki().join(AUTHORITY), FILE_BYTES_MAX).ok(),
        })
    }

    /// What a start does with it; `None` if it is not for this data directory.
    fn usage(&self) -> Option<Use> {
        if self.text.is_empty() || self.is_as_written() {
            return Some(Use::Written);
        }
        self.clusters().next().map(|_| Use::Kept)
    }

    /// Whether nothing is lost with this text but the address and the administrator's credentials. No document
    /// of ours has a `#`, which begins a comment.
    fn is_as_written(&self) -> bool {
        let at = |path| self.config.pointer(path).and_then(Value::as_str);
        let found = Entries {
            user: at("/users/0/name").unwrap_or_default(),
            server: at("/clusters/0/cluster/server").unwrap_or_default(),
            certificate: at("/users/0/user/client-certificate-data").unwrap_or_default(),
            key: at("/users/0/user/client-key-data").unwrap_or_default(),
        };
        let cluster = self.config.pointer("/clusters/0/cluster");
        let authority = cluster.and_then(|cluster| self.trusted(cluster));
        let is_written = |authority: &&str| {
            self.authority.as_deref() == Some(authority) || is_certificate_alone(authority)
        };
        let is_same = |authority| found.config(authority) == without_empty(&self.config);
        let authority = authority.as_deref().filter(is_written);
        !self.text.contains('#') && found.are_ours() && authority.is_some_and(is_same)
    }

    /// What this cluster trusts, if the authority of the data directory is among that. Its certificate may be one of
    /// before it was issued anew with the same key: until that ends, who trusts it trusts the server.
    fn trusted(&self, cluster: &Value) -> Option<String> {
        let found = cluster.get("certificate-authority-data")?;
        let found = BASE64_STANDARD.decode(found.as_str()?).ok()?;
        let (found, own) = (String::from_utf8(found).ok()?, self.authority.as_ref()?);
        let has_ours = || {
            let own = certificates(own).next();
            own.is_some_and(|own| certificates(&found).any(|one| is_reissued(&one, &own)))
        };
        (found == *own || has_ours()).then_some(found)
    }

    /// Whether nothing of others is lost with it: it is empty, or everything in it has the names that a start gives,
    /// whatever else about it was changed.
    fn is_ours_alone(&self) -> bool {
        let only = |list: &str| match self.config.get(list)?.as_array()?.as_slice() {
            [entry] => name_of(entry),
            _ => None,
        };
        let has_our_names = || {
            only("clusters") == Some(CLUSTER)
                && only("contexts") == Some(CLUSTER)
                && only("users").is_some_and(|user| USERS.contains(&user))
        };
        self.text.is_empty() || has_our_names()
    }

    /// The clusters that trust the authority of the data directory.
    fn clusters(&self) -> impl Iterator<Item = Cluster<'_>> {
        let clusters = self.config.get("clusters").and_then(Value::as_array);
        clusters.into_iter().flatten().filter_map(|entry| {
            let at = |path| entry.pointer(path).and_then(Value::as_str);
            Some(Cluster {
                name: at("/name").unwrap_or_default(),
                server: at("/cluster/server").unwrap_or_default(),
                trusted: self.trusted(entry.get("cluster")?)?,
            })
        })
    }

    /// The warning that it is left as it is.
    fn kept(&self, path: &Path, data: DataDir<'_>, address: SocketAddr) -> String {
        let advice = [
            self.on_address(path, address),
            self.on_authority(path, data),
        ];
        let advice: String = advice.into_iter().flatten().collect();
        format!(
            "--kubeconfig {} is left as it is, because it is for this data directory but not as `hindsight serve` \
             writes it; the current kubeconfig is {}{advice}",
            path.display(),
            data.kubeconfig().display()
        )
    }

    /// What to do if no cluster of ours in it has the address of the server.
    fn on_address(&self, path: &Path, address: SocketAddr) -> Option<String> {
        let here = format!("https://{address}");
        if self.clusters().any(|one| one.server == here) {
            return None;
        }
        let Cluster { name, server, .. } = self.clusters().next()?;
        Some(format!(
            "; {} leads to {server}, and this server is at {here}: if clients do not reach it there, run `kubectl \
             config set-cluster {} --server {here} --kubeconfig {}`",
            path.display(),
            shell::word(name),
            shell::word(&path.to_string_lossy())
        ))
    }

    /// What to do about a cluster that trusts only a former certificate of the authority.
    fn on_authority(&self, path: &Path, data: DataDir<'_>) -> Option<String> {
        let own = certificates(self.authority.as_ref()?).next()?;
        let end_of_former = |trusted: &str| {
            let ours = certificates(trusted).filter(|one| is_reissued(one, &own));
            let ours: Vec<_> = ours.collect();
            let ends = ours.iter().filter_map(|one| end_of(one)).max();
            ends.filter(|_| !ours.contains(&own))
        };
        let former = |one: Cluster<'_>| Some((one.name.to_owned(), end_of_former(&one.trusted)?));
        let (name, ends) = self.clusters().find_map(former)?;
        let ends = DateTime::from_timestamp(ends.as_secs().try_into().ok()?, 0)?;
        Some(format!(
            "; {} trusts a former certificate of the authority, which ends on {ends}: from then on most clients refuse \
             the server; to trust the present one, and no other, run `kubectl config set-cluster {} \
             --certificate-authority {} --embed-certs --kubeconfig {}`",
            path.display(),
            shell::word(&name),
            shell::word(&data.pki().join(AUTHORITY).to_string_lossy()),
            shell::word(&path.to_string_lossy())
        ))
    }
}

/// Without the empty preferences that `kubectl` adds to a file that it changes.
fn without_empty(config: &Value) -> Value {
    let mut config = config.clone();
    if let Some(members) = config.as_object_mut()
        && members.get("preferences") == Some(&json!({}))
    {
        members.remove("preferences");
    }
    config
}

/// Writes the kubeconfig with its credentials, for the owner alone.
pub(super) fn write(path: &Path, address: SocketAddr, pki: &Pki) -> Result<()> {
    let entries = Entries {
        user: USER,
        server: &format!("https://{address}"),
        certificate: &BASE64_STANDARD.encode(&pki.admin.0),
        key: &BASE64_STANDARD.encode(&pki.admin.1),
    };
    let text = serde_saphyr::to_string(&entries.config(&pki.authority))?;
    if is_there(path, &text) {
        return Ok(());
    }
    write_private(path, &text).or_else(|error| {
        if !has_no_place_aside(&error) || !path.is_file() {
            return Err(error);
        }
        write_over(path, &text).map_err(failed("written", path))
    })
}

/// Whether no second file can be made and given the name of the first.
fn has_no_place_aside(error: &anyhow::Error) -> bool {
    is_full(error) || is_mounted(error)
}

/// Whether the file exists as it should be, and for the owner alone.
fn is_there(path: &Path, text: &str) -> bool {
    let is_closed = path
        .metadata()
        .is_ok_and(|found| found.is_file() && found.mode() & OTHERS == 0);
    is_closed && regular::text(path, text.len() as u64).is_ok_and(|found| found == text)
}

/// Overwrites the file in place: there is no room for another on a full disk, and a file that is mounted by itself, as
/// in a container, cannot be replaced. If a kill leaves it half written, the next start writes `admin.kubeconfig` again,
/// and refuses a file that the user named.
fn write_over(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::options().write(true).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    file.sync_all()
}
