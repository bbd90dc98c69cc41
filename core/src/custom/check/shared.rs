//! What all versions of a definition have in common is checked once, and told at the top of its `spec`. Source:
//! `Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec`.

use super::schema::is_zero;
use serde_json::Value;

/// The parts of the versions of a definition that are told there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) schema: bool,
    pub(super) subresources: bool,
    pub(super) columns: bool,
    pub(super) selectable: bool,
}

impl Shared {
    pub(super) fn of(versions: &[Value]) -> Self {
        let is_equal = |name: &str| versions.iter().all(|one| equal(versions, one, name));
        let schema = is_equal("schema");
        Self {
            schema,
            subresources: is_equal("subresources"),
            columns: is_equal("additionalPrinterColumns"),
            selectable: schema && is_equal("selectableFields"),
        }
    }
}

/// The versions whose parts of this name are checked: of those that have what the first one has, only that.
pub(super) fn distinct<'a>(
    versions: &'a [Value],
    name: &'static str,
) -> impl Iterator<Item = &'a Value> {
    let others = versions.iter().skip(1);
    let others = others.filter(move |one| !equal(versions, one, name));
    versions.first().into_iter().chain(others)
}

/// Whether a version has the same part of this name as the first one.
fn equal(versions: &[Value], one: &Value, name: &str) -> bool {
    let first = versions.first();
    first.is_none_or(|first| part(first, name) == part(one, name))
}

/// A part of a version; an empty list is none.
fn part<'a>(version: &'a Value, name: &str) -> Option<&'a Value> {
    let part = version.get(name);
    part.filter(|part| part.is_object() || !is_zero(part))
}
