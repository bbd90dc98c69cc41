//! The name of a new object: the client's, or one made from `generateName`.

use crate::Rejection;
use crate::decide::{Context, prepare};
use crate::object::{Object, ObjectKey, Uid};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Alphabet of generated names. Source: `storage/names/generate.go`.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const PREFIX_MAX: usize = 58;
const ATTEMPTS_MAX: u32 = 8;

/// The key of a new object.
pub(super) struct Chosen {
    pub(super) key: ObjectKey,
    /// The refusal, if the name is already taken.
    pub(super) taken: Option<Rejection>,
}

/// Chooses the key to store the object under, and writes the name to the metadata.
pub(super) fn choose(
    context: &Context<'_>,
    wanted: &ObjectKey,
    metadata: &mut Map<String, Value>,
) -> Chosen {
    if let Some(name) = name_of_nameless(context, wanted, metadata) {
        metadata.insert("name".into(), name.as_str().into());
    }
    let name = prepare::text(metadata, "name");
    let prefix = prepare::text(metadata, "generateName");
    let is_prefixed = !prefix.is_empty();
    let at = |name: &str| ObjectKey {
        resource: wanted.resource.clone(),
        namespace: Arc::clone(&wanted.namespace),
        name: name.into(),
    };
    let key = if name.is_empty() && is_prefixed {
        let mut keys =
            (1..=ATTEMPTS_MAX).map(|attempt| at(&generate(prefix, context.envelope.seed, attempt)));
        let is_free = |key: &ObjectKey| context.state.get(key).is_none();
        // If all are taken, the refusal names the last one.
        let key = keys.clone().find(is_free).or_else(|| keys.next_back());
        let key = key.unwrap_or_else(|| at(prefix));
        metadata.insert("name".into(), Value::from(&*key.name));
        key
    } else {
        at(name)
    };
    let refusal = |holder: &Arc<Object>| Rejection::AlreadyExists {
        resource: key.resource.clone(),
        name: Arc::clone(&key.name),
        terminating: holder.is_deleting(),
        generated: is_prefixed,
    };
    let taken = context.state.get(&key).map(refusal);
    Chosen { key, taken }
}

/// A limit range needs no name: it gets a UUID. Source: `limitrangeStrategy.PrepareForCreate`.
fn name_of_nameless(
    context: &Context<'_>,
    wanted: &ObjectKey,
    metadata: &Map<String, Value>,
) -> Option<Uid> {
    let is_nameless = ["name", "generateName"].map(|one| prepare::text(metadata, one)) == ["", ""];
    let of = (&*wanted.resource.group, &*wanted.resource.resource);
    // The key has no name yet, so the uid of the object is another one.
    let name = || Uid::of_new(context.envelope.seed, wanted);
    (is_nameless && of == ("", "limitranges")).then(name)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use serde_json::json;

    #[test]
    fn what_is_generated_has_room_behind_a_long_prefix() {
        for (prefix, kept) in [
            ("x".repeat(57), 57),
            ("x".repeat(58), 58),
            ("x".repeat(59), 58),
            ("x".repeat(253), 58),
        ] {
            let mut world = World::new();
            let object = json!({"metadata": {"generateName": prefix}});
            let made = world.create("configmaps", object).expect("created");
            let name = &made.outcome.object().key.name;
            let letters = name.strip_prefix(&*"x".repeat(kept)).expect("the prefix");
            assert_eq!(letters.len(), 5, "{name}");
        }
        // Nothing of a letter is left that does not fit.
        assert_eq!(
            generate(&"\u{e9}".repeat(30), [0; 16], 1).chars().count(),
            29 + 5
        );
    }

    #[test]
    fn eight_names_are_tried() {
        for (taken, made) in [(7, true), (8, false)] {
            let mut world = World::new();
            // These are the seeds of the world's next commands.
            let wanted = [world.next_seed(taken); 16];
            for attempt in 1..=u32::from(taken) {
                let name = generate("gen-", wanted, attempt);
                let object = json!({"metadata": {"name": name}});
                world.create("configmaps", object).expect("created");
            }
            let object = json!({"metadata": {"generateName": "gen-"}});
            let answer = world.create("configmaps", object);
            match answer {
                Ok(decision) => {
                    let name = generate("gen-", wanted, 8);
                    assert!(made && *decision.outcome.object().key.name == *name);
                }
                Err(Rejection::AlreadyExists {
                    generated, name, ..
                }) => assert!(!made && generated && *name == *generate("gen-", wanted, 8)),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
