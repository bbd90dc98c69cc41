//! Incomplete or mixed files of a pki, and what the next start makes of them.

use super::*;
use crate::disk::is_full;
use crate::testing::{NO_FILES, Put, in_time, logged};
use rcgen::{GeneralSubtree, KeyIdMethod, NameConstraints};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls_pki_types::{ServerName, UnixTime};
use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::FromDer;

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

#[test]
fn a_directory_that_cannot_be_created_is_not_said_to_be_another_users() {
    let temporary = tempfile::tempdir().expect("a directory");
    let file = temporary.path().join("file");
    fs::write(&file, "").expect("written");
    for (directory, reason) in [
        (file.join("pki"), "is not a directory"),
        (file, "its place is taken"),
    ] {
        let refused = open(&directory)
            .expect_err("it cannot be created")
            .to_string();
        let data = directory.parent().expect("there is one").display();
        let begin = format!("creating the directory pki in {data}: ");
        assert!(refused.starts_with(&begin), "{refused}");
        assert!(refused.contains(reason), "{refused}");
        assert!(!refused.contains("who owns it"), "{refused}");
    }
}

/// Puts an authority that was made elsewhere into the directory.
fn put_authority(
    directory: &Path,
    name: &str,
    key: KeyPair,
    change: impl FnOnce(&mut CertificateParams),
) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = authority_params().expect("parameters");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_identifier_method = KeyIdMethod::PreSpecified(b"by somebody else".to_vec());
    change(&mut params);
    let authority = CertifiedIssuer::self_signed(params, key).expect("signed");
    fs::create_dir_all(directory).expect("made");
    for (file, text) in [
        ("ca.crt", authority.pem()),
        ("ca.key", authority.key().serialize_pem()),
    ] {
        fs::write(directory.join(file), text).expect("written");
    }
    authority
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")
}

/// Checks the server's certificate as a client does that has the authority's.
fn check_as_a_client(pki: &Pki) {
    let mut roots = RootCertStore::empty();
    roots.add(certificate(&pki.authority)).expect("an anchor");
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = verifier.build().expect("a verifier");
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let time = UnixTime::since_unix_epoch(Duration::from_secs(2_000_000_000));
    let server = certificate(&pki.server.0);
    let verified = verifier.verify_server_cert(&server, &[], &name, &[], time);
    verified.expect("a client accepts it");
}

/// Checks what RFC 5280 asks for, and strict clients with it: each certificate names the key of its authority as
/// that does.
fn check_identifiers(pki: &Pki) {
    let identifier = |pem: &str, of: fn(&ParsedExtension<'_>) -> Option<Vec<u8>>| {
        let der = certificate(pem);
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

#[test]
fn certificates_name_the_key_of_the_authority_that_signed_them() {
    let temporary = tempfile::tempdir().expect("a directory");
    let pki = open(temporary.path()).expect("made");
    check_identifiers(&pki);
    check_as_a_client(&pki);
}

#[test]
fn an_authority_that_was_made_elsewhere_issues_what_its_clients_accept() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("pki");
    let key = KeyPair::generate().expect("a key");
    put_authority(&directory, "somebody", key, |_| {});
    let pki = open(&directory).expect("an administrator is made");
    check_identifiers(&pki);
    check_as_a_client(&pki);
    let whole = listed(&directory);
    let again = open(&directory).expect("whole");
    check_as_a_client(&again);
    assert_eq!(listed(&directory), whole);
}

#[test]
fn an_authority_that_was_issued_anew_with_its_key_is_named_as_it_is_now() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path();
    open(directory).expect("made");
    let key = fs::read_to_string(directory.join("ca.key")).expect("read");
    let key = KeyPair::from_pem(&key).expect("a key");
    put_authority(directory, "hindsight-ca", key, |_| {});
    let before = listed(directory);
    let kept = open(directory).expect("the administrator is still one");
    check_as_a_client(&kept);
    assert_eq!(listed(directory), before);
    remove(directory, &["admin.crt", "admin.key"]);
    let pki = open(directory).expect("another administrator is made");
    check_identifiers(&pki);
    check_as_a_client(&pki);
}

#[test]
fn a_whole_pki_that_was_made_elsewhere_is_used_as_it_is() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("pki");
    let key = KeyPair::generate().expect("a key");
    let authority = put_authority(&directory, "somebody", key, |_| {});
    let admin = sign(admin_params().expect("parameters"), &authority).expect("signed");
    for (file, text) in [("admin.crt", &admin.0), ("admin.key", &admin.1)] {
        fs::write(directory.join(file), text).expect("written");
    }
    let before = listed(&directory);
    let pki = open(&directory).expect("whole");
    check_identifiers(&pki);
    check_as_a_client(&pki);
    assert_eq!(pki.admin, admin);
    assert_eq!(listed(&directory), before);
}

