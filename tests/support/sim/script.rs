//! A schedule as text, from which it can be played again: its options, then one step per line.

use super::options::{Bug, Options};
use super::steps::{Act, Step};
use std::fmt::{Display, Formatter};

/// A schedule that can be played again, whole or without some of its steps.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Its options.
    pub options: Options,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut options = self.options;
        writeln!(f, "seed {}", options.seed)?;
        writeln!(f, "clients {}", options.clients)?;
        writeln!(f, "watchers {}", options.watchers)?;
        writeln!(f, "window {}", options.window)?;
        writeln!(f, "collects {}", options.collected_at_once)?;
        for (word, _) in options.flags().into_iter().filter(|(_, is_on)| **is_on) {
            writeln!(f, "with {word}")?;
        }
        if let Some(bug) = self.options.bug {
            writeln!(f, "broken {bug:?}")?;
        }
        let mut steps = self.steps.iter();
        steps.try_for_each(|Step { act, chance }| writeln!(f, "{} {chance}", act.word()))
    }
}

impl Schedule {
    /// Parses a script; an error names the line that was not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut schedule = Self {
            options: Options::plain(),
            steps: Vec::new(),
        };
        for line in text.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with('#') {
                schedule
                    .take(line)
                    .ok_or_else(|| format!("not understood: {line}"))?;
            }
        }
        schedule.options.steps = schedule.steps.len() as u64;
        Ok(schedule)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let options = &mut self.options;
        match word {
            "seed" => options.seed = rest.parse().ok()?,
            "clients" => options.clients = rest.parse().ok()?,
            "watchers" => options.watchers = rest.parse().ok()?,
            "window" => options.window = rest.parse().ok()?,
            "collects" => options.collected_at_once = rest.parse().ok()?,
            "with" => {
                let mut flags = options.flags().into_iter();
                *flags.find(|(word, _)| *word == rest)?.1 = true;
            }
            "broken" => {
                let mut bugs = Bug::ALL.into_iter();
                options.bug = Some(bugs.find(|bug| format!("{bug:?}") == rest)?);
            }
            _ => {
                let (_, act) = Act::WORDS.iter().find(|(one, _)| *one == word)?;
                let chance = rest.parse().ok()?;
                self.steps.push(Step { act: *act, chance });
            }
        }
        Some(())
    }
}
