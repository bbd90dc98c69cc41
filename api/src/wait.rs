//! Reads of a revision that lies ahead: they wait a little for this server to reach what the client has seen.

use crate::backend::Backend;
use crate::status::Failure;
use hindsight_core::{Revision, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Source: `blockTimeout` of upstream's watch cache.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// A state that is not older than this revision; 504 if it does not come in time.
pub(crate) async fn state_at_least(
    backend: &dyn Backend,
    wanted: Revision,
) -> Result<Arc<State>, Failure> {
    let mut changed = backend.changed();
    let ends = Instant::now() + WAIT_MAX;
    loop {
        changed.borrow_and_update();
        let state = backend.state();
        if state.revision >= wanted {
            return Ok(state);
        }
        if !matches!(timeout_at(ends, changed.changed()).await, Ok(Ok(()))) {
            return Err(Failure::too_large_version(wanted.0, state.revision.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::fake::Fake;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        runtime.expect("a runtime").block_on(future)
    }

    #[test]
    fn a_revision_that_exists_is_not_waited_for() {
        let fake = Fake::new();
        fake.move_to(Revision(5));
        let state = block_on(state_at_least(&fake, Revision(5))).expect("a state");
        assert_eq!(state.revision, Revision(5));
    }

    #[test]
    fn what_comes_in_time_is_shown() {
        let fake = Fake::new();
        let comes = async {
            for revision in 1..=3 {
                tokio::time::sleep(Duration::from_millis(500)).await;
                fake.move_to(Revision(revision));
            }
        };
        let both = async { tokio::join!(state_at_least(&fake, Revision(3)), comes).0 };
        assert_eq!(block_on(both).expect("a state").revision, Revision(3));
    }

    #[test]
    fn what_does_not_come_is_a_timeout_with_its_cause() {
        let fake = Fake::new();
        let failure = block_on(state_at_least(&fake, Revision(9))).expect_err("a failure");
        let status = failure.to_json();
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&504.into(), &"Timeout".into())
        );
        let message = "Timeout: Too large resource version: 9, current: 0";
        assert_eq!(status["message"], message);
        let cause = &status["details"]["causes"][0];
        assert_eq!(cause["reason"], "ResourceVersionTooLarge");
    }
}
