//! Authentication by a token of the token file.

use anyhow::{Context, Result, bail};
use hindsight_core::Actor;
use http::{HeaderMap, header};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// The most bytes of a token file; those of a hundred thousand users are fewer.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The permission of every user to read a file.
const BY_ALL: u32 = 0o004;

/// The user of a request, or `None` for an unknown one.
pub(super) type Identity = Option<Arc<Actor>>;

/// A client has presented credentials that are not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidCredentials;

/// The token file, with a line `token,user,uid,"group1,group2"` for each token. Tokens are looked up by their
/// hashes, so that the time it takes reveals nothing about them.
#[derive(Debug, Default)]
pub(super) struct Tokens(BTreeMap<[u8; 32], Arc<Actor>>);

impl Tokens {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = text_of(file).with_context(|| {
            format!(
                "the token file {} cannot be read; name a file with lines of token,user,uid,\"group1,group2\", or \
                 leave --token-auth-file out",
                file.display()
            )
        })?;
        warn_of_readers(file);
        Self::parse(&text).with_context(|| format!("the token file {} is invalid", file.display()))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut tokens = BTreeMap::new();
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        for (index, line) in lines {
            let fields = fields(line);
            let [token, user, uid, rest @ ..] = fields.as_slice() else {
                bail!(
                    "line {}: expected token,user,uid and optionally \"group,group\"",
                    index + 1
                );
            };
            let groups = rest.first().map_or("", String::as_str).split(',');
            let groups = groups.map(str::trim).filter(|group| !group.is_empty());
            tokens.insert(hash(token), Arc::new(actor(user, uid, groups)));
        }
        Ok(Self(tokens))
    }

    /// The user of a valid certificate, or that of the token. A token that is unknown is refused, and does not
    /// count as none; so is an invalid certificate without a valid token. Source: upstream's union of
    /// authenticators, which asks about certificates first, and its `bearertoken`, which ignores other schemes.
    pub(super) fn identify(
        &self,
        headers: &HeaderMap,
        certificate: Result<Identity, InvalidCredentials>,
    ) -> Result<Identity, InvalidCredentials> {
        let value = headers.get(header::AUTHORIZATION);
        let Some(value) = value.filter(|_| !matches!(certificate, Ok(Some(_)))) else {
            return certificate;
        };
        let value = String::from_utf8_lossy(value.as_bytes());
        let (scheme, token) = value.trim().split_once(' ').unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") {
            return certificate;
        }
        let actor = self.0.get(&hash(token.trim())).ok_or(InvalidCredentials)?;
        Ok(Some(Arc::clone(actor)))
    }
}

fn hash(token: &str) -> [u8; 32] {
    *blake3::hash(token.as_bytes()).as_bytes()
}

/// Reads the file, which must be a regular one: a pipe or a device might have no end.
fn text_of(file: &Path) -> io::Result<String> {
    if !std::fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    let mut bytes = File::open(file)?.take(FILE_BYTES_MAX + 1);
    bytes.read_to_string(&mut text)?;
    if bytes.limit() == 0 {
        let why = format!("it is longer than {FILE_BYTES_MAX} bytes");
        return Err(io::Error::other(why));
    }
    Ok(text)
}

/// Warns if every user of the machine may read the file, for whoever has a token is its user. Group permissions
/// are not checked: a service may be given the file through its group.
fn warn_of_readers(file: &Path) {
    if file
        .metadata()
        .is_ok_and(|found| found.mode() & BY_ALL != 0)
    {
        tracing::warn!(
            file = %file.display(),
            "every user of this machine can read the token file, and log in as any user in it; close it with chmod \
             o-r, and issue new tokens"
        );
    }
}

/// The fields of a line; commas inside double quotes do not separate.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for one in line.trim().chars() {
        match one {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => {
                if let Some(field) = fields.last_mut() {
                    field.push(other);
                }
            }
        }
    }
    fields
}

/// An authenticated user.
pub(super) fn actor<'a>(user: &str, uid: &str, groups: impl Iterator<Item = &'a str>) -> Actor {
    let everybody = std::iter::once("system:authenticated");
    let groups = groups.chain(everybody).map(Into::into).collect();
    Actor {
        user: user.into(),
        uid: uid.into(),
        groups,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(value: &[u8]) -> HeaderMap {
        let value = header::HeaderValue::from_bytes(value).expect("a header");
        HeaderMap::from_iter([(header::AUTHORIZATION, value)])
    }

    #[test]
    fn tokens_name_users_and_groups() {
        let tokens = Tokens::parse("t1,alice,u1,\"dev,ops\"\nt2,bob,u2\n").expect("readable");
        let identify = |value: &str| tokens.identify(&said(value.as_bytes()), Ok(None));
        let known = |value: &str| identify(value).expect("a token").expect("somebody");
        let alice = known("Bearer t1");
        assert_eq!(&*alice.user, "alice");
        let groups: Vec<&str> = alice.groups.iter().map(|group| &**group).collect();
        assert_eq!(groups, ["dev", "ops", "system:authenticated"]);
        assert_eq!(&*known("Bearer t2").uid, "u2");
        for scheme in ["bearer", "BEARER"] {
            assert_eq!(&*known(&format!("{scheme} t1")).user, "alice");
        }
        for value in ["Basic t1", "t1", "Bearer"] {
            assert_eq!(identify(value), Ok(None), "{value}");
        }
    }

    #[test]
    fn a_valid_certificate_comes_first_then_a_token_and_another_scheme_says_nothing() {
        let tokens = Tokens::parse("t1,alice,u1\n").expect("readable");
        let certificates = [
            Ok(Some(Arc::new(Actor::new("admin")))),
            Ok(None),
            Err(InvalidCredentials),
        ];
        let (admin, alice, nobody) = (Ok(Some("admin")), Ok(Some("alice")), Ok(None));
        let refused = Err(InvalidCredentials);
        for (value, expected) in [
            (&b"Bearer t1"[..], [admin, alice, alice]),
            (b"Bearer t3", [admin, refused, refused]),
            (b"bearer t3", [admin, refused, refused]),
            (b"Bearer \xff", [admin, refused, refused]),
            (b"Basic dDE6", [admin, nobody, refused]),
            (b"Bearer", [admin, nobody, refused]),
        ] {
            for (certificate, expected) in certificates.iter().zip(expected) {
                let found = tokens.identify(&said(value), certificate.clone());
                let found = found.map(|actor| actor.map(|actor| actor.user.to_string()));
                let expected = expected.map(|name| name.map(str::to_owned));
                assert_eq!(found, expected, "{value:?} beside {certificate:?}");
            }
        }
    }

    #[test]
    fn what_is_no_file_or_no_token_file_is_not_read_to_its_end() {
        let long = tempfile::NamedTempFile::new().expect("a file");
        long.as_file().set_len(FILE_BYTES_MAX + 1).expect("longer");
        for (path, why) in [
            (Path::new("/dev/null"), "not a regular file"),
            (Path::new("/"), "not a regular file"),
            (long.path(), "longer than"),
        ] {
            let error = Tokens::read(path).expect_err("refused");
            let said = format!("{error:#}");
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_short_line_is_refused_by_its_number() {
        let error = Tokens::parse("a,b,c\nd\n").expect_err("refused");
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
