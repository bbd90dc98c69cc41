//! A document that is being built. What is finished of it is kept as it is sent: a definition of some megabytes takes
//! fifty times as much while it is a tree, and there may be any number of them.

use super::definitions::Served;
use super::operations::{Operation, Parameter, paths};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What each document says of itself.
pub(super) const TITLE: &str = "Kubernetes";
pub(super) const VERSION: &str = "v1.36.0";

/// How a version of OpenAPI writes the parts of a document.
#[derive(Clone, Copy)]
pub(super) struct Writing {
    pub(super) definition: fn(Value) -> Vec<u8>,
    pub(super) operation: fn(&Operation) -> Value,
    pub(super) parameter: fn(Parameter) -> Value,
    pub(super) path: fn(Value) -> Vec<u8>,
}

/// The parts that are finished, by name.
pub(super) struct Parts {
    writing: Writing,
    pub(super) definitions: BTreeMap<String, Vec<u8>>,
    pub(super) paths: BTreeMap<String, Vec<u8>>,
}

impl Parts {
    pub(super) const fn new(writing: Writing) -> Self {
        Self {
            writing,
            definitions: BTreeMap::new(),
            paths: BTreeMap::new(),
        }
    }

    pub(super) fn has(&self, definition: &str) -> bool {
        self.definitions.contains_key(definition)
    }

    /// Adds a definition, in place of one that was there.
    pub(super) fn define(&mut self, name: String, definition: Value) {
        let written = (self.writing.definition)(definition);
        self.definitions.insert(name, written);
    }

    /// Adds definitions, of which those stay that are there already.
    pub(super) fn take(&mut self, definitions: Map<String, Value>) {
        for (name, definition) in definitions {
            if !self.has(&name) {
                self.define(name, definition);
            }
        }
    }

    /// Adds the paths of a kind in a version, with their operations.
    pub(super) fn add_paths(&mut self, served: &Served<'_>) {
        let writing = self.writing;
        let written = paths(served, writing).into_iter();
        self.paths
            .extend(written.map(|(name, item)| (name, (writing.path)(item))));
    }

    /// The document in JSON: the definitions and the paths between these texts. Each part is let go once it was copied.
    pub(super) fn into_json(self, [before, between, after]: [&str; 3]) -> Vec<u8> {
        let parts = [&self.definitions, &self.paths];
        let written = parts.into_iter().flatten();
        let bytes: usize = written
            .map(|(name, text)| name.len() + text.len() + 4)
            .sum();
        let mut json = Vec::with_capacity(before.len() + between.len() + after.len() + bytes + 4);
        json.extend_from_slice(before.as_bytes());
        push_members(&mut json, self.definitions);
        json.extend_from_slice(between.as_bytes());
        push_members(&mut json, self.paths);
        json.extend_from_slice(after.as_bytes());
        json
    }
}

/// The member that tells what the document says of itself.
pub(super) fn info() -> String {
    format!("\"info\":{{\"title\":\"{TITLE}\",\"version\":\"{VERSION}\"}}")
}

pub(super) fn json(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn push_members(json: &mut Vec<u8>, members: BTreeMap<String, Vec<u8>>) {
    json.push(b'{');
    for (at, (name, text)) in members.into_iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        json.extend(self::json(&Value::from(name)));
        json.push(b':');
        json.extend(text);
    }
    json.push(b'}');
}
