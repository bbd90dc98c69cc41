//! The `kube` crate as a client of the server: typed and dynamic objects, watches, and a small
//! controller.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use futures_util::{StreamExt, TryStreamExt};
use hindsight_tests::server::Server;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams,
    PropagationPolicy, WatchEvent, WatchParams,
};
use kube::config::KubeConfigOptions;
use kube::runtime::finalizer::{Event as Finalizer, finalizer};
use kube::runtime::{Controller, WatchStreamExt, controller::Action, reflector, watcher};
use kube::{Client, Config, Resource, ResourceExt};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_mins(2);

async fn client(server: &Server) -> Client {
    let kubeconfig =
        kube::config::Kubeconfig::read_from(server.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a usable kubeconfig")).expect("a client")
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..Default::default()
        },
        data: Some([("k".to_owned(), "v".to_owned())].into()),
        ..Default::default()
    }
}

fn owned_by(owner: &ConfigMap, name: &str) -> ConfigMap {
    let mut dependent = config_map(name);
    dependent.metadata.owner_references = owner.controller_owner_ref(&()).map(|one| vec![one]);
    dependent
}

async fn eventually<F: AsyncFn() -> bool>(what: &str, check: F) {
    let reached = async {
        while !check().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, reached).await.is_ok(),
        "never happened: {what}"
    );
}

#[tokio::test]
async fn typed_objects_round_trip() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    let created = maps
        .create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    assert!(created.uid().is_some() && created.resource_version().is_some());
    let patch = Patch::Merge(json!({"data": {"k": "w"}}));
    let patched = maps
        .patch("a", &PatchParams::default(), &patch)
        .await
        .expect("patched");
    assert_eq!(patched.data.as_ref().expect("data")["k"], "w");
    let mut replaced = patched.clone();
    replaced.data = None;
    maps.replace("a", &PostParams::default(), &replaced)
        .await
        .expect("replaced");
    let conflict = maps.replace("a", &PostParams::default(), &patched).await;
    assert!(matches!(conflict, Err(kube::Error::Api(status)) if status.code == 409));
    maps.delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    assert!(maps.get_opt("a").await.expect("readable").is_none());
}

#[tokio::test]
async fn discovery_leads_to_dynamic_objects() {
    let server = Server::start();
    let client = client(&server).await;
    let found = kube::discovery::Discovery::new(client.clone())
        .run_aggregated()
        .await;
    let discovery = found.expect("discovery");
    let gvk = kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap");
    let (resource, _) = discovery
        .resolve_gvk(&gvk)
        .expect("ConfigMap is discovered");
    let maps: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
    let object = DynamicObject::new("a", &resource).data(json!({"data": {"k": "v"}}));
    maps.create(&PostParams::default(), &object)
        .await
        .expect("created");
    let listed = maps.list(&ListParams::default()).await.expect("a list");
    assert_eq!(listed.items.len(), 1);
}

#[tokio::test]
async fn a_watch_tells_every_change_in_order() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    let start = maps.list(&ListParams::default()).await.expect("a list");
    let version = start.metadata.resource_version.expect("a version");
    let stream = maps
        .watch(&WatchParams::default(), &version)
        .await
        .expect("a watch");
    maps.create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    let patch = Patch::Merge(json!({"data": {"k": "w"}}));
    maps.patch("a", &PatchParams::default(), &patch)
        .await
        .expect("patched");
    maps.delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    let seen: Vec<String> = stream
        .try_filter_map(async |event| {
            Ok(match event {
                WatchEvent::Added(_) => Some("ADDED".to_owned()),
                WatchEvent::Modified(_) => Some("MODIFIED".to_owned()),
                WatchEvent::Deleted(_) => Some("DELETED".to_owned()),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => None,
            })
        })
        .take(3)
        .try_collect()
        .await
        .expect("three events");
    assert_eq!(seen, ["ADDED", "MODIFIED", "DELETED"]);
}

#[tokio::test]
async fn a_reflector_follows_with_a_streaming_list() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    maps.create(&PostParams::default(), &config_map("before"))
        .await
        .expect("created");
    let (store, writer) = reflector::store();
    let config = watcher::Config::default().streaming_lists();
    let stream = reflector(writer, watcher(maps.clone(), config)).default_backoff();
    let follow = tokio::spawn(stream.for_each(async |_| {}));
    eventually("the first list", async || store.state().len() == 1).await;
    maps.create(&PostParams::default(), &config_map("after"))
        .await
        .expect("created");
    eventually("the new object", async || store.state().len() == 2).await;
    maps.delete("before", &DeleteParams::default())
        .await
        .expect("deleted");
    eventually("the deletion", async || store.state().len() == 1).await;
    follow.abort();
}

