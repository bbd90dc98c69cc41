//! `hindsight get`: objects as they were.

use super::ask::{Named, Source, empty_state, encode, named, newest_state, path, point};
use super::{Directory, NOT_FOUND, show};
use crate::inspect::{self, Filter};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use hindsight_api::AsOf;
use hindsight_core::State;
use hindsight_log::Reader;
use serde_json::Value;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight get configmaps --as-of 1200                    what there was after revision 1200
  hindsight get pod/web-0 -n prod --as-of 2026-01-31T12:00:00Z -o yaml
  hindsight get deployments -A --as-of 1200 -o name        in all namespaces
  hindsight get pod/web-0 --as-of 1200 -o manifest | kubectl create -f -      bring it back

`hindsight log KIND/NAME` lists the revisions of an object. The same is served to kubectl and every
other client under /as-of/REVISION/ and /as-of/TIME/.
Exit code 3: the named object was not there.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Get {
    #[command(flatten)]
    directory: Directory,
    /// KIND or KIND/NAME
    #[arg(value_parser = named)]
    kind: Named,
    /// NAME
    name: Option<String>,
    /// The namespace
    #[arg(long, short, default_value = "default")]
    namespace: String,
    /// All namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// A revision, or an RFC 3339 time; now without it
    #[arg(long, value_parser = checked)]
    as_of: Option<String>,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
    Yaml,
    /// YAML to create it again from: without what the server alone writes
    Manifest,
    Name,
}

impl Get {
    pub(super) fn run(self) -> Result<ExitCode> {
        let name = self.kind.clone().with(self.name.clone())?.name;
        let namespace = Some(self.namespace.clone()).filter(|_| !self.all_namespaces);
        let filter = Filter {
            kind: Some(self.kind.kind.clone()),
            name: name.clone(),
            namespace,
            uid: None,
        };
        let document = self.objects(&filter)?;
        let items = document
            .get("items")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        if let Some(name) = name.as_deref().filter(|_| items.is_empty()) {
            show::hint(&self.missing(name));
            return Ok(ExitCode::from(NOT_FOUND));
        }
        let shown = match items.as_slice() {
            [one] if name.is_some() => one,
            _ => &document,
        };
        match self.output {
            Form::Json => show::json(shown),
            Form::Yaml => show::line(serde_saphyr::to_string(shown)?.trim_end()),
            Form::Manifest => show::line(serde_saphyr::to_string(&manifest(shown))?.trim_end()),
            Form::Name => items
                .iter()
                .for_each(|item| show::line(text(item, "/metadata/name"))),
            Form::Text => table(&items),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn missing(&self, name: &str) -> String {
        let (kind, namespace) = (&self.kind.kind, &self.namespace);
        let place = if self.all_namespaces {
            "any namespace"
        } else {
            namespace
        };
        let point = self.as_of.as_deref().unwrap_or("now");
        format!(
            "{kind} {name} was not there as of {point} in {place}; `hindsight log {kind}/{name}` says \
             when it was, and `hindsight why {kind}/{name}` why it went"
        )
    }

    fn objects(&self, filter: &Filter) -> Result<Value> {
        let wanted = self.as_of.as_deref().and_then(|text| point(text).ok());
        Ok(match self.directory.source()? {
            Source::Directory { reader, .. } => inspect::objects(&state(&reader, wanted)?, filter)?,
            Source::Server => {
                let as_of = self.as_of.as_deref().map_or(String::new(), encode);
                self.directory
                    .ask(&format!("{}asOf={as_of}", path("objects", filter)))?
            }
        })
    }
}

/// A point in the past, kept as it was written.
fn checked(text: &str) -> Result<String, String> {
    point(text).map(|_| text.to_owned())
}

fn state(reader: &Reader, point: Option<AsOf>) -> Result<State> {
    if let Some(AsOf::Revision(asked)) = point {
        let newest = reader.newest()?;
        if asked > newest {
            bail!("revision {asked} has not happened yet; the newest is {newest}");
        }
    }
    Ok(match point {
        None => newest_state(reader)?,
        Some(AsOf::Revision(revision)) => reader.state_at(empty_state(), revision)?,
        Some(AsOf::Time(time)) => reader.state_at_time(empty_state(), time)?,
    })
}

/// What the server alone writes.
const OWNED: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// An object, or a list of them, without it.
fn manifest(shown: &Value) -> Value {
    let mut document = shown.clone();
    strip(&mut document);
    for item in document
        .get_mut("items")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        strip(item);
    }
    document
}

fn strip(document: &mut Value) {
    let Some(members) = document.as_object_mut() else {
        return;
    };
    members.remove("status");
    if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in OWNED {
            metadata.remove(field);
        }
    }
}

fn table(items: &[Value]) {
    let width = items
        .iter()
        .map(|item| text(item, "/metadata/namespace").len())
        .max()
        .unwrap_or(0);
    let width = width.max("NAMESPACE".len());
    show::line(&format!(
        "{:<width$}  {:<12}  NAME",
        "NAMESPACE", "REVISION"
    ));
    for item in items {
        show::line(&format!(
            "{:<width$}  {:<12}  {}",
            text(item, "/metadata/namespace"),
            text(item, "/metadata/resourceVersion"),
            text(item, "/metadata/name")
        ));
    }
}

fn text<'a>(item: &'a Value, pointer: &str) -> &'a str {
    item.pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
