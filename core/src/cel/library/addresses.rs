//! Functions of IP addresses and ranges of them. Source: `ip.go` and `cidr.go` of
//! `k8s.io/apiserver/pkg/cel/library`.

use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::Native;
use crate::go::address::{self, is_link_local, is_link_local_multicast};
use crate::go::quoted;
use crate::go::range::Range;
use std::net::IpAddr;

type Result<T> = std::result::Result<T, Fault>;

/// How many times the length of a text is paid for when it is read: a message may quote it twice, with
/// each byte escaped.
const COPIES: usize = 8;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    let mut all = of_addresses();
    all.extend(kinds());
    all.extend(of_ranges());
    all
}

fn of_addresses() -> Vec<(&'static str, Native)> {
    vec![
        ("ip(string) net.IP\nnet.CIDR.ip() net.IP", |meter, given| {
            if let [Value::Range(range)] = given {
                return Ok(Value::Address(range.address));
            }
            let found = parsed(text(meter, given.first())?);
            found.map(Value::Address).map_err(Fault::Failed)
        }),
        ("isIP(string) bool", |meter, given| {
            let found = parsed(text(meter, given.first())?);
            Ok(Value::Bool(found.is_ok()))
        }),
        ("ip.isCanonical(string) bool", |meter, given| {
            let text = text(meter, given.first())?;
            let found = parsed(text).map_err(Fault::Failed)?;
            Ok(Value::Bool(found.to_string() == text))
        }),
        ("net.IP.family() int", |_, given| {
            let family = if address(given)?.is_ipv4() { 4 } else { 6 };
            Ok(Value::Int(family))
        }),
    ]
}

/// The kinds of addresses, as Go's `net/netip` has them.
fn kinds() -> [(&'static str, Native); 5] {
    [
        ("net.IP.isUnspecified() bool", |_, given| {
            address(given).map(|address| Value::Bool(address.is_unspecified()))
        }),
        ("net.IP.isLoopback() bool", |_, given| {
            address(given).map(|address| Value::Bool(address.is_loopback()))
        }),
        ("net.IP.isLinkLocalMulticast() bool", |_, given| {
            address(given).map(|address| Value::Bool(is_link_local_multicast(address)))
        }),
        ("net.IP.isLinkLocalUnicast() bool", |_, given| {
            address(given).map(|address| Value::Bool(is_link_local(address)))
        }),
        ("net.IP.isGlobalUnicast() bool", |_, given| {
            let address = address(given)?;
            let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
            let is_special = is_broadcast
                || address.is_unspecified()
                || address.is_loopback()
                || address.is_multicast()
                || is_link_local(address);
            Ok(Value::Bool(!is_special))
        }),
    ]
}

fn of_ranges() -> Vec<(&'static str, Native)> {
    vec![
        ("cidr(string) net.CIDR", |meter, given| {
            let found = range_of(text(meter, given.first())?);
            found.map(Value::Range).map_err(Fault::Failed)
        }),
        ("isCIDR(string) bool", |meter, given| {
            let found = range_of(text(meter, given.first())?);
            Ok(Value::Bool(found.is_ok()))
        }),
        (
            "net.CIDR.containsIP(string) bool\nnet.CIDR.containsIP(net.IP) bool",
            |meter, given| {
                let address = match given.get(1) {
                    Some(Value::Address(address)) => *address,
                    // Upstream does not say what is wrong with the text either.
                    other => parsed(text(meter, other)?).map_err(|_| Fault::no_overload())?,
                };
                range(given).map(|range| Value::Bool(range.holds(address)))
            },
        ),
        (
            "net.CIDR.containsCIDR(string) bool\nnet.CIDR.containsCIDR(net.CIDR) bool",
            |meter, given| {
                let other = match given.get(1) {
                    Some(Value::Range(other)) => *other,
                    other => range_of(text(meter, other)?).map_err(Fault::Failed)?,
                };
                range(given).map(|range| Value::Bool(range.holds_range(other)))
            },
        ),
        ("net.CIDR.masked() net.CIDR", |_, given| {
            range(given).map(|range| Value::Range(range.masked()))
        }),
        ("net.CIDR.prefixLength() int", |_, given| {
            range(given).map(|range| Value::Int(range.length.into()))
        }),
    ]
}

fn text<'b>(meter: &mut Meter, given: Option<&'b Value<'_>>) -> Result<&'b str> {
    match given {
        Some(Value::Text(text)) => {
            meter.text(text.as_str().len().saturating_mul(COPIES))?;
            Ok(text.as_str())
        }
        _ => Err(Fault::no_overload()),
    }
}

fn address(given: &[Value<'_>]) -> Result<IpAddr> {
    match given {
        [Value::Address(address)] => Ok(*address),
        _ => Err(Fault::no_overload()),
    }
}

fn range(given: &[Value<'_>]) -> Result<Range> {
    match given.first() {
        Some(Value::Range(range)) => Ok(*range),
        _ => Err(Fault::no_overload()),
    }
}

/// Parses an address, or says as upstream why it is refused.
fn parsed(text: &str) -> std::result::Result<IpAddr, String> {
    let shown = || quoted(text);
    let parsed = address::parse(text).map_err(|why| {
        format!(
            "IP Address {} parse error during conversion from string: {why}",
            shown()
        )
    })?;
    if parsed.zoned {
        return Err(format!(
            "IP address {} with zone value is not allowed",
            shown()
        ));
    }
    unmapped(text, parsed.address)?;
    Ok(parsed.address)
}

/// Parses a range, or says as upstream why it is refused: in part twice.
fn range_of(text: &str) -> std::result::Result<Range, String> {
    const WRONG: &str = "network address parse error during conversion from string";
    let range = Range::parse(text).map_err(|why| format!("{WRONG}: {WRONG}: {why}"))?;
    unmapped(text, range.address).map_err(|why| format!("{WRONG}: {why}"))?;
    Ok(range)
}

fn unmapped(text: &str, address: IpAddr) -> std::result::Result<(), String> {
    let is_mapped = matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    let wrong = || format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text));
    (!is_mapped).then_some(()).ok_or_else(wrong)
}
