//! What to do about arguments that the parser refuses, where its own message does not say.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Advice on the first of these arguments that was refused, if there is any.
pub(super) fn on(error: &clap::Error, cli: &Command, typed: &[String]) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let long = argument.strip_prefix("--")?.split([' ', '=']).next()?;
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let is_log = typed.first().is_some_and(|first| first == "log");
            let advice = "log is about a period; to end it at a point, use --until POINT";
            (is_log && long == "as-of").then(|| advice.to_owned())
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => variable(long, cli, typed),
        _ => None,
    }
}

/// Names the environment variable that the value is from. The message names only the option, which nobody
/// typed.
fn variable(long: &str, cli: &Command, typed: &[String]) -> Option<String> {
    let is_it = |word: &String| {
        let option = word
            .strip_prefix("--")
            .and_then(|word| word.split('=').next());
        option == Some(long)
    };
    if typed.iter().any(is_it) {
        return None;
    }
    let mut arguments = cli.get_subcommands().flat_map(Command::get_arguments);
    let argument = arguments.find(|argument| argument.get_long() == Some(long))?;
    let variable = argument.get_env()?.to_string_lossy();
    Some(format!(
        "the value is that of the environment variable {variable}; set it to another, or unset it"
    ))
}
