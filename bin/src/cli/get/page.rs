//! Parses one piece of a list item by item: as parsed trees, objects take many times the memory of their text.

use anyhow::Result;
use serde::de::{
    DeserializeSeed, Deserializer as _, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Deserializer, Value};
use std::fmt;

/// What surrounds the items.
pub(super) struct Piece {
    pub(super) revision: String,
    /// The continue token for the next piece.
    pub(super) next: Option<String>,
}

/// Passes the items on, one at a time.
pub(super) fn read(text: &[u8], take: &mut dyn FnMut(Value) -> Result<()>) -> Result<Piece> {
    let mut refused = None;
    let list = List {
        take,
        refused: &mut refused,
        api_version: String::new(),
        kind: String::new(),
    };
    let read = Deserializer::from_slice(text).deserialize_map(list);
    match refused {
        Some(refused) => Err(refused),
        None => Ok(read?),
    }
}

struct List<'a> {
    take: &'a mut dyn FnMut(Value) -> Result<()>,
    refused: &'a mut Option<anyhow::Error>,
    /// The type of the list, which precedes its items.
    api_version: String,
    kind: String,
}

impl List<'_> {
    /// Adds the type to an item: items of built-in kinds leave it to the list.
    fn typed(&self, mut item: Value) -> Value {
        let kind = self.kind.strip_suffix("List").unwrap_or_default();
        if let Some(members) = item.as_object_mut().filter(|_| !kind.is_empty()) {
            let version = || self.api_version.as_str().into();
            members.entry("apiVersion").or_insert_with(version);
            members.entry("kind").or_insert_with(|| kind.into());
        }
        item
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = Piece;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Piece, A::Error> {
        let mut metadata = Value::Null;
        while let Some(member) = members.next_key::<String>()? {
            match member.as_str() {
                "apiVersion" => self.api_version = members.next_value()?,
                "kind" => self.kind = members.next_value()?,
                "metadata" => metadata = members.next_value()?,
                "items" => members.next_value_seed(Items(&mut self))?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        let text = |member: &str| metadata.get(member).and_then(Value::as_str);
        Ok(Piece {
            revision: text("resourceVersion").unwrap_or_default().to_owned(),
            next: text("continue")
                .filter(|next| !next.is_empty())
                .map(str::to_owned),
        })
    }
}

struct Items<'a, 'b>(&'a mut List<'b>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, items: D) -> Result<(), D::Error> {
        items.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("items")
    }

    /// A list of metadata has `null` as its items if it is empty.
    fn visit_none<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, items: D) -> Result<(), D::Error> {
        items.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Value>()? {
            let item = self.0.typed(item);
            if let Err(error) = (self.0.take)(item) {
                *self.0.refused = Some(error);
                return Err(A::Error::custom("no more is taken"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use serde_json::json;

    const LIST: &str = r#"{"items":[{"a":1},{"a":2}],"kind":"List",
        "metadata":{"resourceVersion":"7","continue":"more"}}"#;

    #[test]
    fn items_are_handed_over_one_by_one_wherever_the_metadata_stands() {
        let mut taken = Vec::new();
        let piece = read(LIST.as_bytes(), &mut |item| {
            taken.push(item);
            Ok(())
        });
        let piece = piece.expect("a list");
        assert_eq!(taken, [json!({"a": 1}), json!({"a": 2})]);
        assert_eq!(
            (piece.revision.as_str(), piece.next.as_deref()),
            ("7", Some("more"))
        );
        for items in ["[]", "null"] {
            let last = format!(r#"{{"metadata":{{"continue":""}},"items":{items}}}"#);
            let last = read(last.as_bytes(), &mut |_| bail!("there is none"));
            assert_eq!(last.expect("a list").next, None, "{items}");
        }
    }

    #[test]
    fn items_that_do_not_say_what_they_are_are_what_the_list_says() {
        let list = br#"{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{},
            "items":[{"a":1},{"apiVersion":"v2","kind":"Other"}]}"#;
        let mut taken = Vec::new();
        let read = read(list, &mut |item| {
            taken.push(item);
            Ok(())
        });
        read.expect("a list");
        let first = json!({"a": 1, "apiVersion": "apps/v1", "kind": "Deployment"});
        assert_eq!(taken, [first, json!({"apiVersion": "v2", "kind": "Other"})]);
    }

    #[test]
    fn whoever_takes_no_more_says_why() {
        let mut taken = 0;
        let read = read(LIST.as_bytes(), &mut |_| {
            taken += 1;
            bail!("enough")
        });
        let said = read.err().map(|error| error.to_string());
        assert_eq!((taken, said.as_deref()), (1, Some("enough")));
    }
}
