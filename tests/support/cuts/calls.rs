//! Calls as `strace -f -y -ttt -xx` writes them down.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A call that changes files, or makes what was changed durable.
#[derive(Debug)]
#[expect(missing_docs, reason = "they are the arguments of the calls")]
pub enum Call {
    /// There is a descriptor.
    Opened {
        descriptor: u32,
        path: PathBuf,
        is_new: bool,
        is_cut: bool,
    },
    /// The next `write` goes there.
    Sought { descriptor: u32, to: u64 },
    /// At a place, or where the descriptor is.
    Wrote {
        descriptor: u32,
        path: PathBuf,
        at: Option<u64>,
        bytes: Vec<u8>,
    },
    /// A file ends there.
    Cut { path: PathBuf, to: u64 },
    /// A file does not end before.
    Lengthened { path: PathBuf, to: u64 },
    /// There is a directory.
    MadeDirectory(PathBuf),
    /// It has another name.
    Renamed(PathBuf, PathBuf),
    /// It has no name any more.
    Removed(PathBuf),
    /// A file or a directory is being synced.
    Syncs { thread: u32, path: PathBuf },
    /// It was.
    Synced { thread: u32 },
    /// Something else is done to a file.
    Other(PathBuf),
}

/// Every call of a record, in order, with when it was made: the time since 1970.
pub fn read(record: &str) -> Vec<(Duration, Vec<Call>)> {
    let mut begun = BTreeMap::new();
    let lines = record.lines().filter_map(|line| {
        let (thread, rest) = line.split_once(' ')?;
        let (time, said) = rest.trim_start().split_once(' ')?;
        let thread = thread.parse().ok()?;
        let time = Duration::from_secs_f64(time.parse().ok()?);
        Some((time, calls(&mut begun, thread, said)))
    });
    lines.collect()
}

/// A call that takes long is on two lines.
fn calls(begun: &mut BTreeMap<u32, String>, thread: u32, said: &str) -> Vec<Call> {
    if let Some(first) = said.strip_suffix("<unfinished ...>") {
        begun.insert(thread, first.to_owned());
        return Vec::from_iter(first_half(thread, first));
    }
    if let Some((_, rest)) = said.split_once(" resumed>") {
        let Some(first) = begun.remove(&thread) else {
            return Vec::new();
        };
        return Vec::from_iter(second_half(thread, &format!("{first}{rest}")));
    }
    let both = [first_half(thread, said), second_half(thread, said)];
    both.into_iter().flatten().collect()
}

fn unquoted(text: &str) -> Vec<u8> {
    let byte = |hex: &str| u8::from_str_radix(hex.get(..2)?, 16).ok();
    text.split("\\x")
        .skip(1)
        .map(|hex| byte(hex).expect("two digits"))
        .collect()
}

fn path(text: &str) -> PathBuf {
    let text = if text.starts_with("\\x") {
        String::from_utf8(unquoted(text)).expect("a path")
    } else {
        text.to_owned()
    };
    text.into()
}

/// The arguments of a call of this name, what it returned not among them.
fn arguments<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    said.strip_prefix(name)?.strip_prefix('(')
}

