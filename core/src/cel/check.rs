//! The type checker: finds the type of an expression before there are values. It resolves every
//! name, and picks for every call a function that accepts the types of its arguments.

mod loops;

use super::ast::{Call, Entry, Expr, Node, Select};
use super::signature::{self, Signature};
use super::types::{Bindings, Type};
use super::value::Value;
use super::{CompileError, Env, PATTERNS_MAX, library};
use crate::duration::parse as parse_go_duration;
use std::sync::Arc;

/// Type names that are themselves values. Source: `cel-go`'s standard library, and those of upstream's
/// libraries that declare their types.
pub(super) const TYPES: [&str; 14] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "net.CIDR",
    "net.IP",
    "null_type",
    "string",
    "type",
    "uint",
];

/// Types that may be keys of maps. Source: the language definition. None of them has type
/// parameters, which also keeps types from growing faster than the expression.
const KEYS: [&str; 4] = ["bool", "int", "string", "uint"];

pub(super) struct Checker<'a, 's> {
    pub(super) source: &'a str,
    pub(super) env: &'a Env<'s>,
    /// Variables of the enclosing loops, innermost last.
    pub(super) scope: Vec<(Arc<str>, Type<'s>)>,
    /// Number of literal regular expressions so far.
    pub(super) patterns: usize,
}

type Checked<'s> = Result<Type<'s>, CompileError>;

impl<'s> Checker<'_, 's> {
    fn error(&self, at: usize, why: impl std::fmt::Display) -> CompileError {
        CompileError::new(self.source, at, why)
    }

