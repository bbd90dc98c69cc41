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
        let found = document(token)
            .ok_or(UNREADABLE)
            .and_then(|place| read(&place));
        let refused = |why| format!("invalid continue token: continue key is not valid: {why}");
        found.map_err(|why| Failure::bad_request(refused(why)))
    }
}

/// What is wrong with a token. Source: upstream's `DecodeContinue`.
const UNREADABLE: &str = "encoded value";
const NO_REVISION: &str = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
const NO_START: &str = "encoded start key empty (version meta.k8s.io/v1)";

fn document(token: &str) -> Option<Value> {
    let digits = token.chars().map(|digit| digit.to_digit(16));
    let digits = digits.collect::<Option<Vec<u32>>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let byte = |[high, low]: &[u32; 2]| u8::try_from(high * 16 + low).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?;
    serde_json::from_slice(&bytes).ok()
}

/// The place that the document names. A member that is absent is zero or empty, as in Go.
fn read(document: &Value) -> Result<Continuation, &'static str> {
    if !document.is_object() {
        return Err(UNREADABLE);
    }
    let text = |member: &str| match document.get(member) {
        None => Ok(""),
        Some(text) => text.as_str().ok_or(UNREADABLE),
    };
    let (namespace, name) = (text("ns")?, text("start")?);
    let revision = match document.get("rv") {
        None => return Err(NO_REVISION),
        Some(revision) if revision.as_i64() == Some(NEWEST) => None,
        Some(revision) => Some(Revision(revision.as_u64().ok_or(UNREADABLE)?)),
    };
    if revision == Some(Revision::ZERO) {
        return Err(NO_REVISION);
    }
    if name.is_empty() {
        return Err(NO_START);
    }
    Ok(Continuation {
        revision,
        after: ContinueAfter {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
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
        let document = r#"{"rv":-2,"ns":"a","start":"b"}"#;
        for token in ["7", "7b7d", "zz", "\u{e4}", &hex(document), &hex("[1]")] {
            let failure = Continuation::from_token(token).expect_err(token);
            assert_eq!(failure.code, 400, "{token}");
        }
    }

    fn hex(text: &str) -> String {
        let bytes = text.bytes();
        bytes.fold(String::new(), |all, one| all + &format!("{one:02x}"))
    }

    #[test]
    fn a_token_without_a_revision_or_a_place_is_none() {
        for (document, expected) in [
            (r#"{"rv":0,"ns":"a","start":"b"}"#, NO_REVISION),
            (r#"{"ns":"a","start":"b"}"#, NO_REVISION),
            (r#"{"rv":0,"ns":"","start":""}"#, NO_REVISION),
            (r#"{"rv":7,"ns":"a","start":""}"#, NO_START),
            (r#"{"rv":-1,"ns":"a"}"#, NO_START),
            (r#"{"rv":7,"ns":"a","start":1}"#, UNREADABLE),
        ] {
            let failure = Continuation::from_token(&hex(document)).expect_err(document);
            let told = failure.to_json();
            assert_eq!(told["code"], 400, "{document}");
            let message = format!("invalid continue token: continue key is not valid: {expected}");
            assert_eq!(told["message"], message, "{document}");
        }
    }
}
