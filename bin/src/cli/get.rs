//! `hindsight get`: objects as they were, printed one by one.

mod manifest;
mod objects;
mod page;
mod printer;
mod yaml;

use super::parse::namespace;
use super::point::{Point, point};
use super::subject::{DEFAULT_NAMESPACE, NameArg, ResourceArg, parse_name, parse_resource};
use super::{Directory, NOT_FOUND};
use crate::hint::hint;
use crate::inspect::Served;
use anyhow::Result;
use clap::Args;
use hindsight_core::Revision;
use manifest::LeftOut;
use objects::{Objects, Wanted};
use printer::{GetOutput, Printer};
use serde_json::Value;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight get configmaps --as-of 1200     as they were at that revision
  hindsight get pod/web-0 -n prod --as-of 2026-01-31T12:00:00Z -o yaml
  hindsight get deployments -A -o name | xargs -rL1 hindsight why
  hindsight get pod/web-0 --as-of 1200 -o manifest | kubectl create -f -

`-o manifest` prints what an object can be created from again: without fields
that a server assigns, finalizers, and owners that no longer exist.
`hindsight log KIND/NAME` lists the revisions of an object. kubectl and every
other client can read the same under /as-of/REVISION/ and /as-of/TIME/.
Exit code 3: the named object did not exist.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Get {
    #[command(flatten)]
    pub(super) directory: Directory,
    /// KIND or KIND/NAME
    #[arg(value_parser = parse_resource)]
    subject: ResourceArg,
    /// NAME or NAMESPACE/NAME, if the argument before is KIND alone
    #[arg(value_parser = parse_name)]
    name: Option<NameArg>,
    /// Namespace to look in, `default` if omitted
    #[arg(long, short, value_parser = namespace)]
    namespace: Option<String>,
    /// All namespaces, instead of one
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Revision, time, date (UTC) or age to look at, such as 42, 2026-01-31T12:00:00Z, 2026-01-31 or 90m; now if
    /// omitted
    #[arg(long, value_name = "POINT", value_parser = point, allow_hyphen_values = true)]
    as_of: Option<Point>,
    /// Output format; manifest is YAML to create the object from again
    #[arg(long, short, default_value = "text")]
    output: GetOutput,
    /// Include metadata.managedFields
    #[arg(long)]
    show_managed_fields: bool,
}

impl Get {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (name, namespace) = (self.name.clone(), self.namespace.clone());
        let named = self.subject.clone().with_name(name, namespace, "get")?;
        named.check_place(self.all_namespaces, "get")?;
        self.as_of.as_ref().map_or(Ok(()), Point::check)?;
        let namespace = named.namespace;
        let namespace = namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        let wanted = Wanted {
            kind: named.kind,
            name: named.name,
            namespace: Some(namespace).filter(|_| !self.all_namespaces),
        };
        let with_owners = matches!(self.output, GetOutput::Manifest);
        let objects = Objects::open(&self.directory, self.as_of.as_ref(), with_owners)?;
        let served = objects.served(&wanted.kind)?;
        let found = self.print(&objects, &served, &wanted)?;
        if found {
            return Ok(ExitCode::SUCCESS);
        }
        // An answer does not fail because this cannot be looked up.
        let absent = absent_namespace(&objects, &served, &wanted).unwrap_or_default();
        hint(&self.missing(&served, &wanted, absent));
        let named = wanted.name.is_some();
        Ok(if named {
            ExitCode::from(NOT_FOUND)
        } else {
            ExitCode::SUCCESS
        })
    }

    /// Prints the objects; returns whether there were any.
    fn print(&self, objects: &Objects, served: &Served, wanted: &Wanted) -> Result<bool> {
        let mut printer = Printer::new(self.output, wanted, served);
        let mut left_out = LeftOut::default();
        let metadata = matches!(self.output, GetOutput::Text | GetOutput::Name);
        let revision = objects.each(served, wanted, metadata, &mut |mut item| {
            match self.output {
                GetOutput::Manifest => {
                    left_out.strip(&mut item, |owner| objects.find_owner(owner))?;
                }
                GetOutput::Json | GetOutput::Yaml if !self.show_managed_fields => {
                    unmanage(&mut item);
                }
                GetOutput::Json | GetOutput::Yaml | GetOutput::Text | GetOutput::Name => {}
            }
            printer.add(item)
        })?;
        let found = printer.end(&revision)?;
        if let Ok(answered) = revision.parse() {
            objects.hint_at_gap(self.as_of.as_ref(), Revision(answered));
        }
        if let Some(notice) = left_out.notice() {
            hint(&notice);
        }
        Ok(found)
    }

    fn missing(&self, served: &Served, wanted: &Wanted, absent: Option<&str>) -> String {
        let resource = served.stored_under();
        let (was, verb) = match self.as_of {
            None => ("is", "does not exist"),
            Some(_) => ("was", "did not exist"),
        };
        let absent = absent.map(|name| format!(": there {was} no namespace {name}"));
        let absent = absent.unwrap_or_default();
        let point = self.as_of.as_ref().map_or_else(String::new, Point::told);
        let place = wanted.namespace.as_deref().filter(|_| served.namespaced);
        let everywhere = if served.namespaced && place.is_none() {
            " in any namespace"
        } else {
            ""
        };
        let Some(name) = &wanted.name else {
            let place = place.map_or_else(|| everywhere.to_owned(), |place| format!(" in {place}"));
            return format!("no {resource} found{place}{point}{absent}");
        };
        let path = place.map_or_else(String::new, |place| format!("{place}/"));
        let arguments = |place| self.directory.arguments(&wanted.kind, name, place);
        let asked = arguments(place);
        // It looks in one namespace, while the log is searched in all.
        let why = if everywhere.is_empty() {
            asked.clone()
        } else {
            arguments(Some("NAMESPACE"))
        };
        format!(
            "{resource} {path}{name} {verb}{everywhere}{point}{absent}; `hindsight log {asked}` shows its history, and \
             `hindsight why {why}` whether and why it was deleted"
        )
    }
}

/// The namespace that was looked in, if there was none of this name.
fn absent_namespace<'a>(
    objects: &Objects,
    served: &Served,
    wanted: &'a Wanted,
) -> Result<Option<&'a str>> {
    let Some(namespace) = wanted.namespace.as_deref().filter(|_| served.namespaced) else {
        return Ok(None);
    };
    let namespaces = objects.served("namespaces")?;
    let of_name = Wanted {
        kind: namespaces.resource.clone(),
        name: Some(namespace.to_owned()),
        namespace: None,
    };
    let mut is_there = false;
    objects.each(&namespaces, &of_name, true, &mut |_| {
        is_there = true;
        Ok(())
    })?;
    Ok(Some(namespace).filter(|_| !is_there))
}

fn unmanage(item: &mut Value) {
    if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}
