//! The warning that comes with every answer in a deprecated version.

use crate::body::{ApiBody, Syntax};
use crate::path::Subpath;
use crate::respond;
use crate::status::Failure;
use hindsight_core::kind::{Kind, Version};
use hindsight_core::object::Name;
use http::{Response, StatusCode};

/// The warning of a version, if it is deprecated. A built-in kind that does not have the subresource or method
/// does not give it; a custom kind gives it before it looks at either. Source: upstream's `APIInstaller`, which
/// wraps the handlers that there are, and `crdHandler`.
pub(super) struct Deprecated {
    warning: Option<Name>,
    is_custom: bool,
}

impl Deprecated {
    pub(super) fn of(kind: &Kind, version: &Version, subpath: &Subpath) -> Self {
        let is_custom = kind.is_custom();
        let is_warned = is_custom || subpath.served(version).is_ok();
        let warning = version.deprecation_warning.clone();
        Self {
            warning: warning.filter(|_| is_warned),
            is_custom,
        }
    }

    /// The answer, with this warning before all others.
    pub(super) fn warn(
        self,
        answer: Result<Response<ApiBody>, Failure>,
        syntax: Syntax,
    ) -> Response<ApiBody> {
        let mut answer = answer.unwrap_or_else(|failure| respond::failure(&failure, syntax));
        let is_handled = answer.status() != StatusCode::METHOD_NOT_ALLOWED;
        if let Some(warning) = self.warning.filter(|_| self.is_custom || is_handled) {
            respond::warn_first(&mut answer, &warning);
        }
        answer
    }
}

#[cfg(test)]
mod tests;
