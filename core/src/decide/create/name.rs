//! The new object's name: the client's, or one made from `generateName`.

use crate::decide::{Context, prepare};
use crate::kind::Kind;
use crate::object::ObjectKey;
use crate::rejection::FieldCause;
use crate::{Rejection, validate};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Source: `storage/names/generate.go`.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const PREFIX_MAX: usize = 58;
const ATTEMPTS_MAX: u32 = 8;

/// Where to store a new object.
pub(super) struct Chosen {
    pub(super) key: ObjectKey,
    /// Somebody has that name.
    pub(super) taken: Option<Rejection>,
}

/// The key under which to store it; the name is written to the metadata.
pub(super) fn choose(
    context: &Context<'_>,
    kind: &Kind,
    wanted: &ObjectKey,
    metadata: &mut Map<String, Value>,
) -> Result<Chosen, Rejection> {
    let name = prepare::text(metadata, "name").to_owned();
    let prefix = prepare::text(metadata, "generateName").to_owned();
    let at = |name: &str| ObjectKey {
        resource: wanted.resource.clone(),
        namespace: Arc::clone(&wanted.namespace),
        name: name.into(),
    };
    if !name.is_empty() || prefix.is_empty() {
        let key = at(&name);
        let holder = context.state.get(&key);
        let taken =
            holder.map(|holder| taken(key.clone(), holder.is_deleting(), !prefix.is_empty()));
        return Ok(Chosen { key, taken });
    }
    check_prefix(kind, &prefix)?;
    for attempt in 1..=ATTEMPTS_MAX {
        let name = generate(&prefix, context.command.seed, attempt);
        let key = at(&name);
        if context.state.get(&key).is_none() {
            metadata.insert("name".into(), name.into());
            return Ok(Chosen { key, taken: None });
        }
    }
    Err(taken(at(&prefix), false, true))
}

fn taken(key: ObjectKey, terminating: bool, generated: bool) -> Rejection {
    Rejection::AlreadyExists {
        resource: key.resource,
        name: key.name,
        terminating,
        generated,
    }
}

/// A trailing dash is fine, because something follows it.
fn check_prefix(kind: &Kind, prefix: &str) -> Result<(), Rejection> {
    let masked = prefix.strip_suffix('-').map(|head| format!("{head}a"));
    let checked = masked.as_deref().unwrap_or(prefix);
    let causes = match validate::legal_name(kind.strategy.names, checked) {
        Ok(()) => Vec::new(),
        Err(why) => vec![FieldCause::invalid(
            "metadata.generateName",
            &json!(prefix),
            &why,
        )],
    };
    prepare::refuse(kind, "", causes)
}

fn generate(prefix: &str, seed: [u8; 16], attempt: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed);
    hasher.update(b"name");
    hasher.update(&attempt.to_le_bytes());
    let cut = (0..=PREFIX_MAX.min(prefix.len()))
        .rev()
        .find(|at| prefix.is_char_boundary(*at));
    let mut name = prefix
        .get(..cut.unwrap_or(0))
        .unwrap_or_default()
        .to_owned();
    for byte in hasher.finalize().as_bytes().iter().take(5) {
        let letter = ALPHABET
            .get(usize::from(*byte) % ALPHABET.len())
            .copied()
            .unwrap_or(b'b');
        name.push(char::from(letter));
    }
    name
}
