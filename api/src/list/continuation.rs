//! Continue tokens: the place where a list continues, as clients send it back.

use crate::status::Failure;
use hindsight_core::{ObjectKey, Revision};
use serde_json::{Value, json};
use std::fmt::Write;

/// Stands in a token for the newest state, whatever the first page showed. Source: the same value in upstream's
/// tokens.
const NEWEST: i64 = -1;

/// A place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continuation {
    /// The revision of the list's pages; `None` for the newest state.
    pub(super) revision: Option<Revision>,
    pub(super) after: ContinueAfter,
}

/// The last object that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContinueAfter {
    namespace: String,
    name: String,
}

impl ContinueAfter {
    /// Its namespace and its name.
    pub(super) fn place(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }
}

impl Continuation {
    /// The place after this object.
    pub(super) fn after(revision: Revision, last: &ObjectKey) -> Self {
        Self {
            revision: Some(revision),
            after: ContinueAfter {
                namespace: last.namespace.to_string(),
                name: last.name.to_string(),
            },
        }
    }

    /// The same place in the newest state.
    pub(super) fn at_newest(self) -> Self {
        Self {
            revision: None,
            ..self
        }
    }

    /// The token of the place, opaque to clients: hex of a small document.
    pub(super) fn token(&self) -> String {
        let ContinueAfter { namespace, name } = &self.after;
        let revision = match self.revision {
            Some(revision) => json!(revision.0),
            None => json!(NEWEST),
        };
        let document =
            json!({"v": "meta.k8s.io/v1", "rv": revision, "ns": namespace, "start": name});
        let mut token = String::new();
        for byte in document.to_string().bytes() {
            write!(token, "{byte:02x}").ok();
        }
        token
    }

    pub(super) fn from_token(token: &str) -> Result<Self, Failure> {
        read(token).ok_or_else(|| {
            let message = "invalid continue token: continue key is not valid: encoded value";
            Failure::bad_request(message)
        })
    }
}

fn read(token: &str) -> Option<Continuation> {
    let digits = token.chars().map(|digit| digit.to_digit(16));
    let digits = digits.collect::<Option<Vec<u32>>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let byte = |[high, low]: &[u32; 2]| u8::try_from(high * 16 + low).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?;
    let document: Value = serde_json::from_slice(&bytes).ok()?;
    let text = |member: &str| Some(document.get(member)?.as_str()?.to_owned());
    let revision = document.get("rv")?;
    let revision = if revision.as_i64() == Some(NEWEST) {
        None
    } else {
        Some(Revision(revision.as_u64()?))
    };
    Some(Continuation {
        revision,
        after: ContinueAfter {
            namespace: text("ns")?,
            name: text("start")?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for revision in [Some(Revision(7)), Some(Revision::MAX), None] {
            let after = ContinueAfter {
                namespace: "n1".to_owned(),
                name: "a".to_owned(),
            };
            let continuation = Continuation { revision, after };
            assert_eq!(
                Continuation::from_token(&continuation.token()).expect("a token"),
                continuation
            );
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let hex = |text: &str| {
            text.bytes()
                .fold(String::new(), |all, one| all + &format!("{one:02x}"))
        };
        let document = r#"{"rv":-2,"ns":"a","start":"b"}"#;
        for token in ["7", "7b7d", "zz", "\u{e4}", &hex(document), &hex("[1]")] {
            let failure = Continuation::from_token(token).expect_err(token);
            assert_eq!(failure.code, 400, "{token}");
        }
    }
}
