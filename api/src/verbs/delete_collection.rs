//! `deletecollection`: lists the objects, and deletes each with its UID as a precondition.

#[cfg(test)]
mod tests;

use super::delete::Options;
use crate::admission::{self, Addressed, WriteRequest};
use crate::api::Api;
use crate::body::{ApiBody, Received, Syntax};
use crate::fragments;
use crate::list;
use crate::pace::Pace;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use hindsight_core::{Command, Decision, Intent, Object, Rejection, Rule};
use http::Response;
use std::sync::Arc;

/// The most items that are decided in one go. Other writes are decided between two batches, so this bounds how
/// long they wait: as long as for a batch of the collectors.
const BATCH_ITEMS_MAX: usize = 768;
/// The bytes of items from which on no more are decided in one go: a deletion may make a new version of each,
/// and all of a batch are held until it is stored.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// The cost of deciding one deletion, as bytes that are read.
const DECISION_BYTES: usize = 4 << 10;

pub(crate) async fn delete_collection(
    api: &Api,
    request: &mut ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    let query = list::Query::of(request)?;
    let options = Options::read(request, &body).await?;
    let answer = delete_listed(api, request, query, &options).await;
    options.warned(request, answer)
}

async fn delete_listed(
    api: &Api,
    request: &mut ResourceRequest,
    query: list::Query,
    options: &Options,
) -> Result<Response<ApiBody>, Failure> {
    let page = query.page_to_delete(api, request).await?;
    request.deadline = Some(admission::capped_deadline(request.deadline));
    let request = &*request;
    let command = |object: &Arc<Object>| {
        let listed = Some(object.meta.uid.clone());
        let rule = Rule::RequestedCollection;
        let delete = options.deletion(request, object.key.clone(), listed, rule);
        request.command(api, Intent::Delete(delete))
    };
    let mut done = Done::default();
    for items in batches(&page.items) {
        let commands = items.iter().map(command).collect();
        let asks_nobody = api.admission.is_idle(&api.backend.state());
        let decided = if asks_nobody && !options.has_preconditions() {
            done.in_one_go(api, commands, options.dry_run).await
        } else {
            done.one_by_one(api, request, commands, options).await
        };
        if let Err(failure) = decided {
            let failure = match done.failed {
                Some(first) => Failure::from(first),
                None if done.has_begun => failure.after_a_part(),
                None => failure,
            };
            return Err(failure.with_warnings(done.warnings));
        }
    }
    let Done {
        warnings, failed, ..
    } = done;
    if let Some(rejection) = failed {
        return Err(Failure::from(rejection).with_warnings(warnings));
    }
    let mut response = if options.dry_run {
        list::render(api, request, page).await
    } else {
        show_deleted(api, request, page).await
    };
    respond::warn(&mut response, &warnings);
    Ok(response)
}

/// The list of what was deleted or, where that may be refused or break off, a `Status`: a client that gets neither would
/// delete again, and then what was made since.
async fn show_deleted(api: &Api, request: &ResourceRequest, page: list::Page) -> Response<ApiBody> {
    let status = fragments::success("metadata", page.metadata(request));
    if !page.may_break_off(request) {
        let response = list::render(api, request, page).await;
        if response.status().is_success() {
            return response;
        }
    }
    respond::json(200, &status, Syntax::Json)
}

/// The items in the batches that they are deleted in.
fn batches(items: &[Arc<Object>]) -> impl Iterator<Item = &[Arc<Object>]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |item: &&Arc<Object>| {
            let has_room = bytes < BATCH_BYTES_MAX;
            bytes += item.body.len();
            has_room
        };
        let count = rest.iter().take(BATCH_ITEMS_MAX).take_while(fits).count();
        let (batch, later) = rest.split_at_checked(count)?;
        rest = later;
        (!batch.is_empty()).then_some(batch)
    })
}

/// What became of the items so far.
#[derive(Default)]
struct Done {
    /// Something was deleted.
    has_begun: bool,
    warnings: Vec<String>,
    /// The first refusal of those that were decided in one go: it does not keep the others.
    failed: Option<Rejection>,
}

impl Done {
    async fn in_one_go(
        &mut self,
        api: &Api,
        commands: Vec<Command>,
        dry_run: bool,
    ) -> Result<(), Failure> {
        let answers = if dry_run {
            tried(api, commands).await
        } else {
            api.backend.submit(commands).await?
        };
        self.has_begun |= !dry_run && answers.iter().any(Result::is_ok);
        let mut refusals = answers.into_iter().filter_map(Result::err);
        let is_absent = |error: &Rejection| matches!(error.plain(), Rejection::NotFound { .. });
        let refusal = refusals.find(|error| !is_absent(error));
        self.failed = self.failed.take().or(refusal);
        Ok(())
    }

    /// Admits each item on its own, up to the first that is refused. Source: upstream's `DeleteCollection` with one worker.
    async fn one_by_one(
        &mut self,
        api: &Api,
        request: &ResourceRequest,
        commands: Vec<Command>,
        options: &Options,
    ) -> Result<(), Failure> {
        let mut pace = Pace::default();
        for command in commands {
            // Yields here because nothing else may: where nobody has to be asked and nothing is written, nothing is
            // waited for.
            pace.read(DECISION_BYTES).await;
            let write_request = WriteRequest {
                addressed: Addressed::OneOfMany,
                ..WriteRequest::new(command, options.of_write())
            };
            match api.submit(request, write_request).await {
                Ok(decision) => {
                    self.has_begun |= !options.dry_run;
                    self.warnings.extend(decision.warnings);
                }
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }
}

/// What would be decided of these.
async fn tried(api: &Api, commands: Vec<Command>) -> Vec<Result<Decision, Rejection>> {
    let (state, mut pace) = (api.backend.state(), Pace::default());
    let mut answers = Vec::with_capacity(commands.len());
    for command in commands {
        pace.read(DECISION_BYTES).await;
        answers.push(hindsight_core::decide(&state, command));
    }
    answers
}
