//! Who a certificate identifies, and for how long.

use super::*;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};

type Signer = CertifiedIssuer<'static, KeyPair>;

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn client() -> CertificateParams {
    let mut params = params("alice");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

fn signed(params: &CertificateParams, by: &Signer) -> CertificateDer<'static> {
    let certificate = params.signed_by(&key(), by).expect("signed");
    certificate.der().clone()
}

fn in_year(year: u64) -> UnixTime {
    let days = (year - 1970) * 365 + 30;
    UnixTime::since_unix_epoch(Duration::from_hours(days * 24))
}

#[test]
fn a_certificate_identifies_nobody_after_its_end_or_that_of_what_signed_it() {
    let root = CertifiedIssuer::self_signed(authority("a"), key()).expect("signed");
    let mut between = authority("b");
    between.not_after = date_time_ymd(2035, 1, 1);
    let between = CertifiedIssuer::signed_by(between, key(), &root).expect("signed");
    let mut params = client();
    params.not_after = date_time_ymd(2040, 1, 1);
    let (direct, indirect) = (signed(&params, &root), signed(&params, &between));
    let mut unrelated = client();
    unrelated.not_after = date_time_ymd(2020, 1, 1);
    let unrelated = signed(&unrelated, &root);
    let certificates = ClientCertificates::signed_by(root.der().clone()).expect("a verifier");
    for (chain, last) in [
        (&[direct.clone()][..], 2039),
        (&[direct, unrelated], 2039),
        (&[indirect, between.der().clone()], 2034),
    ] {
        let known = certificates.identify(chain, in_year(2030));
        for year in [2030, last] {
            let found = known.at(in_year(year)).expect("valid").expect("somebody");
            assert_eq!(&*found.user, "alice", "{year}");
        }
        for later in [last + 1, 2100] {
            let found = certificates.identify(chain, in_year(later));
            assert_eq!(known.at(in_year(later)), Err(InvalidCredentials), "{later}");
            assert_eq!(found.at(in_year(later)), Err(InvalidCredentials), "{later}");
        }
    }
    let without = certificates.identify(&[], in_year(2030));
    assert_eq!(without.at(in_year(2100)), Ok(None));
}
