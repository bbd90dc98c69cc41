//! Steps that open watches and check their events.

use super::Scenario;
use crate::http::Answer;

impl Scenario {
    pub(super) fn watch(&mut self, rest: &str) -> Result<(), String> {
        let (name, path) = rest.split_once(' ').ok_or("a name and a path")?;
        let (path, accept) = path
            .trim()
            .split_once(" accept=")
            .unwrap_or((path.trim(), ""));
        let path = path.replacen('~', "/api/v1/namespaces/default", 1);
        let join = if path.contains('?') { '&' } else { '?' };
        let events = self
            .stage
            .client
            .watch(&format!("{path}{join}watch=1"), accept);
        self.watches.insert(name.to_owned(), events);
        Ok(())
    }

    /// Checks that the next event of a watch is of this type, and about this object.
    pub(super) fn seen(&mut self, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [watch, kind, name @ ..] = words.as_slice() else {
            return Err("a watch and a type are expected".into());
        };
        let events = self.watches.get_mut(*watch);
        let events = events.ok_or_else(|| format!("no watch {watch}"))?;
        let Some(event) = self.stage.client.next(events) else {
            return match *kind {
                "end" => Ok(()),
                _ => Err("the watch ended".into()),
            };
        };
        let is = event["type"].as_str().unwrap_or_default();
        let about = event["object"]["metadata"]["name"].as_str();
        let object = event["object"].to_string();
        let right = is == *kind && name.first().is_none_or(|name| about == Some(name));
        self.last = Answer {
            text: object,
            ..Answer::default()
        };
        if right {
            Ok(())
        } else {
            Err(format!("it saw {event}"))
        }
    }
}
