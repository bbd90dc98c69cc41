//! The wire encoding below the messages: tags, numbers, lengths.

/// The value of one field on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes; no field of Kubernetes is one.
    Fixed,
}

/// The number and the value of the next field; `None` if the bytes are not an encoding. Groups are refused:
/// Kubernetes writes none.
fn next<'a>(rest: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let tag = varint(rest)?;
    let number = Some(tag >> 3).filter(|number| *number > 0)?;
    let wire = match tag & 7 {
        0 => Wire::Number(varint(rest)?),
        1 => take(rest, 8).map(|_| Wire::Fixed)?,
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Wire::Bytes(take(rest, length)?)
        }
        5 => take(rest, 4).map(|_| Wire::Fixed)?,
        _ => return None,
    };
    Some((number, wire))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

/// All fields in order. Where the rest is not an encoding, an item is `None` and the last one.
pub(super) fn fields(mut rest: &[u8]) -> impl Iterator<Item = Option<(u64, Wire<'_>)>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = next(&mut rest);
        if field.is_none() {
            rest = &[];
        }
        Some(field)
    })
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Option<Vec<(u64, Wire<'_>)>> {
        fields(bytes).collect()
    }

    #[test]
    fn numbers_and_bytes_are_read_and_every_cut_is_refused() {
        let encoded = [
            0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7,
            8,
        ];
        let expected = [
            (1, Wire::Number(150)),
            (2, Wire::Bytes(b"hi")),
            (3, Wire::Fixed),
            (4, Wire::Fixed),
        ];
        assert_eq!(all(&encoded).as_deref(), Some(&expected[..]));
        let whole = [0, 3, 7, 12, encoded.len()];
        for length in (0..encoded.len()).filter(|length| !whole.contains(length)) {
            assert_eq!(all(&encoded[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn what_is_no_field_is_refused() {
        let endless: &[u8] = &[0xff; 20];
        // A group and its end, the two wire types that do not exist, field 0, and a length beyond the end.
        let others: [&[u8]; 6] = [
            b"\x0b\x0c",
            b"\x0c",
            b"\x0e",
            b"\x0f",
            b"\0\0",
            b"\x0a\xff\xff\xff\xff\x0f",
        ];
        for bytes in others.into_iter().chain([endless]) {
            assert_eq!(all(bytes), None, "{bytes:?}");
        }
    }
}
