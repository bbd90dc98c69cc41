//! What to do about arguments that the parser refuses, where its own message does not say; and about a damaged log,
//! whose message does not say which directory to name.

use super::show;
use crate::inspect::is_near;
use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The commands on the same log that errors advise.
const ADVISED: [&str; 3] = [
    "hindsight backup --intact FILE",
    "hindsight get KIND -A -o yaml",
    "hindsight verify",
];

/// How kubectl does what is not done here.
const IN_KUBECTL: &str = "also of the past: kubectl get with --server https://HOST:PORT/as-of/POINT, where POINT is a \
     revision or a time";

/// How another machine is asked.
const ELSEWHERE: &str = "a data directory on this machine is asked, and its server if one runs; to ask a server elsewhere, \
     use kubectl get --raw '/hindsight/v1/why?kind=KIND&name=NAME'";

/// The error with the option that the advised commands need to find the same log.
pub(super) fn on_damage(error: anyhow::Error, option: &str) -> anyhow::Error {
    let told = show::error_chain(&error);
    let add = |told: String, advised: &&str| {
        told.replace(&format!("`{advised}`"), &format!("`{advised}{option}`"))
    };
    let complete = ADVISED.iter().fold(told.clone(), add);
    if complete == told {
        return error;
    }
    anyhow::Error::msg(complete)
}

/// Advice on the first of these arguments that was refused, if there is any.
pub(super) fn on(error: &clap::Error, cli: &Command, typed: &[String]) -> Option<String> {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        return of_subcommand(word).map(ToOwned::to_owned);
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = argument.split([' ', '=']).next()?;
    let value = error.get(ContextKind::InvalidValue);
    match (error.kind(), value) {
        (ErrorKind::UnknownArgument, _) => of_kubectl(option, typed.first()?),
        (ErrorKind::InvalidValue, Some(ContextValue::String(value)))
            if option == "--output" && is_format_of_kubectl(value) =>
        {
            Some(format!("this format is one of kubectl, {IN_KUBECTL}"))
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::ArgumentConflict, _) => {
            variable(option.strip_prefix("--")?, cli, typed)
        }
        _ => None,
    }
}

/// Advice on what is a subcommand of other programs.
fn of_subcommand(word: &str) -> Option<&'static str> {
    Some(match word {
        "history" | "events" => "hindsight log shows what happened",
        "explain" => "hindsight why KIND/NAME explains a deletion, or why an object is still there",
        "version" => "hindsight --version prints the version",
        "describe" | "list" => "hindsight get shows objects, now or as they were",
        "delete" => {
            "nothing is deleted here: hindsight plan KIND/NAME shows what a deletion would do, and kubectl delete \
             does it"
        }
        _ => return None,
    })
}

fn is_format_of_kubectl(value: &str) -> bool {
    let name = value.split('=').next().unwrap_or_default();
    matches!(
        name,
        "wide"
            | "jsonpath"
            | "jsonpath-as-json"
            | "jsonpath-file"
            | "custom-columns"
            | "custom-columns-file"
            | "go-template"
            | "go-template-file"
            | "template"
            | "templatefile"
    )
}

/// Advice on an option that kubectl has, or another subcommand.
fn of_kubectl(option: &str, subcommand: &str) -> Option<String> {
    match (option, subcommand) {
        ("--as-of", "log") => {
            Some("log is about a period; to end it at a point, use --until POINT".into())
        }
        ("--limit", "log") => Some("to see only the newest N entries, use --tail N".into()),
        ("--as-of", "why") => Some(
            "why is about the whole log; for an object as it was at a point, use hindsight get KIND/NAME --as-of POINT"
                .into(),
        ),
        ("--dry-run", "plan") => Some("plan never writes; leave the option out".into()),
        ("-l" | "--selector" | "--field-selector", _) => {
            Some(format!("objects are not selected here, but by kubectl, {IN_KUBECTL}"))
        }
        ("-w" | "--watch", _) => Some(
            "nothing is watched here; use hindsight log --follow for what happens, or kubectl get --watch".into(),
        ),
        ("-s" | "--server" | "--kubeconfig" | "--context" | "--cluster" | "--token", "get" | "log" | "plan" | "why") => {
            Some(ELSEWHERE.into())
        }
        (_, "backup" | "replay" | "restore" | "serve" | "verify") if !option.starts_with('-') => {
            Some("a data directory is named with --data-dir DIR".into())
        }
        _ => None,
    }
}

