//! What somebody who mistyped a name may have meant.

use hindsight_core::State;
use hindsight_core::kind::Kind;
use std::iter::once;

/// The fewest letters of a name that is guessed: a shorter one is like too many others.
const LETTERS_MIN: usize = 3;
/// One more mistake is allowed for each so many letters.
const LETTERS_PER_MISTAKE: usize = 3;

/// How many mistakes a typed word has if this name was meant; `None` if it hardly was.
fn mistakes(typed: &str, name: &str) -> Option<usize> {
    let allowed = (typed.chars().count() / LETTERS_PER_MISTAKE).max(1);
    let mistakes = strsim::osa_distance(typed, name);
    (mistakes <= allowed && name.len() >= LETTERS_MIN).then_some(mistakes)
}

/// Whether this name may have been meant.
pub(crate) fn is_near(typed: &str, name: &str) -> bool {
    mistakes(typed, name).is_some()
}

/// A text that names no kind, as messages have it.
pub(super) fn quoted(state: &State, text: &str) -> String {
    let mut kinds = state.kinds.iter();
    if kinds.any(|kind| kind.categories.iter().any(|category| **category == *text)) {
        return format!(
            "{text:?} (several kinds have this category: give one at a time, such as configmaps)"
        );
    }
    kind_near(state, text).map_or_else(
        || format!("{text:?}"),
        |near| format!("{text:?} (did you mean {near}?)"),
    )
}

/// The name of a served kind that is most like this text; with its group if the text has one.
fn kind_near(state: &State, text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let with_group = text.contains('.');
    let names = state.kinds.iter().flat_map(|kind| names(kind, with_group));
    let near = names.filter_map(|name| Some((mistakes(&text, &name)?, name)));
    let (_, name) = near.min_by_key(|(mistakes, _)| *mistakes)?;
    Some(name.trim_end_matches('.').to_owned())
}

fn names(kind: &Kind, with_group: bool) -> impl Iterator<Item = String> {
    let group = Some(&*kind.resource.group).filter(|_| with_group);
    let names = once(&*kind.singular).chain(once(&*kind.resource.resource));
    names.map(move |name| match group {
        Some(group) => format!("{name}.{group}"),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::empty_state;

    #[test]
    fn a_kind_that_was_mistyped_is_guessed_and_another_is_not() {
        let state = empty_state();
        for (typed, meant) in [
            ("confgmap", Some("configmap")),
            ("Confgmaps", Some("configmaps")),
            ("confmap", Some("configmap")),
            ("pdo", Some("pod")),
            ("deploymnet", Some("deployment")),
            ("deploymnts.apps", Some("deployments.apps")),
            ("deployments.app", Some("deployments.apps")),
            ("pods.v1", Some("pods")),
            ("widgets", None),
            ("nothing", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(kind_near(&state, typed).as_deref(), meant, "{typed}");
        }
    }

    #[test]
    fn a_category_is_no_kind() {
        let told = quoted(&empty_state(), "all");
        assert!(told.contains("give one at a time"), "{told}");
        assert_eq!(quoted(&empty_state(), "widgets"), r#""widgets""#);
    }

    #[test]
    fn a_subcommand_that_is_hardly_alike_was_not_meant() {
        for (typed, name, is_meant) in [
            ("gett", "get", true),
            ("lgo", "log", true),
            ("restroe", "restore", true),
            ("apply", "replay", false),
            ("explain", "plan", false),
            ("history", "restore", false),
        ] {
            assert_eq!(is_near(typed, name), is_meant, "{typed}");
        }
    }
}
