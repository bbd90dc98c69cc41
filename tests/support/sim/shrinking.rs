//! Shrinks a failing schedule to a small one that still breaks the same promise.

use super::options::Options;
use super::replay;
use super::script::Schedule;
use super::steps::Step;
use super::{Failure, Violation};
use crate::shrink::{shrink, simplify};

/// How many small numbers are tried in place of a step's chance.
const SMALL_CHANCES: u64 = 4;

/// Leaves out steps, then clients, watches and faults, then makes the steps' chances small. The
/// result is played once more with its trace written down.
pub fn smallest(failure: &Failure) -> Box<Failure> {
    let checker = failure.violation.checker;
    let mut options = failure.schedule.options;
    let mut steps = failure.schedule.steps.clone();
    steps = shrink(steps, &mut |part| breaks(checker, options, part));
    options = plainest(checker, options, &steps);
    let mut fails = |part: &[Step]| breaks(checker, options, part);
    steps = simplify(steps, &simpler, &mut fails);
    steps = shrink(steps, &mut fails);
    options = plainest(checker, options, &steps);
    options.steps = steps.len() as u64;
    replay(&Schedule { options, steps }, true).expect_err("it failed a moment ago")
}

impl Failure {
    /// The text of a file that can be played again: the schedule, then its trace as comments.
    pub fn script(&self) -> String {
        let Violation { checker, what } = &self.violation;
        let told = self.trace.lines.iter().map(|line| format!("#   {line}\n"));
        let told: String = told.collect();
        let what: String = what.lines().map(|line| format!("# {line}\n")).collect();
        format!("# Breaks: {checker}\n{}\n{told}{what}", self.schedule)
    }
}

fn breaks(checker: &str, options: Options, steps: &[Step]) -> bool {
    let steps = steps.to_vec();
    let played = replay(&Schedule { options, steps }, false);
    played.is_err_and(|failure| failure.violation.checker == checker)
}

/// The plainest options, with fewer clients and watches, under which the steps still break the
/// promise.
fn plainest(checker: &str, options: Options, steps: &[Step]) -> Options {
    let simpler = |one: &Options| {
        let plain = Options::plain();
        let mut found = vec![
            Options {
                clients: plain.clients,
                ..*one
            },
            Options {
                watchers: plain.watchers,
                ..*one
            },
            Options {
                window: plain.window,
                ..*one
            },
            Options {
                collected_at_once: plain.collected_at_once,
                ..*one
            },
        ];
        for index in 0..one.clone().flags().len() {
            let mut fewer = *one;
            *fewer.flags()[index].1 = false;
            found.push(fewer);
        }
        found.retain(|next| next.weight() < one.weight());
        found
    };
    let mut fails = |part: &[Options]| breaks(checker, part[0], steps);
    simplify(vec![options], &simpler, &mut fails)[0]
}

fn simpler(step: &Step) -> Vec<Step> {
    let with = |chance| Step { chance, ..*step };
    (0..SMALL_CHANCES.min(step.chance)).map(with).collect()
}
