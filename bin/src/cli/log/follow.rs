//! Follows the log of a server, even if that is restarted meanwhile.

use super::from_revision;
use crate::answer::LogPage;
use crate::cli::query::Query;
use crate::cli::{Directory, show};
use crate::hint::hint;
use crate::remote::Client;
use anyhow::{Result, bail};
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
    question: &Query,
    from: Revision,
) -> Result<LogPage> {
    ask_within(directory, client, question, from, BACK_WITHIN)
}

fn ask_within(
    directory: &Directory,
    client: &mut Client,
    question: &Query,
    from: Revision,
    back_within: Duration,
) -> Result<LogPage> {
    let mut ends = None;
    loop {
        match client.ask(from_revision(question, from).path()) {
            Err(error) if Client::is_unreachable(&error) => {}
            answered => return answered,
        }
        if ends.is_none() {
            hint("the server has gone away; waiting for it to come back");
        }
        let ends = *ends.get_or_insert_with(|| Instant::now() + back_within);
        if Instant::now() >= ends {
            // Why it cannot be reached comes with another instruction, to ask again.
            bail!(
                "the server has not come back, so following has stopped; continue with --since {from} once a server is \
                 running"
            );
        }
        show::pause(EVERY)?;
        if let Some(found) = directory.last_server() {
            *client = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, Engine};
    use serde_json::json;

    #[test]
    fn who_follows_a_server_that_does_not_come_back_is_told_one_thing_to_do() {
        let data = tempfile::tempdir().expect("a directory");
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".into()]).expect("made");
        let of = |pem: String| BASE64_STANDARD.encode(pem);
        let certificate = of(made.cert.pem());
        let user = json!({"client-certificate-data": certificate,
            "client-key-data": of(made.signing_key.serialize_pem())});
        let kubeconfig = json!({"users": [{"user": user}],
            "clusters": [{"cluster": {"certificate-authority-data": certificate}}]});
        let path = data.path().join("admin.kubeconfig");
        std::fs::write(path, kubeconfig.to_string()).expect("written");
        // Nobody listens at a port that was given back.
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let data_dir = data.path().to_owned();
        let mut client = Client::new(&data_dir, "process 7", &address);
        let directory = Directory { data_dir };
        let (client, from, log) = (&mut client, Revision(7), Query::named("log"));
        let error = ask_within(&directory, client, &log, from, Duration::ZERO);
        let told = show::error_chain(&error.expect_err("nobody is there"));
        assert!(
            told.ends_with("continue with --since 7 once a server is running"),
            "{told}"
        );
    }
}
