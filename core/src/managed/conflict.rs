//! The rejection of a configuration that conflicts with fields of other managers.

use crate::Rejection;
use crate::fields::{Contested, ManagerId};
use crate::rejection::{CauseList, FieldCause};

pub(super) fn rejection(contested: &[Contested]) -> Rejection {
    let count = contested.iter().map(|one| one.fields.count()).sum();
    let mut findings = CauseList::default();
    let mut managers: Vec<(&ManagerId, Vec<String>)> = Vec::new();
    for one in contested {
        let message = format!("conflict with {}", name(&one.manager));
        let mut paths = Vec::new();
        for field in one.fields.paths(findings.room()) {
            findings.push_with(|| {
                paths.push(field.clone());
                FieldCause {
                    reason: "FieldManagerConflict",
                    message: message.clone(),
                    field,
                }
            });
        }
        if !paths.is_empty() {
            managers.push((&one.manager, paths));
        }
    }
    Rejection::Contested {
        message: message(&managers, count),
        causes: findings.into_causes(),
    }
}

fn message(managers: &[(&ManagerId, Vec<String>)], count: usize) -> String {
    if let ([(manager, paths)], 1) = (managers, count) {
        let (who, field) = (name(manager), paths.concat());
        return format!("Apply failed with 1 conflict: conflict with {who}: {field}");
    }
    let mut lines = Vec::new();
    let mut left = count;
    for (manager, paths) in managers {
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
    use crate::rejection::CAUSES_MAX;
    use serde_json::{Map, Value, json};

    fn contested(document: &Value) -> Contested {
        Contested {
            manager: ManagerId {
                manager: "m".into(),
                applied: true,
                api_version: None,
                subresource: "".into(),
            },
            fields: set_of(document, None),
        }
    }

    fn members(count: usize) -> Map<String, Value> {
        (0..count).map(|n| (format!("k{n}"), json!(0))).collect()
    }

    #[test]
    fn of_many_that_are_contested_a_thousand_are_told() {
        let many = [900, 900, 900].map(|count| contested(&members(count).into()));
        let Rejection::Contested { message, causes } = rejection(&many) else {
            panic!("it is contested");
        };
        assert_eq!(causes.len(), CAUSES_MAX);
        assert_eq!(message.matches("conflicts with").count(), 2);
        assert!(message.ends_with("and 1700 more"), "{message}");
    }

    #[test]
    fn of_what_is_contested_so_much_is_told() {
        let long = json!({ "l".repeat(1 << 18): members(1_000) });
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
