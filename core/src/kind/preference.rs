//! The order in which the versions of a group are preferred.

use std::cmp::Reverse;

/// Sort key of a version, the preferred one first: `v2`, `v1`, `v2beta1`, `v1alpha1`, then all other names
/// in alphabetical order. Source: upstream's `CompareKubeAwareVersionStrings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preference<'a> {
    /// A name in the usual form: its stability and its numbers.
    Ranked(Reverse<(Stability, i64, i64)>),
    /// Any other name.
    Named(&'a str),
}

/// The stability that a version's name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// `v1alpha1`.
    Alpha,
    /// `v1beta1`.
    Beta,
    /// `v1`.
    General,
}

impl<'a> Preference<'a> {
    /// The sort key of the version with this name.
    pub fn of(version: &'a str) -> Self {
        rank(version).map_or(Self::Named(version), |rank| Self::Ranked(Reverse(rank)))
    }
}

fn rank(version: &str) -> Option<(Stability, i64, i64)> {
    let rest = version.strip_prefix('v')?;
    for (word, stability) in [("alpha", Stability::Alpha), ("beta", Stability::Beta)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, number(major)?, number(minor)?));
        }
    }
    Some((Stability::General, number(rest)?, 0))
}

/// Parses digits only, and only numbers that fit where upstream keeps them.
fn number(text: &str) -> Option<i64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_then_beta_then_alpha_then_other_names() {
        let ordered = [
            "v10",
            "v2",
            "v1",
            "v10beta1",
            "v2beta2",
            "v2beta1",
            "v1beta10",
            "v3alpha1",
            "v1alpha2",
            "1",
            "alpha",
            "v",
            "v1beta",
            "v1beta1x",
            "v1gamma1",
            "v99999999999999999999",
            "vbeta1",
            "zeta",
        ];
        let mut versions = ordered;
        versions.reverse();
        versions.sort_by(|one, other| Preference::of(one).cmp(&Preference::of(other)));
        assert_eq!(versions, ordered);
        assert_eq!(Preference::of("v01"), Preference::of("v1"));
        assert_eq!(Preference::of("v+1"), Preference::Named("v+1"));
    }
}
