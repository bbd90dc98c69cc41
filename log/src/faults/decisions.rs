//! Decisions of more than one commit: a power cut may come between any two frames.

use super::disk::Disk;
use super::script::{Commands, create, noise, open, submit};
use hindsight_core::command::{Delete, Target};
use hindsight_core::{GroupResource, Intent, ObjectKey, Revision, Rule};
use serde_json::json;
use std::sync::Arc;

/// Sizes for which a frame of 64 KiB has room for the first commit of the decision, but not for the
/// second.
const BODIES: std::ops::Range<usize> = (62 << 10)..(64 << 10);
const BYTES_APART: usize = 100;

/// A pod that is on no node: its deletion marks it and removes it at once.
fn pod(bytes: usize) -> serde_json::Value {
    let container = json!({"name": "c", "image": "i", "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File"});
    json!({"metadata": {"name": "a", "annotations": {"k": noise(1, bytes)}},
        "spec": {"containers": [container], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}})
}

fn deletion() -> Intent {
    let key = ObjectKey::new(GroupResource::new("", "pods"), "default", "a");
    Intent::Delete(Delete::new(Target::any(key), "v1".into(), Rule::Requested))
}

#[test]
fn all_commits_of_a_decision_are_in_one_frame() {
    for bytes in BODIES.step_by(BYTES_APART) {
        let disk = Arc::new(Disk::default());
        let writer = open(&disk);
        let mut commands = Commands::default();
        let mut put = |intents: Vec<Intent>| {
            let commands = intents.into_iter().map(|intent| commands.command(intent));
            submit(&writer, &disk, commands.collect()).expect("written")
        };
        let namespace = json!({"metadata": {"name": "default"}});
        let before = put(vec![
            create("namespaces", "", namespace),
            create("pods", "default", pod(bytes)),
        ]);
        let newest = put(vec![deletion()]);
        assert_eq!(newest, Revision(before.0 + 2), "{bytes}");
        drop(writer);
        let (first, _) = disk.frames().pop().expect("a frame");
        assert_eq!(first, before.next(), "{bytes}: it is cut");
    }
}
