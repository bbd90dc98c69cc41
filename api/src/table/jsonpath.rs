//! JSON paths of printer columns, as kubectl's library reads them.
//! Source: `client-go/util/jsonpath`.

mod evaluate;
mod parse;

pub(crate) use evaluate::Looks;
use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// `.name`, `['name']`.
    Field(String),
    /// `.*`, `[*]` of an object.
    Wildcard,
    /// `..`: the value and everything inside it.
    Descend,
    /// `[start:end:step]`, `[index]`.
    Slice(Slice),
    /// `[a,b]`.
    Union(Vec<JsonPath>),
    /// `[?(@.name=="x")]`.
    Filter(Filter),
    /// A text, number or boolean in a filter.
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
    /// Whether only an index was given: the end then follows from the start.
    single: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: JsonPath,
    /// `None` without a comparison: then the left side must find something.
    right: Option<(Comparison, JsonPath)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Parses a path; `None` if it is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        parse::path(text)
    }

    /// The first value that the path leads to: in the document, or a literal of the path.
    pub(super) fn first<'a>(&'a self, document: &'a Value, looks: &mut Looks) -> Option<&'a Value> {
        let found = looks.follow(&self.steps, document);
        found.values.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate::FOUND_MAX;
    use super::*;
    use serde_json::json;

    const FOUND: &str = r#"
.metadata.name | "n"
.spec.replicas | 3
.spec.absent | nothing
.metadata.annotations['example\.com/a'] | "slash"
.metadata.annotations['example.com/a'] | nothing
.metadata.annotations.example\.com/a | "slash"
.metadata.annotations['b\.c'] | "dot"
.status.conditions[0].type | "Ready"
.status.conditions[-1].type | "Synced"
.status.conditions[7].type | nothing
.status.conditions[9223372036854775807].type | nothing
.status.conditions[-9223372036854775808].type | nothing
.status.conditions[1:].type | "Synced"
.status.conditions[:1].type | "Ready"
.status.conditions[0:2:2].type | "Ready"
.status.conditions[*].type | "Ready"
.status.conditions[0,1].status | "True"
.status.conditions[?(@.type=="Synced")].status | "False"
.status.conditions[?(@.type=='Synced')].status | "False"
.status.conditions[?(@.type != "Ready")].status | "False"
.status.conditions[?(@.type=="None")].status | nothing
.status.conditions[?(@.reason)].type | "Synced"
.status.conditions[?(@.count>2)].type | "Synced"
.status.conditions[?(@.count>=2.5)].type | "Synced"
.status.conditions[?(@.good==true)].type | "Ready"
.status.conditions[?(@.type=="a)b")].type | nothing
.spec.map.* | 1
.spec['map']['x'] | 1
..count | 1
.spec..deep | "d"
.status.conditions | [{"count": 1, "good": true, "status": "True", "type": "Ready"}, {"count": 3, "good": false, "reason": "R", "status": "False", "type": "Synced"}]
.metadata.name[0] | nothing
.metadata.name.x | nothing
. | nothing
"#;

    fn document() -> Value {
        json!({
            "metadata": {"name": "n", "annotations": {"example.com/a": "slash", "b.c": "dot"}},
            "spec": {"replicas": 3, "map": {"x": 1}, "a": {"b": [{"deep": "d"}]}},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "count": 1, "good": true},
                {"type": "Synced", "status": "False", "count": 3, "good": false, "reason": "R"},
            ]},
        })
    }

    #[test]
    fn paths_lead_where_kubectl_goes() {
        let document = document();
        for row in FOUND.lines().filter(|row| !row.is_empty()) {
            let (path, expected) = row.split_once(" | ").expect(row);
            let parsed = JsonPath::parse(path).expect(path);
            let expected: Option<Value> = serde_json::from_str(expected).ok();
            let found = parsed.first(&document, &mut Looks::default());
            assert_eq!(found, expected.as_ref(), "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_not_read() {
        for path in [
            ".a[",
            ".a[x]",
            ".a[\"x\"]",
            ".a[?(@.b]",
            ".a[?(@.b==\"x)]",
            ".a[?(@.b=~1)]",
            "....a",
            ".a}",
            ".a[1:2:3:4]",
            ".a end",
        ] {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_finds_only_so_much() {
        let document = json!({"l": vec![json!({"l": vec![json!(1); 200]}); 200]});
        for path in [".l[*].l[*]", "..", "..l..", ".l[*]['l','l'][*]"] {
            let parsed = JsonPath::parse(path).expect(path);
            let found = Looks::default().follow(&parsed.steps, &document).values;
            assert!(!found.is_empty() && found.len() <= FOUND_MAX, "{path}");
        }
    }

    #[test]
    fn a_union_finds_no_more_than_any_other_step() {
        let document = json!({"l": vec![1; FOUND_MAX]});
        let all = JsonPath::parse("[*]").expect("a path");
        let steps = [Step::Field("l".into()), Step::Union(vec![all; 10_000])];
        let found = Looks::default().follow(&steps, &document).values;
        assert_eq!(found.len(), FOUND_MAX);
        // A vector keeps the room of the most that was ever in it.
        assert!(found.capacity() <= 2 * FOUND_MAX, "{}", found.capacity());
    }

    #[test]
    fn a_union_has_so_many_parts() {
        for (parts, is_path) in [(2, true), (100, true), (101, false), (10_000, false)] {
            let path = format!(".l[{}]", vec!["*"; parts].join(","));
            assert_eq!(JsonPath::parse(&path).is_some(), is_path, "{parts}");
        }
    }

    #[test]
    fn the_paths_of_a_row_look_at_only_so_much() {
        let path = JsonPath::parse(".l[?(@..x)].x").expect("a path");
        for (others, is_found) in [(2, true), (20, false)] {
            let mut list = vec![json!(vec![[1]; 5_000]); others];
            list.push(json!({"x": 1}));
            let document = json!({"l": list});
            let found = path.first(&document, &mut Looks::default());
            assert_eq!(found.is_some(), is_found, "after {others} others");
        }
        let mut list = vec![json!(vec![[1]; 5_000]); 2];
        list.push(json!({"x": 1}));
        let (document, mut looks) = (json!({"l": list}), Looks::default());
        let found: Vec<bool> = (0..100)
            .map(|_| path.first(&document, &mut looks).is_some())
            .collect();
        assert!(found[0] && !found[99], "{found:?}");
        assert!(looks.cost() > 0);
    }

    #[test]
    fn long_texts_are_compared_only_so_often() {
        let path = JsonPath::parse(".l[?(@.a==@.b)].c").expect("a path");
        let long = "x".repeat(100_000);
        for (others, is_found) in [(10, true), (300, false)] {
            let other = json!({"a": format!("{long}y"), "b": format!("{long}z")});
            let mut list = vec![other; others];
            list.push(json!({"a": 1, "b": 1, "c": 1}));
            let document = json!({"l": list});
            let found = path.first(&document, &mut Looks::default());
            assert_eq!(found.is_some(), is_found, "after {others} others");
        }
    }

    #[test]
    fn deep_filters_are_not_read() {
        let nested = format!(".a{}@{}", "[?(@.b".repeat(100), ")]".repeat(100));
        assert_eq!(JsonPath::parse(&nested), None);
    }
}
