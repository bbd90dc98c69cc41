//! What a client accepts: the alternatives of its `Accept` header, the most wanted first. Source:
//! upstream's `NegotiateMediaTypeOptions`, and `goautoneg` that it asks.

#[cfg(test)]
mod tests;

use crate::body::Syntax;
use crate::status::Failure;
use hindsight_core::kind::Kind;
use http::{HeaderMap, header};

/// What a client wants to see.
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
}

/// Nothing of what a client accepts is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotAcceptable {
    /// Whether one of the media types is, though not in this form.
    is_known: bool,
}

impl NotAcceptable {
    /// The router of built-in kinds looks at media types, and whoever answers at the form.
    pub(crate) fn of(self, kind: &Kind) -> Failure {
        if self.is_known || kind.is_custom() {
            Failure::not_acceptable()
        } else {
            Failure::no_representation()
        }
    }
}

pub(crate) fn accept(headers: &HeaderMap) -> Result<Accept, NotAcceptable> {
    let all = alternatives(headers);
    let first = all.iter().find_map(Alternative::accept);
    first.ok_or_else(|| NotAcceptable {
        is_known: all.iter().any(|one| one.syntax().is_some()),
    })
}

/// For what has no metadata, and so neither a table nor metadata alone.
pub(crate) fn accept_object(headers: &HeaderMap) -> Result<Accept, Failure> {
    let known = alternatives(headers).into_iter();
    let mut known = known.filter_map(|one| one.accept());
    let found = known.find(|accept| accept.view == View::Object);
    found.ok_or_else(Failure::not_acceptable)
}

/// Whether all groups are wanted in one document, with what they serve. Who accepts nothing that is
/// known hears of the groups alone.
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

/// A media type with its parameters.
struct Alternative<'a> {
    media: &'a str,
    parameters: &'a str,
}

fn alternatives(headers: &HeaderMap) -> Vec<Alternative<'_>> {
    let accepted = headers.get(header::ACCEPT);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    let texts = accepted.unwrap_or("*/*").split(',');
    let mut all: Vec<_> = texts.map(Alternative::of).collect();
    all.sort_by(|one, other| {
        let wanted = other.quality().total_cmp(&one.quality());
        wanted.then(one.wildcards().cmp(&other.wildcards()))
    });
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

    /// What cannot be read is wanted least.
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

    fn accept(&self) -> Option<Accept> {
        let view = match self.parameter("as") {
            None => View::Object,
            Some("Table") => View::Table,
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => View::Metadata,
            Some(_) => return None,
        };
        let syntax = self.syntax()?;
        Some(Accept { view, syntax })
    }
}
