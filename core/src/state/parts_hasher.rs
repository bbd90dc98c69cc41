//! Hashes many short parts as if they were one text.

/// Hands the parts over in long pieces: BLAKE3 hashes up to sixteen KiB side by side, but only of one piece.
pub(super) struct PartsHasher {
    hasher: blake3::Hasher,
    piece: Vec<u8>,
}

const PIECE_BYTES: usize = 64 << 10;

impl PartsHasher {
    pub(super) fn new() -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            piece: Vec::with_capacity(PIECE_BYTES),
        }
    }

    pub(super) fn add(&mut self, part: &[u8]) {
        if self.piece.len() + part.len() > PIECE_BYTES {
            self.hasher.update(&self.piece);
            self.piece.clear();
        }
        if part.len() > PIECE_BYTES {
            self.hasher.update(part);
        } else {
            self.piece.extend_from_slice(part);
        }
    }

    pub(super) fn finish(mut self) -> blake3::Hash {
        self.hasher.update(&self.piece);
        self.hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_any_length_give_the_hash_of_them_together() {
        let lengths = [
            0,
            1,
            9,
            PIECE_BYTES - 10,
            1,
            PIECE_BYTES + 1,
            7,
            PIECE_BYTES,
            5,
        ];
        let (mut parts, mut whole) = (PartsHasher::new(), Vec::new());
        for (part, length) in (0..).zip(lengths) {
            let part = vec![part; length];
            parts.add(&part);
            whole.extend(part);
        }
        assert_eq!(parts.finish(), blake3::hash(&whole));
    }
}