#[tokio::test]
async fn each_policy_treats_dependents_as_it_says() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    for (policy, survives) in [
        (PropagationPolicy::Background, false),
        (PropagationPolicy::Foreground, false),
        (PropagationPolicy::Orphan, true),
    ] {
        let owner = maps
            .create(&PostParams::default(), &config_map("owner"))
            .await
            .expect("owner");
        maps.create(&PostParams::default(), &owned_by(&owner, "child"))
            .await
            .expect("child");
        let params = DeleteParams {
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        maps.delete("owner", &params).await.expect("accepted");
        eventually("the owner's end", async || {
            maps.get_opt("owner")
                .await
                .is_ok_and(|found| found.is_none())
        })
        .await;
        if survives {
            let child = maps.get("child").await.expect("the child stays");
            assert!(child.owner_references().is_empty());
        } else {
            eventually("the child's end", async || {
                maps.get_opt("child")
                    .await
                    .is_ok_and(|found| found.is_none())
            })
            .await;
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error("finalizer: {0}")]
    Finalizer(String),
}

/// Keeps one child per labelled parent; its finalizer must run before the parent is removed.
async fn reconcile(parent: Arc<ConfigMap>, context: Arc<Client>) -> Result<Action, Trouble> {
    let namespace = parent.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced((*context).clone(), &namespace);
    let outcome = finalizer(
        &maps,
        "example.com/cleanup",
        Arc::clone(&parent),
        async |event| {
            if let Finalizer::Apply(parent) = event {
                let child = owned_by(&parent, &format!("{}-child", parent.name_any()));
                match maps.create(&PostParams::default(), &child).await {
                    Err(kube::Error::Api(status)) if status.code == 409 => {}
                    other => drop(other?),
                }
            }
            Ok::<Action, kube::Error>(Action::await_change())
        },
    );
    outcome
        .await
        .map_err(|error| Trouble::Finalizer(error.to_string()))
}

#[tokio::test]
async fn a_controller_with_owner_references_and_finalizers_works() {
    let server = Server::start();
    let client = client(&server).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let parents = watcher::Config::default().labels("role=parent");
    let controller = Controller::new(maps.clone(), parents)
        .owns(maps.clone(), watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(client),
        );
    let running = tokio::spawn(controller.for_each(async |_| {}));
    let mut parent = config_map("p");
    parent.metadata.labels = Some([("role".to_owned(), "parent".to_owned())].into());
    maps.create(&PostParams::default(), &parent)
        .await
        .expect("created");
    let exists = async |name: &str| maps.get_opt(name).await.is_ok_and(|found| found.is_some());
    eventually("the child", async || exists("p-child").await).await;
    maps.delete("p", &DeleteParams::default())
        .await
        .expect("accepted");
    eventually("the parent's end", async || !exists("p").await).await;
    eventually("the child's end", async || !exists("p-child").await).await;
    running.abort();
}

#[tokio::test]
async fn a_namespace_goes_with_its_contents() {
    let server = Server::start();
    let client = client(&server).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let metadata = ObjectMeta {
        name: Some("work".into()),
        ..ObjectMeta::default()
    };
    let namespace = Namespace {
        metadata,
        ..Namespace::default()
    };
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("created");
    let maps: Api<ConfigMap> = Api::namespaced(client, "work");
    maps.create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    namespaces
        .delete("work", &DeleteParams::default())
        .await
        .expect("accepted");
    eventually("the namespace's end", async || {
        namespaces
            .get_opt("work")
            .await
            .is_ok_and(|found| found.is_none())
    })
    .await;
    assert!(maps.get_opt("a").await.expect("readable").is_none());
}

#[tokio::test]
async fn what_is_applied_belongs_to_who_applied_it() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server).await);
    let config = |value: &str| {
        Patch::Apply(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"k": value}}),
        )
    };
    let first = PatchParams::apply("first");
    let made = maps.patch("a", &first, &config("v")).await.expect("made");
    let managed = made.metadata.managed_fields.expect("an account");
    assert_eq!(managed[0].manager.as_deref(), Some("first"));
    assert_eq!(managed[0].operation.as_deref(), Some("Apply"));
    assert_eq!(
        managed[0].fields_v1.as_ref().expect("fields").0,
        json!({"f:data": {"f:k": {}}})
    );
    let again = maps
        .patch("a", &first, &config("v"))
        .await
        .expect("the same");
    assert_eq!(
        again.metadata.resource_version,
        made.metadata.resource_version
    );
    let second = PatchParams::apply("second");
    let refused = maps.patch("a", &second, &config("w")).await;
    let Err(kube::Error::Api(status)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((status.code, &*status.reason), (409, "Conflict"));
    assert!(
        status.message.contains("conflict with \"first\": .data.k"),
        "{}",
        status.message
    );
    let forced = maps.patch("a", &second.clone().force(), &config("w")).await;
    assert_eq!(forced.expect("forced").data.expect("data")["k"], "w");
    let dry = first.clone().force().dry_run();
    let dry = maps.patch("a", &dry, &config("x")).await.expect("decided");
    assert_eq!(dry.data.expect("data")["k"], "x");
    let read = maps.get("a").await.expect("read");
    assert_eq!(read.data.expect("data")["k"], "w");
}
