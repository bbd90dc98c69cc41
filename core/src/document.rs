//! Documents, member by member.

use serde_json::Value;

/// Whether both are objects that agree in every member but these.
pub(crate) fn agree_but_in(apart: &[&str], one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return false;
    };
    let counts = |name: &&String| !apart.contains(&name.as_str());
    let mut names = one.keys().chain(other.keys()).filter(counts);
    names.all(|name| one.get(name) == other.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_member_that_only_one_of_them_has_counts_unless_it_is_left_out() {
        for (one, other, apart, agree) in [
            (json!({"a": 1}), json!({"a": 1}), &["x"][..], true),
            (json!({"a": 1}), json!({"a": 2}), &["x"], false),
            (json!({"a": 1, "b": 1}), json!({"a": 1}), &["x"], false),
            (json!({"a": 1}), json!({"a": 1, "b": null}), &["x"], false),
            (json!({"a": 1, "b": 1}), json!({"a": 1}), &["x", "b"], true),
            (json!({"a": 1, "b": 1}), json!({"b": 2}), &["a", "b"], true),
            (json!(1), json!(1), &[], false),
        ] {
            assert_eq!(agree_but_in(apart, &one, &other), agree, "{one} {other}");
            assert_eq!(agree_but_in(apart, &other, &one), agree, "{other} {one}");
        }
    }
}
