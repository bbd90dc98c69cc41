//! Showing an object under another revision than the stored one.

use super::Object;
use crate::Revision;
use crate::document::metadata_mut;
use bytes::Bytes;

impl Object {
    /// The same object as if it had this revision; `None` for an object that has none yet.
    #[must_use]
    pub fn shown_at(&self, revision: Option<Revision>) -> Self {
        let body = self.spliced(revision);
        Self {
            body: body.unwrap_or_else(|| self.rewritten(revision)),
            revision: revision.unwrap_or(self.revision),
            ..self.clone()
        }
    }

    /// The stored bytes with the revision replaced; `None` if the same member occurs twice, since only a
    /// parser can tell which one is meant.
    fn spliced(&self, revision: Option<Revision>) -> Option<Bytes> {
        let body = str::from_utf8(&self.body).ok()?;
        let member = format!("\"resourceVersion\":\"{}\"", self.revision);
        let (before, after) = body.split_once(&member)?;
        if after.contains(&member) {
            return None;
        }
        let body = match revision {
            Some(revision) => [
                before,
                "\"resourceVersion\":\"",
                &revision.to_string(),
                "\"",
                after,
            ]
            .concat(),
            None => match before.strip_suffix(',') {
                Some(before) => [before, after].concat(),
                None => [before, after.strip_prefix(',').unwrap_or(after)].concat(),
            },
        };
        Some(body.into())
    }

    fn rewritten(&self, revision: Option<Revision>) -> Bytes {
        let mut document = self.document();
        let metadata = metadata_mut(&mut document);
        if let Some(metadata) = metadata {
            match revision {
                Some(revision) => {
                    metadata.insert("resourceVersion".into(), revision.to_string().into())
                }
                None => metadata.remove("resourceVersion"),
            };
        }
        serde_json::to_vec(&document).unwrap_or_default().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupResource, ObjectKey};
    use serde_json::Value;
    use serde_json::json;

    fn object(metadata: Value, copy: Value) -> Object {
        let key = ObjectKey::new(GroupResource::new("example.com", "things"), "default", "a");
        let document = json!({"apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": metadata, "copy": copy});
        Object::from_value(key, document, Revision(7), None).expect("an object")
    }

    #[test]
    fn an_object_at_another_revision_is_otherwise_what_it_was() {
        let uid = "11111111-1111-4111-8111-111111111111";
        let copies = [
            json!("plain"),
            json!({"metadata": {"resourceVersion": "7"}}),
            json!("\"resourceVersion\":\"7\""),
            json!({"resourceVersion": "77"}),
        ];
        // The member comes first, or after another one.
        let places = [json!({"uid": uid}), json!({"name": "a", "uid": uid})];
        for (metadata, copy) in places
            .iter()
            .flat_map(|one| copies.iter().map(move |copy| (one, copy)))
        {
            let before = object(metadata.clone(), copy.clone());
            let mut expected = before.document();
            let after = before.shown_at(None);
            expected["metadata"]
                .as_object_mut()
                .expect("members")
                .remove("resourceVersion");
            assert_eq!(after.document(), expected, "{metadata} {copy}");
            assert_eq!(after.revision, Revision(7));
            let after = before.shown_at(Some(Revision(12)));
            expected["metadata"]["resourceVersion"] = json!("12");
            assert_eq!(after.document(), expected, "{metadata} {copy}");
            assert_eq!(after.revision, Revision(12));
        }
    }
}
