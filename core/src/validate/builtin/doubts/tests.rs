//! Pods that are accepted, and what their authors are told of them.

use super::*;
use crate::command::Patch;
use crate::testing::{World, builtin_kind};
use serde_json::json;

/// What is told of a new pod with this specification.
fn told(spec: &Value) -> Vec<String> {
    warnings(&builtin_kind("pods"), &json!({"spec": spec}), None)
}

#[test]
fn a_variable_that_hides_another_is_told_unless_it_is_made_of_it() {
    let hides = |index: usize| {
        format!(
            "spec.containers[0].env[{index}]: hides previous definition of \"a\", which may be dropped when using apply"
        )
    };
    let from = json!({"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
    for (second, is_told) in [
        (json!({"name": "b", "value": "2"}), false),
        (json!({"name": "a", "value": "2"}), true),
        (json!({"name": "a"}), true),
        (json!({"name": "a", "value": "$(a)"}), true),
        (json!({"name": "a", "value": "$(a):2"}), false),
        (json!({"name": "a", "value": "$(b):2"}), true),
        (from, true),
    ] {
        let env = json!([{"name": "a", "value": "1"}, second]);
        let found = told(&json!({"containers": [{"env": env}]}));
        let expected: Vec<_> = is_told.then(|| hides(1)).into_iter().collect();
        assert_eq!(found, expected, "{env}");
    }
    let env = json!([{"name": "a"}]);
    let apart = json!({"containers": [{"env": env}, {"env": env}]});
    assert!(told(&apart).is_empty(), "each container has its own");
}

#[test]
fn a_port_that_another_gets_in_the_way_of_is_told_with_it() {
    let of = |first: &Value, second: &Value| {
        let port = |more: &Value| {
            let mut port = json!({"containerPort": 80, "protocol": "TCP"});
            let members = port.as_object_mut().expect("an object");
            members.extend(more.as_object().expect("an object").clone());
            port
        };
        told(
            &json!({"initContainers": [{"ports": [port(first)]}], "containers": [{"ports": [port(second)]}]}),
        )
    };
    let (one, two) = (
        json!({"hostPort": 1, "hostIP": "10.0.0.1"}),
        json!({"hostPort": 1, "hostIP": "10.0.0.2"}),
    );
    for (first, second, clash) in [
        (&json!({}), &json!({}), Some("duplicate")),
        (&json!({}), &json!({"protocol": "UDP"}), None),
        (&json!({}), &json!({"containerPort": 81}), None),
        (&json!({}), &json!({"hostPort": 1}), Some("overlapping")),
        (&one, &json!({}), Some("overlapping")),
        (&one, &json!({"hostPort": 1}), Some("dangerously ambiguous")),
        (&json!({"hostPort": 1}), &one, Some("dangerously ambiguous")),
        (&one, &json!({"hostPort": 2}), None),
        (&one, &two, None),
        (&one, &one, Some("duplicate")),
    ] {
        let expected = clash.map(|clash| {
            format!("spec.containers[0].ports[0]: {clash} port definition with spec.initContainers[0].ports[0]")
        });
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(of(first, second), expected, "{first} {second}");
    }
    let address = json!({"hostIP": "10.0.0.1", "name": "web", "protocol": "UDP"});
    let expected = "spec.initContainers[0].ports[0]: hostIP set without hostPort: {Name:web HostPort:0 \
        ContainerPort:80 Protocol:UDP HostIP:10.0.0.1}";
    assert_eq!(of(&address, &json!({})), [expected]);
}

#[test]
fn what_else_is_without_effect_is_told_in_order() {
    let term = json!({"topologyKey": "zone"});
    let spec = json!({
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": term}],
                "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}],
            },
        },
        "terminationGracePeriodSeconds": -1,
        "imagePullSecrets": [{"name": "s"}, {"name": "s"}, {}],
        "hostAliases": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, {"ip": "10.0.0.1"}],
        "topologySpreadConstraints": [term, {"labelSelector": {}}],
    });
    let nothing = "labelSelector: a null labelSelector results in matching no pod";
    let expected = [
        format!("spec.topologySpreadConstraints[0].{nothing}"),
        "spec.hostAliases[2].ip: duplicate ip \"10.0.0.1\"".into(),
        "spec.imagePullSecrets[1].name: duplicate name \"s\"".into(),
        "spec.imagePullSecrets[2].name: invalid empty name \"\"".into(),
        "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
            .into(),
        format!("spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].{nothing}"),
        format!(
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.{nothing}"
        ),
    ];
    assert_eq!(told(&spec), expected);
}

/// A pod, or a template of one, that hides a variable.
fn doubtful() -> Value {
    let env = json!([{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]);
    json!({"metadata": {"labels": {"l": "v"}},
        "spec": {"containers": [{"name": "c", "image": "i", "env": env}], "restartPolicy": "Always"}})
}

#[test]
fn whoever_writes_the_template_of_a_workload_is_told_and_whoever_writes_around_it_is_not() {
    let spec = |more: Value| {
        let mut spec = json!({"selector": {"matchLabels": {"l": "v"}}, "template": doubtful()});
        let members = spec.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        json!({"metadata": {"name": "w"}, "spec": spec})
    };
    for (resource, more) in [
        ("deployments", json!({})),
        ("daemonsets", json!({})),
        ("statefulsets", json!({"serviceName": "s"})),
    ] {
        let mut world = World::new();
        let made = world.create(resource, spec(more)).expect("created");
        let told = made.warnings;
        let place = "spec.template.spec.containers[0].env[1]: hides";
        assert!(told.iter().any(|one| one.starts_with(place)), "{told:?}");
        let mut patched = |patch: Value| {
            let decided = world.patch(resource, "w", Patch::Merge(patch));
            decided.expect("patched").warnings.len()
        };
        assert_eq!(patched(json!({"metadata": {"labels": {"m": "v"}}})), 0);
        let respecified = json!({"spec": {"minReadySeconds": 7}});
        assert_eq!(patched(respecified), usize::from(resource != "daemonsets"));
        let annotated = json!({"metadata": {"annotations": {"a": "v"}}});
        assert_eq!(patched(annotated), usize::from(resource == "deployments"));
        let template = json!({"spec": {"template": {"spec": {"hostname": "h"}}}});
        assert_eq!(patched(template), 1, "{resource}");
    }
}

#[test]
fn of_a_pod_only_its_creator_is_told() {
    let mut world = World::new();
    let mut pod = doubtful();
    pod["metadata"]["name"] = "p".into();
    let made = world.create("pods", pod).expect("created");
    assert_eq!(made.warnings.len(), 1, "{:?}", made.warnings);
    let patch = Patch::Merge(json!({"spec": {"containers": [{"name": "c", "image": "j",
        "env": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}]}}));
    let patched = world.patch("pods", "p", patch).expect("patched");
    assert!(patched.warnings.is_empty(), "{:?}", patched.warnings);
}
