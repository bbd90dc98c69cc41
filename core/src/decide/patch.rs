//! `patch`: the live object is patched here, by the one writer, so patches never conflict.

use super::update::{Change, Precondition, same_version};
use super::{Context, prepare};
use crate::command::{Patch, PatchObject};
use crate::{Decision, Rejection, convert, patch, scale};
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn patch(context: Context<'_>, intent: &PatchObject) -> Result<Decision, Rejection> {
    let (kind, version) = prepare::kind(&context, &intent.key, &intent.version)?;
    let missing = || Rejection::NotFound {
        resource: intent.key.resource.clone(),
        name: Arc::clone(&intent.key.name),
    };
    let stored = context.state.get(&intent.key).ok_or_else(missing)?;
    let is_scale = &*intent.subresource == "scale";
    let live = if is_scale {
        scale::scale_of(version, stored).ok_or_else(missing)?
    } else {
        let mut live = stored.document();
        convert::to_version(kind, &version.name, &mut live);
        live
    };
    let schema = context.state.kinds.schema(kind, &version.name);
    let schema = schema.map(|schema| &**schema).filter(|_| !is_scale);
    let mut next = patch::apply_to(&live, &intent.patch, schema)?;
    if let (Patch::Strategic(change), Some(schema)) = (&intent.patch, schema)
        && let Some(unreadable) = patch::unreadable(change, &next, schema)
    {
        return Err(unreadable);
    }
    let metadata = prepare::metadata(&mut next)?;
    for (field, expected) in [
        ("name", &intent.key.name),
        ("namespace", &intent.key.namespace),
    ] {
        let found = prepare::text(metadata, field);
        if found != &**expected {
            return Err(Rejection::BadRequest(format!(
                "the {field} of the object ({found}) does not match the {field} on the URL ({expected})"
            )));
        }
    }
    let wanted = metadata
        .get("resourceVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !wanted.is_empty() && wanted != "0" {
        same_version(stored, wanted)?;
    }
    let change = Change {
        context,
        kind,
        version,
        stored,
        subresource: &intent.subresource,
    };
    change.write(next, Precondition::Patch, intent.validation)
}
