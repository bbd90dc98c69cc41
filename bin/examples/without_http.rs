//! The engine alone, without the Kubernetes API: commands in, changes out, and why an object was deleted. Run
//! it with `cargo run --example without_http --no-default-features`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use hindsight::core::command::{Create, Delete, FieldValidation, Target};
use hindsight::core::{Actor, Command, GroupResource, Intent, Object, ObjectKey, Request, Rule};
use hindsight::gc::Identity;
use hindsight::{Config, ControlPlane};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::spawn_blocking;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // With a `data_dir` everything is there again at the next start.
    let plane = spawn_blocking(|| ControlPlane::open(Config::default())).await??;
    let owner = create(&plane, "owner", json!([])).await?;
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner.meta.uid.as_str()}]);
    let child = create(&plane, "child", reference).await?;

    // Forecasts and explanations read the log, so they do not belong on an async thread.
    let asker = plane.clone();
    let forecast = spawn_blocking(move || {
        let command = command(&asker, "delete", delete("owner"));
        asker.forecast(command)
    });
    for change in forecast.await??.course.changes {
        println!("would go: {}", change.commit.key);
    }

    let mut changed = plane.changed();
    submit(&plane, command(&plane, "delete", delete("owner"))).await?;
    while plane.state().get(&child.key).is_some() {
        changed.next().await.ok_or("the plane was closed")?;
    }
    for change in plane.changes_after(child.revision, 100)? {
        let collector = Identity::of(&change.commit.actor);
        println!(
            "{:>4}  {} {collector:?}",
            change.commit.revision, change.commit.key
        );
    }

    let (asker, key) = (plane.clone(), child.key.clone());
    let why = spawn_blocking(move || asker.explain(&key, None)).await??;
    println!("child is {}", why.explanation.state.name());
    if let Some(root) = why.explanation.root {
        println!(
            "it began with {} ({}) of {}",
            root.user, root.verb, root.object
        );
    }

    let (asker, then) = (plane.clone(), child.revision);
    let past = spawn_blocking(move || asker.reader().state_at(asker.empty_state(), then)).await??;
    println!(
        "at revision {then} it was there: {}",
        past.get(&child.key).is_some()
    );

    spawn_blocking(move || plane.close()).await?;
    Ok(())
}

/// A command in a user's name, with the verb that an explanation will report.
fn command(plane: &ControlPlane, verb: &str, intent: Intent) -> Command {
    let request = Request {
        verb: verb.into(),
        ..Request::default()
    };
    Command {
        request: Arc::new(request),
        ..Command::new(
            Arc::new(Actor::new("alice")),
            plane.now(),
            plane.seed(),
            intent,
        )
    }
}

/// Submits one command. Several could be submitted together; each would have its own answer.
async fn submit(plane: &ControlPlane, command: Command) -> Result<Arc<Object>, Failure> {
    let mut answers = plane.submit(vec![command]).await?;
    let decision = answers.pop().ok_or("no answer")??;
    Ok(Arc::clone(decision.outcome.object()))
}

async fn create(plane: &ControlPlane, name: &str, owners: Value) -> Result<Arc<Object>, Failure> {
    let create = Create {
        key: key(name),
        version: "v1".into(),
        object: json!({"metadata": {"name": name, "ownerReferences": owners}}),
        validation: FieldValidation::Strict,
    };
    submit(plane, command(plane, "create", Intent::Create(create))).await
}

fn delete(name: &str) -> Intent {
    Intent::Delete(Delete::new(
        Target::any(key(name)),
        "v1".into(),
        Rule::Requested,
    ))
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
}
