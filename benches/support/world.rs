//! A small world on one thread: a control plane with some objects, its API, and the collector.

use crate::stepped::Stepped;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use hindsight_api::{Admission, Api, ApiBody, Backend};
use hindsight_core::command::{Create, Delete, FieldValidation, Propagation, Target, Update};
use hindsight_core::{Actor, Command, GroupResource, Intent, ObjectKey, Rule, State};
use hindsight_gc::Collector;
use http::Method;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The path of the `ConfigMaps` in the only namespace.
pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Steps of the collector that are submitted as one batch.
const STEPS: usize = 1024;

/// Everything that a hot path needs.
pub struct World {
    /// The control plane.
    pub plane: Arc<Stepped>,
    api: Api,
    actor: Arc<Actor>,
    runtime: Runtime,
}

impl World {
    /// A world with one namespace and this many small `ConfigMaps`, named by [`name`].
    pub fn new(maps: usize) -> Result<Self> {
        let plane = Arc::new(Stepped::open()?);
        let backend: Arc<dyn Backend> = Arc::<Stepped>::clone(&plane);
        let world = Self {
            plane,
            api: Api::new(backend, Arc::new(Admission::default())),
            actor: Arc::new(Actor::new("bench")),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()?,
        };
        let namespace = ObjectKey::new(GroupResource::new("", "namespaces"), "", "");
        let document = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "default"}});
        world.write(vec![made(namespace, document)])?;
        world.write((0..maps).map(create).collect())?;
        Ok(world)
    }

    /// The newest state.
    pub fn state(&self) -> Arc<State> {
        self.plane.state()
    }

    /// A command of the only user.
    pub fn command(&self, intent: Intent) -> Command {
        let (now, seed) = (self.plane.now(), self.plane.seed());
        Command::new(Arc::clone(&self.actor), now, seed, intent)
    }

    /// Submits intents as one batch.
    pub fn write(&self, intents: Vec<Intent>) -> Result<()> {
        if intents.is_empty() {
            return Ok(());
        }
        let commands = intents.into_iter().map(|one| self.command(one)).collect();
        self.plane.write(commands).map(drop)
    }

    /// Sends a request through the API and returns the whole answer.
    pub fn ask(&self, method: Method, path: &str, accept: &str, body: Bytes) -> Result<Bytes> {
        let answer = self.open(method, path, accept, body)?;
        let whole = self.runtime.block_on(answer.collect())?;
        Ok(whole.to_bytes())
    }

    /// Sends a request through the API and leaves the body of the answer to be read.
    pub fn open(&self, method: Method, path: &str, accept: &str, body: Bytes) -> Result<ApiBody> {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("accept", accept)
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        let answer = self.api.handle(request, Some(Arc::clone(&self.actor)));
        let answer = self.runtime.block_on(answer);
        let status = answer.status();
        ensure!(status.is_success(), "{path}: {status}");
        Ok(answer.into_body())
    }

    /// Returns the next piece of an open watch.
    pub fn next(&self, watch: &mut ApiBody) -> Result<Bytes> {
        let frame = self.runtime.block_on(watch.frame());
        let frame = frame.context("the watch ended")??;
        frame.into_data().ok().context("a frame without data")
    }

    /// Lets a collector do everything that is due.
    pub fn collect(&self, collector: &mut Collector) -> Result<()> {
        loop {
            for change in self.plane.take_changes() {
                collector.observe(&change);
            }
            let steps = collector.next_batch(&self.state(), self.plane.now(), STEPS);
            if steps.is_empty() {
                return Ok(());
            }
            let command = |step: hindsight_gc::Step| Command {
                cause: step.cause,
                ..self.command(step.intent)
            };
            let decisions = self.plane.write(steps.into_iter().map(command).collect())?;
            collector.settle(decisions.iter().map(|_| Ok(())));
        }
    }
}

/// The name of a `ConfigMap`.
pub fn name(index: usize) -> String {
    format!("c{index:06}")
}

/// The key of a `ConfigMap`.
pub fn key(index: usize) -> ObjectKey {
    ObjectKey::new(
        GroupResource::new("", "configmaps"),
        "default",
        &name(index),
    )
}

/// A small `ConfigMap`, optionally owned by another.
pub fn map(index: usize, owner: Option<(usize, &str)>) -> Value {
    let mut metadata = json!({"name": name(index), "labels": {"app": "web", "tier": "front"}});
    if let Some((members, (at, uid))) = metadata.as_object_mut().zip(owner) {
        let owner =
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name(at), "uid": uid}]);
        members.insert("ownerReferences".into(), owner);
    }
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
        "data": {"key": "a value of about forty bytes, more or less"}})
}

fn made(key: ObjectKey, object: Value) -> Intent {
    Intent::Create(Create {
        key,
        version: "v1".into(),
        object,
        validation: FieldValidation::Warn,
    })
}

/// Creates a `ConfigMap`.
pub fn create(index: usize) -> Intent {
    owned(index, None)
}

/// Creates a `ConfigMap` with this owner.
pub fn owned(index: usize, owner: Option<(usize, &str)>) -> Intent {
    let place = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "");
    made(place, map(index, owner))
}

/// Gives a `ConfigMap` another value.
pub fn update(index: usize, value: &str) -> Intent {
    let mut object = map(index, None);
    if let Some(data) = object.get_mut("data") {
        *data = json!({"key": value});
    }
    Intent::Update(Update {
        key: key(index),
        version: "v1".into(),
        subresource: None,
        object,
        validation: FieldValidation::Warn,
    })
}

/// Deletes a `ConfigMap` with background propagation.
pub fn delete(index: usize) -> Intent {
    Intent::Delete(Delete {
        propagation: Some(Propagation::Background),
        ..Delete::new(Target::any(key(index)), "v1".into(), Rule::Requested)
    })
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("World")
    }
}
