//! Lists: which objects they show, at which revision, and the JSON around the stored bytes of their items.

mod continuation;
mod items;
mod pieces;
pub(crate) mod selectable;
#[cfg(test)]
mod tests;
mod untyped;

use crate::api::Api;
use crate::backend::{AsOf, LostByRestore, Seat, StateAt};
use crate::body::ApiBody;
use crate::pace::{LOOK_BYTES, Pace};
use crate::position;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use continuation::{Continuation, ContinueAfter};
use hindsight_core::rejection::FieldCause;
use hindsight_core::selector::{FieldSelector, LabelSelector, SelectableFields};
use hindsight_core::{Form, Object, ObjectKey, Revision, State};
use http::Response;
use items::Items;
use pieces::Pieces;
use selectable::SharedFields;
use serde_json::{Value, json};
use std::sync::Arc;

/// One page of a list.
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<Object>>,
    revision: Revision,
    token: Option<String>,
    remaining: Option<usize>,
    seat: Option<Seat>,
    lost: Option<LostByRestore>,
}

impl Page {
    /// Whether the answer may have begun when an item is found for which there is no room, or that is too long as YAML.
    pub(crate) fn may_break_off(&self, request: &ResourceRequest) -> bool {
        let lengths = self.items.iter().map(|item| item.body.len());
        pieces::may_break_off(lengths, request.accept.syntax)
    }

    /// The metadata of the list, which tells where the rest begins.
    pub(crate) fn metadata(&self, request: &ResourceRequest) -> Value {
        let mut metadata = json!({"resourceVersion": self.revision.to_string()});
        if let Some(members) = metadata.as_object_mut() {
            match &self.token {
                Some(token) => drop(members.insert("continue".into(), token.as_str().into())),
                None if request.kind.is_custom() => {
                    drop(members.insert("continue".into(), "".into()));
                }
                None => {}
            }
            if let Some(remaining) = self.remaining {
                members.insert("remainingItemCount".into(), remaining.into());
            }
        }
        metadata
    }
}

/// The result of walking over the objects of a selection.
struct Selected {
    items: Vec<Arc<Object>>,
    /// Whether at least one more object matches.
    more: bool,
    /// How many objects follow that one; known only where no selector filters.
    others: Option<usize>,
}

/// Where a page begins.
struct Start {
    /// The state to list.
    shown: StateAt,
    /// The last object of the page before.
    after: Option<ContinueAfter>,
}

impl Start {
    /// The first page of this state.
    const fn first(shown: StateAt) -> Self {
        Self { shown, after: None }
    }
}

/// Which objects a list or a watch shows.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    resource: hindsight_core::GroupResource,
    namespace: Option<String>,
    labels: LabelSelector,
    fields: FieldSelector,
    form: Form,
}

impl Selection {
    pub(crate) fn of(request: &ResourceRequest) -> Result<Self, Failure> {
        Self::with_labels(labels(request)?, request)
    }

    fn with_labels(labels: LabelSelector, request: &ResourceRequest) -> Result<Self, Failure> {
        let text = request.params.text("fieldSelector");
        let fields = FieldSelector::parse(text, &request.kind, &request.version.name)
            .map_err(Failure::bad_request)?;
        let fields = match &request.route.name {
            Some(name) => select_named(fields, name)?,
            None => fields,
        };
        let namespace = request
            .route
            .namespace
            .clone()
            .filter(|namespace| !namespace.is_empty());
        Ok(Self {
            resource: request.kind.stored_under(),
            namespace,
            labels,
            fields,
            form: request.form.clone(),
        })
    }

    /// Whether no selector filters: the place, a resource in a namespace or in all, decides alone.
    fn is_plain(&self) -> bool {
        self.requirements() == 0
    }

    pub(crate) fn covers(&self, key: &ObjectKey) -> bool {
        key.resource == self.resource
            && self
                .namespace
                .as_deref()
                .is_none_or(|wanted| *key.namespace == *wanted)
    }

    fn requirements(&self) -> usize {
        self.labels.requirements() + self.fields.requirements()
    }

    /// The cost of matching an object, in bytes: how much of it is read at most, and what each requirement costs.
    pub(crate) fn read_cost(&self, object: &Object) -> usize {
        let body = if self.fields.needs_body() {
            object.body.len()
        } else {
            0
        };
        body + LOOK_BYTES * self.requirements()
    }

    pub(crate) async fn matches(
        &self,
        shared: &SharedFields,
        object: &Arc<Object>,
    ) -> Result<bool, Failure> {
        if !self.labels.matches(&object.meta.labels) {
            return Ok(false);
        }
        let matches = |fields: &SelectableFields| {
            let ObjectKey {
                namespace, name, ..
            } = &object.key;
            self.fields.matches(namespace, name, fields)
        };
        if !self.fields.needs_body() {
            return Ok(matches(&SelectableFields::default()));
        }
        let fields = shared.of(&self.form, object).await?;
        Ok(matches(&fields))
    }

