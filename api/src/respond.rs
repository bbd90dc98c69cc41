//! Builds answers in JSON or YAML, with their warnings.

use crate::body::{ApiBody, Syntax};
use crate::status::Failure;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::{Response, StatusCode, header};
use http_body::Body;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

const JSON: &str = "application/json";

/// A document in a syntax; as JSON if it cannot be written so.
pub(crate) fn bytes(document: &Value, syntax: Syntax) -> Result<Vec<u8>, Failure> {
    if syntax == Syntax::Yaml
        && let Some(text) = yaml(document)?
    {
        return Ok(text.into_bytes());
    }
    Ok(serde_json::to_vec(document).unwrap_or_default())
}

pub(crate) fn json_bytes(code: u16, bytes: Bytes, syntax: Syntax) -> Response<ApiBody> {
    if syntax == Syntax::Yaml {
        let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match yaml(&document) {
            Ok(Some(text)) => return build(code, "application/yaml", ApiBody::full(text)),
            Ok(None) => {}
            Err(too_long) => return failure(&too_long, Syntax::Json),
        }
    }
    build(code, JSON, ApiBody::full(bytes))
}

/// The most bytes that an object may have as YAML. It is written as a whole, and a deep one has many times as much
/// indentation as content.
const YAML_BYTES_MAX: usize = 16 << 20;

