//! Validating webhooks are called all at once, for none of them changes anything. If several refuse, the answer
//! is the first refusal in the order of the configurations.

use super::hooks::{Hook, HookContext, apply_failure_policy};
use crate::status::Failure;
use futures_util::future::join_all;
use serde_json::Value;
use std::sync::Arc;

/// Calls every webhook that selects the object; returns their warnings, which a refusal carries too.
pub(super) async fn validate(
    context: &HookContext<'_>,
    hooks: &[Hook<'_>],
    object: Option<Arc<Value>>,
) -> Result<Vec<String>, Failure> {
    let mut selected = Vec::new();
    for hook in hooks {
        if context.selects(hook, object.as_deref()).await? {
            selected.push(hook);
        }
    }
    let mut questions = Vec::with_capacity(selected.len());
    for hook in &selected {
        questions.push((*hook, context.question(hook, object.as_ref()).await));
    }
    // Not kept while webhooks are waited for.
    drop(object);
    let answers = questions
        .into_iter()
        .map(async |(hook, question)| match question {
            Ok(question) => context.ask(hook, question).await,
            Err(error) => Err(error),
        });
    let answers = join_all(answers).await;
    let (mut warnings, mut refusal) = (Vec::new(), None);
    for (hook, answer) in selected.into_iter().zip(answers) {
        match answer {
            Ok(response) => warnings.extend(response.warnings),
            Err(error) => {
                if let Err(mut failure) = apply_failure_policy(hook.webhook, error) {
                    warnings.append(&mut failure.warnings);
                    refusal.get_or_insert(failure);
                }
            }
        }
    }
    match refusal {
        None => Ok(warnings),
        Some(failure) => Err(failure.with_warnings(warnings)),
    }
}
