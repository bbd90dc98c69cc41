//! Snapshots, starts from them, and the thinning of the log.

use super::Simulation;
use super::check::{self, Checked};
use super::server::empty;
use hindsight_core::{GroupResource, Revision};
use hindsight_log::{Base, Error, thin};

/// How many snapshots are kept, as in the program.
const SNAPSHOTS_MAX: usize = 2;

impl Simulation {
    /// Takes a snapshot and checks that it is the state that was published at its revision.
    pub(super) fn snapshot(&mut self) -> Checked {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let refused = self.disk.inner().refused;
        let base = match running.server.reader.base(empty()) {
            Ok(base) => base,
            Err(error) => return self.check_read_error(&error, refused),
        };
        let revision = base.state.revision;
        check::replay::check_as_published(&self.history, &base.state, revision)?;
        self.trace.note("snapshot", revision);
        self.snapshots.push(base);
        let old = self.snapshots.len().saturating_sub(SNAPSHOTS_MAX);
        self.snapshots.drain(..old);
        Ok(())
    }

    /// What the next start begins from: the empty state, or the newest snapshot.
    pub(super) fn base(&mut self) -> Base {
        let kept = self.snapshots.last();
        match kept.filter(|_| self.dice.roll(2) == 0) {
            Some(base) => {
                self.trace.note("from a snapshot", base.state.revision);
                base.clone()
            }
            None => Base::empty(empty()),
        }
    }

    /// Thins the log up to some published revision, not beyond the oldest snapshot.
    pub(super) fn prune(&mut self) -> Checked {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let reader = running.server.reader.clone();
        let refused = self.disk.inner().refused;
        let floor = match reader.floor() {
            Ok(floor) => floor,
            Err(error) => return self.check_read_error(&error, refused),
        };
        let oldest = self.snapshots.first().map(|base| base.state.revision);
        let newest = oldest.unwrap_or(running.server.state.revision);
        let ends = self.history.published();
        let ends: Vec<Revision> = ends
            .filter(|end| floor < *end && *end <= newest && *end < running.server.state.revision)
            .collect();
        if ends.is_empty() {
            return Ok(());
        }
        let wanted = self.dice.pick(&ends);
        self.history.thinned_to = self.history.thinned_to.max(wanted);
        let kinds = &self.history.kept_kinds;
        match thin(&*self.disk, &reader, wanted, empty(), kinds) {
            Ok(()) => {
                self.trace.count(kept_whole(kinds), 1);
                self.trace
                    .note("prune", format_args!("{floor} to {wanted}"));
                check::replay::floor(&reader, wanted).map(drop)
            }
            Err(error @ Error::Corrupt { .. }) => self.check_read_error(&error, refused),
            Err(error) => {
                self.trace.note("prune failed", &error);
                self.check_read_error(&error, refused)?;
                self.kill();
                Ok(())
            }
        }
    }
}

const fn kept_whole(kinds: &[GroupResource]) -> &'static str {
    if kinds.is_empty() {
        "prune of every kind"
    } else {
        "prune that keeps kinds"
    }
}
