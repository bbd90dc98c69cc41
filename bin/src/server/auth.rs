//! Authentication by a token of the token file.

use crate::users::authenticated;
use anyhow::{Context, Result, bail};
use hindsight_api::Authenticator;
use hindsight_core::Actor;
use hindsight_log::regular;
use http::{HeaderMap, header};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// The most bytes of a token file; those of a hundred thousand users are fewer.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The permission of every user to read a file.
const BY_ALL: u32 = 0o004;

/// The user of a request, or `None` for an unknown one.
pub(super) type User = Option<Arc<Actor>>;

/// A client has presented credentials that are not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidCredentials;

/// The token file, with a line `token,user,uid,"group1,group2"` for each token. Tokens are looked up by their
/// hashes, so that the time it takes reveals nothing about them.
#[derive(Debug, Default)]
pub(super) struct Tokens(BTreeMap<[u8; 32], Arc<Actor>>);

impl Tokens {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = regular::text(file, FILE_BYTES_MAX).with_context(|| {
            format!(
                "the token file {} cannot be read; name a file with lines of token,user,uid,\"group1,group2\", or \
                 leave --token-auth-file out",
                file.display()
            )
        })?;
        warn_of_readers(file);
        Self::parse(&text).with_context(|| format!("the token file {} is invalid", file.display()))
    }

    /// Refuses each line that could give a user less, or another user more, than whoever wrote it meant. Upstream
    /// takes some with a warning or without: an empty token or user, the same token again, a fifth field.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (mut tokens, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        let lines = (1..).zip(text.lines());
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let (token, actor) = entry(line.trim()).with_context(|| format!("line {number}"))?;
            let token = hash(&token);
            if let Some(first) = numbers.insert(token, number) {
                bail!("lines {first} and {number} have the same token; remove one of them");
            }
            tokens.insert(token, Arc::new(actor));
        }
        Ok(Self(tokens))
    }

    /// The user of a valid certificate, or that of the token. A token that is unknown is refused, and does not
    /// count as none; so is an invalid certificate without a valid token. Source: upstream's union of
    /// authenticators, which asks about certificates first, and its `bearertoken`, which ignores other schemes and what
    /// has no text after one space, and takes no more than the text up to the next.
    pub(super) fn identify(
        &self,
        headers: &HeaderMap,
        certificate: Result<User, InvalidCredentials>,
    ) -> Result<User, InvalidCredentials> {
        let value = headers.get(header::AUTHORIZATION);
        let Some(value) = value.filter(|_| !matches!(certificate, Ok(Some(_)))) else {
            return certificate;
        };
        let value = String::from_utf8_lossy(value.as_bytes());
        let mut parts = value.trim().split(' ');
        let (scheme, token) = (parts.next(), parts.next().unwrap_or_default());
        if token.is_empty() || scheme.is_none_or(|scheme| !scheme.eq_ignore_ascii_case("bearer")) {
            return certificate;
        }
        let actor = self.authenticate(token).ok_or(InvalidCredentials)?;
        Ok(Some(actor))
    }
}

impl Authenticator for Tokens {
    fn authenticate(&self, token: &str) -> Option<Arc<Actor>> {
        self.0.get(&hash(token)).cloned()
    }
}

fn hash(token: &str) -> [u8; 32] {
    *blake3::hash(token.as_bytes()).as_bytes()
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

/// The token of a line, and its user.
fn entry(line: &str) -> Result<(String, Actor)> {
    let fields = fields(line)?;
    let (token, user, uid, groups) = match fields.as_slice() {
        [token, user, uid] => (token, user, uid, ""),
        [token, user, uid, groups] => (token, user, uid, groups.as_str()),
        [_, _, _, _, _, ..] => {
            bail!("it has more than four fields; put several groups in quotes: \"group,group\"")
        }
        _ => bail!("expected token,user,uid and optionally \"group,group\""),
    };
    if token.is_empty() || user.is_empty() {
        bail!("the token or the user is empty; expected token,user,uid,\"group,group\"");
    }
    if token.contains(' ') || token.trim() != token {
        bail!(
            "the token has spaces in it or around it, so that nobody could log in with it; remove them"
        );
    }
    let groups = groups.split(',').map(str::trim);
    let actor = authenticated(user, uid, groups.filter(|group| !group.is_empty()));
    Ok((token.clone(), actor))
}

/// The fields of a line. A field is in quotes as a whole or not at all, and `""` in quotes is a quote. Source: Go's
/// `encoding/csv`, which upstream reads the file with; there what is in quotes may also have several lines.
fn fields(line: &str) -> Result<Vec<String>> {
    let (mut fields, mut rest) = (Vec::new(), line);
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => until_quote(quoted)?,
            None => until_comma(rest)?,
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(fields),
            None => bail!("a closing quote is followed by something else than a comma"),
        }
    }
}

/// Splits off a field in quotes, of which the first is taken already.
fn until_quote(mut rest: &str) -> Result<(String, &str)> {
    let mut field = String::new();
    loop {
        let (part, after) = rest
            .split_once('"')
            .context("a quote is not closed; close it on the same line")?;
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => rest = more,
            None => return Ok((field, after)),
        }
        field.push('"');
    }
}

/// Splits off a field without quotes.
fn until_comma(rest: &str) -> Result<(String, &str)> {
    let (field, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
    if field.contains('"') {
        bail!("a quote inside a field; put the whole field in quotes");
    }
    Ok((field.to_owned(), after))
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
        for value in ["Bearer t1 x", " Bearer t1 "] {
            assert_eq!(&*known(value).user, "alice", "{value}");
        }
        for value in ["Basic t1", "t1", "Bearer", "Bearer ", "Bearer  t1"] {
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
    fn quotes_are_read_as_upstream_reads_them() {
        for (line, expected) in [
            ("a,b,c", &["a", "b", "c"][..]),
            (",,", &["", "", ""]),
            ("\"a\",\"b,c\",\"\"", &["a", "b,c", ""]),
            ("\"a\"\"b\",c,", &["a\"b", "c", ""]),
        ] {
            assert_eq!(fields(line).expect("readable"), expected, "{line}");
        }
    }

    #[test]
    fn a_line_that_says_something_else_than_was_meant_is_refused_by_its_number() {
        for (line, why) in [
            ("d", "line 3: expected token,user,uid"),
            ("d,e", "line 3: expected token,user,uid"),
            (",e,f", "line 3: the token or the user is empty"),
            ("d,,f", "line 3: the token or the user is empty"),
            ("\"d e\",f,g", "line 3: the token has spaces"),
            ("d ,e,f", "line 3: the token has spaces"),
            ("d,e,f,g,h", "line 3: it has more than four fields"),
            ("d,e,f,\"g,h", "line 3: a quote is not closed"),
            ("d,e,f,g\"h\"", "line 3: a quote inside a field"),
            ("d,e,f, \"g,h\"", "line 3: a quote inside a field"),
            ("d,e,f,\"g\"h", "line 3: a closing quote is followed"),
            ("a,e,f", "lines 1 and 3 have the same token"),
        ] {
            let parsed = Tokens::parse(&format!("a,b,c\n\n{line}\nx,y,z\n"));
            let told = format!("{:#}", parsed.expect_err(line));
            assert!(told.starts_with(why), "{line}: {told}");
        }
    }
}
