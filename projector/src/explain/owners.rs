//! The owners of an object that the collector deleted, or that exists: those that it referred to at the end, and
//! earlier ones.

use super::bounded_history::BoundedHistory;
use super::chain::{last_request_setting, mark_before, overruling};
use super::{Dropped, End, EndedAs, Link, Owner, rule_of};
use crate::History;
use hindsight_core::classify::owner_key;
use hindsight_core::event::{OwnerClass, OwnerFinding};
use hindsight_core::object::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Object};
use hindsight_core::{
    Cause, Commit, Event, GroupVersionKind, ObjectKey, OwnerReference, Revision, Rule, State, Uid,
};
use std::collections::BTreeSet;

/// The most owners of one object that are named and looked up.
const OWNERS_MAX: usize = 100;
/// The most bytes of owners in one answer, and those of an owner besides its names.
const OWNERS_BYTES_MAX: usize = 256 << 10;
const OWNER_BYTES: usize = 256;

/// How many bytes of owners an answer may still have.
pub(super) struct OwnersBudget(usize);

impl OwnersBudget {
    pub(super) const fn new() -> Self {
        Self(OWNERS_BYTES_MAX)
    }

    /// Takes what an owner costs, if that is left.
    fn takes(&mut self, owner: &OwnerReference) -> bool {
        let names = owner.kind.len() + owner.name.len() + owner.uid.as_str().len();
        let left = self.0.checked_sub(names + OWNER_BYTES);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// The owners that a deletion was decided on, and how many more there are than may be named; none if there is only
/// one and the next commit of the chain is about it.
pub(super) fn owners_shown(
    commit: &Commit,
    next: Option<&Commit>,
    budget: &mut OwnersBudget,
) -> (Vec<Owner>, usize) {
    let is_shown = |owners: &[OwnerFinding]| match owners {
        [one] => next.is_some_and(|next| next.uid == one.owner.uid),
        _ => false,
    };
    let unshown = findings(commit).filter(|owners| !is_shown(owners));
    let owner = |found: &OwnerFinding| Owner {
        kind: found.owner.kind.to_string(),
        name: found.owner.name.to_string(),
        uid: found.owner.uid.to_string(),
        waits: found.class == OwnerClass::Waiting,
        end: None,
    };
    let unshown = unshown.unwrap_or_default();
    let first = unshown.iter().take(OWNERS_MAX);
    let named: Vec<Owner> = first
        .take_while(|found| budget.takes(&found.owner))
        .map(owner)
        .collect();
    let more = unshown.len() - named.len();
    (named, more)
}

fn findings(commit: &Commit) -> Option<&[OwnerFinding]> {
    let found = commit.deletions().find(|(_, owners)| !owners.is_empty());
    found.map(|(_, owners)| owners)
}

/// Looks up what became of owners.
pub(super) struct Lookup<'a, 'b, H> {
    pub(super) history: &'a BoundedHistory<'b, H>,
    pub(super) state: &'a State,
}

impl<H: History> Lookup<'_, '_, H> {
    /// Adds to the link of this deletion what became of the owners, and which owners the object had before.
    /// Some of these may be missing if a floor is returned: the object is older than that.
    pub(super) fn add_history(
        &self,
        deletion: &Commit,
        link: &mut Link,
        budget: &mut OwnersBudget,
    ) -> Result<Option<Revision>, H::Error> {
        if !rule_of(deletion).is_some_and(Rule::is_about_owners) {
            return Ok(None);
        }
        let Some(findings) = findings(deletion) else {
            return Ok(None);
        };
        for (owner, finding) in link.owners.iter_mut().zip(findings) {
            owner.end = self.end(deletion, &finding.owner)?;
        }
        let known = findings.iter().map(|one| one.owner.uid.clone());
        let (dropped, since) = self.dropped(deletion, known.collect(), budget)?;
        link.dropped = dropped;
        self.floor_above(since)
    }

    /// Adds to the link of the newest version of an object which owners it had before. Some of these may be missing if
    /// a floor is returned.
    pub(super) fn add_lost_owners(
        &self,
        newest: &Commit,
        owners: &[OwnerReference],
        link: &mut Link,
        budget: &mut OwnersBudget,
    ) -> Result<Option<Revision>, H::Error> {
        let known = owners.iter().map(|owner| owner.uid.clone());
        let (dropped, since) = self.dropped(newest, known.collect(), budget)?;
        link.dropped = dropped;
        self.floor_above(since)
    }

    /// The revision from which on everything is kept, if that is a later one.
    fn floor_above(&self, since: Revision) -> Result<Option<Revision>, H::Error> {
        let floor = self.history.floor()?;
        Ok((since < floor).then_some(floor))
    }

    /// The owners that the versions of the object up to this one dropped, newest first, without those that are known;
    /// and the revision from which on it existed, as far as that is known.
    fn dropped(
        &self,
        newest: &Commit,
        mut known: BTreeSet<Uid>,
        budget: &mut OwnersBudget,
    ) -> Result<(Vec<Dropped>, Revision), H::Error> {
        let (key, uid) = (&newest.key, &newest.uid);
        let mut dropped = Vec::new();
        let mut until = newest.revision;
        for () in self.history.version_budget() {
            let Some(version) = self.history.last(key, Some(uid), until)? else {
                return Ok((dropped, Revision::ZERO));
            };
            let removed = version.events.iter().filter_map(Event::removed_owner);
            for owner in removed.filter(|owner| known.insert(owner.uid.clone())) {
                if dropped.len() == OWNERS_MAX || !budget.takes(owner) {
                    return Ok((dropped, version.revision));
                }
                dropped.push(self.dropped_owner(&version, owner)?);
            }
            if version.creates() {
                return Ok((dropped, version.revision));
            }
            until = version.revision.previous();
        }
        Ok((dropped, until))
    }

    fn dropped_owner(&self, version: &Commit, owner: &OwnerReference) -> Result<Dropped, H::Error> {
        let end = match version.cause {
            Cause::Commit(_) => self.end(version, owner)?,
            Cause::Request | Cause::Policy(_) => None,
        };
        Ok(Dropped {
            kind: owner.kind.to_string(),
            name: owner.name.to_string(),
            uid: owner.uid.to_string(),
            revision: version.revision,
            time: version.time.to_rfc3339_micros(),
            user: version.actor.user.to_string(),
            verb: version.request.verb.clone(),
            end,
        })
    }

    /// What had become of an owner when the collector did this to its dependent.
    fn end(&self, step: &Commit, owner: &OwnerReference) -> Result<Option<End>, H::Error> {
        let Some(last) = self.last_of(step, owner)? else {
            return Ok(None);
        };
        let Some(object) = last.object() else {
            let Some(mark) = mark_before(self.history, &last)? else {
                return Ok(Some(end(EndedAs::Gone, &last, None)));
            };
            let overruling = overruling(self.history, &last, &mark)?;
            let asked = overruling.unwrap_or(mark);
            return Ok(Some(end(EndedAs::Gone, &last, Some(&asked))));
        };
        let Some((ended, finalizer)) = waiting_as(object) else {
            return Ok(None);
        };
        let mark = match object.mark {
            Some(mark) => self.history.commit(mark.revision)?,
            None => None,
        };
        let Some(mark) = mark else {
            return Ok(None);
        };
        let begun = last_request_setting(self.history, &mark, last.revision, finalizer)?;
        Ok(Some(end(ended, begun.as_ref().unwrap_or(&mark), None)))
    }

    /// The newest commit of the owner before this step.
    fn last_of(&self, step: &Commit, owner: &OwnerReference) -> Result<Option<Commit>, H::Error> {
        let until = step.revision.previous();
        let last = |key: &ObjectKey| self.history.last(key, Some(&owner.uid), until);
        if let Some(key) = owner_key(self.state, &step.key.namespace, owner)
            && let Some(found) = last(&key)?
        {
            return Ok(Some(found));
        }
        // Its kind may be another one today, or none.
        let Some(gvk) = GroupVersionKind::parse(&owner.api_version, &owner.kind) else {
            return Ok(None);
        };
        for resource in self.history.once_defined(&gvk.group, &gvk.kind)? {
            for namespace in BTreeSet::from([&*step.key.namespace, ""]) {
                let key = ObjectKey::new(resource.clone(), namespace, &owner.name);
                if let Some(found) = last(&key)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

fn waiting_as(owner: &Object) -> Option<(EndedAs, &'static str)> {
    if owner.is_waiting() {
        Some((EndedAs::Waiting, FOREGROUND_FINALIZER))
    } else if owner.is_orphaning() {
        Some((EndedAs::Orphaning, ORPHAN_FINALIZER))
    } else {
        None
    }
}

/// The end of an owner by `commit`; `asked` is the earlier request, if there was one.
fn end(ended: EndedAs, commit: &Commit, asked: Option<&Commit>) -> End {
    let asked = asked.unwrap_or(commit);
    End {
        ended,
        revision: commit.revision,
        time: commit.time.to_rfc3339_micros(),
        rule: rule_of(asked),
        user: asked.actor.user.to_string(),
        verb: asked.request.verb.clone(),
    }
}
