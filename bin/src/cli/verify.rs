//! `hindsight verify`: whether the log is whole, told from a copy of it.

mod copy;

use super::ask::{Source, empty_state};
use super::{Directory, Output, show};
use crate::restoring;
use anyhow::{Context, Result, bail};
use clap::Args;
use copy::Copy;
use hindsight_core::Revision;
use hindsight_log::{Error, Reader, Report, state_at_floor, verify};
use hindsight_projector::audit;
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    directory: Directory,
    /// Also fold the log and ask of every commit whether the rules allow it
    #[arg(long)]
    deep: bool,
    /// Without a copy: where there is no room for one, and nothing is suspected
    #[arg(long)]
    in_place: bool,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Verify {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (_copy, source) = self.source()?;
        let Source::Directory { reader, .. } = source else {
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
            "last": time(report.last_time), "chain": report.chain,
            "content": report.content, "state": audited,
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

impl Verify {
    /// The storage engine writes where it opens, over what it takes for torn: so it opens a copy.
    fn source(&self) -> Result<(Option<Copy>, Source)> {
        let data = &self.directory.data_dir;
        if self.in_place || !data.join("events").exists() || restoring::is_unfinished(data) {
            return Ok((None, self.directory.source()?));
        }
        match Copy::of(data) {
            Ok(copy) => {
                let reader = copy.reader()?;
                Ok((Some(copy), reader))
            }
            Err(Error::Locked { .. }) => Ok((None, Source::Server)),
            Err(error) => Err(error).context(
                "the log could not be copied; free as much room as it takes, or say --in-place",
            ),
        }
    }
}

/// The hash of the state that a log without a fault comes to. Of what was thinned, rules are asked nothing.
fn deep(reader: &Reader, report: &Report) -> Result<String> {
    let bar = show::progress(report.newest.0);
    let base = state_at_floor(reader, &empty_state(), report.floor)?;
    let log = reader.scan_all(report.floor.next());
    let audited = audit(base, &report.restores, log, |revision| {
        bar.set_position(revision.0);
    });
    bar.finish_and_clear();
    Ok(audited?.state().hash())
}
