//! Parses the options that say what is kept for how long. They are checked before the server starts, for dropped
//! history does not come back.

use crate::config::AGE_MICROS_MIN;
use crate::shell;
use bytesize::ByteSize;
use hindsight_core::kind::Preference;
use hindsight_core::{GroupResource, Kind, builtin, is_definable};
use humantime::DurationError as Unread;
use std::time::Duration;

const NOTHING: &str = "it would drop all history; leave the option out to keep everything";
const NO_SIZE: &str =
    "expected a number with a unit of B, KB to EB or KiB to EiB; give a size such as 10GiB";
const NO_UNIT: &str = "a unit is needed, such as 10GiB (10B for bytes)";
/// The library knows others, too, such as Gib, which are those of something else.
const UNITS: &[&str] = &[
    "B", "KB", "MB", "GB", "TB", "PB", "EB", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB",
];

const AGE_MIN: Duration = Duration::from_micros(AGE_MICROS_MIN.unsigned_abs());
/// A shorter age is doubtful: whoever looks for what was deleted comes later than that.
const AGE_DOUBTED: Duration = Duration::from_hours(1);
/// A smaller size is doubtful: a day of a quiet control plane takes more.
const SIZE_DOUBTED: ByteSize = ByteSize::mib(1);
/// Times are 63-bit counts of microseconds: 292,000 years.
const AGE_MAX: Duration = Duration::from_micros(i64::MAX.unsigned_abs());
/// No file can be larger.
const SIZE_MAX: u64 = i64::MAX.unsigned_abs();

fn duration(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err("an age is a number with a unit, without a sign".into());
    }
    humantime::parse_duration(text).map_err(|error| match error {
        // Of these the library says at which byte.
        Unread::InvalidCharacter(_) | Unread::NumberExpected(_) | Unread::Empty => {
            "an age is a number with a unit".into()
        }
        // The library's advice would be a number of milliseconds.
        Unread::UnknownUnit { unit, .. } if unit.is_empty() => "a unit is needed".into(),
        other => other.to_string(),
    })
}

pub(super) fn age(text: &str) -> Result<Duration, String> {
    let age = duration(text).map_err(|why| format!("{why}; give an age such as 90d or 12h"))?;
    if age < AGE_MIN {
        return Err(NOTHING.into());
    }
    if age > AGE_MAX {
        return Err(
            "it is longer than the limit of 292,000 years; give an age such as 90d, or leave the option out to keep \
             everything"
                .into(),
        );
    }
    Ok(age)
}

pub(super) fn event_ttl(text: &str) -> Result<Duration, String> {
    let age = duration(text);
    let advice = "give an age such as 1h, or 0 to keep all events";
    match age {
        Ok(age) if !age.is_zero() && age < AGE_MIN => {
            Err(format!("it would delete every event at once; {advice}"))
        }
        Ok(age) => Ok(age),
        Err(error) => Err(format!("{error}; {advice}")),
    }
}

/// A warning about history that is kept this shortly: more likely days were meant.
pub(super) fn doubt_age(age: Duration) -> Option<String> {
    (age < AGE_DOUBTED).then(|| {
        format!(
            "--keep-history {} keeps less than an hour of history: anything older is dropped at the next snapshot, \
             for good; write days as in 90d",
            humantime::format_duration(age)
        )
    })
}

/// A size as it was given, which is how it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    given: String,
}

/// A warning about a log that is kept this small: more likely a larger unit was meant.
pub(super) fn doubt_size(size: &Size) -> Option<String> {
    (ByteSize(size.bytes) < SIZE_DOUBTED).then(|| {
        format!(
            "--keep-history-bytes {} is less than {SIZE_DOUBTED}: almost all history is dropped at the next snapshot, \
             for good; write a larger unit as in 10GiB",
            shell::word(&size.given)
        )
    })
}

pub(super) fn size(text: &str) -> Result<Size, String> {
    let number = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = text.strip_prefix(number).unwrap_or_default().trim_start();
    if !number.is_empty() && number.chars().all(|digit| digit == '0') {
        return Err(NOTHING.into());
    }
    if number.starts_with(|digit: char| digit.is_ascii_digit()) {
        check_unit(number, unit)?;
    }
    // The library speaks of its own types, and of what remains of the text when the digits are gone.
    let size: ByteSize = text.parse().map_err(|_: String| NO_SIZE)?;
    if size.0 == 0 {
        return Err(NOTHING.into());
    }
    if size.0 > SIZE_MAX {
        return Err(
            "no log can be that large: it must be less than 8 EiB; give a size such as 10GiB, or leave the option \
             out to keep everything"
                .into(),
        );
    }
    Ok(Size {
        bytes: size.0,
        given: text.to_owned(),
    })
}

