//! Deserializing the strings of a body in place: the only copy made is the one that is kept.

use super::Name;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Reads a string, and returns what `keep` makes of it.
pub(super) fn read<'de, D, T>(deserializer: D, keep: impl FnOnce(&str) -> T) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(Reader(keep))
}

struct Reader<F>(F);

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Reader<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(self.0(text))
    }
}

/// A shared string.
pub(super) struct Text(pub(super) Name);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, |text| Self(text.into()))
    }
}

/// Reads a shared string; for `deserialize_with`.
pub(super) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
    read(deserializer, |text| text.into())
}

/// A map of shared strings, such as labels.
#[derive(Default)]
pub(super) struct Texts(pub(super) BTreeMap<Name, Name>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TextsReader)
    }
}

struct TextsReader;

impl<'de> Visitor<'de> for TextsReader {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
        let mut texts = BTreeMap::new();
        while let Some((Text(name), Text(text))) = map.next_entry()? {
            texts.insert(name, text);
        }
        Ok(Texts(texts))
    }
}
