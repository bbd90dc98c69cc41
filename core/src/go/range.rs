//! Ranges of addresses. Source: Go's `net/netip`.

use super::address;
use super::quoted;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses. The bits behind the prefix are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// An address in the range.
    pub(crate) address: IpAddr,
    /// The length of the prefix in bits.
    pub(crate) length: u8,
}

impl Range {
    /// Parses a range. Source: `ParsePrefix`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("netip.ParsePrefix({}): {why}", quoted(text));
        let (written, length) = text.rsplit_once('/').ok_or_else(|| wrong("no '/'"))?;
        let parsed = address::parse(written).map_err(|why| wrong(&why))?;
        if parsed.zoned {
            return Err(wrong("IPv6 zones cannot be present in a prefix"));
        }
        let bad = || wrong(&format!("bad bits after slash: {}", quoted(length)));
        let is_plain = length.len() == 1 || !length.starts_with(['0', '+', '-']);
        let bits: i64 = length.parse().ok().filter(|_| is_plain).ok_or_else(bad)?;
        let fits = u8::try_from(bits)
            .ok()
            .filter(|bits| *bits <= address::bits(parsed.address));
        let length = fits.ok_or_else(|| wrong("prefix length out of range"))?;
        Ok(Self {
            address: parsed.address,
            length,
        })
    }

    /// The range with zeros behind the prefix.
    pub(crate) fn masked(self) -> Self {
        let address = prefix(self.address, self.length);
        Self { address, ..self }
    }

    /// Whether an address is in the range.
    pub(crate) fn holds(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && prefix(address, self.length) == prefix(self.address, self.length)
    }

    /// Whether another range is in this one.
    pub(crate) fn holds_range(self, other: Self) -> bool {
        self.length <= other.length && self.holds(other.address)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.length)
    }
}

fn prefix(of: IpAddr, length: u8) -> IpAddr {
    let behind = u32::from(address::bits(of).saturating_sub(length));
    match of {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(behind).unwrap_or(0);
            Ipv4Addr::from(u32::from(address) & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(behind).unwrap_or(0);
            Ipv6Addr::from(u128::from(address) & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_range_is_refused_in_the_words_of_go() {
        for (text, why) in [
            ("1.2.3.4", "no '/'"),
            ("a/8", "ParseAddr(\"a\"): unable to parse IP"),
            ("fe80::1%a/8", "IPv6 zones cannot be present in a prefix"),
            ("1.2.3.4/", "bad bits after slash: \"\""),
            ("1.2.3.4/08", "bad bits after slash: \"08\""),
            ("1.2.3.4/+8", "bad bits after slash: \"+8\""),
            ("1.2.3.4/-8", "bad bits after slash: \"-8\""),
            (
                "1.2.3.4/99999999999999999999",
                "bad bits after slash: \"99999999999999999999\"",
            ),
            ("1.2.3.4/33", "prefix length out of range"),
            ("::/129", "prefix length out of range"),
            ("::/300", "prefix length out of range"),
        ] {
            let said = Range::parse(text).expect_err(text);
            assert_eq!(said, format!("netip.ParsePrefix({}): {why}", quoted(text)));
        }
        for text in ["0.0.0.0/0", "1.2.3.4/8", "::/0", "::1/128"] {
            let range = Range::parse(text).expect(text);
            assert_eq!(range.to_string(), text);
            assert!(range.holds(range.masked().address), "{text}");
        }
    }
}
