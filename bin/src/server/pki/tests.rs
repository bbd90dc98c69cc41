//! Incomplete or mixed files of a pki, and what the next start makes of them.

use super::*;
use std::fs;
use std::net::Ipv4Addr;

fn open(directory: &Path) -> Result<Pki> {
    Pki::open(directory, Ipv4Addr::LOCALHOST.into())
}

/// Makes a pki, lets something happen to its files, and returns how the next start refuses it.
fn refused(happens: impl Fn(&Path, &Path)) -> String {
    let temporary = tempfile::tempdir().expect("a directory");
    let [own, other] = ["own", "other"].map(|name| temporary.path().join(name));
    for directory in [&own, &other] {
        open(directory).expect("made");
    }
    happens(&own, &other);
    let before = listed(&own);
    let error = open(&own).expect_err("it is not whole");
    assert_eq!(listed(&own), before, "{error:#}");
    format!("{error:#}")
}

/// The files that nobody may lose by a start that is refused.
fn listed(directory: &Path) -> Vec<Option<String>> {
    let names = ["ca.crt", "ca.key", "admin.crt", "admin.key"];
    let read = |name| fs::read_to_string(directory.join(name)).ok();
    names.map(read).into()
}

fn remove(directory: &Path, names: &[&str]) {
    for name in names {
        fs::remove_file(directory.join(name)).expect("removed");
    }
}

#[test]
fn a_part_of_an_authority_that_is_missing_or_from_elsewhere_is_refused_by_name() {
    for missing in ["ca.key", "ca.crt"] {
        let said = refused(|own, _| remove(own, &[missing]));
        let named = format!("{missing} is missing");
        assert!(said.contains(&named) && said.contains("aside"), "{said}");
    }
    let said = refused(|own, _| remove(own, &["ca.key", "ca.crt"]));
    assert!(said.contains("ca.crt is missing"), "{said}");
    let foreign = |name: &'static str| {
        refused(move |own, other| {
            fs::copy(other.join(name), own.join(name)).expect("copied");
        })
    };
    for name in ["ca.key", "ca.crt"] {
        let said = foreign(name);
        assert!(said.contains("ca.key is not the key of ca.crt"), "{said}");
    }
    let said = foreign("admin.key");
    assert!(said.contains("admin.key is not the key"), "{said}");
    let said = refused(|own, other| {
        for name in ["admin.crt", "admin.key"] {
            fs::copy(other.join(name), own.join(name)).expect("copied");
        }
    });
    assert!(
        said.contains("admin.crt was not signed by ca.crt"),
        "{said}"
    );
    for name in ["ca.crt", "ca.key", "admin.crt", "admin.key"] {
        let said = refused(|own, _| fs::write(own.join(name), "").expect("emptied"));
        assert!(said.contains(&format!("{name} contains no")), "{said}");
    }
}

#[test]
fn what_a_first_start_left_in_the_middle_is_made_whole_and_an_administrator_again() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path();
    let names = ["ca.crt", "admin.crt", "admin.key"];
    open(directory).expect("made");
    for kept in 0..names.len() {
        remove(directory, &names[kept..]);
        open(directory).expect("made again");
        let whole = listed(directory);
        open(directory).expect("whole");
        assert_eq!(listed(directory), whole, "{kept}");
    }
    let authority = fs::read(directory.join("ca.crt")).expect("read");
    remove(directory, &["admin.key"]);
    open(directory).expect("made again");
    assert_eq!(fs::read(directory.join("ca.crt")).expect("read"), authority);
}

#[test]
fn a_crash_between_a_new_certificate_and_its_key_hinders_no_start() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path();
    open(directory).expect("made");
    remove(directory, &["admin.crt"]);
    // In the place of the new key before it is whole.
    let hindrance = directory.join(format!("admin.key.{UNFINISHED}"));
    fs::create_dir(&hindrance).expect("made");
    open(directory).expect_err("no key can be written");
    assert!(directory.join("admin.crt").exists());
    fs::remove_dir(&hindrance).expect("removed");
    open(directory).expect("made again");
}

/// What RFC 5280 asks for, and strict clients with it.
#[test]
fn certificates_name_the_key_of_the_authority_that_signed_them() {
    use x509_parser::certificate::X509Certificate;
    use x509_parser::extensions::ParsedExtension;
    use x509_parser::prelude::FromDer;

    let temporary = tempfile::tempdir().expect("a directory");
    let pki = open(temporary.path()).expect("made");
    let identifier = |pem: &str, of: fn(&ParsedExtension<'_>) -> Option<Vec<u8>>| {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate");
        let (_, parsed) = X509Certificate::from_der(&der).expect("a certificate");
        let mut found = parsed.iter_extensions();
        found.find_map(|extension| of(extension.parsed_extension()))
    };
    let own = identifier(&pki.authority, |extension| match extension {
        ParsedExtension::SubjectKeyIdentifier(key) => Some(key.0.to_vec()),
        _ => None,
    });
    assert!(own.is_some());
    for signed in [&pki.server.0, &pki.admin.0] {
        let issuer = identifier(signed, |extension| match extension {
            ParsedExtension::AuthorityKeyIdentifier(issuer) => {
                issuer.key_identifier.as_ref().map(|key| key.0.to_vec())
            }
            _ => None,
        });
        assert_eq!(issuer, own);
    }
}
