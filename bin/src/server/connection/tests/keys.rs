//! Clients that show a certificate, with its key and without.

use super::*;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};

/// What is said to the administrator whose client signs with this key.
async fn said(
    peer: &Peer,
    version: &'static rustls::SupportedProtocolVersion,
    key: &PrivateKeyDer<'_>,
) -> String {
    let key = any_supported_type(key).expect("a key");
    // Neither of these two compares the key with the certificate.
    let shown = CertifiedKey::new(vec![certificate(&peer.pki.admin.0)], key);
    let resolver = Arc::new(SingleCertAndKey::from(shown));
    let config = peer.trusting_over(&[version]);
    let config = config.with_client_cert_resolver(resolver);
    let Ok(mut stream) = peer.try_connect_with(config, "http/1.1").await else {
        return String::new();
    };
    // Over TLS 1.3 the refusal comes after the handshake of the client.
    stream.write_all(WATCH.as_bytes()).await.ok();
    read(&mut stream, "kube-system").await
}

#[test]
fn a_certificate_without_its_key_lets_nobody_in() {
    served(Timeouts::default(), async |peer, _| {
        let own = PrivateKeyDer::from_pem_slice(peer.pki.admin.1.as_bytes()).expect("a key");
        let other = rcgen::KeyPair::generate().expect("a key").serialize_der();
        let other = PrivateKeyDer::try_from(other).expect("a key");
        for version in [&TLS12, &TLS13] {
            let heard = said(&peer, version, &own).await;
            assert!(heard.contains("kube-system"), "{version:?}: {heard}");
            assert_eq!(said(&peer, version, &other).await, "", "{version:?}");
        }
    });
}
