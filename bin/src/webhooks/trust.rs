//! What a webhook's `caBundle` trusts: certificates that one of its authorities has signed and, as in Go, the
//! certificates of the bundle themselves, even one that states that it is an authority.

use anyhow::{Context, Result, bail};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_native_certs::CertificateResult;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::sync::Arc;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// How a block of PEM begins.
const BLOCK: &[u8] = b"-----BEGIN ";
/// Source: client-go's `createErrorParsingCAData`.
const UNREADABLE: &str = "unable to load root certificates: unable to parse bytes as PEM block; the caBundle must be \
                          the base64 of certificates in PEM";
const NO_AUTHORITY: &str = "unable to load root certificates: no valid certificate authority data seen; the caBundle \
                            must be the base64 of certificates in PEM";

/// What decides whether a webhook is who it should be.
pub(super) type Verifier = Arc<dyn ServerCertVerifier>;

/// A verifier that trusts the authorities of this machine, as they were found there.
pub(super) fn of_machine(found: CertificateResult) -> Result<Verifier> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    for error in &found.errors {
        tracing::warn!(%error, "some of the authorities that this machine trusts could not be read");
    }
    if roots.is_empty() {
        let why = found.errors.first();
        let why = why.map_or_else(String::new, |error| format!(" ({error})"));
        bail!(
            "tls: failed to verify certificate: x509: certificate signed by unknown authority; this machine trusts \
             none{why}: put that of the webhook into the caBundle"
        );
    }
    verifier(roots, Vec::new())
}

/// A verifier that trusts these authorities alone.
pub(super) fn of_bundle(ca_bundle: &[u8]) -> Result<Verifier> {
    let mut roots = RootCertStore::empty();
    let mut bundle = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(ca_bundle) {
        let certificate = certificate.context(UNREADABLE)?;
        let added = roots.add(certificate.clone());
        added.context("unable to load root certificates: failed to parse certificate")?;
        bundle.push(certificate);
    }
    if roots.is_empty() {
        let has_blocks = ca_bundle.windows(BLOCK.len()).any(|text| text == BLOCK);
        bail!("{}", if has_blocks { NO_AUTHORITY } else { UNREADABLE });
    }
    verifier(roots, bundle)
}

fn verifier(roots: RootCertStore, bundle: Vec<CertificateDer<'static>>) -> Result<Verifier> {
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
    let chains = builder.build()?;
    Ok(Arc::new(Trust { chains, bundle }))
}

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

#[derive(Debug)]
struct Trust {
    chains: Arc<WebPkiServerVerifier>,
    /// Certificates that need no chain.
    bundle: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.bundle.iter().any(|trusted| **trusted == **shown) {
            let chains = &self.chains;
            let verified = chains.verify_server_cert(shown, intermediates, name, ocsp, now);
            return verified.map_err(unvouched);
        }
        verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
        may_serve(shown, now)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let chains = &self.chains;
        chains.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let chains = &self.chains;
        chains.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// The error of a certificate for which nothing trusted vouches, as what it means: an authority of the same name has
/// another key, or it is an authority's own, which is trusted only in the bundle. (The library has no variant for that.)
fn unvouched(error: Error) -> Error {
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => {
            CertificateError::UnknownIssuer.into()
        }
        Error::InvalidCertificate(CertificateError::Other(other))
            if other.to_string() == "CaUsedAsEndEntity" =>
        {
            CertificateError::UnknownIssuer.into()
        }
        other => other,
    }
}

/// Whether the certificate is valid now and, if it states its purposes, may be used by a server.
fn may_serve(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let malformed = |_| Error::from(CertificateError::BadEncoding);
    let (_, read) = X509Certificate::from_der(certificate).map_err(malformed)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = read.validity();
    if now < validity.not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > validity.not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    let purposes = read.extended_key_usage();
    let purposes = purposes.map_err(|_| Error::from(CertificateError::BadEncoding))?;
    match purposes {
        Some(one) if !one.value.any && !one.value.server_auth => {
            Err(CertificateError::InvalidPurpose.into())
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
