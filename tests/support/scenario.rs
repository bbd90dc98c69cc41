//! Scenarios: one step a line. They are tests, documentation, and how a failing history is told.
//!
//! ```text
//! create  KIND NAME [in=NAMESPACE] [owner=NAME[,NAME]] [block] [finalizers=A[,B]]
//! delete  KIND NAME [in=NAMESPACE] [policy=background|foreground|orphan]
//! set     KIND NAME [in=NAMESPACE] finalizers=A[,B] | finalizers= | owner=NAME | owner=
//! gc      until-idle
//! restart
//! expect  KIND NAME [in=NAMESPACE] live|deleting|absent [finalizers=A,B] [owner=NAME,NAME]
//! refuse  any step above, and a part of the message in quotes
//! rule    KIND NAME RULE
//! some    KIND NAMESPACE "text"    # an object there says this, "-" for no namespace
//! none    KIND NAMESPACE "text"
//! ```

use crate::world::World;
use hindsight_core::command::{
    Create, Delete, FieldValidation, Intent, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::kind::KindRef;
use hindsight_core::{Event, ObjectKey, Rule};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Runs a scenario; the message names the line that failed.
pub fn run(text: &str) -> Result<(), String> {
    let mut scenario = Scenario::default();
    scenario.step("create Namespace default")?;
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let told = scenario.step(line);
            told.map_err(|why| {
                format!(
                    "line {}: {line}: {why}\n{}",
                    index + 1,
                    scenario.world.history()
                )
            })?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Scenario {
    world: World,
    /// Kind and identity of everything that was ever created, by name.
    created: BTreeMap<String, (String, String)>,
}

/// The words of a line: what to do, to what, and how.
struct Line<'a> {
    kind: &'a str,
    name: &'a str,
    options: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn parse(words: &[&'a str]) -> Result<Self, String> {
        match words {
            [kind, name, options @ ..] => Ok(Self {
                kind,
                name,
                options: options.to_vec(),
            }),
            _ => Err("a kind and a name are expected".into()),
        }
    }

    fn option(&self, name: &str) -> Option<&'a str> {
        self.options
            .iter()
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        let text = self.option(name)?;
        Some(text.split(',').filter(|part| !part.is_empty()).collect())
    }

    fn has(&self, word: &str) -> bool {
        self.options.contains(&word)
    }
}

impl Scenario {
    fn step(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["gc", "until-idle"] => {
                self.world.settle(512);
                Ok(())
            }
            ["restart"] => {
                self.world.restart();
                Ok(())
            }
            ["refuse", ..] => self.refuse(line),
            ["some", kind, namespace, ..] => self.says(kind, namespace, line, true),
            ["none", kind, namespace, ..] => self.says(kind, namespace, line, false),
            ["create", rest @ ..] => self.create(&Line::parse(rest)?),
            ["delete", rest @ ..] => self.delete(&Line::parse(rest)?),
            ["set", rest @ ..] => self.set(&Line::parse(rest)?),
            ["expect", rest @ ..] => self.expect(&Line::parse(rest)?),
            ["rule", kind, name, rule] => self.rule(kind, name, rule),
            _ => Err("no such step".into()),
        }
    }

    fn kind(&self, name: &str) -> Result<KindRef, String> {
        let found = self
            .world
            .state
            .kinds
            .iter()
            .find(|kind| &*kind.kind == name);
        found.cloned().ok_or_else(|| format!("no kind {name}"))
    }

    fn key(&self, line: &Line<'_>) -> Result<ObjectKey, String> {
        let kind = self.kind(line.kind)?;
        let namespace = line.option("in").unwrap_or("default");
        let namespace = if kind.is_namespaced() { namespace } else { "" };
        Ok(ObjectKey::new(kind.resource.clone(), namespace, line.name))
    }

    fn run(&mut self, intent: Intent) -> Result<String, String> {
        let decision = self
            .world
            .run(intent)
            .map_err(|rejection| rejection.to_string())?;
        Ok(decision.outcome.object().meta.uid.to_string())
    }

    /// Owners by name; one that was never created has an identity of its own.
    fn owners(&self, names: &[&str], blocks: bool) -> Value {
        let one = |name: &&str| {
            let unknown = || ("ConfigMap".to_owned(), format!("never-{name}"));
            let (kind, uid) = self.created.get(*name).cloned().unwrap_or_else(unknown);
            let found = self.kind(&kind);
            let version = found.map_or("example.com/v1".into(), |kind| {
                kind.api_version(&kind.versions[0].name)
            });
            json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid,
                "blockOwnerDeletion": blocks})
        };
        names.iter().map(one).collect()
    }

    fn create(&mut self, line: &Line<'_>) -> Result<(), String> {
        let key = self.key(line)?;
        let owners = self.owners(&line.list("owner").unwrap_or_default(), line.has("block"));
        let object = json!({"metadata": {"name": line.name, "ownerReferences": owners,
            "finalizers": line.list("finalizers").unwrap_or_default()}, "spec": spec(line.kind)});
        let version = self.kind(line.kind)?.versions[0].name.clone();
        let validation = FieldValidation::Ignore;
        let uid = self.run(Intent::Create(Create {
            key,
            version,
            object,
            validation,
        }))?;
        self.created
            .insert(line.name.to_owned(), (line.kind.to_owned(), uid));
        Ok(())
    }

    fn delete(&mut self, line: &Line<'_>) -> Result<(), String> {
        let propagation = match line.option("policy") {
            None => None,
            Some("background") => Some(Propagation::Background),
            Some("foreground") => Some(Propagation::Foreground),
            Some("orphan") => Some(Propagation::Orphan),
            Some(other) => return Err(format!("no policy {other}")),
        };
        let delete = Delete {
            target: Target {
                key: self.key(line)?,
                uid: None,
                revision: None,
            },
            version: self.kind(line.kind)?.versions[0].name.clone(),
            orphan_dependents: None,
            propagation,
            grace_period_seconds: None,
            rule: Rule::Requested,
        };
        self.run(Intent::Delete(delete)).map(drop)
    }

    fn set(&mut self, line: &Line<'_>) -> Result<(), String> {
        let mut metadata = json!({});
        if let Some(finalizers) = line.list("finalizers") {
            metadata["finalizers"] = json!(finalizers);
        }
        if let Some(owners) = line.list("owner") {
            metadata["ownerReferences"] = self.owners(&owners, line.has("block"));
        }
        let patch = PatchObject {
            key: self.key(line)?,
            version: self.kind(line.kind)?.versions[0].name.clone(),
            subresource: "".into(),
            patch: Patch::Merge(json!({"metadata": metadata})),
            validation: FieldValidation::Ignore,
        };
        self.run(Intent::Patch(patch)).map(drop)
    }

    fn expect(&self, line: &Line<'_>) -> Result<(), String> {
        let found = self.world.state.get(&self.key(line)?);
        let state = match found {
            None => "absent",
            Some(object) if object.is_deleting() => "deleting",
            Some(_) => "live",
        };
        if !line.has(state) {
            return Err(format!("it is {state}"));
        }
        let Some(object) = found else { return Ok(()) };
        let finalizers: Vec<&str> = object.meta.finalizers.iter().map(|one| &**one).collect();
        let owners: Vec<&str> = object
            .meta
            .owner_references
            .iter()
            .map(|one| &*one.name)
            .collect();
        for (name, is) in [("finalizers", finalizers), ("owner", owners)] {
            if line.list(name).is_some_and(|wanted| wanted != is) {
                return Err(format!("its {name} are {is:?}"));
            }
        }
        Ok(())
    }

    fn refuse(&mut self, line: &str) -> Result<(), String> {
        let step = line.trim_start_matches("refuse").trim();
        let (step, message) = step
            .split_once('"')
            .ok_or("a message in quotes is expected")?;
        let message = message.trim_end_matches('"');
        match self.step(step.trim()) {
            Ok(()) => Err("it was not refused".into()),
            Err(why) if why.contains(message) => Ok(()),
            Err(why) => Err(format!("it was refused with: {why}")),
        }
    }

    fn says(&self, kind: &str, namespace: &str, line: &str, wanted: bool) -> Result<(), String> {
        let (_, text) = line.split_once('"').ok_or("a text in quotes is expected")?;
        let text = text.trim_end_matches('"');
        let kind = self.kind(kind)?;
        let namespace = Some(namespace).filter(|name| *name != "-");
        let texts = |value: &Value| value.to_string().replace("\\\"", "'").contains(text);
        let found = self
            .world
            .state
            .list(&kind.resource, namespace)
            .any(|object| texts(&object.document()));
        if found == wanted {
            Ok(())
        } else {
            Err(format!("it is {found} that one says so"))
        }
    }

    /// The rule that the newest removal, or mark, of this object gives.
    fn rule(&self, kind: &str, name: &str, wanted: &str) -> Result<(), String> {
        let line = Line {
            kind,
            name,
            options: Vec::new(),
        };
        let key = self.key(&line)?;
        let commits = self
            .world
            .changes
            .iter()
            .rev()
            .filter(|change| change.commit.key == key);
        let rule = commits
            .flat_map(|change| change.commit.events.iter())
            .find_map(|event| match event {
                Event::ObjectDeleted { rule, .. } | Event::DeletionRequested { rule, .. } => {
                    Some(rule.name())
                }
                Event::ObjectCreated { .. }
                | Event::ObjectUpdated { .. }
                | Event::FinalizerAdded { .. }
                | Event::FinalizerRemoved { .. }
                | Event::OwnerAdded { .. }
                | Event::OwnerRemoved { .. }
                | Event::OwnerChanged { .. } => None,
            });
        if rule == Some(wanted) {
            Ok(())
        } else {
            Err(format!("the rule is {rule:?}"))
        }
    }
}

/// The least that a kind asks for.
fn spec(kind: &str) -> Value {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]});
    match kind {
        "Pod" => pod,
        "Job" => json!({"template": {"spec": pod}}),
        _ => json!({}),
    }
}
