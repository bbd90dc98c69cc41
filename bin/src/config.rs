//! The configuration of a control plane, and why opening one may fail.

use crate::effects;
use hindsight_log::{Clock, Error, NEW_LOG_BYTES, Retention};
use std::num::NonZeroU64;
use std::path::PathBuf;
#[cfg(feature = "http")]
use std::sync::Arc;
use std::time::Duration;

/// Commits between two snapshots by default. A start without a snapshot folds several hundred thousand
/// commits a second, and writing a snapshot takes about as long as writing ten thousand commits.
pub(crate) const SNAPSHOT_EVERY: u64 = 100_000;

/// How long events are kept by default, as by kube-apiserver.
pub(crate) const EVENT_TTL: Duration = Duration::from_hours(1);

/// How to open a control plane.
#[derive(Debug, Clone)]
pub struct Config {
    /// The data directory of the log, created if it does not exist. Without one everything is kept in memory
    /// and lost at the end. One process at a time holds it.
    pub data_dir: Option<PathBuf>,
    /// After how many commits a snapshot of the state is written beside the log, so that the next start need
    /// not read them; after three quarters as many as there are objects, if that is more. A clean end writes
    /// one after a tenth as many, and a policy of retention asks for more. `None` for never.
    pub snapshot_every: Option<NonZeroU64>,
    /// How much history is kept; all of it without a policy. A policy requires a directory and snapshots, for
    /// history is dropped below snapshots. If it has an age, [`Config::clock`] must be later than 1970.
    pub retention: Option<Retention>,
    /// Whether garbage, deleted namespaces, finished jobs and old events are collected.
    pub collectors: bool,
    /// How long an `Event` stays after its last write, if there are collectors; for ever without one.
    pub event_ttl: Option<Duration>,
    /// What time it is for the HTTP service, [`crate::ControlPlane::now`], and the collectors: the times of
    /// commands, ages, the ends of jobs and events, and what a retention policy calls old. Collectors look at it once
    /// a second, and at once after [`crate::ControlPlane::clock_changed`]. Limits of waiting, such as timeouts, are
    /// measured otherwise. With a clock of its own, a test waits for no deadline:
    ///
    /// ```
    /// use hindsight::core::Time;
    /// use hindsight::{Clock, Config, ControlPlane};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicI64, Ordering};
    ///
    /// let micros = Arc::new(AtomicI64::new(1_800_000_000_000_000));
    /// let read = Arc::clone(&micros);
    /// let plane = ControlPlane::open(Config {
    ///     clock: Clock::new(move || Time(read.load(Ordering::SeqCst))),
    ///     ..Config::default()
    /// })?;
    /// micros.fetch_add(3_600_000_000, Ordering::SeqCst);
    /// plane.clock_changed(); // the collectors look at once, not within a second
    /// assert_eq!(plane.now(), Time(1_800_003_600_000_000));
    /// plane.close();
    /// # Ok::<(), hindsight::OpenError>(())
    /// ```
    pub clock: Clock,
    /// Says who may change owner references so that they own or block what they could not delete or update
    /// themselves, and answers access reviews and the conditions of webhooks. It does not stand before other
    /// requests: whoever is authenticated may do everything, with an authorizer or without one
    /// ([`hindsight_api::Authorizer`]). It is asked about requests to the HTTP service only, and not about commands of
    /// [`crate::ControlPlane::submit`], `submit_blocking` and `dry_run`.
    ///
    /// The plane keeps it. If it holds a clone of the plane, as a clock might too, the plane is never dropped, and is
    /// open until [`crate::ControlPlane::close`] is called.
    #[cfg(feature = "http")]
    pub authorizer: Option<Arc<dyn hindsight_api::Authorizer>>,
    /// Whether changing owner references needs `delete` on the object, and blocking an owner `update` on the
    /// owner's `finalizers`. Otherwise such changes are accepted from everybody who may write the object.
    #[cfg(feature = "http")]
    pub owner_reference_permissions: bool,
}

impl Default for Config {
    /// In memory, with collectors, events for an hour, by the clock of the system; everybody may do everything.
    fn default() -> Self {
        Self {
            data_dir: None,
            snapshot_every: NonZeroU64::new(SNAPSHOT_EVERY),
            retention: None,
            collectors: true,
            event_ttl: Some(EVENT_TTL),
            clock: Clock::new(effects::now),
            #[cfg(feature = "http")]
            authorizer: None,
            #[cfg(feature = "http")]
            owner_reference_permissions: true,
        }
    }
}

/// The shortest age of a policy: shorter ages are below the precision of clocks.
pub(crate) const AGE_MICROS_MIN: i64 = 1_000;