fn check_unit(number: &str, unit: &str) -> Result<(), &'static str> {
    if unit.is_empty() && number.parse::<f64>().is_ok() {
        return Err(NO_UNIT);
    }
    if UNITS.contains(&unit) {
        return Ok(());
    }
    Err(NO_SIZE)
}

/// Parses a built-in resource, or one that a definition may have. By another name than its plural, or with its
/// version, nothing is kept of it.
pub(super) fn resource(text: &str) -> Result<GroupResource, String> {
    let named = resource_named(text);
    let kinds = builtin::kinds();
    if let Some(kind) = kinds.iter().find(|kind| kind.resource == named) {
        return Ok(kind.stored_under());
    }
    let lower = text.to_lowercase();
    let meant = kinds.iter().find(|kind| is_meant(kind, &lower));
    if meant.is_none() && is_definable(&named) {
        return Ok(named);
    }
    let (name, _) = lower.split_once('.').unwrap_or((&lower, ""));
    let meant = meant.or_else(|| kinds.iter().find(|kind| kind.is_called(name)));
    let meant = meant.map(|kind| kind.resource.clone());
    let meant = meant.or_else(|| Some(resource_named(&lower)).filter(is_definable));
    let meant = meant.map_or_else(
        || "name it PLURAL or PLURAL.GROUP, such as configmaps or deployments.apps".to_owned(),
        |resource| format!("did you mean {resource}?"),
    );
    Err(format!("there is no such resource; {meant}"))
}

fn resource_named(text: &str) -> GroupResource {
    let (plural, group) = text.split_once('.').unwrap_or((text, ""));
    GroupResource::new(group, plural)
}

/// Whether this built-in kind is called so in its group, with a version between the two or without.
fn is_meant(kind: &Kind, text: &str) -> bool {
    let (name, group) = text.split_once('.').unwrap_or((text, ""));
    let behind = behind_version(group);
    let is_group = |group: &str| *kind.resource.group == *group;
    kind.is_called(name) && (is_group(group) || behind.is_some_and(is_group))
}

/// The group without the version before it; `None` if it begins with none.
///
/// Source: kubectl's `RESOURCE.VERSION.GROUP`, with nothing behind the last dot for the core group.
fn behind_version(group: &str) -> Option<&str> {
    let (version, group) = group.split_once('.')?;
    matches!(Preference::of(version), Preference::Ranked(_)).then_some(group)
}

