//! Lists in a strategic merge: replaced, or merged as the schema says; and the order of the result.

use super::text::{bad_type, go, no_merge_key, type_of};
use super::{DIRECTIVE, fresh, unknown_directive};
use crate::Rejection;
use crate::schema::{PatchStrategy, Schema};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn strategy(schema: Option<&Schema>) -> &PatchStrategy {
    schema.map_or(&PatchStrategy::None, |schema| &schema.patch)
}

/// Merges the items of a patch into a list.
pub(super) fn merge(
    old: Vec<Value>,
    items: &[Value],
    schema: Option<&Schema>,
) -> Result<Vec<Value>, Rejection> {
    let key = match strategy(schema) {
        PatchStrategy::None | PatchStrategy::Replace => return Ok(items.to_vec()),
        PatchStrategy::Set => None,
        PatchStrategy::Key(key) => Some(&**key),
    };
    let Some(of_maps) = element_type(&old, items)? else {
        return Ok(old);
    };
    match key {
        None if of_maps => Err(Rejection::Internal(
            "cannot merge lists without merge key for type string".into(),
        )),
        None => {
            let mut merged = old.clone();
            merged.extend_from_slice(items);
            let mut known = BTreeSet::new();
            merged.retain(|item| known.insert(item.to_string()));
            arrange(merged, items, &old, None)
        }
        Some(key) => merge_maps(old, items, key, schema),
    }
}

/// Removes values from a list. A list that is not merged is replaced, as by any other patch.
pub(super) fn without(
    old: Vec<Value>,
    values: &[Value],
    schema: Option<&Schema>,
) -> Result<Vec<Value>, Rejection> {
    let merges = *strategy(schema) != PatchStrategy::Replace;
    if !merges || element_type(&old, values)? != Some(false) {
        return merge(old, values, schema);
    }
    let gone: BTreeSet<String> = values.iter().map(ToString::to_string).collect();
    let stays = |item: &Value| !gone.contains(&item.to_string());
    Ok(old.into_iter().filter(stays).collect())
}

/// Merges a list and brings it into the client's order, which the items of the patch must follow.
/// Returns `None` if there is no list.
pub(super) fn in_order(
    old: Option<Vec<Value>>,
    sent: Option<&Vec<Value>>,
    order: &[Value],
    schema: Option<&Schema>,
) -> Result<Option<Vec<Value>>, Rejection> {
    let key = match strategy(schema) {
        PatchStrategy::Key(key) => Some(&**key),
        PatchStrategy::None | PatchStrategy::Replace | PatchStrategy::Set => None,
    };
    follows(sent.map_or(&[], Vec::as_slice), order, key)?;
    let merged = match (&old, sent) {
        (None, None) => return Ok(None),
        (Some(old), None) => old.clone(),
        (None, Some(items)) => items.iter().filter_map(fresh).collect(),
        (Some(old), Some(items)) => merge(old.clone(), items, schema)?,
    };
    arrange(merged, order, &old.unwrap_or_default(), key).map(Some)
}

/// Whether the elements are maps; `None` if there are none. All of them must be of the same type.
fn element_type(old: &[Value], items: &[Value]) -> Result<Option<bool>, Rejection> {
    let mut all = old.iter().chain(items);
    let Some(first) = all.next() else {
        return Ok(None);
    };
    if first.is_array() {
        return Err(Rejection::Unprocessable);
    }
    if all.any(|one| type_of(one) != type_of(first)) {
        let lists: Vec<String> = [old, items].map(|list| go(&list.into())).to_vec();
        return Err(Rejection::Internal(format!(
            "list element types are not identical: [{}]",
            lists.join(" ")
        )));
    }
    Ok(Some(first.is_object()))
}

/// The identity of an element: the value of its merge key, or the whole element if there is no key.
fn id(item: &Value, key: Option<&str>) -> Result<String, Rejection> {
    let Some(key) = key else {
        return Ok(item.to_string());
    };
    let members = item
        .as_object()
        .ok_or_else(|| bad_type("map[string]interface {}", item))?;
    let value = members.get(key).ok_or_else(|| no_merge_key(item, key))?;
    Ok(value.to_string())
}