impl Config {
    /// Refuses a directory without a name, and an invalid policy: history that was dropped does not
    /// come back.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        if self
            .data_dir
            .as_ref()
            .is_some_and(|at| at.as_os_str().is_empty())
        {
            return Err(OpenError::Nameless);
        }
        let Some(retention) = &self.retention else {
            return Ok(());
        };
        let (age, bytes) = (retention.age_micros, retention.bytes);
        let wrong = [
            (
                age.is_some_and(|age| age < AGE_MICROS_MIN),
                "an age of less than a millisecond would drop everything",
            ),
            (
                age.is_some() && self.clock.now().0 <= 0,
                "the clock is in 1970 or before, by which nothing becomes old; use hindsight::system_clock",
            ),
            (bytes == Some(0), "a size of 0 would drop everything"),
            (
                age.is_none() && bytes.is_none(),
                "without an age or a size nothing would ever be dropped",
            ),
            (self.data_dir.is_none(), "in memory nothing is ever dropped"),
            (
                self.snapshot_every.is_none(),
                "without snapshots nothing is ever dropped",
            ),
        ];
        let wrong = wrong.into_iter().find(|(is_so, _)| *is_so);
        wrong.map_or(Ok(()), |(_, why)| Err(OpenError::Retention(why)))
    }
}

/// Why a control plane, or a log to be read, could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The log could not be opened.
    #[error(transparent)]
    Log(#[from] Error),
    /// There is no room for a new log.
    #[error(
        "the disk is full: a new log needs {} MiB; free some space and start again, or name another data directory",
        NEW_LOG_BYTES >> 20
    )]
    NoRoom,
    /// The directory to read has no log.
    #[error(
        "{} contains no event log; name the data directory of a server, or of a program that embeds Hindsight",
        .0.display()
    )]
    NoLog(PathBuf),
    /// The directory has no name.
    #[error(
        "data_dir is empty; name a directory, `.` for the current one, or give none to keep everything in memory"
    )]
    Nameless,
    /// An invalid policy for history.
    #[error("the retention policy is invalid: {0}")]
    Retention(&'static str),
    /// The first objects could not be written.
    #[error("the first objects could not be written: {0}")]
    Bootstrap(#[source] Box<dyn std::error::Error + Send + Sync>),
}

#[cfg(test)]
mod clock;

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::Time;

    fn policy(age_micros: Option<i64>, bytes: Option<u64>) -> Config {
        let retention = Retention {
            age_micros,
            bytes,
            kinds: Vec::new(),
        };
        Config {
            data_dir: Some("somewhere".into()),
            retention: Some(retention),
            ..Config::default()
        }
    }

    #[test]
    fn a_directory_without_a_name_is_refused_before_anything_is_made() {
        let config = Config {
            data_dir: Some("".into()),
            ..Config::default()
        };
        let here = || std::path::Path::new("lock").exists();
        assert!(!here());
        let refused = crate::ControlPlane::open(config).expect_err("refused");
        assert!(
            refused.to_string().contains("data_dir is empty"),
            "{refused}"
        );
        assert!(!here());
    }

    #[test]
    fn what_is_in_the_way_is_told_by_the_name_that_the_field_has() {
        let temporary = tempfile::tempdir().expect("a directory");
        let config = || Config {
            data_dir: Some(temporary.path().into()),
            ..Config::default()
        };
        let plane = crate::ControlPlane::open(config()).expect("it opens");
        let refused = crate::ControlPlane::open(config()).expect_err("it is taken");
        let refused = refused.to_string();
        assert!(
            refused.contains("or name another data directory"),
            "{refused}"
        );
        assert!(!refused.contains("--"), "{refused}");
        plane.close();
    }

    #[test]
    fn a_policy_that_nobody_can_mean_is_refused() {
        let in_memory = Config {
            data_dir: None,
            ..policy(None, Some(1))
        };
        let without_snapshots = Config {
            snapshot_every: None,
            ..policy(None, Some(1))
        };
        let mut at_rest = policy(Some(1_000_000), None);
        at_rest.clock = Clock::new(Time::default);
        for (config, expected) in [
            (at_rest, "use hindsight::system_clock"),
            (policy(Some(-5), None), "less than a millisecond"),
            (policy(Some(999), Some(1)), "less than a millisecond"),
            (policy(None, Some(0)), "a size of 0"),
            (policy(None, None), "without an age or a size"),
            (in_memory, "in memory"),
            (without_snapshots, "without snapshots"),
        ] {
            let said = config.check().expect_err(expected).to_string();
            assert!(said.contains(expected), "{said}");
        }
        for config in [
            policy(Some(1_000), None),
            policy(None, Some(1)),
            Config::default(),
        ] {
            assert!(config.check().is_ok(), "{config:?}");
        }
    }
}
