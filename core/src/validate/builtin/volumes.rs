//! The volumes of pods, and where containers mount them. Source: `ValidateVolumes`, `validateVolumeSource` and
//! `ValidateVolumeMounts` of upstream's `pkg/apis/core/validation`.

use super::Field;
use crate::quantity;
use crate::rejection::{CauseList, FieldCause};
use crate::validate::names;
use std::collections::BTreeSet;

const BACKSTEPS: &str = "must not contain '..'";
const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const MODE_MAX: i64 = 0o777;
const HOST_PATHS: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

/// The types of volumes in upstream's order; two are misspelt where a second one is refused.
const TYPES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// Checks the volumes of a pod, and returns the names of those that are right: nothing can mount the others.
pub(super) fn volumes<'a>(list: &Field<'a>, causes: &mut CauseList) -> BTreeSet<&'a str> {
    let mut known = BTreeSet::new();
    for volume in list.items() {
        let before = causes.len();
        source(&volume, causes);
        let name = volume.child("name");
        if name.is_empty() {
            causes.push_with(|| name.required(""));
        } else {
            name.refuse(names::label(name.text()).err(), causes);
        }
        if known.contains(name.text()) {
            causes.push_with(|| name.duplicate());
        }
        if causes.len() == before {
            known.insert(name.text());
        }
    }
    known
}

fn source(volume: &Field<'_>, causes: &mut CauseList) {
    let is_there = |row: &&(&str, &str)| !volume.child(row.0).is_absent();
    let mut there = TYPES.iter().filter(is_there);
    let Some((first, _)) = there.next() else {
        return causes.push_with(|| volume.required("must specify a volume type"));
    };
    one_source(first, &volume.child(first), causes);
    for (_, called) in there {
        let why = "may not specify more than 1 volume type";
        causes.push_with(|| volume.child(called).forbidden(why));
    }
}

fn one_source(kind: &str, source: &Field<'_>, causes: &mut CauseList) {
    match kind {
        "emptyDir" => {
            let limit = source.child("sizeLimit");
            let size = quantity::read(limit.value).ok().flatten();
            if size.is_some_and(|(size, _)| size.sign() < 0) {
                let why = "SizeLimit field must be a valid resource quantity";
                causes.push_with(|| limit.forbidden(why));
            }
        }
        "hostPath" => host_path(source, causes),
        "secret" => files(source, "secretName", causes),
        "configMap" => files(source, "name", causes),
        "nfs" => nfs(source, causes),
        "persistentVolumeClaim" => needed(&source.child("claimName"), causes),
        "csi" => needed(&source.child("driver"), causes),
        _ => {}
    }
}

fn needed(place: &Field<'_>, causes: &mut CauseList) {
    if place.is_empty() {
        causes.push_with(|| place.required(""));
    }
}

/// Source: `validateHostPathVolumeSource`.
pub(super) fn host_path(source: &Field<'_>, causes: &mut CauseList) {
    let (path, kind) = (source.child("path"), source.child("type"));
    if path.is_empty() {
        return causes.push_with(|| path.required(""));
    }
    stays_below(&path, causes);
    kind.one_of(&HOST_PATHS, causes);
}

/// Source: `validateNFSVolumeSource`.
pub(super) fn nfs(source: &Field<'_>, causes: &mut CauseList) {
    let path = source.child("path");
    needed(&source.child("server"), causes);
    needed(&path, causes);
    if !path.text().starts_with('/') {
        let shown = format!("{:?}", path.text());
        causes.push_with(|| path.invalid_as(&shown, "must be an absolute path"));
    }
}

fn stays_below(path: &Field<'_>, causes: &mut CauseList) {
    if path.text().split('/').any(|part| part == "..") {
        causes.push_with(|| path.invalid(BACKSTEPS));
    }
}

/// Checks a source that consists of files.
fn files(source: &Field<'_>, name: &str, causes: &mut CauseList) {
    needed(&source.child(name), causes);
    mode(&source.child("defaultMode"), causes);
    for item in source.child("items").items() {
        let path = item.child("path");
        needed(&item.child("key"), causes);
        needed(&path, causes);
        if path.text().starts_with('/') {
            causes.push_with(|| path.invalid("must be a relative path"));
        }
        stays_below(&path, causes);
        mode(&item.child("mode"), causes);
    }
}

fn mode(place: &Field<'_>, causes: &mut CauseList) {
    if !(0..=MODE_MAX).contains(&place.number()) {
        causes.push_with(|| place.invalid(MODE));
    }
}

/// Checks where a container mounts volumes; those that it may name are known unless claims add some.
pub(super) fn mounts(
    container: &Field<'_>,
    known: Option<&BTreeSet<&str>>,
    causes: &mut CauseList,
) {
    let list = container.child("volumeMounts");
    let mut paths = BTreeSet::new();
    for mount in list.items() {
        let (name, path) = (mount.child("name"), mount.child("mountPath"));
        needed(&name, causes);
        if known.is_some_and(|known| !known.contains(name.text())) {
            let text = name.text().into();
            causes.push_with(|| FieldCause::not_found(name.path.as_str(), &text));
        }
        needed(&path, causes);
        if !paths.insert(path.text()) {
            let shown = format!("{:?}", path.text());
            causes.push_with(|| path.invalid_as(&shown, "must be unique"));
        }
        let (below, expression) = (mount.child("subPath"), mount.child("subPathExpr"));
        descends(&list, &below, causes);
        if !below.is_empty() && !expression.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            causes.push_with(|| expression.invalid(why));
        }
        descends(&list, &expression, causes);
    }
}

/// A path inside of a volume; upstream's reports do not say in which mount. Source:
/// `validateLocalDescendingPath`.
fn descends(list: &Field<'_>, path: &Field<'_>, causes: &mut CauseList) {
    let member = path.path.rsplit('.').next().unwrap_or_default();
    let place = Field {
        path: format!("{}.{member}", list.path),
        value: path.value,
    };
    if path.text().starts_with('/') {
        causes.push_with(|| place.invalid("must be a relative path"));
    }
    stays_below(&place, causes);
}
