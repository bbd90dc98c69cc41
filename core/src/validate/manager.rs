//! Names of field managers.

use crate::rejection::{CauseList, FieldCause};

/// Source: apimachinery's `FieldManagerMaxLength`.
const FIELD_MANAGER_MAX: usize = 128;

/// Returns what is wrong with the name of a field manager: its length, or unprintable characters.
pub fn field_manager(field: &str, name: &str) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    if name.len() > FIELD_MANAGER_MAX {
        causes.push_with(|| FieldCause::too_long(field, FIELD_MANAGER_MAX));
    }
    for (at, one) in name.char_indices().filter(|(_, one)| !is_printed(*one)) {
        let why = format!(
            "invalid character U+{:04X} (at position {at})",
            u32::from(one)
        );
        causes.push_with(|| FieldCause::invalid(field, &name.into(), &why));
    }
    causes.into_causes()
}

/// The name of a field manager that did not give one: its user agent up to the first slash.
pub fn manager_of_agent(agent: &str) -> String {
    let program = agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for one in program.chars().filter(|one| is_printed(*one)) {
        if name.len() + one.len_utf8() > FIELD_MANAGER_MAX {
            break;
        }
        name.push(one);
    }
    name
}

/// Approximates Go's `unicode.IsPrint`, which knows every category. The only printable space is
/// U+0020.
fn is_printed(one: char) -> bool {
    !one.is_control() && (one == ' ' || !one.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_by_what_comes_before_the_slash() {
        let long = "x".repeat(200);
        for (agent, name) in [
            ("kubectl/v1.36.0 (linux/amd64) kubernetes/abc", "kubectl"),
            ("Mozilla", "Mozilla"),
            ("", ""),
            ("/1", ""),
            ("a\tb\u{a0}c d/1", "abc d"),
            (&long, &long[..128]),
        ] {
            assert_eq!(manager_of_agent(agent), name, "{agent:?}");
        }
        let wide = "\u{e9}".repeat(100);
        assert_eq!(manager_of_agent(&wide).len(), 128);
        assert!(field_manager("f", &manager_of_agent(&wide)).is_empty());
    }
}
