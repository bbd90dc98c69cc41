//! Follows the log of a server, even if that is restarted meanwhile.

use crate::answer::LogPage;
use crate::cli::{Directory, show};
use crate::hint::hint;
use crate::remote::Client;
use anyhow::Result;
use hindsight_core::Revision;
use std::time::{Duration, Instant};

/// The pause before asking again whether anything has happened.
pub(super) const EVERY: Duration = Duration::from_millis(250);
/// How long to wait for a server that is gone.
const BACK_WITHIN: Duration = Duration::from_secs(30);

/// The page from this revision on, from the same server or its successor.
pub(super) fn ask(
    directory: &Directory,
    client: &mut Client,
    question: &str,
    from: Revision,
) -> Result<LogPage> {
    let mut ends = None;
    loop {
        let error = match client.ask(&format!("{question}from={from}")) {
            Ok(page) => return Ok(page),
            Err(error) if Client::is_unreachable(&error) => error,
            Err(error) => return Err(error),
        };
        if ends.is_none() {
            hint("the server has gone away; waiting for it to come back");
        }
        let ends = *ends.get_or_insert_with(|| Instant::now() + BACK_WITHIN);
        if Instant::now() >= ends {
            let left_off = format!(
                "stopped following here; continue with --since {from} once a server is running"
            );
            return Err(error.context(left_off));
        }
        show::pause(EVERY)?;
        if let Some(found) = directory.last_server() {
            *client = found;
        }
    }
}
