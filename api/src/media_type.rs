//! The media type of a request's body. It is read once, whoever asks for it.

use crate::body::Syntax;
use crate::status::Failure;
use http::{HeaderMap, header};

/// The media type that a request names for its body, in lower case and without its parameters; empty if it names
/// none.
#[derive(Debug)]
pub(crate) struct MediaType(String);

impl MediaType {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = headers.get(header::CONTENT_TYPE);
        let text = text.and_then(|value| value.to_str().ok());
        let media = text.unwrap_or_default().split(';').next();
        Self(media.unwrap_or_default().trim().to_lowercase())
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// The syntax of the body; JSON where no media type is named.
    pub(crate) fn syntax(&self) -> Result<Syntax, Failure> {
        match self.name() {
            "" | "application/json" => Ok(Syntax::Json),
            "application/yaml" => Ok(Syntax::Yaml),
            "application/vnd.kubernetes.protobuf" => Ok(Syntax::Protobuf),
            _ => Err(Failure::unsupported(&[
                "application/json",
                "application/yaml",
                "application/vnd.kubernetes.protobuf",
            ])),
        }
    }

    /// Whether the body is read as YAML, which an applied configuration is too.
    pub(crate) fn is_yaml(&self) -> bool {
        self.name().ends_with("yaml")
    }
}
