//! A frame that is too long for one value of sled is cut into pieces. The first is stored under the revision
//! of the frame, behind a magic; the others are in a tree of their own, by their number. All have the same
//! length, except the last, which is shorter and may be empty.

/// The longest value of a frame that is cut. sled caches pages of up to 18 values: 256 lists of
/// them, each of which it shortens at every 64th access and never below one page. That is a thousand pages,
/// however long they are and whatever its cache is said to hold.
const VALUE_BYTES: usize = 8 << 10;
/// The longest frame that is stored whole, as those of most batches are: each value costs time.
pub(super) const WHOLE_BYTES_MAX: usize = 64 << 10;
const MAGIC: &[u8; 4] = b"HSLP";
/// The length of a piece.
pub(super) const PIECE_BYTES: usize = VALUE_BYTES - MAGIC.len();
/// The longest value of any database: the length of a piece before `frames-3`. Such a piece always has
/// another behind it, and the first has no magic.
pub(super) const VALUE_BYTES_MAX: usize = 96 << 10;

/// A value of the tree of first pieces that is no bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Piece<'a> {
    /// The whole frame.
    Whole(&'a [u8]),
    /// The first piece of a frame, of the length that all pieces but the last have.
    First(&'a [u8]),
}

impl<'a> Piece<'a> {
    pub(in super::super) fn of(value: &'a [u8]) -> Self {
        match value.strip_prefix(MAGIC) {
            Some(piece) => Self::First(piece),
            None if value.len() == VALUE_BYTES_MAX => Self::First(value),
            None => Self::Whole(value),
        }
    }
}

/// The values that hold a frame: the one under its revision, and the other pieces. There are none if the frame
/// fits into one value.
pub(super) fn cut(frame: &[u8]) -> (Vec<u8>, impl Iterator<Item = &[u8]>) {
    let first = frame.get(..PIECE_BYTES).unwrap_or(frame);
    let is_cut = frame.len() > WHOLE_BYTES_MAX;
    let value = if is_cut {
        [&MAGIC[..], first].concat()
    } else {
        frame.to_vec()
    };
    let mut rest = is_cut.then(|| frame.get(PIECE_BYTES..)).flatten();
    let others = std::iter::from_fn(move || {
        let (piece, after) = rest?.split_at(rest?.len().min(PIECE_BYTES));
        rest = (piece.len() == PIECE_BYTES).then_some(after);
        Some(piece)
    });
    (value, others)
}
