//! Content negotiation: the alternatives of a client's `Accept` header, the most wanted first. Source:
//! upstream's `NegotiateMediaTypeOptions`, and `goautoneg`, which it calls.

#[cfg(test)]
mod tests;

use crate::body::Syntax;
use crate::status::Failure;
use hindsight_core::kind::Kind;
use hindsight_core::{Form, Object};
use http::{HeaderMap, header};
use std::cmp::Ordering;

/// The form in which a client wants to see objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Object,
    Table,
    Metadata,
}

/// The first acceptable alternative of an `Accept` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) view: View,
    pub(crate) syntax: Syntax,
    /// The version of that view.
    pub(crate) meta: &'static str,
    /// Whether `PartialObjectMetadataList` was asked for, the metadata of a list.
    of_list: bool,
    /// Whether upstream's router, which only requests for built-in kinds pass, accepts one of the media types.
    is_routed: bool,
    /// Whether the media type asks for indentation.
    pub(crate) is_pretty: bool,
}

/// What an answer consists of, in whatever form it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    One,
    List,
    Events,
}

/// How many times as long as the object YAML is taken to be: it may be much more indentation than content.
pub(crate) const TIMES_AS_YAML: usize = 16;

impl Accept {
    /// About how much is made to show an object; zero for the stored bytes.
    pub(crate) fn made_bytes(self, form: &Form, object: &Object) -> usize {
        let bytes = object.body.len();
        match (self.syntax, self.view) {
            (Syntax::Yaml, _) => bytes.saturating_mul(TIMES_AS_YAML),
            (_, View::Object) if form.is_as_stored(object) => 0,
            _ => bytes,
        }
    }

    /// Refuses an answer that does not exist in the negotiated form. Upstream checks this only when it answers,
    /// even if it has carried out a write by then, and in a watch it ends the stream; here nothing is done
    /// before the check. Source: `doTransformObject`, and `NegotiateOutputMediaTypeStream` for watches: neither
    /// goes on to the next alternative.
    pub(crate) fn check(self, answer: Answer, kind: &Kind) -> Result<(), Failure> {
        if !self.is_routed && !kind.is_custom() {
            return Err(Failure::no_representation());
        }
        if answer == Answer::Events && self.syntax == Syntax::Yaml {
            return Err(Failure::not_streamable());
        }
        let is_list = answer == Answer::List;
        if self.view != View::Metadata || self.of_list == is_list {
            return Ok(());
        }
        let (asked, is, name) = if is_list {
            ("PartialObjectMetadata", "a list", &kind.list_kind)
        } else {
            ("PartialObjectMetadataList", "not a list", &kind.kind)
        };
        let message = format!("you requested {asked}, but the requested object is {is} ({name})");
        Err(Failure::new(406, "NotAcceptable", message))
    }
}

/// None of the alternatives that a client accepts can be served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotAcceptable {
    /// Whether one of the media types is known, though not in the form asked for.
    is_known: bool,
}

impl NotAcceptable {
    /// The failure for this kind. For built-in kinds upstream's router checks the media types first, and the
    /// handler checks the form after it.
    pub(crate) fn of(self, kind: &Kind) -> Failure {
        if self.is_known || kind.is_custom() {
            Failure::not_acceptable()
        } else {
            Failure::no_representation()
        }
    }
}

pub(crate) fn accept(headers: &HeaderMap) -> Result<Accept, NotAcceptable> {
    negotiate(headers, |_| true)
}

/// What is accepted of the answer to a review, where the kind has them: it has no table. Source: upstream's
/// `AllowsMediaTypeTransform`.
pub(crate) fn accept_of_review(
    kind: &Kind,
    accept: Accept,
    headers: &HeaderMap,
) -> Result<Accept, NotAcceptable> {
    if !kind.strategy.review {
        return Ok(accept);
    }
    negotiate(headers, |view| view != View::Table)
}

fn negotiate(headers: &HeaderMap, exists: impl Fn(View) -> bool) -> Result<Accept, NotAcceptable> {
    let all = alternatives(headers);
    let is_routed = all.iter().any(Alternative::is_routed);
    let mut known = all.iter().filter_map(Alternative::accept);
    let first = known.find(|accept| exists(accept.view));
    let first = first.map(|first| Accept { is_routed, ..first });
    first.ok_or(NotAcceptable {
        is_known: is_routed,
    })
}

/// Negotiates for documents without metadata, which have neither a table nor a metadata form.
pub(crate) fn accept_object(headers: &HeaderMap) -> Result<Accept, Failure> {
    let known = alternatives(headers).into_iter();
    let mut known = known.filter_map(|one| one.accept());
    let found = known.find(|accept| accept.view == View::Object);
    found.ok_or_else(Failure::not_acceptable)
}

