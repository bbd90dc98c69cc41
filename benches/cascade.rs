//! Measures cascading deletions by the collector, durable and in process: objects per second, peak
//! memory, and how long other writers wait meanwhile. Each case runs in a process of its own.
#![allow(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use hindsight::{Config, ControlPlane};
use hindsight_benches::command::{command, submit};
use hindsight_benches::percentiles::Figures;
use hindsight_benches::process;
use hindsight_core::command::{Create, Delete, FieldValidation, Intent, Propagation, Target};
use hindsight_core::{Command, GroupResource, ObjectKey, Rule, State, Uid};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const NAMESPACE: &str = "cascade";
/// Commands that are submitted as one batch.
const BATCH: usize = 1024;
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Parser, Debug)]
#[command(about = "Measure garbage collection: objects per second, memory, waiting of others")]
struct Arguments {
    /// Only this shape
    #[arg(long)]
    shape: Option<Shape>,
    /// Only this policy
    #[arg(long)]
    policy: Option<Policy>,
    /// Divide every size by this
    #[arg(long, default_value_t = 1)]
    scale: usize,
}

/// What hangs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// 100,000 dependents of one owner
    Flat,
    /// A chain 10,000 deep
    Chain,
    /// A tree 10 wide and 5 deep
    Tree,
    /// 1,000 namespaces of 100 objects
    Namespaces,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// The allocator that the server uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let (Some(shape), Some(policy)) = (arguments.shape, arguments.policy) {
        return measure(shape, policy, arguments.scale.max(1));
    }
    println!("shape       policy         objects  objects/s   others p99     max    peak memory");
    for shape in Shape::value_variants() {
        for policy in Policy::value_variants() {
            let wanted = arguments.shape.is_none_or(|one| one == *shape)
                && arguments.policy.is_none_or(|one| one == *policy);
            if wanted {
                alone(*shape, *policy, arguments.scale)?;
            }
        }
    }
    Ok(())
}

/// Runs one case in a process of its own, so that its peak memory is not another case's.
fn alone(shape: Shape, policy: Policy, scale: usize) -> Result<()> {
    let status = std::process::Command::new(std::env::current_exe()?)
        .args(["--shape", &name(&shape), "--policy", &name(&policy)])
        .args(["--scale", &scale.to_string()])
        .status()?;
    ensure!(status.success(), "a case failed: {status}");
    Ok(())
}

fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

fn measure(shape: Shape, policy: Policy, scale: usize) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let plane = ControlPlane::open(Config {
        data_dir: Some(directory.path().join("data")),
        ..Config::default()
    })?;
    let bench = Bench { plane };
    let case = bench.build(shape, scale)?;
    let done = AtomicBool::new(false);
    let (elapsed, others) = std::thread::scope(|scope| {
        let others = scope.spawn(|| bench.disturb(&done));
        let elapsed = bench.cascade(&case, policy);
        done.store(true, Ordering::Relaxed);
        (elapsed, others.join())
    });
    let elapsed = elapsed?;
    let others = others.map_err(|_| anyhow::anyhow!("the other writer failed"))??;
    let ms = |percent| others.percentile(percent).as_secs_f64() * 1000.0;
    let touched = case.touched(policy);
    let rate = f64::from(u32::try_from(touched)?) / elapsed.as_secs_f64();
    println!(
        "{:<11} {:<11} {:>10} {:>10.0} {:>9.2} ms {:>7.2} ms {:>7.1} MB",
        name(&shape),
        name(&policy),
        touched,
        rate,
        ms(99),
        ms(100),
        process::peak_mb(std::process::id())?,
    );
    Ok(())
}

struct Bench {
    plane: ControlPlane,
}

/// A case that was built: the roots whose deletion starts the cascade, and how many objects it
/// touches.
struct Case {
    roots: Vec<ObjectKey>,
    objects: usize,
    /// Objects that an orphaning deletion changes or removes.
    orphaned: usize,
}

impl Case {
    fn touched(&self, policy: Policy) -> usize {
        if policy == Policy::Orphan {
            self.orphaned
        } else {
            self.objects
        }
    }
}

impl Bench {
    fn build(&self, shape: Shape, scale: usize) -> Result<Case> {
        self.submit(vec![
            command(&self.plane, namespace(NAMESPACE)),
            command(&self.plane, namespace("others")),
        ])?;
        let owners: Vec<Option<usize>> = match shape {
            Shape::Flat => std::iter::once(None)
                .chain((0..100_000 / scale).map(|_| Some(0)))
                .collect(),
            Shape::Chain => (0..10_000 / scale)
                .map(|index: usize| index.checked_sub(1))
                .collect(),
            Shape::Tree => tree(10, if scale == 1 { 5 } else { 3 }),
            Shape::Namespaces => return self.namespaces(1_000 / scale, 100),
        };
        self.objects(&owners)?;
        Ok(Case {
            roots: vec![map(NAMESPACE, "o0")],
            objects: owners.len(),
            orphaned: owners.iter().filter(|owner| **owner == Some(0)).count() + 1,
        })
    }

