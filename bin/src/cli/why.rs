//! `hindsight why`: from a deletion back to its cause.

mod owners;
mod rules;

use super::ask::{Source, newest_state};
use super::legible::legible_answer;
use super::parse::{namespace, non_empty};
use super::query::Query;
use super::subject::Named;
use super::{Directory, NOT_FOUND, Output, show};
use crate::hint::hint;
use crate::history::{HistoryIndex, LogHistory};
use crate::inspect::{self, ObjectQuery};
use crate::questions;
use anyhow::Result;
use clap::Args;
use hindsight_core::Rule;
use hindsight_projector::{Earlier, Fate, Link, RequestDetails};
use rules::in_words;
use std::fmt::Write;
use std::process::ExitCode;

/// How much of the name of a program is shown.
const PROGRAM_CHARS_MAX: usize = 60;

const EXAMPLES: &str = "\
Examples:
  hindsight why pod/web-0 -n prod           why a pod was deleted, or exists
  hindsight why pods prod/web-0             the same, as answers name it
  hindsight why namespace/team-a            also what a namespace waits for
  hindsight why configmap/a --uid 4f1c...   one of several that had the name
  hindsight why widgets.example.com/w       even if its definition is gone
  hindsight why pod/web-0 -o json           the chain of causes as JSON

