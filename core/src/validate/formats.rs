//! The syntax of what is no name: ports, variables, addresses, ranges of addresses and hosts. Source:
//! apimachinery's `util/validation`.

use super::names;
use crate::go::address;
use crate::go::range::Range;
use std::net::IpAddr;

const PORT_NAME_MAX: usize = 15;
pub(super) const PORT: &str = "must be between 1 and 65535, inclusive";
const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const VARIABLE: &str = "a valid environment variable name must consist only of printable ASCII characters \
     other than '='";
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
     (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
     '[-._a-zA-Z0-9]+')";
const KEY_MAX: usize = 253;
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, \
     which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric \
     character (e.g. '*.example.com', regex used for validation is \
     '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. \
     'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
const PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

pub(super) fn is_port(number: i64) -> bool {
    (1..=65535).contains(&number)
}

/// Returns what is wrong with the name of a port. Source: `IsValidPortName`.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let rules = [
        (name.len() > PORT_NAME_MAX, "must be no more than 15 bytes"),
        (
            name.is_empty() || !name.bytes().all(is_legal),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (
            !name.bytes().any(|byte| byte.is_ascii_lowercase()),
            "must contain at least one letter (a-z)",
        ),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (
            name.starts_with('-') || name.ends_with('-'),
            "must not begin or end with a hyphen",
        ),
    ];
    let broken = rules.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.map(|(_, why)| why.to_owned()).collect()
}

/// Returns what is wrong with the name of a variable that is not empty. Source: `IsRelaxedEnvVarName`.
pub(super) fn variable(name: &str) -> Option<String> {
    let is_legal = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
    (!name.bytes().all(is_legal)).then(|| VARIABLE.to_owned())
}

/// Returns what is wrong with a key of a `ConfigMap` or a `Secret`. Source: `IsConfigMapKey`.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let length = (key.len() > KEY_MAX).then(|| format!("must be no more than {KEY_MAX} bytes"));
    let alphabet = (key.is_empty() || !key.bytes().all(is_legal)).then(|| KEY.to_owned());
    let dots = match key {
        "." | ".." => Some(format!("must not be '{key}'")),
        _ => key
            .starts_with("..")
            .then(|| "must not start with '..'".to_owned()),
    };
    length.into_iter().chain(alphabet).chain(dots).collect()
}

/// Reads an address of an older field, in which numbers may have leading zeros. Source: `ParseIPSloppy`.
fn sloppy(text: &str) -> Option<IpAddr> {
    let bare = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        digits => digits.to_owned(),
    };
    text.parse().ok().or_else(|| {
        let parts: Vec<String> = text.split('.').map(bare).collect();
        parts.join(".").parse().ok()
    })
}

/// Returns what is wrong with an address of an older field. Source: `IsValidIPForLegacyField`.
pub(super) fn old_address(text: &str) -> Option<String> {
    sloppy(text).is_none().then(|| ADDRESS.to_owned())
}

/// Why an address cannot be one that clients are sent to. Source: `ValidateEndpointIP`.
pub(super) fn special(text: &str) -> Vec<String> {
    let Some(address) = sloppy(text) else {
        return vec!["must be a valid IP address".into()];
    };
    let link = address::is_link_local(address);
    let group = address::is_link_local_multicast(address);
    let (unspecified, loopback) = (address.is_unspecified(), address.is_loopback());
    let unspecified_why = format!("may not be unspecified ({text})");
    let rules = [
        (unspecified, unspecified_why.as_str()),
        (
            loopback,
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            link,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
        ),
        (
            group,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    ];
    let broken = rules.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.map(|(_, why)| why.to_owned()).collect()
}

/// Whether an address is one of the machine itself.
pub(super) fn is_loopback(text: &str) -> bool {
    sloppy(text).is_some_and(|address| address.is_loopback())
}

/// Whether an address, if it is one, is of the long family.
pub(super) fn is_long(text: &str) -> Option<bool> {
    sloppy(text).map(|address| address.is_ipv6())
}

fn range(text: &str) -> Option<Range> {
    let (address, length) = text.split_once('/')?;
    let address = sloppy(address)?;
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length = length.parse().ok().filter(|_| is_number)?;
    (length <= address::bits(address)).then_some(Range { address, length })
}

/// Returns what is wrong with a range of an older field. Source: `IsValidCIDRForLegacyField`.
pub(super) fn old_range(text: &str) -> Option<String> {
    range(text).is_none().then(|| RANGE.to_owned())
}

/// Whether a range holds all of a smaller one.
pub(super) fn is_within(inner: &str, outer: &str) -> bool {
    let (Some(inner), Some(outer)) = (range(inner), range(outer)) else {
        return true;
    };
    outer.length < inner.length && outer.holds_range(inner)
}

/// Returns what is wrong with a range in a field that was always strict. Source: `IsValidCIDR`.
pub(super) fn strict_range(text: &str) -> Option<String> {
    let Some(range) = range(text) else {
        return Some(RANGE.into());
    };
    let canonical = range.to_string();
    let is_canonical = text == canonical;
    ambiguous_range(text)
        .map(str::to_owned)
        .or_else(|| (!is_canonical).then(|| format!("must be in canonical form ({canonical:?})")))
}

/// Returns why programs read an address of an older field differently. Source: `parseIP`, where it is strict.
pub(super) fn ambiguous_address(text: &str) -> Option<&'static str> {
    let address = sloppy(text)?;
    if has_zeros(text) {
        return Some("must not have leading 0s");
    }
    is_mapped(address).then_some("must not be an IPv4-mapped IPv6 address")
}