#[test]
fn a_start_tells_of_certificates_that_have_ended_or_soon_will() {
    let today = DateTime::from_timestamp_micros(effects::now().0).expect("a day");
    for (days, told) in [
        (-1, Some(("ERROR", "has expired on"))),
        (20, Some(("WARN", "expires on"))),
        (40, None),
    ] {
        let ends = today + chrono::TimeDelta::days(days);
        let [month, day] = [ends.month(), ends.day()].map(|one| u8::try_from(one).expect("small"));
        let ends = rcgen::date_time_ymd(ends.year(), month, day);
        let temporary = tempfile::tempdir().expect("a directory");
        let directory = temporary.path().join("pki");
        let key = KeyPair::generate().expect("a key");
        let authority = put_authority(&directory, "somebody", key, |one| one.not_after = ends);
        let mut params = admin_params().expect("parameters");
        params.not_after = ends;
        let admin = sign(params, &authority).expect("signed");
        for (file, text) in [("admin.crt", &admin.0), ("admin.key", &admin.1)] {
            fs::write(directory.join(file), text).expect("written");
        }
        let said = logged(|| drop(open(&directory).expect("it is whole")));
        for (name, advice) in [
            ("ca.crt", "issued anew with the same key"),
            ("admin.crt", "move admin.crt and admin.key aside"),
        ] {
            let of_it = |line: &&str| line.contains(&format!("{name} "));
            let line = said.lines().find(of_it);
            let is_told = line.is_some_and(|line| {
                let (level, what) = told.unwrap_or_default();
                [level, what, advice].iter().all(|part| line.contains(part))
            });
            assert_eq!(is_told, told.is_some(), "{name}, {days}: {said}");
        }
    }
    let temporary = tempfile::tempdir().expect("a directory");
    let said = logged(|| drop(open(temporary.path()).expect("made")));
    assert_eq!(said, "", "ours do not end");
}

/// No administrator is made for it, who would then be refused.
#[test]
fn an_authority_whose_certificates_nobody_accepts_is_refused_by_name() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("pki");
    let key = KeyPair::generate().expect("a key");
    put_authority(&directory, "somebody", key, |params| {
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![GeneralSubtree::DnsName("example.com".into())],
            excluded_subtrees: Vec::new(),
        });
    });
    let before = listed(&directory);
    let refused = open(&directory).expect_err("it is not for this server");
    let said = format!("{refused:#}");
    assert!(
        said.contains("ca.crt cannot be used") && said.contains("constrains no names"),
        "{said}"
    );
    assert_eq!(listed(&directory), before);
}

#[test]
fn what_is_no_file_of_a_pki_is_refused_by_name_and_not_read() {
    for name in ["ca.crt", "ca.key", "admin.crt", "admin.key"] {
        let not_text: Put = |at| fs::write(at, [0xff]).expect("written");
        for put in NO_FILES.into_iter().chain([not_text]) {
            let temporary = tempfile::tempdir().expect("a directory");
            let directory = temporary.path().to_owned();
            open(&directory).expect("made");
            remove(&directory, &[name]);
            put(&directory.join(name));
            let refused = in_time(move || open(&directory).expect_err("it is refused"));
            let said = format!("{refused:#}");
            let named = format!("{name} cannot be read; put the original file back; or");
            let of_admin = named.replace("; or", ", or move admin.crt and admin.key aside");
            assert!(said.contains(&named) || said.contains(&of_admin), "{said}");
        }
    }
}

#[test]
fn an_error_about_a_file_goes_on_with_what_to_do() {
    let path = Path::new("/data/pki/ca.key");
    let denied = whole::unread(path)(ErrorKind::PermissionDenied.into()).to_string();
    assert!(
        denied.contains("ca.key cannot be read; give the user that runs"),
        "{denied}"
    );
    for (kind, advice) in [
        (
            ErrorKind::PermissionDenied,
            "; give the user that runs the server write permission in /data/pki",
        ),
        (ErrorKind::StorageFull, "; free some disk space"),
        (ErrorKind::QuotaExceeded, "; free some disk space"),
        (
            ErrorKind::ReadOnlyFilesystem,
            "; make its file system writable",
        ),
        (ErrorKind::Other, "; check what is in /data/pki"),
    ] {
        let error = failed("written", path)(kind.into());
        let told = error.to_string();
        assert!(
            told.starts_with("/data/pki/ca.key cannot be written"),
            "{told}"
        );
        assert!(told.contains(advice), "{told}");
        assert_eq!(is_full(&error), advice.contains("disk space"), "{told}");
    }
    let own = io::Error::other("it is taken; wait");
    let told = format!("{:#}", failed("written", path)(own));
    assert_eq!(
        told,
        "/data/pki/ca.key cannot be written: it is taken; wait"
    );
}
