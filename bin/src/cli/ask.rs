//! `hindsight log` and `hindsight why`; and how a question finds its answer: on the directory
//! itself, or through the server that holds it.

use super::{Directory, Output, show};
use crate::control_plane::open_directory;
use crate::inspect::{self, Filter};
use crate::remote;
use anyhow::{Context, Result, bail};
use clap::Args;
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{State, builtin};
use hindsight_log::{DirectoryLock, Error, Reader};
use serde_json::{Value, json};
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Where answers come from.
pub(super) enum Source {
    /// Nobody holds the directory.
    Directory {
        reader: Reader,
        _lock: DirectoryLock,
    },
    /// A server does.
    Server,
}

impl Directory {
    pub(super) fn source(&self) -> Result<Source> {
        if !self.data_dir.exists() {
            bail!(
                "{} does not exist; name a --data-dir",
                self.data_dir.display()
            );
        }
        match open_directory(&self.data_dir) {
            Ok((lock, storage)) => Ok(Source::Directory {
                reader: Reader::new(storage),
                _lock: lock,
            }),
            Err(Error::Locked { .. }) => Ok(Source::Server),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks the server that holds the directory.
    pub(super) fn ask(&self, path: &str) -> Result<Value> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(remote::ask(&self.data_dir, path))
    }
}

/// An empty world with the built-in kinds.
pub(super) fn empty_state() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

/// Everything that the log says.
pub(super) fn newest_state(reader: &Reader) -> Result<State> {
    Ok(reader.fold(empty_state(), |_| true, |_| {})?)
}

#[derive(Debug, Args)]
pub(super) struct Log {
    #[command(flatten)]
    directory: Directory,
    /// KIND or KIND/NAME; everything without it
    subject: Option<String>,
    /// Only this namespace
    #[arg(long, short)]
    namespace: Option<String>,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Log {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (kind, name) = self.subject.as_deref().map_or((None, None), split);
        let filter = Filter {
            kind,
            name,
            namespace: self.namespace,
            uid: None,
        };
        let document = match self.directory.source()? {
            Source::Directory { reader, .. } => {
                inspect::log(&reader, &newest_state(&reader)?, &filter)?
            }
            Source::Server => self.directory.ask(&path("log", &filter))?,
        };
        if self.output == Output::Json {
            show::json(&document);
            return Ok(ExitCode::SUCCESS);
        }
        for entry in document.as_array().into_iter().flatten() {
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
            show::line(&format!(
                "{:>8}  {}  {}  {}: {}",
                entry
                    .get("revision")
                    .and_then(Value::as_u64)
                    .unwrap_or_default(),
                text("time"),
                text("user"),
                text("object"),
                events.join(", ")
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
pub(super) struct Why {
    #[command(flatten)]
    directory: Directory,
    /// KIND/NAME
    subject: String,
    /// The object's namespace
    #[arg(long, short, default_value = "default")]
    namespace: String,
    /// Which of several that had the name
    #[arg(long)]
    uid: Option<String>,
    /// How to print it
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Why {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (kind, Some(name)) = split(&self.subject) else {
            bail!(
                "{:?} is not KIND/NAME, such as configmap/settings",
                self.subject
            );
        };
        let namespace = Some(self.namespace);
        let filter = Filter {
            kind,
            name: Some(name),
            namespace,
            uid: self.uid,
        };
        let document = match self.directory.source()? {
            Source::Directory { reader, .. } => {
                json!(inspect::why(&reader, &newest_state(&reader)?, &filter)?)
            }
            Source::Server => self.directory.ask(&path("why", &filter))?,
        };
        if self.output == Output::Json {
            show::json(&document);
        } else {
            show::line(&render(&document));
        }
        let unknown = document.get("state").and_then(Value::as_str) == Some("unknown");
        Ok(ExitCode::from(if unknown { 3 } else { 0 }))
    }
}

/// The object and its state first, then a line for each link of the chain.
fn render(why: &Value) -> String {
    let text = |pointer: &str| {
        why.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let mut out = format!("{} {}", text("/object/kind"), text("/object/name"));
    if !text("/object/namespace").is_empty() {
        write!(out, " in {}", text("/object/namespace")).ok();
    }
    write!(out, " is {}", text("/state")).ok();
    if !text("/rule").is_empty() {
        write!(out, ": {}", text("/rule")).ok();
    }
    for link in why
        .get("chain")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |member: &str| link.get(member).and_then(Value::as_str).unwrap_or_default();
        let revision = link
            .get("revision")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let verb = if text("verb").is_empty() {
            String::new()
        } else {
            format!(" ({})", text("verb"))
        };
        let rule = if text("rule").is_empty() {
            String::new()
        } else {
            format!(" [{}]", text("rule"))
        };
        write!(
            out,
            "\n  {revision:>8}  {}  {} {}{rule} by {}{verb}",
            text("time"),
            text("object"),
            text("event"),
            text("user")
        )
        .ok();
    }
    out
}

/// `KIND/NAME`.
pub(super) fn split(text: &str) -> (Option<String>, Option<String>) {
    match text.split_once('/') {
        Some((kind, name)) => (Some(kind.to_owned()), Some(name.to_owned())),
        None => (Some(text.to_owned()), None),
    }
}

/// A question as the server's path.
pub(super) fn path(question: &str, filter: &Filter) -> String {
    let mut path = format!("/hindsight/v1/{question}?");
    let fields = [
        ("kind", &filter.kind),
        ("namespace", &filter.namespace),
        ("name", &filter.name),
        ("uid", &filter.uid),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            write!(path, "{name}={}&", encode(value)).ok();
        }
    }
    path
}

pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").ok();
        }
    }
    encoded
}

/// A revision or a time, checked before it is used.
pub(super) fn point(text: &str) -> Result<hindsight_api::AsOf> {
    crate::server::point(text)
        .with_context(|| format!("{text:?} is neither a revision nor an RFC 3339 time"))
}
