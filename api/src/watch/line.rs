//! The lines that a watch sends.

/// Appends an event as a line.
pub(super) fn push(lines: &mut Vec<u8>, kind: &str, object: &[u8]) {
    lines.reserve(object.len() + kind.len() + 24);
    lines.extend_from_slice(b"{\"type\":\"");
    lines.extend_from_slice(kind.as_bytes());
    lines.extend_from_slice(b"\",\"object\":");
    lines.extend_from_slice(object);
    lines.extend_from_slice(b"}\n");
}
