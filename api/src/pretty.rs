//! Indents JSON for clients that a person looks at.

use crate::accept::Accept;
use crate::body::ApiBody;
use crate::params::Params;
use crate::respond;
use http::{HeaderMap, Response, Uri, header};

/// The beginnings of the user agents that show an answer as it came. Source: upstream's `isPrettyPrint`.
const SHOWN_AS_SENT: [&[u8]; 3] = [b"curl", b"Wget", b"Mozilla/5.0"];

/// Whether the answer is to be indented: `pretty` in the query decides, otherwise the media type or the user
/// agent asks for it. Source: upstream's `NegotiateOutputMediaType`.
pub(crate) fn is_wanted(uri: &Uri, headers: &HeaderMap, accept: Option<&Accept>) -> bool {
    let query = uri.query().filter(|query| query.contains("pretty"));
    let params = query.and_then(|query| Params::parse(Some(query)).ok());
    let asked = params.as_ref().map_or("", |params| params.text("pretty"));
    let by_client = if asked.is_empty() {
        let agent = headers.get(header::USER_AGENT);
        let agent = agent.map_or(&b""[..], header::HeaderValue::as_bytes);
        SHOWN_AS_SENT.iter().any(|known| agent.starts_with(known))
    } else {
        matches!(asked, "1" | "t" | "T" | "true" | "TRUE" | "True")
    };
    by_client || accept.is_some_and(|accept| accept.is_pretty)
}

/// The answer with its JSON indented. Watches stay a line for each event, as upstream's do.
pub(crate) fn indented(answer: Response<ApiBody>) -> Response<ApiBody> {
    if !respond::is_json(&answer) || respond::is_of_events(&answer) {
        return answer;
    }
    let mut indenter = Indenter::default();
    answer.map(|body| body.rewritten(move |part| indenter.indent(part)))
}

/// Indents JSON that comes in parts and has no space between its tokens.
#[derive(Debug, Default)]
struct Indenter {
    /// How many lists and objects are open.
    depth: usize,
    /// Whether the last byte opened a list or an object: an empty one stays on its line.
    has_opened: bool,
    /// Inside a text, and whether the next byte of it is escaped.
    text: Option<Escaped>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escaped {
    Yes,
    No,
}

impl Indenter {
    fn indent(&mut self, part: &[u8]) -> Vec<u8> {
        let mut indented = Vec::with_capacity(part.len() * 2);
        for byte in part {
            self.write(*byte, &mut indented);
        }
        indented
    }

