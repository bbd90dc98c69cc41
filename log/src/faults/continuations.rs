//! The revisions at which restored logs continue, at different times and by clocks that are wrong.

use super::backups::{BUMP, MADE, RESTORED, Target, backup_of, short};
use crate::{BUMP_MAX, Reader, Restore};
use hindsight_core::Time;
use std::num::NonZeroU64;

fn made(reader: &Reader, time: Time) -> Vec<u8> {
    let mut file = Vec::new();
    let made = reader.backup(time, &mut file, |_, _| {});
    made.expect("made");
    file
}

/// The revision from which a log continues that is restored then from this backup.
fn continuation(file: &[u8], time: Time) -> u64 {
    let target = Target::new();
    let restore = Restore {
        time,
        ..target.restore(BUMP)
    };
    restore.run(file, |_| {}).expect("restored").revision.0
}

#[test]
fn a_later_restore_continues_higher_by_each_microsecond_whichever_backup_it_is_of() {
    let reader = Reader::new(short());
    // In the year 2026, a day apart.
    let (first, day) = (1_770_000_000_000_000, 86_400_000_000);
    let (monday, tuesday) = (made(&reader, Time(first)), made(&reader, Time(first + day)));
    let mut last = 0;
    for (after, file) in [(2, &monday), (3, &monday), (4, &tuesday), (5, &monday)] {
        let now = first + after * day;
        let revision = continuation(file, Time(now));
        assert_eq!(revision, now.unsigned_abs() + BUMP.get());
        assert!(revision > last, "{revision} {last}");
        assert_eq!(continuation(file, Time(now + 1)), revision + 1);
        last = revision;
    }
    // Of a log that is ahead of the clock, since it was itself restored a moment ago.
    let restored = Target::restored(&monday).0.reader();
    let newest = restored.newest().expect("read").0;
    let ahead = backup_of(&restored);
    assert!(newest > RESTORED.0.unsigned_abs());
    let (early, late) = (Time(MADE.0 + 10), Time(MADE.0 + 30));
    let early = continuation(&ahead, early);
    assert_eq!(early, newest + 1 + BUMP.get() + 10);
    assert_eq!(continuation(&ahead, late), early + 20);
}

#[test]
fn a_clock_that_is_wrong_never_takes_a_restore_below_the_bump_nor_far_beyond_2112() {
    let reader = Reader::new(short());
    let newest = reader.newest().expect("read").0;
    let file = made(&reader, Time(1_000_000));
    for behind in [i64::MIN, -1, 0, 999_999, 1_000_000] {
        assert_eq!(continuation(&file, Time(behind)), 1_000_000 + BUMP.get());
    }
    let early = backup_of(&reader);
    assert_eq!(continuation(&early, Time(0)), newest + 1 + BUMP.get());
    for ahead in [1 << 52, 1 << 53, i64::MAX] {
        assert_eq!(continuation(&file, Time(ahead)), (1 << 52) + BUMP.get());
    }
    for (bump, is_accepted) in [(BUMP_MAX, true), (BUMP_MAX + 1, false)] {
        let target = Target::new();
        let restore = Restore {
            time: Time(i64::MAX),
            ..target.restore(NonZeroU64::new(bump).expect("not zero"))
        };
        assert_eq!(restore.run(&*file, |_| {}).is_ok(), is_accepted, "{bump}");
    }
}
