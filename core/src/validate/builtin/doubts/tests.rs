//! Objects that are accepted, and what their authors are told of them.

use super::*;
use crate::command::Patch;
use crate::testing::{World, builtin_kind};
use serde_json::json;

/// What is told of a new pod with this specification.
fn told(spec: &Value) -> Vec<String> {
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    warnings(&builtin_kind("pods"), &pod, None)
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

#[test]
fn a_name_that_is_no_label_is_told_of_when_it_is_given() {
    let named = |name: &str| json!({"metadata": {"name": name}});
    let in_pods = "metadata.name: this is used in Pod names and hostnames, which can result in surprising \
        behavior; a DNS label is recommended: [must not contain dots]";
    let of_pod = in_pods.replace("Pod names and hostnames", "the Pod's hostname");
    for (resource, expected) in [
        ("pods", Some(of_pod.as_str())),
        ("deployments", Some(in_pods)),
        ("replicasets", Some(in_pods)),
        ("replicationcontrollers", Some(in_pods)),
        ("jobs", Some(in_pods)),
        ("cronjobs", Some(in_pods)),
        ("statefulsets", None),
        ("daemonsets", None),
        ("configmaps", None),
    ] {
        let kind = builtin_kind(resource);
        let told = warnings(&kind, &named("a.b"), None);
        assert_eq!(told, Vec::from_iter(expected), "{resource}");
        assert!(warnings(&kind, &named("a-b"), None).is_empty());
        let old = named("a.b");
        assert!(warnings(&kind, &named("a.b"), Some(&old)).is_empty());
    }
    let long = "a".repeat(64);
    let told = warnings(&builtin_kind("jobs"), &named(&format!("{long}.b")), None);
    let both = "[must be no more than 63 bytes must not contain dots]";
    assert!(told[0].ends_with(both), "{told:?}");
}

#[test]
fn jobs_that_are_too_large_and_sets_that_keep_everything_are_told_of() {
    let of = |resource: &str, document: Value, old: Option<&Value>| {
        warnings(&builtin_kind(resource), &document, old).len()
    };
    for (mode, completions, parallelism, expected) in [
        ("Indexed", 100_001, 10_001, 1),
        ("NonIndexed", 100_001, 10_001, 0),
        ("Indexed", 100_000, 10_001, 0),
        ("Indexed", 100_001, 10_000, 0),
    ] {
        let job =
            json!({"completionMode": mode, "completions": completions, "parallelism": parallelism});
        let named = json!({"name": "j"});
        let alone = json!({"metadata": named, "spec": job});
        assert_eq!(of("jobs", alone, None), expected);
        let again = json!({"metadata": named, "spec": {"jobTemplate": {"spec": job}}});
        assert_eq!(of("cronjobs", again, None), expected);
    }
    for (limit, expected) in [(-1, 1), (0, 0)] {
        let set = json!({"spec": {"revisionHistoryLimit": limit}});
        assert_eq!(of("statefulsets", set.clone(), None), expected);
        assert_eq!(of("statefulsets", set.clone(), Some(&set)), expected);
        assert_eq!(
            of(
                "deployments",
                json!({"metadata": {"name": "d"}, "spec": set["spec"]}),
                None
            ),
            0
        );
    }
    let zone = json!({"metadata": {"name": "c"}, "spec": {"schedule": "TZ=UTC * * * * *"}});
    assert_eq!(of("cronjobs", zone.clone(), Some(&zone)), 1);
    assert_eq!(of("cronjobs", zone, None), 0);
}

#[test]
fn a_set_that_keeps_all_its_revisions_is_made_and_its_author_is_told() {
    let mut world = World::new();
    let set = json!({"metadata": {"name": "s"}, "spec": {"revisionHistoryLimit": -1, "serviceName": "s",
        "selector": {"matchLabels": {"l": "v"}}, "template": {"metadata": {"labels": {"l": "v"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let made = world.create("statefulsets", set).expect("created");
    let told = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
    assert_eq!(made.warnings, [told]);
}

#[test]
fn what_a_service_has_in_vain_is_told() {
    let deprecated =
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
    let short = "should be in RFC 5952 canonical format";
    for (spec, expected) in [
        (json!({"type": "ClusterIP", "clusterIP": "10.0.0.1"}), vec![]),
        (
            json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "loadBalancerIP": "10.0.0.1",
                "externalIPs": ["10.0.0.2"], "sessionAffinity": "ClientIP"}),
            vec![
                "spec.loadBalancerIP is ignored for headless services".into(),
                "spec.externalIPs is ignored for headless services".into(),
                "spec.SessionAffinity is ignored for headless services".into(),
            ],
        ),
        (
            json!({"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "None"}),
            vec![],
        ),
        (
            json!({"type": "NodePort", "clusterIP": "FD00::0001", "clusterIPs": ["FD00::0001"],
                "externalIPs": ["010.0.0.1", "fd00:0::1"], "externalName": "a.b",
                "loadBalancerSourceRanges": ["10.0.0.0/8", "FD00::/8", "010.0.0.1/08"],
                "trafficDistribution": "PreferClose"}),
            vec![
                format!("spec.clusterIPs[0]: IPv6 address \"FD00::0001\" {short} (\"fd00::1\")"),
                "spec.externalIPs[0]: non-standard IP address \"010.0.0.1\" will be considered invalid in a future \
                 Kubernetes release: use \"10.0.0.1\""
                    .into(),
                format!("spec.externalIPs[1]: IPv6 address \"fd00:0::1\" {short} (\"fd00::1\")"),
                deprecated.into(),
                format!("spec.loadBalancerSourceRanges[1]: IPv6 CIDR value \"FD00::/8\" {short} (\"fd00::/8\")"),
                "spec.loadBalancerSourceRanges[2]: CIDR value \"010.0.0.1/08\" is ambiguous in this context (should \
                 be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"
                    .into(),
                "spec.loadBalancerSourceRanges[2]: non-standard CIDR value \"010.0.0.1/08\" will be considered \
                 invalid in a future Kubernetes release: use \"10.0.0.0/8\""
                    .into(),
                "spec.externalName is ignored when spec.type is not \"ExternalName\"".into(),
                "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into(),
            ],
        ),
        (
            json!({"type": "ExternalName", "externalName": "a.b", "externalIPs": ["10.0.0.1"]}),
            vec!["spec.externalIPs is ignored when spec.type is \"ExternalName\"".into()],
        ),
    ] {
        let service = json!({"spec": spec});
        let told = warnings(&builtin_kind("services"), &service, None);
        assert_eq!(told, expected, "{spec}");
        let again = warnings(&builtin_kind("services"), &service, Some(&service));
        assert_eq!(again, expected, "an update is told the same");
    }
    let annotated =
        json!({"metadata": {"annotations": {"service.kubernetes.io/topology-aware-hints": ""}}});
    let told = warnings(&builtin_kind("services"), &annotated, None);
    assert_eq!(
        told,
        [
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
        service.kubernetes.io/topology-mode instead"
        ]
    );
}
