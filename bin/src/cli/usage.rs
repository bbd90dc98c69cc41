//! Arguments that cannot be used: what clap says of them, and what else helps.

use super::{Cli, WRONG_ARGUMENTS, advice, hint, show};
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;

/// Prints what clap returns as an error. Help and the version are among it; they succeed if they can be
/// written.
pub(super) fn print_clap_error(mut error: clap::Error) -> ExitCode {
    let typed = std::env::args_os().skip(1);
    let typed: Vec<String> = typed.map(|word| word.to_string_lossy().into()).collect();
    advice::correct(&mut error, Cli::command(), &typed);
    let written = show::mark_stdout_error(error.print());
    if error.use_stderr() {
        if let Some(advice) = advice::on(&error, &Cli::command(), &typed) {
            hint(&advice);
        }
        return ExitCode::from(WRONG_ARGUMENTS);
    }
    match written {
        Err(error) if !show::is_broken_pipe(&error) => {
            show::print_error(&error);
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// An error about arguments that a subcommand cannot use, with the usage of that subcommand.
pub(super) fn usage_error(
    subcommand: &str,
    kind: ErrorKind,
    why: impl std::fmt::Display,
) -> anyhow::Error {
    refusal(subcommand, kind, why).into()
}

/// The same about an option that others contradict. Its value may be that of an environment variable.
pub(super) fn usage_error_about(
    subcommand: &str,
    option: &str,
    why: impl std::fmt::Display,
) -> anyhow::Error {
    let mut error = refusal(subcommand, ErrorKind::ArgumentConflict, why);
    let option = ContextValue::String(option.to_owned());
    error.insert(ContextKind::InvalidArg, option);
    error.into()
}

fn refusal(subcommand: &str, kind: ErrorKind, why: impl std::fmt::Display) -> clap::Error {
    let mut cli = Cli::command();
    cli.build();
    match cli.find_subcommand_mut(subcommand) {
        Some(command) => command.error(kind, why),
        None => cli.error(kind, why),
    }
}
