//! Parses the calls that `strace -f -y -ttt -xx` recorded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A call that changes files, or makes changes durable.
#[derive(Debug)]
#[expect(missing_docs, reason = "they are the arguments of the calls")]
pub enum Call {
    /// A file was opened.
    Opened {
        descriptor: u32,
        path: PathBuf,
        is_new: bool,
        is_truncated: bool,
    },
    /// The descriptor was moved: the next `write` goes there.
    Sought { descriptor: u32, to: u64 },
    /// Bytes were written at an offset, or at the descriptor's position if it is `None`.
    Wrote {
        descriptor: u32,
        path: PathBuf,
        at: Option<u64>,
        bytes: Vec<u8>,
    },
    /// A file was truncated to this length.
    Truncated { path: PathBuf, to: u64 },
    /// A file was extended to at least this length.
    Extended { path: PathBuf, to: u64 },
    /// A directory was created.
    MadeDirectory(PathBuf),
    /// A file was renamed.
    Renamed(PathBuf, PathBuf),
    /// A file was unlinked.
    Removed(PathBuf),
    /// A sync of a file or directory began.
    SyncBegan { thread: u32, path: PathBuf },
    /// The sync of this thread ended.
    SyncEnded { thread: u32 },
    /// Some other call changed this file.
    Other(PathBuf),
}

/// Every call of a record, in order, with the time at which it was made, since 1970.
pub fn read(record: &str) -> Vec<(Duration, Vec<Call>)> {
    let mut begun = BTreeMap::new();
    let lines = record.lines().filter_map(|line| {
        let (thread, rest) = line.split_once(' ')?;
        let (time, text) = rest.trim_start().split_once(' ')?;
        let thread = thread.parse().ok()?;
        let time = Duration::from_secs_f64(time.parse().ok()?);
        Some((time, calls(&mut begun, thread, text)))
    });
    lines.collect()
}

/// The calls on one line. A call that another thread interrupts is on two lines, which are joined.
fn calls(begun: &mut BTreeMap<u32, String>, thread: u32, text: &str) -> Vec<Call> {
    if let Some(first) = text.strip_suffix("<unfinished ...>") {
        begun.insert(thread, first.to_owned());
        return Vec::from_iter(effect_on_entry(thread, first));
    }
    if let Some((_, rest)) = text.split_once(" resumed>") {
        let Some(first) = begun.remove(&thread) else {
            return Vec::new();
        };
        return Vec::from_iter(effect_on_return(thread, &format!("{first}{rest}")));
    }
    let both = [
        effect_on_entry(thread, text),
        effect_on_return(thread, text),
    ];
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

/// The arguments of a call of this name, without its result.
fn arguments<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?.strip_prefix('(')
}

/// Splits `12</a/path>, the rest` into the descriptor, its path and the rest.
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

/// The effect that a call may have from the moment it is made.
fn effect_on_entry(thread: u32, text: &str) -> Option<Call> {
    if let Some((descriptor, path, rest)) = arguments(text, "pwrite64").and_then(of_descriptor) {
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
    if let Some((descriptor, path, rest)) = arguments(text, "write").and_then(of_descriptor) {
        let bytes = unquoted(quoted(rest)?.0);
        return Some(Call::Wrote {
            descriptor,
            path,
            at: None,
            bytes,
        });
    }
    let synced = arguments(text, "fdatasync").or_else(|| arguments(text, "fsync"));
    let (_, path, _) = synced.and_then(of_descriptor)?;
    Some(Call::SyncBegan { thread, path })
}

/// The effect that a call has when it returns.
fn effect_on_return(thread: u32, text: &str) -> Option<Call> {
    let (call, returned) = text.rsplit_once(" = ")?;
    // Of a call in which the process was killed nothing is known.
    if returned.starts_with(['-', '?']) {
        return None;
    }
    if call.starts_with("fsync(") || call.starts_with("fdatasync(") {
        return Some(Call::SyncEnded { thread });
    }
    if call.starts_with("openat(") {
        let (descriptor, path, _) = of_descriptor(returned)?;
        let (is_new, is_truncated) = (call.contains("O_CREAT"), call.contains("O_TRUNC"));
        return Some(Call::Opened {
            descriptor,
            path,
            is_new,
            is_truncated,
        });
    }
    if let Some((descriptor, ..)) = arguments(call, "lseek").and_then(of_descriptor) {
        let to = number(returned)?;
        return Some(Call::Sought { descriptor, to });
    }
    if let Some((_, path, rest)) = arguments(call, "ftruncate").and_then(of_descriptor) {
        let to = number(rest)?;
        return Some(Call::Truncated { path, to });
    }
    if let Some((_, path, rest)) = arguments(call, "fallocate").and_then(of_descriptor) {
        let mut parts = rest.trim_start_matches(", ").split(", ");
        let mode = parts.next()?;
        let (from, length) = (number(parts.next()?)?, number(parts.next()?)?);
        let to = from + length;
        return (mode == "0").then_some(Call::Extended { path, to });
    }
    named(call)
}

fn named(call: &str) -> Option<Call> {
    if let Some(rest) = arguments(call, "rename") {
        let (from, rest) = quoted(rest)?;
        return Some(Call::Renamed(path(from), path(quoted(rest)?.0)));
    }
    if let Some(rest) = arguments(call, "mkdir") {
        return Some(Call::MadeDirectory(path(quoted(rest)?.0)));
    }
    if let Some(rest) = arguments(call, "unlink") {
        return Some(Call::Removed(path(quoted(rest)?.0)));
    }
    other(call).map(Call::Other)
}

/// The file of a call whose effect is not modelled here.
fn other(call: &str) -> Option<PathBuf> {
    let (name, rest) = call.split_once('(')?;
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
            8 2.0 unlinkat(4</d>, \"\\x61\", 0) = 0\n\
            8 2.1 fdatasync(3</d/db>) = ? <unavailable>\n";
        let calls: Vec<_> = read(record).into_iter().map(|(_, calls)| calls).collect();
        assert!(matches!(calls[0][..], [Call::SyncBegan { thread: 7, .. }]));
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
        assert!(matches!(calls[2][..], [Call::SyncEnded { thread: 7 }]));
        assert!(calls[3].is_empty());
        assert!(matches!(calls[4][..], [Call::Extended { to: 30, .. }]));
        assert!(matches!(&calls[5][..], [Call::Other(path)] if path.ends_with("d/a")));
        assert!(matches!(calls[6][..], [Call::SyncBegan { .. }]));
    }
}
