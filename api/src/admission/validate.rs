//! Validating webhooks are called all at once, for none of them changes anything. If several refuse, the answer
//! is the first refusal in the order of the configurations.

use super::hooks::{Asking, Hook, settle};
use crate::status::Failure;
use futures_util::future::join_all;
use serde_json::Value;

/// Calls every webhook that selects the object; returns their warnings, which a refusal carries too.
pub(super) async fn validate(
    asking: &Asking<'_>,
    hooks: &[Hook<'_>],
    object: Option<&Value>,
) -> Result<Vec<String>, Failure> {
    let mut selected = Vec::new();
    for hook in hooks {
        if asking.selects(hook, object)? {
            selected.push(hook);
        }
    }
    let answers = join_all(selected.iter().map(|hook| asking.ask(hook, object))).await;
    let (mut warnings, mut refusal) = (Vec::new(), None);
    for (hook, answer) in selected.into_iter().zip(answers) {
        match answer {
            Ok(reply) => warnings.extend(reply.warnings),
            Err(trouble) => {
                if let Err(mut failure) = settle(hook.webhook, trouble) {
                    warnings.append(&mut failure.warnings);
                    refusal.get_or_insert(failure);
                }
            }
        }
    }
    match refusal {
        None => Ok(warnings),
        Some(failure) => Err(failure.after(warnings)),
    }
}