/// `12</a/path>, the rest`.
fn of_descriptor(text: &str) -> Option<(u32, PathBuf, &str)> {
    let (descriptor, rest) = text.split_once('<')?;
    let (name, rest) = rest.split_once('>')?;
    Some((descriptor.parse().ok()?, path(name), rest))
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

fn number(text: &str) -> Option<u64> {
    let digits = text.trim_start_matches([',', ' ']);
    let end = digits
        .find(|one: char| !one.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// What a call may do from when it is made on.
fn first_half(thread: u32, said: &str) -> Option<Call> {
    if let Some((descriptor, path, rest)) = arguments(said, "pwrite64").and_then(of_descriptor) {
        let (bytes, rest) = quoted(rest)?;
        let at = rest.trim_start_matches(", ").split_once(", ")?.1;
        let (at, bytes) = (Some(number(at)?), unquoted(bytes));
        return Some(Call::Wrote {
            descriptor,
            path,
            at,
            bytes,
        });
    }
    if let Some((descriptor, path, rest)) = arguments(said, "write").and_then(of_descriptor) {
        let bytes = unquoted(quoted(rest)?.0);
        return Some(Call::Wrote {
            descriptor,
            path,
            at: None,
            bytes,
        });
    }
    let synced = arguments(said, "fdatasync").or_else(|| arguments(said, "fsync"));
    let (_, path, _) = synced.and_then(of_descriptor)?;
    Some(Call::Syncs { thread, path })
}

/// What it has done when it comes back.
fn second_half(thread: u32, said: &str) -> Option<Call> {
    let (called, returned) = said.rsplit_once(" = ")?;
    if returned.starts_with('-') {
        return None;
    }
    if called.starts_with("fsync(") || called.starts_with("fdatasync(") {
        return Some(Call::Synced { thread });
    }
    if called.starts_with("openat(") {
        let (descriptor, path, _) = of_descriptor(returned)?;
        let (is_new, is_cut) = (called.contains("O_CREAT"), called.contains("O_TRUNC"));
        return Some(Call::Opened {
            descriptor,
            path,
            is_new,
            is_cut,
        });
    }
    if let Some((descriptor, ..)) = arguments(called, "lseek").and_then(of_descriptor) {
        let to = number(returned)?;
        return Some(Call::Sought { descriptor, to });
    }
    if let Some((_, path, rest)) = arguments(called, "ftruncate").and_then(of_descriptor) {
        let to = number(rest)?;
        return Some(Call::Cut { path, to });
    }
    if let Some((_, path, rest)) = arguments(called, "fallocate").and_then(of_descriptor) {
        let mut parts = rest.trim_start_matches(", ").split(", ");
        let mode = parts.next()?;
        let (from, length) = (number(parts.next()?)?, number(parts.next()?)?);
        let to = from + length;
        return (mode == "0").then_some(Call::Lengthened { path, to });
    }
    named(called)
}

fn named(called: &str) -> Option<Call> {
    if let Some(rest) = arguments(called, "rename") {
        let (from, rest) = quoted(rest)?;
        return Some(Call::Renamed(path(from), path(quoted(rest)?.0)));
    }
    if let Some(rest) = arguments(called, "mkdir") {
        return Some(Call::MadeDirectory(path(quoted(rest)?.0)));
    }
    if let Some(rest) = arguments(called, "unlink") {
        return Some(Call::Removed(path(quoted(rest)?.0)));
    }
    other(called).map(Call::Other)
}

/// Of which file a call is whose effect nobody has written down here.
fn other(called: &str) -> Option<PathBuf> {
    let (name, rest) = called.split_once('(')?;
    let of_name = || Some(path(quoted(rest)?.0));
    let of_place = || Some(path(rest.split_once('<')?.1.split_once('>')?.0));
    match name {
        "writev" | "pwritev" | "pwritev2" | "copy_file_range" | "sendfile" => of_place(),
        "renameat" | "renameat2" | "unlinkat" | "mkdirat" => Some(of_place()?.join(of_name()?)),
        "open" | "creat" | "truncate" => of_name(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_on_two_lines_is_one_and_a_failed_one_is_none() {
        let record = "7 1.5 fdatasync(3</d/db> <unfinished ...>\n\
            8 1.6 pwrite64(3</d/db>, \"\\x61\\x62\", 2, 4096) = 2\n\
            7 1.7 <... fdatasync resumed>) = 0\n\
            8 1.8 unlink(\"\\x2f\\x61\") = -1 ENOENT (No such file or directory)\n\
            8 1.9 fallocate(3</d/db>, 0, 10, 20) = 0\n\
            8 2.0 unlinkat(4</d>, \"\\x61\", 0) = 0\n";
        let calls: Vec<_> = read(record).into_iter().map(|(_, calls)| calls).collect();
        assert!(matches!(calls[0][..], [Call::Syncs { thread: 7, .. }]));
        let [
            Call::Wrote {
                descriptor: 3,
                at: Some(4096),
                bytes,
                ..
            },
        ] = &calls[1][..]
        else {
            panic!("{:?}", calls[1]);
        };
        assert_eq!(bytes, b"ab");
        assert!(matches!(calls[2][..], [Call::Synced { thread: 7 }]));
        assert!(calls[3].is_empty());
        assert!(matches!(calls[4][..], [Call::Lengthened { to: 30, .. }]));
        assert!(matches!(&calls[5][..], [Call::Other(path)] if path.ends_with("d/a")));
    }
}