/// A text of YAML that is not too long.
#[derive(Default)]
struct Bounded {
    text: String,
    is_full: bool,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.is_full |= self.text.len().saturating_add(more.len()) > YAML_BYTES_MAX;
        if self.is_full {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

/// The document as YAML, if it is not too long; `None` if it cannot be written so.
pub(crate) fn yaml(document: &impl Serialize) -> Result<Option<String>, Failure> {
    let mut yaml = Bounded::default();
    if serde_saphyr::to_fmt_writer(&mut yaml, document).is_ok() {
        return Ok(Some(yaml.text));
    }
    if yaml.is_full {
        return Err(too_long_as_yaml());
    }
    Ok(None)
}

fn too_long_as_yaml() -> Failure {
    let message = format!(
        "the object has more than {YAML_BYTES_MAX} bytes as YAML: ask for it as application/json"
    );
    Failure::new(406, "NotAcceptable", message)
}

pub(crate) fn json(code: u16, document: &Value, syntax: Syntax) -> Response<ApiBody> {
    json_bytes(
        code,
        serde_json::to_vec(document).unwrap_or_default().into(),
        syntax,
    )
}

pub(crate) fn text(code: u16, text: &str) -> Response<ApiBody> {
    build(
        code,
        "text/plain; charset=utf-8",
        ApiBody::full(text.to_owned()),
    )
}

/// The answer with its headers, including the length where it is known, but without its body.
pub(crate) fn without_body(answer: Response<ApiBody>) -> Response<ApiBody> {
    let (mut head, body) = answer.into_parts();
    let Some(length) = body.size_hint().exact() else {
        // An empty body that is complete would state a length, of zero.
        return Response::from_parts(head, ApiBody::pieces(stream::empty().boxed()));
    };
    head.headers.insert(header::CONTENT_LENGTH, length.into());
    Response::from_parts(head, ApiBody::full(Bytes::new()))
}

/// An answer whose body is written in its syntax already.
pub(crate) fn written(body: ApiBody, syntax: Syntax) -> Response<ApiBody> {
    let media = match syntax {
        Syntax::Yaml => "application/yaml",
        Syntax::Json | Syntax::Protobuf => JSON,
    };
    build(200, media, body)
}

/// An answer that is an event on each line.
pub(crate) fn events(body: ApiBody) -> Response<ApiBody> {
    let mut answer = build(200, JSON, body);
    answer.extensions_mut().insert(Events);
    answer
}

/// Marks answers that are events.
#[derive(Debug, Clone, Copy)]
struct Events;

/// Whether the answer is the events of a watch.
pub fn is_of_events(answer: &Response<ApiBody>) -> bool {
    answer.extensions().get::<Events>().is_some()
}

pub(crate) fn is_json(answer: &Response<ApiBody>) -> bool {
    let media = answer.headers().get(header::CONTENT_TYPE);
    media.is_some_and(|media| media == JSON)
}

fn build(code: u16, media: &'static str, body: ApiBody) -> Response<ApiBody> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(media),
    );
    response
}

impl Failure {
    /// The failure as an answer in JSON.
    pub fn respond(&self) -> Response<ApiBody> {
        failure(self, Syntax::Json)
    }
}

/// A failure in the client's syntax.
pub(crate) fn failure(failure: &Failure, syntax: Syntax) -> Response<ApiBody> {
    let mut response = json(failure.code, &failure.to_json(), syntax);
    if let Some(seconds) = failure.retry_after() {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    warn(&mut response, &failure.warnings);
    response
}

/// The most characters that all warnings have together; each is cut to the second limit if they have more.
/// Source: upstream's `endpoints/filters/warning.go`.
const WARNINGS_MAX: usize = 4096;
const WARNING_MAX: usize = 256;

/// The warnings that are sent: none empty, none twice, and within the limits.
fn sendable(warnings: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let present = warnings.iter().filter(|warning| !warning.is_empty());
    let distinct = present.filter(|warning| seen.insert(*warning)).cloned();
    let distinct: Vec<String> = distinct.collect();
    let length = |text: &String| text.chars().count();
    if distinct.iter().map(length).sum::<usize>() <= WARNINGS_MAX {
        return distinct;
    }
    let cut = distinct
        .iter()
        .map(|text| text.chars().take(WARNING_MAX).collect());
    let mut left = WARNINGS_MAX;
    let fits = |text: &String| {
        let rest = left.checked_sub(length(text));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    cut.take_while(fits).collect()
}

/// The warnings of an answer, kept until its headers are written.
#[derive(Debug, Clone, Default)]
struct Warnings(Vec<String>);

/// Adds warnings to an answer, after those that it has already.
pub(crate) fn warn(response: &mut Response<ApiBody>, warnings: &[String]) {
    let kept: &mut Warnings = response.extensions_mut().get_or_insert_default();
    kept.0.extend_from_slice(warnings);
}

/// Adds a warning to an answer, before all others.
pub(crate) fn warn_first(response: &mut Response<ApiBody>, warning: &str) {
    let kept: &mut Warnings = response.extensions_mut().get_or_insert_default();
    kept.0.insert(0, warning.to_owned());
}

/// Writes each warning as a header `Warning: 299 - "..."`, as far as the limits allow.
pub(crate) fn write_warnings(response: &mut Response<ApiBody>) {
    let kept: Warnings = response.extensions_mut().remove().unwrap_or_default();
    for warning in sendable(&kept.0) {
        add_warning(response, &warning);
    }
}

/// Adds a header `Warning: 299 - "..."`.
pub(crate) fn add_warning(response: &mut Response<ApiBody>, warning: &str) {
    let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
    let value = format!("299 - \"{text}\"");
    if let Ok(value) = header::HeaderValue::from_str(&value) {
        response.headers_mut().append(header::WARNING, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_too_long_as_yaml_is_not_written_as_yaml() {
        let deep = (0..100).fold(json!(vec![1; 100_000]), |inner, _| json!({"a": inner}));
        let answer = json(200, &deep, Syntax::Yaml);
        assert_eq!(answer.status(), 406);
        let media = answer.headers().get(header::CONTENT_TYPE);
        assert_eq!(
            media.map(header::HeaderValue::as_bytes),
            Some(&b"application/json"[..])
        );
        let flat = json!({"a": "x".repeat(1 << 20), "b": vec![1; 100_000]});
        for (document, syntax) in [(&deep, Syntax::Json), (&flat, Syntax::Yaml)] {
            assert_eq!(json(200, document, syntax).status(), 200);
        }
    }

    #[test]
    fn warnings_are_told_once_and_as_far_as_a_header_should_go() {
        let texts = |texts: &[&str]| texts.iter().map(|one| (*one).to_owned()).collect();
        let few: Vec<String> = texts(&["a", "", "b", "a"]);
        assert_eq!(sendable(&few), ["a", "b"]);
        let long: Vec<String> = (0..40).map(|one| format!("{one:0>300}")).collect();
        let cut = sendable(&long);
        assert_eq!(cut.len(), WARNINGS_MAX / WARNING_MAX);
        assert!(cut.iter().all(|one| one.chars().count() == WARNING_MAX));
        let one: Vec<String> = texts(&[&"\u{e9}".repeat(4000)]);
        assert_eq!(sendable(&one), one, "alone it fits");
    }
}
