//! Parses text into a document, noting the members that occur twice in one object: the last one wins, as in Go,
//! and a client may ask to be told.

mod yaml;

use hindsight_core::patch::whole;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
pub(super) use yaml::{Unread, VALUES_MAX, read as yaml};

/// The most findings that are reported about one body.
const REPEATS_MAX: usize = 100;
/// The most bytes that are written down to find these: the path of a member may be much longer than the member,
/// and each of its repetitions has to be written down to be seen as one that is reported already.
const SPELLED_BYTES_MAX: usize = 4 << 20;

/// What is reported about a body.
#[derive(Debug, Default)]
struct Findings {
    list: Vec<String>,
    /// How much was written down so far, whether it is reported or not.
    spelled: usize,
}

impl Findings {
    const fn has_room(&self, count_max: usize) -> bool {
        self.list.len() < count_max && self.spelled < SPELLED_BYTES_MAX
    }

    fn add<K: Key>(&mut self, finding: String) {
        self.spelled += finding.len();
        if K::EVERY || !self.list.contains(&finding) {
            self.list.push(finding);
        }
    }
}

/// A document and its repeated members, in the words of the decoder of its syntax.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) document: Value,
    pub(crate) repeats: Vec<String>,
}

impl Decoded {
    /// For a JSON patch: adds members that no operation has to the repeated ones, and words all of them as
    /// findings in a patch.
    pub(super) fn in_operations(&mut self) {
        const KNOWN: [&str; 4] = ["op", "path", "from", "value"];
        let list = self.document.as_array().map_or(&[][..], Vec::as_slice);
        for (index, operation) in list.iter().enumerate() {
            let members = operation.as_object().into_iter().flatten();
            for (name, _) in members.filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
                if self.repeats.len() < REPEATS_MAX {
                    self.repeats
                        .push(format!("unknown field \"[{index}].{name}\""));
                }
            }
        }
        for finding in &mut self.repeats {
            finding.insert_str(0, "json patch ");
        }
    }
}

pub(super) fn json(bytes: &[u8]) -> Result<Decoded, String> {
    read_json::<String>(bytes)
}

/// Reads JSON where YAML is wanted.
pub(super) fn json_as_yaml(bytes: &[u8]) -> Result<Decoded, String> {
    read_json::<Plain>(bytes)
}

fn read_json<K: Key>(bytes: &[u8]) -> Result<Decoded, String> {
    let repeats = RefCell::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let node = Node::<K>::root(&repeats);
    let document = node.deserialize(&mut reader);
    let document = document.and_then(|document| reader.end().map(|()| document));
    finish(document, repeats)
}

/// The paths of all members of a JSON body, in order; none if it cannot be read.
pub(super) fn paths(bytes: &[u8]) -> Vec<String> {
    let paths = RefCell::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = Node::<Every>::root(&paths).deserialize(&mut reader);
    read.map_or_else(|_unreadable| Vec::new(), |_| paths.into_inner().list)
}

fn finish<E: fmt::Display>(
    document: Result<Value, E>,
    repeats: RefCell<Findings>,
) -> Result<Decoded, String> {
    let document = document.map_err(|error| error.to_string())?;
    let repeats = repeats.into_inner().list;
    Ok(Decoded { document, repeats })
}

/// A member's name, and how its repetition is reported.
trait Key: for<'de> serde::Deserialize<'de> {
    /// Whether every member is reported, not only a repeated one.
    const EVERY: bool = false;
    /// The most that is reported.
    const MAX: usize = REPEATS_MAX;

    fn name(&self) -> &str;
    /// The finding; the path is spelled out only where it is part of it.
    fn repeated(&self, path: impl FnOnce() -> String) -> String;
    fn float(value: f64) -> Value;
}

impl Key for String {
    fn name(&self) -> &str {
        self
    }

    fn repeated(&self, path: impl FnOnce() -> String) -> String {
        format!("duplicate field \"{}\"", path())
    }

    fn float(value: f64) -> Value {
        value.into()
    }
}

/// A key beside which whole numbers are written without a point, as beside those of YAML.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Plain(String);

impl Key for Plain {
    fn name(&self) -> &str {
        &self.0
    }

