//! How a server is asked: the path and the query of each question.

use crate::answer::PATHS;
use crate::inspect::{Filter, ObjectQuery};
use std::fmt::Write;

/// A path with its query.
#[derive(Debug, Clone)]
pub(super) struct Query {
    path: String,
    is_narrowed: bool,
}

impl Query {
    /// One of the questions that only this server answers.
    pub(super) fn named(name: &str) -> Self {
        Self::at(format!("{PATHS}{name}"))
    }

    /// What is at a path, which has no query yet.
    pub(super) const fn at(path: String) -> Self {
        Self {
            path,
            is_narrowed: false,
        }
    }

    /// A question about one object.
    pub(super) fn about(name: &str, object: &ObjectQuery) -> Self {
        Self::named(name)
            .with("kind", &object.kind)
            .with_any("namespace", object.namespace.as_deref())
            .with("name", &object.name)
            .with_any("uid", object.uid.as_deref())
    }

    /// The question which commits a filter selects, in whichever period.
    pub(super) fn log(filter: &Filter) -> Self {
        [
            ("kind", &filter.kind),
            ("namespace", &filter.namespace),
            ("name", &filter.name),
            ("uid", &filter.uid),
            ("user", &filter.user),
            ("verb", &filter.verb),
        ]
        .into_iter()
        .fold(Self::named("log"), |question, (name, value)| {
            question.with_any(name, value.as_deref())
        })
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        let separator = if self.is_narrowed { '&' } else { '?' };
        write!(self.path, "{separator}{name}={}", encode(value)).ok();
        self.is_narrowed = true;
        self
    }

    /// With the parameter only if there is a value.
    pub(super) fn with_any(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// At a point of the past, if there is one.
    pub(super) fn with_point(self, point: Option<&str>) -> Self {
        self.with_any("asOf", point)
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// A text as it is written in a path or a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").ok();
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_escaped_and_what_is_not_asked_is_left_out() {
        let kind = Some("configmaps".to_owned());
        let name = Some("a&b=c d".to_owned());
        let filter = Filter {
            kind,
            name,
            ..Filter::default()
        };
        let question = Query::log(&filter).with_point(None);
        let point = "2026-01-31T12:00:00+01:00";
        assert_eq!(
            question.with_point(Some(point)).path(),
            "/hindsight/v1/log?kind=configmaps&name=a%26b%3Dc%20d&asOf=2026-01-31T12%3A00%3A00%2B01%3A00"
        );
        assert_eq!(Query::named("state").path(), "/hindsight/v1/state");
    }
}
