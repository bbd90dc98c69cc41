//! A control plane inside this process: the `kube` client talks to it without a socket. Run it with
//! `cargo run --example embedded`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use hindsight::core::Revision;
use hindsight::{Config, ControlPlane};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Client, Resource, ResourceExt};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plane = tokio::task::spawn_blocking(|| ControlPlane::open(Config::default())).await??;
    let client = Client::new(plane.service(), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);

    let owner = maps
        .create(&PostParams::default(), &map("owner", None))
        .await?;
    for index in 0..3 {
        let child = map(&format!("child-{index}"), Some(&owner));
        maps.create(&PostParams::default(), &child).await?;
    }
    println!(
        "{} objects",
        maps.list(&ListParams::default()).await?.items.len()
    );

    maps.delete("owner", &DeleteParams::default()).await?;
    while !maps.list(&ListParams::default()).await?.items.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("all gone at revision {}", plane.state().revision);
    for change in plane.changes_after(
        owner
            .resource_version()
            .unwrap_or_default()
            .parse()
            .map(Revision)?,
        100,
    )? {
        println!("{:>4}  {}", change.commit.revision, change.commit.key);
    }
    // The client holds a clone of the plane. With a data directory, closing waits for the disk.
    tokio::task::spawn_blocking(move || plane.close()).await?;
    Ok(())
}

fn map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owners = owner
        .and_then(|owner| owner.controller_owner_ref(&()))
        .map(|one| vec![one]);
    let name = Some(name.to_owned());
    ConfigMap {
        metadata: ObjectMeta {
            name,
            owner_references: owners,
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}
