//! What a watch is asked for: with what it begins, and how long it lasts.

use crate::handler::{Api, Routed};
use crate::status::Failure;
use hindsight_core::rejection::FieldCause;
use std::time::Duration;

const NOT_OLDER: &str = "NotOlderThan";
const DEFAULT_SECONDS: u64 = 1800;
/// A year. Who asks for more gets this, for no clock reaches as far as the number can.
const SECONDS_MAX: u64 = 365 * 24 * 60 * 60;

/// With what a watch begins.
pub(super) struct Beginning {
    /// With what is there.
    pub(super) initial: bool,
    /// And its end is told to those who want bookmarks.
    pub(super) marked: bool,
}

impl Beginning {
    /// A watch from nowhere begins with what is there, unless the client says otherwise. Source:
    /// apimachinery's `SetListOptionsDefaults`, which looks for the parameter, and `validateWatchOptions`.
    pub(super) fn of(asked: &Routed) -> Result<Self, Failure> {
        let mut matching = asked.params.text("resourceVersionMatch");
        let mut sends = asked.params.flag("sendInitialEvents");
        let from_nowhere = matches!(asked.params.text("resourceVersion"), "" | "0");
        let is_silent = sends.is_none() && matching.is_empty();
        if is_silent && from_nowhere && asked.params.flag("watch") == Some(true) {
            (sends, matching) = (Some(true), NOT_OLDER);
        }
        check_options(asked, sends, matching)?;
        Ok(Self {
            initial: sends.unwrap_or(from_nowhere),
            marked: sends == Some(true),
        })
    }
}

fn check_options(asked: &Routed, sends: Option<bool>, matching: &str) -> Result<(), Failure> {
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
    if !matching.is_empty() && !asked.params.text("continue").is_empty() {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        causes.push(FieldCause::forbidden(field, why));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid_options("ListOptions", causes))
}

/// How long it lasts at most. Those that do not say end at different times.
pub(super) fn lifetime(api: &Api, asked: &Routed) -> Result<Duration, Failure> {
    let jitter = u64::from(api.backend.seed().first().copied().unwrap_or(0)) * 7;
    let seconds = match asked.params.integer("timeoutSeconds")? {
        None | Some(0) => DEFAULT_SECONDS + jitter,
        Some(seconds) => u64::try_from(seconds).unwrap_or(0),
    };
    Ok(Duration::from_secs(seconds.min(SECONDS_MAX)))
}
