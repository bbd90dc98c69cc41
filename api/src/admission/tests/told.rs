//! What webhooks are shown, and what they are not asked about.

use super::*;

/// Source: mutating admission comes before the strategies of kinds.
#[test]
fn mutating_webhooks_see_an_object_before_the_server_fills_it_in() {
    let configurations = "mutatingwebhookconfigurations";
    let scene = Scene::new(configurations, &["*"], |_| Some(json!({"allowed": true})));
    let shown = |method: &str, path: &str, media: &str, body: &Value| {
        let answer = scene.send(method, path, media, body);
        assert!(answer.code < 300, "{method} {path}: {}", answer.body);
        scene.seen().pop().expect("a question").1["object"].clone()
    };
    let json = "application/json";
    let container = json!({"name": "c", "image": "i"});
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
    assert_eq!(shown("POST", PODS, json, &pod)["status"], json!({}));
    let namespaces = "/api/v1/namespaces";
    let nameless = json!({"metadata": {"generateName": "gns-"}});
    let namespace = shown("POST", namespaces, json, &nameless);
    assert_eq!(namespace["metadata"]["labels"], Value::Null);
    assert_eq!(namespace["spec"]["finalizers"], Value::Null);
    let namespace = shown("POST", namespaces, json, &named("n"));
    let label = &namespace["metadata"]["labels"]["kubernetes.io/metadata.name"];
    assert_eq!(label, "n");
    let labels = json!({"a": "b"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let deployment = json!({"metadata": {"name": "d"}, "status": {"replicas": 3}, "spec": {
        "selector": {"matchLabels": labels}, "template": template}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let made = shown("POST", deployments, json, &deployment);
    assert_eq!(made["status"]["replicas"], 3);
    let replicas = json!({"spec": {"replicas": 2}});
    let changed = shown("PATCH", &format!("{deployments}/d"), MERGE, &replicas);
    assert_eq!(changed["metadata"]["generation"], 1);
    let stored = scene.object("apps", "deployments", "d");
    assert_eq!(stored["metadata"]["generation"], 2);
    assert_eq!(stored["status"], json!({}));
}

/// Source: `UpdatedObject` comes before the comparison of versions in `store.Update`.
#[test]
fn the_version_of_a_replacement_is_compared_after_mutating_webhooks() {
    let note = json!([{"op": "add", "path": "/metadata/annotations", "value": {"seen": "yes"}}]);
    let (allowed, refused) = (json!({"allowed": true}), json!({"allowed": false}));
    for (answer, group, resource, path, version, code) in [
        (&refused, "", "configmaps", MAPS, "1", 400),
        (&allowed, "", "configmaps", MAPS, "1", 409),
        (&patched(&note), "", "configmaps", MAPS, "1", 409),
        (&patched(&note), "", "configmaps", MAPS, "", 200),
        (
            &patched(&note),
            "coordination.k8s.io",
            "leases",
            LEASES,
            "1",
            409,
        ),
        (
            &patched(&note),
            "coordination.k8s.io",
            "leases",
            LEASES,
            "",
            422,
        ),
    ] {
        let answer = answer.clone();
        let configurations = "mutatingwebhookconfigurations";
        let scene = Scene::new(configurations, &["*"], move |_| Some(answer.clone()));
        scene.write(create(group, resource, "default", &named("a")));
        let before = scene.object(group, resource, "a");
        let put = json!({"metadata": {"name": "a", "resourceVersion": version}});
        let answer = scene.send("PUT", &format!("{path}/a"), "application/json", &put);
        let seen = scene.seen();
        assert_eq!((answer.code, seen.len()), (code, 1), "{}", answer.body);
        let shown = &seen[0].1["object"]["metadata"]["resourceVersion"];
        assert!(version.is_empty() || shown == version, "{shown}");
        let is_same = scene.object(group, resource, "a") == before;
        assert_eq!(is_same, code != 200, "{}", answer.body);
    }
}

/// If the server repaired an illegal change before webhooks see it, nobody could be refused for it any more
/// once a webhook changed the object.
#[test]
fn what_a_client_may_not_change_is_refused_whatever_webhooks_make_of_the_rest() {
    let note = json!([{"op": "add", "path": "/metadata/annotations", "value": {"seen": "yes"}}]);
    let answer = patched(&note);
    let configurations = "mutatingwebhookconfigurations";
    let scene = Scene::new(configurations, &["*"], move |_| Some(answer.clone()));
    let held = json!({"metadata": {"name": "a", "finalizers": ["x.y/z"]}});
    scene.write(create("", "configmaps", "default", &held));
    let before = scene.object("", "configmaps", "a");
    let (item, when) = (format!("{MAPS}/a"), "2024-01-01T00:00:00Z");
    let account = json!([{"manager": "m".repeat(200), "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]);
    for metadata in [
        json!({"uid": "of-an-earlier-one", "finalizers": null}),
        json!({"uid": "of-an-earlier-one", "labels": {"a": "b"}}),
        json!({"deletionTimestamp": when}),
        json!({"deletionGracePeriodSeconds": 3}),
        json!({"managedFields": account}),
    ] {
        for media in [MERGE, "application/strategic-merge-patch+json"] {
            let body = json!({"metadata": metadata});
            let answer = scene.send("PATCH", &item, media, &body);
            assert_eq!(answer.code, 422, "{metadata}: {}", answer.body);
        }
        let name = json!({"name": "a", "deletionTimestamp": when});
        let answer = scene.send("PUT", &item, "application/json", &json!({"metadata": name}));
        assert_eq!(answer.code, 422, "{}", answer.body);
        assert_eq!(scene.object("", "configmaps", "a"), before, "{metadata}");
    }
    let negative = json!({"metadata": {"name": "b", "generation": -3}});
    let answer = scene.send("POST", MAPS, "application/json", &negative);
    assert_eq!(answer.code, 422, "{}", answer.body);
    // An invalid value that the server leaves as it was sent can still be mended by a webhook.
    let mended = scene.send(
        "PATCH",
        &item,
        MERGE,
        &json!({"metadata": {"annotations": {"a/b/c": "d"}}}),
    );
    assert_eq!(mended.code, 200, "{}", mended.body);
}

/// Policies forbid deletion without a grace period: they must see the one that will be granted, not the one
/// requested.
#[test]
fn a_webhook_is_told_the_seconds_to_stop_that_will_be_given() {
    let scene = Scene::denying(&["DELETE"]);
    scene.write(pod("run", "n"));
    scene.write(pod("unseen", ""));
    scene.write(create("", "configmaps", "default", &named("map")));
    for (path, asked, told) in [
        (format!("{PODS}/run"), Value::Null, json!(30)),
        (format!("{PODS}/run"), json!(7), json!(7)),
        (format!("{PODS}/run"), json!(-9), json!(1)),
        (format!("{PODS}/run"), json!(0), json!(0)),
        (format!("{PODS}/unseen"), Value::Null, json!(0)),
        (format!("{PODS}/unseen"), json!(7), json!(0)),
        (format!("{MAPS}/map"), Value::Null, Value::Null),
        (format!("{MAPS}/map"), json!(7), json!(7)),
        (format!("{MAPS}/map"), json!(-9), json!(1)),
        // In a deletion of a collection each object has its own copy of the options, which webhooks are not
        // shown.
        (MAPS.to_owned(), json!(-9), json!(-9)),
        (PODS.to_owned(), Value::Null, Value::Null),
    ] {
        let body = json!({"gracePeriodSeconds": asked});
        scene.send("DELETE", &path, "application/json", &body);
        let (_, request) = scene.seen().pop().expect("a question");
        assert_eq!(
            request["options"]["gracePeriodSeconds"], told,
            "{path} {asked}"
        );
    }
}

#[test]
fn a_webhook_is_told_the_preconditions_of_the_client_and_no_others() {
    let scene = Scene::denying(&["DELETE"]);
    scene.write(create("", "configmaps", "default", &named("a")));
    let uid = scene.object("", "configmaps", "a")["metadata"]["uid"].clone();
    for path in [MAPS.to_owned(), format!("{MAPS}/a")] {
        for preconditions in [Value::Null, json!({"uid": uid})] {
            let body = json!({"preconditions": preconditions});
            scene.send("DELETE", &path, "application/json", &body);
            let (_, request) = scene.seen().pop().expect("a question");
            assert_eq!(request["options"]["preconditions"], preconditions, "{path}");
        }
    }
}
