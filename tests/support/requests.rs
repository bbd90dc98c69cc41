//! A table of requests: every verb, what is done and what is refused, in an order in which each finds
//! what it needs.

use crate::http::{Answer, Client};
use serde_json::{Value, json};

/// `status method path media body`. `CM` stands for the ConfigMaps of the namespace `default`, `NS` for
/// that namespace.
const REQUESTS: &str = include_str!("../dry_run/requests.txt");

const MEDIA: [(&str, &str); 6] = [
    ("apply", "application/apply-patch+yaml"),
    ("json", "application/json"),
    ("merge", "application/merge-patch+json"),
    ("ops", "application/json-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
    ("text", "text/plain"),
];

/// A request and the code of its answer.
#[derive(Debug)]
pub struct Line<'a> {
    /// Of the answer.
    pub code: u16,
    /// `GET` and its like.
    pub method: &'a str,
    /// With its query.
    pub path: String,
    /// The media type of the body.
    pub media: &'a str,
    /// As it is sent.
    pub body: &'a str,
}

/// All of them, in their order.
pub fn requests() -> impl Iterator<Item = Line<'static>> {
    let lines = REQUESTS.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let media = MEDIA.iter().find(|(name, _)| *name == word(3));
        let namespace = "/api/v1/namespaces/default";
        Line {
            code: word(0).parse().expect(line),
            method: word(1),
            path: word(2)
                .replacen("CM", &format!("{namespace}/configmaps"), 1)
                .replacen("NS", namespace, 1),
            media: media.map_or("", |(_, media)| media),
            body: word(4),
        }
    })
}

impl Line<'_> {
    /// Sends it.
    pub fn send(&self, client: &Client) -> Answer {
        client.send(self.method, &self.path, self.media, self.body)
    }
}

/// Puts a word in the place of every time.
pub fn timeless(document: &mut Value) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(timeless),
        Value::Object(members) => {
            for (name, value) in members {
                let is_time = ["Timestamp", "Time", "time"]
                    .iter()
                    .any(|end| name.ends_with(end));
                if is_time && value.is_string() {
                    *value = json!("a time");
                } else {
                    timeless(value);
                }
            }
        }
        _ => {}
    }
}
