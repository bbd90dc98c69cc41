//! The options of a watch: what it begins with, and how long it lasts.

use crate::api::Api;
use crate::request::ResourceRequest;
use crate::status::Failure;
use hindsight_core::rejection::FieldCause;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

const NOT_OLDER: &str = "NotOlderThan";
const DEFAULT_SECONDS: u64 = 1800;
/// A year. A longer time is cut to this, since no clock reaches as far as the number could.
const SECONDS_MAX: u64 = 365 * 24 * 60 * 60;

/// What a watch begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InitialEvents {
    /// With what happens next.
    None,
    /// With the objects that exist.
    Objects,
    /// With these and a mark of their end, for clients that want bookmarks.
    MarkedObjects,
}

impl InitialEvents {
    /// A watch without a position begins with the objects that exist, unless the client says otherwise. Source:
    /// apimachinery's `SetListOptionsDefaults`, which looks for the parameter, and `validateWatchOptions`.
    pub(super) fn of(request: &ResourceRequest) -> Result<Self, Failure> {
        let mut matching = request.params.text("resourceVersionMatch");
        let mut sends = request.params.flag("sendInitialEvents");
        let from_nowhere = matches!(request.params.text("resourceVersion"), "" | "0");
        let is_silent = sends.is_none() && matching.is_empty();
        if is_silent && from_nowhere && request.params.flag("watch") == Some(true) {
            (sends, matching) = (Some(true), NOT_OLDER);
        }
        check_options(request, sends, matching)?;
        Ok(match sends {
            Some(true) => Self::MarkedObjects,
            None if from_nowhere => Self::Objects,
            Some(false) | None => Self::None,
        })
    }
}

fn check_options(
    request: &ResourceRequest,
    sends: Option<bool>,
    matching: &str,
) -> Result<(), Failure> {
    let (field, mut causes) = ("resourceVersionMatch", Vec::new());
    if sends.is_some() && matching != NOT_OLDER {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(FieldCause::forbidden(field, why));
    }
    if sends.is_none() && !matching.is_empty() {
        let why =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        causes.push(FieldCause::forbidden(field, why));
    }
    if !matches!(matching, "" | NOT_OLDER) {
        let cause = FieldCause::not_supported(field, matching, &[NOT_OLDER]);
        causes.push(cause);
    }
    if !matching.is_empty() && !request.params.text("continue").is_empty() {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        causes.push(FieldCause::forbidden(field, why));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid_options("ListOptions", causes))
}

/// The longest that a watch lasts. Those without a timeout of their own end at different times.
pub(super) fn lifetime(api: &Api, request: &ResourceRequest) -> Result<Duration, Failure> {
    let jitter = u64::from(api.backend.seed().first().copied().unwrap_or(0)) * 7;
    let seconds = match request.params.integer("timeoutSeconds")? {
        None | Some(0) => DEFAULT_SECONDS + jitter,
        Some(seconds) => u64::try_from(seconds).unwrap_or(0),
    };
    Ok(Duration::from_secs(seconds.min(SECONDS_MAX)))
}

/// Room for what is kept of the selectors, if they are long.
pub(super) async fn room_for_selectors(
    api: &Api,
    request: &ResourceRequest,
) -> Result<Option<OwnedSemaphorePermit>, Failure> {
    let selectors = ["labelSelector", "fieldSelector"];
    let bytes = selectors.map(|name| request.params.text(name).len());
    match &api.bodies {
        Some(bodies) => bodies.room_for_selectors(bytes.iter().sum()).await,
        None => Ok(None),
    }
}
