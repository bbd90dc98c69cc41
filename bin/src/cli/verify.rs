//! `hindsight verify`: whether the log is intact, determined on a copy of it.

mod copy;

use super::ask::{Source, Taken, is_read_only};
use super::{Directory, Output, show};
use crate::disk::is_full;
use crate::opening::empty_state;
use crate::opening::has_log;
use crate::restoring;
use anyhow::{Result, bail};
use clap::Args;
use copy::LogCopy;
use hindsight_core::{Revision, Time};
use hindsight_gc::{Orders, steps_left};
use hindsight_log::{Error, Reader, Report, regular, state_at_floor, verify};
use hindsight_projector::audit;
use indicatif::HumanBytes;
use serde_json::json;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight verify                          is every record as it was written?
  hindsight verify --deep -o json           and as the rules allow it?

Stop the server first. The log is copied inside its data directory and the copy
is read, so as much free space again is needed; --in-place makes no copy.
Exit code 1 also if the log is damaged; the message then names the first bad
record.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    #[command(flatten)]
    pub(super) directory: Directory,
    /// Also replay the log and check every commit against the rules
    #[arg(long)]
    deep: bool,
    /// Check without a copy: where there is no room for one, and no damage is suspected
    #[arg(long)]
    in_place: bool,
    /// Output format
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Verify {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (copy, source) = self.source()?;
        let Source::Directory { reader, .. } = source else {
            let directory = self.directory.data_dir.display();
            bail!("a server is using {directory}; stop it first, then verify");
        };
        let bar = show::counting("frame");
        let report = verify(&reader, |_| bar.inc(1));
        bar.finish_and_clear();
        let report = report?;
        reader.check_end()?;
        if let Some(copy) = &copy {
            copy.accept();
        }
        let audited = self.deep.then(|| deep(&reader, &report)).transpose()?;
        let time = |time: Option<Time>| time.map(Time::to_rfc3339_micros);
        let document = json!({
            "revision": report.newest, "witnessed": report.witnessed, "floor": report.floor, "commits": report.commits, "frames": report.frames,
            "bytes": {"commits": report.commit_bytes, "frames": report.frame_bytes},
            "events": report.events, "restores": report.restores, "first": time(report.first_time),
            "last": time(report.last_time), "chain": report.chain,
            "content": report.content, "state": audited.as_ref().map(|audited| &audited.state),
            "due": audited.as_ref().map(|audited| audited.due),
            "reordered": audited.as_ref().map(|audited| audited.reordered),
        });
        if self.output == Output::Json {
            show::print_json(&document)?;
        } else {
            show::print_line(&summary(&report, audited.as_ref()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The storage engine writes when it opens, over what it treats as torn, so a copy is opened. On a medium
    /// that cannot be written the log is read without the engine.
    fn source(&self) -> Result<(Option<LogCopy>, Source)> {
        let data = &self.directory.data_dir;
        let found = regular::found(data).map_err(|error| error.in_data_directory(data))?;
        // What is no directory is refused there.
        let is_elsewhere = self.in_place || !found.is_some_and(|found| found.is_dir());
        if is_elsewhere || restoring::is_unfinished(data)? || !has_log(data)? {
            return Ok((None, self.directory.source_without_end_check()?));
        }
        Ok(match self.directory.take(LogCopy::of) {
            Ok(Taken::Ours(copy)) => {
                let reader = copy.reader()?;
                (Some(copy), reader)
            }
            Ok(Taken::Served(client)) => (None, Source::Server(client)),
            Err(error) if is_read_only(&error) => {
                (None, self.directory.source_without_end_check()?)
            }
            Err(error)
                if matches!(
                    error.downcast_ref(),
                    Some(Error::Locked { .. } | Error::Clock | Error::Foreign(_))
                ) =>
            {
                return Err(error);
            }
            Err(error) => return Err(not_copied(error)),
        })
    }
}

/// The result of auditing a log without a fault.
struct Audited {
    /// The hash of the state.
    state: String,
    /// How many steps the collectors had left to do when the last commit was made.
    due: usize,
    /// How many runs of the collectors were repeated in other orders.
    reordered: u64,
}

fn summary(report: &Report, audited: Option<&Audited>) -> String {
    let mut lines = vec![format!(
        "intact: revision {}, {} in {}, chain {}",
        report.newest,
        show::counted(report.commits, "commit"),
        show::counted(report.frames, "frame"),
        report.chain
    )];
    lines.push(format!(
        "its commits take {}, or {} as stored",
        HumanBytes(report.commit_bytes),
        HumanBytes(report.frame_bytes)
    ));
    if report.witnessed.is_none() && report.newest > Revision::ZERO {
        lines.push(format!("its end {}", show::unconfirmed(report.newest)));
    }
    if report.floor > Revision::ZERO {
        lines.push(show::complete_from(report.floor));
    }
    let events = report.events.iter();
    lines.extend(events.map(|(event, count)| format!("  {count:>8}  {event}")));
    let restores = report.restores.iter();
    lines
        .extend(restores.map(|revision| format!("  a backup was restored at revision {revision}")));
    if let Some(audited) = audited {
        lines.extend(audited.lines(report.floor));
    }
    lines.join("\n")
}

impl Audited {
    /// What is said of it. Of commits up to the floor, some may be gone: they were not audited.
    fn lines(&self, floor: Revision) -> Vec<String> {
        let state = &self.state;
        let commits = if floor > Revision::ZERO {
            format!("every commit from revision {} on", floor.next())
        } else {
            "every commit".into()
        };
        let mut lines = vec![format!("{commits} is allowed by the rules; state {state}")];
        if self.reordered > 0 {
            lines.push(format!(
                "collector runs repeated in other orders with the same result: {}",
                self.reordered
            ));
        }
        let steps = match self.due {
            0 => return lines,
            1 => "1 step of the collectors is".into(),
            due => format!("{due} steps of the collectors are"),
        };
        lines.push(format!(
            "at its end {steps} due, as when a server is stopped in the middle: the next one takes over"
        ));
        lines
    }
}

/// The error of a copy that could not be made.
fn not_copied(error: anyhow::Error) -> anyhow::Error {
    if !is_full(&error) {
        return error.context("the log could not be copied for verification");
    }
    let what = "the log could not be copied; free as much space as it takes, or use --in-place";
    match error.downcast() {
        // Its advice is for a new log, which needs less.
        Ok(Error::Io { source, .. }) => anyhow::Error::new(source).context(what),
        Ok(error) => anyhow::Error::new(error).context(what),
        Err(error) => error.context(what),
    }
}

/// Audits the commits above the floor. The rules are not asked about history that was thinned.
fn deep(reader: &Reader, report: &Report) -> Result<Audited> {
    let bar = show::counting("commit");
    let base = state_at_floor(reader, &empty_state(), report.floor)?;
    let log = reader.scan_all(report.floor.next());
    let (mut orders, mut parted) = (Orders::default(), Ok(()));
    let audited = audit(base, &report.restores, log, |state, commit| {
        bar.inc(1);
        if parted.is_ok() {
            parted = orders.observe(state, commit);
        }
    });
    bar.finish_and_clear();
    let audited = audited?;
    let state = audited.state();
    parted.and_then(|()| orders.end(state))?;
    let last = report.last_time.unwrap_or(Time(0));
    Ok(Audited {
        state: state.hash(),
        due: steps_left(state, last),
        reordered: orders.repeated(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn of_a_log_without_its_beginning_only_the_commits_that_were_audited_are_said_to_be_allowed() {
        for (floor, commits) in [
            (0, "every commit is"),
            (40, "every commit from revision 41 on is"),
        ] {
            let audited = Audited {
                state: "5f".into(),
                due: 0,
                reordered: 0,
            };
            let told = audited.lines(Revision(floor));
            assert_eq!(told, [format!("{commits} allowed by the rules; state 5f")]);
        }
    }

    #[test]
    fn of_a_copy_for_which_there_is_no_room_only_one_advice_is_given() {
        for (kind, advice) in [
            (ErrorKind::StorageFull, "use --in-place"),
            (ErrorKind::QuotaExceeded, "use --in-place"),
            (ErrorKind::PermissionDenied, "run as a user that has it"),
        ] {
            let (what, source) = ("copying the log".to_owned(), kind.into());
            let told = format!("{:#}", not_copied(Error::Io { what, source }.into()));
            assert!(told.contains(advice), "{told}");
            assert!(!told.contains("another data directory"), "{told}");
        }
    }
}