    /// Returns the type of an expression, and resolves the names and functions in it.
    pub(super) fn check(&mut self, node: &mut Node) -> Checked<'s> {
        let at = node.at;
        if let Some(name) = qualified(&node.expr) {
            self.qualify(node, &name);
        }
        if let Some(name) = self.dotted(&node.expr) {
            node.expr = Expr::Variable(name);
        }
        match &mut node.expr {
            Expr::Literal(value) => Ok(match value.type_name() {
                "null_type" => Type::NULL,
                name => Type::Plain(name),
            }),
            Expr::Variable(name) => self.variable(at, name),
            Expr::Select(select) => self.select(at, select),
            Expr::Call(call) => self.call(at, call),
            Expr::And(nodes) => self.junction(nodes, "_&&_"),
            Expr::Or(nodes) => self.junction(nodes, "_||_"),
            Expr::Choice(nodes) => self.choice(at, nodes),
            Expr::List(entries) => self.list(entries),
            Expr::Map(entries) => self.map(entries),
            Expr::Loop(found) => self.looped(at, found),
            Expr::Optional(found) => self.optional(at, found),
        }
    }

    fn known(&self, name: &str) -> Option<Type<'s>> {
        let mut scope = self.scope.iter().rev();
        let local = scope
            .find(|(one, _)| **one == *name)
            .map(|(_, found)| found);
        let mut variables = self.env.variables.iter();
        let global = || {
            let found = variables.find(|(one, _)| *one == name);
            found.map(|(_, found)| found)
        };
        local.or_else(global).cloned()
    }

    fn variable(&self, at: usize, name: &str) -> Checked<'s> {
        if let Some(found) = self.known(name) {
            return Ok(found);
        }
        if TYPES.contains(&name) {
            return Ok(Type::Plain("type"));
        }
        let why = format!("undeclared reference to '{name}' (in container '')");
        Err(self.error(at, why))
    }

    /// Treats `optional.of(...)` as a function of a namespace, unless a variable is called
    /// `optional`.
    fn qualify(&self, node: &mut Node, (space, name): &(Arc<str>, Arc<str>)) {
        let full: Arc<str> = format!("{space}.{name}").into();
        if self.known(space).is_some() || signature::named(&full).is_empty() {
            return;
        }
        if let Expr::Call(call) = &mut node.expr {
            call.arguments.remove(0);
            call.member = false;
            call.name = full;
        }
    }

    /// Returns the variable or type that a selection names, where the name contains a dot.
    fn dotted(&self, expr: &Expr) -> Option<Arc<str>> {
        let Expr::Select(select) = expr else {
            return None;
        };
        let name = dotted_name(select)?;
        let head = name.split('.').next().unwrap_or_default();
        let is_known = TYPES.contains(&&*name) || self.known(&name).is_some();
        (is_known && !self.is_local(head)).then(|| name.into())
    }

    fn is_local(&self, name: &str) -> bool {
        self.scope.iter().any(|(one, _)| **one == *name)
    }

    fn select(&mut self, at: usize, select: &mut Select) -> Checked<'s> {
        let operand = self.check(&mut select.operand)?;
        let (inner, wrapped) = match &operand {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), select.optional),
        };
        let found = self.member(at, select, &inner)?;
        Ok(match (select.test, wrapped) {
            (true, _) => Type::BOOL,
            (false, true) => Type::Optional(Arc::new(found)),
            (false, false) => found,
        })
    }

    fn member(&self, at: usize, select: &mut Select, of: &Type<'s>) -> Checked<'s> {
        match of {
            Type::Dyn => Ok(Type::Dyn),
            Type::Map(key, value) if key.is("string") || key.is_dyn() => Ok((**value).clone()),
            Type::Object(_) | Type::Resource(_) | Type::Record(_) => {
                let member = of.member(&select.field).filter(|_| !select.quoted);
                let (name, found) = member
                    .ok_or_else(|| self.error(at, format!("undefined field '{}'", select.field)))?;
                select.field = name;
                Ok(found)
            }
            other => {
                let why = format!("type '{other}' does not support field selection");
                Err(self.error(at, why))
            }
        }
    }

    fn call(&mut self, at: usize, call: &mut Call) -> Checked<'s> {
        let mut given = Vec::with_capacity(call.arguments.len());
        for argument in &mut call.arguments {
            given.push(match &mut argument.expr {
                Expr::List(entries) if &*call.name == "format" => self.mixed(entries)?,
                _ => self.check(argument)?,
            });
        }
        let known = signature::named(&call.name);
        if known.is_empty() {
            let why = format!("undeclared reference to '{}' (in container '')", call.name);
            return Err(self.error(at, why));
        }
        let mut results: Vec<Type<'s>> = Vec::new();
        for signature in known.iter().filter(|one| one.member == call.member) {
            if let Some(result) = applied(signature, &given) {
                call.native = signature.native;
                results.push(result);
            }
        }
        match results.as_slice() {
            [] => Err(self.error(at, mismatch(&call.name, call.member, &given))),
            [first, rest @ ..] => {
                let same = rest.iter().all(|one| one.to_string() == first.to_string());
                self.literal_times(call)?;
                self.compile_patterns(call)?;
                Ok(if same { first.clone() } else { Type::Dyn })
            }
        }
    }

    /// Refuses a literal argument of `duration` or `timestamp` that cannot be parsed.
    fn literal_times(&self, call: &Call) -> Result<(), CompileError> {
        let [node] = call.arguments.as_slice() else {
            return Ok(());
        };
        let Expr::Literal(Value::Text(text)) = &node.expr else {
            return Ok(());
        };
        let known = match &*call.name {
            "duration" => parse_go_duration(text.as_str()).is_some(),
            "timestamp" => super::time::timestamp(text.as_str()).is_some(),
            _ => true,
        };
        let wrong = || self.error(node.at, format!("invalid {} argument", call.name));
        known.then_some(()).ok_or_else(wrong)
    }

    /// Compiles a regular expression that is a literal once, here, and refuses it if that fails.
    fn compile_patterns(&mut self, call: &mut Call) -> Result<(), CompileError> {
        if !library::PATTERNS.contains(&&*call.name) {
            return Ok(());
        }
        let Some(node) = call.arguments.get_mut(1) else {
            return Ok(());
        };
        let Expr::Literal(Value::Text(text)) = &node.expr else {
            return Ok(());
        };
        self.patterns += 1;
        if self.patterns > PATTERNS_MAX {
            let why = format!("expression has more than {PATTERNS_MAX} regular expressions");
            return Err(self.error(node.at, why));
        }
        let compiled = self.env.patterns.compile(text.as_str());
        let compiled = compiled.map_err(|why| self.error(node.at, why))?;
        node.expr = Expr::Literal(Value::Pattern(compiled));
        Ok(())
    }

    fn junction(&mut self, nodes: &mut [Node], operator: &str) -> Checked<'s> {
        for node in nodes {
            let found = self.check(node)?;
            if !found.is("bool") && !found.is_dyn() {
                let why = format!("expected type 'bool' but found '{found}' in '{operator}'");
                return Err(self.error(node.at, why));
            }
        }
        Ok(Type::BOOL)
    }

    fn choice(&mut self, at: usize, nodes: &mut [Node; 3]) -> Checked<'s> {
        let [condition, then, otherwise] = nodes;
        let found = self.check(condition)?;
        let (then, otherwise) = (self.check(then)?, self.check(otherwise)?);
        let joined = join(&then, &otherwise).filter(|_| found.is("bool") || found.is_dyn());
        joined.ok_or_else(|| {
            let why = format!(
                "found no matching overload for '_?_:_' applied to '({found}, {then}, {otherwise})'"
            );
            self.error(at, why)
        })
    }

    fn entry(&mut self, entry: &mut Entry) -> Checked<'s> {
        let found = self.check(&mut entry.value)?;
        match (entry.optional, found) {
            (false, found) => Ok(found),
            (true, Type::Optional(inner)) => Ok((*inner).clone()),
            (true, Type::Dyn) => Ok(Type::Dyn),
            (true, found) => {
                let why = format!("expected type 'optional_type(dyn)' but found '{found}'");
                Err(self.error(entry.value.at, why))
            }
        }
    }

    fn joined(&self, at: usize, so_far: Option<Type<'s>>, found: Type<'s>) -> Checked<'s> {
        let Some(so_far) = so_far else {
            return Ok(found);
        };
        join(&so_far, &found)
            .ok_or_else(|| self.error(at, format!("expected type '{so_far}' but found '{found}'")))
    }

    fn list(&mut self, entries: &mut [Entry]) -> Checked<'s> {
        let mut items = None;
        for entry in entries {
            let found = self.entry(entry)?;
            items = Some(self.joined(entry.value.at, items, found)?);
        }
        Ok(Type::List(Arc::new(items.unwrap_or(Type::Dyn))))
    }

    /// The type of a list literal passed to `format`, whose items may differ in type.
    fn mixed(&mut self, entries: &mut [Entry]) -> Checked<'s> {
        for entry in entries {
            self.entry(entry)?;
        }
        Ok(Type::List(Arc::new(Type::Dyn)))
    }

    fn map(&mut self, entries: &mut [(Node, Entry)]) -> Checked<'s> {
        let (mut keys, mut values) = (None, None);
        for (key, entry) in entries {
            let found = self.check(key)?;
            if !found.is_dyn() && !KEYS.iter().any(|one| found.is(one)) {
                return Err(self.error(key.at, format!("unsupported key type: {found}")));
            }
            keys = Some(self.joined(key.at, keys, found)?);
            let found = self.entry(entry)?;
            values = Some(self.joined(entry.value.at, values, found)?);
        }
        let or_any = |found: Option<Type<'s>>| Arc::new(found.unwrap_or(Type::Dyn));
        Ok(Type::Map(or_any(keys), or_any(values)))
    }
}