    fn write(&mut self, byte: u8, to: &mut Vec<u8>) {
        if let Some(escaped) = self.text {
            self.text = match (escaped, byte) {
                (Escaped::No, b'"') => None,
                (Escaped::No, b'\\') => Some(Escaped::Yes),
                _ => Some(Escaped::No),
            };
            return to.push(byte);
        }
        let closes = matches!(byte, b'}' | b']');
        if closes {
            self.depth = self.depth.saturating_sub(1);
        }
        if std::mem::take(&mut self.has_opened) != closes {
            self.begin_line(to);
        }
        to.push(byte);
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.has_opened = true;
            }
            b'"' => self.text = Some(Escaped::No),
            b',' => self.begin_line(to),
            b':' => to.push(b' '),
            _ => {}
        }
    }

    fn begin_line(&self, to: &mut Vec<u8>) {
        to.push(b'\n');
        to.resize(to.len() + 2 * self.depth, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accept::accept;
    use crate::testing::Served;
    use bytes::Bytes;
    use http::{Method, Request};
    use http_body_util::Full;
    use serde_json::{Value, json};

    #[test]
    fn json_is_indented_as_everybody_does_in_whatever_parts_it_comes() {
        let document = json!({
            "empty": {}, "none": [], "lists": [[], [1, [2.5, null]], {"a": [{}]}],
            "text": "{\"a\": [1,\n2]}\\", "": ":,", "\"": true,
        });
        for document in [document, json!({}), json!([]), json!([1]), json!("a,b")] {
            let bytes = document.to_string().into_bytes();
            for size in [1, 2, 3, bytes.len()] {
                let mut indenter = Indenter::default();
                let parts = bytes.chunks(size).flat_map(|part| indenter.indent(part));
                let indented = String::from_utf8(parts.collect()).expect("text");
                let expected = serde_json::to_string_pretty(&document).expect("JSON");
                assert_eq!(indented, expected, "in parts of {size}");
            }
        }
    }

    #[test]
    fn people_get_it_indented_unless_they_ask_for_something_else() {
        let accepted = "application/json;pretty=1";
        for (query, agent, accepted, wanted) in [
            ("", "kubectl/v1.36", "*/*", false),
            ("?pretty=true", "kubectl/v1.36", "*/*", true),
            ("?limit=1&pretty=1", "", "*/*", true),
            ("?pretty=yes", "", "*/*", false),
            ("?pretty", "", "*/*", false),
            ("?pretty", "curl/8.0", "*/*", true),
            ("?pretty=false", "curl/8.0", "*/*", false),
            ("", "curl/8.0", "*/*", true),
            ("", "Wget/1.21", "*/*", true),
            ("", "Mozilla/5.0 (X11)", "text/html,*/*", true),
            ("", "not curl", "*/*", false),
            ("", "", accepted, true),
            ("?pretty=false", "", accepted, true),
            ("", "", "application/json;pretty=true", false),
        ] {
            let request = Request::get(format!("/api/v1/configmaps{query}"))
                .header(header::USER_AGENT, agent)
                .header(header::ACCEPT, accepted);
            let (parts, ()) = request.body(()).expect("a request").into_parts();
            let accept = accept(&parts.headers).ok();
            let found = is_wanted(&parts.uri, &parts.headers, accept.as_ref());
            assert_eq!(found, wanted, "{query} {agent} {accepted}");
        }
    }

    fn ask(served: &Served, method: Method, path: &str, body: &Value) -> Bytes {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Full::from(body.to_string()));
        served.whole(request.expect("a request")).into_body()
    }

    /// A namespace with objects that are longer than what is indented at once, and than an unstreamed list.
    fn with_objects() -> Served {
        let served = Served::new();
        let made = json!({"metadata": {"name": "n"}});
        ask(&served, Method::POST, "/api/v1/namespaces", &made);
        for (name, times) in [("a", 1), ("b", 10_000), ("c", 100_000)] {
            let data = json!({"key": "\"\\,[".repeat(times)});
            let map = json!({"metadata": {"name": name}, "data": data});
            ask(
                &served,
                Method::POST,
                "/api/v1/namespaces/n/configmaps",
                &map,
            );
        }
        served
    }

    #[test]
    fn objects_lists_and_failures_are_indented_whatever_their_length() {
        let served = with_objects();
        let all = ask(&served, Method::GET, "/api/v1/configmaps", &Value::Null);
        assert!(all.len() > 500_000, "{all:?}");
        for path in [
            "/api/v1/namespaces/n/configmaps/a",
            "/api/v1/namespaces/n/configmaps/c",
            "/api/v1/namespaces/n/configmaps",
            "/api/v1/namespaces",
            "/api/v1/namespaces/missing",
            "/api/v1",
        ] {
            let get = |path: &str| ask(&served, Method::GET, path, &Value::Null);
            let (plain, pretty) = (get(path), get(&format!("{path}?pretty=true")));
            assert!(pretty.starts_with(b"{\n  \""), "{path}");
            assert_eq!(pretty, Indenter::default().indent(&plain), "{path}");
        }
    }

    #[test]
    fn texts_yaml_and_events_stay_as_they_are() {
        let served = with_objects();
        let watch = "/api/v1/namespaces?watch=1&resourceVersion=0&timeoutSeconds=1";
        for (path, accepted) in [
            ("/livez?verbose", "*/*"),
            ("/api/v1/namespaces/n?", "application/yaml"),
            (watch, "*/*"),
        ] {
            let body = |path: &str| {
                let request = Request::get(path).header(header::ACCEPT, accepted);
                let request = request.body(Full::<Bytes>::default());
                served.whole(request.expect("a request")).into_body()
            };
            let pretty = body(&format!("{path}&pretty=true"));
            assert!(!pretty.is_empty(), "{path}");
            assert_eq!(pretty, body(path), "{path}");
        }
    }
}
