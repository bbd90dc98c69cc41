//! `hindsight verify` and `hindsight replay`.

use super::ask::{Source, empty_state};
use super::{Directory, Output, show};
use anyhow::{Result, bail};
use clap::Args;
use hindsight_core::Revision;
use hindsight_log::{Base, Reader, Report, verify};
use hindsight_projector::audit;
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    directory: Directory,
    /// Also fold the log and ask of every commit whether the rules allow it
    #[arg(long)]
    deep: bool,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Verify {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Source::Directory { reader, .. } = self.directory.source()? else {
            bail!("a server holds the directory; stop it first, then verify");
        };
        let bar = show::progress(reader.newest().unwrap_or_default().0);
        let report = verify(&reader, |revision| bar.set_position(revision.0));
        bar.finish_and_clear();
        let report = report?;
        let audited = self.deep.then(|| deep(&reader, &report)).transpose()?;
        let time =
            |time: Option<hindsight_core::Time>| time.map(hindsight_core::Time::to_rfc3339_micros);
        let document = json!({
            "revision": report.newest, "floor": report.floor, "commits": report.commits, "frames": report.frames,
            "events": report.events, "restores": report.restores, "first": time(report.first_time),
            "last": time(report.last_time), "chain": report.chain, "state": audited,
        });
        if self.output == Output::Json {
            show::json(&document);
            return Ok(ExitCode::SUCCESS);
        }
        show::line(&format!(
            "intact: revision {}, {} commits in {} frames, chain {}",
            report.newest, report.commits, report.frames, report.chain
        ));
        if report.floor > Revision::ZERO {
            show::line(&format!(
                "every commit from revision {} on is kept, and of those before what the policy kept",
                report.floor
            ));
        }
        for (event, count) in &report.events {
            show::line(&format!("  {count:>8}  {event}"));
        }
        for revision in &report.restores {
            show::line(&format!("  a backup was restored at revision {revision}"));
        }
        if let Some(hash) = audited {
            show::line(&format!(
                "every commit is allowed by the rules; state {hash}"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The hash of the state that a log without a fault comes to. What was thinned is taken as it is.
fn deep(reader: &Reader, report: &Report) -> Result<String> {
    let bar = show::progress(report.newest.0);
    let base = reader.state_at(empty_state(), report.floor)?;
    let log = reader.scan_all(report.floor.next());
    let audited = audit(base, &report.restores, log, |revision| {
        bar.set_position(revision.0);
    });
    bar.finish_and_clear();
    Ok(audited?.state().hash())
}

#[derive(Debug, Args)]
pub(super) struct Replay {
    #[command(flatten)]
    directory: Directory,
    /// Stop after this revision
    #[arg(long)]
    until: Option<u64>,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Replay {
    pub(super) fn run(self) -> Result<ExitCode> {
        let document = match self.directory.source()? {
            Source::Directory { reader, .. } => {
                let until = Revision(self.until.unwrap_or(u64::MAX));
                let bar = show::progress(reader.newest().unwrap_or_default().min(until).0);
                let state = reader.fold(
                    Base::empty(empty_state()),
                    |revision, _| revision <= until,
                    |revision| bar.set_position(revision.0),
                );
                bar.finish_and_clear();
                let state = state?;
                json!({"revision": state.revision, "hash": state.hash()})
            }
            Source::Server => {
                let until = self.until.map_or(String::new(), |until| until.to_string());
                self.directory
                    .ask(&format!("/hindsight/v1/state?asOf={until}"))?
            }
        };
        if self.output == Output::Json {
            show::json(&document);
        } else {
            let revision = document
                .get("revision")
                .and_then(Value::as_u64)
                .unwrap_or_default();
            let hash = document
                .get("hash")
                .and_then(Value::as_str)
                .unwrap_or_default();
            show::line(&format!("revision {revision}, state {hash}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
