//! Authentication by a client certificate of our own authority.
//!
//! The handshake takes any certificate whose key the client has. Whether it is valid is asked afterwards, so that
//! a client with a certificate of another authority is answered 401, or is known by its token, where a failed
//! handshake would tell it nothing. Source: upstream's secure serving, which only requests certificates
//! (`tls.RequestClientCert`) and leaves the rest to its authenticators.

use super::auth::{InvalidCredentials, User};
use crate::users::authenticated;
use anyhow::Result;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};
use std::sync::Arc;
use std::time::Duration;
use x509_parser::certificate::Validity;
use x509_parser::der_parser::{Oid, oid};
use x509_parser::time::ASN1Time;

/// The attribute of a subject that has the user's uid. Source: upstream's `asn1.X509UID`.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// Tells which certificates are valid.
#[derive(Debug)]
pub(super) struct ClientCertificates(Arc<dyn ClientCertVerifier>);

impl ClientCertificates {
    /// Those that this authority has signed.
    pub(super) fn signed_by(authority: CertificateDer<'static>) -> Result<Self> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority)?;
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated();
        Ok(Self(verifier.build()?))
    }

    /// The user of the chain of certificates that a client has presented.
    pub(super) fn identify(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> KnownClient {
        let [first, intermediates @ ..] = chain else {
            return KnownClient::lasting(Ok(None));
        };
        let verify = |time| self.0.verify_client_cert(first, intermediates, time);
        let mut valid = now;
        if let Err(error) = verify(now) {
            tracing::debug!(%error, "a client certificate is not valid");
            let begins = chain.iter().filter_map(|one| begin_of(one)).max();
            match begins.filter(|begins| *begins > now && verify(*begins).is_ok()) {
                Some(begins) => valid = begins,
                None => return KnownClient::lasting(Err(InvalidCredentials)),
            }
        }
        // What begins later, or has ended before, is not in the chain that was verified.
        let begins = chain.iter().filter_map(|one| begin_of(one));
        let ends = chain.iter().filter_map(|one| end_of(one));
        KnownClient {
            identity: user_of(first),
            begins: begins.filter(|begins| *begins <= valid).max(),
            ends: ends.filter(|ends| *ends >= valid).min(),
        }
    }
}

/// Who a client is by its certificate, for as long as that is valid.
#[derive(Debug, Clone)]
pub(super) struct KnownClient {
    identity: Result<User, InvalidCredentials>,
    /// From when on it is valid, which may be later than the connection.
    begins: Option<UnixTime>,
    ends: Option<UnixTime>,
}

impl KnownClient {
    const fn lasting(identity: Result<User, InvalidCredentials>) -> Self {
        Self {
            identity,
            begins: None,
            ends: None,
        }
    }

    /// Who sends a request at this time. Source: upstream's x509 authenticator, which verifies the certificate for
    /// each request of a connection.
    pub(super) fn at(&self, now: UnixTime) -> Result<User, InvalidCredentials> {
        let is_early = self.begins.is_some_and(|begins| now < begins);
        if is_early || self.ends.is_some_and(|ends| ends < now) {
            return Err(InvalidCredentials);
        }
        self.identity.clone()
    }
}

/// The last second in which a certificate is valid.
pub(super) fn end_of(certificate: &[u8]) -> Option<UnixTime> {
    validity_of(certificate, |found| found.not_after)
}

/// The first second in which a certificate is valid.
fn begin_of(certificate: &[u8]) -> Option<UnixTime> {
    validity_of(certificate, |found| found.not_before)
}

fn validity_of(certificate: &[u8], of: fn(&Validity) -> ASN1Time) -> Option<UnixTime> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let seconds = u64::try_from(of(parsed.validity()).timestamp()).ok()?;
    Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
}

/// The user of a certificate: the last common name, with each organisation as a group, and the uid, if there is
/// one. A certificate whose uid is not one text identifies nobody. Source: upstream's `CommonNameUserConversion` and
/// Go's `pkix.Name`.
pub(super) fn user_of(certificate: &[u8]) -> Result<User, InvalidCredentials> {
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else {
        return Ok(None);
    };
    let subject = parsed.subject();
    let names = subject.iter_common_name();
    let Some(user) = names.filter_map(|name| name.as_str().ok()).last() else {
        return Ok(None);
    };
    if user.is_empty() {
        return Ok(None);
    }
    let uids: Vec<_> = subject.iter_by_oid(&UID).collect();
    let uid = match uids.as_slice() {
        [] => "",
        [uid] => match uid.as_str() {
            Ok(uid) if !uid.is_empty() => uid,
            _ => return Err(InvalidCredentials),
        },
        _ => return Err(InvalidCredentials),
    };
    let groups = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok());
    Ok(Some(Arc::new(authenticated(user, uid, groups))))
}

impl ClientCertVerifier for ClientCertificates {
    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    /// Every certificate, for [`ClientCertificates::identify`] decides.
    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests;
