//! How a refused configuration is told what others own.

use crate::Rejection;
use crate::fields::{Contested, ManagerId};
use crate::rejection::FieldCause;

/// Bytes of paths, about, that one refusal tells of.
const PATHS_BYTES_MAX: usize = 1 << 20;

pub(super) fn rejection(contested: &[Contested]) -> Rejection {
    let mut room = PATHS_BYTES_MAX;
    let told = contested.iter().map(|one| {
        let paths = one.fields.paths(room);
        room = room.saturating_sub(paths.iter().map(String::len).sum());
        (&one.manager, paths)
    });
    let told: Vec<(&ManagerId, Vec<String>)> = told.collect();
    let count = contested.iter().map(|one| one.fields.count()).sum();
    let message = message(&told, count);
    let causes = told.into_iter().flat_map(|(manager, paths)| {
        let message = format!("conflict with {}", name(manager));
        paths.into_iter().map(move |field| FieldCause {
            reason: "FieldManagerConflict",
            message: message.clone(),
            field,
        })
    });
    Rejection::Contested {
        message,
        causes: causes.collect(),
    }
}

fn message(told: &[(&ManagerId, Vec<String>)], count: usize) -> String {
    if let ([(manager, paths)], 1) = (told, count) {
        let (who, field) = (name(manager), paths.concat());
        return format!("Apply failed with 1 conflict: conflict with {who}: {field}");
    }
    let mut lines = Vec::new();
    let mut left = count;
    for (manager, paths) in told {
        lines.push(format!("conflicts with {}:", name(manager)));
        lines.extend(paths.iter().map(|field| format!("- {field}")));
        left = left.saturating_sub(paths.len());
    }
    if left > 0 {
        lines.push(format!("and {left} more"));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::set_of;
    use serde_json::{Map, Value, json};

    #[test]
    fn of_what_is_contested_so_much_is_told() {
        let members: Map<String, Value> = (0..1_000).map(|n| (format!("k{n}"), json!(0))).collect();
        let long = json!({ "l".repeat(1 << 18): members });
        let contested = |document: &Value| Contested {
            manager: ManagerId {
                manager: "m".into(),
                applied: true,
                api_version: None,
                subresource: "".into(),
            },
            fields: set_of(document, None),
        };
        let Rejection::Contested { message, causes } = rejection(&[contested(&long)]) else {
            panic!("it is contested");
        };
        assert!((2..10).contains(&causes.len()), "{}", causes.len());
        assert!(
            message.len() < 4 << 20 && message.ends_with(" more"),
            "{}",
            message.len()
        );
        let both = [
            contested(&json!({"a": 1})),
            contested(&json!({"b": 1, "c": 1})),
        ];
        let Rejection::Contested { message, causes } = rejection(&both) else {
            panic!("it is contested");
        };
        let fields: Vec<&str> = causes.iter().map(|cause| &*cause.field).collect();
        assert_eq!(fields, [".a", ".b", ".c"]);
        assert!(
            message.starts_with("Apply failed with 3 conflicts: ") && message.ends_with("- .c")
        );
    }
}