/// Whether aggregated discovery is wanted: all groups with their resources in one document. A client that
/// accepts another form, or none that is known, is answered as about any other document.
pub(crate) fn wants_aggregate(headers: &HeaderMap) -> bool {
    let known = alternatives(headers).into_iter();
    let wanted = known.filter(|one| one.syntax().is_some()).find_map(|one| {
        let aggregate = ["as", "g", "v"].map(|name| one.parameter(name));
        match aggregate {
            [None, ..] => Some(false),
            [
                Some("APIGroupDiscoveryList"),
                Some("apidiscovery.k8s.io"),
                Some("v2"),
            ] => Some(true),
            _ => None,
        }
    });
    wanted.unwrap_or(false)
}

/// The form of an OpenAPI document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenApi {
    Json,
    Binary,
}

/// The form that is wanted most of an OpenAPI document whose binary form has these subtypes, if any is acceptable.
/// Source: kube-openapi's `handler` and `handler3`, which know media types by their two parts.
pub(crate) fn accept_openapi(headers: &HeaderMap, binary: &[&str]) -> Option<OpenApi> {
    let mut known = alternatives(headers).into_iter();
    known.find_map(|one| one.openapi(binary))
}

/// A media type with its parameters.
struct Alternative<'a> {
    media: &'a str,
    parameters: &'a str,
}

/// The alternatives of a header that are looked at. A header of some kilobytes may list thousands, and costs a
/// client of HTTP/2 that sends it again a few bytes.
const ALTERNATIVES_MAX: usize = 64;

/// A quality, in the order from the most to the least wanted.
#[derive(Debug, Clone, Copy)]
struct LeastWanted(f32);

impl Ord for LeastWanted {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for LeastWanted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LeastWanted {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for LeastWanted {}

/// The alternatives that are sent first, however many there are: those behind [`ALTERNATIVES_MAX`] are ignored,
/// even if they are wanted more.
fn alternatives(headers: &HeaderMap) -> Vec<Alternative<'_>> {
    let accepted = headers.get(header::ACCEPT);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    let texts = accepted.unwrap_or("*/*").split(',').take(ALTERNATIVES_MAX);
    let mut all: Vec<_> = texts.map(Alternative::of).collect();
    all.sort_by_cached_key(|one| (LeastWanted(one.quality()), one.wildcards()));
    all
}

impl<'a> Alternative<'a> {
    fn of(text: &'a str) -> Self {
        let (media, parameters) = text.split_once(';').unwrap_or((text, ""));
        Self {
            media: media.trim(),
            parameters,
        }
    }

    fn parameter(&self, wanted: &str) -> Option<&'a str> {
        let pairs = self.parameters.split(';');
        let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
        let found = pairs.find(|(name, _)| name.trim() == wanted);
        found.map(|(_, value)| value.trim())
    }

    /// The `q` parameter; 0, the least wanted, where it cannot be parsed.
    fn quality(&self) -> f32 {
        let sent = self.parameter("q");
        sent.map_or(1.0, |text| text.parse().unwrap_or_default())
    }

    fn wildcards(&self) -> usize {
        self.media.matches('*').count()
    }

    fn syntax(&self) -> Option<Syntax> {
        match self.media {
            "" | "*/*" | "application/json" | "application/*" => Some(Syntax::Json),
            "application/yaml" => Some(Syntax::Yaml),
            _ => None,
        }
    }

    fn openapi(&self, binary: &[&str]) -> Option<OpenApi> {
        let (of, form) = match self.media {
            "" | "*" => ("*", "*"),
            media => media.split_once('/')?,
        };
        match form {
            _ if !matches!(of, "application" | "*") => None,
            "json" | "*" => Some(OpenApi::Json),
            form => binary.contains(&form).then_some(OpenApi::Binary),
        }
    }

    /// Whether upstream's router accepts it: it knows media types by their names, and `*/*` as the only
    /// wildcard.
    fn is_routed(&self) -> bool {
        self.syntax().is_some() && self.media != "application/*"
    }

    /// The alternative, if it can be served. A form other than the object itself must name kind, group and
    /// version.
    fn accept(&self) -> Option<Accept> {
        let form = ["as", "g", "v"].map(|name| self.parameter(name));
        let (view, of_list) = match form {
            [None, None, None] => (View::Object, false),
            [Some("Table"), ..] => (View::Table, false),
            [Some("PartialObjectMetadata"), ..] => (View::Metadata, false),
            [Some("PartialObjectMetadataList"), ..] => (View::Metadata, true),
            _ => return None,
        };
        let meta = match form {
            [None, ..] | [_, Some("meta.k8s.io"), Some("v1")] => "meta.k8s.io/v1",
            [_, Some("meta.k8s.io"), Some("v1beta1")] => "meta.k8s.io/v1beta1",
            _ => return None,
        };
        Some(Accept {
            view,
            syntax: self.syntax()?,
            meta,
            of_list,
            is_routed: self.is_routed(),
            is_pretty: self.parameter("pretty") == Some("1"),
        })
    }
}
