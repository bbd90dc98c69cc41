//! How a refused configuration is told what others own.

use crate::Rejection;
use crate::fields::{Conflict, ManagerId};
use crate::rejection::FieldCause;
use std::collections::BTreeMap;

pub(super) fn rejection(conflicts: &[Conflict]) -> Rejection {
    let cause = |conflict: &Conflict| FieldCause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {}", name(&conflict.manager)),
        field: conflict.field.clone(),
    };
    Rejection::Contested {
        message: message(conflicts),
        causes: conflicts.iter().map(cause).collect(),
    }
}

fn message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        let (who, field) = (name(&one.manager), &one.field);
        return format!("Apply failed with 1 conflict: conflict with {who}: {field}");
    }
    let mut fields: BTreeMap<&ManagerId, Vec<&str>> = BTreeMap::new();
    for conflict in conflicts {
        let held = fields.entry(&conflict.manager).or_default();
        held.push(&conflict.field);
    }
    let mut lines = Vec::new();
    for (manager, fields) in fields {
        lines.push(format!("conflicts with {}:", name(manager)));
        lines.extend(fields.into_iter().map(|field| format!("- {field}")));
    }
    let count = conflicts.len();
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}

fn name(manager: &ManagerId) -> String {
    let through = match &*manager.subresource {
        "" => String::new(),
        subresource => format!(" with subresource {subresource:?}"),
    };
    let version = manager.api_version.as_ref();
    let version = version.map_or_else(String::new, |version| format!(" using {version}"));
    format!("{:?}{through}{version}", manager.manager)
}
