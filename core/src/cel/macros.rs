//! The macros, which look like calls but are not: `has`, the loops, `optMap` and `optFlatMap`.

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
    let kind = match (name, arguments.len()) {
        ("all", 2) => LoopKind::All,
        ("exists", 2) => LoopKind::Exists,
        ("exists_one" | "existsOne", 2) => LoopKind::ExistsOne,
        ("map", 2 | 3) => LoopKind::Map,
        ("filter", 2) => LoopKind::Filter,
        ("optMap" | "optFlatMap", 2) => {
            return optional(parser, at, target, arguments, name == "optFlatMap");
        }
        _ => {
            arguments.insert(0, target);
            return parser.call(at, name, true, arguments);
        }
    };
    let missing = || parser.error(at, "argument is missing");
    let body = arguments.pop().ok_or_else(missing)?;
    let condition = if arguments.len() > 1 {
        arguments.pop()
    } else {
        None
    };
    let variable = variable(parser, at, arguments.pop())?;
    let found = Loop {
        kind,
        variable,
        range: target,
        condition,
        body,
    };
    parser.node(at, Expr::Loop(Box::new(found)))
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
