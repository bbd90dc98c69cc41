//! `matchConditions`: what the expressions of a webhook see of a write, and which authorizer they ask about
//! permissions.

use super::hooks::{Hook, HookContext};
use crate::authorizer::{self, Authorizer, Verdict};
use hindsight_core::webhook::ConditionInputs;
use hindsight_core::{Access, Actor, Authority, GroupResource, Uid};
use serde_json::Value;

/// Whether all conditions hold; the error says why that cannot be determined.
pub(super) fn hold(
    context: &HookContext<'_>,
    hook: &Hook<'_>,
    object: Option<&Value>,
) -> Result<bool, String> {
    let sight = context.sight(hook);
    let object = object.map(|object| sight.of(object));
    let old = sight.of_old();
    let uid = Uid::from_seed(context.backend.seed());
    let mut review = sight.request(context.name, uid.as_str()).document("v1");
    let mut request = review
        .get_mut("request")
        .map(Value::take)
        .unwrap_or_default();
    if let Some(members) = request.as_object_mut() {
        members.retain(|name, _| !["object", "oldObject"].contains(&name.as_str()));
    }
    let authority = Permissions {
        authorizer: &*context.admission.authorizer,
        actor: &context.subject.actor,
    };
    let inputs = ConditionInputs {
        object: object.as_ref(),
        old: old.as_ref(),
        request: &request,
        authority: &authority,
        resource: written(context),
    };
    let spend = |budget: &mut _| hook.webhook.conditions_hold(&inputs, budget);
    context.subject.conditions.spend(spend)
}

/// The resource that is written, for `authorizer.requestResource`.
fn written(context: &HookContext<'_>) -> Access {
    let subject = &context.subject;
    Access {
        group: subject.kind.resource.group.to_string(),
        resource: subject.kind.resource.resource.to_string(),
        subresource: subject.subresource_name().to_owned(),
        namespace: subject.namespace().to_owned(),
        name: context.name.to_owned(),
        ..Access::default()
    }
}

#[derive(Debug)]
struct Permissions<'a> {
    authorizer: &'a dyn Authorizer,
    actor: &'a Actor,
}

impl Authority for Permissions<'_> {
    fn refusal(&self, access: &Access) -> Option<String> {
        let account = access.service_account.as_ref();
        let account = account.map(|(namespace, name)| service_account(namespace, name));
        let resource = GroupResource::new(&access.group, &access.resource);
        let asked = authorizer::Access {
            verb: &access.verb,
            resource: &resource,
            subresource: &access.subresource,
            namespace: &access.namespace,
            name: &access.name,
        };
        let actor = account.as_ref().unwrap_or(self.actor);
        match authorizer::judge(self.authorizer, actor, &asked) {
            Verdict::Allowed => None,
            Verdict::Denied(why) => Some(why),
        }
    }
}

fn service_account(namespace: &str, name: &str) -> Actor {
    Actor {
        user: format!("system:serviceaccount:{namespace}:{name}").into(),
        uid: "".into(),
        groups: vec![
            "system:serviceaccounts".into(),
            format!("system:serviceaccounts:{namespace}").into(),
            "system:authenticated".into(),
        ],
    }
}
