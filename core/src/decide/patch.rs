//! The `patch` intent: the live object is patched here, by the single writer, so patches never conflict.

use super::apply::{ApplyOptions, apply};
use super::coordinates::{same_coordinates, same_version};
use super::managed_fields::{Ownership, WriteTarget};
use super::update::{PendingWrite, Sent};
use super::{Context, prepare, warned};
use crate::command::{Patch, PatchObject};
use crate::document::text_at;
use crate::kind::{Kind, Subresource};
use crate::object::{Object, ObjectKey};
use crate::rejection::FieldCause;
use crate::{Decision, Form, Rejection, patch, scale};
use serde_json::Value;

#[cfg(test)]
mod tests;

pub(crate) fn patch(context: Context<'_>, intent: &PatchObject) -> Result<Decision, Rejection> {
    if let Patch::Apply {
        config,
        force,
        complaint,
    } = &intent.patch
    {
        let options = ApplyOptions {
            config,
            force: *force,
            complaint: complaint.as_deref(),
        };
        return apply(context, intent, options);
    }
    let (kind, version) = prepare::kind(&context, &intent.key, &intent.version)?;
    let missing = || Rejection::not_found(&intent.key);
    let stored = context.state.get(&intent.key).ok_or_else(missing)?;
    let is_scale = intent.subresource == Some(Subresource::Scale);
    let form = Form::of(&context.state.kinds, kind, &version.name);
    let live = if is_scale {
        scale::scale_for_patch(version, &form.object(stored)).ok_or_else(missing)?
    } else {
        form.document(stored)
    };
    let schema = context.state.kinds.schema(kind, &version.name);
    let schema = match schema {
        _ if is_scale => Some(scale::schema()),
        schema => schema.map(|schema| &**schema),
    };
    let patched = || {
        let mut next = patch::apply_to(&live, &intent.patch, schema)?;
        if let (Patch::Strategic(change), Some(schema)) = (&intent.patch, schema)
            && let Some(unreadable) = patch::unreadable(change, &next, schema)
        {
            return Err(unreadable);
        }
        same_type(kind, is_scale, (&live, &mut next), &intent.patch)?;
        Ok(next)
    };
    let mut next = patched()?;
    // The patch may have removed the metadata, or put something else in their place.
    prepare::metadata(&mut next)?;
    let target = WriteTarget {
        context,
        kind,
        version,
        subresource: intent.subresource,
    };
    let change = PendingWrite { target, stored };
    let pruned = change.prune(&mut next, intent.validation);
    // As upstream's, the refusal shows a strategic patch as it was sent, and of others the outcome before anything
    // was dropped, so that is made again.
    let unknown = pruned.map_err(|why| {
        let shown = if let Patch::Strategic(change) = &intent.patch {
            patch::go(change)
        } else {
            patched().unwrap_or_default().to_string()
        };
        Rejection::invalid_patch(&shown.into(), &why)
    })?;
    let same = same_object(stored, &mut next, &intent.key);
    let decided = same.and_then(|()| change.write(next, Sent::Patch, Ownership::Kept));
    warned(decided, context.warnings(unknown))
}

/// Checks that the outcome of a patch keeps the object's name, and the version if it names one.
pub(super) fn same_object(
    stored: &Object,
    next: &mut Value,
    key: &ObjectKey,
) -> Result<(), Rejection> {
    let metadata = prepare::metadata(next)?;
    same_coordinates(metadata, key)?;
    let sent = prepare::text(metadata, "resourceVersion");
    if !sent.is_empty() && sent != "0" {
        same_version(stored, sent)?;
    }
    Ok(())
}

/// Checks kind and version in the outcome of a patch. A strategic patch cannot change them, whatever it
/// says; for a built-in kind the kind may be left out; for a custom one both must be right.
fn same_type(
    kind: &Kind,
    is_scale: bool,
    (live, next): (&Value, &mut Value),
    by: &Patch,
) -> Result<(), Rejection> {
    let Some(root) = next.as_object_mut() else {
        return Ok(());
    };
    let mut causes = Vec::new();
    for field in ["kind", "apiVersion"] {
        let expected = live.get(field).cloned().unwrap_or_default();
        let found = root.insert(field.into(), expected.clone());
        let found = found.unwrap_or_default();
        if found == expected || matches!(by, Patch::Strategic(_)) {
            continue;
        }
        let expected = expected.as_str().unwrap_or_default();
        if kind.is_custom() && !is_scale {
            let why = format!("must be {expected}");
            causes.push(FieldCause::invalid(field, &found, &why));
        } else if !found.is_null() {
            let why = format!("{field} {found} cannot be handled as {expected}");
            return Err(Rejection::invalid_patch(&found, &why));
        } else if field == "apiVersion" {
            return Err(Rejection::unnamed(text_at(live, "/metadata/name")));
        }
    }
    prepare::refuse(kind, text_at(live, "/metadata/name"), causes)
}
