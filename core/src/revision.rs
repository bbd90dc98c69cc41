//! The one number: the position of a commit in the log, which is also every `resourceVersion`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Position of a commit in the log. The first commit has revision 1; 0 is "before everything".
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Revision(pub u64);

impl Revision {
    /// Before the first commit, when there are no objects.
    pub const ZERO: Self = Self(0);

    /// After every commit: what is asked for up to here is the newest.
    pub const MAX: Self = Self(u64::MAX);

    /// Reads a decimal number; anything but digits is refused.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.map(Self)
    }

    /// The position after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The position before this one; [`Self::ZERO`] stays where it is.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
