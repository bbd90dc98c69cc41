//! Implements what the HTTP surface needs of the control plane.

use crate::control_plane::ControlPlane;
use crate::inspect::{lost_by_restore, state_at, time_of};
use futures_util::future::BoxFuture;
use hindsight_api::{AsOf, AsOfError, Backend, LostByRestore, StateAt};
use hindsight_core::{
    Change, Check, Command, Commit, Decision, Expired, FutureRevision, Rejection, Revision, State,
    Time, Unavailable,
};
use hindsight_log::Error;
use std::sync::Arc;

impl Backend for ControlPlane {
    fn state(&self) -> Arc<State> {
        Self::state(self)
    }

    fn checks(&self) -> Vec<Check> {
        Self::checks(self).into()
    }

    fn restored(&self) -> Revision {
        Self::restored(self)
    }

    fn changed(&self) -> tokio::sync::watch::Receiver<Revision> {
        Self::subscribed(self)
    }

    fn changes_after(&self, revision: Revision, limit: usize) -> Result<Vec<Arc<Change>>, Expired> {
        Self::changes_after(self, revision, limit)
    }

    fn reach_back(&self, revision: Revision) -> BoxFuture<'_, bool> {
        Box::pin(self.backfill().reach(revision, self.pasts()))
    }

    fn commits_after(
        &self,
        revision: Revision,
        limit: usize,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<Arc<Commit>>, AsOfError>> {
        let reader = self.reader().clone();
        let read = move || {
            let (mut commits, mut held) = (Vec::new(), 0);
            for commit in reader.scan_all(revision.next()).take(limit) {
                let commit = Arc::new(commit?);
                held += commit.estimated_bytes();
                commits.push(commit);
                if held >= bytes {
                    break;
                }
            }
            Ok(commits)
        };
        Box::pin(async move {
            let read: Result<Result<Vec<_>, Error>, _> = tokio::task::spawn_blocking(read).await;
            let commits = read.map_err(|error| AsOfError::Unreadable(Arc::new(error)))?;
            commits.map_err(as_of_error)
        })
    }

    fn as_of(&self, point: AsOf) -> BoxFuture<'_, Result<StateAt, AsOfError>> {
        Box::pin(async move {
            let newest = Self::state(self);
            if let AsOf::Revision(asked) = point {
                if asked == newest.revision {
                    return Ok(StateAt::in_memory(newest));
                }
                if asked > newest.revision {
                    let newest = newest.revision;
                    return Err(AsOfError::Future(FutureRevision { asked, newest }));
                }
                if let Some(kept) = self.pasts().kept(asked) {
                    return Ok(StateAt::in_memory(kept));
                }
            }
            let now = Self::now(self);
            if let AsOf::Time(asked) = point {
                if asked > now {
                    return Err(AsOfError::NotCome { asked, now });
                }
                // What was published until now is looked at, not what was before the clock.
                if let Some(newest) = self.state_if_no_later(asked) {
                    return Ok(StateAt::in_memory(newest));
                }
            }
            let plane = self.clone();
            let fold = move || plane.fold(point).map_err(as_of_error);
            self.pasts().at(point, newest.revision, fold).await
        })
    }

    fn time_of(&self, revision: Revision) -> BoxFuture<'_, Option<Time>> {
        let reader = self.reader().clone();
        let read = move || time_of(&reader, revision).ok().flatten();
        Box::pin(async move { tokio::task::spawn_blocking(read).await.ok().flatten() })
    }

    fn keep(&self, state: Arc<State>) {
        self.pasts().keep(state);
    }

    fn submit(
        &self,
        commands: Vec<Command>,
    ) -> BoxFuture<'_, Result<Vec<Result<Decision, Rejection>>, Unavailable>> {
        Box::pin(Self::submit(self, commands))
    }

    fn now(&self) -> Time {
        Self::now(self)
    }

    fn seed(&self) -> [u8; 16] {
        Self::seed(self)
    }
}