    /// All objects that match, in list order.
    pub(crate) async fn objects(
        &self,
        shared: &SharedFields,
        state: &State,
    ) -> Result<Vec<Arc<Object>>, Failure> {
        let all = self.first(shared, state, None, usize::MAX).await?;
        Ok(all.items)
    }

    /// The first `limit` objects that match and come after this place.
    async fn first(
        &self,
        shared: &SharedFields,
        state: &State,
        after: Option<&ContinueAfter>,
        limit: usize,
    ) -> Result<Selected, Failure> {
        let (namespace, after) = (self.namespace.as_deref(), after.map(ContinueAfter::place));
        let mut rest = state.list_after(&self.resource, namespace, after);
        let (mut pace, mut items) = (Pace::default(), Vec::new());
        while let Some(object) = rest.next() {
            let is_one = self.matches(shared, object).await?;
            if is_one && items.len() == limit {
                let others = if self.is_plain() {
                    Some(Box::pin(pace.count(rest)).await)
                } else {
                    None
                };
                return Ok(Selected {
                    items,
                    more: true,
                    others,
                });
            }
            if is_one {
                items.push(Arc::clone(object));
            }
            pace.read(self.read_cost(object)).await;
        }
        Ok(Selected {
            items,
            more: false,
            others: None,
        })
    }
}

fn labels(request: &ResourceRequest) -> Result<LabelSelector, Failure> {
    let text = request.params.text("labelSelector");
    LabelSelector::parse(text).map_err(Failure::bad_request)
}

/// The parameters of a list, checked as far as that is possible without the stored objects.
#[derive(Debug)]
pub(crate) struct Query {
    limit: i64,
    selection: Selection,
}

impl Query {
    /// Refuses what is wrong whatever is stored. Resource versions and continue tokens are checked against the
    /// storage later.
    pub(crate) fn of(request: &ResourceRequest) -> Result<Self, Failure> {
        let params = &request.params;
        params.integer("timeoutSeconds")?;
        let limit = params.integer("limit")?.unwrap_or_default();
        let labels = labels(request)?;
        check_options(
            params.text("resourceVersion"),
            params.text("continue"),
            params.text("resourceVersionMatch"),
            params.get("sendInitialEvents").is_some(),
        )?;
        // Last, since it checks which fields the kind has.
        let selection = Selection::with_labels(labels, request)?;
        Ok(Self { limit, selection })
    }

    /// The page that a deletion of the collection works on: read as pages are, at the version that is named,
    /// even without a limit. Only a negative limit makes it a list without pages. Source: upstream's
    /// `DeleteCollection`.
    pub(crate) async fn page_to_delete(
        self,
        api: &Api,
        request: &mut ResourceRequest,
    ) -> Result<Page, Failure> {
        let paged = self.limit >= 0;
        self.page(api, request, paged).await
    }

    async fn page(
        mut self,
        api: &Api,
        request: &mut ResourceRequest,
        paged: bool,
    ) -> Result<Page, Failure> {
        let Start { shown, after } = self.start(api, request, paged).await?;
        let StateAt { state, seat, lost } = shown;
        let limit = usize::try_from(self.limit).ok().filter(|limit| *limit > 0);
        let limit = limit.unwrap_or(usize::MAX);
        let found = self
            .selection
            .first(&api.fields, &state, after.as_ref(), limit);
        let found = found.await?;
        let last = found.items.last().filter(|_| found.more);
        let token = last.map(|last| Continuation::after(state.revision, &last.key).token());
        // A state that was folded shares nothing with the newest, and one of an earlier page was kept before.
        let is_newest = !request.is_past && Arc::ptr_eq(&state, &request.state);
        if token.is_some() && is_newest {
            api.backend.keep(Arc::clone(&state));
        }
        let remaining = found.others.map(|others| others + 1);
        Ok(Page {
            items: found.items,
            revision: state.revision,
            token,
            remaining,
            seat,
            lost,
        })
    }

    /// Where the page that is asked for begins. Source: the table of list semantics by limit, continue,
    /// resourceVersion and resourceVersionMatch.
    async fn start(
        &mut self,
        api: &Api,
        request: &mut ResourceRequest,
        paged: bool,
    ) -> Result<Start, Failure> {
        let params = &request.params;
        let text = params.text("resourceVersion");
        let token = params.text("continue");
        let matching = params.text("resourceVersionMatch");
        if !token.is_empty() {
            let continuation = Continuation::from_token(token)?;
            if !matches!(text, "" | "0") {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Failure::bad_request(message));
            }
            return next_page(api, request, continuation).await;
        }
        let Some(revision) = params
            .revision()?
            .filter(|revision| *revision > Revision::ZERO)
        else {
            return Ok(Start::first(request.shown()));
        };
        let newest = request.state.revision;
        let ahead = revision > newest;
        if ahead && request.is_past {
            return Err(position::after_past(revision, newest));
        }
        if ahead && matching == "Exact" {
            return Err(Failure::too_large_version(revision.0, newest.0));
        }
        if ahead {
            request.catch_up(api, revision).await?;
            // The kind may have changed.
            self.selection = Selection::of(request)?;
            return Ok(Start::first(request.shown()));
        }
        let is_exact = matching == "Exact" || (matching.is_empty() && paged);
        if is_exact {
            let state = state_at(api, request, revision).await;
            return Ok(Start::first(state.map_err(list_expired)?));
        }
        if !request.is_past {
            position::check(&*api.backend, revision)?;
        }
        Ok(Start::first(request.shown()))
    }
}

