//! The macros, which look like calls but are not: `has`, the loops, `optMap` and `optFlatMap`. Loops
//! with two variables are those of `cel-go`'s `ext/comprehensions.go`; `sortBy` is in its `ext/lists.go`.

use super::CompileError;
use super::ast::{Expr, Loop, LoopKind, Node, Optional};
use super::parse::Parser;
use std::sync::Arc;

/// Expands a call of the form `name(...)`.
pub(super) fn global(
    parser: &Parser<'_>,
    at: usize,
    name: &str,
    mut arguments: Vec<Node>,
) -> Result<Node, CompileError> {
    if name != "has" || arguments.len() != 1 {
        return parser.call(at, name, false, arguments);
    }
    let wrong = || parser.error(at, "invalid argument to has() macro");
    let argument = arguments.pop().ok_or_else(wrong)?;
    match argument.expr {
        Expr::Select(mut select) if !select.optional && !select.test => {
            select.test = true;
            parser.node(argument.at, Expr::Select(select))
        }
        _ => Err(wrong()),
    }
}

/// Expands a call of the form `target.name(...)`.
pub(super) fn member(
    parser: &Parser<'_>,
    at: usize,
    name: &str,
    target: Node,
    mut arguments: Vec<Node>,
) -> Result<Node, CompileError> {
    let (kind, names) = match (name, arguments.len()) {
        ("all", 2) => (LoopKind::All, 1),
        ("exists", 2) => (LoopKind::Exists, 1),
        ("exists_one" | "existsOne", 2) => (LoopKind::ExistsOne, 1),
        ("map", 2 | 3) => (LoopKind::Map, 1),
        ("filter", 2) => (LoopKind::Filter, 1),
        ("sortBy", 2) => {
            sortable(parser, &target)?;
            (LoopKind::Sort, 1)
        }
        ("all", 3) => (LoopKind::All, 2),
        ("exists", 3) => (LoopKind::Exists, 2),
        ("exists_one" | "existsOne", 3) => (LoopKind::ExistsOne, 2),
        ("transformList", 3 | 4) => (LoopKind::Map, 2),
        ("transformMap", 3 | 4) => (LoopKind::Values, 2),
        ("transformMapEntry", 3 | 4) => (LoopKind::Entries, 2),
        ("optMap" | "optFlatMap", 2) => {
            return optional(parser, at, target, arguments, name == "optFlatMap");
        }
        _ => {
            arguments.insert(0, target);
            return parser.call(at, name, true, arguments);
        }
    };
    let body = arguments.pop();
    let mut arguments = arguments.into_iter();
    let variable = loop_variable(parser, at, arguments.next())?;
    let second = if names == 2 {
        Some(loop_variable(parser, at, arguments.next())?)
    } else {
        None
    };
    if second.as_ref() == Some(&variable) {
        return Err(parser.error(at, format!("duplicate variable name: {variable}")));
    }
    let found = Loop {
        kind,
        variable,
        second,
        range: target,
        condition: arguments.next(),
        body: body.ok_or_else(|| parser.error(at, "argument is missing"))?,
    };
    parser.node(at, Expr::Loop(Box::new(found)))
}

/// Refuses to sort what is written as something other than a list. Source: `sortByMacro`.
fn sortable(parser: &Parser<'_>, target: &Node) -> Result<(), CompileError> {
    if matches!(target.expr, Expr::Literal(_) | Expr::Map(_)) {
        let why = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return Err(parser.error(target.at, why));
    }
    Ok(())
}

/// The name of the variable in which upstream keeps the result of a loop.
const RESULT: &str = "__result__";

fn loop_variable(
    parser: &Parser<'_>,
    at: usize,
    node: Option<Node>,
) -> Result<Arc<str>, CompileError> {
    let name = variable(parser, at, node)?;
    if &*name == RESULT {
        let why = "iteration variable overwrites accumulator variable";
        return Err(parser.error(at, why));
    }
    Ok(name)
}

fn optional(
    parser: &Parser<'_>,
    at: usize,
    target: Node,
    mut arguments: Vec<Node>,
    flat: bool,
) -> Result<Node, CompileError> {
    let missing = || parser.error(at, "argument is missing");
    let body = arguments.pop().ok_or_else(missing)?;
    let found = Optional {
        variable: variable(parser, at, arguments.pop())?,
        target,
        body,
        flat,
    };
    parser.node(at, Expr::Optional(Box::new(found)))
}

fn variable(parser: &Parser<'_>, at: usize, node: Option<Node>) -> Result<Arc<str>, CompileError> {
    match node.map(|node| node.expr) {
        Some(Expr::Variable(name)) => Ok(name),
        _ => Err(parser.error(at, "argument must be a simple name")),
    }
}
