//! The wall clock of planes, and the only randomness that the rules see.

use hindsight_core::Time;
use hindsight_log::Error;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock of the system, to the microsecond: what [`crate::ControlPlane::now`] reads, and what a
/// [`crate::log::Retention`] needs. It may be before 1970, if the clock jumps.
pub fn now() -> Time {
    of(SystemTime::now())
}

fn of(now: SystemTime) -> Time {
    let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Time(match now.duration_since(UNIX_EPOCH) {
        Ok(after) => micros(after),
        Err(before) => -micros(before.duration()),
    })
}

/// To be called before a storage is opened, and before anything is made for it: the storage engine makes a name
/// out of the time, even where it needs none, and panics if that is before 1970.
pub(crate) fn check_clock() -> Result<(), Error> {
    check(now())
}

fn check(now: Time) -> Result<(), Error> {
    if now.0 < 0 {
        return Err(Error::Clock);
    }
    Ok(())
}

/// Sixteen fresh bytes that nobody can predict: the system is asked for a key once, and every seed is the hash
/// of a counter under it.
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
    use super::{check, of, seed};
    use hindsight_core::Time;
    use std::collections::BTreeSet;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_clock_before_1970_is_no_panic() {
        let second = Duration::from_secs(1);
        assert_eq!(of(UNIX_EPOCH - second), Time(-1_000_000));
        assert!(check(of(UNIX_EPOCH - second)).is_err() && check(of(UNIX_EPOCH)).is_ok());
        assert_eq!(of(UNIX_EPOCH + second), Time(1_000_000));
    }

    #[test]
    fn no_two_seeds_are_the_same() {
        let seeds: BTreeSet<_> = (0..10_000).map(|_| seed()).collect();
        assert_eq!(seeds.len(), 10_000);
    }
}