/// The field selector for the object that a path names. Source: upstream's `ListResource`.
fn select_named(fields: FieldSelector, name: &str) -> Result<FieldSelector, Failure> {
    if fields.requirements() == 0 {
        return Ok(FieldSelector::of_name(name));
    }
    if fields.name() == Some(name) {
        return Ok(fields);
    }
    let message = "fieldSelector metadata.name doesn't match requested name";
    Err(Failure::bad_request(message))
}

pub(crate) async fn answer(
    api: &Api,
    mut request: Box<ResourceRequest>,
) -> Result<Response<ApiBody>, Failure> {
    let query = Query::of(&request)?;
    let paged = query.limit > 0;
    let page = query.page(api, &mut request, paged).await?;
    let lost = page.lost;
    let mut answer = render(api, &request, page).await;
    if let Some(lost) = lost {
        respond::warn_first(&mut answer, &lost.to_string());
    }
    Ok(answer)
}

/// Where the next page begins: in the state of the first page or, if the token says so, in the newest.
async fn next_page(
    api: &Api,
    request: &mut ResourceRequest,
    continuation: Continuation,
) -> Result<Start, Failure> {
    // A page of the past may be of an earlier revision, as the list may be, but not of a later one.
    if let Some(token) = continuation.revision.filter(|_| request.is_past)
        && token > request.state.revision
    {
        let shown = request.state.revision;
        return Err(Failure::bad_request(format!(
            "the continue token is of a list at revision {token}, and the path shows revision {shown}; send it to the \
             path that it came from"
        )));
    }
    let found = match continuation.revision {
        Some(revision) => state_at(api, request, revision).await,
        None => Ok(request.shown()),
    };
    match found {
        Ok(shown) => Ok(Start {
            shown,
            after: Some(continuation.after),
        }),
        Err(failure) if failure.is_expired() => Err(Failure::too_old_to_continue(
            &continuation.at_newest().token(),
        )),
        Err(failure) => Err(failure),
    }
}

/// The failure in words that clients look for.
fn list_expired(failure: Failure) -> Failure {
    if !failure.is_expired() {
        return failure;
    }
    Failure::expired("The resourceVersion for the provided list is too old.")
}

/// The state at a revision, which may be the one that the request has already. Unless the request is about the
/// past, the revision must be of this life of the log, that is, not from before a restore.
async fn state_at(
    api: &Api,
    request: &mut ResourceRequest,
    revision: Revision,
) -> Result<StateAt, Failure> {
    if !request.is_past {
        position::check(&*api.backend, revision)?;
    }
    if request.state.revision == revision {
        return Ok(request.shown());
    }
    request.release_past();
    Ok(api.backend.as_of(AsOf::Revision(revision)).await?)
}

/// Checks the options; everything that is wrong is reported at once. Source: apimachinery's
/// `ValidateListOptions`.
fn check_options(
    revision: &str,
    token: &str,
    matching: &str,
    sends_events: bool,
) -> Result<(), Failure> {
    let (field, mut causes) = ("resourceVersionMatch", Vec::new());
    let matches = !matching.is_empty();
    if matches && revision.is_empty() {
        let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        causes.push(FieldCause::forbidden(field, why));
    }
    if matches && !token.is_empty() {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        causes.push(FieldCause::forbidden(field, why));
    }
    if !matches!(matching, "" | "Exact" | "NotOlderThan") {
        let known = &["Exact", "NotOlderThan", ""];
        causes.push(FieldCause::not_supported(field, matching, known));
    }
    if matching == "Exact" && revision == "0" {
        let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        causes.push(FieldCause::forbidden(field, why));
    }
    if sends_events {
        let why = "sendInitialEvents is forbidden for list";
        causes.push(FieldCause::forbidden("sendInitialEvents", why));
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Failure::invalid_options("ListOptions", causes))
    }
}

/// Answers with a page. Items are spliced from the stored bytes unless another form was asked for.
pub(crate) async fn render(api: &Api, request: &ResourceRequest, page: Page) -> Response<ApiBody> {
    let items = Items::of(request, page.metadata(request));
    let pieces = Pieces::new(items, page.items, page.seat, api.bodies.clone());
    // In a box: every connection keeps space for whatever answers a request.
    Box::pin(pieces.answer()).await
}
