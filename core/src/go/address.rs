//! Addresses. Source: Go's `net/netip`.

use super::quoted;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a text is no address, and the rest of the text from where that shows, if it shows somewhere.
type Wrong<'a> = (&'static str, &'a str);

const GROUPS: usize = 8;

/// An address, and whether it has a zone (`fe80::1%eth0`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// The address, without its zone.
    pub(crate) address: IpAddr,
    /// Whether there is a zone.
    pub(crate) zoned: bool,
}

/// How many bits an address has.
pub(crate) const fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Source: `IsLinkLocalUnicast`.
pub(crate) const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Source: `IsLinkLocalMulticast`.
pub(crate) const fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => {
            matches!(address.octets(), [0xff, second, ..] if second & 0xf == 2)
        }
    }
}

/// Parses an address. Source: `ParseAddr`.
pub(crate) fn parse(text: &str) -> Result<Parsed, String> {
    let parsed = match text.bytes().find(|byte| b".:%".contains(byte)) {
        Some(b'.') => v4(text).map(|address| Parsed {
            address: address.into(),
            zoned: false,
        }),
        Some(b':') => zoned(text),
        Some(_) => Err(("missing IPv6 address", "")),
        None => Err(("unable to parse IP", "")),
    };
    parsed.map_err(|(why, at)| {
        let place = if at.is_empty() {
            String::new()
        } else {
            format!(" (at {})", quoted(at))
        };
        format!("ParseAddr({}): {why}{place}", quoted(text))
    })
}

fn v4(text: &str) -> Result<Ipv4Addr, Wrong<'_>> {
    let mut fields = Vec::new();
    let (mut value, mut digits) = (0_u16, 0_u8);
    for (at, byte) in text.bytes().enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        match byte {
            b'0'..=b'9' if digits == 1 && value == 0 => {
                return Err(("IPv4 field has octet with leading zero", ""));
            }
            b'0'..=b'9' => {
                value = value * 10 + u16::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' if digits == 0 || rest.len() == 1 => {
                return Err(("IPv4 field must have at least one digit", rest));
            }
            b'.' if fields.len() == 3 => return Err(("IPv4 address too long", "")),
            b'.' => {
                fields.push(value);
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", rest)),
        }
    }
    let [a, b, c] = *fields.as_slice() else {
        return Err(("IPv4 address too short", ""));
    };
    let number = [a, b, c, value]
        .into_iter()
        .fold(0, |number, field| number << 8 | u32::from(field));
    Ok(Ipv4Addr::from(number))
}

fn zoned(text: &str) -> Result<Parsed, Wrong<'_>> {
    let (plain, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(("zone must be a non-empty string", "")),
        Some((plain, _)) => (plain, true),
        None => (text, false),
    };
    Ok(Parsed {
        address: v6(plain)?.into(),
        zoned: zone,
    })
}

fn v6(text: &str) -> Result<Ipv6Addr, Wrong<'_>> {
    let mut groups = Vec::new();
    let mut gap = None;
    let mut rest = text;
    if let Some(after) = rest.strip_prefix("::") {
        gap = Some(0);
        rest = after;
    }
    while groups.len() < GROUPS && !(rest.is_empty() && gap == Some(groups.len())) {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (group, after) = rest.split_at(digits);
        match digits {
            0 => {
                return Err((
                    "each colon-separated field must have at least one digit",
                    rest,
                ));
            }
            1..=4 => {}
            _ => return Err(("each group must have 4 or less digits", rest)),
        }
        if after.starts_with('.') {
            groups.extend(embedded(rest, groups.len(), gap.is_some())?);
            rest = "";
            break;
        }
        groups.push(u16::from_str_radix(group, 16).unwrap_or_default());
        rest = after;
        if rest.is_empty() {
            break;
        }
        rest = next_group(rest)?;
        if let Some(after) = rest.strip_prefix(':') {
            if gap.is_some() {
                return Err(("multiple :: in address", rest));
            }
            gap = Some(groups.len());
            rest = after;
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    filled(groups, gap)
}

/// What follows the colon between two groups.
fn next_group(rest: &str) -> Result<&str, Wrong<'_>> {
    match rest.strip_prefix(':') {
        None => Err(("unexpected character, want colon", rest)),
        Some("") => Err(("colon must be followed by more characters", rest)),
        Some(after) => Ok(after),
    }
}

