//! Escaped names of properties that are not valid CEL identifiers. Reads what upstream's `Escape`
//! writes.

use super::parse::RESERVED;

const PARTS: [(&str, &str); 4] = [
    ("__underscores__", "__"),
    ("__dot__", "."),
    ("__dash__", "-"),
    ("__slash__", "/"),
];
/// Reserved words that name values or an operator.
const WORDS: [&str; 4] = ["true", "false", "null", "in"];

fn is_reserved(word: &str) -> bool {
    WORDS.contains(&word) || RESERVED.contains(&word)
}

/// Returns the property that an escaped name stands for, or `None` if no property is escaped so.
pub(super) fn unescape(name: &str) -> Option<String> {
    let word = name
        .strip_prefix("__")
        .and_then(|one| one.strip_suffix("__"));
    if let Some(word) = word.filter(|word| is_reserved(word)) {
        return Some(word.to_owned());
    }
    let mut made = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let escaped = PARTS.iter().find(|(escaped, _)| rest.starts_with(escaped));
        let taken = match escaped {
            Some((escaped, plain)) => {
                made.push_str(plain);
                escaped.len()
            }
            None if rest.starts_with("__") => return None,
            None => {
                let one = rest.chars().next()?;
                made.push(one);
                one.len_utf8()
            }
        };
        rest = rest.get(taken..)?;
    }
    (!is_reserved(&made)).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The escaped name of a property. Source: upstream's `Escape`.
    fn escape(property: &str) -> String {
        if is_reserved(property) {
            return format!("__{property}__");
        }
        PARTS
            .iter()
            .fold(property.to_owned(), |made, (escaped, plain)| {
                made.replace(plain, escaped)
            })
    }

    #[test]
    fn what_is_escaped_is_found_again() {
        for property in [
            "a",
            "a_b",
            "a-b",
            ".a",
            "-",
            "/a/",
            "a.b/c-d",
            "in",
            "namespace",
            "true",
            "a__b",
            "_",
            "__dot__",
        ] {
            let escaped = escape(property);
            assert_eq!(unescape(&escaped).as_deref(), Some(property), "{escaped}");
        }
    }

    #[test]
    fn names_are_escaped_as_kubernetes_escapes_them() {
        for (written, meant) in [
            ("a", Some("a")),
            ("a_b", Some("a_b")),
            ("__namespace__", Some("namespace")),
            ("namespace", None),
            ("a__dash__b", Some("a-b")),
            ("a__dot__b__slash__c", Some("a.b/c")),
            ("__underscores__a", Some("__a")),
            ("a__b", None),
            ("__odd__", None),
            ("__dot__a", Some(".a")),
            ("__dash__", Some("-")),
            ("__slash__a", Some("/a")),
            ("__underscores__dot__underscores__", Some("__dot__")),
        ] {
            assert_eq!(unescape(written).as_deref(), meant, "{written}");
        }
    }
}
