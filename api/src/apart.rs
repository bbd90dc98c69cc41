//! Waits in a task of their own. A stream whose client does not read is not polled, and would keep a seat or a lock that
//! it was given while it waits.

use crate::status::Failure;
use tokio::task::{AbortHandle, JoinError};

/// Runs a future in a task of its own. It goes on while nobody polls this, and is given up with it.
pub(crate) async fn apart<T: Send + 'static>(
    waits: impl Future<Output = T> + Send + 'static,
) -> Result<T, Failure> {
    let task = tokio::spawn(waits);
    let _given_up = GivenUp(task.abort_handle());
    task.await.map_err(|failed| ended_early(&failed))
}

/// Ends a task once nobody waits for it.
struct GivenUp(AbortHandle);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) fn ended_early(failed: &JoinError) -> Failure {
    Failure::internal(format!("computing the answer ended early: {failed}"))
}