/// Returns why programs read a range of an older field differently. Source: `parseCIDR`, where it is strict.
pub(super) fn ambiguous_range(text: &str) -> Option<&'static str> {
    let range = range(text)?;
    if range_has_zeros(text) {
        return Some("must not have leading 0s in IP or prefix length");
    }
    if is_mapped(range.address) {
        return Some("must not have an IPv4-mapped IPv6 address");
    }
    (range.masked() != range).then_some("must not have bits set beyond the prefix length")
}

/// Returns how an address of an older field is better written, if it is one. Source: `GetWarningsForIP`.
pub(super) fn doubtful_address(text: &str) -> Option<String> {
    let address = sloppy(text)?;
    let canonical = address.to_canonical().to_string();
    if ambiguous_address(text).is_some() {
        return Some(format!(
            "non-standard IP address {text:?} will be considered invalid in a future Kubernetes release: use \
             {canonical:?}"
        ));
    }
    (text != canonical).then(|| {
        format!("IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})")
    })
}

/// Returns how a range of an older field is better written, if it is one. Source: `GetWarningsForCIDR`.
pub(super) fn doubtful_range(text: &str) -> Vec<String> {
    let Some(range) = range(text) else {
        return Vec::new();
    };
    let canonical = range.masked().to_string();
    let mut doubts = Vec::new();
    if range.masked() != range {
        let alone = format!("{}/{}", range.address, address::bits(range.address));
        doubts.push(format!(
            "CIDR value {text:?} is ambiguous in this context (should be {canonical:?} or {alone:?}?)"
        ));
    }
    if range_has_zeros(text) || is_mapped(range.address) {
        doubts.push(format!(
            "non-standard CIDR value {text:?} will be considered invalid in a future Kubernetes release: use \
             {canonical:?}"
        ));
    }
    if doubts.is_empty() && text != canonical {
        doubts.push(format!(
            "IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({canonical:?})"
        ));
    }
    doubts
}

/// Whether numbers of an address that can be read have leading zeros.
fn has_zeros(text: &str) -> bool {
    text.parse::<IpAddr>().is_err()
}

/// The same of a range, whose length may have them as well.
fn range_has_zeros(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, length)| {
        has_zeros(address) || length.len() > 1 && length.starts_with('0')
    })
}

const fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// Returns what is wrong with the name of a host that may begin with a wildcard. Source:
/// `IsWildcardDNS1123Subdomain`.
pub(super) fn host(name: &str) -> Option<String> {
    if !name.contains('*') {
        return names::subdomain(name).err();
    }
    let rest = name.strip_prefix("*.");
    let fits = rest.is_some_and(names::is_subdomain);
    (!fits).then(|| WILDCARD.to_owned())
}

/// Returns what is wrong with a complete name of a host, with the part that is shown. Source:
/// `IsFullyQualifiedDomainName`.
pub(super) fn domain(text: &str) -> Option<(&str, String)> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let told = |part, problems: Vec<String>| {
        let is_wrong = !problems.is_empty();
        is_wrong.then(|| (part, problems.join(",")))
    };
    let short = || {
        let why = "should be a domain with at least two segments separated by dots";
        (!name.contains('.')).then(|| (name, why.to_owned()))
    };
    let mut labels = name.split('.');
    told(name, names::subdomain_problems(name))
        .or_else(short)
        .or_else(|| labels.find_map(|label| told(label, names::label_problems(label))))
}

/// Returns what is wrong with the name of a header. Source: `IsHTTPHeaderName`.
pub(super) fn header(name: &str) -> Option<String> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let fits = !name.is_empty() && name.bytes().all(is_legal);
    (!fits).then(|| HEADER.to_owned())
}

