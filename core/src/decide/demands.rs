//! What a document must satisfy that may take long to find out. See `docs/decisions/0034-rules-beside-the-writer.md`.

use super::Context;
use super::managed_fields::WriteTarget;
use crate::command::{Evaluation, Passed};
use crate::custom;
use crate::kind::{Shape, Subresource};
use crate::rejection::FieldCause;
use crate::schema::{Held, Schema};
use serde_json::Value;
use std::sync::Arc;

/// The demands on the objects of a kind.
#[derive(Clone, Copy)]
pub(super) enum Demands<'a> {
    /// Those of a custom kind's schema, with its patterns and rules, and what is held against it.
    Schema(&'a Arc<Schema>, Held),
    /// Those on a definition, whose own schemas have defaults, patterns and rules.
    Definition,
}

impl<'a> Demands<'a> {
    /// The demands on the objects of this kind, if it has any that may take long.
    pub(super) fn of(target: &WriteTarget<'a>) -> Option<Self> {
        let kind = target.kind;
        if kind.strategy.shape == Shape::Definition {
            return Some(Self::Definition);
        }
        let held = if target.subresource == Some(Subresource::Status) {
            Held::Status
        } else {
            Held::Object
        };
        let kinds = &target.context.state.kinds;
        let schema = kinds.schema(kind, &target.version.name);
        let schema = schema.filter(|_| kind.is_custom())?;
        Some(Self::Schema(schema, held))
    }

    /// What does not satisfy them. For faults that existed before and did not change, nothing is said. `None` if that
    /// takes longer than the command allows.
    pub(super) fn unsatisfied(
        self,
        context: &Context<'_>,
        document: &Value,
        old: Option<&Value>,
    ) -> Option<Vec<FieldCause>> {
        let wrong = match &context.envelope.evaluation {
            Evaluation::Whole => self.all_unsatisfied(document, old),
            Evaluation::Passed(passed) if passed.is_of(self.schema(), document, old) => Vec::new(),
            Evaluation::Brief | Evaluation::Passed(_) => self.found_in_turn(document, old)?,
        };
        if let Some(passed) = context.passed.filter(|_| wrong.is_empty()) {
            passed.get_or_init(|| Passed::new(self.schema(), document, old));
        }
        Some(wrong)
    }

    fn all_unsatisfied(self, document: &Value, old: Option<&Value>) -> Vec<FieldCause> {
        match self {
            Self::Schema(schema, held) => schema.validate_object(held, document, old),
            Self::Definition => custom::check(document, old),
        }
    }

    /// The same within a turn of the writer, which is never long enough for a definition.
    fn found_in_turn(self, document: &Value, old: Option<&Value>) -> Option<Vec<FieldCause>> {
        match self {
            Self::Schema(schema, held) => schema.validate_in_turn(held, document, old),
            Self::Definition => None,
        }
    }

    const fn schema(self) -> Option<(&'a Arc<Schema>, Held)> {
        match self {
            Self::Schema(schema, held) => Some((schema, held)),
            Self::Definition => None,
        }
    }
}
