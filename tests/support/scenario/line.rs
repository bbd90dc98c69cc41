//! The words of a step: the kind and name it is about, its options and its body.

use serde_json::Value;

/// What may come after the kind of a step, and after the name if it has one.
struct Step {
    /// Its verb, or its verb and kind.
    step: &'static str,
    is_named: bool,
    options: &'static [&'static str],
}

const fn named(step: &'static str, options: &'static [&'static str]) -> Step {
    Step {
        step,
        is_named: true,
        options,
    }
}

const fn unnamed(step: &'static str, options: &'static [&'static str]) -> Step {
    Step {
        is_named: false,
        ..named(step, options)
    }
}

const OF_DELETE: &[&str] = &[
    "in=",
    "policy=",
    "orphan=",
    "grace=",
    "uid=",
    "revision=",
    "query=",
    "dry",
];

const STEPS: &[Step] = &[
    named(
        "create",
        &["in=", "owner=", "block", "finalizers=", "as=", "dry"],
    ),
    named("delete", OF_DELETE),
    unnamed("clear", OF_DELETE),
    named(
        "set",
        &["in=", "status", "finalizers=", "owner=", "block", "dry"],
    ),
    named("define", &["cluster", "status"]),
    named("send", &["as=", "accept="]),
    unnamed("gc until-idle", &["after=", "steps="]),
    unnamed("gc part", &["turns=", "steps="]),
    unnamed("gc plan", &["steps="]),
    named(
        "expect",
        &["in=", "live", "deleting", "absent", "finalizers=", "owner="],
    ),
];

/// A step without its verb.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    options: Vec<&'a str>,
    /// The text after `with`.
    pub(super) body: Option<&'a str>,
}

impl<'a> Line<'a> {
    /// Refuses what a step of this verb does not know.
    pub(super) fn parse(verb: &str, text: &'a str) -> Result<Self, String> {
        let (words, body) = match text.split_once(" with ") {
            Some((words, body)) => (words, Some(body.trim())),
            None => (text, None),
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        let [kind, options @ ..] = words.as_slice() else {
            return Err("a kind is expected".into());
        };
        check_options(verb, kind, options)?;
        Ok(Self {
            kind,
            name: options.first().copied().unwrap_or_default(),
            options: options.to_vec(),
            body,
        })
    }

    pub(super) fn option(&self, name: &str) -> Option<&'a str> {
        self.options
            .iter()
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    pub(super) fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        let text = self.option(name)?;
        Some(text.split(',').filter(|part| !part.is_empty()).collect())
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.options.contains(&word)
    }

    /// The body as JSON; in a `send` it need not be JSON.
    pub(super) fn json(&self) -> Result<Option<Value>, String> {
        let parse = |text| serde_json::from_str(text).map_err(|error| format!("{text}: {error}"));
        self.body.map(parse).transpose()
    }
}

fn check_options(verb: &str, kind: &str, options: &[&str]) -> Result<(), String> {
    let with_kind = format!("{verb} {kind}");
    let mut steps = STEPS.iter();
    let step = steps.find(|one| one.step == verb || one.step == with_kind);
    let Step {
        step,
        is_named,
        options: known,
    } = step.ok_or_else(|| format!("no such step: {with_kind}"))?;
    let name = |option: &str| match option.split_once('=') {
        Some((name, _)) => format!("{name}="),
        None => option.to_owned(),
    };
    let mut names = options
        .iter()
        .skip(usize::from(*is_named))
        .map(|one| name(one));
    match names.find(|one| !known.contains(&one.as_str())) {
        Some(unknown) => Err(format!(
            "{step} does not know {unknown}, only {}",
            known.join(", ")
        )),
        None => Ok(()),
    }
}
