//! A table of requests: every verb, accepted and refused, in an order in which each finds what it
//! needs.

use crate::http::{Answer, Client};
use serde_json::{Value, json};

/// Lines of `status method path media body`. `CM` stands for the path of the ConfigMaps in the
/// namespace `default`, `NS` for that of the namespace itself.
const REQUESTS: &str = include_str!("../dry_run/requests.txt");

const MEDIA: [(&str, &str); 6] = [
    ("apply", "application/apply-patch+yaml"),
    ("json", "application/json"),
    ("merge", "application/merge-patch+json"),
    ("ops", "application/json-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
    ("text", "text/plain"),
];

/// A request and the expected code of its answer.
#[derive(Debug)]
pub struct Line<'a> {
    /// The code of the answer.
    pub code: u16,
    /// The HTTP method.
    pub method: &'a str,
    /// The path with its query.
    pub path: String,
    /// The media type of the body.
    pub media: &'a str,
    /// The body as it is sent.
    pub body: &'a str,
}

/// All requests of the table, in order.
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
    /// Sends the request.
    pub fn send(&self, client: &Client) -> Answer {
        client.send(self.method, &self.path, self.media, self.body)
    }
}

/// Replaces every time by a fixed text.
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

/// The first time in a text: a refusal may show an object, and so its times.
fn time_in(text: &str) -> Option<String> {
    let is_time = |bytes: &&[u8]| {
        let marks = [
            (4, b'-'),
            (7, b'-'),
            (10, b'T'),
            (13, b':'),
            (16, b':'),
            (19, b'Z'),
        ];
        marks.iter().all(|(at, mark)| bytes[*at] == *mark)
    };
    let found = text.as_bytes().windows(20).find(is_time)?;
    Some(String::from_utf8_lossy(found).into_owned())
}

/// Replaces what differs between two equal runs: UIDs, generated names and times. Entries of
/// `managedFields` are sorted, since those of one second have no order.
pub fn neutral(document: &mut Value) {
    timeless(document);
    match document {
        Value::Array(items) => items.iter_mut().for_each(neutral),
        Value::Object(members) => {
            members.values_mut().for_each(neutral);
            if members.contains_key("generateName") && members.contains_key("name") {
                members.insert("name".into(), json!("generated"));
            }
            let accounts = members.get_mut("managedFields");
            if let Some(Value::Array(entries)) = accounts {
                entries.sort_by_key(Value::to_string);
            }
        }
        Value::String(text) => {
            let is_uid = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
            let words = text.split(|one: char| !one.is_ascii_alphanumeric() && one != '-');
            let uids: Vec<String> = words
                .filter(|word| is_uid(word))
                .map(str::to_owned)
                .collect();
            for uid in uids {
                *text = text.replace(&uid, "a uid");
            }
            while let Some(time) = time_in(text) {
                *text = text.replace(&time, "a time");
            }
        }
        _ => {}
    }
}
