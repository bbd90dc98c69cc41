//! Truth values for many worlds at once.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

const WORD: usize = 64;
const WORDS: usize = 8;
/// How many worlds are looked at together.
pub const LANES: usize = WORDS * WORD;

/// A truth value for each of [`LANES`] worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes([u64; WORDS]);

impl Lanes {
    /// True in no world.
    pub const NONE: Self = Self([0; WORDS]);
    /// True in every world.
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// True in these worlds.
    pub fn of(worlds: impl IntoIterator<Item = usize>) -> Self {
        let mut lanes = Self::NONE;
        for world in worlds {
            lanes.0[world / WORD] |= 1 << (world % WORD);
        }
        lanes
    }

    /// The same in every world.
    pub const fn all(value: bool) -> Self {
        if value { Self::ALL } else { Self::NONE }
    }

    /// True here but not there.
    #[must_use]
    #[inline]
    pub fn without(self, there: Self) -> Self {
        self & !there
    }

    /// Where the two differ.
    #[must_use]
    #[inline]
    pub fn differs(self, other: Self) -> Self {
        self.without(other) | other.without(self)
    }

    /// Whether it is true in any world.
    #[inline]
    pub fn is_any(self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) != 0
    }

    /// In how many worlds it is true.
    pub fn count(self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The worlds in which it is true.
    pub fn worlds(self) -> impl Iterator<Item = usize> {
        (0..LANES).filter(move |world| self.has(*world))
    }

    /// Whether it is true in this world.
    pub const fn has(self, world: usize) -> bool {
        self.0[world / WORD] >> (world % WORD) & 1 == 1
    }
}

impl Not for Lanes {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self(std::array::from_fn(|at| !self.0[at]))
    }
}

impl BitAnd for Lanes {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] & other.0[at]))
    }
}

impl BitOr for Lanes {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }
}

impl BitOrAssign for Lanes {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}
