//! Uids: object identities, never used twice.

use super::{ObjectKey, text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Length of a UUID in text form.
const UUID_BYTES: usize = 36;

/// A `metadata.uid`. A reference may carry any string, so it is not checked to be a UUID. Orders as its
/// text.
#[derive(Clone)]
pub struct Uid(Text);

/// A text as long as a UUID is stored inline, so that indexes by uid compare without following a pointer.
#[derive(Clone)]
enum Text {
    Short([u8; UUID_BYTES]),
    Shared(Arc<str>),
}

impl Uid {
    /// A version 4 UUID that nothing else has: that of a request to a webhook. Objects get theirs from
    /// [`Self::of_new`].
    pub fn from_seed(seed: [u8; 16]) -> Self {
        Self::from_hash_of(&seed)
    }

    /// The uid of the object that a command with this seed creates under this key: a version 4 UUID. Objects that
    /// live at the same time have different keys, and so different uids, even if a seed is used twice.
    pub fn of_new(seed: [u8; 16], key: &ObjectKey) -> Self {
        let parts = key.parts();
        let bytes: usize = parts.iter().map(|part| part.len() + 1).sum();
        let mut source = Vec::with_capacity(seed.len() + bytes);
        source.extend(seed);
        for part in parts {
            source.extend_from_slice(part.as_bytes());
            source.push(0);
        }
        Self::from_hash_of(&source)
    }

    fn from_hash_of(source: &[u8]) -> Self {
        let hash = blake3::hash(source);
        let bytes = hash.as_bytes().first_chunk().copied().unwrap_or_default();
        let mut text = [0; UUID_BYTES];
        uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .hyphenated()
            .encode_lower(&mut text);
        Self(Text::Short(text))
    }

    /// The uid as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // Only whole strings are stored here, so the bytes are valid UTF-8.
            Text::Short(bytes) => str::from_utf8(bytes).unwrap_or_default(),
            Text::Shared(text) => text,
        }
    }

    /// The bytes of [`Self::as_str`].
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Text::Short(bytes) => bytes,
            Text::Shared(text) => text.as_bytes(),
        }
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(match text.as_bytes().try_into() {
            Ok(bytes) => Text::Short(bytes),
            Err(_) => Text::Shared(text.into()),
        })
    }
}

impl PartialEq for Uid {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Uid {}

impl PartialOrd for Uid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Uid {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Uid {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.as_bytes().hash(hasher);
    }
}

impl Serialize for Uid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer, |text| Self::from(text))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_comes_back_and_orders_as_text() {
        let uuid = Uid::from_seed([7; 16]);
        assert_eq!(uuid.as_str().len(), UUID_BYTES);
        let wide = "\u{e9}".repeat(UUID_BYTES / 2);
        let mut texts = [
            "",
            "b",
            uuid.as_str(),
            &wide,
            "zz",
            &"a".repeat(UUID_BYTES + 1),
        ];
        let mut uids = texts.map(Uid::from);
        texts.sort_unstable();
        uids.sort_unstable();
        assert_eq!(uids.each_ref().map(Uid::as_str), texts);
        let json = serde_json::to_string(&uids).expect("writes");
        assert_eq!(json, serde_json::to_string(&texts).expect("writes"));
        let back: Vec<Uid> = serde_json::from_str(&json).expect("reads");
        assert_eq!(back, uids);
    }
}
