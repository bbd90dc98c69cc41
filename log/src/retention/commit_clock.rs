//! The age of commits by a clock of our own, which advances from commit to commit. A single step of the
//! wall clock, forward or back, counts for a bounded amount only, so that a jump of it neither drops the
//! history nor keeps it for ever.

use hindsight_core::Time;

/// The age divided by this is the most for which a single step of the wall clock counts.
const STEPS_IN_AN_AGE: i64 = 16;

/// A clock that advances from commit to commit.
#[derive(Debug, Clone)]
pub(super) struct CommitClock {
    step_max: i64,
    last: Option<Time>,
    /// The position of the last commit, in microseconds from an arbitrary origin.
    at: i64,
    /// The highest position of any commit.
    latest: i64,
}

impl CommitClock {
    /// For ages that are compared with this one, in microseconds. If it is negative, no step counts.
    pub(super) const fn of(age: i64) -> Self {
        let age = if age < 0 { 0 } else { age };
        Self {
            step_max: age / STEPS_IN_AN_AGE,
            last: None,
            at: 0,
            latest: i64::MIN,
        }
    }

    /// Advances to the next commit and returns its position; never before that of an earlier commit.
    pub(super) fn advance(&mut self, time: Time) -> i64 {
        self.at = self.position_at(time);
        self.last = Some(time);
        self.latest = self.latest.max(self.at);
        self.latest
    }

    /// The position of a commit that would be made at this time.
    pub(super) fn position_at(&self, time: Time) -> i64 {
        let last = self.last.unwrap_or(time);
        let step = time.0.saturating_sub(last.0);
        self.at
            .saturating_add(step.clamp(-self.step_max, self.step_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE: i64 = 1600;
    const YEARS: i64 = 1_000_000;

    /// The age of each of the commits at these times, at `now`, or slightly less.
    fn ages(times: &[i64], now: i64) -> Vec<i64> {
        let mut clock = CommitClock::of(AGE);
        let at: Vec<i64> = times
            .iter()
            .map(|time| clock.advance(Time(*time)))
            .collect();
        let now = clock.position_at(Time(now));
        at.into_iter().map(|at| now - at).collect()
    }

    #[test]
    fn a_clock_that_goes_on_tells_the_age_exactly() {
        assert_eq!(ages(&[5, 15, 90], 100), [95, 85, 10]);
    }

    #[test]
    fn jumps_that_are_taken_back_count_for_nothing_however_often() {
        let jumping: Vec<i64> = (0..100)
            .map(|index| index + if index % 2 == 0 { 0 } else { YEARS })
            .collect();
        for now in [100, 100 + YEARS] {
            let oldest = ages(&jumping, now)[0];
            assert!(oldest <= 100 + 2 * AGE / STEPS_IN_AN_AGE, "{oldest}");
        }
        let back: Vec<i64> = jumping.iter().map(|time| time - 2 * YEARS).collect();
        let oldest = ages(&back, 100)[0];
        assert!(oldest <= 100 + 2 * AGE / STEPS_IN_AN_AGE, "{oldest}");
    }

    #[test]
    fn a_jump_that_stays_counts_for_little_and_keeps_nothing_for_ever() {
        let step = AGE / STEPS_IN_AN_AGE;
        assert_eq!(ages(&[0, 10, YEARS, YEARS + 10], YEARS + 20)[0], 30 + step);
        assert_eq!(ages(&[0, 10], YEARS), [10 + step, step]);
        // One commit with a time in the future; those after it continue as before.
        let future = ages(&[0, YEARS, 20, 30, 40], 50);
        assert!(future.is_sorted_by(|one, next| one >= next), "{future:?}");
        assert!(future[0] <= 50 && future[1] >= -step, "{future:?}");
    }

    #[test]
    fn by_an_age_of_nothing_or_less_no_step_counts() {
        for age in [0, -1, -16, -AGE, i64::MIN] {
            let mut clock = CommitClock::of(age);
            assert_eq!(clock.advance(Time(5)), 0, "{age}");
            assert_eq!(clock.position_at(Time(YEARS)), 0, "{age}");
            assert_eq!(clock.position_at(Time(i64::MIN)), 0, "{age}");
        }
    }

    #[test]
    fn a_later_commit_is_never_placed_earlier() {
        let mut dice = 1_u64;
        let times: Vec<i64> = (0..1000)
            .map(|_| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                i64::from_le_bytes((dice >> 8).to_le_bytes())
            })
            .collect();
        let ages = ages(&times, i64::MIN);
        assert!(ages.is_sorted_by(|one, next| one >= next));
    }
}
