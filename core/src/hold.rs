//! What holds an object that is being deleted: whatever is removed too early, or is never removed, follows from this.

#[cfg(test)]
mod tests;

use crate::State;
use crate::object::{
    DEFINITION_FINALIZER, NAMESPACE_TOKEN, Object, is_collector_finalizer, spec_finalizers,
};
use serde_json::Value;
use std::borrow::Cow;
use std::iter;

/// Something that holds an object that is being deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold<'a> {
    /// One of its finalizers.
    Finalizer(&'a str),
    /// A token in the `spec.finalizers` of a namespace.
    Token(Cow<'a, str>),
    /// What is left in a namespace, or of the instances of a definition.
    Contents,
    /// It has so many seconds to stop.
    Seconds(i64),
}

impl Hold<'_> {
    /// Whether clients let go of it. Otherwise the collectors do.
    pub fn is_of_clients(&self) -> bool {
        match self {
            Self::Finalizer(name) => !is_collector_finalizer(name) && *name != DEFINITION_FINALIZER,
            Self::Token(name) => name != NAMESPACE_TOKEN,
            Self::Contents => false,
            Self::Seconds(_) => true,
        }
    }
}

/// What holds this object if it is being deleted.
pub fn holds<'a>(state: &'a State, object: &'a Object) -> impl Iterator<Item = Hold<'a>> {
    let finalizers = object.meta.finalizers.iter().map(|one| &**one);
    let document = object.key.is_namespace().then(|| object.document());
    let tokens: Vec<String> = document.map_or_else(Vec::new, |document| {
        let tokens = spec_finalizers(&document).iter();
        tokens.map(|one| name(one).to_owned()).collect()
    });
    in_order(
        (state, object),
        finalizers,
        tokens.into_iter().map(Cow::Owned),
    )
}

/// What would hold it after a write of this next version.
pub(crate) fn holds_next<'a>(
    state: &'a State,
    stored: &'a Object,
    next: &'a Value,
) -> impl Iterator<Item = Hold<'a>> {
    let finalizers = next
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    let finalizers = finalizers.map_or(&[][..], Vec::as_slice).iter().map(name);
    let tokens = if stored.key.is_namespace() {
        spec_finalizers(next)
    } else {
        &[]
    };
    let tokens = tokens.iter().map(|one| Cow::Borrowed(name(one)));
    in_order((state, stored), finalizers, tokens)
}

/// All of them, each looked for when it is asked for: whether there is a first is asked with every write of an object
/// in deletion.
fn in_order<'a>(
    (state, object): (&'a State, &'a Object),
    finalizers: impl Iterator<Item = &'a str>,
    tokens: impl Iterator<Item = Cow<'a, str>>,
) -> impl Iterator<Item = Hold<'a>> {
    let contents = iter::once_with(move || has_contents(state, object));
    let contents = contents.filter(|has_contents| *has_contents);
    let seconds = object.meta.deletion_grace_period_seconds;
    let seconds = seconds.filter(|seconds| *seconds != 0);
    finalizers
        .map(Hold::Finalizer)
        .chain(tokens.map(Hold::Token))
        .chain(contents.map(|_| Hold::Contents))
        .chain(seconds.map(Hold::Seconds))
}

/// Whether anything is left in a namespace, or of the instances of a definition.
pub(crate) fn has_contents(state: &State, container: &Object) -> bool {
    let key = &container.key;
    if key.is_namespace() {
        state.population(&key.name) > 0
    } else {
        key.is_definition() && state.instances(key).next().is_some()
    }
}

/// An entry that is no text holds too.
fn name(entry: &Value) -> &str {
    entry.as_str().unwrap_or_default()
}
