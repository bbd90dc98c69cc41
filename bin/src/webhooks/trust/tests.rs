//! Certificates that a webhook may present.

use super::super::client;
use super::*;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};
use rustls_native_certs::load_certs_from_paths;
use rustls_pki_types::PrivateKeyDer;
use std::path::Path;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const IN_TIME: u64 = 1_800_000_000;

fn its_own_authority() -> CertificateParams {
    let mut params = CertificateParams::new(vec!["hook".to_owned()]).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    params
}

/// Whether a server that presents the first certificate is trusted if the second is the bundle.
fn verified(
    (shown, bundle): (&CertificateDer<'_>, &str),
    name: &str,
    now: u64,
) -> Result<(), Error> {
    let verifier = of_bundle(bundle.as_bytes()).expect("a verifier");
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now));
    let verified = verifier.verify_server_cert(shown, &[], &name, &[], now);
    verified.map(drop)
}

#[test]
fn a_certificate_of_the_bundle_is_believed_for_its_names_its_time_and_its_purpose() {
    let key = KeyPair::generate().expect("a key");
    let mut for_clients = its_own_authority();
    for_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let mut for_servers = its_own_authority();
    for_servers.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let mut of_one_host = its_own_authority();
    of_one_host.is_ca = IsCa::NoCa;
    for (params, name, now, is_believed) in [
        (its_own_authority(), "hook", IN_TIME, true),
        (for_servers, "hook", IN_TIME, true),
        (of_one_host, "hook", IN_TIME, true),
        (its_own_authority(), "other", IN_TIME, false),
        (its_own_authority(), "hook", 1_000_000_000, false),
        (its_own_authority(), "hook", 3_000_000_000, false),
        (for_clients, "hook", IN_TIME, false),
    ] {
        let certificate = params.self_signed(&key).expect("a certificate");
        let shown = (certificate.der(), &*certificate.pem());
        let found = verified(shown, name, now);
        assert_eq!(found.is_ok(), is_believed, "{name} {now}: {found:?}");
    }
}

/// An authority that is not in the bundle, whoever signed it, may still not act as a server.
#[test]
fn another_certificate_of_the_same_name_is_not_believed() {
    let [own, other] = [(); 2].map(|()| KeyPair::generate().expect("a key"));
    let trusted = its_own_authority()
        .self_signed(&own)
        .expect("a certificate");
    let forged = its_own_authority().self_signed(&other);
    let forged = forged.expect("a certificate");
    let again = its_own_authority()
        .self_signed(&own)
        .expect("a certificate");
    assert_ne!(again.der(), trusted.der(), "each has a number of its own");
    for shown in [forged, again] {
        let found = verified((shown.der(), &trusted.pem()), "hook", IN_TIME);
        assert!(found.is_err(), "{found:?}");
    }
}

#[test]
fn a_machine_whose_authorities_cannot_be_read_says_why() {
    let missing = Path::new("/dev/null/missing.pem");
    let found = load_certs_from_paths(Some(missing), None);
    let refused = of_machine(found).expect_err("there are none").to_string();
    assert!(refused.contains("this machine trusts none"), "{refused}");
    assert!(refused.contains("/dev/null/missing.pem"), "{refused}");
}

/// What becomes of a handshake with a server that shows the certificate, which is the bundle, and signs with the key.
async fn connected(
    version: &'static SupportedProtocolVersion,
    certificate: &rcgen::Certificate,
    key: &KeyPair,
) -> std::io::Result<()> {
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let key = any_supported_type(&key).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider);
    let server = server.with_protocol_versions(&[version]).expect("a server");
    // Neither of these two compares the key with the certificate.
    let shown = CertifiedKey::new(vec![certificate.der().clone()], key);
    let resolver = Arc::new(SingleCertAndKey::from(shown));
    let server = server.with_no_client_auth().with_cert_resolver(resolver);
    let verifier = of_bundle(certificate.pem().as_bytes()).expect("a verifier");
    let client = client(verifier).expect("a client");
    let (near, far) = tokio::io::duplex(64 << 10);
    let name = ServerName::try_from("hook").expect("a name");
    let connects = TlsConnector::from(Arc::new(client)).connect(name, near);
    let accepts = TlsAcceptor::from(Arc::new(server)).accept(far);
    let (connected, _) = tokio::join!(connects, accepts);
    connected.map(drop)
}

/// The certificate itself is no secret.
#[tokio::test]
async fn a_webhook_without_the_key_of_its_certificate_is_told_nothing() {
    let [own, other] = [(); 2].map(|()| KeyPair::generate().expect("a key"));
    let certificate = its_own_authority().self_signed(&own);
    let certificate = certificate.expect("a certificate");
    for version in [&TLS12, &TLS13] {
        for (key, is_told) in [(&own, true), (&other, false)] {
            let found = connected(version, &certificate, key).await;
            assert_eq!(found.is_ok(), is_told, "{version:?}: {found:?}");
        }
    }
}
