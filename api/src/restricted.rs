//! A path that is not for everybody, of the program around this API: requests to it are the program's, and reviews of
//! access answer as the program would.

use crate::Api;
use hindsight_core::Actor;

/// A path that one group may reach. The program refuses everybody else by [`Restricted::refusal`], as reviews do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restricted {
    /// The only path of the program that is restricted.
    pub path: String,
    /// Whose members may reach it.
    pub group: String,
    /// What all others are told.
    pub why: String,
    /// The other paths of the program, which every known user may reach. The rules of a user name what is allowed, and
    /// cannot name an exception.
    pub others: Vec<String>,
}

impl Restricted {
    /// Why this actor may not reach this path, or all paths of this pattern; `None` if it may.
    #[must_use]
    pub fn refusal(&self, actor: &Actor, path: &str) -> Option<&str> {
        let is_meant = match path.strip_suffix('*') {
            Some(prefix) => self.path.starts_with(prefix),
            None => self.path == path,
        };
        let is_member = || actor.groups.iter().any(|group| **group == *self.group);
        (is_meant && !is_member()).then_some(&*self.why)
    }
}

impl Api {
    /// Lets reviews of access know of a path that the program around this API refuses to most users.
    #[must_use]
    pub fn with_restricted(mut self, restricted: Restricted) -> Self {
        self.restricted = Some(restricted.into());
        self
    }
}
