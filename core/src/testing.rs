//! A world for unit tests: a state with the built-in kinds, driven by short commands.

use crate::command::{
    Admitted, Create, Delete, FieldValidation, Patch, PatchObject, Propagation, Target, Update,
};
use crate::kind::{BuiltinKinds, Subresource};
use crate::object::{Name, Object, ObjectKey};
use crate::{
    Actor, Command, Commit, Decision, GroupResource, Intent, Kind, Rejection, Rule, State, Time,
    apply, builtin, decide, invariants,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// A kind of the built-in table.
pub(crate) fn builtin_kind(resource: &str) -> Kind {
    let mut kinds = builtin::kinds().into_iter();
    let found = kinds.find(|kind| &*kind.resource.resource == resource);
    found.expect("a known resource")
}

pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) commits: Vec<Arc<Commit>>,
    commands: u8,
    late: i64,
    manager: Option<Name>,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            state: Self::empty(),
            commits: Vec::new(),
            commands: 0,
            late: 0,
            manager: None,
        };
        world
            .create("namespaces", json!({"metadata": {"name": "default"}}))
            .expect("a namespace");
        world
    }

    /// The state before the first commit.
    pub(crate) fn empty() -> State {
        State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
    }

    /// Sets the field manager of the following commands; empty for none.
    pub(crate) fn manager(&mut self, name: &str) {
        self.manager = Some(name.into()).filter(|_| !name.is_empty());
    }

    /// Makes the following commands this many seconds later.
    pub(crate) const fn advance(&mut self, seconds: i64) {
        self.late += seconds;
    }

    /// Defines the kind `Thing` in `things.x.io`, with these finalizers.
    pub(crate) fn define_things(&mut self, finalizers: &[&str]) -> Arc<Object> {
        self.define(("things", "Thing"), finalizers)
    }

    /// Defines a namespaced kind of the group `x.io` by its plural and its name.
    pub(crate) fn define(
        &mut self,
        (plural, kind): (&str, &str),
        finalizers: &[&str],
    ) -> Arc<Object> {
        let version = json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}});
        let name = format!("{plural}.x.io");
        let definition = json!({"metadata": {"name": name, "finalizers": finalizers},
            "spec": {"group": "x.io", "scope": "Namespaced", "versions": [version],
                "names": {"plural": plural, "kind": kind}}});
        let created = self.create("customresourcedefinitions", definition);
        Arc::clone(created.expect("created").outcome.object())
    }

    /// The byte that the seed of an upcoming command consists of, after so many other commands.
    pub(crate) const fn next_seed(&self, others: u8) -> u8 {
        self.commands.wrapping_add(others).wrapping_add(1)
    }

    /// The time of the newest command; the clock ticks once per command.
    pub(crate) fn now(&self) -> Time {
        Time((i64::from(self.commands) + self.late) * 1_000_000)
    }

    pub(crate) fn run(&mut self, intent: Intent) -> Result<Decision, Rejection> {
        self.run_admitted(intent, None)
    }

    /// Carries out what has passed admission, if that was asked.
    pub(crate) fn run_admitted(
        &mut self,
        intent: Intent,
        admitted: Option<Admitted>,
    ) -> Result<Decision, Rejection> {
        self.commands = self.commands.wrapping_add(1);
        let actor = Arc::new(Actor::new("tester"));
        let command = Command {
            manager: self.manager.clone(),
            admitted: admitted.map(Box::new),
            ..Command::new(actor, self.now(), [self.commands; 16], intent)
        };
        let decision = decide(&self.state, command)?;
        for commit in &decision.commits {
            invariants::check(&self.state, commit).expect("no decision breaks an invariant");
            apply(&mut self.state, commit);
            self.commits.push(Arc::clone(commit));
        }
        Ok(decision)
    }

    pub(crate) fn key(&self, resource: &str, name: &str) -> ObjectKey {
        let kind = self
            .state
            .kinds
            .iter()
            .find(|kind| &*kind.resource.resource == resource);
        let kind = kind.expect("a known resource");
        let namespace = if kind.is_namespaced() { "default" } else { "" };
        ObjectKey::new(kind.resource.clone(), namespace, name)
    }

    /// Stores an object directly, as an older release might have stored it.
    pub(crate) fn find(&mut self, resource: &str, document: Value) {
        let name = document["metadata"]["name"].as_str().expect("a name");
        let (key, revision) = (self.key(resource, name), self.state.revision.next());
        let object = Object::from_value(key, document, revision, None).expect("an object");
        self.state.put(&Arc::new(object));
        self.state.revision = revision;
    }

    fn version(&self, resource: &GroupResource) -> Arc<str> {
        let kind = self
            .state
            .kinds
            .by_resource(resource)
            .expect("a known resource");
        kind.versions[0].name.clone()
    }

    pub(crate) fn create(&mut self, resource: &str, object: Value) -> Result<Decision, Rejection> {
        let key = self.key(resource, "");
        let namespace = key.namespace.to_string();
        self.create_in(&namespace, resource, object)
    }

    pub(crate) fn create_in(
        &mut self,
        namespace: &str,
        resource: &str,
        object: Value,
    ) -> Result<Decision, Rejection> {
        let resource = self.key(resource, "").resource;
        let version = self.version(&resource);
        let key = ObjectKey::new(resource, namespace, "");
        let object = filled(&key.resource.resource, object);
        self.run(Intent::Create(Create {
            key,
            version,
            object,
            validation: FieldValidation::Warn,
        }))
    }

    pub(crate) fn update(
        &mut self,
        resource: &str,
        subresource: &str,
        object: Value,
    ) -> Result<Decision, Rejection> {
        let name = object["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned();
        let key = self.key(resource, &name);
        let version = self.version(&key.resource);
        let part = Subresource::named(subresource);
        assert!(part.is_some() || subresource.is_empty(), "{subresource}");
        self.run(Intent::Update(Update {
            key,
            version,
            subresource: part,
            object,
            validation: FieldValidation::Warn,
        }))
    }

    pub(crate) fn patch(
        &mut self,
        resource: &str,
        name: &str,
        patch: Patch,
    ) -> Result<Decision, Rejection> {
        let key = self.key(resource, name);
        let version = self.version(&key.resource);
        let validation = FieldValidation::Warn;
        let subresource = None;
        self.run(Intent::Patch(PatchObject {
            key,
            version,
            subresource,
            patch,
            validation,
        }))
    }

    pub(crate) fn delete(
        &mut self,
        resource: &str,
        name: &str,
        propagation: Option<Propagation>,
    ) -> Result<Decision, Rejection> {
        self.delete_with(resource, name, |delete| delete.propagation = propagation)
    }

    pub(crate) fn delete_with(
        &mut self,
        resource: &str,
        name: &str,
        change: impl FnOnce(&mut Delete),
    ) -> Result<Decision, Rejection> {
        let key = self.key(resource, name);
        let version = self.version(&key.resource);
        let mut delete = Delete::new(Target::any(key), version, Rule::Requested);
        change(&mut delete);
        self.run(Intent::Delete(delete))
    }

    pub(crate) fn get(&self, resource: &str, name: &str) -> Option<Arc<Object>> {
        self.state.get(&self.key(resource, name)).cloned()
    }
}

/// The object, with the fields added that its kind requires.
fn filled(resource: &str, object: Value) -> Value {
    let pod = json!({"containers": [{"name": "c", "image": "i"}]});
    let needed = match resource {
        "pods" => json!({"spec": pod}),
        "deployments" => json!({"spec": {"selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}}),
        "jobs" => json!({"spec": {"template": {"spec":
            {"restartPolicy": "Never", "containers": pod["containers"]}}}}),
        "services" => json!({"spec": {"ports": [{"port": 80}]}}),
        _ => return object,
    };
    over(needed, object)
}

fn over(base: Value, object: Value) -> Value {
    match (base, object) {
        (Value::Object(mut base), Value::Object(object)) => {
            for (name, value) in object {
                let below = base.remove(&name).unwrap_or_default();
                base.insert(name, over(below, value));
            }
            Value::Object(base)
        }
        (_, object) => object,
    }
}

/// Pseudo-random numbers that are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) const fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}
