//! A place in a document: its path, as causes name it, and its value.

use super::names;
use crate::rejection::{CauseList, FieldCause};
use serde_json::Value;

static ABSENT: Value = Value::Null;

/// A value with its path. An absent value is null, at any depth, as absent fields are zero values
/// in Go.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> Field<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        let path = String::new();
        Self { path, value }
    }

    /// Returns a member of an object.
    pub(super) fn child(&self, name: &str) -> Self {
        let mut path = String::with_capacity(self.path.len() + 1 + name.len());
        path.push_str(&self.path);
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        let value = self.value.get(name).unwrap_or(&ABSENT);
        Self { path, value }
    }

    /// Follows a path of plain names, such as `spec.template`.
    pub(super) fn at(&self, way: &str) -> Self {
        let steps = way.split('.');
        steps.fold(self.clone(), |place, name| place.child(name))
    }

    /// Follows a path in which `name[]` stands for every item of a list, and `name?` is followed
    /// only if the member is present.
    pub(super) fn select(&self, way: &str) -> Vec<Self> {
        let mut places = vec![self.clone()];
        for step in way.split('.') {
            places = places.iter().flat_map(|place| place.step(step)).collect();
        }
        places
    }

    fn step(&self, step: &str) -> Vec<Self> {
        if let Some(name) = step.strip_suffix("[]") {
            return self.child(name).items().collect();
        }
        let next = self.child(step.trim_end_matches('?'));
        let absent = step.ends_with('?') && next.value.is_null();
        (!absent).then_some(next).into_iter().collect()
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let list = self.value.as_array().map_or(&[][..], Vec::as_slice);
        let base = self.path.clone();
        list.iter().enumerate().map(move |(index, value)| Self {
            path: format!("{base}[{index}]"),
            value,
        })
    }

    /// Returns the entries of a map, with paths such as `data[a.b]`.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let base = self.path.clone();
        let members = self.value.as_object().into_iter().flatten();
        members.map(move |(key, value)| {
            let path = [&base, "[", key, "]"].concat();
            (key.as_str(), Self { path, value })
        })
    }

    /// Returns the string at this place; empty if there is none.
    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Returns the number at this place; 0 if there is none.
    pub(super) fn number(&self) -> i64 {
        self.value.as_i64().unwrap_or(0)
    }

    pub(super) fn is_absent(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    /// Whether the value is what Go calls a zero value.
    pub(super) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::Bool(set) => !set,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
        }
    }

    pub(super) fn invalid(&self, why: &str) -> FieldCause {
        FieldCause::invalid(self.path.as_str(), self.value, why)
    }

    /// Reports the value in the form in which upstream shows it.
    pub(super) fn invalid_as(&self, shown: &str, why: &str) -> FieldCause {
        FieldCause::invalid_as(self.path.as_str(), shown, why)
    }

    /// Reports everything that is wrong with the value.
    pub(super) fn refuse(
        &self,
        problems: impl IntoIterator<Item = String>,
        causes: &mut CauseList,
    ) {
        causes.extend(problems.into_iter().map(|why| self.invalid(&why)));
    }

    pub(super) fn at_least(&self, low: i64, causes: &mut CauseList) {
        if self.value.as_i64().is_some_and(|number| number < low) {
            causes.push_with(|| self.invalid(&format!("must be greater than or equal to {low}")));
        }
    }

    /// Reports a value that is none of these; an empty one passes.
    pub(super) fn one_of(&self, supported: &[&str], causes: &mut CauseList) {
        if !self.is_empty() && !supported.contains(&self.text()) {
            causes.push_with(|| self.not_supported(supported));
        }
    }

    /// Reports a text that is no DNS subdomain; an empty one passes.
    pub(super) fn check_subdomain(&self, causes: &mut CauseList) {
        if !self.is_empty() {
            self.refuse(names::subdomain(self.text()).err(), causes);
        }
    }

    /// Reports a text that must be there, and can be a part of a path.
    pub(super) fn check_segment(&self, why: &str, causes: &mut CauseList) {
        if self.is_empty() {
            causes.push_with(|| self.required(why));
        }
        self.refuse(names::path_segment(self.text()).err(), causes);
    }

    pub(super) fn required(&self, why: &str) -> FieldCause {
        FieldCause::required(self.path.as_str(), why)
    }

    pub(super) fn forbidden(&self, why: &str) -> FieldCause {
        FieldCause::forbidden(self.path.as_str(), why)
    }

    pub(super) fn duplicate(&self) -> FieldCause {
        FieldCause::duplicate(self.path.as_str(), self.value)
    }

    pub(super) fn not_found(&self) -> FieldCause {
        FieldCause::not_found(self.path.as_str(), self.value)
    }

    pub(super) fn not_supported(&self, supported: &[&str]) -> FieldCause {
        FieldCause::not_supported(self.path.as_str(), self.text(), supported)
    }
}