    fn repeated(&self, path: impl FnOnce() -> String) -> String {
        self.0.repeated(path)
    }

    fn float(value: f64) -> Value {
        plain(value)
    }
}

/// Upstream converts YAML to JSON first, where a whole number is written without a decimal point.
fn plain(value: f64) -> Value {
    whole(value).map_or_else(|| value.into(), Value::from)
}

/// A key of which only the path is of interest.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Every(String);

impl Key for Every {
    const EVERY: bool = true;
    const MAX: usize = 10_000;

    fn name(&self) -> &str {
        &self.0
    }

    fn repeated(&self, path: impl FnOnce() -> String) -> String {
        path()
    }

    fn float(value: f64) -> Value {
        value.into()
    }
}

/// A value that is being read. Its path is spelled out only when there is something to report.
struct Node<'a, K> {
    parent: Option<&'a Self>,
    step: Step<'a>,
    repeats: &'a RefCell<Findings>,
    key: PhantomData<K>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Member(&'a str),
    Item(usize),
}

impl<'a, K> Node<'a, K> {
    fn root(repeats: &'a RefCell<Findings>) -> Self {
        Self {
            parent: None,
            step: Step::Root,
            repeats,
            key: PhantomData,
        }
    }

    fn below<'b>(&'b self, step: Step<'b>) -> Node<'b, K>
    where
        'a: 'b,
    {
        Node {
            parent: Some(self),
            step,
            repeats: self.repeats,
            key: PhantomData,
        }
    }

    fn path(&self) -> String {
        let mut path = self.parent.map(Self::path).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Member(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Step::Item(index) => path.extend(["[", &index.to_string(), "]"]),
        }
        path
    }
}

