//! The words of a step: the kind and name it is about, its options and its body.

use serde_json::Value;

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
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let (words, body) = match text.split_once(" with ") {
            Some((words, body)) => (words, Some(body.trim())),
            None => (text, None),
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        let [kind, options @ ..] = words.as_slice() else {
            return Err("a kind is expected".into());
        };
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
