//! What watches missed while no server ran. After a start the window of newest changes is empty, and each watch comes
//! back at a position of its own: the log is read back into the window, once for all of them.

#[cfg(test)]
mod tests;

use crate::past::Pasts;
use crate::published::{WINDOW_CHANGES_MAX, WindowFront, window_after};
use hindsight_core::{Change, Revision, State};
use hindsight_log::{Error, Reader};
use hindsight_projector::Window;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Fills the window from the log, for one caller at a time.
#[derive(Debug)]
pub(crate) struct Backfill {
    source: Source,
    /// Whether the log has nothing more for the window. Whoever reads it holds this.
    is_over: Arc<Mutex<bool>>,
}

#[derive(Debug, Clone)]
struct Source {
    front: WindowFront,
    reader: Reader,
    empty: State,
}

impl Backfill {
    pub(crate) fn new(front: WindowFront, reader: Reader, empty: State) -> Self {
        let source = Source {
            front,
            reader,
            empty,
        };
        Self {
            source,
            is_over: Arc::default(),
        }
    }

    /// Reads the log back until the window begins at this revision or before it, if it has room; whether it does
    /// now. Who comes meanwhile waits, and mostly finds what it asks for: a fold begins at a snapshot, and all that
    /// it passes is put into the window.
    pub(crate) async fn reach(&self, asked: Revision, pasts: &Pasts) -> bool {
        let mut is_over = Arc::clone(&self.is_over).lock_owned().await;
        let window = self.source.front.window();
        let begins_after = window.begins_after();
        if asked >= begins_after {
            return true;
        }
        let is_far = begins_after.0 - asked.0 > WINDOW_CHANGES_MAX as u64;
        if *is_over || is_far || window.is_full() {
            return false;
        }
        let Some(seat) = pasts.fold_seat().await else {
            return false;
        };
        let source = self.source.clone();
        // It is read to its end even if nobody waits for it any more.
        let run = move || {
            // What ends in a panic is not tried again.
            *is_over = true;
            *is_over = !source.read_back(asked, begins_after);
            drop(seat);
        };
        let read = tokio::task::spawn_blocking(run).await;
        read.is_ok() && self.source.front.window().begins_after() <= asked
    }
}

impl Source {
    /// Puts in front of the window what the log has from the newest snapshot before `asked` on. Returns whether what
    /// is before that may have a place in the window, too.
    fn read_back(&self, asked: Revision, until: Revision) -> bool {
        let mut earlier = None;
        let take = |changes: Vec<Arc<Change>>| push(&mut earlier, changes);
        match self.reader.changes(self.empty.clone(), asked, until, take) {
            Ok(base) => {
                earlier
                    .into_iter()
                    .for_each(|earlier| self.front.extend_back(earlier));
                self.front.window().begins_after() == base
            }
            Err(error) => {
                if !matches!(error, Error::Closed | Error::Pruned(_)) {
                    tracing::warn!(
                        %error,
                        "what was written before the start cannot be read back for watches: most of those that come \
                         back list again; `hindsight verify` tells whether the log is intact"
                    );
                }
                false
            }
        }
    }
}

/// Adds changes to a window, which begins anew wherever something is missing before them.
fn push(window: &mut Option<Window>, changes: Vec<Arc<Change>>) {
    let Some(first) = changes.first() else {
        return;
    };
    let before = first.commit.revision.previous();
    let followed = window.take().filter(|window| window.newest() == before);
    let window = window.insert(followed.unwrap_or_else(|| window_after(before)));
    window.push(changes);
}
