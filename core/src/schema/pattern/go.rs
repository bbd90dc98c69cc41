//! Translates regular expressions from Go's syntax to that of `regex`: classes that Go limits to
//! ASCII, characters that are literal inside Go's brackets, a `{` that begins no repeat, and
//! `\Q...\E`. What Go does not know is refused. Source: Go's `regexp/syntax`.

use std::str::Chars;

pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut translation = Translation {
        rest: pattern.chars(),
        written: String::with_capacity(pattern.len()),
        place: Place::Outside,
    };
    while let Some(one) = translation.rest.next() {
        match translation.place {
            Place::Outside => translation.outside(one)?,
            Place::Class => translation.class(one),
            Place::Start | Place::Inside | Place::Low | Place::Range => translation.inside(one)?,
        }
    }
    Ok(translation.written)
}

const OCTAL_DIGITS_MAX: usize = 3;

struct Translation<'a> {
    rest: Chars<'a>,
    written: String,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// Right after `[` or `[^`, where `]` is literal.
    Start,
    /// Inside brackets, behind a range or a class.
    Inside,
    /// Behind a character that begins a range if a `-` follows.
    Low,
    /// Behind the `-` of a range.
    Range,
    /// Inside `[:alpha:]`.
    Class,
}

impl Translation<'_> {
    fn next(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn outside(&mut self, one: char) -> Result<(), String> {
        match (one, self.next()) {
            ('\\', Some('Q')) => self.quoted(),
            ('\\', _) => self.escaped()?,
            ('(', Some('?')) => {
                self.flags()?;
                self.written.push('(');
            }
            ('{', _) if !begins_a_repeat(self.rest.clone()) => self.written.push_str("\\{"),
            ('[', next) => {
                self.written.push('[');
                if next == Some('^') {
                    self.copy(1);
                }
                self.place = Place::Start;
            }
            _ => self.written.push(one),
        }
        Ok(())
    }

    fn class(&mut self, one: char) {
        self.written.push(one);
        if one == ']' {
            self.place = Place::Inside;
        }
    }

    fn inside(&mut self, one: char) -> Result<(), String> {
        let next = self.next();
        match (one, self.place) {
            ('\\', _) => return self.escaped(),
            ('[', place) if next == Some(':') && place != Place::Range => {
                self.written.push('[');
                self.place = Place::Class;
            }
            (']', place) if place != Place::Start => {
                self.written.push(']');
                self.place = Place::Outside;
            }
            ('-', Place::Low) if next != Some(']') => {
                self.written.push('-');
                self.place = Place::Range;
            }
            // Each of these is literal here, but not always to `regex`, where `--` is a difference.
            ('[' | ']' | '&' | '~' | '-', _) => {
                self.written.extend(['\\', one]);
                self.place = self.place.behind_character();
            }
            _ => {
                self.written.push(one);
                self.place = self.place.behind_character();
            }
        }
        Ok(())
    }

    /// `\Q...\E`, of which the first character is read.
    fn quoted(&mut self) {
        let behind = self.rest.as_str().get(1..).unwrap_or_default();
        let (literal, after) = behind.split_once("\\E").unwrap_or((behind, ""));
        self.written.push_str(&regex::escape(literal));
        self.rest = after.chars();
    }

    /// An escape sequence, of which the backslash is read.
    fn escaped(&mut self) -> Result<(), String> {
        let Some(one) = self.rest.next() else {
            self.written.push('\\');
            return Ok(());
        };
        if self.octal(one) {
            return Ok(());
        }
        let is_class = "dDwWsSpP".contains(one);
        if is_class && self.place == Place::Range {
            return Err(invalid(one));
        }
        let escaped = escape(one, self.place != Place::Outside)?;
        self.written.push_str(&escaped);
        let inside = self.rest.as_str().strip_prefix('{');
        match (one, inside) {
            ('p' | 'P' | 'x', Some(inside)) => {
                let name = inside.chars().take_while(|one| *one != '}');
                self.copy(1 + name.count() + 1);
            }
            ('p' | 'P', None) => self.copy(1),
            ('x', None) => self.copy(2),
            _ => {}
        }
        self.place = if is_class && self.place != Place::Outside {
            Place::Inside
        } else {
            self.place.behind_character()
        };
        Ok(())
    }

    /// Reads what is left of the number of a character in up to three octal digits, of which the first is
    /// read. A single one that is not 0 would refer back to a group, which Go refuses.
    fn octal(&mut self, first: char) -> bool {
        let is_alone = first != '0' && self.next().and_then(octal_digit).is_none();
        let Some(mut number) = octal_digit(first).filter(|_| !is_alone) else {
            return false;
        };
        for _ in 1..OCTAL_DIGITS_MAX {
            let Some(digit) = self.next().and_then(octal_digit) else {
                break;
            };
            number = number * 8 + digit;
            self.rest.next();
        }
        let escaped = format!("\\x{{{number:X}}}");
        self.written.push_str(&escaped);
        self.place = self.place.behind_character();
        true
    }

    /// Refuses flags that Go does not know.
    fn flags(&self) -> Result<(), String> {
        let flags = self.rest.clone().skip(1);
        let flags: String = flags.take_while(|flag| !":)<P".contains(*flag)).collect();
        if flags.contains(|flag: char| !"imsU-".contains(flag)) {
            return Err(format!("invalid or unsupported Perl syntax: `(?{flags}`"));
        }
        Ok(())
    }

    fn copy(&mut self, characters: usize) {
        self.written.extend(self.rest.by_ref().take(characters));
    }
}

impl Place {
    const fn behind_character(self) -> Self {
        match self {
            Self::Start | Self::Inside | Self::Low => Self::Low,
            Self::Range => Self::Inside,
            Self::Outside | Self::Class => self,
        }
    }
}

/// Whether these characters, which follow a `{`, make it a repeat; otherwise Go takes it literally.
fn begins_a_repeat(behind: impl Iterator<Item = char>) -> bool {
    let mut behind = behind.peekable();
    let mut count = String::new();
    while let Some(one) = behind.next_if(|one| one.is_ascii_digit() || *one == ',') {
        count.push(one);
    }
    let is_number = |text: &str| text == "0" || !(text.is_empty() || text.starts_with('0'));
    let (low, high) = count.split_once(',').unwrap_or((&count, ""));
    let is_count = is_number(low) && (high.is_empty() || is_number(high)) && !high.contains(',');
    is_count && behind.next() == Some('}')
}

fn octal_digit(one: char) -> Option<u32> {
    one.to_digit(8)
}

fn escape(one: char, inside: bool) -> Result<String, String> {
    let plain = match one {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => "[\\t\\n\\f\\r ]",
        'S' => "[^\\t\\n\\f\\r ]",
        'b' if !inside => "(?-u:\\b)",
        'B' if !inside => "(?-u:\\B)",
        'A' | 'z' if !inside => return Ok(format!("\\{one}")),
        'a' | 'f' | 'n' | 'p' | 'P' | 'r' | 't' | 'v' | 'x' => return Ok(format!("\\{one}")),
        _ if one.is_ascii_alphanumeric() || !one.is_ascii() => {
            return Err(invalid(one));
        }
        // Some escaped punctuation has a meaning in `regex` but not in Go.
        _ => return Ok(regex::escape(one.encode_utf8(&mut [0; 4]))),
    };
    Ok(plain.to_owned())
}

fn invalid(one: char) -> String {
    format!("invalid escape sequence: `\\{one}`")
}
