//! The `Endpoints` of a service go with it. Source: `afterDelete` of upstream's storage of services: a service
//! that gets the name next must not be taken to the old addresses.

use super::bound::OversizePolicy;
use super::sequence::Sequence;
use super::{Context, delete};
use crate::command::{Delete, Target};
use crate::{Commit, Decision, Rule};
use std::sync::Arc;

/// Adds the deletion of the `Endpoints` of each service that the decision removes. As upstream, the service
/// goes even if they cannot be deleted, and admission is not asked about them.
pub(crate) fn with_endpoints_removed(context: Context<'_>, mut decision: Decision) -> Decision {
    let is_removal = |commit: &&Arc<Commit>| commit.object().is_none();
    let removed = decision.commits.iter().filter(is_removal);
    let left: Vec<_> = removed
        .filter_map(|commit| Some((commit.key.endpoints()?, commit.revision)))
        .filter(|(endpoints, _)| context.state.get(endpoints).is_some())
        .collect();
    if left.is_empty() {
        return decision;
    }
    let mut sequence = Sequence::on(context.state);
    sequence.add(decision.commits);
    for (endpoints, removal) in left {
        let context = Context {
            caused_by: Some(removal),
            oversize: OversizePolicy::Open,
            ..sequence.context(context)
        };
        let intent = Delete::new(Target::any(endpoints), "v1".into(), Rule::ServiceDeleted);
        let commits = delete(context, &intent).map_or_else(|_| Vec::new(), |more| more.commits);
        sequence.add(commits);
    }
    decision.commits = sequence.into_commits();
    decision
}

#[cfg(test)]
mod tests {
    use crate::command::Propagation;
    use crate::testing::World;
    use crate::{Cause, Rule};
    use serde_json::{Value, json};

    fn world(service: &Value, endpoints: &Value) -> World {
        let mut world = World::new();
        let ports = json!({"ports": [{"port": 80}]});
        let object = json!({"metadata": service, "spec": ports});
        world.create("services", object).expect("created");
        let object = json!({"metadata": endpoints});
        world.create("endpoints", object).expect("created");
        world
    }

    #[test]
    fn endpoints_go_with_the_service_of_their_name() {
        let named = |name: &str| json!({"name": name});
        for (name, goes) in [("s", true), ("t", false)] {
            let mut world = world(&named("s"), &named(name));
            let decided = world.delete("services", "s", None).expect("gone");
            assert_eq!(world.get("endpoints", name).is_none(), goes, "{name}");
            assert_eq!(decided.commits.len(), 1 + usize::from(goes));
            if let [service, endpoints] = &*decided.commits {
                assert_eq!(endpoints.cause, Cause::Commit(service.revision));
                let rule = endpoints.deletions().next();
                assert_eq!(rule.map(|(rule, _)| rule), Some(Rule::ServiceDeleted));
            }
        }
    }

    #[test]
    fn they_go_once_nothing_holds_the_service_and_stay_while_something_holds_them() {
        let held = |name: &str| json!({"name": name, "finalizers": ["x/hold"]});
        let mut world = world(&held("s"), &held("s"));
        let background = Some(Propagation::Background);
        world.delete("services", "s", background).expect("marked");
        let endpoints = world.get("endpoints", "s").expect("it is there");
        assert!(!endpoints.is_deleting());
        let free = crate::command::Patch::Merge(json!({"metadata": {"finalizers": null}}));
        world.patch("services", "s", free.clone()).expect("gone");
        assert!(world.get("services", "s").is_none());
        let endpoints = world.get("endpoints", "s").expect("something holds it");
        assert!(endpoints.is_deleting());
        world.patch("endpoints", "s", free).expect("gone");
        assert!(world.get("endpoints", "s").is_none());
    }
}