/// Returns what is wrong with a path after a domain, with the part that is shown. Source:
/// `IsDomainPrefixedPath`.
pub(super) fn prefixed_path(text: &str) -> Vec<(&str, String)> {
    let parts = text.split_once('/');
    let Some((host, path)) = parts.filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![(text, why.into())];
    };
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    let host_problem = names::subdomain(host).err().map(|why| (host, why));
    let path_problem = (!path.bytes().all(is_legal)).then(|| (path, PATH.to_owned()));
    host_problem.into_iter().chain(path_problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_short_names_with_a_letter() {
        for (name, problems) in [
            ("http", 0),
            ("h-1", 0),
            ("80", 1),
            ("a--b", 1),
            ("-a", 1),
            ("A", 2),
            ("", 2),
            ("sixteen-letters-", 2),
        ] {
            assert_eq!(port_name(name).len(), problems, "{name}");
        }
    }

    #[test]
    fn addresses_of_older_fields_may_have_zeros_in_front() {
        for (text, fits) in [
            ("10.0.0.1", true),
            ("010.0.0.01", true),
            ("fd00::1", true),
            ("::ffff:10.0.0.1", true),
            ("10.0.0", false),
            ("10.0.0.256", false),
            ("", false),
            ("a", false),
        ] {
            assert_eq!(old_address(text).is_none(), fits, "{text}");
        }
        assert!(old_range("10.0.0.1/08").is_none() && old_range("10.0.0.1/33").is_some());
        assert!(old_range("10.0.0.1").is_some() && old_range("10.0.0.1/+8").is_some());
    }

    #[test]
    fn what_programs_read_differently_is_told() {
        for (text, why) in [
            ("10.0.0.1", None),
            ("FD00::1", None),
            ("a", None),
            ("010.0.0.1", Some("must not have leading 0s")),
            (
                "::ffff:10.0.0.1",
                Some("must not be an IPv4-mapped IPv6 address"),
            ),
        ] {
            assert_eq!(ambiguous_address(text), why, "{text}");
        }
        for (text, why) in [
            ("10.0.0.0/8", None),
            ("FD00::/8", None),
            ("10.0.0.0", None),
            (
                "10.0.0.0/08",
                Some("must not have leading 0s in IP or prefix length"),
            ),
            (
                "::ffff:10.0.0.0/120",
                Some("must not have an IPv4-mapped IPv6 address"),
            ),
            (
                "10.0.0.1/8",
                Some("must not have bits set beyond the prefix length"),
            ),
        ] {
            assert_eq!(ambiguous_range(text), why, "{text}");
        }
    }

    #[test]
    fn ranges_of_newer_fields_have_one_form() {
        for (text, why) in [
            ("10.0.0.0/8", None),
            ("fd00::/64", None),
            ("0.0.0.0/0", None),
            ("10.0.0.0", Some(RANGE)),
            (
                "10.0.0.0/08",
                Some("must not have leading 0s in IP or prefix length"),
            ),
            (
                "::ffff:10.0.0.0/120",
                Some("must not have an IPv4-mapped IPv6 address"),
            ),
            (
                "10.0.0.1/8",
                Some("must not have bits set beyond the prefix length"),
            ),
            (
                "fd00:0::/64",
                Some("must be in canonical form (\"fd00::/64\")"),
            ),
        ] {
            assert_eq!(strict_range(text).as_deref(), why, "{text}");
        }
        assert!(is_within("10.1.0.0/16", "10.0.0.0/8") && !is_within("11.0.0.0/16", "10.0.0.0/8"));
        assert!(!is_within("10.0.0.0/8", "10.0.0.0/8"));
    }

    #[test]
    fn complete_names_of_hosts_have_two_parts_that_are_short() {
        let long = format!("a.{}", "b".repeat(64));
        for (name, shown) in [
            ("a.b", None),
            ("a.b.", None),
            ("10.0.0.1", None),
            ("a", Some("a")),
            ("a.", Some("a")),
            ("*.a.b", Some("*.a.b")),
            ("a.b..", Some("a.b.")),
            (&long, Some(&long[2..])),
        ] {
            assert_eq!(domain(name).map(|one| one.0), shown, "{name}");
        }
    }

    #[test]
    fn hosts_begin_with_a_wildcard_at_most() {
        for (name, fits) in [
            ("a.b", true),
            ("*.a.b", true),
            ("*", false),
            ("a.*", false),
            ("*.*.a", false),
        ] {
            assert_eq!(host(name).is_none(), fits, "{name}");
        }
    }
}
