//! Going on with what happens, also where the server is started again meanwhile.

use crate::answer::LogPage;
use crate::cli::{Directory, show};
use crate::hint::hint;
use crate::remote::Server;
use anyhow::Result;
use hindsight_core::Revision;
use std::time::{Duration, Instant};

/// Between two questions whether anything new has happened.
pub(super) const EVERY: Duration = Duration::from_millis(250);
/// How long a server that is gone is waited for.
const BACK_WITHIN: Duration = Duration::from_secs(30);

/// The page from here on, of the server that is there, or of the next one.
pub(super) fn ask(
    directory: &Directory,
    server: &mut Server,
    question: &str,
    from: Revision,
) -> Result<LogPage> {
    let mut ends = None;
    loop {
        let error = match server.ask(&format!("{question}from={from}")) {
            Ok(page) => return Ok(page),
            Err(error) if Server::is_away(&error) => error,
            Err(error) => return Err(error),
        };
        if ends.is_none() {
            hint("the server has gone; waiting for the next one");
        }
        let ends = *ends.get_or_insert_with(|| Instant::now() + BACK_WITHIN);
        if Instant::now() >= ends {
            let left_off =
                format!("followed to here; go on with --since {from} once a server is there");
            return Err(error.context(left_off));
        }
        show::pause(EVERY)?;
        if let Some(found) = directory.last_server() {
            *server = found;
        }
    }
}
