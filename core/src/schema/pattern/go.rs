//! Translates regular expressions from Go's syntax to that of `regex`: classes that Go limits to
//! ASCII, characters that are literal inside Go's brackets, a `{` that begins no repeat, and
//! `\Q...\E`. What Go does not know is refused. Source: Go's `regexp/syntax`.

mod repeats;

use repeats::{Count, Repeats};
use std::str::Chars;

pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut translation = Translation {
        rest: pattern.chars(),
        written: String::with_capacity(pattern.len()),
        place: Place::Outside,
        repeats: Repeats::default(),
    };
    loop {
        let from = translation.rest.as_str();
        let Some(one) = translation.rest.next() else {
            break;
        };
        match translation.place {
            Place::Outside => translation.outside(one, from)?,
            Place::Start | Place::Inside | Place::Low | Place::Range => translation.inside(one)?,
        }
    }
    Ok(translation.written)
}

const OCTAL_DIGITS_MAX: usize = 3;

/// What may be in `[: :]`.
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];
/// The scripts whose name has four letters. What `regex` knows of others with as many is a short form, which Go
/// does not know.
const SHORT_SCRIPTS: [&str; 6] = ["cham", "kawi", "lisu", "newa", "thai", "toto"];

struct Translation<'a> {
    rest: Chars<'a>,
    written: String,
    place: Place,
    repeats: Repeats<'a>,
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
}

impl<'a> Translation<'a> {
    fn next(&self) -> Option<char> {
        self.rest.clone().next()
    }

    /// The character that was read, and the expression from it on.
    fn outside(&mut self, one: char, from: &'a str) -> Result<(), String> {
        match (one, self.next()) {
            ('\\', Some('Q')) => self.quoted(),
            ('\\', _) => self.escaped()?,
            ('(', Some('?')) => return self.flags(),
            ('*' | '+' | '?', _) => return self.repeat(None, from),
            ('{', _) => match Count::read(self.rest.as_str()) {
                Some(count) => return self.repeat(Some(count), from),
                None => self.written.push_str("\\{"),
            },
            ('[', next) => {
                self.written.push('[');
                if next == Some('^') {
                    self.copy(1);
                }
                self.place = Place::Start;
            }
            _ => self.written.push(one),
        }
        match one {
            '(' => self.repeats.open(),
            ')' => self.repeats.close(),
            _ => self.repeats.single(),
        }
        Ok(())
    }

    fn repeat(&mut self, count: Option<Count>, from: &'a str) -> Result<(), String> {
        self.written.extend(from.chars().take(1));
        self.copy(count.map_or(0, |count| count.length));
        if self.next() == Some('?') {
            self.copy(1);
        }
        self.repeats.repeat(count, from, self.rest.as_str())
    }