impl ControlPlane {
    fn fold(&self, point: AsOf) -> Result<(State, Option<LostByRestore>), Error> {
        let state = state_at(self.reader(), self.empty_state(), point)?;
        let lost = lost_by_restore(self.reader(), point, state.revision);
        Ok((state, lost))
    }
}

/// Why the log does not answer, in the words of those who ask over HTTP.
pub(crate) fn as_of_error(error: Error) -> AsOfError {
    match error {
        Error::Pruned(pruned) => AsOfError::Pruned(pruned),
        Error::PrunedTime(pruned) => AsOfError::PrunedTime(pruned),
        Error::Closed => AsOfError::Closed(Unavailable::Stopping),
        Error::Future(future) => AsOfError::Future(future),
        other => AsOfError::Unreadable(Arc::new(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use hindsight_core::command::{Create, FieldValidation};
    use hindsight_core::{Actor, GroupResource, Intent, ObjectKey};
    use serde_json::json;

    const BYTES: usize = 100 << 10;

    #[test]
    fn what_is_read_for_a_watch_is_bounded_in_bytes() {
        let plane = ControlPlane::open(Config::default()).expect("it opens");
        let maps = GroupResource::new("", "configmaps");
        let create = |index: usize| {
            let data = json!({"k": "v".repeat(BYTES)});
            let intent = Intent::Create(Create {
                key: ObjectKey::new(maps.clone(), "default", ""),
                version: "v1".into(),
                object: json!({"metadata": {"name": format!("c{index}")}, "data": data}),
                validation: FieldValidation::Ignore,
            });
            Command::new(Arc::new(Actor::new("t")), plane.now(), plane.seed(), intent)
        };
        let begin = plane.state().revision;
        let written = plane.submit_blocking((0..10).map(create).collect());
        assert!(written.expect("written").iter().all(Result::is_ok));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        for (limit, bytes, count) in [
            (100, usize::MAX, 10),
            (4, usize::MAX, 4),
            (100, 2 * BYTES + 1, 2),
            (100, 3 * BYTES, 3),
            (100, 1, 1),
        ] {
            let read = Backend::commits_after(&plane, begin, limit, bytes);
            let read = runtime.block_on(read).expect("read");
            assert_eq!(read.len(), count, "{limit} {bytes}");
        }
        let newest = Backend::state(&plane).revision;
        let written = plane.reader().commit(newest).expect("read");
        let told = runtime.block_on(Backend::time_of(&plane, newest));
        assert_eq!(told, Some(written.expect("the last").time));
    }

    /// A removal has no version, but repeats the owners that it was decided on.
    #[test]
    fn removals_that_are_read_for_a_watch_are_bounded_in_bytes_too() {
        const OBJECTS: u64 = 10;
        let plane = ControlPlane::open(Config::default()).expect("it opens");
        let maps = GroupResource::new("", "configmaps");
        let create = |index: u64| {
            let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "uid": "gone",
                "name": "v".repeat(BYTES)});
            let metadata = json!({"name": format!("c{index}"), "ownerReferences": [owner]});
            let intent = Intent::Create(Create {
                key: ObjectKey::new(maps.clone(), "default", ""),
                version: "v1".into(),
                object: json!({"metadata": metadata}),
                validation: FieldValidation::Ignore,
            });
            Command::new(Arc::new(Actor::new("t")), plane.now(), plane.seed(), intent)
        };
        let written = plane.submit_blocking((0..OBJECTS).map(create).collect());
        let written = written.expect("written").pop().expect("one");
        let created = written.expect("created").outcome.object().revision;
        let end = Revision(created.0 + OBJECTS);
        while Backend::state(&plane).revision < end {
            std::thread::yield_now();
        }
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        for (bytes, count) in [(usize::MAX, 10), (3 * BYTES, 3), (1, 1)] {
            let read = Backend::commits_after(&plane, created, 10, bytes);
            let read = runtime.block_on(read).expect("read");
            assert!(read.iter().all(|commit| commit.object().is_none()));
            assert_eq!(read.len(), count, "{bytes}");
        }
    }
}
