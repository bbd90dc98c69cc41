//! What is logged to standard error.

use crate::hint::{LOGGED, hint, log_hints};
use clap::ValueEnum;
use std::ffi::OsString;
use std::io::{IsTerminal, Stderr};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::{DefaultFields, Format};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// What commands other than the server report of their own: files that they set aside or leave behind, snapshots
/// that they cannot use, and a log that they cannot close. All else the hints say, or only a server that starts needs
/// to know.
const OF_COMMANDS: &str = "hindsight_log::snapshot=warn,hindsight_log::storage::sled::side=warn,\
                           hindsight_log::storage::closing=warn,hindsight::cli=warn,hindsight::restoring=warn";

/// Logs to standard error; `RUST_LOG` selects what, warnings by default.
pub(super) fn of_server(format: LogFormat) {
    let (filter, complaint) = filter(std::env::var_os("RUST_LOG"));
    let builder = to_stderr().with_env_filter(and_hints(filter));
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => {
            builder.json().init();
            log_hints();
        }
    }
    if let Some(complaint) = complaint {
        hint(&complaint);
    }
}

/// The filter without which no hint and no error is lost.
fn and_hints(filter: EnvFilter) -> EnvFilter {
    match LOGGED.parse() {
        Ok(hints) => filter.add_directive(hints),
        Err(_) => filter,
    }
}

/// The filter for the log, and what is wrong with the text that sets it: other programs read it too, so a
/// mistake in it does not keep the server from starting. Warnings are logged unless it sets a level for all modules.
fn filter(text: Option<OsString>) -> (EnvFilter, Option<String>) {
    let warnings = || EnvFilter::new("warn");
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return (warnings(), None);
    };
    let readable = text.to_str().filter(|text| !is_unknown_word(text));
    // What comes later replaces the level for all modules, but not with one for some.
    let parsed = readable.map(|text| EnvFilter::try_new(format!("warn,{text}")));
    if let Some(Ok(filter)) = parsed {
        return (filter, None);
    }
    let text = text.to_string_lossy();
    let why = format!(
        "RUST_LOG={text} is invalid, so warnings are logged; set a level, such as info, or levels of modules, such \
         as warn,hindsight_log=debug"
    );
    (warnings(), Some(why))
}

/// Whether the text is a single word that would be taken for the name of a module, and is the name of none here.
fn is_unknown_word(text: &str) -> bool {
    let is_word = text
        .chars()
        .all(|one| one.is_alphanumeric() || "_-:".contains(one));
    is_word && !text.starts_with("hindsight") && text.parse::<LevelFilter>().is_err()
}

/// Logs what a command does to the directory without having been asked.
pub(super) fn of_command() {
    let builder = to_stderr()
        .with_env_filter(EnvFilter::new(OF_COMMANDS))
        .without_time();
    // Nobody has started another one.
    builder.try_init().ok();
}

/// What cannot be written, because the disk is full or whoever read it is gone, is lost: to tell that where it failed is
/// a panic of whoever logs, such as the writer.
fn to_stderr() -> SubscriberBuilder<DefaultFields, Format, LevelFilter, fn() -> Stderr> {
    tracing_subscriber::fmt()
        .with_ansi(is_coloured())
        .log_internal_errors(false)
        .with_writer(std::io::stderr)
}

/// Whether standard error shows colours, and the user has not declined them.
fn is_coloured() -> bool {
    let is_colourless = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    std::io::stderr().is_terminal() && !is_colourless && !is_dumb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_cannot_be_read_is_told_and_warnings_are_logged() {
        for (text, logged, is_told) in [
            (None, "warn", false),
            (Some(""), "warn", false),
            (Some("info"), "info", false),
            (
                Some("warn,hindsight_log=debug"),
                "hindsight_log=debug,warn",
                false,
            ),
            (Some("off"), "off", false),
            (Some("ERROR"), "error", false),
            (
                Some("hindsight_log=debug"),
                "hindsight_log=debug,warn",
                false,
            ),
            (Some("hindsight_log"), "hindsight_log=trace,warn", false),
            (Some("hyper=info,error"), "hyper=info,error", false),
            (Some("verbose"), "warn", true),
            (Some("warning"), "warn", true),
            (Some("hindsight=loud"), "warn", true),
        ] {
            let (filter, complaint) = filter(text.map(OsString::from));
            assert_eq!(filter.to_string(), logged);
            assert_eq!(complaint.is_some(), is_told, "{complaint:?}");
        }
    }
}