fn merge_maps(
    old: Vec<Value>,
    items: &[Value],
    key: &str,
    schema: Option<&Schema>,
) -> Result<Vec<Value>, Rejection> {
    let (old, items) = carry_out(old, items, key)?;
    let mut merged = old.clone();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (place, item) in merged.iter().enumerate() {
        if let Ok(id) = id(item, Some(key)) {
            places.entry(id).or_insert(place);
        }
    }
    let schema = schema.and_then(|schema| schema.items.as_deref());
    for item in &items {
        let id = id(item, Some(key))?;
        let found = places.get(&id).and_then(|place| merged.get_mut(*place));
        match (found, item) {
            (Some(Value::Object(old)), Value::Object(change)) => super::merge(old, change, schema)?,
            (_, item) => {
                places.insert(id, merged.len());
                merged.extend(fresh(item));
            }
        }
    }
    arrange(merged, &items, &old, Some(key))
}

/// Applies the directives among the items: `delete` removes an element, `replace` removes all old
/// ones. Returns the old elements that are left, and the items that are to be merged.
fn carry_out(
    mut old: Vec<Value>,
    items: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Rejection> {
    let mut plain = Vec::with_capacity(items.len());
    let mut gone = BTreeSet::new();
    let mut replaces = false;
    for item in items {
        let directive = item.get(DIRECTIVE);
        match (directive, directive.and_then(Value::as_str)) {
            (None, _) => plain.push(item.clone()),
            (_, Some("delete")) => drop(gone.insert(id(item, Some(key))?)),
            (_, Some("replace")) => replaces = true,
            (_, Some("merge")) => {
                let why = "merging lists cannot yet be specified in the patch";
                return Err(Rejection::Internal(why.into()));
            }
            (Some(other), _) => {
                let members = item.as_object().cloned().unwrap_or_default();
                return Err(unknown_directive(other, &members));
            }
        }
    }
    if replaces {
        return Ok((plain, Vec::new()));
    }
    old.retain(|item| id(item, Some(key)).map_or(true, |id| !gone.contains(&id)));
    Ok((old, plain))
}

/// Checks that the items of a patch come in the order that the patch gives, and that all are in it.
fn follows(items: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Rejection> {
    if order.is_empty() {
        return Ok(());
    }
    let mut named = order.iter();
    for item in items.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let wanted = id(item, key)?;
        loop {
            let Some(next) = named.next() else {
                return Err(Rejection::Internal(format!(
                    "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                    go(&items.into()),
                    go(&order.into())
                )));
            };
            if id(next, key)? == wanted {
                break;
            }
        }
    }
    Ok(())
}

/// Puts the elements that the client names into its order. The others keep theirs; each comes
/// before the first named element that it preceded in the old list.
fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    old: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, Rejection> {
    let (order, old) = (ranks(order, key)?, ranks(old, key)?);
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let id = id(&item, key)?;
        let before = old.get(&id).copied();
        match order.get(&id) {
            Some(rank) => named.push((*rank, before, item)),
            None => others.push((before.unwrap_or(usize::MAX), item)),
        }
    }
    named.sort_by_key(|(rank, ..)| *rank);
    others.sort_by_key(|(before, _)| *before);
    let mut arranged = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, before, item) in named {
        let precedes = |other: &(usize, Value)| before.is_some_and(|before| other.0 < before);
        while let Some((_, other)) = others.next_if(precedes) {
            arranged.push(other);
        }
        arranged.push(item);
    }
    arranged.extend(others.map(|(_, other)| other));
    Ok(arranged)
}

fn ranks(list: &[Value], key: Option<&str>) -> Result<BTreeMap<String, usize>, Rejection> {
    let mut ranks = BTreeMap::new();
    for (rank, item) in list.iter().enumerate() {
        ranks.entry(id(item, key)?).or_insert(rank);
    }
    Ok(ranks)
}
