//! Who evaluates what a definition demands of its objects. See `docs/decisions/0034-rules-beside-the-writer.md`.

#[cfg(test)]
mod tests;

use crate::schema::{Held, Schema};
use serde_json::Value;
use std::sync::Arc;

/// How much of a decision's time it may take to check an object against the rules and patterns of its definition, or
/// a definition itself.
#[derive(Debug, Clone, Default)]
pub enum Evaluation {
    /// As much as is needed, which may be seconds.
    #[default]
    Whole,
    /// About a millisecond. If more is needed, as for every definition, the command is refused as stale.
    Brief,
    /// None, if the decision comes to the document that passed; else as [`Self::Brief`].
    Passed(Box<Passed>),
}

/// A document that satisfies what is demanded of it, as a change of the version before it. Made by
/// [`decide_aside`](crate::decide_aside).
#[derive(Debug, Clone)]
pub struct Passed {
    /// `None` for a definition.
    schema: Option<(Arc<Schema>, Held)>,
    documents: blake3::Hash,
}

impl Passed {
    pub(crate) fn new(
        schema: Option<(&Arc<Schema>, Held)>,
        document: &Value,
        old: Option<&Value>,
    ) -> Self {
        Self {
            schema: schema.map(|(schema, held)| (Arc::clone(schema), held)),
            documents: hash(document, old),
        }
    }

    /// Schemas are compared by identity.
    pub(crate) fn is_of(
        &self,
        schema: Option<(&Arc<Schema>, Held)>,
        document: &Value,
        old: Option<&Value>,
    ) -> bool {
        let held = self.schema.as_ref().map(|(schema, held)| (schema, *held));
        held == schema && self.documents == hash(document, old)
    }
}

/// No text in JSON contains the byte between the two.
fn hash(document: &Value, old: Option<&Value>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(document.to_string().as_bytes());
    if let Some(old) = old {
        hasher.update(&[0]).update(old.to_string().as_bytes());
    }
    hasher.finalize()
}
