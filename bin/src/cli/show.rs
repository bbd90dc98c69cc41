//! Output: documents to standard output, errors to standard error.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;
use std::future::pending;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// Standard output refused.
#[derive(Debug, thiserror::Error)]
#[error("standard output cannot be written")]
struct Unwritten(#[source] io::Error);

/// Only what was written in full has succeeded: an audit may be in a file that lacks its end.
pub(super) fn written(result: io::Result<()>) -> Result<()> {
    Ok(result.map_err(Unwritten)?)
}

/// Whether it failed because whoever read the output has gone, which ends it and is no failure.
pub(super) fn nobody_reads(error: &anyhow::Error) -> bool {
    let unwritten = error.downcast_ref::<Unwritten>();
    unwritten.is_some_and(|Unwritten(source)| source.kind() == ErrorKind::BrokenPipe)
}

pub(super) fn line(text: &str) -> Result<()> {
    let mut out = out();
    written(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Waits; as soon as whoever read standard output has gone there is nothing to wait for.
pub(super) fn pause(length: Duration) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let gone = runtime.block_on(async { timeout(length, reader_gone()).await });
    if gone.is_ok() {
        return written(Err(ErrorKind::BrokenPipe.into()));
    }
    Ok(())
}

/// Ends where standard output is a pipe, or a terminal, and nobody reads it any more.
async fn reader_gone() {
    let output = io::stdout().as_fd().try_clone_to_owned();
    // A file cannot be watched.
    if let Ok(output) = output.and_then(Sender::from_owned_fd_unchecked) {
        while let Ok(ready) = output.ready(Interest::ERROR).await {
            if ready.is_error() {
                return;
            }
        }
    }
    pending::<()>().await;
}

/// Members in the order of their names.
pub(super) fn json(document: &impl Serialize) -> Result<()> {
    line(&serde_json::to_string_pretty(&json!(document))?)
}

/// Standard output with room: flush it, or its end may be lost without a word.
pub(super) fn out() -> BufWriter<Stdout> {
    BufWriter::new(io::stdout())
}

/// The whole chain of causes, in one line.
pub(super) fn error(error: &anyhow::Error) {
    writeln!(io::stderr().lock(), "hindsight: {}", told(error)).ok();
}

/// A cause that the message before has told already is not told again.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.contains(&cause) {
            continue;
        }
        if !told.is_empty() {
            told.push_str(": ");
        }
        told.push_str(&cause);
    }
    told
}

/// Counts on standard error what was read so far; nothing without a terminal. There is no end to count
/// to: revisions of a log that was restored leap.
pub(super) fn counting(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {human_pos} {msg} in {elapsed}");
    let bar = ProgressBar::no_length().with_message(what);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

/// As one word of a shell: what is printed to be typed is what is meant.
pub(super) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// Those that are told, and how many more there are.
pub(super) fn texts(told: &[String], more: usize) -> String {
    let told = told.join(", ");
    if more == 0 {
        return told;
    }
    format!("{told} and {more} more")
}

/// How documents are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A line each, for people.
    Text,
    /// One JSON list with a line for each.
    List,
    /// A JSON document on each line, for what has no end.
    Lines,
}

/// Documents, printed one by one.
pub(super) struct List {
    out: BufWriter<Stdout>,
    form: Form,
    first: bool,
}

impl List {
    pub(super) fn new(form: Form) -> Self {
        Self {
            out: out(),
            form,
            first: true,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.first
    }

    pub(super) fn add<T: Serialize>(
        &mut self,
        document: &T,
        line: impl Fn(&T) -> String,
    ) -> Result<()> {
        let json = || json!(document);
        let added = match (self.form, self.first) {
            (Form::Text, _) => writeln!(self.out, "{}", line(document)),
            (Form::Lines, _) => writeln!(self.out, "{}", json()),
            (Form::List, true) => write!(self.out, "[\n{}", json()),
            (Form::List, false) => write!(self.out, ",\n{}", json()),
        };
        self.first = false;
        written(added)
    }

    /// Shows what was added so far.
    pub(super) fn flush(&mut self) -> Result<()> {
        written(self.out.flush())
    }

    pub(super) fn end(&mut self) -> Result<()> {
        let end = match (self.form, self.first) {
            (Form::Text | Form::Lines, _) => "",
            (Form::List, true) => "[]\n",
            (Form::List, false) => "\n]\n",
        };
        written(write!(self.out, "{end}"))?;
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn what_a_message_holds_already_is_not_told_twice() {
        let source = io::Error::from(ErrorKind::NotFound);
        let text = source.to_string();
        let error = Err::<(), _>(source)
            .context(format!("making /x: {text}"))
            .context("starting")
            .expect_err("failed");
        assert_eq!(told(&error), format!("starting: making /x: {text}"));
    }

    #[test]
    fn a_shell_reads_a_word_as_it_is_meant() {
        for (text, printed) in [
            ("data/admin.kubeconfig", "data/admin.kubeconfig"),
            ("my dir/x", "'my dir/x'"),
            ("~/x", "'~/x'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), printed);
        }
    }

    #[test]
    fn only_a_reader_that_is_gone_ends_the_output_without_a_failure() {
        let of = |kind: ErrorKind| written(Err(kind.into())).expect_err("refused");
        assert!(nobody_reads(&of(ErrorKind::BrokenPipe)));
        assert!(!nobody_reads(&of(ErrorKind::StorageFull)));
        // A server that hangs up is none.
        assert!(!nobody_reads(
            &io::Error::from(ErrorKind::BrokenPipe).into()
        ));
    }
}
