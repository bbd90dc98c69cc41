//! Checks that the log alone shows a cause for every removal: the product's own audit finds no fault,
//! and every removal can be explained back to a request or a policy.

use super::replay::Read;
use super::{Checked, ensure, violation};
use crate::causes::Causes;
use crate::sim::history::History;
use crate::sim::server::empty;
use crate::sim::trace::Trace;
use hindsight_core::{Cause, Commit, Event, GroupResource, ObjectKey, Revision, Uid, served_kind};
use hindsight_projector::{Audit, Dropped, End, EndedAs, Fate, Link, Subject, explain};
use std::convert::Infallible;

/// How many removals of one schedule are explained.
const EXPLAINED_MAX: usize = 5;

/// Audits the history and explains the last removals.
pub fn check(history: &History, read: &Read, trace: &mut Trace) -> Checked {
    audited(history)?;
    removals(history, read, trace)
}

/// Explains the last removals from what was read, and compares with the history.
pub fn removals(history: &History, read: &Read, trace: &mut Trace) -> Checked {
    let removals = history.kept().rev();
    let removals = removals.filter(|one| one.object().is_none());
    for removal in removals.take(EXPLAINED_MAX) {
        explained(history, read, removal)?;
        trace.count("removals explained", 1);
    }
    Ok(())
}

/// Checks that the product's audit finds no fault with what is in the log.
pub fn audited(history: &History) -> Checked {
    causes(history)?;
    let mut audit = Audit::new(empty());
    let mut restores = history.log.restores.iter().peekable();
    for commit in history.kept() {
        while let Some((_, restore)) = restores.next_if(|(_, restore)| *restore < commit.revision) {
            audit.restored(*restore);
        }
        let faulty = |found: hindsight_core::invariants::Violation| {
            violation("the audit finds nothing", found.to_string())
        };
        audit.check_and_apply(commit).map_err(faulty)?;
    }
    Ok(())
}

/// Checks that every removal by the collector names, as its cause, what became of one of the owners.
pub fn causes(history: &History) -> Checked {
    let mut causes = Causes::default();
    for commit in history.kept() {
        let wrong = |what| violation("a removal names its cause", what);
        causes.take(commit).map_err(wrong)?;
    }
    Ok(())
}

fn explained(history: &History, read: &Read, removal: &Commit) -> Checked {
    let subject = Subject {
        api_version: String::new(),
        kind: String::new(),
        namespace: removal.key.namespace.to_string(),
        name: removal.key.name.to_string(),
        uid: String::new(),
    };
    let found = explain(read, &empty(), &removal.key, Some(&removal.uid), subject);
    let found = found.unwrap_or_else(|never| match never {});
    let root = found.root.as_ref().map(|root| root.revision);
    let cause = root
        .and_then(|root| history.commit(root))
        .map(|one| &one.cause);
    let ends = matches!(cause, Some(Cause::Request | Cause::Policy(_)));
    let begins = found.chain.first().map(|link| link.revision);
    let right = ends && begins == Some(removal.revision) && found.state == Fate::Deleted;
    ensure("every removal is explained", right, || {
        format!("{}: {found:?}", removal.revision)
    })?;
    let mut links = found.chain.iter();
    let right = links.all(|link| ends_as_told(history, removal, link));
    ensure("owners ended as is told", right, || {
        format!("{}: {found:?}", removal.revision)
    })
}

/// Whether every owner that is reported gone was removed at that revision, and every owner reported
/// as dropped was removed from the references at that revision.
fn ends_as_told(history: &History, removal: &Commit, link: &Link) -> bool {
    let gone = |uid: &str, end: &Option<End>| {
        let gone = end.as_ref().filter(|end| end.ended == EndedAs::Gone);
        gone.is_none_or(|end| {
            let removed = history.commit(end.revision);
            removed.is_some_and(|one| one.object().is_none() && one.uid.as_str() == uid)
        })
    };
    let dropped = |dropped: &Dropped| {
        let is_it = |event: &Event| matches!(event, Event::OwnerRemoved { owner } if owner.uid.as_str() == dropped.uid);
        history
            .commit(dropped.revision)
            .is_some_and(|one| one.uid == removal.uid && one.events.iter().any(is_it))
    };
    let owners = link.owners.iter();
    let mut ends = owners.map(|one| (&one.uid, &one.end));
    let mut before = link.dropped.iter();
    ends.all(|(uid, end)| gone(uid, end))
        && before.all(|one| dropped(one) && gone(&one.uid, &one.end))
}

impl hindsight_projector::History for Read {
    type Error = Infallible;

    fn floor(&self) -> Result<Revision, Infallible> {
        Ok(Revision::ZERO)
    }

    fn commit(&self, revision: Revision) -> Result<Option<Commit>, Infallible> {
        Ok(self.commits.get(&revision).cloned())
    }

    fn last(
        &self,
        key: &ObjectKey,
        uid: Option<&Uid>,
        until: Revision,
    ) -> Result<Option<Commit>, Infallible> {
        let mut before = self.commits.range(..=until).rev().map(|(_, commit)| commit);
        let found = before.find(|one| one.key == *key && uid.is_none_or(|uid| *uid == one.uid));
        Ok(found.cloned())
    }

    fn once_defined(&self, group: &str, kind: &str) -> Result<Vec<GroupResource>, Infallible> {
        let definitions = self.commits.values().rev().filter_map(Commit::object);
        let kinds = definitions.filter_map(|definition| served_kind(definition));
        let of_name = kinds.filter(|one| *one.resource.group == *group && *one.kind == *kind);
        Ok(of_name.map(|one| one.resource).collect())
    }
}
