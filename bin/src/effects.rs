//! The only clock and the only randomness.

use hindsight_core::Time;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Now, to the microsecond.
pub(crate) fn now() -> Time {
    Time(chrono::Utc::now().timestamp_micros())
}

/// Sixteen fresh bytes that nobody can foretell: the system is asked for a key once, and every seed
/// is the hash of a number under it.
pub(crate) fn seed() -> [u8; 16] {
    static KEY: LazyLock<[u8; 32]> = LazyLock::new(|| {
        let random = [
            uuid::Uuid::new_v4(),
            uuid::Uuid::new_v4(),
            uuid::Uuid::new_v4(),
        ];
        *blake3::hash(random.map(uuid::Uuid::into_bytes).as_flattened()).as_bytes()
    });
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let hash = blake3::keyed_hash(&KEY, &number.to_le_bytes());
    let mut seed = [0; 16];
    seed.iter_mut()
        .zip(hash.as_bytes())
        .for_each(|(to, from)| *to = *from);
    seed
}

#[cfg(test)]
mod tests {
    use super::seed;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_seeds_are_the_same() {
        let seeds: BTreeSet<_> = (0..10_000).map(|_| seed()).collect();
        assert_eq!(seeds.len(), 10_000);
    }
}
