//! The newest changes, for watches: each watcher keeps a position and pulls the changes after it.

use hindsight_core::{Change, Expired, Revision};
use imbl::Vector;
use std::sync::Arc;

/// Limited by the number of changes, and by about how many bytes they keep alive; but the newest two batches
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
    is_full: bool,
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
            is_full: false,
        }
    }

    /// Adds the next batch, and drops the oldest changes beyond the limits. Whoever had seen everything before one of
    /// the newest two batches finds its place: nobody can look before the whole of a batch is there, and one that is
    /// longer than the window would leave every watch behind, and a watch may be a batch late.
    pub fn push(&mut self, batch: impl IntoIterator<Item = Arc<Change>>) {
        let newest = self.newest();
        for change in batch {
            self.bytes += Self::bytes_of(&change);
            self.changes.push_back(change);
        }
        let stays_after = std::mem::replace(&mut self.before_newest, newest);
        let limits = self.limits;
        while self.changes.len() > limits.changes || self.bytes > limits.bytes {
            let oldest = self.changes.front();
            if oldest.is_none_or(|one| one.commit.revision > stays_after) {
                return;
            }
            self.drop_oldest();
        }
    }

    /// Puts what happened before this window in front of it: the newest of it, as far as there is room. Changes that
    /// do not end where this window begins are not taken in.
    pub fn extend_back(&mut self, mut earlier: Self) {
        if earlier.newest() != self.before {
            return;
        }
        let Limits { changes, bytes } = self.limits;
        while !earlier.changes.is_empty()
            && (earlier.changes.len() + self.changes.len() > changes
                || earlier.bytes + self.bytes > bytes)
        {
            earlier.drop_oldest();
        }
        self.before = earlier.before;
        self.bytes += earlier.bytes;
        self.is_full |= earlier.is_full;
        earlier.changes.append(std::mem::take(&mut self.changes));
        self.changes = earlier.changes;
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.changes.pop_front() {
            self.before = oldest.commit.revision;
            self.bytes -= Self::bytes_of(&oldest);
            self.is_full = true;
        }
    }

    /// The revision of the newest change; without any, the revision after which the window begins.
    pub fn newest(&self) -> Revision {
        let newest = self.changes.back();
        newest.map_or(self.before, |change| change.commit.revision)
    }

    /// The oldest position from which a watch can go on.
    pub const fn begins_after(&self) -> Revision {
        self.before
    }

    /// Whether changes were dropped beyond the limits: then there is no room for earlier ones.
    pub const fn is_full(&self) -> bool {
        self.is_full
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

    /// About how many bytes a change takes of the limit: also those of the previous version, which it keeps alive. What was
    /// read from the metadata of its own version counts with the next change of the object.
    pub fn bytes_of(change: &Change) -> usize {
        let before = change.previous.as_ref();
        change.commit.estimated_bytes() + before.map_or(0, |object| object.memory_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ownership::tests::created;
    use hindsight_core::Object;

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

    #[test]
    fn what_was_read_of_the_labels_of_a_replaced_version_counts() {
        const LABELS: usize = 1_000;
        let labels: Vec<String> = (0..LABELS).map(|at| format!(r#""{at}":"""#)).collect();
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"uid":"a","labels":{{{}}}}}}}"#,
            labels.join(",")
        );
        let new = created(2, "a", &[]);
        let key = new.commit.key.clone();
        let before = Object::from_body(key, body.into(), Revision(1), None).expect("readable");
        let (bytes, least) = (before.body.len(), LABELS * 64);
        let change = Change {
            previous: Some(Arc::new(before)),
            ..new.clone()
        };
        assert!(Window::bytes_of(&change) - Window::bytes_of(&new) > bytes + least);
    }

    fn window(revisions: std::ops::RangeInclusive<u64>, limits: (usize, usize)) -> Window {
        let mut window = Window::new(Revision(revisions.start() - 1), limits.0, limits.1);
        for revision in revisions {
            window.push([Arc::new(created(revision, "a", &[]))]);
        }
        window
    }

    fn revisions(window: &Window) -> Vec<u64> {
        let all = window.after(window.begins_after(), usize::MAX);
        let all = all.expect("from its beginning");
        all.iter().map(|change| change.commit.revision.0).collect()
    }

    #[test]
    fn what_happened_before_is_put_in_front_as_far_as_there_is_room() {
        let one = window(1..=1, (9, usize::MAX)).bytes;
        for (limits, oldest) in [
            ((9, usize::MAX), 3),
            ((5, usize::MAX), 3),
            ((4, usize::MAX), 4),
            ((9, 4 * one), 4),
            ((9, 2 * one), 6),
        ] {
            let mut newest = window(6..=7, limits);
            newest.extend_back(window(3..=5, (9, usize::MAX)));
            assert_eq!(revisions(&newest), (oldest..=7).collect::<Vec<_>>());
            assert_eq!(newest.is_full(), oldest > 3, "{limits:?}");
            assert_eq!(newest.bytes, newest.changes.len() * one);
            assert!(newest.after(Revision(oldest - 2), 1).is_err());
            // The oldest goes first, wherever it came from.
            newest.push([Arc::new(created(8, "a", &[]))]);
            let kept = revisions(&newest);
            assert_eq!(kept.last(), Some(&8));
            assert_eq!(kept.len(), newest.changes.len());
        }
    }

    #[test]
    fn nothing_is_put_in_front_of_a_window_that_does_not_begin_there() {
        let limits = (9, usize::MAX);
        for earlier in [3..=4, 3..=6, 7..=9] {
            let mut newest = window(6..=7, limits);
            newest.extend_back(window(earlier, limits));
            assert_eq!(revisions(&newest), [6, 7]);
            assert!(newest.after(Revision(4), 1).is_err());
        }
        let mut nothing = Window::new(Revision(5), limits.0, limits.1);
        nothing.extend_back(window(4..=5, limits));
        assert_eq!(revisions(&nothing), [4, 5]);
        assert_eq!(nothing.newest(), Revision(5));
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
