//! The users that the program knows by itself.

use hindsight_core::Actor;

/// The user of the first client certificate, and of the service in process.
pub(crate) const ADMINISTRATOR: &str = "admin";
/// The group of the administrator.
pub(crate) const ADMINISTRATORS: &str = "system:masters";

pub(crate) fn administrator() -> Actor {
    authenticated(ADMINISTRATOR, "", std::iter::once(ADMINISTRATORS))
}

/// A user of whom it is known who that is.
pub(crate) fn authenticated<'a>(
    user: &str,
    uid: &str,
    groups: impl Iterator<Item = &'a str>,
) -> Actor {
    let everybody = std::iter::once("system:authenticated");
    let groups = groups.chain(everybody).map(Into::into).collect();
    Actor {
        user: user.into(),
        uid: uid.into(),
        groups,
    }
}
