//! `hindsight completions`: completes the command line in a shell.

use super::show;
use anyhow::Result;
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  source <(hindsight completions bash)
  hindsight completions zsh > \"${fpath[1]}/_hindsight\"
  hindsight completions fish > ~/.config/fish/completions/hindsight.fish";

/// Prints the script that completes `cli` in this shell.
pub(super) fn print(shell: Shell, cli: Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut completed(cli), "hindsight", &mut script);
    show::print_line(String::from_utf8(script)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// The command line as shells complete it: they offer files only for what is a file.
fn completed(cli: Command) -> Command {
    let hinted = |argument: Arg| match argument.get_value_hint() {
        ValueHint::Unknown if argument.get_action().takes_values() => {
            argument.value_hint(ValueHint::Other)
        }
        _ => argument,
    };
    cli.mut_subcommands(|subcommand| subcommand.mut_args(hinted))
}
