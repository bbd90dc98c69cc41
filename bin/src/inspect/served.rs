//! Under which path the objects of a kind are served.

use super::QueryError;
use super::naming::{kind_and_version, not_served, refuse_review};
use hindsight_core::{Form, GroupResource, Kind, State};
use serde::{Deserialize, Serialize};

/// A kind as the API serves it: in the version that was named or, without one, in its storage version if that
/// is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Served {
    group: String,
    version: String,
    /// The plural name.
    pub(crate) resource: String,
    singular: String,
    pub(crate) namespaced: bool,
}

impl Served {
    /// The beginning of its objects' paths.
    pub(crate) fn path(&self) -> String {
        let Self { group, version, .. } = self;
        if group.is_empty() {
            return format!("/api/{version}");
        }
        format!("/apis/{group}/{version}")
    }

    /// The singular name with the group, such as `deployment.apps`, as kubectl shows it.
    pub(crate) fn titled(&self) -> String {
        GroupResource::new(&self.group, &self.singular).to_string()
    }

    pub(crate) fn stored_under(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.resource)
    }

    /// How its objects are read in that version, according to its definition in this state.
    pub(crate) fn form(&self, state: &State) -> Option<Form> {
        let kind = state.kinds.by_resource(&self.stored_under())?;
        Some(Form::of(&state.kinds, kind, &self.version.as_str().into()))
    }
}

/// The kind that a text names; refused if its objects are never stored.
pub(crate) fn served(state: &State, text: &str) -> Result<Served, QueryError> {
    let unknown = || not_served(state, text);
    let (named, asked) = kind_and_version(state, text).ok_or_else(unknown)?;
    let stored = state.kinds.by_resource(&named.stored_under());
    let kind = stored.unwrap_or(&named);
    refuse_review(kind)?;
    let version = kind.storage_version().filter(|version| version.served);
    let mut others = kind.versions.iter().filter(|version| version.served);
    let version = match asked {
        Some(asked) => others
            .find(|version| *version.name == *asked)
            .ok_or_else(unknown),
        None => version
            .or_else(|| others.next())
            .ok_or_else(|| unserved(kind)),
    }?;
    Ok(Served {
        group: kind.resource.group.to_string(),
        version: version.name.to_string(),
        resource: kind.resource.resource.to_string(),
        singular: kind.singular.to_string(),
        namespaced: kind.is_namespaced(),
    })
}

/// The refusal of a kind whose objects nobody can read.
fn unserved(kind: &Kind) -> QueryError {
    let resource = &kind.resource;
    QueryError::Refused(format!(
        "the definition of {resource} serves none of its versions at this point; have it serve one, or name a point \
         with --as-of at which it did; `hindsight log {resource}` shows the history all the same"
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use hindsight_core::command::{Create, FieldValidation, Intent};
    use hindsight_core::kind::BuiltinKinds;
    use hindsight_core::{Actor, Command, ObjectKey, Time, apply, builtin, decide};
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// A state with this object, and the object's UID.
    pub(in crate::inspect) fn state_with(
        resource: &str,
        group: &str,
        object: Value,
    ) -> (State, String) {
        let mut state = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
        let intent = Intent::Create(Create {
            key: ObjectKey::new(GroupResource::new(group, resource), "", ""),
            version: "v1".into(),
            object,
            validation: FieldValidation::Warn,
        });
        let command = Command::new(Arc::new(Actor::new("a")), Time(0), [1; 16], intent);
        let decision = decide(&state, command).expect("decided");
        for commit in &decision.commits {
            drop(apply(&mut state, commit));
        }
        let uid = decision.outcome.object().meta.uid.to_string();
        (state, uid)
    }

    #[test]
    fn a_kind_is_asked_for_in_a_version_that_is_served() {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let version = |name: &str, served: bool| json!({"name": name, "served": served, "storage": !served, "schema": schema});
        let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com",
            "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v2", false), version("v1", true)]}});
        let (state, _) = state_with(
            "customresourcedefinitions",
            "apiextensions.k8s.io",
            definition,
        );
        for (text, path) in [
            ("widgets", Some("/apis/example.com/v1")),
            ("widgets.v1.example.com", Some("/apis/example.com/v1")),
            ("widgets.v2.example.com", None),
            ("widgets.v3.example.com", None),
            ("widgets.v1.example.org", None),
            ("deployments.v1.apps", Some("/apis/apps/v1")),
            ("hpa.v1.autoscaling", Some("/apis/autoscaling/v1")),
            ("hpa.autoscaling", Some("/apis/autoscaling/v2")),
            ("pods.v1.", Some("/api/v1")),
            ("pods.v2.", None),
        ] {
            let served = served(&state, text).ok();
            let served = served.map(|served| served.path());
            assert_eq!(served.as_deref(), path, "{text}");
        }
    }
}
