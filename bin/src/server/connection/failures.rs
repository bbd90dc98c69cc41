//! What is done when a connection cannot be accepted, mostly for want of file descriptors.

use crate::server::slots::Slots;
use hindsight_log::is_without_descriptors;
use std::io::Error;
use std::time::Duration;
use tokio::time::Instant;

/// The pause after a failure that nothing was done about.
const PAUSE: Duration = Duration::from_millis(50);
/// The pause in which a connection that was displaced is closed.
const CLOSING_PAUSE: Duration = Duration::from_millis(2);
/// How often failures are logged, at most.
const LOG_EVERY: Duration = Duration::from_mins(1);

/// The failures to accept a connection.
#[derive(Debug, Default)]
pub(super) struct Failures {
    logged: Option<Instant>,
}

impl Failures {
    /// How long to wait before the next attempt. Where descriptors have run out, the oldest connection that is
    /// unauthenticated gives up its own: whoever can authenticate does not wait for those that never will.
    pub(super) fn pause(&mut self, error: &Error, slots: &Slots) -> Duration {
        let now = Instant::now();
        if self.logged.is_none_or(|logged| now - logged >= LOG_EVERY) {
            tracing::warn!(%error, "cannot accept connections; check the limit on open files");
            self.logged = Some(now);
        }
        if is_without_descriptors(error) && slots.make_room() {
            CLOSING_PAUSE
        } else {
            PAUSE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::slots::Limits;
    use futures_util::FutureExt;

    #[cfg(target_os = "linux")]
    const EMFILE: i32 = 24;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn without_descriptors_the_oldest_that_is_unauthenticated_goes_and_others_stay() {
        let slots = Slots::new(Limits::default());
        let [known, oldest] = [(); 2].map(|()| slots.enter().expect("free"));
        known.mark_authenticated();
        let without = Error::from_raw_os_error(EMFILE);
        let mut failures = Failures::default();
        let aborted = Error::from(std::io::ErrorKind::ConnectionAborted);
        assert_eq!(failures.pause(&aborted, &slots), PAUSE);
        assert!(oldest.displaced().now_or_never().is_none());
        assert_eq!(failures.pause(&without, &slots), CLOSING_PAUSE);
        assert!(oldest.displaced().now_or_never().is_some());
        drop(oldest);
        assert_eq!(failures.pause(&without, &slots), PAUSE);
        assert!(known.displaced().now_or_never().is_none());
    }
}
