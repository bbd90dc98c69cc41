//! `labelSelector`: equality and set membership. Source: apimachinery's `labels/selector.go`.

mod parse;
mod values;

use crate::object::Name;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use values::Values;

/// A parsed label selector. An empty one matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// Upstream's notation, which queries accept: sorted by key, values in order.
impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut requirements: Vec<&Requirement> = self.requirements.iter().collect();
        requirements.sort_by_key(|one| &one.key);
        for (index, requirement) in requirements.into_iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(formatter, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let joined = |values: &Values| values.iter().collect::<Vec<_>>().join(",");
        match &self.operator {
            Operator::Exists => write!(formatter, "{key}"),
            Operator::Absent => write!(formatter, "!{key}"),
            Operator::Is(value) => write!(formatter, "{key}={value}"),
            Operator::In(values) => write!(formatter, "{key} in ({})", joined(values)),
            Operator::NotIn(values) => write!(formatter, "{key} notin ({})", joined(values)),
            Operator::Above(bound) => write!(formatter, "{key}>{bound}"),
            Operator::Below(bound) => write!(formatter, "{key}<{bound}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    Exists,
    Absent,
    Is(String),
    In(Values),
    NotIn(Values),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Parses the selector of a query. Errors are those of Kubernetes, which has no limit on
    /// requirements.
    pub fn parse(text: &str) -> Result<Self, String> {
        let requirements = parse::requirements(text)?;
        Ok(Self { requirements })
    }

    /// Parses a `metav1.LabelSelector` in an object. The error says what is wrong with it.
    pub(crate) fn from_document(selector: &Value) -> Result<Self, String> {
        let labels = selector.get("matchLabels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten().map(|(key, value)| {
            let value = value.as_str().unwrap_or_default().to_owned();
            Ok(Requirement {
                key: key.clone(),
                operator: Operator::Is(value),
            })
        });
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        let expressions = expressions.into_iter().flatten().map(expression);
        let requirements = labels.chain(expressions).collect::<Result<_, String>>()?;
        Ok(Self { requirements })
    }

    /// Whether the selector matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The number of requirements.
    pub fn requirements(&self) -> usize {
        self.requirements.len()
    }

    /// Whether these labels satisfy every requirement.
    pub fn matches(&self, labels: &BTreeMap<Name, Name>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.get(&*requirement.key).map(|value| &**value);
            let among = |values: &Values| value.is_some_and(|one| values.contains(one));
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                Operator::Exists => value.is_some(),
                Operator::Absent => value.is_none(),
                Operator::Is(wanted) => value.is_some_and(|one| one == wanted),
                Operator::In(values) => among(values),
                Operator::NotIn(values) => !among(values),
                Operator::Above(bound) => number().is_some_and(|number| number > *bound),
                Operator::Below(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

fn expression(document: &Value) -> Result<Requirement, String> {
    let text = |member: &str| document.get(member).and_then(Value::as_str);
    let values = document.get("values").and_then(Value::as_array);
    let values = values.into_iter().flatten().filter_map(Value::as_str);
    let values: BTreeSet<String> = values.map(str::to_owned).collect();
    let operator = match text("operator").unwrap_or_default() {
        "In" => Operator::In(values.into()),
        "NotIn" => Operator::NotIn(values.into()),
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::Absent,
        other => return Err(format!("{other:?} is not a valid label selector operator")),
    };
    Ok(Requirement {
        key: text("key").unwrap_or_default().to_owned(),
        operator,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_as_kubernetes_does() {
        let labels = [("a", "1"), ("b", "x")]
            .map(|(k, v)| (Name::from(k), Name::from(v)))
            .into();
        for (selector, matches) in [
            ("", true),
            ("a", true),
            ("!a", false),
            ("!c", true),
            ("a=1", true),
            ("a==1,b=x", true),
            ("a!=1", false),
            ("c!=1", true),
            ("a in (1, 2)", true),
            ("a notin (1,2)", false),
            ("c notin (1)", true),
            ("a>0", true),
            ("a<1", false),
            ("b>0", false),
            ("c in ()", false),
            ("\ta\n=\r1 ,\n! c\t", true),
            ("a\nin\t(\r1\n, 2 )", true),
        ] {
            let parsed = LabelSelector::parse(selector).expect(selector);
            assert_eq!(parsed.matches(&labels), matches, "{selector}");
        }
    }

    #[test]
    fn a_thousand_requirements_are_one_selector_and_so_are_more_values() {
        let required = |count| vec!["a"; count].join(",");
        assert!(LabelSelector::parse(&required(1_000)).is_ok());
        let refused = LabelSelector::parse(&required(1_001)).expect_err("too many");
        assert!(refused.contains("1000 requirements"), "{refused}");
        let values: Vec<_> = (0..20_000).map(|at| at.to_string()).collect();
        let parsed = LabelSelector::parse(&format!("a in ({})", values.join(", ")));
        let labels = [(Name::from("a"), Name::from("19999"))].into();
        let parsed = parsed.expect("one requirement");
        assert_eq!((parsed.requirements(), parsed.matches(&labels)), (1, true));
        // Selectors in objects have no limit of their own: the size of the object bounds them.
        let labels = (0..1_001).map(|at| (format!("k{at}"), Value::from("v")));
        let labels: serde_json::Map<_, _> = labels.collect();
        let document = serde_json::json!({"matchLabels": labels});
        assert!(LabelSelector::from_document(&document).is_ok());
    }

    #[test]
    fn selectors_in_objects_match_as_those_in_queries() {
        let labels = [(Name::from("a"), Name::from("1"))].into();
        for (selector, matches) in [
            ("null", Ok(true)),
            ("{}", Ok(true)),
            (r#"{"matchLabels": {"a": "1"}}"#, Ok(true)),
            (r#"{"matchLabels": {"a": "1", "b": "2"}}"#, Ok(false)),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "In", "values": ["0", "1"]}]}"#,
                Ok(true),
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}"#,
                Ok(false),
            ),
            (
                r#"{"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}"#,
                Ok(true),
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "Exists"}]}"#,
                Ok(true),
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}"#,
                Ok(false),
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "Is"}]}"#,
                Err("\"Is\" is not a valid label selector operator".to_owned()),
            ),
        ] {
            let document = serde_json::from_str(selector).expect(selector);
            let parsed = LabelSelector::from_document(&document);
            assert_eq!(
                parsed.map(|one| one.matches(&labels)),
                matches,
                "{selector}"
            );
        }
    }

    #[test]
    fn a_selector_is_written_by_its_keys_and_read_back() {
        for (selector, written) in [
            ("{}", ""),
            (r#"{"matchLabels": {"z": "1", "a": "b"}}"#, "a=b,z=1"),
            (
                r#"{"matchLabels": {"m": ""}, "matchExpressions": [
                    {"key": "z", "operator": "NotIn", "values": ["y", "x"]},
                    {"key": "k", "operator": "In", "values": ["y", "x", "y"]},
                    {"key": "n", "operator": "DoesNotExist"},
                    {"key": "e", "operator": "Exists"}]}"#,
                "e,k in (x,y),m=,!n,z notin (x,y)",
            ),
            (
                r#"{"matchExpressions": [{"key": "k", "operator": "In", "values": ["x"]}]}"#,
                "k in (x)",
            ),
        ] {
            let document = serde_json::from_str(selector).expect(selector);
            let parsed = LabelSelector::from_document(&document).expect(selector);
            assert_eq!(parsed.to_string(), written);
            let again = LabelSelector::parse(written).expect(written);
            assert_eq!(again.to_string(), written);
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for selector in [
            ",",
            "a,",
            "a=b=c",
            "a in (",
            "a x",
            "=b",
            "a in b",
            "x>y",
            "a=-",
            "a\0=b",
            "a\u{a0}=b",
            "a=\u{2003}b",
            "\u{b}a",
            "a in (b\u{c})",
        ] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}
