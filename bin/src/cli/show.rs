//! Output: documents to standard output, errors to standard error.

use super::legible::legible;
use crate::hint;
use anyhow::Result;
use hindsight_core::Revision;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;
use serde_json::json;
use std::fmt::{self, Display};
use std::future::pending;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// Standard output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("standard output cannot be written")]
struct StdoutError(#[source] io::Error);

/// Marks an error of standard output. A command has succeeded only if all its output was written: an audit may
/// be in a file that lacks its end.
pub(super) fn mark_stdout_error(result: io::Result<()>) -> Result<()> {
    Ok(result.map_err(StdoutError)?)
}

/// Whether the error is that the reader of the output has gone, which ends the command and is not a failure.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let stdout_error = error.downcast_ref::<StdoutError>();
    stdout_error.is_some_and(|StdoutError(source)| source.kind() == ErrorKind::BrokenPipe)
}

pub(super) fn print_line(text: &str) -> Result<()> {
    let mut out = out();
    mark_stdout_error(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Waits for this long, or until the reader of standard output has gone, which is an error.
pub(super) fn pause(length: Duration) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let gone = runtime.block_on(async { timeout(length, reader_gone()).await });
    if gone.is_ok() {
        return mark_stdout_error(Err(ErrorKind::BrokenPipe.into()));
    }
    Ok(())
}

/// Completes once standard output is a pipe or a terminal that nobody reads any more.
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

/// Prints JSON with members in the order of their names.
pub(super) fn print_json(document: &impl Serialize) -> Result<()> {
    print_line(&serde_json::to_string_pretty(&json!(document))?)
}

/// Buffered standard output. Flush it, or its end may be lost without an error.
pub(super) fn out() -> BufWriter<Stdout> {
    BufWriter::new(io::stdout())
}

/// Prints the whole chain of causes in one line.
pub(super) fn print_error(error: &anyhow::Error) {
    hint::error(&error_chain(error));
}

/// The chain of causes, without those that a message before has included already.
pub(super) fn error_chain(error: &anyhow::Error) -> String {
    let mut chain = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if chain.contains(&cause) {
            continue;
        }
        if !chain.is_empty() {
            chain.push_str(": ");
        }
        chain.push_str(&cause);
    }
    chain
}

/// What is said of the end of a log, at this revision, that nothing witnesses.
pub(super) fn unconfirmed(newest: Revision) -> String {
    format!(
        "cannot be confirmed: events.tail is empty or damaged, so it is unknown whether anything after revision \
         {newest} was acknowledged"
    )
}

/// What is said of a log from which history was dropped.
pub(super) fn complete_from(floor: Revision) -> String {
    format!(
        "history is complete from revision {floor} on; before it, only deletions and what the retention policy kept \
         are left"
    )
}

/// A counter on standard error of what was read so far, with what is counted; silent without a terminal. It has no
/// total, since revisions leap in a log that was restored.
pub(super) fn counting(one: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {counted}{msg} in {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let write_counted = move |state: &ProgressState, to: &mut dyn fmt::Write| {
        // A line that cannot be made is left out, as the library does.
        to.write_str(&counted(HumanCount(state.pos()), one)).ok();
    };
    ProgressBar::no_length().with_style(style.with_key("counted", write_counted))
}

/// A count with what is counted: `1 frame`, `2 frames`.
pub(super) fn counted(count: impl Display, one: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {one}{ending}")
}

/// The texts that are shown, and how many more there are.
pub(super) fn join_bounded(shown: &[String], more: usize) -> String {
    let shown = shown.join(", ");
    if more == 0 {
        return shown;
    }
    format!("{shown} and {more} more")
}

/// The format in which documents are printed one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListFormat {
    /// Each as a line for people.
    Text,
    /// One JSON list, with a line for each document.
    List,
    /// A JSON document on each line, for output without an end.
    Lines,
}

/// Prints documents one by one.
pub(super) struct List {
    out: BufWriter<Stdout>,
    format: ListFormat,
    first: bool,
}

impl List {
    pub(super) fn new(format: ListFormat) -> Self {
        Self {
            out: out(),
            format,
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
        let added = match (self.format, self.first) {
            (ListFormat::Text, _) => writeln!(self.out, "{}", legible(&line(document))),
            (ListFormat::Lines, _) => writeln!(self.out, "{}", json()),
            (ListFormat::List, true) => write!(self.out, "[\n{}", json()),
            (ListFormat::List, false) => write!(self.out, ",\n{}", json()),
        };
        self.first = false;
        mark_stdout_error(added)
    }

    /// Flushes what was added so far.
    pub(super) fn flush(&mut self) -> Result<()> {
        mark_stdout_error(self.out.flush())
    }

    pub(super) fn end(&mut self) -> Result<()> {
        let end = match (self.format, self.first) {
            (ListFormat::Text | ListFormat::Lines, _) => "",
            (ListFormat::List, true) => "[]\n",
            (ListFormat::List, false) => "\n]\n",
        };
        mark_stdout_error(write!(self.out, "{end}"))?;
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use indicatif::{ProgressDrawTarget, TermLike};
    use std::sync::{Arc, Mutex};

    /// A terminal that keeps all that was written to it.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("not poisoned").push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_counter_tells_of_one_as_of_one() {
        for (count, done, told) in [
            (0, "", " 0 frames in "),
            (1, "", " 1 frame in "),
            (1, " checked", " 1 frame checked in "),
            (2_000, " written", " 2,000 frames written in "),
        ] {
            let screen = Screen::default();
            let bar = counting("frame").with_message(done).with_position(count);
            bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
            bar.abandon();
            let shown = screen.0.lock().expect("not poisoned").clone();
            assert!(shown.contains(told), "{shown:?}");
        }
    }

    #[test]
    fn what_a_message_holds_already_is_not_told_twice() {
        let source = io::Error::from(ErrorKind::NotFound);
        let text = source.to_string();
        let error = Err::<(), _>(source)
            .context(format!("making /x: {text}"))
            .context("starting")
            .expect_err("failed");
        assert_eq!(error_chain(&error), format!("starting: making /x: {text}"));
    }

    #[test]
    fn only_a_reader_that_is_gone_ends_the_output_without_a_failure() {
        let of = |kind: ErrorKind| mark_stdout_error(Err(kind.into())).expect_err("refused");
        assert!(is_broken_pipe(&of(ErrorKind::BrokenPipe)));
        assert!(!is_broken_pipe(&of(ErrorKind::StorageFull)));
        // A server that hangs up is not the reader of the output.
        assert!(!is_broken_pipe(
            &io::Error::from(ErrorKind::BrokenPipe).into()
        ));
    }
}
