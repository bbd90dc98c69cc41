//! Writes whose object changes each time that they are admitted, and how long that may take.

use super::*;
use crate::admission::capped_deadline;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;

fn theirs(number: usize) -> Command {
    let intent = Intent::Patch(PatchObject {
        key: key("", "configmaps", "default", "a"),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"data": {"theirs": number.to_string()}})),
        validation: FieldValidation::Ignore,
    });
    Command::new(actor(), Time(0), [0; 16], intent)
}

/// A scene in which somebody else writes while the webhook is asked, this many times.
fn contended(times: usize) -> Scene {
    let fake: Arc<OnceLock<Arc<Fake>>> = Arc::default();
    let (inside, asked) = (Arc::clone(&fake), Mutex::new(0));
    let configurations = "validatingwebhookconfigurations";
    let scene = Scene::new(configurations, &["UPDATE", "DELETE"], move |_| {
        let mut asked = asked.lock().expect("a lock");
        *asked += 1;
        if *asked <= times {
            let fake = inside.get().expect("an engine");
            fake.carry_out(theirs(*asked)).expect("accepted");
        }
        Some(json!({"allowed": true, "warnings": ["careful"]}))
    });
    scene.write(create("", "configmaps", "default", &named("a")));
    assert!(fake.set(Arc::clone(&scene.fake)).is_ok(), "set once");
    scene
}

#[test]
fn a_write_is_admitted_again_as_often_as_others_write_until_its_time_is_over() {
    let ours = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"ours": "1"}});
    for (method, media, body) in [
        ("PATCH", MERGE, &ours),
        ("PATCH", APPLY, &ours),
        ("PUT", "application/json", &ours),
        ("DELETE", "", &Value::Null),
    ] {
        let path = format!("{MAPS}/a?fieldManager=me");
        let scene = contended(30);
        let answer = scene.send(method, &path, media, body);
        assert_eq!(
            (answer.code, scene.seen().len()),
            (200, 31),
            "{}",
            answer.body
        );
        let left = &scene.object("", "configmaps", "a")["data"]["ours"];
        assert_eq!(left.is_null(), method == "DELETE");
        let scene = contended(usize::MAX);
        let answer = scene.send(method, &format!("{path}&timeout=50ms"), media, body);
        assert_eq!(answer.code, 504, "{}", answer.body);
        assert_eq!(answer.warnings.len(), 1, "what was said last is not lost");
    }
}

#[test]
fn a_write_that_names_a_version_fails_once_another_write_comes_first() {
    for (method, media) in [
        ("PUT", "application/json"),
        ("PATCH", MERGE),
        ("DELETE", ""),
    ] {
        let scene = contended(1);
        let version = scene.object("", "configmaps", "a")["metadata"]["resourceVersion"].clone();
        let body = match method {
            "DELETE" => json!({"preconditions": {"resourceVersion": version}}),
            _ => json!({"metadata": {"name": "a", "resourceVersion": version}, "data": {"o": "1"}}),
        };
        let answer = scene.send(method, &format!("{MAPS}/a"), media, &body);
        assert_eq!(
            (answer.code, scene.seen().len()),
            (409, 1),
            "{}",
            answer.body
        );
    }
}

#[test]
fn admission_takes_as_long_as_the_client_says_and_at_most_34_seconds() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        for (said, ends) in [(None, 34), (Some(1), 1), (Some(3_600), 34)] {
            assert_eq!(capped_deadline(said.map(after)), after(ends), "{said:?}");
        }
    });
    // Each of these may be silent for five seconds.
    let hook = |index| {
        json!({"name": format!("w{index}.example.com"), "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "clientConfig": {"url": "https://w.example.com"},
            "timeoutSeconds": 5, "failurePolicy": "Ignore",
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["*"],
                "resources": ["configmaps"]}]})
    };
    let hooks: Vec<Value> = (0..8).map(hook).collect();
    let configuration = json!({"metadata": {"name": "y"}, "webhooks": hooks});
    for (query, asked) in [("", 7), ("?timeout=1h", 7), ("?timeout=9s", 2)] {
        let (group, kind) = (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
        );
        let scene = Scene::new(kind, &["CONNECT"], |_| None);
        scene.write(create(group, kind, "", &configuration));
        let path = format!("{MAPS}{query}");
        let answer = scene.send("POST", &path, "application/json", &named("a"));
        assert_eq!(answer.code, 504, "{}", answer.body);
        let seen = scene.seen();
        let told = seen.last().map(|(url, _)| &**url);
        let last = Some("https://w.example.com?timeout=4s");
        assert_eq!((seen.len(), told), (asked, last), "{query}");
    }
}