impl<'de, K: Key> DeserializeSeed<'de> for Node<'_, K> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de, K: Key> Visitor<'de> for Node<'_, K> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(K::float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.deserialize(reader)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.below(Step::Item(list.len())))? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<K>()? {
            let name = key.name();
            let node = self.below(Step::Member(name));
            let is_told = K::EVERY || object.contains_key(name);
            if is_told && self.repeats.borrow().has_room(K::MAX) {
                let finding = key.repeated(|| node.path());
                self.repeats.borrow_mut().add::<K>(finding);
            }
            let value = members.next_value_seed(node)?;
            object.insert(name.to_owned(), value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_of_two_wins_and_both_are_told() {
        let text = br#"{"a": 1, "b": {"c": [{"d": 1, "d": 2, "e": null}]}, "a": true, "a": 1.5}"#;
        let decoded = json(text).expect("JSON");
        let expected = json!({"a": 1.5, "b": {"c": [{"d": 2, "e": null}]}});
        assert_eq!(decoded.document, expected);
        let repeats = [r#"duplicate field "b.c[0].d""#, r#"duplicate field "a""#];
        assert_eq!(decoded.repeats, repeats);
        assert_eq!(
            decoded.document,
            serde_json::from_slice::<Value>(text).expect("JSON")
        );
    }

    #[test]
    fn what_is_told_of_a_body_is_not_much_longer_than_the_body() {
        let long = "l".repeat(1 << 20);
        let members = |pattern: &str| -> Vec<String> {
            let each = (0..2_000).map(|n| pattern.replace('#', &n.to_string()));
            each.collect()
        };
        let told = |pattern: &str, read: fn(&[u8]) -> Vec<String>| {
            let body = format!(r#"{{"{long}": {{{}}}}}"#, members(pattern).join(","));
            let paths = read(body.as_bytes()).into_iter();
            (
                paths.map(|path| path.len()).sum::<usize>(),
                SPELLED_BYTES_MAX + (2 << 20),
            )
        };
        let repeats = |body: &[u8]| json(body).expect("JSON").repeats;
        for (pattern, read) in [
            (r#""k#": 0"#, paths as fn(&[u8]) -> Vec<String>),
            (r#""k#": 0, "k#": 1"#, repeats),
        ] {
            let (bytes, most) = told(pattern, read);
            assert!((1 << 20..most).contains(&bytes), "{pattern}: {bytes}");
        }
    }

    #[test]
    fn a_member_that_is_repeated_below_a_long_key_is_looked_for_only_so_often() {
        let long = "l".repeat(1 << 20);
        let repeated = format!("{{{}}}", vec![r#""a": 1"#; 100].join(","));
        let objects: Vec<String> = (0..100).map(|n| format!(r#""o{n}": {repeated}"#)).collect();
        let same: Vec<String> = vec![format!(r#""p": {repeated}"#); 100];
        for (what, within) in [
            ("one object", repeated),
            ("many objects", format!("{{{}}}", objects.join(","))),
            ("one object many times", format!("{{{}}}", same.join(","))),
        ] {
            let body = format!(r#"{{"{long}": {within}}}"#);
            let found = RefCell::default();
            let mut reader = serde_json::Deserializer::from_slice(body.as_bytes());
            let read = Node::<String>::root(&found).deserialize(&mut reader);
            let found: Findings = found.into_inner();
            assert!(read.is_ok() && !found.list.is_empty(), "{what}");
            let most = SPELLED_BYTES_MAX + (2 << 20);
            let spelled = found.spelled;
            assert!(
                (SPELLED_BYTES_MAX..most).contains(&spelled),
                "{what}: {spelled}"
            );
        }
    }

    #[test]
    fn yaml_tells_the_line() {
        let decoded =
            yaml(b"a: 1\nb:\n  c: x\n  d: -1\n  c: z\na: [true, 0.5, ~]\n").expect("YAML");
        assert_eq!(
            decoded.document,
            json!({"a": [true, 0.5, null], "b": {"c": "z", "d": -1}})
        );
        let repeats = [
            r#"line 5: key "c" already set in map"#,
            r#"line 6: key "a" already set in map"#,
        ];
        assert_eq!(decoded.repeats, repeats);
    }

    #[test]
    fn yaml_writes_whole_numbers_plainly_and_json_keeps_their_spelling() {
        let text = b"[1, 1.0, -2.0e3, 1.5, 9e18, 1e19]";
        let as_yaml = yaml(text).expect("a list").document;
        let read = |decoded: Result<Decoded, String>| decoded.expect("a list").document;
        assert_eq!(
            as_yaml,
            json!([1, 1, -2000, 1.5, 9_000_000_000_000_000_000_i64, 1e19])
        );
        assert_eq!(read(json_as_yaml(text)), as_yaml);
        assert_eq!(read(json(text)), json!([1, 1.0, -2000.0, 1.5, 9e18, 1e19]));
    }

    #[test]
    fn yaml_is_read_as_of_version_1_1() {
        let text = b"n: yes\n010: 010\n\"no\": \"no\"\nplain: On\n1.5: ~\n0x10: 0x10\n";
        let decoded = yaml(text).expect("YAML");
        let expected =
            json!({"false": true, "8": 8, "no": "no", "plain": true, "1.5": null, "16": 16});
        assert_eq!(decoded.document, expected);
    }

    #[test]
    fn of_several_documents_of_yaml_the_first_is_read() {
        for text in [
            "a: 1\n---\na: 2\n",
            "---\na: 1\n---\n",
            "a: 1\n...\n---\n[]\n",
            "a: 1\n---\nb: [1\n",
            "{\"a\": 1}\n---\na: 2\na: 3\n",
            "a: 1\n---\n]\n",
            "a: 1\n---\n'open\n",
            "a: 1\n---\n*nobody\n",
            "a: 1\n%YAML 1.1\n---\na: 2\n",
            "a: 1\n...\n]\n",
            "{\"a\": 1} {\"a\": 2}",
            "{\"a\": 1}\nb: 1\n",
            " a: 1\nb: 1\n",
        ] {
            let decoded = yaml(text.as_bytes()).expect(text);
            assert_eq!(decoded.document, json!({"a": 1}), "{text}");
            assert!(decoded.repeats.is_empty(), "{text}");
        }
        for text in ["a: 1\n]\n", "a: 1\n  b: 2\n", "{}}", "a: [\n---\na: 1\n"] {
            assert!(yaml(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for text in ["", "{", "{} {}", "{\"a\": }", "[1,]", "nul"] {
            assert!(json(text.as_bytes()).is_err(), "{text:?}");
        }
        let deep = "[".repeat(1_000);
        assert!(json(deep.as_bytes()).is_err() && yaml(deep.as_bytes()).is_err());
    }
}
