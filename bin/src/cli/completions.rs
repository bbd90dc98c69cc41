//! `hindsight completions`: completes the command line in a shell.

use super::show;
use anyhow::Result;
use clap::{Arg, Command, ValueEnum, ValueHint};
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
    let mut script = String::from_utf8(script)?;
    if shell == Shell::Fish {
        script.push_str(&shells_in_fish());
        script.push_str(&no_files_in_fish());
    }
    show::print_line(script.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Completes the name of a shell, which the generator for fish leaves out, as all arguments that are no options.
fn shells_in_fish() -> String {
    let shells = Shell::value_variants().iter();
    let shells: Vec<String> = shells.map(ToString::to_string).collect();
    let seen = "__fish_hindsight_using_subcommand completions";
    let shells = shells.join(" ");
    format!("complete -c hindsight -n \"{seen}\" -f -a \"{shells}\" -d 'Shell'\n")
}

/// Has fish offer no files for what is no file: its generator leaves that out, too.
fn no_files_in_fish() -> String {
    let seen = "__fish_hindsight_using_subcommand";
    let line = |name| format!("complete -c hindsight -n \"{seen} {name}\" -f\n");
    ["get", "help", "log", "plan", "why"].map(line).concat()
}

/// The command line as shells complete it: it says what is no file. Bash offers files wherever nothing else is known.
fn completed(cli: Command) -> Command {
    let hinted = |argument: Arg| match argument.get_value_hint() {
        ValueHint::Unknown if argument.get_action().takes_values() => {
            argument.value_hint(ValueHint::Other)
        }
        _ => argument,
    };
    cli.mut_subcommands(|subcommand| subcommand.mut_args(hinted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fish_is_told_which_shells_there_are() {
        let line = shells_in_fish();
        assert!(
            line.contains("-a \"bash elvish fish powershell zsh\""),
            "{line}"
        );
    }
}
