//! The owners of an object that was collected, printed below the line of its deletion.

use super::{by, show};
use hindsight_core::Rule;
use hindsight_projector::{Dropped, End, EndedAs, Link};

/// The owners that it had at its end, unless the next link shows the only one, and those that it had before.
pub(super) fn describe(link: &Link) -> String {
    named(link) + &before(link)
}

/// The owners that it had, unless the next link shows the only one: it is about the last of several alone.
fn named(link: &Link) -> String {
    let place = place(link).map_or_else(String::new, |namespace| format!(" in {namespace}"));
    let absent = format!("does not exist{place}");
    let owners = link.owners.iter().map(|owner| {
        let what = match &owner.end {
            _ if owner.waits => "waits for its dependents",
            Some(_) => "is gone",
            None => &absent,
        };
        let since = owner.end.as_ref().map_or_else(String::new, since);
        format!("{} {} {what}{since}", owner.kind, owner.name)
    });
    let owners: Vec<String> = owners.collect();
    match (&*owners, link.more_owners) {
        ([], 0) => String::new(),
        ([], more) => format!("\n{:12}its owners are {more}, too many to name", ""),
        ([one], 0) => format!("\n{:12}its owner {one}", ""),
        (several, more) => {
            let told = show::join_bounded(several, more);
            format!("\n{:12}of its owners {told}", "")
        }
    }
}

/// The namespace in which the owners were looked for, if they are in another.
fn place(link: &Link) -> Option<&str> {
    if link.rule != Some(Rule::OwnerInOtherNamespace) {
        return None;
    }
    let (_, path) = link.object.split_once(' ')?;
    path.split_once('/').map(|(namespace, _)| namespace)
}

/// The owners that it had before, each with who removed the reference, or why the collector did.
fn before(link: &Link) -> String {
    let dropped = link.dropped.iter().map(|dropped| {
        let Dropped {
            kind,
            name,
            revision,
            user,
            verb,
            ..
        } = dropped;
        let why = match &dropped.end {
            None => format!("removed by {}", by(user, verb)),
            Some(end) => {
                let what = match end.ended {
                    EndedAs::Gone => "gone",
                    EndedAs::Waiting => "waiting for its dependents",
                    EndedAs::Orphaning => "orphaning its dependents",
                };
                format!("{what}{}", since(end))
            }
        };
        format!(
            "\n{:12}{kind} {name} was an owner until revision {revision}: {why}",
            ""
        )
    });
    dropped.collect()
}

fn since(end: &End) -> String {
    let rule = end
        .rule
        .map_or_else(String::new, |rule| format!(" [{}]", rule.name()));
    let (revision, by) = (end.revision, by(&end.user, &end.verb));
    format!(" since revision {revision}{rule} by {by}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn lines(owners: &[Value], dropped: &[Value]) -> Vec<String> {
        let link = json!({"revision": 24, "time": "T", "rule": "owner-foreground", "event": "deleted",
            "object": "configmaps default/kid", "user": "gc", "verb": "", "owners": owners, "dropped": dropped});
        let described = describe(&from_value(link).expect("a link"));
        let lines = described.lines().filter(|line| !line.is_empty());
        lines.map(|line| line.trim_start().to_owned()).collect()
    }

    fn end(what: &str, revision: u64) -> Value {
        json!({"as": what, "revision": revision, "time": "T", "rule": "requested", "user": "alice", "verb": "delete"})
    }

    #[test]
    fn of_several_owners_each_is_named() {
        let owner = |name: &str, waits: bool, end: Value| json!({"kind": "ConfigMap", "name": name, "uid": "u", "waits": waits, "end": end});
        let a = |end| owner("a", false, end);
        let b = owner("b", true, end("waiting", 21));
        let expected = "of its owners ConfigMap a does not exist, ConfigMap b waits for its dependents since revision 21 \
                        [requested] by alice (delete)";
        assert_eq!(lines(&[a(Value::Null), b.clone()], &[]), [expected]);
        let expected = expected.replace(
            "does not exist,",
            "is gone since revision 20 [requested] by alice (delete),",
        );
        assert_eq!(lines(&[a(end("gone", 20)), b], &[]), [expected]);
        let alone = "its owner ConfigMap a does not exist";
        assert_eq!(lines(&[a(Value::Null)], &[]), [alone]);
        assert!(lines(&[], &[]).is_empty());
    }

    #[test]
    fn an_owner_in_another_namespace_is_said_to_be_missing_in_that_of_the_object() {
        for (rule, told) in [
            (
                "owner-in-other-namespace",
                "its owner ConfigMap a does not exist in w",
            ),
            ("no-such-owner", "its owner ConfigMap a does not exist"),
        ] {
            let owner = json!({"kind": "ConfigMap", "name": "a", "uid": "u", "waits": false});
            let link = json!({"revision": 24, "time": "T", "rule": rule, "event": "deleted",
                "object": "configmaps w/kid", "user": "gc", "verb": "", "owners": [owner]});
            let described = describe(&from_value(link).expect("a link"));
            assert_eq!(described.trim_start(), told);
        }
    }

    #[test]
    fn of_many_owners_the_others_are_counted() {
        let owner = json!({"kind": "ConfigMap", "name": "a", "uid": "u", "waits": true});
        for (owners, told) in [
            (
                vec![owner],
                "of its owners ConfigMap a waits for its dependents and 7 more",
            ),
            (Vec::new(), "its owners are 7, too many to name"),
        ] {
            let link = json!({"revision": 24, "time": "T", "rule": "owner-foreground", "event": "deleted",
                "object": "o", "user": "gc", "verb": "", "owners": owners, "moreOwners": 7});
            let described = describe(&from_value(link).expect("a link"));
            assert_eq!(described.trim_start(), told);
        }
    }

    #[test]
    fn of_each_owner_that_it_had_before_it_is_said_why_it_is_none() {
        let dropped = |name: &str, user: &str, verb: &str, end: Value| {
            json!({"kind": "ConfigMap", "name": name, "uid": "u", "revision": 22, "time": "T", "user": user,
                "verb": verb, "end": end})
        };
        let told = lines(
            &[],
            &[
                dropped("a", "gc", "", end("gone", 20)),
                dropped("b", "gc", "", end("waiting", 20)),
                dropped("c", "gc", "", end("orphaning", 20)),
                dropped("d", "gc", "", Value::Null),
                dropped("e", "bob", "patch", Value::Null),
            ],
        );
        let since = "since revision 20 [requested] by alice (delete)";
        let expected = [
            format!("ConfigMap a was an owner until revision 22: gone {since}"),
            format!(
                "ConfigMap b was an owner until revision 22: waiting for its dependents {since}"
            ),
            format!("ConfigMap c was an owner until revision 22: orphaning its dependents {since}"),
            "ConfigMap d was an owner until revision 22: removed by gc".to_owned(),
            "ConfigMap e was an owner until revision 22: removed by bob (patch)".to_owned(),
        ];
        assert_eq!(told, expected);
    }
}
