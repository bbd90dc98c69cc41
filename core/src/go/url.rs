//! URLs. Source: Go's `net/url`, with what 1.26 made stricter: only IPv6 addresses are in brackets, and
//! a host of `http` has one colon. Other schemes may have lists of hosts, as before it and after it.

mod escape;

use super::{address, quoted};
use escape::{Part, encoded, escaped, unescaped};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The most parameters that are read from a query; one with more has none. Source: Go's
/// `defaultMaxParams`.
const PARAMETERS_MAX: usize = 10_000;

/// A URL. Where Go has bytes that are not UTF-8, this has replacement characters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Url {
    /// The scheme, in small letters.
    pub(crate) scheme: Arc<str>,
    /// The host with its port.
    pub(crate) host: Arc<str>,
    /// The path, escaped.
    pub(crate) path: Arc<str>,
    /// The query as it was written.
    pub(crate) query: Arc<str>,
    /// The whole, as Go writes it; two URLs are equal if this is.
    pub(crate) text: Arc<str>,
}

/// The parts of a URL.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    /// The scheme, in small letters.
    pub(crate) scheme: String,
    opaque: &'a str,
    /// The user, escaped.
    pub(crate) user: Option<String>,
    /// The host with its port.
    pub(crate) host: Vec<u8>,
    path: String,
    /// No `//` came before the path.
    no_authority: bool,
    /// What follows a question mark.
    pub(crate) query: Option<&'a str>,
    /// The fragment, escaped; empty if there is none.
    pub(crate) fragment: String,
}

/// Checks that a text is an absolute URL or an absolute path. Source: `ParseRequestURI`.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let parts = read(text, true);
    parts.map(drop).map_err(|why| wrong(text, &why))
}

/// Parses an absolute URL or an absolute path, which may have a fragment: checks it with the
/// fragment, and then parses it without. Source: `library/urls.go` of Kubernetes.
pub(crate) fn parse(text: &str) -> Result<Url, String> {
    check(text)?;
    parts(text).map(Parts::into_url)
}

/// Parses a URL, which may be relative. Source: `Parse`.
pub(crate) fn parts(text: &str) -> Result<Parts<'_>, String> {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut parts = read(before, false).map_err(|why| wrong(before, &why))?;
    parts.fragment = encoded(fragment, Part::Fragment).map_err(|why| wrong(text, &why))?;
    Ok(parts)
}

fn wrong(text: &str, why: &str) -> String {
    format!("parse {}: {why}", quoted(text))
}

fn read(text: &str, in_request: bool) -> Result<Parts<'_>, String> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() && in_request {
        return Err("empty url".into());
    }
    let mut parts = Parts::default();
    if text == "*" {
        text.clone_into(&mut parts.path);
        return Ok(parts);
    }
    let (scheme, rest) = scheme(text)?;
    parts.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest
        .split_once('?')
        .map_or((rest, None), |(rest, query)| (rest, Some(query)));
    parts.query = query;
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            parts.opaque = rest;
            return Ok(parts);
        }
        if in_request {
            return Err("invalid URI for request".into());
        }
    }
    let may_have_host = !scheme.is_empty() || !in_request && !rest.starts_with("///");
    let after = rest.strip_prefix("//").filter(|_| may_have_host);
    parts.no_authority = after.is_none();
    let path = after.map_or(Ok(rest), |after| {
        let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
        parts.authority(authority).map(|()| path)
    })?;
    parts.path = encoded(path, Part::Path)?;
    Ok(parts)
}

/// Splits off the scheme, which is empty if there is none.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    let is_legal = |one: char| one.is_ascii_alphanumeric() || "+-.".contains(one);
    match text.split_once(':') {
        Some(("", _)) => Err("missing protocol scheme".into()),
        Some((scheme, rest))
            if scheme.starts_with(|one: char| one.is_ascii_alphabetic())
                && scheme.chars().all(is_legal) =>
        {
            Ok((scheme, rest))
        }
        _ => Ok(("", text)),
    }
}

impl Parts<'_> {
    fn authority(&mut self, text: &str) -> Result<(), String> {
        let (user, host) = match text.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, text),
        };
        self.host = self::host(host, &self.scheme)?;
        self.user = user.map(self::user).transpose()?;
        Ok(())
    }

    fn into_url(self) -> Url {
        let query = self.query.unwrap_or_default();
        Url {
            text: self.text().into(),
            host: String::from_utf8_lossy(&self.host).into(),
            scheme: self.scheme.into(),
            path: self.path.into(),
            query: query.into(),
        }
    }

    /// The URL as Go writes it. Source: `URL.String`.
    fn text(&self) -> String {
        let mut made = String::new();
        let has_host = !self.host.is_empty() || self.user.is_some();
        if !self.scheme.is_empty() {
            made.extend([&self.scheme, ":"]);
        }
        made.push_str(self.opaque);
        let slashes = has_host || !self.scheme.is_empty() && !self.path.is_empty();
        if self.opaque.is_empty() && slashes && !self.no_authority {
            made.push_str("//");
            if let Some(user) = &self.user {
                made.extend([user, "@"]);
            }
            made.push_str(&escaped(&self.host, Part::Host));
        }
        made.push_str(&self.path);
        if let Some(query) = self.query {
            made.extend(["?", query]);
        }
        if !self.fragment.is_empty() {
            made.extend(["#", &self.fragment]);
        }
        made
    }
}

