//! Addresses, host names, URIs and mail addresses, as Go's `net`, `net/url` and `net/mail` parse
//! them.

use crate::go::{address, url};
use std::net::IpAddr;

pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && text.parse::<IpAddr>().is_ok()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<IpAddr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let digits = !length.is_empty() && length.bytes().all(|one| one.is_ascii_digit());
    let fits = |length: u8| {
        let address = address.parse::<IpAddr>();
        address.is_ok_and(|address| length <= address::bits(address))
    };
    digits && length.parse().is_ok_and(fits)
}

/// A MAC address: six, eight or twenty bytes, in groups of two or four hexadecimal digits.
pub(super) fn is_mac(text: &str) -> bool {
    let groups = |separator: char, digits: usize| {
        let groups: Vec<&str> = text.split(separator).collect();
        let good = |group: &&str| {
            group.len() == digits && group.bytes().all(|one| one.is_ascii_hexdigit())
        };
        let bytes = groups.len() * digits / 2;
        groups.len() > 1 && groups.iter().all(good) && matches!(bytes, 6 | 8 | 20)
    };
    groups(':', 2) || groups('-', 2) || groups('.', 4)
}

/// A host name: one label, or several, the last of which has at least two characters.
pub(super) fn is_hostname(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    if text.len() > 255 || labels.iter().any(|label| label.len() > 63) {
        return false;
    }
    let plain = |text: &str| text.chars().all(is_host_char);
    match labels.as_slice() {
        [only] => {
            let mut rest = only.chars();
            let first = rest.next().is_some_and(is_host_char);
            let rest = rest.as_str();
            first && plain(rest.strip_prefix('-').unwrap_or(rest))
        }
        [first @ .., last] => {
            let inner = |label: &&str| {
                let ends = label.chars().next().is_some_and(is_host_char)
                    && label.chars().next_back().is_some_and(is_host_char);
                ends && label.chars().all(|one| one == '-' || is_host_char(one))
            };
            let last_good = last.split('-').all(|part| !part.is_empty() && plain(part));
            first.iter().all(inner) && last_good && last.chars().count() > 1
        }
        [] => false,
    }
}

/// Letters, digits and symbols, of any script.
fn is_host_char(one: char) -> bool {
    one.is_alphanumeric() || "$+<=>^`|~".contains(one) || (!one.is_ascii() && !one.is_whitespace())
}

/// An absolute URI, or an absolute path.
pub(super) fn is_uri(text: &str) -> bool {
    url::check(text).is_ok()
}

/// `local@domain`, or the same in angle brackets after a display name.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim();
    match text.strip_suffix('>') {
        Some(rest) => match rest.rsplit_once('<') {
            Some((name, address)) => is_phrase(name.trim()) && is_address(address),
            None => false,
        },
        None => is_address(text),
    }
}

fn is_phrase(name: &str) -> bool {
    let quoted = name.len() > 1 && name.starts_with('"') && name.ends_with('"');
    quoted || name.split_whitespace().all(is_dot_atom)
}

fn is_address(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain
        .strip_prefix('[')
        .and_then(|one| one.strip_suffix(']'));
    let literal = literal.is_some_and(|inside| inside.parse::<IpAddr>().is_ok());
    (quoted || is_dot_atom(local)) && (literal || is_dot_atom(domain))
}

fn is_dot_atom(text: &str) -> bool {
    let good = |one: char| {
        one.is_ascii_alphanumeric() || !one.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(one)
    };
    text.split('.')
        .all(|atom| !atom.is_empty() && atom.chars().all(good))
}
