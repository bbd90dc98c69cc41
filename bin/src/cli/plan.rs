//! `hindsight plan`: what a deletion would do.

use super::ask::{Source, state_of};
use super::legible::legible_answer;
use super::parse::namespace;
use super::point::{Point, point};
use super::query::Query;
use super::subject::{DEFAULT_NAMESPACE, Named};
use super::{Directory, NOT_FOUND, Output, show};
use crate::answer::{OnceLetGo, PlanAnswer, Planned};
use crate::effects;
use crate::hint::hint;
use crate::inspect::{self, ObjectQuery, World};
use anyhow::Result;
use clap::{Args, ValueEnum};
use hindsight_core::command::Propagation;
use hindsight_core::{Revision, State, Time};
use hindsight_log::Reader;
use std::fmt::Write;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight plan deployment/web -n prod
  hindsight plan namespace/team-a
  hindsight plan configmap/owner --cascade orphan
  hindsight plan crd/widgets.example.com -o json
  hindsight plan deployment/web --as-of 1200    on the state at that revision

Runs the deletion, and the garbage collection that follows, on a copy of the
state, and writes nothing. No other program takes part: admission webhooks are
not called, and finalizers of other programs stay, so that what they hold is
listed as waiting.
Exit code 3: there is no such object.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Plan {
    #[command(flatten)]
    pub(super) directory: Directory,
    #[command(flatten)]
    named: Named,
    /// The object's namespace, `default` if omitted
    #[arg(long, short, value_parser = namespace)]
    namespace: Option<String>,
    /// What to do with dependents
    #[arg(long, default_value = "background")]
    cascade: Cascade,
    /// Revision, time, date (UTC) or age to look at, such as 42, 2026-01-31T12:00:00Z, 2026-01-31 or 90m; now if
    /// omitted
    #[arg(long, value_name = "POINT", value_parser = point, allow_hyphen_values = true)]
    as_of: Option<Point>,
    /// Output format
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

impl Plan {
    pub(super) fn run(self) -> Result<ExitCode> {
        let object = self.named.clone().object(self.namespace.clone(), "plan")?;
        self.as_of.as_ref().map_or(Ok(()), Point::check)?;
        let answer = self.ask(&object)?;
        match (self.output, &answer) {
            (Output::Json, _) => show::print_json(&answer)?,
            (Output::Text, PlanAnswer::Found(plan)) => {
                show::print_line(&render(&legible_answer(plan)?))?;
            }
            (Output::Text, PlanAnswer::Missing(_)) => {}
        }
        match answer {
            PlanAnswer::Found(_) => Ok(ExitCode::SUCCESS),
            PlanAnswer::Missing(missing) => {
                hint(&self.missing(&object, missing.namespaced));
                Ok(ExitCode::from(NOT_FOUND))
            }
        }
    }

    fn ask(&self, object: &ObjectQuery) -> Result<PlanAnswer> {
        let asked = self.as_of.as_ref().map(|point| point.at);
        let source = self.directory.source()?;
        let answer = match &source {
            Source::Directory { reader, .. } => {
                let (state, now) = world(reader, self.as_of.as_ref())?;
                let state = &state;
                let world = World { reader, state, now };
                inspect::plan(world, object, self.cascade.into())?
            }
            Source::Server(client) => {
                let policy = Propagation::from(self.cascade).name();
                let question = Query::about("plan", object)
                    .with("propagationPolicy", policy)
                    .with_point(self.as_of.as_ref().map(|point| &*point.text));
                client.ask(question.path())?
            }
        };
        source.hint_at_gap(asked, revision_in(&answer));
        Ok(answer)
    }

    fn missing(&self, object: &ObjectQuery, is_namespaced: bool) -> String {
        let ObjectQuery { kind, name, .. } = object;
        let verb = if self.as_of.is_some() { "was" } else { "is" };
        let (place, elsewhere) = if is_namespaced {
            let place = object.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
            let place = format!(" in {place}");
            (place, "in another namespace with -n, or ")
        } else {
            (String::new(), "")
        };
        let namespace = object.namespace.as_deref().filter(|_| is_namespaced);
        let asked = self.directory.arguments(kind, name, namespace);
        format!(
            "there {verb} no {kind} {name} to delete{place}; look {elsewhere}at another time with --as-of; \
             `hindsight why {asked}` tells whether and why it was deleted"
        )
    }
}

/// The revision of the state that an answer is about.
const fn revision_in(answer: &PlanAnswer) -> Revision {
    match answer {
        PlanAnswer::Found(found) => found.revision,
        PlanAnswer::Missing(missing) => missing.revision,
    }
}

/// The state to decide on, and the time at that point.
fn world(reader: &Reader, as_of: Option<&Point>) -> Result<(State, Time)> {
    let state = state_of(reader, as_of)?;
    let now = match as_of {
        Some(_) => inspect::clock_at(reader, state.revision)?,
        None => effects::now(),
    };
    Ok((state, now))
}

const MORE: &str = "and more follows than is shown here";

fn render(plan: &Planned) -> String {
    let mut out = String::new();
    for entry in &plan.entries {
        let events = show::join_bounded(&entry.events, entry.more_events);
        writeln!(out, "  {}: {events}", entry.object).ok();
    }
    write!(
        out,
        "at revision {} this would delete {}; nothing was done",
        plan.revision,
        sum(plan)
    )
    .ok();
    for one in &plan.waiting {
        // An older server reports only finalizers.
        let held = if one.held_by.is_empty() {
            one.finalizers.join("; ")
        } else {
            one.held_by.join("; ")
        };
        write!(out, "\n  {} waits for {held}", one.object).ok();
    }
    if !plan.complete {
        write!(out, "\n{MORE}").ok();
    }
    if let Some(later) = &plan.once_let_go {
        out.push_str(&render_later(later));
    }
    match plan.going_already {
        0 => Ok(()),
        1 => write!(out, "\n1 more object is being deleted anyway"),
        count => write!(out, "\n{count} more objects are being deleted anyway"),
    }
    .ok();
    out
}

fn render_later(later: &OnceLetGo) -> String {
    let count = later.deleted.len();
    if count == 0 {
        return "\nthe forecast stopped at its limit; what is removed after that is unknown".into();
    }
    let more = show::counted(count, "more object");
    let goes = if count == 1 { "goes" } else { "go" };
    let mut out = format!("\nonce nothing holds them, {more} {goes}");
    for object in &later.deleted {
        write!(out, "\n  {object}").ok();
    }
    if !later.complete {
        write!(out, "\n{MORE}").ok();
    }
    out
}

fn sum(plan: &Planned) -> String {
    let deleted = show::counted(plan.deleted, "object");
    if plan.complete {
        return format!("{deleted} and leave {} waiting", plan.waiting.len());
    }
    format!("at least {deleted}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plane;
    use serde_json::{from_value, json};

    /// One of them has a comma in it.
    #[test]
    fn what_an_object_waits_for_is_told_one_thing_from_the_other() {
        let held = ["x.io/hold", "its node, which has 30 s to stop it"];
        let plan = json!({"revision": 7, "found": true, "entries": [], "deleted": 0, "complete": true,
            "waiting": [{"object": "pods default/p", "finalizers": ["x.io/hold"], "heldBy": held}]});
        let told = render(&from_value(plan).expect("a plan"));
        let line = told.lines().last().expect("a line");
        let expected = "  pods default/p waits for x.io/hold; its node, which has 30 s to stop it";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_plan_of_the_past_uses_the_time_of_that_revision() {
        let plane = plane();
        let first = plane.reader().scan(Revision(1)).next();
        let then = first.expect("a commit").expect("read").time;
        let asked = point("1").expect("a point");
        let (state, now) = world(plane.reader(), Some(&asked)).expect("it was");
        assert_eq!((state.revision.0, now), (1, then));
        assert!(world(plane.reader(), None).expect("it is").1 > then);
    }
}
