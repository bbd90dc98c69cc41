//! The same requests to this control plane and to another server of the Kubernetes API, one after the other, and what
//! each has made of them once its collector rests: every answer and every object has to be the same.

mod author;
mod picture;
mod side;
#[cfg(test)]
mod tests;

pub use author::{Step, history};

use crate::http::Answer;
use crate::stage::Stage;
use picture::{Excuse, Picture};
use side::Side;
use std::time::{Duration, Instant};

/// Between two looks at a server that has not come to rest.
const PAUSE: Duration = Duration::from_millis(40);
/// Steps that the collector here takes at a time.
const LIMIT: usize = 16;

/// Somebody who answers requests of the Kubernetes API, as the administrator's.
pub trait Server {
    /// One request and its answer.
    fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Answer;

    /// Lets its collector come to rest, where that can be told from outside.
    fn rest(&mut self) {}
}

impl Server for Stage {
    fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        self.client.send(method, path, media, body)
    }

    fn rest(&mut self) {
        self.settle(0, LIMIT);
    }
}

/// A run of the history of a seed; the names and uids of another are others.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// Which history.
    pub seed: u64,
    /// Which run of it.
    pub number: u16,
}

impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.seed, self.number)
    }
}

/// How long another server may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Until it is where this one is.
    pub to_agree: Duration,
    /// At the end of a history, in which it must stay there.
    pub to_stay: Duration,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Requests, to each of both.
    pub requests: u64,
    /// Objects that were compared after them.
    pub objects: u64,
    /// Histories that ended early, because the other had not looked at who came to an owner that waited.
    pub undecided: u64,
    /// Histories that ended early, because the other had let an owner go that should have waited.
    pub unblocked: u64,
    /// Histories with which the other does not always come to the same end, but to that of this one too.
    pub by_chance: u64,
}

impl Counts {
    const fn excused(&mut self, excuse: Excuse) {
        match excuse {
            Excuse::Undecided => self.undecided += 1,
            Excuse::Unblocked => self.unblocked += 1,
        }
    }

    /// Adds what was counted elsewhere.
    pub const fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.objects += other.objects;
        self.undecided += other.undecided;
        self.unblocked += other.unblocked;
        self.by_chance += other.by_chance;
    }
}

/// One history on both.
///
/// # Errors
///
/// The requests so far with their answers, and where the two differ.
pub fn compare(
    attempt: Attempt,
    steps: &[Step],
    (ours, theirs): (&mut dyn Server, &mut dyn Server),
    patience: Patience,
) -> Result<Counts, String> {
    let (mut ours, mut theirs) = (Side::new(attempt, ours), Side::new(attempt, theirs));
    ours.begin()?;
    let begun = theirs.begin();
    let compared = begun.and_then(|()| follow(steps, &mut ours, &mut theirs, patience));
    theirs.clear();
    compared.map_err(|why| format!("{}\n{why}", ours.told()))
}

fn follow(
    steps: &[Step],
    ours: &mut Side<'_>,
    theirs: &mut Side<'_>,
    patience: Patience,
) -> Result<Counts, String> {
    let mut counts = Counts::default();
    for step in steps {
        let (here, there) = (ours.carry_out(step), theirs.carry_out(step));
        if here != there {
            return Err(format!("here {here}, there {there}"));
        }
        ours.rest();
        let picture = ours.picture()?;
        counts.requests += 1;
        counts.objects += picture.len();
        if let Some(excuse) = agree(&picture, theirs, patience.to_agree)? {
            counts.excused(excuse);
            return Ok(counts);
        }
    }
    std::thread::sleep(patience.to_stay);
    if let Some(excuse) = agree(&ours.picture()?, theirs, Duration::ZERO)? {
        counts.excused(excuse);
    }
    Ok(counts)
}

/// Waits until the other shows the same objects, or why it never will.
fn agree(
    here: &Picture,
    theirs: &mut Side<'_>,
    patience: Duration,
) -> Result<Option<Excuse>, String> {
    let since = Instant::now();
    loop {
        let there = theirs.picture()?;
        if there == *here {
            return Ok(None);
        }
        if since.elapsed() >= patience {
            let excuse = there.excuse(here).map(Some);
            return excuse.ok_or_else(|| format!("here\n{here}there\n{there}"));
        }
        std::thread::sleep(PAUSE);
    }
}
