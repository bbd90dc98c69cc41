//! Follows the log of a server, even if that is restarted meanwhile.

use super::from_revision;
use crate::answer::{LogPage, StateAnswer};
use crate::cli::query::Query;
use crate::cli::{Directory, show};
use crate::hint::hint;
use crate::inspect;
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
        let page = client.ask(from_revision(question, from).path());
        let page = page.and_then(|page| match ends {
            Some(_) => continued(client, question, from, page),
            None => Ok(page),
        });
        match page {
            Err(error) if may_come_back(directory, &error, ends.is_some()) => {}
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

/// Whether the question failed because no server is there. The next one writes its kubeconfig as it starts, and until
/// then there may be none.
fn may_come_back(directory: &Directory, error: &anyhow::Error, is_gone: bool) -> bool {
    let starts = || is_gone || directory.last_server().is_none();
    Client::is_unreachable(error) || Client::is_without_kubeconfig(error) && starts()
}

/// The page as the successor of a server answers it, whose log may have become another meanwhile.
fn continued(client: &Client, question: &Query, from: Revision, page: LogPage) -> Result<LogPage> {
    let state: StateAnswer = client.ask(Query::named("state").path())?;
    if state.revision.next() < from {
        hint(&format!(
            "the log is another one: it ends at revision {}, and is printed from its beginning",
            state.revision
        ));
        return client.ask(from_revision(question, Revision(1)).path());
    }
    let restores = Query::named("log").with("verb", "restore");
    let restores: LogPage = client.ask(from_revision(&restores, from).path())?;
    let last = restores.entries.last().map(|restore| restore.revision);
    if let Some(restored) = last.filter(|last| !is_told(&page, *last)) {
        hint(&inspect::lost_at(restored));
    }
    Ok(page)
}

/// Whether an entry is on this page, or may be on the next.
fn is_told(page: &LogPage, revision: Revision) -> bool {
    let is_here = page.entries.iter().any(|entry| entry.revision == revision);
    is_here || page.next.is_some_and(|next| revision >= next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, Engine};
    use hindsight_log::DirectoryLock;
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
        std::fs::write(&path, kubeconfig.to_string()).expect("written");
        // Nobody listens at a port that was given back.
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let data_dir = data.path().to_owned();
        let mut client = Client::new(&data_dir, "process 7", &address);
        let directory = Directory { data_dir };
        let (client, from, log) = (&mut client, Revision(7), Query::named("log"));
        for has_kubeconfig in [true, false] {
            let error = ask_within(&directory, client, &log, from, Duration::ZERO);
            let told = show::error_chain(&error.expect_err("nobody is there"));
            assert!(
                told.ends_with("continue with --since 7 once a server is running"),
                "{told}"
            );
            if has_kubeconfig {
                std::fs::remove_file(&path).expect("removed");
            }
        }
    }

    #[test]
    fn a_kubeconfig_is_missed_only_while_a_server_is_there() {
        let data = tempfile::tempdir().expect("a directory");
        let data_dir = data.path().to_owned();
        let client = Client::new(&data_dir, "process 7", "127.0.0.1:1");
        let error = client.ask::<LogPage>(Query::named("log").path());
        let error = error.expect_err("no kubeconfig");
        let directory = Directory { data_dir };
        assert!(may_come_back(&directory, &error, false), "no lock");
        let lock = DirectoryLock::path(data.path());
        std::fs::write(lock, "process 7 at https://127.0.0.1:1\n").expect("written");
        assert!(!may_come_back(&directory, &error, false), "it is running");
        assert!(may_come_back(&directory, &error, true), "it was gone");
    }
}
