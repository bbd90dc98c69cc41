//! Literals: numbers, strings and bytes.

use super::token::Kind;

type Found = Result<Option<(Kind, usize)>, String>;

/// Reads the number at the start of the text, if there is one, and returns it with its length.
pub(super) fn number(rest: &str) -> Found {
    let starts = |text: &str| text.starts_with(|one: char| one.is_ascii_digit());
    let fraction = rest.strip_prefix('.').is_some_and(starts);
    if !starts(rest) && !fraction {
        return Ok(None);
    }
    if let Some(digits) = rest.strip_prefix("0x").or(rest.strip_prefix("0X")) {
        return hexadecimal(digits).map(Some);
    }
    let whole = digits(rest);
    let mut length = whole;
    let tail = |length: usize| rest.get(length..).unwrap_or_default();
    if tail(length).strip_prefix('.').is_some_and(starts) {
        length += 1 + digits(tail(length + 1));
    }
    length += exponent(tail(length));
    let text = rest.get(..length).unwrap_or_default();
    if length > whole {
        let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite());
        let value = value.ok_or_else(|| "invalid double literal".to_owned())?;
        return Ok(Some((Kind::Double(value), length)));
    }
    let value = text.parse::<u64>();
    if tail(length).starts_with(['u', 'U']) {
        let value = value.map_err(|_| "invalid uint literal".to_owned())?;
        return Ok(Some((Kind::Uint(value), length + 1)));
    }
    let value = value.map_err(|_| "invalid int literal".to_owned())?;
    Ok(Some((Kind::Int(value), length)))
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let sign = usize::from(rest.starts_with(['+', '-']));
    match digits(rest.get(sign..).unwrap_or_default()) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

fn hexadecimal(rest: &str) -> Result<(Kind, usize), String> {
    let length = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    let digits = rest.get(..length).unwrap_or_default();
    let value = u64::from_str_radix(digits, 16).map_err(|_| "invalid int literal".to_owned())?;
    let tail = rest.get(length..).unwrap_or_default();
    if tail.starts_with(['u', 'U']) {
        return Ok((Kind::Uint(value), length + 3));
    }
    Ok((Kind::Int(value), length + 2))
}

/// Reads the string or bytes literal at the start of the text, if there is one, and returns it with
/// its length.
pub(super) fn text(rest: &str) -> Found {
    let (mut raw, mut bytes) = (false, false);
    let mut prefix = 0;
    for one in rest.chars().take(2) {
        match one {
            'r' | 'R' if !raw => raw = true,
            'b' | 'B' if !bytes && !raw => bytes = true,
            _ => break,
        }
        prefix += 1;
    }
    let body = rest.get(prefix..).unwrap_or_default();
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let Some(quote) = quotes.into_iter().find(|quote| body.starts_with(quote)) else {
        return Ok(None);
    };
    let inside = body.get(quote.len()..).unwrap_or_default();
    let length = end(inside, quote, raw).ok_or("Syntax error: unterminated string")?;
    let inside = inside.get(..length).unwrap_or_default();
    let length = prefix + length + 2 * quote.len();
    let mut found = Builder {
        bytes,
        made: Vec::with_capacity(inside.len()),
    };
    if raw {
        found.made.extend(inside.bytes());
    } else {
        found.unescape(inside)?;
    }
    if bytes {
        return Ok(Some((Kind::Bytes(found.made), length)));
    }
    let text = String::from_utf8(found.made).map_err(|_| "invalid text".to_owned())?;
    Ok(Some((Kind::Text(text), length)))
}

/// The byte offset of the closing quote.
fn end(inside: &str, quote: &str, raw: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = inside.get(at..)?;
        if rest.starts_with(quote) {
            return Some(at);
        }
        let one = rest.chars().next()?;
        if quote.len() == 1 && matches!(one, '\n' | '\r') {
            return None;
        }
        at += one.len_utf8();
        if one == '\\' && !raw {
            at += rest.get(1..)?.chars().next()?.len_utf8();
        }
    }
}

struct Builder {
    bytes: bool,
    made: Vec<u8>,
}

impl Builder {
    fn unescape(&mut self, inside: &str) -> Result<(), String> {
        let mut rest = inside;
        while let Some(one) = rest.chars().next() {
            rest = rest.get(one.len_utf8()..).unwrap_or_default();
            if one == '\\' {
                rest = self.escape(rest)?;
            } else {
                self.push(one);
            }
        }
        Ok(())
    }

    fn push(&mut self, one: char) {
        let mut buffer = [0; 4];
        self.made.extend(one.encode_utf8(&mut buffer).bytes());
    }

    fn escape<'a>(&mut self, rest: &'a str) -> Result<&'a str, String> {
        let one = rest.chars().next().unwrap_or_default();
        let tail = rest.get(one.len_utf8()..).unwrap_or_default();
        let plain = match one {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '`' | '?' => one,
            'x' | 'X' => return self.number(tail, 2, 16, true),
            'u' => return self.number(tail, 4, 16, false),
            'U' => return self.number(tail, 8, 16, false),
            '0'..='3' => return self.number(rest, 3, 8, true),
            _ => return Err(format!("unable to unescape string: \\{one}")),
        };
        self.push(plain);
        Ok(tail)
    }

    fn number<'a>(
        &mut self,
        rest: &'a str,
        length: usize,
        radix: u32,
        octet: bool,
    ) -> Result<&'a str, String> {
        let digits = rest.get(..length).unwrap_or_default();
        let wrong = || format!("unable to unescape string: {digits}");
        if !digits.starts_with(|one: char| one.is_digit(radix)) {
            return Err(wrong());
        }
        let number = u32::from_str_radix(digits, radix).map_err(|_| wrong())?;
        if octet && self.bytes {
            self.made.push(u8::try_from(number).map_err(|_| wrong())?);
        } else {
            self.push(char::from_u32(number).ok_or_else(wrong)?);
        }
        Ok(rest.get(length..).unwrap_or_default())
    }
}
