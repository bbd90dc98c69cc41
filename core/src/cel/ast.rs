//! The syntax tree of an expression. The parser bounds its depth, so it may be walked recursively.

use super::library::Native;
use super::value::Value;
use std::sync::Arc;

/// A node of the tree, with the byte offset at which an error in it is reported.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) expr: Expr,
}

#[derive(Debug)]
pub(super) enum Expr {
    Literal(Value<'static>),
    Variable(Arc<str>),
    Select(Box<Select>),
    Call(Call),
    And(Vec<Node>),
    Or(Vec<Node>),
    Choice(Box<[Node; 3]>),
    List(Vec<Entry>),
    Map(Vec<(Node, Entry)>),
    Loop(Box<Loop>),
    /// `optMap` and `optFlatMap`.
    Optional(Box<Optional>),
}

/// A value in a list or map literal. An optional one (`?value`) is left out if it has no value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) optional: bool,
    pub(super) value: Node,
}

#[derive(Debug)]
pub(super) struct Select {
    pub(super) operand: Node,
    pub(super) field: Arc<str>,
    /// `has(...)`.
    pub(super) test: bool,
    /// `a.?b`.
    pub(super) optional: bool,
    /// The field name is written in backquotes.
    pub(super) quoted: bool,
}

/// A call. The target of a member call is the first argument.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: Arc<str>,
    pub(super) member: bool,
    pub(super) arguments: Vec<Node>,
    pub(super) native: Native,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    /// `transformMap`: a map with the same keys, or with the indexes of a list.
    Values,
    /// `transformMapEntry`: a map with the entries of many.
    Entries,
    /// `sortBy`: the items, in the order of their keys.
    Sort,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) kind: LoopKind,
    /// An item of a list or a key of a map; with a second variable, the index of an item.
    pub(super) variable: Arc<str>,
    /// The item at that index, or the value of that key.
    pub(super) second: Option<Arc<str>>,
    pub(super) range: Node,
    /// The filter of a `map` with three arguments, or of a transformation.
    pub(super) condition: Option<Node>,
    pub(super) body: Node,
}

#[derive(Debug)]
pub(super) struct Optional {
    pub(super) variable: Arc<str>,
    pub(super) target: Node,
    pub(super) body: Node,
    pub(super) flat: bool,
}

impl Expr {
    /// Returns the direct subexpressions.
    pub(super) fn children(&self) -> Vec<&Node> {
        match self {
            Self::Literal(_) | Self::Variable(_) => Vec::new(),
            Self::Select(select) => vec![&select.operand],
            Self::Call(call) => call.arguments.iter().collect(),
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().collect(),
            Self::Choice(nodes) => nodes.iter().collect(),
            Self::List(entries) => entries.iter().map(|entry| &entry.value).collect(),
            Self::Map(entries) => {
                let both = entries.iter().map(|(key, entry)| [key, &entry.value]);
                both.flatten().collect()
            }
            Self::Loop(found) => {
                let mut nodes = vec![&found.range, &found.body];
                nodes.extend(&found.condition);
                nodes
            }
            Self::Optional(found) => vec![&found.target, &found.body],
        }
    }
}

impl Node {
    /// Whether the subtree mentions a variable of this name.
    pub(super) fn names(&self, variable: &str) -> bool {
        if let Expr::Variable(name) = &self.expr {
            return &**name == variable;
        }
        let children = self.expr.children();
        children.into_iter().any(|child| child.names(variable))
    }
}