/// A warning about a group that begins like a version: more likely that of its resource was named.
pub(super) fn doubt_resource(resource: &GroupResource) -> Option<String> {
    let group = behind_version(&resource.group)?;
    let plural = &resource.resource;
    Some(format!(
        "--keep-kind {resource} keeps a resource of the group {}, and nothing of {plural}.{group}: a version is no part \
         of the name",
        resource.group
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EVENT_TTL;

    #[test]
    fn events_are_kept_for_an_hour_unless_another_age_is_given_or_none() {
        assert_eq!(event_ttl("1h"), Ok(EVENT_TTL));
        assert_eq!(event_ttl("0"), Ok(Duration::ZERO));
        for text in ["1", "1ns"] {
            let told = event_ttl(text).expect_err(text);
            assert!(
                told.ends_with("give an age such as 1h, or 0 to keep all events"),
                "{told}"
            );
        }
    }

    #[test]
    fn an_age_below_an_hour_is_doubted() {
        for (text, is_doubted) in [("1s", true), ("59m", true), ("1h", false), ("90d", false)] {
            let told = doubt_age(age(text).expect(text));
            assert_eq!(told.is_some(), is_doubted, "{text}");
            assert!(told.is_none_or(|told| told.contains(&format!("--keep-history {text} "))));
        }
    }

    #[test]
    fn a_size_below_a_mebibyte_is_doubted() {
        for (text, is_doubted) in [
            ("1B", true),
            ("2KB", true),
            ("1.5KiB", true),
            ("1023KiB", true),
            ("1MiB", false),
            ("10GiB", false),
        ] {
            let told = doubt_size(&size(text).expect(text));
            assert_eq!(told.is_some(), is_doubted, "{text}");
            let given = format!("--keep-history-bytes {text} is less than 1.0 MiB");
            assert!(told.is_none_or(|told| told.contains(&given)), "{text}");
        }
    }

    #[test]
    fn a_size_has_a_unit_that_is_written_as_it_is_told() {
        for (text, bytes) in [
            ("10GiB", 10 << 30),
            ("1.5 KiB", 1_536),
            ("7B", 7),
            ("2KB", 2_000),
        ] {
            assert_eq!(size(text).expect(text).bytes, bytes);
        }
        for (text, why) in [
            ("10", NO_UNIT),
            ("1.5", NO_UNIT),
            ("10Gib", NO_SIZE),
            ("10gb", NO_SIZE),
            ("10G", NO_SIZE),
            ("10G5", NO_SIZE),
            ("much", NO_SIZE),
            ("", NO_SIZE),
            ("1.2.3B", NO_SIZE),
            ("0", NOTHING),
            ("0GiB", NOTHING),
            ("0.0GiB", NOTHING),
        ] {
            assert_eq!(size(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_age_is_told_without_what_its_parser_counts() {
        for text in ["forever", "", "-"] {
            let told = age(text).expect_err(text);
            assert!(told.starts_with("an age is a number with a unit"), "{told}");
        }
        let told = age("90").expect_err("it has no unit");
        assert!(told.starts_with("a unit is needed"), "{told}");
    }

    #[test]
    fn a_resource_is_meant_by_the_name_that_it_is_stored_under() {
        for (text, group, plural) in [
            ("secrets", "", "secrets"),
            ("deployments.apps", "apps", "deployments"),
            ("events.events.k8s.io", "", "events"),
            ("widgets.example.com", "example.com", "widgets"),
        ] {
            assert_eq!(resource(text), Ok(GroupResource::new(group, plural)));
        }
    }

    #[test]
    fn a_resource_by_a_name_under_which_nothing_is_stored_is_told_with_the_right_one() {
        for (text, meant) in [
            (
                "networkpolicy.networking.k8s.io",
                "networkpolicies.networking.k8s.io",
            ),
            (
                "netpol.networking.k8s.io",
                "networkpolicies.networking.k8s.io",
            ),
            (
                "NetworkPolicies.Networking.k8s.io",
                "networkpolicies.networking.k8s.io",
            ),
            (
                "Role.rbac.authorization.k8s.io",
                "roles.rbac.authorization.k8s.io",
            ),
            (
                "leases.v1.coordination.k8s.io",
                "leases.coordination.k8s.io",
            ),
            (
                "leases.v9beta1.coordination.k8s.io",
                "leases.coordination.k8s.io",
            ),
            ("lease.v1.coordination.k8s.io", "leases.coordination.k8s.io"),
            ("deployments.v1.apps", "deployments.apps"),
            ("pods.v1.", "pods"),
            ("pods.v1", "pods"),
            ("Secrets", "secrets"),
            ("Widgets.Example.com", "widgets.example.com"),
            ("widgets.Example.com", "widgets.example.com"),
            ("2widgets.example.com", "configmaps or deployments.apps"),
            ("widgets.example.com.", "configmaps or deployments.apps"),
            ("widgets..example.com", "configmaps or deployments.apps"),
            ("widgets.example", "configmaps or deployments.apps"),
            ("", "configmaps or deployments.apps"),
        ] {
            let told = resource(text).expect_err(text);
            let ends = [
                format!("did you mean {meant}?"),
                format!(", such as {meant}"),
            ];
            assert!(ends.iter().any(|end| told.ends_with(end)), "{text}: {told}");
        }
    }

    #[test]
    fn what_only_begins_like_a_built_in_kind_may_be_defined() {
        for (text, is_doubted) in [
            ("pods.example.com", false),
            ("deployments.my.apps", false),
            ("policies.networking.k8s.io", false),
            ("widgets.v1.example.com", true),
            ("widgets.vital.example.com", false),
        ] {
            let named = resource(text).expect(text);
            assert_eq!(named.to_string(), text);
            let told = doubt_resource(&named);
            assert_eq!(told.is_some(), is_doubted, "{text}");
            assert!(told.is_none_or(|told| told.contains("nothing of widgets.example.com")));
        }
    }
}
