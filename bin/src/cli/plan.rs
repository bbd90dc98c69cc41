//! `hindsight plan`: what a deletion would do.

use super::ask::{Named, Source, empty_state, encode, named, path, point};
use super::{Directory, NOT_FOUND, Output, show};
use crate::effects;
use crate::inspect::{self, Filter};
use anyhow::Result;
use clap::{Args, ValueEnum};
use hindsight_api::AsOf;
use hindsight_core::command::Propagation;
use hindsight_core::{Revision, State, Time};
use hindsight_log::Reader;
use serde_json::Value;
use std::fmt::Write;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight plan deployment/web -n prod
  hindsight plan namespace/team-a
  hindsight plan configmap/owner --cascade orphan
  hindsight plan crd/widgets.example.com -o json
  hindsight plan deployment/web --as-of 1200    on the world as it was then

Decides the deletion and everything that is collected after it on a copy of the
state, and writes nothing. Nobody else takes part: admission webhooks are not
asked, and finalizers of other programs stay, so that what they hold is listed
as waiting.
Exit code 3: there is no such object.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Plan {
    #[command(flatten)]
    directory: Directory,
    /// KIND/NAME, or KIND and the name behind it
    #[arg(value_parser = named)]
    subject: Named,
    /// NAME
    name: Option<String>,
    /// The object's namespace
    #[arg(long, short, default_value = "default")]
    namespace: String,
    /// What becomes of dependents
    #[arg(long, default_value = "background")]
    cascade: Cascade,
    /// A revision, or an RFC 3339 time; now without it
    #[arg(long, value_parser = checked)]
    as_of: Option<String>,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Output,
}

/// As `kubectl delete` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cascade {
    Background,
    Foreground,
    Orphan,
}

fn checked(text: &str) -> Result<String, String> {
    point(text).map(|_| text.to_owned())
}

impl Plan {
    pub(super) fn run(self) -> Result<ExitCode> {
        let subject = self.subject.of_one(self.name, "plan")?;
        let filter = Filter {
            kind: Some(subject.kind),
            name: subject.name,
            namespace: Some(self.namespace),
            ..Filter::default()
        };
        let document = match self.directory.source()? {
            Source::Directory { reader, .. } => {
                let (state, now) = state_of(&reader, self.as_of.as_deref())?;
                inspect::plan(&state, &filter, self.cascade.into(), now)?
            }
            Source::Server(server) => {
                let mut path = path("plan", &filter);
                write!(
                    path,
                    "propagationPolicy={:?}&",
                    Propagation::from(self.cascade)
                )
                .ok();
                if let Some(point) = &self.as_of {
                    write!(path, "asOf={}", encode(point)).ok();
                }
                server.ask(&path)?
            }
        };
        let found = document.get("found").and_then(Value::as_bool) == Some(true);
        if self.output == Output::Json {
            show::json(&document)?;
        } else if found {
            show::line(&render(&document))?;
        }
        if found {
            return Ok(ExitCode::SUCCESS);
        }
        show::hint(
            "nothing of this name is there to delete; look in another namespace with -n, or at another \
             time with --as-of",
        );
        Ok(ExitCode::from(NOT_FOUND))
    }
}

/// The world to look at, and what time it is in it.
fn state_of(reader: &Reader, as_of: Option<&str>) -> Result<(State, Time)> {
    let state = match as_of.and_then(|text| point(text).ok()) {
        None => {
            return Ok((
                reader.state_at(empty_state(), Revision(u64::MAX))?,
                effects::now(),
            ));
        }
        Some(AsOf::Revision(revision)) => reader.state_at(empty_state(), revision)?,
        Some(AsOf::Time(time)) => reader.state_at_time(empty_state(), time)?,
    };
    let now = inspect::time_of(reader, &state)?;
    Ok((state, now))
}

fn render(plan: &Value) -> String {
    let list = |member: &str| {
        plan.get(member)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let mut out = String::new();
    for entry in list("entries") {
        let events = entry.get("events").and_then(Value::as_array);
        let events: Vec<&str> = events
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        writeln!(out, "  {}: {}", text(entry, "object"), events.join(", ")).ok();
    }
    let number = |member: &str| plan.get(member).and_then(Value::as_u64).unwrap_or_default();
    let (revision, deleted) = (number("revision"), number("deleted"));
    let (objects, left) = (plural(deleted), list("waiting").count());
    write!(
        out,
        "on revision {revision} this would delete {deleted} {objects} and leave {left} waiting; nothing was done"
    )
    .ok();
    for one in list("waiting") {
        let finalizers = one.get("finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
        let finalizers: Vec<&str> = finalizers.collect();
        let held = if finalizers.is_empty() {
            "what is in it".into()
        } else {
            finalizers.join(", ")
        };
        write!(out, "\n  {} waits for {held}", text(one, "object")).ok();
    }
    if plan.get("complete").and_then(Value::as_bool) == Some(false) {
        write!(out, "\nand more follows than is shown here").ok();
    }
    out
}

const fn plural(count: u64) -> &'static str {
    if count == 1 { "object" } else { "objects" }
}

fn text<'a>(document: &'a Value, member: &str) -> &'a str {
    document
        .get(member)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

impl From<Cascade> for Propagation {
    fn from(cascade: Cascade) -> Self {
        match cascade {
            Cascade::Background => Self::Background,
            Cascade::Foreground => Self::Foreground,
            Cascade::Orphan => Self::Orphan,
        }
    }
}
