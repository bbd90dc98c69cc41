//! Steps that check something and change nothing.

use super::{Line, Scenario};
use hindsight_core::ObjectKey;
use serde_json::Value;

impl Scenario {
    pub(super) fn check(&mut self, verb: &str, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (verb, words.as_slice()) {
            ("expect", _) => self.expect(&Line::parse(verb, rest)?),
            ("rule", [kind, name, rule]) => self.rule(kind, name, rule),
            ("some", [kind, namespace, ..]) => self.says(kind, namespace, quoted(rest)?, true),
            ("none", [kind, namespace, ..]) => self.says(kind, namespace, quoted(rest)?, false),
            ("code", [code]) => self.code(code),
            ("reads", [pointer, ..]) => self.reads(pointer, rest[pointer.len()..].trim()),
            ("keep", [name, pointer]) => self.keep(name, pointer),
            ("warns", _) => self.warns(quoted(rest)?),
            _ => Err("no such step".into()),
        }
    }

    fn expect(&self, line: &Line<'_>) -> Result<(), String> {
        let state = self.stage.state();
        let found = state.get(&self.key(line)?);
        let is = match found {
            None => "absent",
            Some(object) if object.is_deleting() => "deleting",
            Some(_) => "live",
        };
        if !line.has(is) {
            return Err(format!("it is {is}"));
        }
        let Some(object) = found else { return Ok(()) };
        let finalizers: Vec<&str> = object.meta.finalizers.iter().map(|one| &**one).collect();
        let owners = object.meta.owner_references.iter();
        let owners: Vec<&str> = owners.map(|one| &*one.name).collect();
        for (name, is) in [("finalizers", finalizers), ("owner", owners)] {
            if line.list(name).is_some_and(|wanted| wanted != is) {
                return Err(format!("its {name} are {is:?}"));
            }
        }
        Ok(())
    }

    fn says(&self, kind: &str, namespace: &str, text: &str, wanted: bool) -> Result<(), String> {
        let kind = self.kind(kind)?;
        let namespace = Some(namespace).filter(|name| *name != "-");
        let texts = |value: &Value| value.to_string().replace("\\\"", "'").contains(text);
        let state = self.stage.state();
        let found = state
            .list(&kind.resource, namespace)
            .any(|object| texts(&object.document()));
        if found == wanted {
            Ok(())
        } else {
            Err(format!("it is {found} that one says so"))
        }
    }

    /// Checks the rule that the newest removal or deletion mark of this object gives.
    fn rule(&mut self, kind: &str, name: &str, wanted: &str) -> Result<(), String> {
        self.stage.observe();
        let named = |key: &ObjectKey| &*key.name == name;
        let resource = self.kind(kind)?.resource.clone();
        let changes = self.stage.changes.iter().rev();
        let commits = changes
            .map(|change| &change.commit)
            .filter(|commit| commit.key.resource == resource && named(&commit.key));
        let rule = commits
            .flat_map(|commit| commit.events.iter())
            .find_map(|event| event.deletion().map(|(rule, _)| rule.name()));
        if rule == Some(wanted) {
            Ok(())
        } else {
            Err(format!("the rule is {rule:?}"))
        }
    }

    fn code(&self, code: &str) -> Result<(), String> {
        if self.last.code.to_string() == code {
            return Ok(());
        }
        Err(format!("{}: {}", self.last.code, self.last.text))
    }

    fn reads(&self, pointer: &str, wanted: &str) -> Result<(), String> {
        let document = self.last.json();
        let found = document.pointer(if pointer == "/" { "" } else { pointer });
        let right = if wanted == "absent" {
            found.is_none()
        } else if let Some(part) = wanted.strip_prefix('~') {
            let part = quoted(part)?;
            found.is_some_and(|value| value.to_string().replace("\\\"", "'").contains(part))
        } else {
            let wanted: Value = serde_json::from_str(wanted).map_err(|error| error.to_string())?;
            found == Some(&wanted)
        };
        if right {
            return Ok(());
        }
        Err(format!("there is {found:?} in {}", self.last.text))
    }

    fn keep(&mut self, name: &str, pointer: &str) -> Result<(), String> {
        let document = self.last.json();
        let value = document.pointer(pointer).ok_or("there is nothing")?;
        let text = value.as_str().map_or(value.to_string(), str::to_owned);
        self.known.insert(name.to_owned(), text);
        Ok(())
    }

    fn warns(&self, text: &str) -> Result<(), String> {
        let warnings = &self.last.warnings;
        let right = if text.is_empty() {
            warnings.is_empty()
        } else {
            let quotes = |one: &String| one.replace("\\\"", "'");
            warnings.iter().any(|one| quotes(one).contains(text))
        };
        if right {
            return Ok(());
        }
        Err(format!("the warnings are {warnings:?}"))
    }
}

/// The text between the first quote and the last.
fn quoted(text: &str) -> Result<&str, String> {
    let (first, last) = (text.find('"'), text.rfind('"'));
    let found = first.zip(last).filter(|(first, last)| first < last);
    let (first, last) = found.ok_or("a text in quotes is expected")?;
    Ok(&text[first + 1..last])
}