    /// `[:alpha:]`, of which the bracket is read. What has no end is none.
    fn named_class(&mut self) -> Result<bool, String> {
        let begun = self.rest.as_str().strip_prefix(':');
        let Some((name, _)) = begun.and_then(|begun| begun.split_once(":]")) else {
            return Ok(false);
        };
        if !CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(no_range(&format!("[:{name}:]")));
        }
        self.written.push('[');
        self.copy(name.len() + ":".len() + ":]".len());
        self.place = Place::Inside;
        Ok(true)
    }

    fn inside(&mut self, one: char) -> Result<(), String> {
        let next = self.next();
        match (one, self.place) {
            ('\\', _) => return self.escaped(),
            ('[', place) if place != Place::Range && self.named_class()? => {}
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
        self.written.push_str(&regex_syntax::escape(literal));
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
        match one {
            'p' | 'P' => self.unicode_class(one)?,
            'x' => {
                self.written.push_str(&escaped);
                self.copy_braces_or(2);
            }
            _ => self.written.push_str(&escaped),
        }
        self.place = if is_class && self.place != Place::Outside {
            Place::Inside
        } else {
            self.place.behind_character()
        };
        Ok(())
    }

    /// A class of which the `p` or `P` is read: `\p{^L}` is `\P{L}`.
    fn unicode_class(&mut self, sign: char) -> Result<(), String> {
        let rest = self.rest.as_str();
        let braced = rest.strip_prefix('{').map(|braced| braced.split_once('}'));
        if let Some(Some((name, _))) = braced {
            if !is_unicode_class(name.strip_prefix('^').unwrap_or(name)) {
                return Err(no_range(&format!("\\{sign}{{{name}}}")));
            }
        } else if let Some(letter) = self.next().filter(|_| braced.is_none())
            && !"CLMNPSZ".contains(letter)
        {
            return Err(no_range(&format!("\\{sign}{letter}")));
        }
        let Some(name) = rest.strip_prefix("{^") else {
            self.written.extend(['\\', sign]);
            self.copy_braces_or(1);
            return Ok(());
        };
        let sign = if sign == 'p' { 'P' } else { 'p' };
        self.written.extend(['\\', sign, '{']);
        self.rest = name.chars();
        self.copy(name.chars().take_while(|one| *one != '}').count() + 1);
        Ok(())
    }

    /// Copies what is in braces, or so many characters if there are none.
    fn copy_braces_or(&mut self, characters: usize) {
        let inside = self.rest.as_str().strip_prefix('{');
        let inside = inside.map(|inside| inside.chars().take_while(|one| *one != '}').count());
        self.copy(inside.map_or(characters, |inside| inside + 2));
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

    /// What `(?` begins: flags, or a group that may have flags or a name. Refuses flags that Go does not know.
    fn flags(&mut self) -> Result<(), String> {
        let is_unknown = |flag: char| !"imsU-".contains(flag);
        let flags = self.rest.clone().skip(1);
        let flags: String = flags.take_while(|flag| !":)<P".contains(*flag)).collect();
        if let Some((known, rest)) = flags.find(is_unknown).map(|at| flags.split_at(at)) {
            let quoted: String = known.chars().chain(rest.chars().take(1)).collect();
            return Err(format!("invalid or unsupported Perl syntax: `(?{quoted}`"));
        }
        self.written.push('(');
        self.copy(1 + flags.len());
        if self.next() == Some(')') {
            self.copy(1);
            self.repeats.single();
        } else {
            self.repeats.open();
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
            Self::Outside => self,
        }
    }
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
        // The other half holds between any two characters, and not within one: there the first would be found again
        // from each place before it.
        'B' if !inside => "(?:(?-u:\\B)(?:\\b|\\B))",
        'A' | 'z' if !inside => return Ok(format!("\\{one}")),
        'a' | 'f' | 'n' | 'p' | 'P' | 'r' | 't' | 'v' | 'x' => return Ok(format!("\\{one}")),
        _ if one.is_ascii_alphanumeric() || !one.is_ascii() => {
            return Err(invalid(one));
        }
        // Some escaped punctuation has a meaning in `regex` but not in Go.
        _ => return Ok(regex_syntax::escape(one.encode_utf8(&mut [0; 4]))),
    };
    Ok(plain.to_owned())
}

/// Whether Go knows a category or a script of this name; it knows no properties. Go does not look at case,
/// spaces, underscores and hyphens.
fn is_unicode_class(name: &str) -> bool {
    let name = name.replace([' ', '_', '-'], "").to_ascii_lowercase();
    let is_of = |group: &str| regex_syntax::parse(&format!("\\p{{{group}={name}}}")).is_ok();
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !name.starts_with("is");
    let is_short_form = || name.len() == 4 && !SHORT_SCRIPTS.contains(&&*name);
    is_plain && (is_of("gc") || is_of("sc") && !is_short_form())
}

fn no_range(quoted: &str) -> String {
    format!("invalid character class range: `{quoted}`")
}

fn invalid(one: char) -> String {
    format!("invalid escape sequence: `\\{one}`")
}
