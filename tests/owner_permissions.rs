//! Who may change owner references: the checks of upstream's `OwnerReferencesPermissionEnforcement`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Access, Authorizer, Config, ControlPlane, Verdict};
use hindsight_core::Actor;
use hindsight_tests::http::{Client, JSON, MAPS, MERGE};
use serde_json::{Value, json};
use std::sync::Arc;

const OWNER: &str = "11111111-1111-1111-1111-111111111111";

/// Grants of the form `user verb resource/subresource namespace name`, with `-` for an empty part.
#[derive(Debug)]
struct Grants(&'static [&'static str]);

impl Authorizer for Grants {
    fn authorize(&self, actor: &Actor, access: &Access<'_>) -> Verdict {
        let text = |text: &str| if text.is_empty() { "-" } else { text }.to_owned();
        let asked = format!(
            "{} {} {}/{} {} {}",
            actor.user,
            access.verb,
            access.resource,
            text(access.subresource),
            text(access.namespace),
            text(access.name),
        );
        if &*actor.user == "admin" || self.0.contains(&asked.as_str()) {
            return Verdict::Allowed;
        }
        Verdict::Denied("no".into())
    }
}

const GRANTS: Grants = Grants(&[
    "deleter delete configmaps/- default plain",
    "deleter delete configmaps/- default owned",
    "blocker delete configmaps/- default plain",
    "blocker update configmaps/finalizers default boss",
    "blocker update nodes/finalizers - boss",
    "finalizer delete configmaps/- default plain",
    "deleter delete deployments.apps/- default web",
    "blocker delete deployments.apps/status default web",
    "finalizer update *.*/finalizers - *",
]);

fn owner(version: &str, kind: &str, blocks: Value) -> Value {
    json!({"apiVersion": version, "kind": kind, "name": "boss", "uid": OWNER,
        "blockOwnerDeletion": blocks})
}

fn plane(config: Config) -> ControlPlane {
    let plane = ControlPlane::open(Config {
        collectors: false,
        ..config
    });
    let plane = plane.expect("it opens");
    let admin = Client::new(&plane);
    let map = |name: &str, owners: Value| {
        json!({"metadata": {"name": name, "ownerReferences": owners}}).to_string()
    };
    let free = json!([owner("v1", "ConfigMap", json!(false))]);
    for body in [map("plain", json!([])), map("owned", free)] {
        let answer = admin.send("POST", MAPS, JSON, &body);
        assert_eq!(answer.code, 201, "{}", answer.text);
    }
    plane
}

fn guarded() -> ControlPlane {
    plane(Config {
        authorizer: Some(Arc::new(GRANTS)),
        ..Config::default()
    })
}

const CANNOT_DELETE: &str = "cannot set an ownerRef on a resource you can't delete: no, <nil>";
const CANNOT_BLOCK: &str = "cannot set blockOwnerDeletion if an ownerReference refers to a \
     resource you can't set finalizers on: no, <nil>";
const NO_MAPPING: &str = "cannot set blockOwnerDeletion in this case because cannot find \
     RESTMapping for APIVersion x.y/v1 Kind Boss: no matches for kind \"Boss\" in version \"x.y/v1\"";

#[test]
fn changed_references_need_delete_and_new_blocking_ones_need_the_owners_finalizers() {
    let map = || owner("v1", "ConfigMap", json!(true));
    let free = || owner("v1", "ConfigMap", json!(false));
    let node = || owner("v1", "Node", json!(true));
    let unknown = || owner("x.y/v1", "Boss", json!(true));
    let cases = [
        ("nobody", "plain", json!([free()]), CANNOT_DELETE),
        ("deleter", "plain", json!([free()]), ""),
        ("deleter", "plain", json!([map()]), CANNOT_BLOCK),
        ("blocker", "plain", json!([map()]), ""),
        ("blocker", "plain", json!([node()]), ""),
        ("blocker", "plain", json!([unknown()]), NO_MAPPING),
        ("blocker", "plain", json!([map(), unknown()]), NO_MAPPING),
        ("finalizer", "plain", json!([unknown()]), ""),
        ("nobody", "owned", json!([free()]), ""),
        ("nobody", "owned", json!([]), CANNOT_DELETE),
        ("deleter", "owned", json!([]), ""),
        ("deleter", "owned", json!([map()]), CANNOT_BLOCK),
        ("blocker", "owned", json!([map()]), CANNOT_DELETE),
    ];
    for (user, name, owners, refusal) in cases {
        let plane = guarded();
        let client = Client::new_as(&plane, user);
        let body = json!({"metadata": {"ownerReferences": owners}}).to_string();
        for dry_run in ["?dryRun=All", ""] {
            let path = format!("{MAPS}/{name}{dry_run}");
            let answer = client.send("PATCH", &path, MERGE, &body);
            let case = format!("{user} {name} {body}{dry_run}: {}", answer.text);
            if refusal.is_empty() {
                assert_eq!(answer.code, 200, "{case}");
                continue;
            }
            let message = format!("configmaps \"{name}\" is forbidden: {refusal}");
            assert_eq!(
                (answer.code, answer.json()["message"].clone()),
                (403, json!(message)),
                "{case}"
            );
            let details = json!({"name": name, "kind": "configmaps"});
            assert_eq!(answer.json()["details"], details, "{case}");
        }
    }
}

