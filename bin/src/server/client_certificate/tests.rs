//! Who a certificate identifies, and for how long.

use super::*;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};

type Signer = CertifiedIssuer<'static, KeyPair>;

/// The types of a subject's attributes, for what `rcgen` has no name for, or would have only once.
fn attribute(parts: &[u64]) -> DnType {
    DnType::CustomDnType(parts.to_vec())
}

/// The attribute of the uid, or one beside it.
fn uid(last: u64) -> DnType {
    attribute(&[1, 3, 6, 1, 4, 1, 57683, last])
}

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

/// The user and the uid of a certificate whose subject has these attributes too.
fn user_with(
    attributes: &[(DnType, &str)],
) -> Result<Option<(String, String)>, InvalidCredentials> {
    let authority = CertifiedIssuer::self_signed(authority("a"), key()).expect("signed");
    let mut params = client();
    for (name, value) in attributes {
        params.distinguished_name.push(name.clone(), *value);
    }
    let mut certificate = signed(&params, &authority).to_vec();
    let [one, other] = [UID, oid!(1.3.6.1.4.1.57683.3)].map(|oid| oid.as_bytes().to_vec());
    for start in 0..certificate.len() - one.len() {
        let found = &mut certificate[start..][..one.len()];
        if found == other {
            found.copy_from_slice(&one);
        }
    }
    let user = user_of(&certificate)?;
    Ok(user.map(|user| (user.user.to_string(), user.uid.to_string())))
}

/// Source: upstream's `TestX509`, and `FillFromRDNSequence` of Go's `pkix.Name`.
#[test]
fn a_certificate_has_a_user_by_its_last_name_and_one_uid_or_none() {
    let name = || attribute(&[2, 5, 4, 3]);
    let known = |user: &str, uid: &str| Ok(Some((user.to_owned(), uid.to_owned())));
    for (attributes, expected) in [
        (&[][..], known("alice", "")),
        (&[(name(), "bob")], known("bob", "")),
        (&[(name(), "")], Ok(None)),
        (&[(uid(2), "u1")], known("alice", "u1")),
        (&[(uid(2), "u1"), (name(), "bob")], known("bob", "u1")),
        (&[(uid(2), "")], Err(InvalidCredentials)),
        (&[(uid(2), "u1"), (uid(3), "u2")], Err(InvalidCredentials)),
    ] {
        assert_eq!(user_with(attributes), expected, "{attributes:?}");
    }
}

/// On a connection that was opened before it begins, as by a clock that is behind its issuer's, and on one that was
/// opened before the clock was set back.
#[test]
fn a_certificate_identifies_somebody_once_it_and_what_signed_it_begin() {
    let root = CertifiedIssuer::self_signed(authority("a"), key()).expect("signed");
    let other = CertifiedIssuer::self_signed(authority("a"), key()).expect("signed");
    let mut between = authority("b");
    between.not_before = date_time_ymd(2035, 1, 1);
    let between = CertifiedIssuer::signed_by(between, key(), &root).expect("signed");
    let mut params = client();
    params.not_before = date_time_ymd(2032, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    let (direct, indirect) = (signed(&params, &root), signed(&params, &between));
    let certificates = ClientCertificates::signed_by(root.der().clone()).expect("a verifier");
    for (chain, first) in [
        (&[direct][..], 2032),
        (&[indirect, between.der().clone()], 2035),
    ] {
        for connected in [2030, 2036] {
            let known = certificates.identify(chain, in_year(connected));
            for year in [2030, first - 1, 2040] {
                assert_eq!(known.at(in_year(year)), Err(InvalidCredentials), "{year}");
            }
            for year in [first, 2039] {
                let found = known.at(in_year(year)).expect("valid").expect("somebody");
                assert_eq!(&*found.user, "alice", "{year}");
            }
        }
    }
    let foreign = certificates.identify(&[signed(&params, &other)], in_year(2030));
    assert_eq!(foreign.at(in_year(2036)), Err(InvalidCredentials));
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
