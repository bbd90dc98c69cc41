//! Who may change owner references: the checks of upstream's `OwnerReferencesPermissionEnforcement`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Access, Authorizer, Config, ControlPlane, Verdict};
use hindsight_core::Actor;
use hindsight_tests::http::Client;
use serde_json::{Value, json};
use std::sync::Arc;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const OWNER: &str = "11111111-1111-1111-1111-111111111111";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Grants of the form `user verb resource/subresource namespace name`, `-` for nothing.
#[derive(Debug)]
struct Grants(&'static [&'static str]);

impl Authorizer for Grants {
    fn allowed(&self, actor: &Actor, access: &Access<'_>) -> Verdict {
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
    "finalizer update *.*/finalizers - *",
]);

fn owner(version: &str, kind: &str, blocks: Value) -> Value {
    json!({"apiVersion": version, "kind": kind, "name": "boss", "uid": OWNER,
        "blockOwnerDeletion": blocks})
}

fn plane(config: Config) -> ControlPlane {
    let plane = ControlPlane::open(Config {
        without_collectors: true,
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
fn the_checks_can_be_turned_off_and_ask_nothing_where_everybody_may_do_everything() {
    let owners = json!([owner("x.y/v1", "Boss", json!(true))]);
    let body = json!({"metadata": {"ownerReferences": owners}}).to_string();
    let off = Config {
        authorizer: Some(Arc::new(GRANTS)),
        without_owner_reference_permissions: true,
        ..Config::default()
    };
    for config in [off, Config::default()] {
        let plane = plane(config);
        let answer =
            Client::new_as(&plane, "nobody").send("PATCH", &format!("{MAPS}/plain"), MERGE, &body);
        assert_eq!(answer.code, 200, "{}", answer.text);
    }
}