/// The namespace and the function that a member call would name if its target is a namespace.
fn qualified(expr: &Expr) -> Option<(Arc<str>, Arc<str>)> {
    let Expr::Call(call) = expr else { return None };
    match call.arguments.first().map(|node| &node.expr) {
        Some(Expr::Variable(space)) if call.member => {
            Some((Arc::clone(space), Arc::clone(&call.name)))
        }
        _ => None,
    }
}

/// The text of a selection that could as well be a name with dots.
fn dotted_name(select: &Select) -> Option<String> {
    if select.test || select.optional || select.quoted {
        return None;
    }
    let head = match &select.operand.expr {
        Expr::Variable(head) => head.to_string(),
        Expr::Select(select) => dotted_name(select)?,
        _ => return None,
    };
    Some(format!("{head}.{}", select.field))
}

fn applied<'s>(signature: &Signature, given: &[Type<'s>]) -> Option<Type<'s>> {
    let mut bindings = Bindings::default();
    let mut both = signature.parameters.iter().zip(given);
    let same_length = signature.parameters.len() == given.len();
    let fits = same_length && both.all(|(wanted, given)| bindings.accept(wanted, given));
    fits.then(|| bindings.resolve(&signature.result))
}

/// The common type of two types, if they have one.
fn join<'s>(one: &Type<'s>, other: &Type<'s>) -> Option<Type<'s>> {
    let variable = Type::Variable(b'A');
    let mut bindings = Bindings::default();
    let fits = bindings.accept(&variable, one) && bindings.accept(&variable, other);
    match (fits, one.is_dyn() || other.is_dyn()) {
        (false, _) => None,
        (true, true) => Some(Type::Dyn),
        (true, false) => Some(bindings.resolve(&variable)),
    }
}

fn mismatch(name: &str, member: bool, given: &[Type<'_>]) -> String {
    let written: Vec<String> = given.iter().map(ToString::to_string).collect();
    let applied = match written.split_first() {
        Some((target, rest)) if member => format!("{target}.({})", rest.join(", ")),
        _ => format!("({})", written.join(", ")),
    };
    format!("found no matching overload for '{name}' applied to '{applied}'")
}
