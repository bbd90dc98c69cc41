//! Waiting for new revisions.

use hindsight_core::Revision;
use tokio::sync::watch;

/// Tells of new revisions of a control plane: see [`crate::ControlPlane::changed`]. A waker that panics when it is woken
/// fails the log, because it is called where the change was made durable.
#[derive(Debug, Clone)]
pub struct Revisions(watch::Receiver<Revision>);

impl Revisions {
    /// Those after the newest.
    pub(crate) fn after_newest(mut receiver: watch::Receiver<Revision>) -> Self {
        receiver.mark_unchanged();
        Self(receiver)
    }

    /// The newest durable revision. A wait that begins afterwards still finishes at once if it was not waited for yet.
    pub fn newest(&self) -> Revision {
        *self.0.borrow()
    }

    /// Waits for a revision that was not waited for yet, and returns the newest; `None` once the plane is closed.
    pub async fn next(&mut self) -> Option<Revision> {
        self.0.changed().await.ok()?;
        Some(*self.0.borrow_and_update())
    }

    /// Waits until this revision is durable, and returns the newest; `None` if the plane is closed before.
    pub async fn reached(&mut self, revision: Revision) -> Option<Revision> {
        let reached = self.0.wait_for(|newest| *newest >= revision).await;
        reached.ok().map(|newest| *newest)
    }
}