#[test]
fn a_new_object_may_have_owners_and_needs_permission_to_block_them() {
    let cases = [
        (
            "nobody",
            json!([owner("v1", "ConfigMap", json!(null))]),
            201,
        ),
        (
            "nobody",
            json!([owner("v1", "ConfigMap", json!(true))]),
            403,
        ),
        (
            "blocker",
            json!([owner("v1", "ConfigMap", json!(true))]),
            201,
        ),
    ];
    for (user, owners, code) in cases {
        let plane = guarded();
        let body = json!({"metadata": {"name": "new", "ownerReferences": owners}}).to_string();
        let answer = Client::new_as(&plane, user).send("POST", MAPS, JSON, &body);
        assert_eq!(answer.code, code, "{user} {body}: {}", answer.text);
    }
}

#[test]
fn references_that_stop_blocking_or_stay_need_no_finalizers() {
    let plane = guarded();
    let path = format!("{MAPS}/plain");
    let patch = |user: &str, blocks: Value| {
        let owners = json!([owner("v1", "ConfigMap", blocks)]);
        let body = json!({"metadata": {"ownerReferences": owners}}).to_string();
        Client::new_as(&plane, user)
            .send("PATCH", &path, MERGE, &body)
            .code
    };
    assert_eq!(patch("blocker", json!(true)), 200);
    assert_eq!(patch("nobody", json!(true)), 200, "nothing changes");
    assert_eq!(patch("deleter", json!(false)), 200);
    assert_eq!(patch("deleter", json!(true)), 403);
}

#[test]
fn what_counts_as_a_change_is_what_differs_in_order() {
    let named = |name: &str, blocks: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": OWNER,
            "blockOwnerDeletion": blocks})
    };
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "other"});
    let free = owner("v1", "ConfigMap", json!(false));
    let unset = owner("v1", "ConfigMap", json!(null));
    let blocks = owner("v1", "ConfigMap", json!(true));
    let same_uid =
        |first: bool, last: bool| json!([named("boss", json!(first)), named("twin", json!(last))]);
    for (before, after, user, refusal) in [
        (
            json!([free, other]),
            json!([other, free]),
            "nobody",
            CANNOT_DELETE,
        ),
        (json!([free, other]), json!([other, free]), "deleter", ""),
        (json!([unset]), json!([blocks]), "deleter", CANNOT_BLOCK),
        (json!([unset]), json!([blocks]), "blocker", ""),
        // Of two references with the same UID, the last one decides whether it blocked before.
        (
            same_uid(true, false),
            same_uid(true, true),
            "deleter",
            CANNOT_BLOCK,
        ),
        (same_uid(false, true), same_uid(true, true), "deleter", ""),
    ] {
        let plane = guarded();
        let path = format!("{MAPS}/plain");
        let body = |owners: &Value| json!({"metadata": {"ownerReferences": owners}}).to_string();
        let set = Client::new(&plane).send("PATCH", &path, MERGE, &body(&before));
        assert_eq!(set.code, 200, "{}", set.text);
        let answer = Client::new_as(&plane, user).send("PATCH", &path, MERGE, &body(&after));
        let expected = if refusal.is_empty() { 200 } else { 403 };
        assert_eq!(
            answer.code, expected,
            "{user} {before} {after}: {}",
            answer.text
        );
        assert!(answer.text.contains(refusal), "{}", answer.text);
    }
}

#[test]
fn a_status_is_asked_for_by_its_name_and_that_of_a_pod_is_not() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
    let plane = guarded();
    let admin = Client::new(&plane);
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    let labels = json!({"a": "b"});
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let web = json!({"metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template}});
    for (collection, object) in [(PODS, &pod), (DEPLOYMENTS, &web)] {
        let made = admin.send("POST", collection, JSON, &object.to_string());
        assert_eq!(made.code, 201, "{}", made.text);
    }
    let owners = json!([owner("v1", "ConfigMap", json!(false))]);
    let body = json!({"metadata": {"ownerReferences": owners}}).to_string();
    for (user, path, code) in [
        ("nobody", format!("{PODS}/p"), 403),
        ("nobody", format!("{PODS}/p/status"), 200),
        ("nobody", format!("{DEPLOYMENTS}/web/status"), 403),
        ("deleter", format!("{DEPLOYMENTS}/web/status"), 403),
        ("blocker", format!("{DEPLOYMENTS}/web"), 403),
        ("blocker", format!("{DEPLOYMENTS}/web/status"), 200),
    ] {
        let answer = Client::new_as(&plane, user).send("PATCH", &path, MERGE, &body);
        assert_eq!(answer.code, code, "{user} {path}: {}", answer.text);
    }
}

#[test]
fn an_object_that_a_replacement_makes_is_a_new_one() {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let plane = guarded();
    for (name, blocks, code) in [("a", false, 201), ("b", true, 403)] {
        let owners = json!([owner("v1", "ConfigMap", json!(blocks))]);
        let lease = json!({"metadata": {"name": name, "ownerReferences": owners}}).to_string();
        let path = format!("{LEASES}/{name}");
        let answer = Client::new_as(&plane, "nobody").send("PUT", &path, JSON, &lease);
        assert_eq!(answer.code, code, "{name}: {}", answer.text);
    }
}

#[test]
fn the_checks_can_be_turned_off_and_ask_nothing_where_everybody_may_do_everything() {
    let owners = json!([owner("x.y/v1", "Boss", json!(true))]);
    let body = json!({"metadata": {"ownerReferences": owners}}).to_string();
    let off = Config {
        authorizer: Some(Arc::new(GRANTS)),
        owner_reference_permissions: false,
        ..Config::default()
    };
    for config in [off, Config::default()] {
        let plane = plane(config);
        let answer =
            Client::new_as(&plane, "nobody").send("PATCH", &format!("{MAPS}/plain"), MERGE, &body);
        assert_eq!(answer.code, 200, "{}", answer.text);
    }
}
