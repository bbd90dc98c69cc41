//! `CustomResourceDefinition`s: the kind and the schemas that a definition document asks for.

use crate::kind::Kind;
use crate::object::Uid;
use crate::rejection::FieldCause;
use crate::schema::Schema;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind that a definition defines, with the schema of each version.
pub fn kind_of_definition(
    _document: &Value,
    _definition: &Uid,
    _terminating: bool,
) -> Result<(Kind, BTreeMap<Arc<str>, Arc<Schema>>), Vec<FieldCause>> {
    Err(Vec::new())
}
