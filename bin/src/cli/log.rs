//! `hindsight log`: what happened, printed as it is read.

mod follow;
mod period;
mod tail;

use super::ask::{Source, state_with};
use super::parse::{namespace, non_empty};
use super::point::{Point, point};
use super::query::Query;
use super::show::ListFormat;
use super::subject::{NameArg, ResourceArg, parse_name, parse_resource};
use super::{Directory, Output, show, usage_error};
use crate::answer::LogPage;
use crate::hint::hint;
use crate::history::{HistoryIndex, LogHistory};
use crate::inspect::{self, Filter, Selection};
use crate::remote::Client;
use anyhow::{Result, bail};
use clap::Args;
use clap::error::ErrorKind;
use hindsight_api::AsOf;
use hindsight_core::Revision;
use std::process::ExitCode;
use tail::Printed;

const EXAMPLES: &str = "\
Examples:
  hindsight log                             everything, oldest first
  hindsight log pods -n prod                the pods of a namespace
  hindsight log configmap/settings          every object that had this name
  hindsight log --since 1200 -o json | jq   from a revision on, as JSON
  hindsight log --since 90m --tail 20       the newest 20 of the last 90 minutes
  hindsight log -n prod --verb delete --since 2026-01-31T12:00:00Z
  hindsight log secrets --user alice --until 4711
  hindsight log -n prod --follow            events as they happen

Each line gives the revision, time, user, object, and what was done to it, or
says that a backup was restored. With a name or a uid, updates also list what
they changed. `hindsight why KIND/NAME` traces a deletion back to its cause;
`hindsight get KIND/NAME --as-of REVISION` shows the object as it was.";

