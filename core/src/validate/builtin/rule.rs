//! One row of the table: where to look in an object, and what must hold there.

use super::{Field, IMMUTABLE, Subject, checks};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::names;
use std::collections::BTreeSet;

/// A path in the syntax of [`Field::select`], or `.` for the object itself, and the tests at its end, in order.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) way: String,
    tests: Vec<Test>,
}

#[derive(Debug)]
enum Test {
    /// `required TEXT`: present and not empty.
    Required(&'static str),
    /// `present TEXT`: present, if only as an empty object.
    Present(&'static str),
    /// `atleast N`.
    AtLeast(i64),
    /// `atmost NAME`: not greater than this member of the status, by the name that upstream gives it.
    AtMost(&'static str),
    /// `between A B`.
    Between(i64, i64),
    /// `oneof A B C`.
    OneOf(Vec<&'static str>),
    /// `label`: a DNS-1123 label.
    Label,
    /// `unique MEMBER`: no two items have the same value in this member.
    Unique(&'static str),
    /// `immutable`: unchanged by an update; reported as invalid.
    Immutable(&'static str),
    /// `frozen TEXT`: unchanged by an update; reported as forbidden.
    Frozen(&'static str),
    /// `check NAME`: what a function says.
    Call(Check),
}

/// A function that checks a place of an object.
pub(super) type Check = fn(&Field<'_>, &Subject<'_>, &mut CauseList);

impl Rule {
    pub(super) fn parse(way: String, tests: &'static str) -> Option<Self> {
        let tests: Option<Vec<Test>> = tests.split(';').map(test).collect();
        let tests = tests?;
        Some(Self { way, tests })
    }

    pub(super) fn check(&self, subject: &Subject<'_>, causes: &mut CauseList) {
        let places = match &*self.way {
            "." => vec![subject.new.clone()],
            way => subject.new.select(way),
        };
        for place in places {
            if causes.is_full() {
                return;
            }
            for test in &self.tests {
                test.check(&place, subject, causes);
            }
        }
    }
}

fn test(text: &'static str) -> Option<Test> {
    let text = text.trim();
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    Some(match name {
        "required" => Test::Required(rest),
        "present" => Test::Present(rest),
        "atleast" => Test::AtLeast(rest.parse().ok()?),
        "atmost" => Test::AtMost(rest),
        "between" => {
            let (low, high) = rest.split_once(' ')?;
            Test::Between(low.parse().ok()?, high.parse().ok()?)
        }
        "oneof" => Test::OneOf(rest.split_whitespace().collect()),
        "label" => Test::Label,
        "unique" => Test::Unique(rest),
        "immutable" if rest.is_empty() => Test::Immutable(IMMUTABLE),
        "immutable" => Test::Immutable(rest),
        "frozen" => Test::Frozen(rest),
        "check" => Test::Call(checks::named(rest)?),
        _ => return None,
    })
}

impl Test {
    fn check(&self, place: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
        match self {
            Self::Required(why) if place.is_empty() => causes.push_with(|| place.required(why)),
            Self::Present(why) if place.is_absent() => causes.push_with(|| place.required(why)),
            Self::AtLeast(low) => place.at_least(*low, causes),
            Self::AtMost(name) => at_most(place, name, subject, causes),
            Self::Between(low, high) if out_of(place, *low, *high) => {
                let why = format!("must be between {low} and {high}, inclusive");
                causes.push_with(|| place.invalid(&why));
            }
            Self::OneOf(values) => place.one_of(values, causes),
            Self::Label if !place.is_empty() => {
                if let Err(why) = names::label(place.text()) {
                    causes.push_with(|| place.invalid(&why));
                }
            }
            Self::Unique(member) => unique(place, member, causes),
            Self::Immutable(why) if subject.changes(place) => {
                causes.push_with(|| place.invalid(why));
            }
            Self::Frozen(why) if subject.changes(place) => {
                causes.push_with(|| place.forbidden(why));
            }
            Self::Call(check) => check(place, subject, causes),
            Self::Required(_)
            | Self::Present(_)
            | Self::Between(..)
            | Self::Label
            | Self::Immutable(_)
            | Self::Frozen(_) => {}
        }
    }
}

/// An absent number is 0, which is more than a negative one.
fn at_most(place: &Field<'_>, name: &str, subject: &Subject<'_>, causes: &mut CauseList) {
    let status = subject.new.child("status");
    let most = status.child(name.trim_start_matches("status.")).number();
    if place.number() > most {
        let (number, why) = (place.number(), format!("cannot be greater than {name}"));
        causes.push_with(|| place.invalid_as(&number.to_string(), &why));
    }
}

/// An absent number is not out of bounds: `required` tests for that.
fn out_of(place: &Field<'_>, low: i64, high: i64) -> bool {
    let number = place.value.as_i64().filter(|number| *number != 0);
    number.is_some_and(|number| !(low..=high).contains(&number))
}

fn unique(list: &Field<'_>, member: &str, causes: &mut CauseList) {
    let mut seen = BTreeSet::new();
    for item in list.items() {
        let name = item.child(member);
        if name.is_empty() {
            continue;
        }
        if !seen.insert(name.value.to_string()) {
            causes.push_with(|| FieldCause::duplicate(name.path.as_str(), name.value));
        }
    }
}
