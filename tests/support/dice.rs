//! Repeatable random numbers.

/// A small generator that never changes: the same seed gives the same history on every platform.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    /// Picks one of these.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let index = self.roll(from.len() as u64);
        from[usize::try_from(index).expect("a small number")].clone()
    }
}

/// Reads a number from an environment variable.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
