//! Evaluation of loops, `optMap` and `optFlatMap`.

use super::super::ast::{Loop, LoopKind, Optional};
use super::super::library::{convert, lists, sequences};
use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::{Evaluated, Evaluation};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What one pass of a loop is about: the first variable, and the second if there is one.
type Pass<'a> = (Value<'a>, Option<Value<'a>>);

impl<'a> Evaluation<'a, '_> {
    pub(super) fn looped(&mut self, found: &'a Loop) -> Evaluated<'a> {
        let range = self.value(&found.range)?;
        let items = lists::items(self.meter, &range)?;
        let passes = match found.second {
            None => items.into_iter().map(|item| (item, None)).collect(),
            Some(_) => pairs(self.meter, &range, items)?,
        };
        match found.kind {
            LoopKind::All => self.quantified(found, passes, false),
            LoopKind::Exists => self.quantified(found, passes, true),
            LoopKind::ExistsOne => {
                let kept = self.kept(found, passes)?;
                Ok(Value::Bool(kept.len() == 1))
            }
            LoopKind::Filter => Ok(Value::list(self.kept(found, passes)?)),
            LoopKind::Map => {
                let made = self.mapped(found, passes)?;
                Ok(Value::list(
                    made.into_iter().map(|(_, value)| value).collect(),
                ))
            }
            LoopKind::Values => Ok(Value::Map(Arc::new(self.mapped(found, passes)?))),
            LoopKind::Entries => {
                let made = self.mapped(found, passes)?;
                merged(self.meter, made)
            }
            LoopKind::Sort => {
                let keyed = self.mapped(found, passes)?;
                sequences::sort_by_keys(self.meter, &range, keyed)
            }
        }
    }

    fn with<T>(
        &mut self,
        found: &'a Loop,
        (first, second): Pass<'a>,
        call: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.scope.len();
        self.scope.push((&found.variable, first));
        if let (Some(name), Some(value)) = (&found.second, second) {
            self.scope.push((name, value));
        }
        let made = call(self);
        self.scope.truncate(before);
        made
    }

    fn quantified(
        &mut self,
        found: &'a Loop,
        passes: Vec<Pass<'a>>,
        settles: bool,
    ) -> Evaluated<'a> {
        let mut wrong = None;
        for pass in passes {
            match self.with(found, pass, |one| one.flag(&found.body)) {
                Ok(flag) if flag == settles => return Ok(Value::Bool(settles)),
                Ok(_) => {}
                Err(Fault::Exhausted) => return Err(Fault::Exhausted),
                Err(fault) => wrong = wrong.or(Some(fault)),
            }
        }
        wrong.map_or(Ok(Value::Bool(!settles)), Err)
    }

    fn kept(&mut self, found: &'a Loop, passes: Vec<Pass<'a>>) -> Result<Vec<Value<'a>>, Fault> {
        let mut kept = Vec::new();
        for pass in passes {
            let first = pass.0.clone();
            if self.with(found, pass, |one| one.flag(&found.body))? {
                kept.push(first);
            }
        }
        Ok(kept)
    }

    /// The value of the body in each pass that the condition lets through, with the first variable.
    fn mapped(
        &mut self,
        found: &'a Loop,
        passes: Vec<Pass<'a>>,
    ) -> Result<Vec<(Value<'a>, Value<'a>)>, Fault> {
        let mut made = Vec::with_capacity(passes.len());
        for pass in passes {
            let first = pass.0.clone();
            let value = self.with(found, pass, |one| match &found.condition {
                Some(condition) if !one.flag(condition)? => Ok(None),
                _ => one.value(&found.body).map(Some),
            })?;
            made.extend(value.map(|value| (first, value)));
        }
        Ok(made)
    }

    pub(super) fn optional(&mut self, found: &'a Optional) -> Evaluated<'a> {
        let Value::Optional(target) = self.value(&found.target)? else {
            return Err(Fault::no_overload());
        };
        let Some(target) = target else {
            return Ok(Value::Optional(None));
        };
        self.scope.push((&found.variable, (*target).clone()));
        let value = self.value(&found.body);
        self.scope.pop();
        match (found.flat, value?) {
            (false, value) => Ok(Value::some(value)),
            (true, value @ Value::Optional(_)) => Ok(value),
            (true, _) => Err(Fault::no_overload()),
        }
    }
}

/// Pairs the items of a list with their indexes, or the keys of a map with their values.
fn pairs<'a>(
    meter: &mut Meter,
    range: &Value<'a>,
    items: Vec<Value<'a>>,
) -> Result<Vec<Pass<'a>>, Fault> {
    meter.spend(items.len() as u64)?;
    match range {
        Value::Map(entries) => {
            let entries = entries.iter();
            Ok(entries
                .map(|(key, value)| (key.clone(), Some(value.clone())))
                .collect())
        }
        Value::Object(members, _) => {
            let keys = items.into_iter().zip(members.keys());
            let pairs = keys.map(|(key, name)| Ok((key, range.member(meter, name)?)));
            pairs.collect()
        }
        _ => {
            let indexes = (0..).map(Value::Int);
            Ok(indexes.zip(items.into_iter().map(Some)).collect())
        }
    }
}

/// A key in an order in which keys that are equal are next to each other.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Bool(bool),
    Number(i128),
    Text(String),
}

/// The map with the entries of all of these maps, whose keys must differ. Source: `InsertMapKeyValue`.
fn merged<'a>(meter: &mut Meter, maps: Vec<(Value<'a>, Value<'a>)>) -> Evaluated<'a> {
    let mut made = Vec::new();
    let mut known = BTreeSet::new();
    for (_, map) in maps {
        if map.type_name() != "map" {
            return Err(Fault::no_overload());
        }
        let keys = lists::items(meter, &map)?;
        for (key, value) in pairs(meter, &map, keys)? {
            if !known.insert(sorted(meter, &key)?) {
                let shown = convert::written(meter, &key)?;
                let why = format!("insert failed: key {shown} already exists");
                return Err(Fault::failed(why));
            }
            made.extend(value.map(|value| (key, value)));
        }
    }
    Ok(Value::Map(Arc::new(made)))
}

fn sorted(meter: &mut Meter, key: &Value<'_>) -> Result<Key, Fault> {
    match key {
        Value::Bool(flag) => Ok(Key::Bool(*flag)),
        Value::Int(number) => Ok(Key::Number((*number).into())),
        Value::Uint(number) => Ok(Key::Number((*number).into())),
        Value::Text(text) => {
            meter.text(text.as_str().len())?;
            Ok(Key::Text(text.as_str().to_owned()))
        }
        _ => Err(Fault::no_overload()),
    }
}
