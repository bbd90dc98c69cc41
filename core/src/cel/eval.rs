//! Evaluation: one walk over the tree, in which each step is charged to the meter.

mod loops;

use super::ast::{Call, Entry, Expr, Node, Select};
use super::compare;
use super::library::optionals;
use super::meter::{Fault, Meter};
use super::value::Value;
use std::sync::Arc;

pub(super) struct Evaluation<'a, 'b> {
    pub(super) variables: &'b [(&'static str, Value<'a>)],
    /// Variables of the enclosing loops, innermost last.
    pub(super) scope: Vec<(&'a str, Value<'a>)>,
    pub(super) meter: &'b mut Meter,
}

type Evaluated<'a> = Result<Value<'a>, Fault>;

impl<'a> Evaluation<'a, '_> {
    pub(super) fn value(&mut self, node: &'a Node) -> Evaluated<'a> {
        self.meter.spend(1)?;
        match &node.expr {
            Expr::Literal(value) => Ok(value.borrowed()),
            Expr::Variable(name) => self.variable(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) if optionals::is_alternative(&call.name, call.member) => {
                self.alternative(call)
            }
            Expr::Call(call) => {
                let mut arguments = Vec::with_capacity(call.arguments.len());
                for argument in &call.arguments {
                    arguments.push(self.value(argument)?);
                }
                (call.native)(self.meter, &arguments)
            }
            Expr::And(nodes) => self.junction(nodes.iter(), false),
            Expr::Or(nodes) => self.junction(nodes.iter(), true),
            Expr::Choice(nodes) => {
                let [condition, then, otherwise] = &**nodes;
                if self.flag(condition)? {
                    self.value(then)
                } else {
                    self.value(otherwise)
                }
            }
            Expr::List(entries) => self.list(entries),
            Expr::Map(entries) => self.map(entries),
            Expr::Loop(found) => self.looped(found),
            Expr::Optional(found) => self.optional(found),
        }
    }

    /// `a.orValue(b)` and `a.or(b)`: `b` is evaluated only if `a` has no value.
    fn alternative(&mut self, call: &'a Call) -> Evaluated<'a> {
        let [target, otherwise] = call.arguments.as_slice() else {
            return Err(Fault::no_overload());
        };
        let value = &*call.name == "orValue";
        match self.value(target)? {
            Value::Optional(Some(inner)) if value => Ok((*inner).clone()),
            Value::Optional(None) if value => self.value(otherwise),
            found @ Value::Optional(Some(_)) => Ok(found),
            Value::Optional(None) => match self.value(otherwise)? {
                found @ Value::Optional(_) => Ok(found),
                _ => Err(Fault::no_overload()),
            },
            _ => Err(Fault::no_overload()),
        }
    }

    fn variable(&self, name: &str) -> Evaluated<'a> {
        let mut scope = self.scope.iter().rev();
        if let Some((_, value)) = scope.find(|(one, _)| *one == name) {
            return Ok(value.clone());
        }
        let mut variables = self.variables.iter();
        if let Some((_, value)) = variables.find(|(one, _)| *one == name) {
            return Ok(value.clone());
        }
        let found = super::check::TYPES.into_iter().find(|one| *one == name);
        let missing = || Fault::failed(format!("no such attribute(s): {name}"));
        found.map(Value::Type).ok_or_else(missing)
    }

    fn flag(&mut self, node: &'a Node) -> Result<bool, Fault> {
        match self.value(node)? {
            Value::Bool(flag) => Ok(flag),
            _ => Err(Fault::no_overload()),
        }
    }

    /// `&&` and `||`: an operand with the value `settles` decides the result, even if other
    /// operands fail.
    fn junction(&mut self, nodes: impl Iterator<Item = &'a Node>, settles: bool) -> Evaluated<'a> {
        let mut wrong = None;
        for node in nodes {
            match self.flag(node) {
                Ok(flag) if flag == settles => return Ok(Value::Bool(settles)),
                Ok(_) => {}
                Err(Fault::Exhausted) => return Err(Fault::Exhausted),
                Err(fault) => wrong = wrong.or(Some(fault)),
            }
        }
        wrong.map_or(Ok(Value::Bool(!settles)), Err)
    }

    fn select(&mut self, select: &'a Select) -> Evaluated<'a> {
        let operand = self.value(&select.operand)?;
        let (operand, wrapped) = match operand {
            Value::Optional(None) if select.test => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => ((*inner).clone(), true),
            other => (other, select.optional),
        };
        if select.test {
            return self.has(&operand, &select.field).map(Value::Bool);
        }
        let found = self.member(&operand, &select.field)?;
        match (found, wrapped) {
            (found, true) => Ok(Value::Optional(found.map(Arc::new))),
            (Some(found), false) => Ok(found),
            (None, false) => Err(Fault::failed(format!("no such key: {}", select.field))),
        }
    }

    /// Whether a field is present. The value of a document's field is not read for this.
    fn has(&mut self, of: &Value<'a>, name: &str) -> Result<bool, Fault> {
        match of {
            Value::Object(members, _) => Ok(members.contains_key(name) && !of.leaves_out(name)),
            _ => self.member(of, name).map(|found| found.is_some()),
        }
    }

    fn member(&mut self, of: &Value<'a>, name: &str) -> Result<Option<Value<'a>>, Fault> {
        match of {
            Value::Object(..) if of.leaves_out(name) => Ok(None),
            Value::Object(..) => of.member(self.meter, name),
            Value::Map(_) => compare::find(self.meter, of, &Value::text(name)),
            _ => Err(Fault::no_overload()),
        }
    }

    /// Returns the value of an entry, or `None` for an optional entry without a value.
    fn entry(&mut self, entry: &'a Entry) -> Result<Option<Value<'a>>, Fault> {
        let value = self.value(&entry.value)?;
        match (entry.optional, value) {
            (false, value) => Ok(Some(value)),
            (true, Value::Optional(value)) => Ok(value.map(|value| (*value).clone())),
            (true, _) => Err(Fault::no_overload()),
        }
    }

    fn list(&mut self, entries: &'a [Entry]) -> Evaluated<'a> {
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            items.extend(self.entry(entry)?);
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, entries: &'a [(Node, Entry)]) -> Evaluated<'a> {
        let mut made: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
        for (key, entry) in entries {
            let key = self.value(key)?;
            if !key.is_key() {
                let why = format!("unsupported key type: {}", key.type_name());
                return Err(Fault::failed(why));
            }
            for (known, _) in &made {
                if compare::equal(self.meter, known, &key)? {
                    return Err(Fault::failed("Failed with repeated key"));
                }
            }
            if let Some(value) = self.entry(entry)? {
                made.push((key, value));
            }
        }
        Ok(Value::Map(Arc::new(made)))
    }
}
