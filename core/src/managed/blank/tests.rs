//! Tables of objects and of the structures that they have before a client sets anything.

use super::*;
use crate::builtin;
use serde_json::json;

#[test]
fn only_structures_that_are_there_and_that_must_be() {
    for (object, expected) in [
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}}),
            json!({}),
        ),
        (
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "spec": {"holderIdentity": "h"}}),
            json!({"spec": {}}),
        ),
        (
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": {},
                "strategy": {"rollingUpdate": {}},
                "template": {"metadata": {"labels": {}}, "spec": {"containers": []}}}}),
            json!({"spec": {"strategy": {}, "template": {"metadata": {},
                "spec": {"containers": null}}}}),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c"}],
                "initContainers": [{"name": "i"}]}}),
            json!({"spec": {"containers": null}}),
        ),
        (
            json!({"apiVersion": "v1", "kind": "ReplicationController",
                "spec": {"template": {"spec": {}}}}),
            json!({"spec": {}}),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "spec": {"resources": {"limits": {}}}}),
            json!({"spec": {}}),
        ),
        (
            json!({"apiVersion": "v1", "kind": "PodTemplate", "template": {"spec": {}}}),
            json!({"template": {"spec": {}}}),
        ),
        (
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": null}),
            json!({}),
        ),
        (
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
                "spec": {"drivers": [{"name": "d"}]}}),
            json!({"spec": {"drivers": null}}),
        ),
        (
            json!({"apiVersion": "example.com/v1", "kind": "Lease", "spec": {"a": 1}}),
            json!({}),
        ),
    ] {
        assert_eq!(blank(&object), expected, "{object}");
    }
}

#[test]
fn only_zeros_that_are_there_and_that_are_written_anyway() {
    for (object, expected) in [
        (
            json!({"apiVersion": "v1", "kind": "Event", "reportingComponent": "",
                "reportingInstance": "i", "source": {"component": ""}}),
            json!({"source": {}, "reportingComponent": ""}),
        ),
        (
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 0}),
            json!({"value": 0}),
        ),
        (
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5}),
            json!({}),
        ),
        (
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
                "spec": {"pool": {"generation": 0, "name": "p"}, "driver": "d"}}),
            json!({"spec": {"pool": {"generation": 0}}}),
        ),
    ] {
        assert_eq!(blank(&object), expected, "{object}");
    }
}

#[test]
fn what_was_not_shown_was_there_all_the_same() {
    let node = |status: Value| json!({"apiVersion": "v1", "kind": "Node", "status": status});
    for (old, new, complete_old) in [
        (
            node(Value::Null),
            node(json!({"nodeInfo": {"a": 1}, "config": {}})),
            node(json!({"nodeInfo": {}})),
        ),
        (
            node(json!({"nodeInfo": {"a": 0}})),
            node(json!({"nodeInfo": {}, "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}})),
            node(json!({"nodeInfo": {"a": 0}, "daemonEndpoints": {"kubeletEndpoint": {}}})),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Event"}),
            json!({"apiVersion": "v1", "kind": "Event", "reportingComponent": "",
                "reportingInstance": "i"}),
            json!({"apiVersion": "v1", "kind": "Event", "reportingComponent": ""}),
        ),
    ] {
        assert_eq!(*complete(&old, &new), complete_old, "{new}");
    }
    let same = node(json!({"nodeInfo": {}}));
    assert!(matches!(complete(&same, &same), Cow::Borrowed(_)));
}

#[test]
fn every_list_and_zero_is_in_a_structure_that_is_always_there() {
    let kinds = builtin::kinds();
    for (group, kind, path) in LISTS.iter().chain(&ZEROS) {
        let mut kinds = kinds.iter();
        let is_served = kinds.any(|one| (&*one.resource.group, &*one.kind) == (*group, *kind));
        let (around, _) = path.rsplit_once('/').expect("a pointer");
        let is_there = around.is_empty() || always_there(group, kind).contains(&around);
        assert!(is_served && is_there, "{path}");
    }
    let definition = |status: Value| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "status": status})
    };
    let old = definition(json!({}));
    let new = definition(json!({"conditions": [{"type": "Established"}]}));
    let completed = definition(json!({"conditions": null}));
    assert_eq!(*complete(&old, &new), completed);
    assert!(matches!(complete(&new, &new), Cow::Borrowed(_)));
}

#[test]
fn every_row_is_of_a_kind_that_is_served_and_from_the_outside_in() {
    let kinds = builtin::kinds();
    let served = |group: &str, kind: &str| {
        let mut kinds = kinds.iter();
        kinds.any(|one| (&*one.resource.group, &*one.kind) == (group, kind))
    };
    for line in STRUCTURES.lines() {
        let mut words = line.split(' ');
        let (group, kind) = (
            words.next().expect("a group"),
            words.next().expect("a kind"),
        );
        let group = group.trim_matches('-');
        assert!(served(group, kind), "{line}");
        let paths: Vec<&str> = words.collect();
        assert_eq!(always_there(group, kind), paths, "{line}");
        for (place, path) in paths.iter().enumerate() {
            let (around, _) = path.rsplit_once('/').expect("a pointer");
            assert!(
                around.is_empty() || paths[..place].contains(&around),
                "{path}"
            );
        }
    }
}
