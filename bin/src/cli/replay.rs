//! `hindsight replay`: the hash of the state that the log folds to.

use super::ask::{Source, check_has_happened};
use super::parse::number;
use super::query::Query;
use super::{Directory, Output, show};
use crate::answer::StateAnswer;
use crate::inspect;
use crate::opening::empty_state;
use anyhow::Result;
use clap::Args;
use hindsight_api::AsOf;
use hindsight_core::Revision;
use hindsight_log::Base;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight replay                          the newest state, and its hash
  hindsight replay --until 1200 -o json     the state after revision 1200

Two logs with the same hash at the same revision hold the same objects. A
restore adds a record, with which the hash changes: to compare a restored log
with the original, give both --until LAST_REVISION_OF_THE_BACKUP, which
`hindsight backup` and `restore` print. Without a server the log is replayed
from its first commit, and no snapshot is used.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Replay {
    #[command(flatten)]
    pub(super) directory: Directory,
    /// Stop after this revision; one that has not happened yet is refused
    #[arg(long, value_name = "REVISION", value_parser = number, allow_negative_numbers = true)]
    until: Option<u64>,
    /// Output format
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Replay {
    pub(super) fn run(self) -> Result<ExitCode> {
        let asked = self.until.map(Revision);
        let source = self.directory.source()?;
        let answer = match &source {
            Source::Directory { reader, .. } => {
                let until = asked.unwrap_or(Revision::MAX);
                if let Some(asked) = asked {
                    check_has_happened(reader, asked)?;
                    inspect::refuse_dropped(reader, asked)?;
                }
                let bar = show::counting("commit");
                let state = reader.fold(
                    Base::empty(empty_state()),
                    |revision, _| revision <= until,
                    |_| bar.inc(1),
                );
                bar.finish_and_clear();
                StateAnswer::of(&state?)
            }
            Source::Server(client) => {
                let until = asked.map(|until| until.to_string());
                client.ask(Query::named("state").with_point(until.as_deref()).path())?
            }
        };
        source.hint_at_gap(asked.map(AsOf::Revision), answer.revision);
        if self.output == Output::Json {
            show::print_json(&answer)?;
        } else {
            let StateAnswer { revision, hash } = answer;
            show::print_line(&format!("revision {revision}, state {hash}"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
