//! Checks that the files of an authority are complete and belong together. With a part that is missing or from
//! elsewhere, the server would be ready for clients none of which could connect.

use anyhow::{Context, Result, anyhow, bail};
use rcgen::{Issuer, KeyPair};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The files that are written after the authority.
const SIGNED: [&str; 2] = ["admin.crt", "admin.key"];
const AUTHORITY_ADVICE: &str = "put the original file back; or, to start with a new authority, move the directory \
    pki aside: kubeconfigs issued before then stop working";
const ISSUER_ADVICE: &str = "use an authority that constrains no names and whose own name has no attribute twice, or \
    move the directory pki aside: a new authority is created at the next start";
const ADMIN_ADVICE: &str = "put the original file back, or move admin.crt and admin.key aside: both are created \
    again at the next start";
const PERMISSION_ADVICE: &str =
    "give the user that runs the server read permission, or run it as the user who owns the file";

/// Whether there is no authority yet. The key is written before the certificate, so a first start that was cut
/// off may have left the key alone.
pub(super) fn is_new(directory: &Path) -> Result<bool> {
    let is_there = |name: &str| is_there(directory, name);
    let missing = match (is_there("ca.crt")?, is_there("ca.key")?) {
        (true, true) => return Ok(false),
        (true, false) => "ca.key",
        (false, _) => "ca.crt",
    };
    let mut is_cut = missing == "ca.crt";
    for name in SIGNED {
        is_cut &= !is_there(name)?;
    }
    if is_cut {
        return Ok(true);
    }
    let path = directory.join(missing);
    bail!(
        "{} is missing, but what was signed with it is there; {AUTHORITY_ADVICE}",
        path.display()
    );
}

/// Whether this file is there. One that cannot be examined is not to be made anew.
pub(super) fn is_there(directory: &Path, name: &str) -> Result<bool> {
    let path = directory.join(name);
    path.try_exists().map_err(unread(&path))
}

/// The error of a file that cannot be read, with what to do about it.
pub(super) fn unread(path: &Path) -> impl FnOnce(io::Error) -> anyhow::Error {
    move |error| {
        let is_of_administrator = SIGNED.iter().any(|name| path.ends_with(name));
        let advice = match error.kind() {
            ErrorKind::PermissionDenied => PERMISSION_ADVICE,
            _ if is_of_administrator => ADMIN_ADVICE,
            _ => AUTHORITY_ADVICE,
        };
        let what = format!("{} cannot be read; {advice}", path.display());
        anyhow::Error::new(error).context(what)
    }
}

/// Checks that the authority's certificate and key belong together.
pub(super) fn check_authority(directory: &Path, certificate: &str, key: &str) -> Result<()> {
    let checked = check_pair(directory, "ca", certificate, key);
    checked.map_err(|error| anyhow!("{error:#}; {AUTHORITY_ADVICE}"))
}

/// What signs as this authority. Its name and key identifier are read from its certificate, which may be an
/// administrator's own, or issued anew with the same key: clients look for the issuer by them.
pub(super) fn issuer(
    directory: &Path,
    authority: &str,
    key: KeyPair,
) -> Result<Issuer<'static, KeyPair>> {
    let certificate = CertificateDer::from_pem_slice(authority.as_bytes())?;
    Issuer::from_ca_cert_der(&certificate, key).with_context(|| unusable(directory))
}

/// Checks that who trusts the authority accepts the certificate that was just signed for the server.
pub(super) fn check_issued(directory: &Path, authority: &str, server: &str) -> Result<()> {
    let [authority, server] = [authority, server].map(str::as_bytes);
    let authority = CertificateDer::from_pem_slice(authority)?;
    let server = CertificateDer::from_pem_slice(server)?;
    accepts(&authority, &server).with_context(|| unusable(directory))
}

fn unusable(directory: &Path) -> String {
    let path = directory.join("ca.crt");
    format!(
        "{} cannot be used for issuing certificates; {ISSUER_ADVICE}",
        path.display()
    )
}

/// Checks that the administrator's certificate and key belong together, and that the authority has signed the
/// certificate.
pub(super) fn check_admin(
    directory: &Path,
    authority: &str,
    (certificate, key): &(String, String),
) -> Result<()> {
    let checked = check_pair(directory, "admin", certificate, key);
    checked.map_err(|error| anyhow!("{error:#}; {ADMIN_ADVICE}"))?;
    let [authority, admin] = [authority, certificate].map(str::as_bytes);
    let authority = CertificateDer::from_pem_slice(authority)?;
    let admin = CertificateDer::from_pem_slice(admin)?;
    vouches(&authority, &admin).with_context(|| {
        let path = directory.join("admin.crt");
        format!(
            "{} was not signed by ca.crt beside it; {ADMIN_ADVICE}",
            path.display()
        )
    })
}

fn check_pair(directory: &Path, name: &str, certificate: &str, key: &str) -> Result<()> {
    let path = |end: &str| directory.join(format!("{name}.{end}"));
    let chain = CertificateDer::from_pem_slice(certificate.as_bytes())
        .with_context(|| format!("{} contains no certificate", path("crt").display()))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .with_context(|| format!("{} contains no key", path("key").display()))?;
    match CertifiedKey::from_der(vec![chain], key, &ring::default_provider()) {
        Ok(_) => Ok(()),
        Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            bail!(
                "{} is not the key of {name}.crt beside it",
                path("key").display()
            )
        }
        Err(error) => Err(error).with_context(|| {
            let path = path("crt");
            format!("{} and its key cannot be read", path.display())
        }),
    }
}

/// Checks the signature as the server does.
fn vouches(authority: &CertificateDer<'_>, admin: &CertificateDer<'_>) -> Result<()> {
    let (roots, time) = (roots(authority)?, common_time(authority, admin)?);
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build()?;
    verifier.verify_client_cert(admin, &[], time)?;
    Ok(())
}

/// Checks the signature as clients do.
fn accepts(authority: &CertificateDer<'_>, server: &CertificateDer<'_>) -> Result<()> {
    let (roots, time) = (roots(authority)?, common_time(authority, server)?);
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build()?;
    let name = ServerName::try_from("localhost")?;
    verifier.verify_server_cert(server, &[], &name, &[], time)?;
    Ok(())
}

fn roots(authority: &CertificateDer<'_>) -> Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone().into_owned())?;
    Ok(Arc::new(roots))
}

/// A time at which both certificates are valid: what the clock says is another matter.
fn common_time(one: &CertificateDer<'_>, other: &CertificateDer<'_>) -> Result<UnixTime> {
    let begins = |certificate: &[u8]| {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate)?;
        Ok::<_, anyhow::Error>(parsed.validity().not_before.timestamp())
    };
    let begin = begins(one)?.max(begins(other)?).try_into()?;
    Ok(UnixTime::since_unix_epoch(Duration::from_secs(begin)))
}
