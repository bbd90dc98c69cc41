//! What the log keeps of a request: enough to tell who sent it and what for, of a bounded length, because it is
//! kept for ever, with every commit.

use hindsight_core::Request;
use http::request::Parts;
use http::{Method, header};

/// Source: `maxUserAgentLength` in upstream's `audit/request.go`.
const AGENT_BYTES_MAX: usize = 1024;
/// More than any path takes; what may be longer is a selector.
const URI_BYTES_MAX: usize = 4096;
/// Source: `userAgentTruncateSuffix` in upstream's `audit/request.go`.
const TRUNCATED: &str = "...TRUNCATED";

/// Where a write comes from. It is copied: a part of what the connection received would keep all of that in memory.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    uri: String,
    agent: String,
}

impl Origin {
    /// That of a request that writes; nothing is recorded of one that reads.
    pub(crate) fn of_write(parts: &Parts) -> Self {
        if parts.method == Method::GET {
            return Self::default();
        }
        // Over HTTP/2 the URI names the host too.
        let asked = parts.uri.path_and_query();
        let asked = asked.map_or("", |asked| asked.as_str());
        let agent = parts.headers.get(header::USER_AGENT);
        let agent = agent.and_then(|value| value.to_str().ok());
        Self {
            uri: bounded(asked, URI_BYTES_MAX),
            agent: bounded(agent.unwrap_or_default(), AGENT_BYTES_MAX),
        }
    }

    /// What is recorded of a request with this verb.
    pub(super) fn recorded(&self, verb: &str) -> Request {
        Request {
            verb: verb.to_owned(),
            uri: self.uri.clone(),
            user_agent: self.agent.clone(),
        }
    }

    /// The `User-Agent`; empty if it is no text.
    pub(super) fn agent(&self) -> &str {
        &self.agent
    }

    pub(super) const fn held_bytes(&self) -> usize {
        self.uri.len() + self.agent.len()
    }
}

fn bounded(text: &str, most: usize) -> String {
    let kept = text.get(..text.floor_char_boundary(most));
    match kept.filter(|kept| kept.len() < text.len()) {
        Some(kept) => format!("{kept}{TRUNCATED}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        for (text, kept) in [
            ("", ""),
            ("four", "four"),
            ("fives", "five...TRUNCATED"),
            ("tw\u{20ac}", "tw...TRUNCATED"),
            ("\u{20ac}v", "\u{20ac}v"),
        ] {
            assert_eq!(bounded(text, 4), kept);
        }
    }
}
