//! The command line: one subcommand, one file.

mod ask;
mod backup;
mod get;
mod keep;
mod log;
mod plan;
mod replay;
mod restore;
mod serve;
mod show;
mod verify;
mod why;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// A Kubernetes-compatible control plane whose only truth is an append-only event log.
///
/// Exit codes: 0 done; 1 failed, and the message says what to do next; 2 wrong arguments; 3 what was
/// asked for is not, or never was, there.
#[derive(Debug, Parser)]
#[command(name = "hindsight", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The exit code where nothing is there.
const NOT_FOUND: u8 = 3;

const COMPLETIONS: &str = "\
Examples:
  source <(hindsight completions bash)
  hindsight completions zsh > \"${fpath[1]}/_hindsight\"
  hindsight completions fish > ~/.config/fish/completions/hindsight.fish";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the Kubernetes API from a data directory
    Serve(serve::Serve),
    /// Show what happened, newest last
    Log(log::Log),
    /// Explain why an object is gone, going or there
    Why(why::Why),
    /// Show what a deletion would do, and do nothing
    Plan(plan::Plan),
    /// Show objects as they were
    Get(get::Get),
    /// Check every record of a log that no server holds
    Verify(verify::Verify),
    /// Fold the log from its beginning and print the hash of the state
    Replay(replay::Replay),
    /// Write the log to a file, while it is served or not
    Backup(backup::Backup),
    /// Make a log from a backup, in a directory that has none
    Restore(restore::Restore),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Clone, Args)]
struct Directory {
    /// Where the event log lives
    #[arg(long, env = "HINDSIGHT_DATA_DIR", default_value = "hindsight-data")]
    data_dir: PathBuf,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Runs the command line; the result is the process's exit code.
pub fn run() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            show::error(&error);
            ExitCode::from(1)
        }
    }
}

fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Serve(serve) => serve.run(),
        Command::Log(log) => log.run(),
        Command::Why(why) => why.run(),
        Command::Plan(plan) => plan.run(),
        Command::Get(get) => get.run(),
        Command::Verify(verify) => verify.run(),
        Command::Replay(replay) => replay.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::Completions { shell } => {
            let name = "hindsight";
            clap_complete::generate(shell, &mut Cli::command(), name, &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    }
}
