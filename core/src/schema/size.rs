//! About how many bytes schemas take in memory: for a field of which a definition says little, many times as many as
//! there.

use super::{ItemIdentity, Junctors, PatchStrategy, Schema};
use crate::memory::{allocated, below, nodes, texts};
use std::sync::Arc;

impl Schema {
    /// About how many bytes it takes with all schemas below it, but without its patterns, which schemas share, and
    /// without the regular expressions in its rules.
    pub(crate) fn estimated_bytes(&self) -> usize {
        let property = |(name, schema): (&Arc<str>, &Arc<Self>)| {
            allocated(name.len()) + allocated(schema.estimated_bytes())
        };
        let properties: usize = self.properties.iter().map(property).sum();
        let others = self.additional.iter().chain(&self.items);
        let others: usize = others.map(|one| allocated(one.estimated_bytes())).sum();
        let junctors = self
            .junctors
            .as_deref()
            .map_or(0, Junctors::estimated_bytes);
        let keys = match &self.identity {
            ItemIdentity::Place | ItemIdentity::Atomic | ItemIdentity::Set => 0,
            ItemIdentity::Map(keys) => texts(keys),
        };
        let merge_key = match &self.patch {
            PatchStrategy::None | PatchStrategy::Replace | PatchStrategy::Set => 0,
            PatchStrategy::Key(key) => allocated(key.len()),
        };
        size_of::<Self>()
            + allocated(self.type_name.len())
            + nodes(self.properties.len(), size_of::<(Arc<str>, Arc<Self>)>())
            + properties
            + others
            + texts(&self.required)
            + self.default.as_ref().map_or(0, below)
            + self.enumeration.estimated_bytes()
            + junctors
            + keys
            + merge_key
            + self.rules.estimated_bytes()
    }
}

impl Junctors {
    fn estimated_bytes(&self) -> usize {
        let lists = [&self.all_of, &self.any_of, &self.one_of];
        let all = lists.into_iter().flatten().chain(&self.not);
        allocated(size_of::<Self>()) + all.map(Schema::estimated_bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use serde_json::{Map, Value, json};

    #[test]
    fn a_schema_takes_more_than_the_schemas_that_it_consists_of() {
        const FIELDS: usize = 1_000;
        let fields = |schema: &Value| -> Map<String, Value> {
            let field = |at: usize| (format!("p{at}"), schema.clone());
            (0..FIELDS).map(field).collect()
        };
        let short = json!({"type": "string"});
        let plain = json!({"type": "object", "properties": fields(&short)});
        let below = parse(&plain).estimated_bytes();
        let schemas = FIELDS * size_of::<Schema>();
        assert!((schemas..2 * schemas).contains(&below), "{below} {schemas}");
        for (more, least) in [
            (
                json!({"default": vec![1; FIELDS]}),
                FIELDS * size_of::<Value>(),
            ),
            (
                json!({"enum": vec!["a"; FIELDS]}),
                FIELDS * size_of::<Value>(),
            ),
            (
                json!({"required": vec!["a"; FIELDS]}),
                FIELDS * size_of::<Arc<str>>(),
            ),
            (json!({"items": plain}), schemas),
            (json!({"additionalProperties": plain}), schemas),
            (json!({"anyOf": vec![short; FIELDS]}), schemas),
            (json!({"not": plain}), schemas),
            (
                json!({"x-kubernetes-validations": [{"rule": "a+".repeat(FIELDS)}]}),
                FIELDS * 100,
            ),
        ] {
            let found = parse(&more).estimated_bytes();
            assert!(found > least, "{found} {least}");
        }
    }
}
