//! Superseded commits that a thinned log keeps because the state rests on them: the one that gave a waiting owner its
//! last dependent, and the definition that a kind was last taken from.

use super::disk::Disk;
use super::script::{self, Commands, create, empty, submit};
use crate::frame;
use crate::retention::thin;
use crate::{Log, Reader, Records, Storage, codec, packing, verify};
use hindsight_core::command::{
    Create, Delete, FieldValidation, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::{
    Commit, Event, GroupResource, Intent, Object, ObjectKey, OwnerReference, Revision, Rule,
};
use serde_json::{Value, json};
use std::sync::Arc;

const NAME: &str = "widgets.example.com";

fn definition_key() -> ObjectKey {
    let resource = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    ObjectKey::new(resource, "", NAME)
}

fn node_key() -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "nodes"), "", "owner")
}

fn definition(owners: &Value) -> Intent {
    let object = json!({"metadata": {"name": NAME, "ownerReferences": owners}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    Intent::Create(Create {
        key: definition_key(),
        version: "v1".into(),
        object,
        validation: FieldValidation::Warn,
    })
}

fn label(number: u64) -> Intent {
    Intent::Patch(PatchObject {
        key: definition_key(),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"metadata": {"labels": {"n": number.to_string()}}})),
        validation: FieldValidation::Warn,
    })
}

/// The owner waits: its finalizer is the server's, and no collector runs here.
fn foreground() -> Intent {
    let target = Target::any(node_key());
    Intent::Delete(Delete {
        propagation: Some(Propagation::Foreground),
        ..Delete::new(target, "v1".into(), Rule::Requested)
    })
}

/// A log that is written by commands and, where no command can write it any more, by hand.
#[derive(Default)]
struct Written {
    disk: Arc<Disk>,
    commands: Commands,
}

impl Written {
    fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.disk) as Arc<dyn Records>)
    }

    /// Each of these in a frame of its own; returns the revision of the last.
    fn put(&mut self, intents: impl IntoIterator<Item = Intent>) -> Revision {
        let writer = script::open(&self.disk);
        let made = intents.into_iter().map(|one| self.commands.command(one));
        let written = made.map(|one| submit(&writer, &self.disk, vec![one]).expect("written"));
        written.last().expect("one")
    }

    fn object(&self, key: &ObjectKey) -> Arc<Object> {
        let base = self.reader().base(empty()).expect("folded");
        Arc::clone(base.state.get(key).expect("it is there"))
    }

    /// The owner that waits, as a reference that blocks it.
    fn owner(&self) -> Value {
        let uid = self.object(&node_key()).meta.uid.clone();
        json!([{"apiVersion": "v1", "kind": "Node", "name": "owner", "uid": uid.as_str(),
            "blockOwnerDeletion": true}])
    }

    /// Appends the next version of the definition as a log of an earlier release may hold it: no longer established.
    fn unserve(&self) {
        let base = self.reader().base(empty()).expect("folded");
        let revision = base.state.revision.next();
        let before = self.object(&definition_key());
        let mut document = before.document();
        document["status"]["conditions"] = json!([{"type": "Established", "status": "False"}]);
        let object = Object::from_value(before.key.clone(), document, revision, before.mark);
        let object = Arc::new(object.expect("an object"));
        let last = self.reader().commit(before.revision).expect("read");
        let commit = Commit {
            revision,
            events: vec![Event::ObjectUpdated { object }],
            ..last.expect("it is there")
        };
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        codec::encode(&[&commit], &mut bytes).expect("encoded");
        let format = packing::pack(&mut bytes, &mut Vec::new());
        frame::seal(&mut bytes, format, revision, 1, &base.tail().hash);
        self.disk.append(revision, &bytes).expect("appended");
        self.disk.sync().expect("synced");
    }

    /// Thins everything. The state is the one that it was, whichever way it is come to; returns the revisions of the
    /// definition that are kept.
    fn thinned(&self) -> Vec<Revision> {
        let whole = self.reader().base(empty()).expect("folded").state;
        let floor = whole.revision;
        thin(&*self.disk, &self.reader(), floor, empty(), &[]).expect("thinned");
        verify(&self.reader(), |_| {}).expect("intact");
        let reader = self.reader();
        assert_eq!(reader.floor().expect("read"), floor);
        let folded = reader.state_at(empty(), floor).expect("kept");
        let opened = Log::open(Arc::clone(&self.disk) as Arc<dyn Storage>, empty());
        for state in [&folded, opened.expect("opened").state()] {
            assert_eq!(state.image(), whole.image());
            assert_eq!(state.hash(), whole.hash());
        }
        let kept = reader.scan(Revision(1)).map(|one| one.expect("readable"));
        let kept = kept.filter(|one| one.key == definition_key());
        kept.map(|commit| commit.revision).collect()
    }
}

#[test]
fn the_commit_that_gave_a_waiting_owner_its_last_dependent_is_kept_though_its_version_was_replaced()
{
    let mut log = Written::default();
    let node = create("nodes", "", json!({"metadata": {"name": "owner"}}));
    log.put([node, foreground()]);
    let joined = log.put([definition(&log.owner())]);
    let newest = log.put([label(1), label(2)]);
    let kept = log.thinned();
    assert_eq!(kept, [joined, newest], "the version between them went");
    let owner: OwnerReference =
        serde_json::from_value(log.owner()[0].clone()).expect("a reference");
    let base = log.reader().base(empty()).expect("folded");
    assert_eq!(base.state.image().held_owners, [(owner.uid, joined)]);
}

#[test]
fn the_version_of_a_definition_that_a_kind_was_last_taken_from_is_kept_though_it_was_replaced() {
    let mut log = Written::default();
    let created = log.put([definition(&json!([]))]);
    let accepted = log.put([label(1), label(2)]);
    log.unserve();
    log.unserve();
    let newest = log.reader().newest().expect("read");
    let kept = log.thinned();
    assert!(created < accepted && accepted < newest);
    assert_eq!(kept, [accepted, newest], "the versions around it went");
    let base = log.reader().base(empty()).expect("folded");
    let image = base.state.image();
    let known: Vec<Revision> = image.accepted.iter().map(|one| one.revision).collect();
    assert_eq!(known, [accepted]);
    assert!(base.state.kinds.by_kind("example.com", "Widget").is_some());
}
