//! `hindsight replay`.

use super::ask::{Source, empty_state};
use super::{Directory, Output, show};
use anyhow::Result;
use clap::Args;
use hindsight_core::Revision;
use hindsight_log::Base;
use serde_json::{Value, json};
use std::process::ExitCode;

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
