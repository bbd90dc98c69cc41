//! What is looked for in all of the log: the kinds that it ever defined, as objects of a kind whose definition is
//! gone are still in it, and the restores.

use super::walk;
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::kind_of_definition;
use hindsight_core::object::Name;
use hindsight_core::{Commit, GroupResource, Revision};
use hindsight_log::{Entry, Error, Reader};
use std::sync::Arc;

/// A kind that was defined once.
#[derive(Debug, Clone)]
pub(crate) struct Defined {
    pub(crate) resource: GroupResource,
    /// The kind as it was; `None` if the history in which its definition was is no longer kept.
    pub(crate) kind: Option<KindRef>,
}

impl Defined {
    fn is_called_like(&self, other: &Self) -> bool {
        let names = |of: &Self| {
            let kind = of.kind.clone()?;
            let versions = kind.versions.iter().map(|version| version.name.clone());
            let versions: Vec<Name> = versions.collect();
            Some((
                kind.kind.clone(),
                kind.singular.clone(),
                kind.short_names.clone(),
                versions,
            ))
        };
        self.resource == other.resource && names(self) == names(other)
    }
}

/// What was found, and up to where the log was read for it.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// One for each resource, set of names and list of versions, the latest last.
    all: Vec<Defined>,
    /// The last restore.
    pub(super) restored: Option<Revision>,
    covers: Revision,
}

impl Definitions {
    /// Adds what was written since.
    pub(super) fn extend(&mut self, reader: &Reader) -> Result<(), Error> {
        for entry in walk::entries(reader, self.covers.next()) {
            let entry = entry?;
            self.covers = entry.revision();
            match entry {
                Entry::Restored { revision, .. } => self.restored = Some(revision),
                Entry::Commit(commit) if commit.key.is_definition() => self.add(&commit),
                Entry::Commit(_) => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, commit: &Commit) {
        let resource = commit.key.defined_resource();
        let kind = commit.object().and_then(|definition| {
            let document = definition.document();
            kind_of_definition(&document, &commit.uid, false)
        });
        let kind = kind.map(Arc::new);
        let is_known = self.all.iter().any(|one| one.resource == resource);
        if kind.is_none() && is_known {
            return;
        }
        let defined = Defined { resource, kind };
        // Names and versions decide which one is found: what else a definition says may change at any time.
        self.all.retain(|one| !one.is_called_like(&defined));
        self.all.push(defined);
    }

    /// All with such a resource and, as far as it is known, such a kind, the latest first.
    pub(super) fn find(
        &self,
        is_it: impl Fn(&GroupResource, Option<&Kind>) -> bool,
    ) -> Vec<Defined> {
        let latest = self.all.iter().rev();
        let found = latest.filter(|one| is_it(&one.resource, one.kind.as_deref()));
        found.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::{Actor, Cause, Event, Object, ObjectKey, Request, Time};
    use serde_json::json;

    /// A version of a definition with this short name and this description of its objects.
    fn version(short: &str, description: &str) -> Commit {
        version_called("v1", short, description)
    }

    fn version_called(name: &str, short: &str, description: &str) -> Commit {
        let key = ObjectKey::definition("widgets.example.com");
        let schema = json!({"type": "object", "description": description});
        let version = json!({"name": name, "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": [{"name": description, "type": "string", "jsonPath": ".a"}]});
        let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget",
            "listKind": "WidgetList", "shortNames": [short]});
        let document = json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com", "uid": "u"},
            "spec": {"group": "example.com", "scope": "Cluster", "names": names,
                "versions": [version]},
            "status": {"acceptedNames": names}});
        let object = Object::from_value(key.clone(), document, Revision(1), None);
        let object = Arc::new(object.expect("an object"));
        Commit {
            revision: Revision(1),
            time: Time(0),
            actor: Arc::new(Actor::new("")),
            request: Arc::new(Request::default()),
            cause: Cause::Request,
            key,
            uid: "u".into(),
            events: vec![Event::ObjectUpdated { object }],
        }
    }

    #[test]
    fn a_definition_that_is_rewritten_for_ever_is_held_once_for_each_set_of_names() {
        let mut definitions = Definitions::default();
        let mut held = |short, description: &str| {
            definitions.add(&version(short, description));
            definitions.all.len()
        };
        assert_eq!(held("w", "0"), 1);
        for description in 1..9 {
            assert_eq!(held("w", &description.to_string()), 1);
        }
        assert_eq!((held("x", "0"), held("w", "0")), (2, 2));
        definitions.add(&version_called("v2", "w", "0"));
        assert_eq!(definitions.all.len(), 3);
        let of_its_time = |kind: Option<&Kind>| kind.is_some_and(|kind| kind.is_called("x"));
        let found = definitions.find(|_, kind| of_its_time(kind));
        assert!(matches!(&*found, [one] if one.kind.is_some()));
    }
}
