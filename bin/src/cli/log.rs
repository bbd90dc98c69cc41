//! `hindsight log`: what happened, told as it is read.

use super::ask::{Named, Source, named, path, state_with};
use super::{Directory, Output, show};
use crate::inspect::{Filter, Selection};
use crate::remote::Server;
use anyhow::Result;
use clap::Args;
use hindsight_core::Revision;
use serde_json::Value;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight log                             everything, oldest first
  hindsight log pods -n prod                the pods of a namespace
  hindsight log configmap/settings          one object, whoever had the name
  hindsight log --from 1200 -o json | jq    from a revision on, as JSON

Each line: revision, time, who, what, and what was done to it; or that a backup
was restored. `hindsight why KIND/NAME` follows a deletion back to its cause;
`hindsight get KIND/NAME --as-of REVISION` shows what was there.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Log {
    #[command(flatten)]
    directory: Directory,
    /// KIND or KIND/NAME; everything without it
    #[arg(value_parser = named)]
    subject: Option<Named>,
    /// NAME
    name: Option<String>,
    /// Only this namespace
    #[arg(long, short)]
    namespace: Option<String>,
    /// Only the object with this uid
    #[arg(long)]
    uid: Option<String>,
    /// Begin at this revision
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Log {
    pub(super) fn run(self) -> Result<ExitCode> {
        let subject = self.subject.clone();
        let subject = subject.map(|subject| subject.with(self.name.clone(), "log"));
        let subject = subject.transpose()?;
        let filter = Filter {
            kind: subject.as_ref().map(|subject| subject.kind.clone()),
            name: subject.and_then(|subject| subject.name),
            namespace: self.namespace.clone(),
            uid: self.uid.clone(),
        };
        let mut out = show::List::new(self.output == Output::Json);
        match self.directory.source()? {
            Source::Directory { reader, .. } => {
                self.tell_floor(reader.floor()?);
                let state = state_with(&reader, filter.kind.as_deref())?;
                let selection = Selection::of(&filter, &state)?;
                for entry in selection.entries(&reader, Revision(self.from)) {
                    out.add(&entry?, line)?;
                }
            }
            Source::Server(server) => self.ask(&server, &filter, &mut out)?,
        }
        out.end()?;
        Ok(ExitCode::SUCCESS)
    }

    /// What follows may not be all that happened.
    fn tell_floor(&self, floor: Revision) {
        if self.from < floor.0 {
            show::hint(&format!(
                "everything from revision {floor} on is kept; of what was before, deletions and what the \
                 policy kept"
            ));
        }
    }

    /// Page by page.
    fn ask(&self, server: &Server, filter: &Filter, out: &mut show::List) -> Result<()> {
        let mut next = Some(self.from);
        while let Some(from) = next {
            let page = server.ask(&format!("{}from={from}", path("log", filter)))?;
            if from == self.from {
                let floor = page.get("floor").and_then(Value::as_u64);
                self.tell_floor(Revision(floor.unwrap_or_default()));
            }
            let entries = page.get("entries").and_then(Value::as_array);
            for entry in entries.into_iter().flatten() {
                out.add(entry, line)?;
            }
            next = page.get("next").and_then(Value::as_u64);
        }
        Ok(())
    }
}

fn line(entry: &Value) -> String {
    let text = |member: &str| {
        entry
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let events = entry.get("events").and_then(Value::as_array);
    let events: Vec<&str> = events
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let revision = entry.get("revision").and_then(Value::as_u64);
    let (revision, time, events) = (
        revision.unwrap_or_default(),
        text("time"),
        events.join(", "),
    );
    if text("object").is_empty() {
        return format!("{revision:>8}  {time}  {events}");
    }
    let (user, object) = (text("user"), text("object"));
    format!("{revision:>8}  {time}  {user}  {object}: {events}")
}
