//! Tests of the comparison itself: two control planes of this program agree, and a broken one is
//! noticed.

use super::{Attempt, Patience, Server, compare, history};
use crate::dice::number;
use crate::http::Answer;
use crate::stage::Stage;
use std::time::Duration;

const IMPATIENT: Patience = Patience {
    to_agree: Duration::ZERO,
    to_stay: Duration::ZERO,
};

const fn first_of(seed: u64) -> Attempt {
    Attempt { seed, number: 1 }
}

#[test]
fn two_of_one_kind_agree() {
    let first = number("HINDSIGHT_SEED", 1);
    for seed in first..first + number("HINDSIGHT_HISTORIES", 20) {
        let (mut one, mut other) = (Stage::new(false), CollectsAtOnce(Stage::new(false)));
        let compared = compare(
            first_of(seed),
            &history(seed),
            (&mut one, &mut other),
            IMPATIENT,
        );
        let counts = compared.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert!(counts.requests > 0 && counts.objects > 0, "seed {seed}");
        assert_eq!((counts.undecided, counts.unblocked), (0, 0), "seed {seed}");
    }
}

#[test]
fn one_that_orphans_nobody_is_noticed() {
    let differs = |seed: &u64| {
        let (mut one, mut other) = (
            Stage::new(false),
            NeverOrphans(CollectsAtOnce(Stage::new(false))),
        );
        compare(
            first_of(*seed),
            &history(*seed),
            (&mut one, &mut other),
            IMPATIENT,
        )
        .is_err()
    };
    assert!((1..=20).any(|seed| differs(&seed)));
}

/// A server that collects after each request by itself, as one does whose rest cannot be seen from
/// outside.
struct CollectsAtOnce(Stage);

impl Server for CollectsAtOnce {
    fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        let answer = self.0.send(method, path, media, body);
        self.0.rest();
        answer
    }
}

struct NeverOrphans(CollectsAtOnce);

impl Server for NeverOrphans {
    fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        let body = body.replace("Orphan", "Background");
        self.0.send(method, path, media, &body)
    }
}
