//! The types of expressions that bring variables into scope: loops, `optMap` and `optFlatMap`.

use super::super::ast::{Loop, LoopKind, Node, Optional};
use super::super::library::sequences::SORT_BY;
use super::super::types::Type;
use super::super::{CompileError, DEPTH_MAX, signature};
use super::{Checked, Checker, applied, mismatch};
use std::sync::Arc;

impl<'s> Checker<'_, 's> {
    pub(super) fn looped(&mut self, at: usize, found: &mut Loop) -> Checked<'s> {
        let range = self.check(&mut found.range)?;
        let (key, value) = self.parts(found.range.at, &range)?;
        let is_list = key.is_none();
        let key = key.unwrap_or(Type::INT);
        let variables = match (&found.second, is_list) {
            (Some(second), _) => vec![(&found.variable, &key), (second, &value)],
            (None, true) => vec![(&found.variable, &value)],
            (None, false) => vec![(&found.variable, &key)],
        };
        let before = self.scope.len();
        for (name, found) in variables {
            self.declare(at, name, found)?;
        }
        let condition = found.condition.as_mut().map(|node| self.check(node));
        let condition = condition.transpose()?;
        let body = self.check(&mut found.body)?;
        self.scope.truncate(before);
        let decides = match found.kind {
            LoopKind::Map | LoopKind::Values | LoopKind::Entries | LoopKind::Sort => {
                condition.as_ref()
            }
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne | LoopKind::Filter => {
                Some(&body)
            }
        };
        if let Some(found) = decides.filter(|found| !found.is("bool") && !found.is_dyn()) {
            let why = format!("expected type 'bool' but found '{found}'");
            return Err(self.error(at, why));
        }
        Ok(match found.kind {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => Type::BOOL,
            LoopKind::Map => Type::List(Arc::new(body)),
            LoopKind::Filter => Type::List(Arc::new(if is_list { value } else { key })),
            LoopKind::Values => Type::Map(Arc::new(key), Arc::new(body)),
            LoopKind::Entries => return self.entries(&found.body, body),
            LoopKind::Sort => return self.sorted(at, range, body),
        })
    }

    /// The types of what a loop goes over: of the keys, if it is a map, and of the items or values.
    fn parts(
        &self,
        at: usize,
        range: &Type<'s>,
    ) -> Result<(Option<Type<'s>>, Type<'s>), CompileError> {
        match range {
            Type::List(items) => Ok((None, (**items).clone())),
            Type::Map(key, value) => Ok((Some((**key).clone()), (**value).clone())),
            Type::Dyn => Ok((Some(Type::Dyn), Type::Dyn)),
            other => {
                let why = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, \
                     map, or dynamic)"
                );
                Err(self.error(at, why))
            }
        }
    }

    /// The type of a list that is sorted by keys of this type; the message names upstream's function.
    fn sorted(&self, at: usize, range: Type<'s>, key: Type<'s>) -> Checked<'s> {
        let given = [range, Type::List(Arc::new(key))];
        let known = signature::named(SORT_BY).iter();
        let mut found = known.filter_map(|signature| applied(signature, &given));
        let mismatch = || self.error(at, mismatch(SORT_BY, true, &given));
        found.next().ok_or_else(mismatch)
    }

    /// The type of the map that takes entries of this type; the message names upstream's function.
    fn entries(&self, node: &Node, found: Type<'s>) -> Checked<'s> {
        match found {
            Type::Map(..) => Ok(found),
            Type::Dyn => Ok(Type::Map(Arc::new(Type::Dyn), Arc::new(Type::Dyn))),
            other => {
                let why = format!(
                    "found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), {other})'"
                );
                Err(self.error(node.at, why))
            }
        }
    }

    /// Brings a loop variable into scope. Its type may already be deep, and types are walked
    /// recursively too, so the depth is checked.
    fn declare(
        &mut self,
        at: usize,
        name: &Arc<str>,
        found: &Type<'s>,
    ) -> Result<(), CompileError> {
        if found.is_deeper_than(DEPTH_MAX) {
            let why = format!("expression type recursion limit exceeded: {DEPTH_MAX}");
            return Err(self.error(at, why));
        }
        self.scope.push((Arc::clone(name), found.clone()));
        Ok(())
    }

    pub(super) fn optional(&mut self, at: usize, found: &mut Optional) -> Checked<'s> {
        let target = match self.check(&mut found.target)? {
            Type::Optional(inner) => (*inner).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                let why = format!("expected type 'optional_type(dyn)' but found '{other}'");
                return Err(self.error(at, why));
            }
        };
        self.declare(at, &found.variable, &target)?;
        let body = self.check(&mut found.body)?;
        self.scope.pop();
        Ok(match (found.flat, body) {
            (true, body @ (Type::Optional(_) | Type::Dyn)) => body,
            (true, other) => {
                let why = format!("expected type 'optional_type(dyn)' but found '{other}'");
                return Err(self.error(at, why));
            }
            (false, body) => Type::Optional(Arc::new(body)),
        })
    }
}
