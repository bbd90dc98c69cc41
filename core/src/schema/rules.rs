//! `x-kubernetes-validations`: rules in a schema, each an expression about the value at its place.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/cel`.

mod evaluate;
mod field_path;
#[cfg(test)]
mod tests;

pub(crate) use evaluate::causes;

use super::Schema;
use crate::cel::{Allowance, COMPILED_TIMES, Env, Program, Type, literals_max};
use crate::memory::allocated;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// The rules of a schema, compiled when the first value is checked.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The rules of this schema itself.
    own: Option<Arc<Own>>,
    /// Whether this schema or any schema below it has rules.
    pub(super) any: bool,
    /// The most literal regular expressions that the rules of this schema and of those below it have.
    literals_max: usize,
}

#[derive(Debug)]
struct Own {
    listed: Vec<Rule>,
    compiled: OnceLock<Vec<Result<Compiled, Wrong>>>,
}

/// A rule as it is written.
#[derive(Debug, Clone, Default)]
struct Rule {
    rule: String,
    message: String,
    message_expression: String,
    reason: String,
    field_path: String,
    optional_old: bool,
}

/// A compiled rule.
#[derive(Debug)]
struct Compiled {
    program: Program,
    message: Option<Program>,
    /// Whether the rule refers to the old value (`oldSelf`).
    transition: bool,
    /// The reported field (`fieldPath`), relative to the value.
    below: String,
}

/// Why a rule cannot be compiled: the member that is wrong, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// `rule`, `messageExpression` or `fieldPath`.
    pub(crate) member: &'static str,
    /// What is wrong.
    pub(crate) why: String,
}

const SELF: &str = "self";
const OLD_SELF: &str = "oldSelf";

impl Rules {
    pub(super) fn read<'a>(document: &Value, below: impl Iterator<Item = &'a Self>) -> Self {
        let listed = document.get("x-kubernetes-validations");
        let listed = listed.and_then(Value::as_array).into_iter().flatten();
        let listed: Vec<Rule> = listed.map(Rule::read).collect();
        let own = (!listed.is_empty()).then(|| {
            let compiled = OnceLock::new();
            Arc::new(Own { listed, compiled })
        });
        let below = below.fold((false, 0), |(any, literals), one| {
            (any || one.any, literals + one.literals_max)
        });
        let of_own = own.iter().flat_map(|own| &own.listed);
        let literals = of_own.map(Rule::literals_max).sum::<usize>();
        Self {
            any: below.0 || own.is_some(),
            literals_max: below.1 + literals,
            own,
        }
    }

    /// About how many bytes they take, as if all were compiled, without their regular expressions.
    pub(super) fn estimated_bytes(&self) -> usize {
        let listed = self.own.iter().flat_map(|own| &own.listed);
        listed.map(Rule::estimated_bytes).sum()
    }

    /// Returns each rule with the outcome of compiling it. The first caller compiles for all:
    /// `resource` depends only on the place of the schema, which never changes.
    fn compiled<'a>(
        &'a self,
        schema: &Schema,
        resource: bool,
        patterns: &Allowance,
    ) -> impl Iterator<Item = (&'a Rule, &'a Result<Compiled, Wrong>)> + use<'a> {
        let pairs = self.own.as_ref().map(|own| {
            let compiled = own.compiled.get_or_init(|| {
                let rules = own.listed.iter();
                rules
                    .map(|rule| rule.compile(schema, resource, patterns))
                    .collect()
            });
            own.listed.iter().zip(compiled)
        });
        pairs.into_iter().flatten()
    }
}

impl Schema {
    /// The most literal regular expressions that its rules and those of schemas below it have.
    pub(crate) const fn literals_max(&self) -> usize {
        self.rules.literals_max
    }

    /// Compiles the rules of this schema, not those of schemas below it, and returns the outcomes.
    pub(crate) fn rules_checked(
        &self,
        resource: bool,
        patterns: &Allowance,
    ) -> Vec<Result<Checked, Wrong>> {
        let told = |one: &Result<Compiled, Wrong>| match one {
            Ok(compiled) => Ok(Checked {
                transition: compiled.transition,
            }),
            Err(wrong) => Err(wrong.clone()),
        };
        let compiled = self.rules.compiled(self, resource, patterns);
        compiled.map(|(_, one)| told(one)).collect()
    }
}

/// What is known about a rule that compiled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked {
    /// Whether the rule refers to the old value (`oldSelf`).
    pub(crate) transition: bool,
}

impl Rule {
    fn read(document: &Value) -> Self {
        let text = |name: &str| {
            let text = document.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Self {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: text("reason"),
            field_path: text("fieldPath"),
            optional_old: document.get("optionalOldSelf") == Some(&Value::Bool(true)),
        }
    }

    fn literals_max(&self) -> usize {
        let expressions = [&self.rule, &self.message_expression];
        expressions.map(|text| literals_max(text)).iter().sum()
    }

    fn estimated_bytes(&self) -> usize {
        let expressions = self.rule.len() + self.message_expression.len();
        let others = self.message.len() + self.reason.len() + self.field_path.len();
        allocated(size_of::<Self>() + size_of::<Compiled>())
            + COMPILED_TIMES * expressions
            + expressions
            + others
    }

    fn compile(
        &self,
        schema: &Schema,
        resource: bool,
        patterns: &Allowance,
    ) -> Result<Compiled, Wrong> {
        let wrong = |member| move |why| Wrong { member, why };
        let found = Type::of(schema, resource).ok_or_else(|| {
            wrong("rule")(format!(
                "rule declared on schema that does not support validation rules type: '{}' \
                 x-kubernetes-preserve-unknown-fields: '{}'",
                schema.type_name, schema.preserve_unknown
            ))
        })?;
        let old = if self.optional_old {
            Type::Optional(Arc::new(found.clone()))
        } else {
            found.clone()
        };
        let env = Env {
            variables: vec![(SELF, found), (OLD_SELF, old)],
            patterns: patterns.clone(),
        };
        let otherwise = "cel expression must evaluate to a bool";
        let program = Program::condition(&self.rule, &env, otherwise).map_err(wrong("rule"))?;
        Ok(Compiled {
            transition: program.names(OLD_SELF),
            program,
            message: self.message(&env).map_err(wrong("messageExpression"))?,
            below: field_path::read(&self.field_path, schema).map_err(|why| {
                wrong("fieldPath")(format!("fieldPath must be a valid path: {why}"))
            })?,
        })
    }

    fn message(&self, env: &Env<'_>) -> Result<Option<Program>, String> {
        if self.message_expression.is_empty() {
            return Ok(None);
        }
        let (program, found) = Program::compile(&self.message_expression, env)
            .map_err(|error| format!("messageExpression compilation failed: {error}"))?;
        if found.is("string") {
            return Ok(Some(program));
        }
        Err("messageExpression must evaluate to a string".into())
    }

    /// The name of the rule in errors: its message, or else the expression.
    fn name(&self) -> &str {
        match self.message.trim() {
            "" => self.rule.trim(),
            message => message,
        }
    }

    fn detail(&self) -> String {
        match self.message.trim() {
            "" => format!("failed rule: {}", self.rule.trim()),
            message => message.to_owned(),
        }
    }
}
