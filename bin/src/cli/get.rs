//! `hindsight get`: objects as they were.

use super::ask::{Source, empty_state, encode, newest_state, path, point, split};
use super::{Directory, show};
use crate::inspect::{self, Filter};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use hindsight_api::AsOf;
use hindsight_core::State;
use hindsight_log::Reader;
use serde_json::Value;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct Get {
    #[command(flatten)]
    directory: Directory,
    /// KIND or KIND/NAME
    kind: String,
    /// NAME
    name: Option<String>,
    /// The namespace
    #[arg(long, short, default_value = "default")]
    namespace: String,
    /// All namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// A revision, or an RFC 3339 time; now without it
    #[arg(long)]
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
    Name,
}

impl Get {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (kind, slashed) = split(&self.kind);
        let name = self.name.clone().or(slashed);
        let namespace = Some(self.namespace.clone()).filter(|_| !self.all_namespaces);
        let filter = Filter {
            kind,
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
        if items.is_empty() && name.is_some() {
            bail!("{} {} was not there", self.kind, name.unwrap_or_default());
        }
        let shown = match items.as_slice() {
            [one] if name.is_some() => one,
            _ => &document,
        };
        match self.output {
            Form::Json => show::json(shown),
            Form::Yaml => show::line(serde_saphyr::to_string(shown)?.trim_end()),
            Form::Name => items
                .iter()
                .for_each(|item| show::line(text(item, "/metadata/name"))),
            Form::Text => table(&items),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn objects(&self, filter: &Filter) -> Result<Value> {
        let wanted = self.as_of.as_deref().map(point).transpose()?;
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

fn state(reader: &Reader, point: Option<AsOf>) -> Result<State> {
    Ok(match point {
        None => newest_state(reader)?,
        Some(AsOf::Revision(revision)) => reader.state_at(empty_state(), revision)?,
        Some(AsOf::Time(time)) => reader.state_at_time(empty_state(), time)?,
    })
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
