//! The parser: from tokens to a tree. It bounds the depth while the tree grows, so that the code
//! that walks the tree does not have to.

use super::ast::{Call, Entry, Expr, Node, Select};
use super::token::{Kind, Token, tokens};
use super::value::Value;
use super::{CompileError, DEPTH_MAX, LENGTH_MAX, library, macros};
use std::sync::Arc;

/// Words that cannot be identifiers. Source: the CEL specification.
pub(super) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
const BINARY: [(&str, u8, &str); 12] = [
    ("==", 4, "_==_"),
    ("!=", 4, "_!=_"),
    ("<", 4, "_<_"),
    ("<=", 4, "_<=_"),
    (">", 4, "_>_"),
    (">=", 4, "_>=_"),
    ("+", 5, "_+_"),
    ("-", 5, "_-_"),
    ("*", 6, "_*_"),
    ("/", 6, "_/_"),
    ("%", 6, "_%_"),
    ("in", 4, "@in"),
];
const OR: u8 = 2;
const AND: u8 = 3;

pub(super) fn parse(source: &str) -> Result<Node, CompileError> {
    if source.len() > LENGTH_MAX {
        let why = format!("expression is longer than {LENGTH_MAX} bytes");
        return Err(CompileError::new("", 0, why));
    }
    let mut parser = Parser {
        source,
        tokens: tokens(source)?,
        next: 0,
        depth: 0,
    };
    let node = parser.expression()?;
    match parser.peek() {
        Kind::End => Ok(node),
        _ => Err(parser.unexpected("<EOF>")),
    }
}

pub(super) struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

type Parsed = Result<Node, CompileError>;

