//! Sends the same requests to this control plane and to another server of the Kubernetes API, one
//! after the other, and compares them once the collectors rest: every answer and every object must be
//! the same.

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

/// Pause between two looks at a server that has not come to rest.
const PAUSE: Duration = Duration::from_millis(40);
/// Steps in a batch of our collector.
const LIMIT: usize = 16;

/// A server of the Kubernetes API, as the administrator sees it.
pub trait Server {
    /// Sends one request and returns its answer.
    fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Answer;

    /// Lets its collector come to rest, if that can be seen from outside.
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

/// One run of the history of a seed. Each run has names and UIDs of its own.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// The seed of the history.
    pub seed: u64,
    /// The number of the run.
    pub number: u16,
}

impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.seed, self.number)
    }
}

/// How long the other server may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Until it shows the same objects as this one.
    pub to_agree: Duration,
    /// How long, at the end of a history, it must keep showing them.
    pub to_stay: Duration,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Requests to each of the two servers.
    pub requests: u64,
    /// Objects that were compared after the requests.
    pub objects: u64,
    /// Histories that ended early because the other server had not looked at a dependent that came to
    /// an owner already waiting.
    pub undecided: u64,
    /// Histories that ended early because the other server let an owner go that should have waited.
    pub unblocked: u64,
    /// Histories in which the other server does not always come to the same end, but in some runs to
    /// this one's.
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

/// Runs one history on both servers.
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
    compared.map_err(|why| format!("{}\n{why}", ours.transcript()))
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

/// Waits until the other server shows the same objects; returns why it never will, if that is
/// excused.
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
