//! The newest changes, for watches: each watcher keeps a position and pulls the changes after it.

use hindsight_core::{Change, Expired, Revision};
use imbl::Vector;
use std::sync::Arc;

/// Limited by the number of changes, and by the bytes of the bodies that they keep alive; but the newest two batches
/// stay, however large they are. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Window {
    changes: Vector<Arc<Change>>,
    /// The last revision before the window.
    before: Revision,
    /// The last revision before the newest batch.
    before_newest: Revision,
    bytes: usize,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    changes: usize,
    bytes: usize,
}

impl Window {
    /// An empty window after this revision.
    pub fn new(position: Revision, changes_max: usize, bytes_max: usize) -> Self {
        let limits = Limits {
            changes: changes_max,
            bytes: bytes_max,
        };
        Self {
            changes: Vector::new(),
            before: position,
            before_newest: position,
            bytes: 0,
            limits,
        }
    }

    /// Adds the next batch, and drops the oldest changes beyond the limits. Whoever had seen everything before one of
    /// the newest two batches finds its place: nobody can look before the whole of a batch is there, and one that is
    /// longer than the window would leave every watch behind, and a watch may be a batch late.
    pub fn push(&mut self, batch: impl IntoIterator<Item = Arc<Change>>) {
        let newest = self.newest();
        for change in batch {
            self.bytes += size(&change);
            self.changes.push_back(change);
        }
        let stays_after = std::mem::replace(&mut self.before_newest, newest);
        let limits = self.limits;
        while self.changes.len() > limits.changes || self.bytes > limits.bytes {
            let oldest = self.changes.front();
            let Some(oldest) = oldest.filter(|one| one.commit.revision <= stays_after) else {
                return;
            };
            self.before = oldest.commit.revision;
            self.bytes -= size(oldest);
            self.changes.pop_front();
        }
    }

    fn newest(&self) -> Revision {
        let newest = self.changes.back();
        newest.map_or(self.before, |change| change.commit.revision)
    }

    /// At most `limit` changes after a revision, oldest first; empty if nothing is newer.
    pub fn after(&self, revision: Revision, limit: usize) -> Result<Vec<Arc<Change>>, Expired> {
        if revision < self.before {
            return Err(Expired {
                asked: revision,
                oldest: self.before,
            });
        }
        // Revisions are consecutive, so the distance is the index.
        let skip = usize::try_from(revision.0 - self.before.0).unwrap_or(usize::MAX);
        let end = skip.saturating_add(limit).min(self.changes.len());
        if skip >= end {
            return Ok(Vec::new());
        }
        // An iterator would walk to the position; watchers are near the end, and read at every change.
        let wanted = self.changes.focus().narrow(skip..end);
        Ok(wanted.into_iter().cloned().collect())
    }
}

/// The bytes that a change keeps alive: also those of the previous version.
fn size(change: &Change) -> usize {
    let before = change.previous.as_ref();
    change.commit.estimated_bytes() + before.map_or(0, |object| object.body.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ownership::tests::created;

    #[test]
    fn a_position_inside_resumes_and_one_before_it_expires() {
        let mut window = Window::new(Revision(4), 3, usize::MAX);
        for revision in 5..=9 {
            window.push([Arc::new(created(revision, "a", &[]))]);
        }
        let after = |revision| {
            let found = window.after(Revision(revision), 10)?;
            Ok(found
                .iter()
                .map(|change| change.commit.revision.0)
                .collect::<Vec<_>>())
        };
        assert_eq!(after(6), Ok(vec![7, 8, 9]));
        assert_eq!(after(8), Ok(vec![9]));
        assert_eq!(after(9), Ok(vec![]));
        assert_eq!(after(100), Ok(vec![]));
        assert_eq!(
            after(5),
            Err(Expired {
                asked: Revision(5),
                oldest: Revision(6)
            })
        );
        assert_eq!(window.after(Revision(6), 2).map(|found| found.len()), Ok(2));
    }

    #[test]
    fn bytes_bound_it_too() {
        let mut window = Window::new(Revision(0), 100, 600);
        for revision in 1..=10 {
            window.push([Arc::new(created(revision, "a", &[]))]);
        }
        assert!(window.after(Revision(0), 1).is_err());
        assert!(window.after(Revision(9), 1).is_ok());
    }

    /// The second batch here is longer than the window, and so is each of its changes.
    #[test]
    fn who_has_seen_all_but_the_newest_two_batches_is_not_left_behind() {
        let mut window = Window::new(Revision(0), 2, 1);
        let mut revisions = 1..;
        for (length, oldest) in [(1, 0), (9, 0), (1, 1), (1, 10), (3, 11)] {
            let batch = revisions.by_ref().take(length);
            window.push(batch.map(|revision| Arc::new(created(revision, "a", &[]))));
            assert!(window.after(Revision(oldest), 100).is_ok(), "{length}");
            assert!(oldest == 0 || window.after(Revision(oldest - 1), 100).is_err());
        }
    }
}
