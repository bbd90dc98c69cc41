//! `hindsight restore`: makes a log from a backup.

use super::{Directory, Output, show};
use crate::data_dir::DataDir;
use crate::hint::hint;
use crate::lock_wait::{LockWait, RETRY_PAUSE};
use crate::{RestoreError, restore, shell};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use hindsight_log::{BUMP_MAX, DEFAULT_BUMP, Error, RestoreStep, Restored};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::num::{IntErrorKind, NonZeroU64, ParseIntError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  hindsight restore monday.backup --data-dir new-data
  ssh elsewhere cat monday.backup | hindsight restore - --data-dir new-data

The directory must not contain a log. With the pki of the old one, which no
backup contains, clients' certificates remain valid. Revisions continue far
above those of the backup, and higher with each later restore, so that none
is issued twice. Clients are told that what they know has expired, and list
again on their own; none needs a restart.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Restore {
    #[command(flatten)]
    pub(super) directory: Directory,
    /// Backup to restore; - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// How far beyond the clock, in microseconds, revisions continue; if the clock was set back since an earlier
    /// restore, give more than was given then, by at least as much as it was set back
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_BUMP,
        value_parser = bump,
        allow_negative_numbers = true
    )]
    bump_revision: NonZeroU64,
    /// Output format of the summary
    #[arg(long, short, default_value = "text")]
    output: Output,
}

fn is_too_large(error: &ParseIntError) -> bool {
    *error.kind() == IntErrorKind::PosOverflow
}

fn bump(text: &str) -> Result<NonZeroU64, String> {
    let number = match text.parse::<u64>() {
        Ok(number) if number <= BUMP_MAX => number,
        Err(error) if !is_too_large(&error) => {
            return Err(format!(
                "expected a whole number above 0, such as {DEFAULT_BUMP}"
            ));
        }
        Ok(_) | Err(_) => {
            return Err(format!(
                "too few revisions would be left for what is written later; skip fewer, at most {BUMP_MAX}"
            ));
        }
    };
    NonZeroU64::new(number).ok_or_else(|| {
        "revisions issued since the backup would be issued again, for other changes, and clients would miss what \
         lies between; skip more than were written since"
            .into()
    })
}

fn open(path: &Path, name: &str) -> Result<File> {
    if path.is_dir() {
        bail!("{name} is a directory; name a file that `hindsight backup` wrote");
    }
    File::open(path).with_context(|| {
        format!(
            "{name} cannot be read; name a file that `hindsight backup` wrote, or - for standard input"
        )
    })
}

impl Restore {
    pub(super) fn run(self) -> Result<ExitCode> {
        let directory = &self.directory.data_dir;
        if directory.is_file() {
            bail!(
                "{} is a file, not a directory; name a directory that has no log, or a new one",
                directory.display()
            );
        }
        let restored = if self.file == Path::new("-") {
            self.read(std::io::stdin().lock(), "standard input")?
        } else {
            let name = self.file.display().to_string();
            self.read(open(&self.file, &name)?, &name)?
        };
        self.print_summary(&restored)?;
        Ok(ExitCode::SUCCESS)
    }

    fn read(&self, mut from: impl Read, name: &str) -> Result<Restored> {
        let bar = show::counting("frame").with_message(" written");
        let mut last = RestoreStep::Written;
        let mut progress = |step| {
            if step != last {
                last = step;
                bar.set_message(" checked");
                bar.set_position(0);
            }
            bar.inc(1);
        };
        let directory = &self.directory.data_dir;
        let mut wait = LockWait::begin(hint);
        let restored = loop {
            match restore(directory, &mut from, self.bump_revision, &mut progress) {
                Err(RestoreError::Log(error)) if wait.covers(&error) => {
                    std::thread::sleep(RETRY_PAUSE);
                }
                restored => break restored,
            }
        };
        bar.finish_and_clear();
        restored.map_err(|error| match error {
            RestoreError::Log(error @ (Error::Backup(_) | Error::NewerBackup { .. })) => {
                anyhow::Error::new(error).context(format!("{name} cannot be restored"))
            }
            RestoreError::Log(error) => error.into(),
            error @ RestoreError::InTheWay(_) => error.into(),
        })
    }

    fn print_summary(&self, restored: &Restored) -> Result<()> {
        let backup = &restored.backup;
        let (revision, chain) = (backup.tail.revision, backup.chain());
        if self.output == Output::Json {
            return show::print_json(
                &json!({"revision": restored.revision, "backup": {"revision": revision,
                "frames": backup.frames, "bytes": backup.bytes, "chain": chain,
                "content": backup.content()}}),
            );
        }
        let data = &self.directory.data_dir;
        let first = if DataDir(data).pki().exists() {
            ""
        } else {
            "copy pki/ of the old data directory there, or clients need new kubeconfigs; then "
        };
        show::print_line(&format!(
            "restored: revision {revision}, {}, chain {chain}; revisions continue after {}\n\
             next: {first}hindsight serve --data-dir {}; clients list again on their own",
            show::counted(backup.frames, "frame"),
            restored.revision,
            shell::word(&data.to_string_lossy())
        ))
    }
}
