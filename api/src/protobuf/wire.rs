//! The encoding below the messages: tags, numbers, lengths.

/// One field as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The next field's number and value; `None` where the bytes are not an encoding.
pub(super) fn next<'a>(rest: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let tag = varint(rest)?;
    let length = match tag & 7 {
        0 => return Some((tag >> 3, Wire::Number(varint(rest)?))),
        1 => 8,
        2 => usize::try_from(varint(rest)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some((tag >> 3, Wire::Bytes(head)))
}

/// All fields in their order.
pub(super) fn fields(mut rest: &[u8]) -> Option<Vec<(u64, Wire<'_>)>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        found.push(next(&mut rest)?);
    }
    Some(found)
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

    #[test]
    fn numbers_and_bytes_are_read_and_every_cut_is_refused() {
        let encoded = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 1, 2, 3, 4];
        let expected = [
            (1, Wire::Number(150)),
            (2, Wire::Bytes(b"hi")),
            (3, Wire::Bytes(&[1, 2, 3, 4])),
        ];
        assert_eq!(fields(&encoded).as_deref(), Some(&expected[..]));
        for length in [1, 2, 4, 5, 6, 8, 11] {
            assert_eq!(fields(&encoded[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn a_number_that_never_ends_is_refused() {
        assert_eq!(fields(&[0xff; 20]), None);
    }
}
