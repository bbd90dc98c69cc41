//! The syntax of names. Checked byte by byte, since this is on the path of every write.

use std::net::IpAddr;

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
     and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
     for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
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

/// Whether a name is a DNS-1123 subdomain of at most 253 bytes.
pub fn is_subdomain(name: &str) -> bool {
    subdomain(name).is_ok()
}

/// Whether a name has at most 63 bytes, with an optional DNS prefix and a slash before it.
fn is_qualified_name(name: &str) -> bool {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, name),
    };
    !name.is_empty()
        && name.len() <= LABEL_MAX
        && is_word(name, is_label_byte)
        && prefix.is_none_or(is_subdomain)
}

/// Returns what is wrong with a name that may have a DNS prefix and a slash. Source:
/// `IsQualifiedName`.
pub(crate) fn qualified_name(name: &str) -> Vec<String> {
    if is_qualified_name(name) {
        return Vec::new();
    }
    let (prefix, last) = match name.split_once('/') {
        Some((_, last)) if last.contains('/') => {
            let example =
                "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a qualified name {QUALIFIED} {example}")];
        }
        Some((prefix, last)) => (Some(prefix), last),
        None => (None, name),
    };
    let prefix = match prefix {
        Some("") => vec!["must be non-empty".into()],
        Some(prefix) => subdomain_problems(prefix),
        None => Vec::new(),
    };
    let length = match last.len() {
        0 => Some("must be non-empty".into()),
        length => (length > LABEL_MAX).then(|| too_long(LABEL_MAX)),
    };
    let alphabet = (!is_word(last, is_label_byte)).then(|| QUALIFIED.to_owned());
    let of_name = length.into_iter().chain(alphabet);
    let of_name = of_name.map(|why| format!("name part {why}"));
    let prefix = prefix.into_iter().map(|why| format!("prefix part {why}"));
    prefix.chain(of_name).collect()
}

/// Returns what is wrong with the value of a label. Source: `IsValidLabelValue`.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let length = (value.len() > LABEL_MAX).then(|| too_long(LABEL_MAX));
    let fits = value.is_empty() || is_word(value, is_label_byte);
    let alphabet = (!fits).then(|| LABEL_VALUE.into());
    length.into_iter().chain(alphabet).collect()
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
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

/// Checks an IP address. Source: `IsValidIP`.
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
    first(subdomain_problems(name))
}

/// Returns all that is wrong with a DNS-1123 subdomain. Source: `IsDNS1123Subdomain`.
pub(crate) fn subdomain_problems(name: &str) -> Vec<String> {
    let fits = name.split('.').all(|part| is_word(part, is_dns_byte));
    problems(name, SUBDOMAIN_MAX, (!fits).then_some(SUBDOMAIN))
}

pub(crate) fn label(name: &str) -> Result<(), String> {
    first(label_problems(name))
}

/// Returns all that is wrong with a DNS-1123 label. Source: `IsDNS1123Label`.
pub(crate) fn label_problems(name: &str) -> Vec<String> {
    let is_dotted = || name.split('.').all(|part| is_word(part, is_dns_byte));
    let alphabet = if is_word(name, is_dns_byte) {
        None
    } else if is_dotted() {
        Some("must not contain dots")
    } else {
        Some(LABEL)
    };
    problems(name, LABEL_MAX, alphabet)
}

pub(crate) fn label_1035(name: &str) -> Result<(), String> {
    first(label_1035_problems(name))
}

/// Returns all that is wrong with a DNS-1035 label. Source: `IsDNS1035Label`.
pub(crate) fn label_1035_problems(name: &str) -> Vec<String> {
    let fits = name.starts_with(|one: char| one.is_ascii_lowercase()) && is_word(name, is_dns_byte);
    problems(name, LABEL_MAX, (!fits).then_some(LABEL_1035))
}

fn problems(name: &str, most: usize, alphabet: Option<&str>) -> Vec<String> {
    let length = (name.len() > most).then(|| too_long(most));
    length
        .into_iter()
        .chain(alphabet.map(str::to_owned))
        .collect()
}

fn first(problems: Vec<String>) -> Result<(), String> {
    problems.into_iter().next().map_or(Ok(()), Err)
}

/// Whether a word is not empty, starts and ends with an alphanumeric byte, and has only allowed
/// bytes.
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

    /// Source: responses of upstream's server.
    #[test]
    fn all_that_is_wrong_with_a_qualified_name_is_told() {
        let long = "a".repeat(LABEL_MAX + 1);
        let alphabet = format!("name part {QUALIFIED}");
        for (name, told) in [
            ("a.b/c", vec![]),
            ("", vec!["name part must be non-empty", &alphabet]),
            (
                "/",
                vec![
                    "prefix part must be non-empty",
                    "name part must be non-empty",
                    &alphabet,
                ],
            ),
            (&long, vec!["name part must be no more than 63 bytes"]),
            ("a/-", vec![&alphabet]),
        ] {
            assert_eq!(qualified_name(name), told, "{name}");
        }
        let [several] = &*qualified_name("a/b/c") else {
            panic!("one reason");
        };
        assert!(
            several.starts_with("a qualified name must consist"),
            "{several}"
        );
        assert!(
            several.ends_with("'/' (e.g. 'example.com/MyName')"),
            "{several}"
        );
        let [prefix] = &*qualified_name("A/b") else {
            panic!("one reason");
        };
        assert!(
            prefix.starts_with("prefix part a lowercase RFC 1123"),
            "{prefix}"
        );
    }

    #[test]
    fn label_values_may_be_empty() {
        let problems = |value: &str| label_value(value).len();
        assert_eq!((problems(""), problems("A_1.b"), problems("-a")), (0, 0, 1));
        assert_eq!(problems(&format!("-{}", "a".repeat(LABEL_MAX))), 2);
    }

    #[test]
    fn services_start_with_a_letter() {
        assert!(label_1035("a0").is_ok() && label_1035("0a").is_err());
    }

    #[test]
    fn a_name_may_be_wrong_in_two_ways() {
        let long = "A".repeat(SUBDOMAIN_MAX + 1);
        for (problems, most, alphabet) in [
            (label_problems(&long), LABEL_MAX, LABEL),
            (label_1035_problems(&long), LABEL_MAX, LABEL_1035),
            (subdomain_problems(&long), SUBDOMAIN_MAX, SUBDOMAIN),
        ] {
            assert_eq!(problems, [too_long(most).as_str(), alphabet]);
        }
        let dotted = ["a"; LABEL_MAX].join(".");
        let problems = [too_long(LABEL_MAX).as_str(), "must not contain dots"].map(str::to_owned);
        assert_eq!(label_problems(&dotted), problems);
        assert!(label_problems("a").is_empty() && subdomain_problems("a.b").is_empty());
    }
}
