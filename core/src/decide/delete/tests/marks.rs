//! What a first deletion records in the log, beside what it writes into the object.

use super::*;

/// An object of this kind with these finalizers, and its name.
fn with_name(resource: &str, finalizers: &[&str]) -> (World, &'static str) {
    if resource != "customresourcedefinitions" {
        return (with(resource, finalizers), "a");
    }
    let mut world = World::new();
    world.define_things(finalizers);
    (world, "things.x.io")
}

#[test]
fn a_mark_records_the_policy_of_the_finalizers_that_it_leaves() {
    let policies = [None, Some(Background), Some(Foreground), Some(Orphan)];
    let policies = policies.map(|policy| (None, policy));
    let older = [true, false].map(|orphan| (Some(orphan), None));
    let options = [&policies[..], &older[..]].concat();
    let held: [&[&str]; 3] = [&["x/a"], &["x/a", "orphan"], &["foregroundDeletion", "x/a"]];
    for resource in [
        "configmaps",
        "jobs",
        "namespaces",
        "customresourcedefinitions",
    ] {
        for (finalizers, (orphan, policy)) in held
            .iter()
            .flat_map(|held| options.iter().map(move |one| (held, *one)))
        {
            let (mut world, name) = with_name(resource, finalizers);
            let decided = world.delete_with(resource, name, |delete| {
                delete.orphan_dependents = orphan;
                delete.propagation = policy;
            });
            let marks = decided.expect("accepted").commits;
            let told = marks[0].events.iter().find_map(Event::deletion_request);
            let marked = world.get(resource, name).expect("held");
            let expected = match marked.own_policy() {
                None | Some(Background) => (Rule::Requested, Background),
                Some(Foreground) => (Rule::RequestedForeground, Foreground),
                Some(Orphan) => (Rule::RequestedOrphan, Orphan),
            };
            assert_eq!(
                told,
                Some(expected),
                "{resource} {finalizers:?} {orphan:?} {policy:?}"
            );
        }
    }
}
