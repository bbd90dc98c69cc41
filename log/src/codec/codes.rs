//! The stored codes of enums. They are permanent: a code is never changed, and never used again for
//! something else.

use super::Undecodable;
use hindsight_core::Rule;
use hindsight_core::command::Propagation;
use hindsight_core::event::OwnerClass;

/// Both directions from one list, because a code that cannot be read back makes a log that cannot be
/// opened. A variant without a code does not compile, and the compiler warns of a code that two have.
macro_rules! codes {
    ($what:literal, $type:ident, $code_of:ident, $of_code:ident, [$($variant:ident = $code:literal),+ $(,)?]) => {
        pub(super) const fn $code_of(value: $type) -> u8 {
            match value {
                $($type::$variant => $code),+
            }
        }

        pub(super) const fn $of_code(code: u8) -> Result<$type, Undecodable> {
            match code {
                $($code => Ok($type::$variant),)+
                code => Err(Undecodable::Unknown { what: $what, code }),
            }
        }
    };
}

codes!(
    "rule",
    Rule,
    rule_code,
    rule_of,
    [
        Requested = 0,
        RequestedForeground = 1,
        RequestedOrphan = 2,
        RequestedCollection = 3,
        OwnersAbsent = 4,
        OwnerForeground = 5,
        NoSuchOwner = 6,
        OwnerInOtherNamespace = 7,
        NamespaceDeleted = 8,
        CrdDeleted = 9,
        TtlAfterFinished = 10,
        Policy = 11,
        ServiceDeleted = 12,
    ]
);

codes!(
    "deletion policy",
    Propagation,
    propagation_code,
    propagation_of,
    [Background = 0, Foreground = 1, Orphan = 2]
);

codes!(
    "class of owners",
    OwnerClass,
    class_code,
    class_of,
    [Solid = 0, Dangling = 1, Waiting = 2, Unresolvable = 3]
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_is_read_back_from_a_code_of_its_own() {
        for rule in Rule::ALL {
            assert_eq!(rule_of(rule_code(rule)).ok(), Some(rule), "{rule:?}");
        }
        let codes = BTreeSet::from(Rule::ALL.map(rule_code));
        assert_eq!(codes.len(), Rule::ALL.len());
    }

    #[test]
    fn the_codes_are_those_of_the_first_release() {
        let rules = Rule::ALL.map(rule_code);
        assert_eq!(rules, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(Propagation::ALL.map(propagation_code), [1, 0, 2]);
        let classes = [
            OwnerClass::Solid,
            OwnerClass::Dangling,
            OwnerClass::Waiting,
            OwnerClass::Unresolvable,
        ];
        assert_eq!(classes.map(class_code), [0, 1, 2, 3]);
    }

    #[test]
    fn propagations_and_classes_are_read_back_too() {
        for policy in Propagation::ALL {
            assert_eq!(propagation_of(propagation_code(policy)).ok(), Some(policy));
        }
        let classes = (0..4).map(|code| class_of(code).map(class_code).ok());
        assert!(classes.eq((0..4).map(Some)));
    }

    #[test]
    fn a_code_of_a_later_release_is_refused_by_its_name() {
        let told = |error: Option<Undecodable>| error.expect("refused").to_string();
        assert_eq!(
            told(rule_of(13).err()),
            "rule 13 is not known to this release"
        );
        assert_eq!(
            told(propagation_of(3).err()),
            "deletion policy 3 is not known to this release"
        );
        assert_eq!(
            told(class_of(u8::MAX).err()),
            "class of owners 255 is not known to this release"
        );
    }
}