/// Checks a user and its password, and escapes them.
fn user(text: &str) -> Result<String, String> {
    let is_legal = |one: char| one.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(one);
    if !text.chars().all(is_legal) {
        return Err("net/url: invalid userinfo".into());
    }
    let again = |text| unescaped(text, Part::User).map(|bytes| escaped(&bytes, Part::User));
    match text.split_once(':') {
        Some((name, password)) => Ok(format!("{}:{}", again(name)?, again(password)?)),
        None => again(text),
    }
}

fn host(text: &str, scheme: &str) -> Result<Vec<u8>, String> {
    match text.rfind('[') {
        Some(0) => return in_brackets(text),
        Some(_) => return Err("invalid IP-literal".into()),
        None => {}
    }
    let colon = if matches!(scheme, "http" | "https") {
        text.find(':')
    } else {
        text.rfind(':')
    };
    let port = colon
        .and_then(|colon| text.get(colon..))
        .unwrap_or_default();
    check_port(port)?;
    unescaped(text, Part::Host)
}

fn in_brackets(text: &str) -> Result<Vec<u8>, String> {
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.rsplit_once(']'));
    let (name, port) = inside.ok_or("missing ']' in host")?;
    check_port(port)?;
    let (name, zone) = name.split_at(name.find("%25").unwrap_or(name.len()));
    let mut plain = unescaped(name, Part::Host)?;
    plain.extend(unescaped(zone, Part::Zone)?);
    let found = address::parse(&String::from_utf8_lossy(&plain));
    match found.map_err(|why| format!("invalid host: {why}"))?.address {
        IpAddr::V4(_) => Err("invalid IP-literal".into()),
        IpAddr::V6(_) => Ok([b"[", &*plain, b"]", port.as_bytes()].concat()),
    }
}

fn check_port(port: &str) -> Result<(), String> {
    let wrong = || format!("invalid port {} after host", quoted(port));
    is_port(port).then_some(()).ok_or_else(wrong)
}

/// Whether this is nothing, or a colon with digits.
fn is_port(port: &str) -> bool {
    let digits = port.strip_prefix(':');
    port.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|one| one.is_ascii_digit()))
}

impl Url {
    /// The host without its port and without brackets, and the port. Source: `splitHostPort`.
    pub(crate) fn host_and_port(&self) -> (&str, &str) {
        let colon = self.host.rfind(':').unwrap_or(self.host.len());
        let (host, port) = self.host.split_at(colon);
        let (host, port) = if is_port(port) {
            (host, port)
        } else {
            (&*self.host, "")
        };
        let inside = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        (inside.unwrap_or(host), port.trim_start_matches(':'))
    }

    /// The parameters of the query; those that are malformed are left out. Source: `parseQuery`.
    pub(crate) fn parameters(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<_, Vec<String>> = BTreeMap::new();
        if self.query.split('&').count() > PARAMETERS_MAX {
            return all;
        }
        let legal = self
            .query
            .split('&')
            .filter(|one| !one.is_empty() && !one.contains(';'));
        for one in legal {
            let (key, value) = one.split_once('=').unwrap_or((one, ""));
            let plain = |text| unescaped(text, Part::Query);
            if let (Ok(key), Ok(value)) = (plain(key), plain(value)) {
                let [key, value] =
                    [key, value].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                all.entry(key).or_default().push(value);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the text is, reading it returns, and what is written is read again as the same.
    #[test]
    fn a_url_is_written_so_that_it_is_read_again() {
        const PIECES: [&str; 32] = [
            "http:", "a:", "//", "/", "?", "#", "@", ":", "80", "[", "]", "::1", "%25", "%zz",
            "%c3%a9", "%", "%2e", "%20", "a", "B", " ", "\u{e9}", "\"", "&", "=", ";", "+", "*",
            "!", "<", "1.2.3.4", "",
        ];
        let mut seed = 7_u64;
        let mut good = 0;
        for _ in 0..100_000 {
            let mut text = String::new();
            for _ in 0..8 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(PIECES[usize::try_from(seed >> 59).expect("small")]);
            }
            let Ok(url) = parse(&text) else { continue };
            // Go leaves out slashes between which there is no host, as in `//?a`.
            let Ok(again) = parse(&url.text) else {
                assert!(url.scheme.is_empty() && url.host.is_empty(), "{text}");
                continue;
            };
            assert_eq!(again.text, url.text, "{text}");
            assert_eq!(again.parameters(), url.parameters(), "{text}");
            good += 1;
        }
        assert!(good > 1_000, "{good}");
    }

    #[test]
    fn a_query_with_too_many_parameters_has_none() {
        for (count, found) in [(PARAMETERS_MAX, 1), (PARAMETERS_MAX + 1, 0)] {
            let url = parse(&format!("/?a{}", "&a".repeat(count - 1))).expect("a URL");
            assert_eq!(url.parameters().len(), found, "{count}");
        }
    }
}