/// Drops tips that mislead (no value here begins with a hyphen, but for those that are refused; and what is hardly
/// alike was not meant), and gives the usage of the subcommand instead of one that requires whatever the environment
/// sets.
pub(super) fn correct(error: &mut clap::Error, mut cli: Command, typed: &[String]) {
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        let misleads = |tip: &StyledStr| tip.to_string().contains("as a value");
        let tips: Vec<_> = tips.into_iter().filter(|tip| !misleads(tip)).collect();
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    drop_distant_tips(
        error,
        ContextKind::InvalidSubcommand,
        ContextKind::SuggestedSubcommand,
    );
    drop_distant_tips(error, ContextKind::InvalidArg, ContextKind::SuggestedArg);
    drop_distant_tips(
        error,
        ContextKind::InvalidValue,
        ContextKind::SuggestedValue,
    );
    cli.build();
    let subcommand = typed.first().and_then(|name| cli.find_subcommand_mut(name));
    if let Some(subcommand) = subcommand
        && error.get(ContextKind::Usage).is_some()
    {
        let usage = ContextValue::StyledStr(subcommand.render_usage());
        error.insert(ContextKind::Usage, usage);
    }
}

/// Drops the tips of this kind that are hardly alike to what is invalid.
fn drop_distant_tips(error: &mut clap::Error, invalid: ContextKind, suggested: ContextKind) {
    let Some(ContextValue::String(typed)) = error.get(invalid).cloned() else {
        return;
    };
    let tips = match error.remove(suggested) {
        Some(ContextValue::String(tip)) => vec![tip],
        Some(ContextValue::Strings(tips)) => tips,
        _ => return,
    };
    let mut tips: Vec<_> = tips
        .into_iter()
        .filter(|tip| tip.starts_with(&typed) || is_near(bare(&typed), bare(tip)))
        .collect();
    let kept = match tips.len() {
        0 => return,
        1 => ContextValue::String(tips.swap_remove(0)),
        _ => ContextValue::Strings(tips),
    };
    error.insert(suggested, kept);
}

/// An option without its hyphens, which make all of them alike.
fn bare(option: &str) -> &str {
    option.trim_start_matches('-')
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

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::Revision;
    use hindsight_log::{EngineCall, Error};

    #[test]
    fn whoever_is_told_to_save_what_is_intact_is_told_from_which_directory() {
        let [revision, acknowledged, newest, until] = [7, 7, 6, 6].map(Revision);
        let source = || "of the reason".into();
        let errors = [
            Error::Corrupt {
                revision,
                source: source(),
            },
            Error::Lost {
                acknowledged,
                newest,
            },
            Error::Missing {
                database: "db".into(),
                acknowledged,
                newest,
            },
            Error::Dangling {
                path: "db".into(),
                newest,
            },
            Error::Gap { revision, newest },
            Error::NewerFormat {
                found: 9,
                known: 4,
                revision: None,
            },
            Error::Damaged {
                path: "db".into(),
                at: 512,
            },
            Error::Unopened {
                until,
                broken: None,
                source: source(),
            },
            Error::NoState {
                damaged: newest,
                floor: acknowledged,
            },
            Error::Engine {
                what: EngineCall::Write,
                source: source(),
            },
        ];
        for error in errors {
            let plain = error.to_string();
            let error = on_damage(anyhow::Error::new(error), "");
            assert_eq!(error.to_string(), plain);
            let told = on_damage(error, " --data-dir 'my data'").to_string();
            let advised = told.matches("`hindsight ");
            let with_directory = told.matches(" --data-dir 'my data'`");
            assert_eq!(advised.count(), 1, "{told}");
            assert_eq!(with_directory.count(), 1, "{told}");
            assert_eq!(told.replace(" --data-dir 'my data'", ""), plain);
        }
        let failed = anyhow::Error::msg("it failed; `hindsight verify` tells what is damaged");
        let told = on_damage(failed, " --data-dir d").to_string();
        assert!(told.contains("`hindsight verify --data-dir d`"), "{told}");
    }
}
