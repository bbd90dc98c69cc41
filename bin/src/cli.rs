//! The command line: the subcommands, one to a file.

mod advice;
mod ask;
mod backup;
mod completions;
mod descriptors;
mod engine_threads;
mod get;
mod keep;
pub(crate) mod legible;
mod log;
mod logging;
mod long_files;
mod lost_by_restore;
mod parse;
mod plan;
mod point;
mod query;
mod replay;
mod restore;
mod serve;
mod show;
mod signal_guard;
mod subject;
mod usage;
mod verify;
mod why;

use crate::hint::hint;
use crate::shell;
use anyhow::Context as _;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;
use std::process::ExitCode;
use usage::{print_clap_error, usage_error};

/// A Kubernetes-compatible control plane whose only truth is an append-only event log.
///
/// Exit codes: 0 done; 1 failed, and the message says what to do next; 2 wrong arguments; 3 the object does
/// not exist, or never did; 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
#[derive(Debug, Parser)]
#[command(name = "hindsight", version, max_term_width = HELP_WIDTH_MAX)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The width of help texts, in columns, where the terminal is wider or there is none.
const HELP_WIDTH_MAX: usize = 100;
/// The exit code for arguments that cannot be parsed.
const WRONG_ARGUMENTS: u8 = 2;
/// The exit code if what was asked for does not exist.
const NOT_FOUND: u8 = 3;

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the Kubernetes API from a data directory
    Serve(serve::Serve),
    /// Show what happened, newest last
    Log(log::Log),
    /// Explain why an object was deleted, is being deleted, or still exists
    Why(why::Why),
    /// Show what a deletion would do, without doing it
    Plan(plan::Plan),
    /// Show objects as they were
    Get(get::Get),
    /// Check every record of a log that no server is using
    Verify(verify::Verify),
    /// Replay the log from its beginning and print the hash of the state
    Replay(replay::Replay),
    /// Back up the log to a file, with or without a running server
    Backup(backup::Backup),
    /// Restore a backup into a directory that has no log
    Restore(restore::Restore),
    /// Print a shell completion script
    #[command(after_help = completions::EXAMPLES)]
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Clone, Args)]
struct Directory {
    /// Directory of the event log
    #[arg(
        long,
        env = DATA_DIR_VARIABLE,
        default_value = DATA_DIR,
        value_hint = ValueHint::DirPath
    )]
    data_dir: PathBuf,
}

const DATA_DIR: &str = "hindsight-data";
const DATA_DIR_VARIABLE: &str = "HINDSIGHT_DATA_DIR";

impl Directory {
    /// The option that a suggested command needs to find the same log; empty where it finds it without.
    fn option(&self) -> String {
        let found = std::env::var_os(DATA_DIR_VARIABLE).unwrap_or_else(|| DATA_DIR.into());
        if self.data_dir.as_os_str() == found {
            return String::new();
        }
        let directory = self.data_dir.to_string_lossy();
        format!(" --data-dir {}", shell::word(&directory))
    }
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Runs the command line; the result is the process's exit code.
pub fn run() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => dispatch(cli),
        Err(error) => Err(error.into()),
    };
    result.unwrap_or_else(|error| match error.downcast::<clap::Error>() {
        Ok(error) => print_clap_error(error),
        Err(error) if show::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            show::print_error(&error);
            ExitCode::FAILURE
        }
    })
}

fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    // First, so that what goes wrong from here on is told in the format of the log.
    cli.command.begin_log()?;
    engine_threads::panics_end_the_process();
    hindsight_log::raise_descriptor_limit();
    descriptors::are_left().context("cannot open enough files; raise their limit (ulimit -n)")?;
    // Without the listener, a write that is too long ends the process.
    long_files::outlive().ok();
    let directory = cli.command.directory().cloned();
    let result = cli.command.run();
    match directory {
        Some(directory) => result.map_err(|error| directory.told(error)),
        None => result,
    }
}

impl Command {
    const fn directory(&self) -> Option<&Directory> {
        Some(match self {
            Self::Serve(serve) => &serve.directory,
            Self::Log(log) => &log.directory,
            Self::Why(why) => &why.directory,
            Self::Plan(plan) => &plan.directory,
            Self::Get(get) => &get.directory,
            Self::Verify(verify) => &verify.directory,
            Self::Replay(replay) => &replay.directory,
            Self::Backup(backup) => &backup.directory,
            Self::Restore(restore) => &restore.directory,
            Self::Completions { .. } => return None,
        })
    }

    /// Begins to log to standard error. Arguments that a server cannot use are refused before.
    fn begin_log(&self) -> anyhow::Result<()> {
        if let Self::Serve(serve) = self {
            return serve.begin_log();
        }
        logging::of_command();
        Ok(())
    }

    fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Serve(serve) => serve.run(),
            Self::Log(log) => log.run(),
            Self::Why(why) => why.run(),
            Self::Plan(plan) => plan.run(),
            Self::Get(get) => get.run(),
            Self::Verify(verify) => verify.run(),
            Self::Replay(replay) => replay.run(),
            Self::Backup(backup) => backup.run(),
            Self::Restore(restore) => restore.run(),
            Self::Completions { shell } => completions::print(shell, Cli::command()),
        }
    }
}
