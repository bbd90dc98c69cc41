//! Impersonation is refused instead of being ignored, because the log records the authenticated user. Whoever asks
//! whether it is allowed gets the same answer.

use crate::status::Failure;
use hindsight_core::Actor;
use http::HeaderMap;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";
/// Why nobody may be somebody else.
pub(crate) const REFUSED: &str =
    "impersonation is not supported; use the credentials of that user (--token-auth-file)";

/// Whether requests need this verb only to impersonate. Source: upstream's `impersonation` and
/// `constrained_impersonation`.
pub(crate) fn is_verb(verb: &str) -> bool {
    let mut constrained = ["impersonate:", "impersonate-on:"].into_iter();
    verb == "impersonate" || constrained.any(|prefix| verb.starts_with(prefix))
}

/// Refuses impersonation, in the words of an authorizer that does not allow it. An empty name or UID requests
/// nothing. Source: upstream's `processImpersonationHeaders`.
pub(crate) fn refuse(headers: &HeaderMap, actor: &Actor) -> Result<(), Failure> {
    let header = |name: &str| headers.get(name).filter(|value| !value.is_empty());
    if let Some(whom) = header(USER) {
        let whom = String::from_utf8_lossy(whom.as_bytes());
        let message = format!(
            "users \"{whom}\" is forbidden: User \"{}\" cannot impersonate resource \"users\" in API group \"\" at \
             the cluster scope: {REFUSED}",
            actor.user
        );
        return Err(Failure::new(403, "Forbidden", message));
    }
    let mut names = headers.keys().map(http::HeaderName::as_str);
    let alone = names.find(|name| match *name {
        UID => header(UID).is_some(),
        name => name == GROUP || name.starts_with(EXTRA),
    });
    alone.map_or(Ok(()), |name| {
        let message = format!("requested {name} without impersonating a user name");
        Err(Failure::bad_request(message))
    })
}
