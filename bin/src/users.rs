//! The users that the program knows by itself.

use hindsight_core::Actor;
use hindsight_core::object::Name;

/// The user of the first client certificate, and of the service in process.
pub(crate) const ADMINISTRATOR: &str = "admin";
/// The group of the administrator.
pub(crate) const ADMINISTRATORS: &str = "system:masters";

/// The group of everybody of whom it is known who that is.
const AUTHENTICATED: &str = "system:authenticated";

pub(crate) fn administrator() -> Actor {
    authenticated(ADMINISTRATOR, "", std::iter::once(ADMINISTRATORS))
}

/// A user of whom it is known who that is. Source: upstream's `AuthenticatedGroupAdder`.
pub(crate) fn authenticated<'a>(
    user: &str,
    uid: &str,
    groups: impl Iterator<Item = &'a str>,
) -> Actor {
    let mut groups: Vec<Name> = groups.map(Into::into).collect();
    let is_told = |group: &Name| matches!(&**group, AUTHENTICATED | "system:unauthenticated");
    if user != "system:anonymous" && !groups.iter().any(is_told) {
        groups.push(AUTHENTICATED.into());
    }
    Actor {
        user: user.into(),
        uid: uid.into(),
        groups,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_authenticated_is_in_that_group_once() {
        for (user, named, groups) in [
            ("bob", &[][..], &[AUTHENTICATED][..]),
            ("bob", &["x"], &["x", AUTHENTICATED]),
            ("bob", &[AUTHENTICATED, "x"], &[AUTHENTICATED, "x"]),
            (
                "bob",
                &["system:unauthenticated"],
                &["system:unauthenticated"],
            ),
            ("system:anonymous", &["x"], &["x"]),
        ] {
            let actor = authenticated(user, "", named.iter().copied());
            let found: Vec<&str> = actor.groups.iter().map(|group| &**group).collect();
            assert_eq!(found, groups, "{user} {named:?}");
        }
    }
}
