//! The Common Expression Language, as used in Kubernetes for conditions of webhooks and rules of schemas.
//! Expressions come from users, so their length, nesting depth and number of evaluation steps are bounded.
//! Functions and types that are not implemented are refused when an expression is compiled. Source: the CEL
//! specification, and `k8s.io/apiserver/pkg/cel`.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a function takes values of some types and refuses those of all others"
)]

mod ast;
mod authority;
mod check;
mod compare;
mod eval;
mod library;
mod literal;
mod macros;
mod meter;
mod names;
mod operators;
mod parse;
mod signature;
#[cfg(test)]
mod tests;
mod time;
mod token;
mod types;
mod value;

pub use authority::{Access, Authority};
pub(crate) use meter::{Fault, Meter};
pub(crate) use types::{Member, Record, Type};
pub(crate) use value::Value;

use crate::schema::{Pattern, WEIGHT_MAX, compile_pattern, weight_of};
use check::Checker;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum length of an expression in bytes.
pub(crate) const LENGTH_MAX: usize = 32 * 1024;
/// Maximum nesting depth of an expression, which is walked recursively.
pub(crate) const DEPTH_MAX: usize = 64;

/// Maximum number of literal regular expressions in an expression: each may take a megabyte.
pub(crate) const PATTERNS_MAX: usize = 16;

/// The end of the message when the cost budget is used up.
const BUDGET_EXHAUSTED: &str =
    "running out of cost budget, no further validation rules will be run";
/// The same when that of regular expressions is.
const WORK_EXHAUSTED: &str = "running out of budget for matching texts with regular expressions, which would take \
                              too long, no further validation rules will be run";

/// The message when the budget is used up.
pub(crate) fn budget_exhausted(meter: &Meter) -> String {
    format!("validation failed due to {}", meter.exhausted())
}

/// The variables that an expression may use, with their types.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env<'s> {
    /// The variables, each with its type.
    pub(crate) variables: Vec<(&'static str, Type<'s>)>,
    /// Allowance of regular expressions, shared by all expressions that are compiled with this environment.
    pub(crate) patterns: Allowance,
}

/// How many literal regular expressions may still be compiled, where a large one counts as several. Those of an
/// expression that is refused in the end count as well. Clones share the same allowance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowance {
    most: usize,
    taken: Rc<Cell<usize>>,
}

impl Allowance {
    /// Allows this many.
    pub(crate) fn new(most: usize) -> Self {
        let taken = Rc::default();
        Self { most, taken }
    }

    /// Compiles a pattern, and subtracts what it counts as. Fails if not enough is left.
    fn compile(&self, text: &str) -> Result<Arc<Pattern>, String> {
        self.take(1)?;
        let compiled = compile_pattern(text);
        let is_allowed = self.take(weight_of(&compiled).saturating_sub(1));
        let pattern = compiled.map_err(|unusable| unusable.why)?;
        is_allowed.map(|()| Arc::new(pattern))
    }

    fn take(&self, weight: usize) -> Result<(), String> {
        self.taken.set(self.taken.get().saturating_add(weight));
        if self.is_over() {
            let most = self.most;
            return Err(format!(
                "all expressions together have more than {most} regular expressions, of which a large one counts as up \
                 to {WEIGHT_MAX}"
            ));
        }
        Ok(())
    }

    /// Whether there were more than allowed.
    pub(crate) fn is_over(&self) -> bool {
        self.taken.get() > self.most
    }
}

/// How many bytes a byte of an expression is compiled to, at most: most of them are a node of the tree.
pub(crate) const COMPILED_TIMES: usize = 128;

/// How many literal regular expressions an expression with this text has at most.
pub(crate) fn literals_max(text: &str) -> usize {
    let names = library::PATTERNS.into_iter();
    names.map(|name| text.matches(name).count()).sum()
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Program {
    root: ast::Node,
}

/// Why a text is not an expression of this environment, in the form of `cel-go`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct CompileError {
    text: String,
}

impl CompileError {
    fn new(source: &str, at: usize, why: impl fmt::Display) -> Self {
        let before = source.get(..at).unwrap_or(source);
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default();
        let column = column.chars().count();
        let shown = source.lines().nth(line).unwrap_or_default();
        let text = format!(
            "ERROR: <input>:{}:{}: {why}\n | {shown}\n | {}^",
            line + 1,
            column + 1,
            ".".repeat(column)
        );
        Self { text }
    }
}

impl Program {
    /// Compiles an expression, and returns the type of its value.
    pub(crate) fn compile<'s>(
        source: &str,
        env: &Env<'s>,
    ) -> Result<(Self, Type<'s>), CompileError> {
        let mut root = parse::parse(source)?;
        let mut checker = Checker {
            source,
            env,
            scope: Vec::new(),
            patterns: 0,
        };
        let found = checker.check(&mut root)?;
        Ok((Self { root }, found))
    }

    /// The same, for an expression that must be boolean; `otherwise` is what upstream answers if it is not.
    pub(crate) fn condition(source: &str, env: &Env<'_>, otherwise: &str) -> Result<Self, String> {
        let compiled = Self::compile(source, env);
        let (program, found) = compiled.map_err(|error| format!("compilation failed: {error}"))?;
        if found.is("bool") {
            return Ok(program);
        }
        Err(otherwise.to_owned())
    }

    /// Whether the expression uses this variable.
    pub(crate) fn names(&self, variable: &str) -> bool {
        self.root.names(variable)
    }

    /// The value of the expression, or why it has none.
    pub(crate) fn evaluate<'a>(
        &'a self,
        variables: &[(&'static str, Value<'a>)],
        meter: &mut Meter,
    ) -> Result<Value<'a>, Fault> {
        meter.begin();
        let mut evaluation = eval::Evaluation {
            variables,
            scope: Vec::new(),
            meter,
        };
        evaluation.value(&self.root)
    }
}