The first line gives the state of the object, and the rule that deleted it. For
an object that exists, what it waits for or its owners follow. The lines below
go back in time, each caused by the one under it; the last is somebody's
request, or a policy.
Exit code 3: no such object ever existed, as far as this log has it.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Why {
    #[command(flatten)]
    pub(super) directory: Directory,
    #[command(flatten)]
    named: Named,
    /// The object's namespace, `default` if omitted; for a kind that is cluster-scoped now, the one it was in
    #[arg(long, short, value_parser = namespace)]
    namespace: Option<String>,
    /// The object's uid, if several had the name
    #[arg(long, value_parser = non_empty)]
    uid: Option<String>,
    /// Output format
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Why {
    pub(super) fn run(self) -> Result<ExitCode> {
        let object = ObjectQuery {
            uid: self.uid,
            ..self.named.object(self.namespace, "why")?
        };
        let answer = match self.directory.source()? {
            Source::Directory { reader, .. } => {
                let state = newest_state(&reader)?;
                let index = HistoryIndex::default();
                let history = LogHistory::new(&reader, &index);
                inspect::why(&history, &state, &object)?
            }
            Source::Server(client) => client.ask(Query::about("why", &object).path())?,
        };
        if self.output == Output::Json {
            show::print_json(&answer)?;
        } else {
            let asked = asked(&object, &self.directory);
            show::print_line(&render(&legible_answer(&answer)?, &asked))?;
        }
        if answer.explanation.state != Fate::Unknown {
            return Ok(ExitCode::SUCCESS);
        }
        let place = &answer.explanation.object.namespace;
        hint(&unknown(&object, place, &self.directory));
        Ok(ExitCode::from(NOT_FOUND))
    }
}

/// What is said of an object that is not in the log. A kind without namespaces was looked for in none.
fn unknown(object: &ObjectQuery, namespace: &str, directory: &Directory) -> String {
    let asked = asked(object, directory);
    if let Some(uid) = &object.uid {
        return format!(
            "no object of this name had the uid {uid} in this log; `hindsight log {asked} -o json` lists those that had the name"
        );
    }
    let (place, elsewhere) = if namespace.is_empty() {
        (String::new(), "look")
    } else {
        let place = format!(" in {namespace}");
        (place, "look in another namespace with -n, or")
    };
    let directory = directory.option();
    format!(
        "no object of this name ever existed{place} in this log; {elsewhere} for the name with `hindsight log \
         KIND{directory}`"
    )
}

/// The object as the arguments of a subcommand.
fn asked(object: &ObjectQuery, directory: &Directory) -> String {
    directory.arguments(&object.kind, &object.name, object.namespace.as_deref())
}

/// First the object and its state, then why it still exists, then a line for each link of the chain.
fn render(answer: &questions::Why, asked: &str) -> String {
    let why = &answer.explanation;
    let object = &why.object;
    let mut out = format!("{} {}", object.kind, object.name);
    if !object.namespace.is_empty() {
        write!(out, " in {}", object.namespace).ok();
    }
    write!(out, " is {}", why.state.name()).ok();
    if let Some(rule) = why.rule {
        write!(out, ": {}", in_words(rule)).ok();
    }
    for reason in &answer.reasons {
        write!(out, "\n  {reason}").ok();
    }
    for link in &why.chain {
        write!(out, "\n{}", link_line(link)).ok();
    }
    if let Some(floor) = why.floor {
        write!(
            out,
            "\nEarlier owners may be missing: history is complete only from revision {floor} on, and the object is \
             older."
        )
        .ok();
    }
    if let Some(earlier) = &why.earlier {
        write!(out, "\n{}", earlier_object(earlier, asked)).ok();
    }
    out
}

fn link_line(link: &Link) -> String {
    let (revision, time, object) = (link.revision.0, &link.time, &link.object);
    let event = link.event.name();
    let rule = link
        .rule
        .map_or_else(String::new, |rule| format!(" [{}]", rule.name()));
    let (by, also, owners) = (
        by_request(&link.user, &link.verb, &link.request),
        other_request(link),
        owners::describe(link),
    );
    format!("{revision:>10}  {time}  {object} {event}{rule} by {by}{owners}{also}")
}

/// Who asked, how, and with which program.
fn by_request(user: &str, verb: &str, details: &RequestDetails) -> String {
    let RequestDetails {
        subresource,
        user_agent,
    } = details;
    let by = by(user, format!("{verb} {subresource}").trim());
    let program = user_agent.split_whitespace().next().unwrap_or_default();
    if program.is_empty() {
        return by;
    }
    let program: String = program.chars().take(PROGRAM_CHARS_MAX).collect();
    format!("{by} with {program}")
}

fn by(user: &str, verb: &str) -> String {
    if verb.is_empty() {
        return user.to_owned();
    }
    format!("{user} ({verb})")
}

/// Another request for the same deletion, which is not a link of the chain.
fn other_request(link: &Link) -> String {
    let Some(other) = &link.also else {
        return String::new();
    };
    let when = if other.revision < link.revision {
        "first asked for"
    } else {
        "asked for again"
    };
    let (revision, time, by) = (
        other.revision,
        &other.time,
        by_request(&other.user, &other.verb, &other.request),
    );
    let rule = other.rule.map_or("", Rule::name);
    format!(
        "\n{:12}{when} at revision {revision}, {time} [{rule}] by {by}",
        ""
    )
}

/// The deletion of an earlier object of this name: controllers recreate what was deleted, and the earlier one
/// may be meant.
fn earlier_object(earlier: &Earlier, asked: &str) -> String {
    let (revision, uid) = (earlier.revision, &earlier.uid);
    let rule = earlier.rule.map_or_else(String::new, in_words);
    let root = earlier.root.as_ref().filter(|root| !root.user.is_empty());
    let by = root.map_or_else(String::new, |root| {
        let by = by_request(&root.user, &root.verb, &root.request);
        format!("; it began with {by}")
    });
    format!(
        "An earlier object of this name was deleted at revision {revision}: {rule}{by}\n  hindsight why {asked} \
         --uid {uid}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn another_request_stands_below_the_one_that_counts() {
        let asked = |revision: u64, rule: &str, user: &str| {
            json!({"revision": revision, "time": "T", "rule": rule, "event": "deletion requested",
                "object": "configmaps default/own", "user": user, "verb": "delete"})
        };
        let (first, later) = (
            asked(22, "requested", "alice"),
            asked(23, "requested-orphan", "bob"),
        );
        let told = |link: &serde_json::Value, also: &serde_json::Value| {
            let mut link = link.clone();
            link["also"] = also.clone();
            link_line(&from_value(link).expect("a link"))
        };
        let below = |text: &str| text.lines().nth(1).map(str::to_owned);
        let expected =
            "            first asked for at revision 22, T [requested] by alice (delete)";
        assert_eq!(below(&told(&later, &first)).as_deref(), Some(expected));
        let expected =
            "            asked for again at revision 23, T [requested-orphan] by bob (delete)";
        assert_eq!(below(&told(&first, &later)).as_deref(), Some(expected));
        let alone = link_line(&from_value(first).expect("a link"));
        assert_eq!(below(&alone), None);
    }
}
