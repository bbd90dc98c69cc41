//! Why an object was deleted, is being deleted, or still exists: which object is meant by its names.

use super::naming::{Named, named, once_defined_as, unknown};
use super::{ObjectQuery, QueryError, lost_at};
use crate::history::LogHistory;
use crate::questions::{self, Why};
use hindsight_core::kind::Kind;
use hindsight_core::{ObjectKey, State, Uid};
use hindsight_projector::Fate;

/// Why an object was deleted, is being deleted, or still exists.
pub(crate) fn why(
    history: &LogHistory<'_>,
    state: &State,
    object: &ObjectQuery,
) -> Result<Why, QueryError> {
    let wanted = &*object.kind;
    let named = named(history, state, wanted)?;
    let not_found = match why_any(history, state, object, &named)? {
        Some(found) if is_known(&found) => return Ok(found),
        other => other,
    };
    let mut earlier = once_defined_as(history, wanted)?;
    earlier.retain(|(resource, _)| named.iter().all(|(known, _)| known != resource));
    let found = why_any(history, state, object, &earlier)?;
    if let Some(found) = found.filter(is_known) {
        return Ok(found);
    }
    let Some(mut answer) = not_found else {
        return Err(unknown(history, state, wanted)?);
    };
    answer.reasons.extend(history.restored()?.map(lost_at));
    Ok(answer)
}

fn is_known(why: &Why) -> bool {
    why.explanation.state != Fate::Unknown
}

/// The answer for the first of these kinds, and of the places in which it may have been, that the object is found
/// in; otherwise that for the first of all.
fn why_any(
    history: &LogHistory<'_>,
    state: &State,
    object: &ObjectQuery,
    named: &[Named],
) -> Result<Option<Why>, QueryError> {
    let uid = object.uid.as_deref().map(Uid::from);
    let mut unknown = None;
    for (resource, kind) in named {
        for namespace in places(kind.as_deref(), object.namespace.as_deref()) {
            let key = ObjectKey::new(resource.clone(), namespace, &object.name);
            let mut why = questions::explain(history, state, &key, uid.as_ref(), kind.as_ref())?;
            if is_known(&why) {
                let others = named.iter().filter(|(other, _)| other != resource);
                why.reasons.extend(namesakes(state, object, others));
                return Ok(Some(why));
            }
            unknown.get_or_insert(why);
        }
    }
    Ok(unknown)
}

/// What is said of objects that exist and have this name too, of these other kinds. A UID tells which one is meant.
fn namesakes<'a>(
    state: &State,
    object: &ObjectQuery,
    others: impl Iterator<Item = &'a Named>,
) -> Vec<String> {
    let of_kind = |(resource, kind): &Named| {
        let places = places(kind.as_deref(), object.namespace.as_deref()).into_iter();
        let key = places
            .map(|namespace| ObjectKey::new(resource.clone(), namespace, &object.name))
            .find(|key| state.get(key).is_some())?;
        Some(format!(
            "{key} exists too, of another kind of this name; to ask about that, name the kind as {resource}"
        ))
    };
    let others = others.filter(|_| object.uid.is_none());
    others.filter_map(of_kind).collect()
}

/// The namespaces in which an object of this kind may have been, in the order of the search: a definition that
/// was recreated may have another scope. A user who means an object that was in a namespace names it.
fn places<'a>(kind: Option<&Kind>, wanted: Option<&'a str>) -> Vec<&'a str> {
    let namespace = wanted.unwrap_or("default");
    match kind {
        Some(kind) if !kind.is_custom() && kind.is_namespaced() => vec![namespace],
        Some(kind) if !kind.is_custom() => vec![""],
        Some(kind) if !kind.is_namespaced() && wanted.is_none() => vec!["", namespace],
        Some(_) | None => vec![namespace, ""],
    }
}