impl Parser<'_> {
    pub(super) fn error(&self, at: usize, why: impl std::fmt::Display) -> CompileError {
        CompileError::new(self.source, at, why)
    }

    /// Makes a node that is one level higher than its highest child.
    pub(super) fn node(&self, at: usize, expr: Expr) -> Parsed {
        let depths = expr.children().into_iter().map(|child| child.depth);
        self.node_of_depth(at, 1 + depths.max().unwrap_or(0), expr)
    }

    fn node_of_depth(&self, at: usize, depth: usize, expr: Expr) -> Parsed {
        if depth > DEPTH_MAX {
            return Err(self.too_deep(at));
        }
        Ok(Node { at, depth, expr })
    }

    fn too_deep(&self, at: usize) -> CompileError {
        let why = format!("expression recursion limit exceeded: {DEPTH_MAX}");
        self.error(at, why)
    }

    fn peek(&self) -> &Kind {
        self.tokens
            .get(self.next)
            .map_or(&Kind::End, |token| &token.kind)
    }

    fn at(&self) -> usize {
        let token = self.tokens.get(self.next).or(self.tokens.last());
        token.map_or(0, |token| token.at)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Kind::Sign(one) if *one == sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), CompileError> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.unexpected(&format!("'{sign}'")))
    }

    fn unexpected(&self, wanted: &str) -> CompileError {
        let found = match self.tokens.get(self.next).map(|token| &token.kind) {
            Some(Kind::End) | None => "<EOF>".to_owned(),
            Some(_) => {
                let end = self.tokens.get(self.next + 1).map(|token| token.at);
                let text = self.source.get(self.at()..end.unwrap_or(self.source.len()));
                text.unwrap_or_default().trim().to_owned()
            }
        };
        let why = format!("Syntax error: mismatched input '{found}' expecting {wanted}");
        self.error(self.at(), why)
    }

    pub(super) fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.too_deep(self.at()));
        }
        let condition = self.binary(OR)?;
        let at = self.at();
        let node = if self.take("?") {
            let then = self.binary(OR)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            let choice = Expr::Choice(Box::new([condition, then, otherwise]));
            self.node(at, choice)
        } else {
            Ok(condition)
        };
        self.depth -= 1;
        node
    }

    /// Parses operators that bind at least as tightly as `precedence`.
    fn binary(&mut self, precedence: u8) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let at = self.at();
            let word = match self.peek() {
                Kind::Sign(sign) => *sign,
                Kind::Ident(name) if name == "in" => "in",
                _ => return Ok(left),
            };
            if word == "&&" || word == "||" {
                let (binds, and) = if word == "&&" {
                    (AND, true)
                } else {
                    (OR, false)
                };
                if binds < precedence {
                    return Ok(left);
                }
                self.next += 1;
                let right = self.binary(binds + 1)?;
                left = self.joined(at, and, left, right)?;
                continue;
            }
            let operator = BINARY.iter().find(|(sign, ..)| *sign == word);
            let Some((_, binds, name)) = operator.filter(|one| one.1 >= precedence) else {
                return Ok(left);
            };
            self.next += 1;
            let right = self.binary(binds + 1)?;
            left = self.call(at, name, false, vec![left, right])?;
        }
    }

    /// Joins two operands of `&&` or `||`. A chain of the same operator stays one flat node, and
    /// only its new operand is looked at: a chain may be as long as the expression.
    fn joined(&self, at: usize, and: bool, left: Node, right: Node) -> Parsed {
        let joins = matches!(
            (&left.expr, and),
            (Expr::And(_), true) | (Expr::Or(_), false)
        );
        let depth_of_left = left.depth + usize::from(!joins);
        let depth = depth_of_left.max(right.depth + 1);
        let expr = match (left.expr, and) {
            (Expr::And(mut nodes), true) => {
                nodes.push(right);
                Expr::And(nodes)
            }
            (Expr::Or(mut nodes), false) => {
                nodes.push(right);
                Expr::Or(nodes)
            }
            (expr, and) => {
                let nodes = vec![Node { expr, ..left }, right];
                if and {
                    Expr::And(nodes)
                } else {
                    Expr::Or(nodes)
                }
            }
        };
        self.node_of_depth(at, depth, expr)
    }

    pub(super) fn call(&self, at: usize, name: &str, member: bool, of: Vec<Node>) -> Parsed {
        let call = Call {
            name: name.into(),
            member,
            arguments: of,
            native: library::undeclared,
        };
        self.node(at, Expr::Call(call))
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at();
        for (sign, name) in [("!", "!_"), ("-", "-_")] {
            let mut count = 0;
            while matches!(self.peek(), Kind::Sign(one) if *one == sign) {
                self.next += 1;
                count += 1;
            }
            if count == 0 {
                continue;
            }
            if let (1, "-", Kind::Int(number)) = (count, sign, self.peek()) {
                let number = 0_i64.checked_sub_unsigned(*number);
                let number = number.ok_or_else(|| self.error(at, "invalid int literal"))?;
                self.next += 1;
                let node = self.node(at, Expr::Literal(Value::Int(number)))?;
                return self.suffixes(node);
            }
            let operand = self.primary()?;
            let operand = self.suffixes(operand)?;
            return match count % 2 {
                0 => Ok(operand),
                _ => self.call(at, name, false, vec![operand]),
            };
        }
        let operand = self.primary()?;
        self.suffixes(operand)
    }

    fn suffixes(&mut self, mut node: Node) -> Parsed {
        loop {
            let at = self.at();
            if self.take(".") {
                let optional = self.take("?");
                node = self.selected(at, node, optional)?;
                continue;
            }
            if !self.take("[") {
                return Ok(node);
            }
            let optional = self.take("?");
            let index = self.expression()?;
            self.expect("]")?;
            let name = if optional { "_[?_]" } else { "_[_]" };
            node = self.call(at, name, false, vec![node, index])?;
        }
    }

    fn selected(&mut self, at: usize, operand: Node, optional: bool) -> Parsed {
        let (field, quoted) = match self.peek() {
            Kind::Ident(name) => (name.clone(), false),
            Kind::Quoted(name) => (name.clone(), true),
            _ => return Err(self.unexpected("IDENTIFIER")),
        };
        if !quoted && ["true", "false", "null", "in"].contains(&field.as_str()) {
            return Err(self.unexpected("IDENTIFIER"));
        }
        self.next += 1;
        let at_call = self.at();
        if !quoted && !optional && self.take("(") {
            let arguments = self.arguments()?;
            return macros::member(self, at_call, &field, operand, arguments);
        }
        let select = Select {
            operand,
            field: field.into(),
            test: false,
            optional,
            quoted,
        };
        self.node(at, Expr::Select(Box::new(select)))
    }

    fn arguments(&mut self) -> Result<Vec<Node>, CompileError> {
        let mut nodes = Vec::new();
        if self.take(")") {
            return Ok(nodes);
        }
        loop {
            nodes.push(self.expression()?);
            if !self.take(",") {
                self.expect(")")?;
                return Ok(nodes);
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        let kind = self.peek().clone();
        let literal = match kind {
            Kind::Int(number) => {
                let number = i64::try_from(number);
                Value::Int(number.map_err(|_| self.error(at, "invalid int literal"))?)
            }
            Kind::Uint(number) => Value::Uint(number),
            Kind::Double(number) => Value::Double(number),
            Kind::Text(text) => Value::text(text),
            Kind::Bytes(bytes) => Value::Bytes(bytes.into()),
            Kind::Ident(name) => return self.named(at, &name),
            Kind::Sign("(") => {
                self.next += 1;
                let inside = self.expression()?;
                self.expect(")")?;
                return Ok(inside);
            }
            Kind::Sign("[") => return self.list(at),
            Kind::Sign("{") => return self.map(at),
            Kind::Sign(_) | Kind::Quoted(_) | Kind::End => {
                return Err(self.unexpected("an expression"));
            }
        };
        self.next += 1;
        self.node(at, Expr::Literal(literal))
    }

    fn named(&mut self, at: usize, name: &str) -> Parsed {
        self.next += 1;
        let literal = match name {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            "in" => {
                self.next -= 1;
                return Err(self.unexpected("an expression"));
            }
            _ if RESERVED.contains(&name) => {
                return Err(self.error(at, format!("reserved identifier: {name}")));
            }
            _ => {
                let at_call = self.at();
                if self.take("(") {
                    let arguments = self.arguments()?;
                    return macros::global(self, at_call, name, arguments);
                }
                let name: Arc<str> = name.into();
                return self.node(at, Expr::Variable(name));
            }
        };
        self.node(at, Expr::Literal(literal))
    }

    /// `[a, ?b]`
    fn list(&mut self, at: usize) -> Parsed {
        let mut entries = Vec::new();
        self.expect("[")?;
        while !self.take("]") {
            let optional = self.take("?");
            let value = self.expression()?;
            entries.push(Entry { optional, value });
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        self.node(at, Expr::List(entries))
    }

    fn map(&mut self, at: usize) -> Parsed {
        let mut entries = Vec::new();
        self.expect("{")?;
        while !self.take("}") {
            let optional = self.take("?");
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            entries.push((key, Entry { optional, value }));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        self.node(at, Expr::Map(entries))
    }
}
