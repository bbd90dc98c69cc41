//! Which kinds a text names, as kubectl understands it: those that are served, and those that ever were.

use super::{QueryError, near};
use crate::history::{Defined, LogHistory};
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::{GroupResource, Revision, State};
use hindsight_projector::History as _;

/// A kind by any of its names: alone, with its group, or with one of its versions and its group.
pub(super) fn kind(state: &State, text: &str) -> Option<KindRef> {
    kind_and_version(state, text).map(|(kind, _)| kind)
}

/// The same with the version, if one is named. A group may begin like a version, so a match of the whole group
/// comes first.
///
/// Source: kubectl's `RESOURCE.VERSION.GROUP`, with nothing behind the last dot for the core group.
pub(super) fn kind_and_version<'a>(
    state: &State,
    text: &'a str,
) -> Option<(KindRef, Option<&'a str>)> {
    meanings(text).find_map(|meaning| {
        let mut kinds = state.kinds.iter();
        let found = kinds.find(|kind| meaning.is_of(&kind.resource, Some(kind)));
        Some((found?.clone(), meaning.version))
    })
}

/// What a text that names a kind may mean.
#[derive(Debug, Clone, Copy)]
struct Meaning<'a> {
    name: &'a str,
    group: Option<&'a str>,
    version: Option<&'a str>,
}

impl Meaning<'_> {
    /// Whether it means this resource. Without the kind only the plural is known of its names.
    fn is_of(&self, resource: &GroupResource, kind: Option<&Kind>) -> bool {
        let has = |wanted: &str| kind.is_none_or(|kind| has_version(kind, wanted));
        let is_called = |name: &str| match kind {
            Some(kind) => kind.is_called(name),
            None => *resource.resource == *name.to_lowercase(),
        };
        is_called(self.name)
            && self.group.is_none_or(|group| *resource.group == *group)
            && self.version.is_none_or(has)
    }
}

fn has_version(kind: &Kind, version: &str) -> bool {
    kind.versions.iter().any(|one| *one.name == *version)
}

/// What a text may mean, the likeliest first.
fn meanings(text: &str) -> impl Iterator<Item = Meaning<'_>> {
    let (name, rest) = match text.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let whole = Meaning {
        name,
        group: rest,
        version: None,
    };
    let versioned = rest.and_then(|rest| rest.split_once('.'));
    let versioned = versioned.map(|(version, group)| Meaning {
        name,
        group: Some(group),
        version: Some(version),
    });
    std::iter::once(whole).chain(versioned)
}

/// A resource that a text names, and its kind; without it if only the end of its definition is kept.
pub(super) type Named = (GroupResource, Option<KindRef>);

/// Every resource that a text names: several groups may have a kind of one name. Those that no longer exist are
/// looked for only if none exists.
pub(super) fn named(
    history: &LogHistory<'_>,
    state: &State,
    text: &str,
) -> Result<Vec<Named>, QueryError> {
    let served = served_as(state, text);
    let named = if served.is_empty() {
        once_defined_as(history, text)?
    } else {
        served
    };
    if named.is_empty() {
        return Err(unknown(history, state, text)?);
    }
    Ok(named)
}

/// As [`named`], with those that no longer exist unless one of the others is built in: of a custom kind, the name may have
/// been another's before.
pub(super) fn ever_named(
    history: &LogHistory<'_>,
    state: &State,
    text: &str,
) -> Result<Vec<Named>, QueryError> {
    let mut all = named(history, state, text)?;
    let is_custom = |(_, kind): &Named| kind.as_ref().is_none_or(|kind| kind.is_custom());
    if all.iter().all(is_custom) {
        for earlier in once_defined_as(history, text)? {
            if all.iter().all(|(known, _)| *known != earlier.0) {
                all.push(earlier);
            }
        }
    }
    Ok(all)
}

/// The error for a text that names none of the kinds that the log knows of. Where definitions may have been dropped, one
/// of them may have had the name; the resource of each is known all the same, from what is kept of it.
pub(super) fn unknown(
    history: &LogHistory<'_>,
    state: &State,
    text: &str,
) -> Result<QueryError, QueryError> {
    let quoted = near::quoted(state, text);
    let floor = history.floor()?;
    if floor == Revision::ZERO {
        return Ok(QueryError::UnknownKind(quoted));
    }
    Ok(QueryError::Refused(format!(
        "there is no kind {quoted}, and none of this name is in what is kept: history is complete only from revision \
         {floor} on; name a kind that was called so before as PLURAL.GROUP, or find it with `kubectl api-resources`"
    )))
}

fn served_as(state: &State, text: &str) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for meaning in meanings(text) {
        let kinds = state.kinds.iter();
        for kind in kinds.filter(|kind| meaning.is_of(&kind.resource, Some(kind))) {
            let resource = kind.stored_under();
            if found.iter().all(|(other, _)| *other != resource) {
                found.push((resource, Some(kind.clone())));
            }
        }
    }
    found
}

/// Those that were ever defined, by the names that they had, the latest first.
pub(super) fn once_defined_as(
    history: &LogHistory<'_>,
    text: &str,
) -> Result<Vec<Named>, QueryError> {
    let mut found: Vec<Named> = Vec::new();
    for meaning in meanings(text) {
        for defined in history.defined(|resource, kind| meaning.is_of(resource, kind))? {
            let Defined { resource, kind } = defined;
            if found.iter().all(|(other, _)| *other != resource) {
                found.push((resource, kind));
            }
        }
    }
    Ok(found)
}

/// Refuses a kind whose objects are never stored.
pub(super) fn refuse_review(kind: &Kind) -> Result<(), QueryError> {
    if !kind.strategy.review {
        return Ok(());
    }
    Err(QueryError::Refused(format!(
        "{} are answered at once and never stored: there are none to show",
        kind.resource.resource
    )))
}

/// The refusal of a kind that this state does not have, in a question about what is in it.
pub(super) fn not_served(state: &State, text: &str) -> QueryError {
    let quoted = near::quoted(state, text);
    QueryError::Refused(format!(
        "there is no kind {quoted} in this state; `kubectl api-resources` lists the kinds that are served now, and one \
         that was defined at another time is found with a point of then (--as-of, or asOf in a query)"
    ))
}
