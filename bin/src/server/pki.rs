//! The certificate authority and the certificates that it signs, made at the first start and kept.

#[cfg(test)]
mod tests;
mod validity;
mod whole;

use super::client_certificate::ClientCertificates;
use crate::effects;
use crate::users::{ADMINISTRATOR, ADMINISTRATORS};
use anyhow::{Context, Error, Result};
use chrono::{DateTime, Datelike};
use hindsight_log::{WholeFile, above, make_private, regular, sync_directory};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{self, ErrorKind, Write};
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The years for which the certificates are valid.
const YEARS: Range<i32> = 1975..4096;

/// The file with the certificate of the authority.
pub(super) const AUTHORITY: &str = "ca.crt";
/// The most bytes of a file; one of an authority's takes a few KiB.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;

/// Added to the name of a file that is being written.
pub(super) const UNFINISHED: &str = "hindsight-unfinished";

/// Everything that a server and its administrator need, in PEM.
#[derive(Debug)]
pub(super) struct Pki {
    pub(super) authority: String,
    server: (String, String),
    pub(super) admin: (String, String),
}

/// How connections are encrypted, and who their clients are.
#[derive(Debug, Clone)]
pub(super) struct Tls {
    pub(super) config: Arc<rustls::ServerConfig>,
    pub(super) certificates: Arc<ClientCertificates>,
}

impl Pki {
    /// Reads the files that exist, and makes those that are missing.
    pub(super) fn open(directory: &Path, address: IpAddr) -> Result<Self> {
        warn_of_clock();
        make_directory(directory)?;
        let path = |name: &str| directory.join(name);
        if whole::is_new(directory)? {
            make_authority(&path(AUTHORITY), &path("ca.key"))?;
        }
        let (authority, key) = (read(&path(AUTHORITY))?, read(&path("ca.key"))?);
        whole::check_authority(directory, &authority, &key)?;
        let key = KeyPair::from_pem(&key).with_context(|| {
            format!(
                "{} cannot be used for signing; an RSA, P-256, P-384 or Ed25519 key in PKCS#8 can \
                 (openssl pkcs8 -topk8 -nocrypt makes it that)",
                path("ca.key").display()
            )
        })?;
        let issuer = whole::issuer(directory, &authority, key)?;
        // Made anew at every start, for the address may be another one, and only in memory, for the disk may be
        // full.
        let server = sign(server_params(address)?, &issuer)?;
        // Before the administrator's, which is valid if this one is.
        whole::check_issued(directory, &authority, &server.0)?;
        if !whole::is_there(directory, "admin.crt")? || !whole::is_there(directory, "admin.key")? {
            make_admin(directory, &issuer)?;
        }
        let admin = (read(&path("admin.crt"))?, read(&path("admin.key"))?);
        whole::check_admin(directory, &authority, &admin)?;
        validity::tell_ends(directory, &authority, &admin.0);
        Ok(Self {
            authority,
            server,
            admin,
        })
    }

    /// The TLS configuration, which requests a client certificate, and what tells which of them are valid.
    pub(super) fn tls(&self) -> Result<Tls> {
        let authority = CertificateDer::from_pem_slice(self.authority.as_bytes())?;
        let certificates = Arc::new(ClientCertificates::signed_by(authority)?);
        let chain = vec![CertificateDer::from_pem_slice(self.server.0.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(self.server.1.as_bytes())?;
        let mut config = rustls::ServerConfig::builder()
            .with_client_cert_verifier(Arc::clone(&certificates) as _)
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls {
            config: Arc::new(config),
            certificates,
        })
    }
}

/// The parameters of the authority that a first start makes.
fn authority_params() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "hindsight-ca");
    Ok(params)
}

fn make_directory(directory: &Path) -> Result<()> {
    let is_there = directory.is_dir();
    let made = make_private(directory);
    if is_there {
        return made.with_context(|| {
            format!(
                "{} cannot be made private; run the server as the user who owns it",
                directory.display()
            )
        });
    }
    let data = directory.parent().unwrap_or(directory);
    let what = format!("creating the directory pki in {}", data.display());
    Ok(made.map_err(hindsight_log::Error::io(what))?)
}

fn make_authority(certificate: &Path, key: &Path) -> Result<()> {
    let authority = CertifiedIssuer::self_signed(authority_params()?, KeyPair::generate()?)?;
    write_private(key, &authority.key().serialize_pem())?;
    write_private(certificate, &authority.pem())
}

fn server_params(address: IpAddr) -> Result<CertificateParams> {
    let names = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
    ];
    let mut params = CertificateParams::new(names.map(str::to_owned).to_vec())?;
    for ip in [
        IpAddr::from([127, 0, 0, 1]),
        IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        address,
    ] {
        params.subject_alt_names.push(SanType::IpAddress(ip));
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Strict clients (`VERIFY_X509_STRICT`, Python's default since 3.13) refuse a certificate without it.
    params.use_authority_key_identifier_extension = true;
    params
        .distinguished_name
        .push(DnType::CommonName, "hindsight");
    Ok(params)
}

fn admin_params() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    params
        .distinguished_name
        .push(DnType::CommonName, ADMINISTRATOR);
    params
        .distinguished_name
        .push(DnType::OrganizationName, ADMINISTRATORS);
    Ok(params)
}

/// Makes the files of the administrator. What is left of earlier ones goes first: after a crash, an old key beside
/// a new certificate would refuse every start.
fn make_admin(directory: &Path, issuer: &Issuer<'_, KeyPair>) -> Result<()> {
    let [certificate, key] = ["admin.crt", "admin.key"].map(|name| directory.join(name));
    for left in [&certificate, &key] {
        remove(left).map_err(failed("removed", left))?;
    }
    let admin = sign(admin_params()?, issuer)?;
    write_private(&certificate, &admin.0)?;
    write_private(&key, &admin.1)
}

/// Removes the file, durably, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    sync_directory(above(path))
}

fn sign(params: CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Result<(String, String)> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn read(path: &Path) -> Result<String> {
    regular::text(path, FILE_BYTES_MAX).map_err(whole::unread(path))
}

/// Warns if the certificates are not valid by this machine's clock: then nobody can connect.
fn warn_of_clock() {
    let now = DateTime::from_timestamp_micros(effects::now().0);
    let year = now.map(|now| now.year());
    if !year.is_some_and(|year| YEARS.contains(&year)) {
        tracing::warn!(
            ?year,
            "this server's certificates are valid from 1975 to 4095, and the clock of this machine is outside of \
             that; set it"
        );
    }
}

/// Writes a file for the owner alone; a half-written secret never has the file's name.
pub(super) fn write_private(path: &Path, text: &str) -> Result<()> {
    let write = || {
        let file = WholeFile::begin(path, UNFINISHED)?;
        file.file().write_all(text.as_bytes())?;
        file.finish()
    };
    write().map_err(failed("written", path))
}

/// The error of a file that cannot be changed, with what to do about it.
pub(super) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        let above = path.parent().unwrap_or(path).display();
        let advice = match error.kind() {
            // It says that itself.
            _ if error.get_ref().is_some() => String::new(),
            ErrorKind::PermissionDenied => format!(
                "; give the user that runs the server write permission in {above}, or run it as one that has it"
            ),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; free some disk space".into(),
            ErrorKind::ResourceBusy => {
                format!("; it is mounted by itself: mount {above} instead")
            }
            ErrorKind::ReadOnlyFilesystem => "; make its file system writable".into(),
            _ => format!("; check what is in {above}, and look for disk errors in the system log"),
        };
        Error::new(error).context(format!("{} cannot be {what}{advice}", path.display()))
    }
}