    /// Creates one object per entry; an entry is the index of the object's owner in the same list.
    fn objects(&self, owners: &[Option<usize>]) -> Result<()> {
        let mut commands = Vec::with_capacity(BATCH);
        let mut uids: Vec<Uid> = Vec::with_capacity(owners.len());
        for (index, owner) in owners.iter().enumerate() {
            let mut metadata = json!({"name": format!("o{index}")});
            if let Some((at, uid)) = owner.and_then(|at| Some((at, uids.get(at)?))) {
                let reference = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "name": format!("o{at}"), "uid": uid.as_str(), "blockOwnerDeletion": true});
                if let Some(members) = metadata.as_object_mut() {
                    members.insert("ownerReferences".into(), json!([reference]));
                }
            }
            let command = command(&self.plane, create(NAMESPACE, metadata));
            // The UID that the object will get, which follows from the command's seed.
            let key = map(NAMESPACE, &format!("o{index}"));
            uids.push(Uid::of_new(command.seed, &key));
            commands.push(command);
            if commands.len() == BATCH {
                self.submit(std::mem::take(&mut commands))?;
            }
        }
        self.submit(commands)
    }

    fn namespaces(&self, count: usize, each: usize) -> Result<Case> {
        let names: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
        for name in &names {
            let mut commands = vec![command(&self.plane, namespace(name))];
            for index in 0..each {
                let metadata = json!({"name": format!("o{index}")});
                commands.push(command(&self.plane, create(name, metadata)));
            }
            self.submit(commands)?;
        }
        let namespaces = GroupResource::new("", "namespaces");
        let key = |name: &String| ObjectKey::new(namespaces.clone(), "", name);
        Ok(Case {
            roots: names.iter().map(key).collect(),
            objects: count * (each + 1),
            orphaned: count * (each + 1),
        })
    }

    /// Deletes the roots and returns the time until the cascade is complete.
    fn cascade(&self, case: &Case, policy: Policy) -> Result<Duration> {
        let propagation = match policy {
            Policy::Background => Propagation::Background,
            Policy::Foreground => Propagation::Foreground,
            Policy::Orphan => Propagation::Orphan,
        };
        let delete = |key: &ObjectKey| {
            command(
                &self.plane,
                Intent::Delete(Delete {
                    propagation: Some(propagation),
                    ..Delete::new(Target::any(key.clone()), "v1".into(), Rule::Requested)
                }),
            )
        };
        let start = Instant::now();
        for roots in case.roots.chunks(BATCH) {
            self.submit(roots.iter().map(delete).collect())?;
        }
        while !is_over(&self.plane.state(), case, policy) {
            std::thread::sleep(PAUSE);
        }
        Ok(start.elapsed())
    }

    /// Writes to another namespace until `done` is set, and measures how long each write takes.
    fn disturb(&self, done: &AtomicBool) -> Result<Figures> {
        let start = Instant::now();
        let mut waited = Vec::new();
        while !done.load(Ordering::Relaxed) {
            let metadata = json!({"name": format!("p{}", waited.len())});
            let before = Instant::now();
            self.submit(vec![command(&self.plane, create("others", metadata))])?;
            waited.push(before.elapsed());
            std::thread::sleep(PAUSE);
        }
        Ok(Figures::new(waited, start.elapsed()))
    }

    fn submit(&self, commands: Vec<Command>) -> Result<()> {
        submit(&self.plane, commands)
    }
}

fn is_over(state: &State, case: &Case, policy: Policy) -> bool {
    let gone = case.roots.iter().all(|root| state.get(root).is_none());
    let orphans = policy == Policy::Orphan;
    gone && (orphans || state.population(NAMESPACE) == 0)
}

/// The owners of a tree, parents before children: each object except those of the last generation has
/// `width` dependents.
fn tree(width: usize, depth: usize) -> Vec<Option<usize>> {
    let mut owners = vec![None];
    let mut generation = 0..1;
    for _ in 0..depth {
        let next = owners.len();
        owners.extend(generation.flat_map(|parent| std::iter::repeat_n(Some(parent), width)));
        generation = next..owners.len();
    }
    owners
}

fn map(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), namespace, name)
}

fn namespace(name: &str) -> Intent {
    let key = ObjectKey::new(GroupResource::new("", "namespaces"), "", "");
    made(key, json!({"metadata": {"name": name}}))
}

fn create(namespace: &str, metadata: Value) -> Intent {
    made(
        map(namespace, ""),
        json!({"metadata": metadata, "data": {"key": "value"}}),
    )
}

fn made(key: ObjectKey, object: Value) -> Intent {
    Intent::Create(Create {
        key,
        version: "v1".into(),
        object,
        validation: FieldValidation::Ignore,
    })
}
