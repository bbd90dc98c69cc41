//! The alphabets of names. Checked byte by byte: this is on the path of every write.

use std::net::IpAddr;

pub(super) const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' \
     or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', \
      or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
     'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
     or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', \
     regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or \
     '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
     'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
     'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const SUBDOMAIN_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// Whether it is a DNS-1123 subdomain of at most 253 bytes.
pub fn is_subdomain(name: &str) -> bool {
    subdomain(name).is_ok()
}

/// Whether it is an optional DNS prefix, a slash, and a name of at most 63 bytes.
pub(crate) fn is_qualified_name(name: &str) -> bool {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, name),
    };
    !name.is_empty()
        && name.len() <= LABEL_MAX
        && is_word(name, is_label_byte)
        && prefix.is_none_or(is_subdomain)
}

/// Whether it is empty, or a name of at most 63 bytes.
pub(crate) fn is_label_value(value: &str) -> bool {
    label_value(value).is_ok()
}

pub(super) fn label_value(value: &str) -> Result<(), String> {
    if value.len() > LABEL_MAX {
        return Err(format!("must be no more than {LABEL_MAX} bytes"));
    }
    let fits = value.is_empty() || is_word(value, is_label_byte);
    fits.then_some(()).ok_or_else(|| LABEL_VALUE.into())
}

pub(super) fn path_segment(name: &str) -> Result<(), String> {
    if name == "." || name == ".." {
        return Err(format!("may not be '{name}'"));
    }
    match name.chars().find(|one| matches!(one, '/' | '%')) {
        Some(one) => Err(format!("may not contain '{one}'")),
        None => Ok(()),
    }
}

/// Source: `IsValidIP`.
pub(super) fn address(name: &str) -> Result<(), String> {
    let address: IpAddr = name
        .parse()
        .map_err(|_unreadable| "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")?;
    if matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some()) {
        return Err("must not be an IPv4-mapped IPv6 address".into());
    }
    let canonical = address.to_string();
    if name == canonical {
        return Ok(());
    }
    Err(format!("must be in canonical form ({canonical:?})"))
}

pub(crate) fn subdomain(name: &str) -> Result<(), String> {
    if name.len() > SUBDOMAIN_MAX {
        return Err(format!("must be no more than {SUBDOMAIN_MAX} bytes"));
    }
    let fits = name.split('.').all(|part| is_word(part, is_dns_byte));
    fits.then_some(()).ok_or_else(|| SUBDOMAIN.into())
}

pub(crate) fn label(name: &str) -> Result<(), String> {
    if name.len() > LABEL_MAX {
        return Err(format!("must be no more than {LABEL_MAX} bytes"));
    }
    is_word(name, is_dns_byte)
        .then_some(())
        .ok_or_else(|| LABEL.into())
}

pub(crate) fn label_1035(name: &str) -> Result<(), String> {
    if name.len() > LABEL_MAX {
        return Err(format!("must be no more than {LABEL_MAX} bytes"));
    }
    let fits = name.starts_with(|one: char| one.is_ascii_lowercase()) && is_word(name, is_dns_byte);
    fits.then_some(()).ok_or_else(|| LABEL_1035.into())
}

/// Not empty, alphanumeric at both ends, only these bytes between.
fn is_word(word: &str, allowed: fn(u8) -> bool) -> bool {
    let bytes = word.as_bytes();
    let ends = |end: Option<&u8>| end.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first()) && ends(bytes.last()) && bytes.iter().all(|byte| allowed(*byte))
}

const fn is_dns_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')
}

const fn is_label_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_rules() {
        let long = "a".repeat(254);
        for (name, fits) in [
            ("a", true),
            ("a.b-c.0", true),
            ("", false),
            ("A", false),
            ("-a", false),
            ("a-", false),
            ("a..b", false),
            ("a_b", false),
            (long.as_str(), false),
        ] {
            assert_eq!(is_subdomain(name), fits, "{name}");
        }
        for (name, fits) in [
            ("a", true),
            ("..", false),
            (".", false),
            ("a/b", false),
            ("a%b", false),
            ("A:b", true),
        ] {
            assert_eq!(path_segment(name).is_ok(), fits, "{name}");
        }
    }

    #[test]
    fn qualified_names_have_at_most_one_prefix() {
        for (name, fits) in [
            ("a", true),
            ("example.com/A_b.c", true),
            ("/a", false),
            ("a/", false),
            ("a/b/c", false),
            ("UP/a", false),
        ] {
            assert_eq!(is_qualified_name(name), fits, "{name}");
        }
        assert!(is_qualified_name(&"a".repeat(63)) && !is_qualified_name(&"a".repeat(64)));
    }

    #[test]
    fn label_values_may_be_empty() {
        assert!(is_label_value("") && is_label_value("A_1.b") && !is_label_value("-a"));
    }

    #[test]
    fn services_start_with_a_letter() {
        assert!(label_1035("a0").is_ok() && label_1035("0a").is_err());
    }
}