/// What requests are logged with, and restores. What the server does by itself has none.
const VERBS: &[&str] = &[
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "restore",
];

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Log {
    #[command(flatten)]
    pub(super) directory: Directory,
    /// KIND or KIND/NAME; everything if omitted
    #[arg(value_parser = parse_resource)]
    subject: Option<ResourceArg>,
    /// NAME or NAMESPACE/NAME, if the argument before is KIND alone
    #[arg(value_parser = parse_name)]
    name: Option<NameArg>,
    /// Only this namespace and what is in it; a cluster-scoped KIND is shown in full
    #[arg(long, short, value_parser = namespace)]
    namespace: Option<String>,
    /// All namespaces (the default)
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Only the object with this uid
    #[arg(long, value_parser = non_empty)]
    uid: Option<String>,
    /// Only what this user did
    #[arg(long, value_parser = non_empty)]
    user: Option<String>,
    /// Only requests with this verb, such as delete; restore for the restores of backups
    #[arg(long, value_parser = non_empty)]
    verb: Option<String>,
    /// Only from this revision, time, date (UTC) or age on, such as 42, 2026-01-31T12:00:00Z, 2026-01-31 or 90m
    #[arg(long, value_name = "POINT", value_parser = point, allow_hyphen_values = true)]
    since: Option<Point>,
    /// Only up to this revision, time, start of a date (UTC) or age
    #[arg(long, value_name = "POINT", value_parser = point, allow_hyphen_values = true)]
    until: Option<Point>,
    /// Only the newest N entries
    #[arg(long, value_name = "N", value_parser = tail::count, allow_negative_numbers = true)]
    tail: Option<usize>,
    /// Keep printing new entries until interrupted; as JSON, one document per line
    #[arg(long, short, conflicts_with = "until")]
    follow: bool,
    /// Output format
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Log {
    const fn format(&self) -> ListFormat {
        match (self.output, self.follow) {
            (Output::Text, _) => ListFormat::Text,
            (Output::Json, false) => ListFormat::List,
            (Output::Json, true) => ListFormat::Lines,
        }
    }

    /// A complaint about a period that ends before it begins.
    fn complaint(&self) -> Option<String> {
        let (since, until) = (self.since.as_ref()?, self.until.as_ref()?);
        let is_after = match (since.at, until.at) {
            (AsOf::Revision(since), AsOf::Revision(until)) => since > until,
            (AsOf::Time(since), AsOf::Time(until)) => since > until,
            (AsOf::Revision(_), AsOf::Time(_)) | (AsOf::Time(_), AsOf::Revision(_)) => false,
        };
        let (since, until) = (&since.text, &until.text);
        is_after.then(|| format!("--since {since} is after --until {until}; exchange them"))
    }

    pub(super) fn run(self) -> Result<ExitCode> {
        if let Some(complaint) = self.complaint() {
            return Err(usage_error("log", ErrorKind::ArgumentConflict, complaint));
        }
        let filter = self.filter()?;
        let mut out = Printed::new(self.format(), self.tail);
        let mut found = Looked::default();
        if self.follow {
            self.hint_at_verbs();
        }
        let source = self.directory.source()?;
        match &source {
            Source::Directory { .. } if self.follow => bail!(
                "no server is running on {}, so there is nothing to follow; start `hindsight serve` on it, or leave \
                 --follow out",
                self.directory.data_dir.display()
            ),
            Source::Directory { reader, .. } => {
                let mut reported = Reported::default();
                reported.print_floor(self.from(), reader.floor()?, |floor| {
                    self.begins_after(&source, floor)
                });
                found.is_thinned = reported.is_thinned;
                let state = state_with(reader, filter.kind.as_deref())?;
                let index = HistoryIndex::default();
                let history = LogHistory::new(reader, &index);
                let selection = Selection::of(&history, &filter, &state)?;
                inspect::for_each_entry(&history, &selection, self.from(), |entry| out.add(entry))?;
                source.hint_at_gap_until(self.until.as_ref());
                if out.is_empty() {
                    found.restored = inspect::lost_in_period(&history, &selection, self.from())?;
                }
            }
            Source::Server(client) => {
                found = self.ask(&source, client.clone(), &filter, &mut out)?;
                source.hint_at_gap_until(self.until.as_ref());
            }
        }
        out.end()?;
        if out.is_empty() {
            self.hint_at_nothing(&source, &filter, &found);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn begins_after(&self, source: &Source, revision: Revision) -> bool {
        period::begins_after(self.since.as_ref(), source, revision)
    }

    fn hint_at_nothing(&self, source: &Source, filter: &Filter, found: &Looked) {
        let ahead = self.since.as_ref().and_then(|since| ahead(source, since));
        hint(&ahead.unwrap_or_else(|| self.nothing(filter, found.is_thinned)));
        self.hint_at_verbs();
        let restored = found.restored;
        let restored = restored.filter(|last| !self.begins_after(source, *last));
        if let Some(restored) = restored {
            hint(&inspect::lost_at(restored));
        }
    }

    /// Says which verbs there are if another is asked for.
    fn hint_at_verbs(&self) {
        let verb = self.verb.as_deref();
        if verb.is_some_and(|verb| !VERBS.contains(&verb)) {
            hint(&format!("verbs are {}", VERBS.join(", ")));
        }
    }

    /// Which commits are asked for.
    fn filter(&self) -> Result<Filter> {
        let at = |point: &Option<Point>| point.as_ref().map(|point| point.at);
        let everything = Filter {
            namespace: self.namespace.clone(),
            uid: self.uid.clone(),
            user: self.user.clone(),
            verb: self.verb.clone(),
            since: at(&self.since),
            until: at(&self.until),
            ..Filter::default()
        };
        let Some(subject) = self.subject.clone() else {
            return Ok(everything);
        };
        let subject = subject.with_name(self.name.clone(), self.namespace.clone(), "log")?;
        subject.check_place(self.all_namespaces, "log")?;
        Ok(Filter {
            kind: Some(subject.kind),
            name: subject.name,
            namespace: subject.namespace,
            ..everything
        })
    }

    /// The revision from which the log is read.
    fn from(&self) -> Revision {
        match self.since.as_ref().map(|since| since.at) {
            Some(AsOf::Revision(since)) => since,
            Some(AsOf::Time(_)) | None => Revision(1),
        }
    }

    fn nothing(&self, filter: &Filter, is_thinned: bool) -> String {
        let kept = if is_thinned { " that is kept" } else { "" };
        let mut message = format!("nothing{kept} happened in this log");
        if let Some(kind) = &filter.kind {
            let name = filter.name.as_ref();
            let name = name.map_or_else(String::new, |name| format!("/{name}"));
            message = format!("{message} to {kind}{name}");
        }
        if let Some(namespace) = &filter.namespace {
            message = format!("{message} in {namespace}");
        }
        if let Some(since) = &self.since {
            message = format!("{message} from {} on", since.text);
        }
        if let Some(until) = &self.until {
            message = format!("{message} up to {}", until.text);
        }
        let narrowed = [&filter.uid, &filter.user, &filter.verb];
        if narrowed.iter().any(|one| one.is_some()) {
            message.push_str(" that matches");
        }
        message
    }

    /// Asks the server page by page, to the end of the log or for ever.
    fn ask(
        &self,
        source: &Source,
        mut client: Client,
        filter: &Filter,
        out: &mut Printed,
    ) -> Result<Looked> {
        let [since, until] = [&self.since, &self.until].map(|point| Some(&*point.as_ref()?.text));
        let question = Query::log(filter)
            .with_any("since", since)
            .with_any("until", until);
        let (mut from, mut reported) = (self.from(), Reported::default());
        loop {
            let page: LogPage = if self.follow {
                follow::ask(&self.directory, &mut client, &question, from)?
            } else {
                client.ask(from_revision(&question, from).path())?
            };
            // The log may have been thinned since the page before.
            reported.print_floor(from, page.floor, |floor| self.begins_after(source, floor));
            for entry in &page.entries {
                out.add(entry)?;
            }
            from = match page.next {
                Some(next) => next,
                None if self.follow => {
                    out.show()?;
                    show::pause(follow::EVERY)?;
                    page.end
                }
                None => {
                    return Ok(Looked {
                        is_thinned: reported.is_thinned,
                        restored: page.restored,
                    });
                }
            };
        }
    }
}

/// The question, from a revision on.
fn from_revision(question: &Query, from: Revision) -> Query {
    question.clone().with("from", &from.to_string())
}

/// What is known of a log that was looked through.
#[derive(Debug, Default)]
struct Looked {
    /// Whether some of it may be gone.
    is_thinned: bool,
    /// The last restore, if what was looked for may be lost because of it.
    restored: Option<Revision>,
}

/// Says so if this point lies ahead. An answer does not fail because this cannot be looked up.
fn ahead(source: &Source, since: &Point) -> Option<String> {
    match since.at {
        AsOf::Revision(revision) => {
            let newest = source.newest().ok().filter(|newest| revision > *newest)?;
            Some(format!(
                "revision {revision} has not happened yet; the newest is {newest}"
            ))
        }
        AsOf::Time(_) => since.ahead(),
    }
}

/// What the user was told of what may be missing.
#[derive(Debug, Default)]
struct Reported {
    /// The highest floor that was looked at.
    floor: Revision,
    is_thinned: bool,
}

impl Reported {
    /// Reports that what is read from this revision on may not be all that happened, unless what may be missing is
    /// not asked for.
    fn print_floor(
        &mut self,
        from: Revision,
        floor: Revision,
        begins_after: impl FnOnce(Revision) -> bool,
    ) {
        if self.is_news(from, floor) && !begins_after(floor) {
            self.is_thinned = true;
            hint(&show::complete_from(floor));
        }
    }

    /// Whether something may be missing that was not looked at yet.
    fn is_news(&mut self, from: Revision, floor: Revision) -> bool {
        let is_news = floor > from.max(self.floor);
        if is_news {
            self.floor = floor;
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_that_rises_over_a_page_is_reported_once_whichever_page_it_is() {
        let mut reported = Reported::default();
        for (from, floor, is_news) in [
            (1, 0, false),
            (1_001, 1_001, false),
            (2_001, 4_000, true),
            (3_001, 4_000, false),
            (4_001, 4_000, false),
            (4_002, 9_000, true),
            (9_001, 9_000, false),
        ] {
            let told = reported.is_news(Revision(from), Revision(floor));
            assert_eq!(told, is_news, "{from} {floor}");
        }
    }
}