/// The two groups that an IPv4 address at the end stands for.
fn embedded(rest: &str, before: usize, has_gap: bool) -> Result<[u16; 2], Wrong<'_>> {
    if !has_gap && before != GROUPS - 2 {
        let why = "embedded IPv4 address must replace the final 2 fields of the address";
        return Err((why, rest));
    }
    if before > GROUPS - 2 {
        let why = "too many hex fields to fit an embedded IPv4 at the end of the address";
        return Err((why, rest));
    }
    let [a, b, c, d] = v4(rest)?.octets();
    Ok([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

/// Puts zeros in the place of `::`.
fn filled(mut groups: Vec<u16>, gap: Option<usize>) -> Result<Ipv6Addr, Wrong<'static>> {
    match (GROUPS - groups.len(), gap) {
        (0, None) => {}
        (0, Some(_)) => return Err(("the :: must expand to at least one field of zeros", "")),
        (_, None) => return Err(("address string too short", "")),
        (missing, Some(gap)) => {
            groups.splice(gap..gap, std::iter::repeat_n(0, missing));
        }
    }
    let number = groups
        .into_iter()
        .fold(0, |number, group| number << 16 | u128::from(group));
    Ok(Ipv6Addr::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_refused_in_the_words_of_go() {
        for (text, why) in [
            ("", "unable to parse IP"),
            ("a", "unable to parse IP"),
            ("%eth0", "missing IPv6 address"),
            ("192.168.0.1.0", "IPv4 address too long"),
            ("1.2.3", "IPv4 address too short"),
            ("1.2.3.256", "IPv4 field has value >255"),
            ("1.2.03.4", "IPv4 field has octet with leading zero"),
            (
                ".1.2.3",
                "IPv4 field must have at least one digit (at \".1.2.3\")",
            ),
            (
                "1..2.3",
                "IPv4 field must have at least one digit (at \".2.3\")",
            ),
            (
                "1.2.3.",
                "IPv4 field must have at least one digit (at \".\")",
            ),
            ("1.2.3.\u{e9}", "unexpected character (at \"\u{e9}\")"),
            (
                "2001:db8:::68",
                "each colon-separated field must have at least one digit (at \":68\")",
            ),
            (
                ":1",
                "each colon-separated field must have at least one digit (at \":1\")",
            ),
            (
                "12345::",
                "each group must have 4 or less digits (at \"12345::\")",
            ),
            ("1::2::3", "multiple :: in address (at \":3\")"),
            ("1:2", "address string too short"),
            ("1:", "colon must be followed by more characters (at \":\")"),
            (
                "1:2:3:4:5:6:7:8:9",
                "trailing garbage after address (at \"9\")",
            ),
            (
                "1:2:3:4:5:6:7::8",
                "the :: must expand to at least one field of zeros",
            ),
            (
                "1:g",
                "each colon-separated field must have at least one digit (at \"g\")",
            ),
            ("1g::", "unexpected character, want colon (at \"g::\")"),
            (
                "1:1.2.3.4",
                "embedded IPv4 address must replace the final 2 fields of the address (at \"1.2.3.4\")",
            ),
            (
                "::1:2:3:4:5:6:7:8.0.0.1",
                "too many hex fields to fit an embedded IPv4 at the end of the address (at \"8.0.0.1\")",
            ),
            ("::1.2.3", "IPv4 address too short"),
            ("fe80::1%", "zone must be a non-empty string"),
        ] {
            let said = parse(text).expect_err(text);
            assert_eq!(said, format!("ParseAddr({}): {why}", quoted(text)));
        }
    }

    /// The other parser is that of the standard library, which knows no zones.
    #[test]
    fn an_address_is_what_another_parser_takes_for_one() {
        const PIECES: &[u8; 16] = b"0123ff::::..%a15";
        let mut seed = 7_u64;
        let mut good = 0;
        for _ in 0..200_000 {
            let mut text = String::new();
            for _ in 0..(seed >> 60) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push(char::from(
                    PIECES[usize::try_from(seed >> 60).expect("small")],
                ));
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let found = parse(&text).ok().filter(|parsed| !parsed.zoned);
            assert_eq!(
                found.map(|parsed| parsed.address),
                text.parse().ok(),
                "{text}"
            );
            good += u32::from(found.is_some());
        }
        assert!(good > 100, "{good}");
        for text in [
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "1:2:3:4:5:6:1.2.3.4",
            "::",
        ] {
            let found = parse(text).expect(text);
            assert_eq!(Ok(found.address), text.parse(), "{text}");
        }
    }
}
