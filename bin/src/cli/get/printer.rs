//! Prints objects one at a time, in the format that was asked for: they are never held as a list.

use super::objects::Wanted;
use super::yaml;
use crate::cli::legible::legible;
use crate::cli::show;
use crate::cli::subject::DEFAULT_NAMESPACE;
use crate::inspect::Served;
use anyhow::Result;
use clap::ValueEnum;
use serde_json::Value;
use std::borrow::Cow;
use std::io::{BufWriter, Stdout, Write};

/// How objects are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GetOutput {
    Text,
    Json,
    Yaml,
    Manifest,
    Name,
}

/// Wide enough for most names; a longer one shifts only its own line.
const NAMESPACE_WIDTH: usize = 20;
/// How many objects decide on the width of a revision. Later ones that are wider shift only their own line.
const FIRST: usize = 1_000;
/// The least width of a revision, wide enough for most logs that were never restored.
const REVISION_WIDTH_MIN: usize = 12;
/// The indentation of an item of a list in JSON.
const ITEM_INDENT: &str = "    ";

/// Prints objects as they arrive.
pub(super) struct Printer {
    out: BufWriter<Stdout>,
    output: GetOutput,
    /// The resource with its group, such as `deployment.apps`.
    titled: String,
    /// Whether one object was named: it is printed without a list around it, unless there are more.
    named: bool,
    /// Whether the namespace is printed with the name: other commands look in `default` without it.
    placed: bool,
    held: Option<Value>,
    /// Rows that were not printed yet.
    rows: Vec<Row>,
    /// The width of a revision; zero until some are known.
    revision_width: usize,
    count: usize,
}

/// What is printed of an object as text.
struct Row {
    namespace: String,
    revision: String,
    name: String,
}

impl Row {
    fn of(item: &Value) -> Self {
        let text = |pointer| text(item, pointer).into_owned();
        Self {
            namespace: text("/metadata/namespace"),
            revision: text("/metadata/resourceVersion"),
            name: text("/metadata/name"),
        }
    }
}

impl Printer {
    pub(super) fn new(output: GetOutput, wanted: &Wanted, served: &Served) -> Self {
        Self {
            out: show::out(),
            output,
            titled: served.titled(),
            named: wanted.name.is_some(),
            placed: served.namespaced && wanted.namespace.as_deref() != Some(DEFAULT_NAMESPACE),
            held: None,
            rows: Vec::new(),
            revision_width: 0,
            count: 0,
        }
    }

    pub(super) fn add(&mut self, item: Value) -> Result<()> {
        self.count += 1;
        match self.output {
            GetOutput::Text => self.row(&item),
            GetOutput::Name => self.name(&item),
            GetOutput::Json | GetOutput::Yaml | GetOutput::Manifest
                if self.named && self.count == 1 =>
            {
                self.held = Some(item);
                Ok(())
            }
            GetOutput::Json | GetOutput::Yaml | GetOutput::Manifest => {
                if let Some(first) = self.held.take() {
                    self.item(&first, true)?;
                }
                self.item(&item, self.count == 1)
            }
        }
    }

    /// Prints the end, with the revision of the list; returns whether there were any objects.
    pub(super) fn end(mut self, revision: &str) -> Result<bool> {
        let is_document = matches!(
            self.output,
            GetOutput::Json | GetOutput::Yaml | GetOutput::Manifest
        );
        self.print_rows()?;
        if let Some(one) = self.held.take() {
            let text = self.document(&one)?;
            show::mark_stdout_error(writeln!(self.out, "{}", text.trim_end()))?;
        } else if is_document && (self.count > 0 || !self.named) {
            self.close(revision)?;
        }
        show::mark_stdout_error(self.out.flush())?;
        Ok(self.count > 0)
    }

    fn document(&self, item: &Value) -> Result<String> {
        Ok(match self.output {
            GetOutput::Json => serde_json::to_string_pretty(item)?,
            _ => yaml::document(item)?,
        })
    }

    /// Prints an item of a list; the first one opens the list.
    fn item(&mut self, item: &Value, first: bool) -> Result<()> {
        let text = match (self.output, first) {
            (GetOutput::Json, true) => format!(
                "{{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n{}",
                indented(item)?
            ),
            (GetOutput::Json, false) => format!(",\n{}", indented(item)?),
            (_, first) => {
                let head = if first {
                    "apiVersion: v1\nitems:\n"
                } else {
                    ""
                };
                format!("{head}{}\n", yaml::item(item)?.trim_end())
            }
        };
        show::mark_stdout_error(self.out.write_all(text.as_bytes()))
    }

    fn close(&mut self, revision: &str) -> Result<()> {
        let text = match (self.output, self.count) {
            (GetOutput::Json, count) => {
                let open = if count == 0 {
                    "{\n  \"apiVersion\": \"v1\",\n  \"items\": ["
                } else {
                    "\n  "
                };
                format!(
                    "{open}],\n  \"kind\": \"List\",\n  \"metadata\": {{\n    \"resourceVersion\": \
                     \"{revision}\"\n  }}\n}}\n"
                )
            }
            (_, count) => {
                let open = if count == 0 {
                    "apiVersion: v1\nitems: []\n"
                } else {
                    ""
                };
                let metadata = format!("metadata:\n  resourceVersion: \"{revision}\"\n");
                let metadata = Some(metadata).filter(|_| self.output == GetOutput::Yaml);
                format!("{open}kind: List\n{}", metadata.unwrap_or_default())
            }
        };
        show::mark_stdout_error(self.out.write_all(text.as_bytes()))
    }

    fn row(&mut self, item: &Value) -> Result<()> {
        self.rows.push(Row::of(item));
        if self.revision_width == 0 && self.rows.len() < FIRST {
            return Ok(());
        }
        self.print_rows()
    }

    fn print_rows(&mut self) -> Result<()> {
        if self.revision_width == 0 && !self.rows.is_empty() {
            let widths = self.rows.iter().map(|row| row.revision.len());
            self.revision_width = widths.max().unwrap_or_default().max(REVISION_WIDTH_MIN);
            let heading = Row {
                namespace: "NAMESPACE".into(),
                revision: "REVISION".into(),
                name: "NAME".into(),
            };
            self.rows.insert(0, heading);
        }
        let width = self.revision_width;
        for row in self.rows.drain(..) {
            let Row {
                namespace,
                revision,
                name,
            } = row;
            let row = format!("{namespace:<NAMESPACE_WIDTH$}  {revision:<width$}  {name}");
            show::mark_stdout_error(writeln!(self.out, "{row}"))?;
        }
        Ok(())
    }

    /// Prints an object as the arguments of another subcommand.
    fn name(&mut self, item: &Value) -> Result<()> {
        let place = if self.placed {
            format!("-n {} ", text(item, "/metadata/namespace"))
        } else {
            String::new()
        };
        let name = text(item, "/metadata/name");
        show::mark_stdout_error(writeln!(self.out, "{place}{}/{name}", self.titled))
    }
}

fn indented(item: &Value) -> Result<String> {
    let text = serde_json::to_string_pretty(item)?;
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("{ITEM_INDENT}{line}"))
        .collect();
    Ok(lines.join("\n"))
}

fn text<'a>(item: &'a Value, pointer: &str) -> Cow<'a, str> {
    let text = item.pointer(pointer).and_then(Value::as_str);
    legible(text.unwrap_or_default())
}
