//! The volumes of pods. Source: `ValidateVolumes` and `validateVolumeSource` of upstream's
//! `pkg/apis/core/validation`.

use super::{Field, projected, storage};
use crate::quantity;
use crate::rejection::CauseList;
use crate::validate::names;
use std::collections::{BTreeMap, BTreeSet};

const BACKSTEPS: &str = "must not contain '..'";
const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const MODE_MAX: i64 = 0o777;
const LUN_MAX: i64 = 255;
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

/// The members that a type of volume must have, by the names that upstream's reports give type and members.
const NEEDED: [(&str, &str, &[&str]); 19] = [
    ("gitRepo", "gitRepo", &["repository"]),
    ("gcePersistentDisk", "persistentDisk", &["pdName"]),
    (
        "awsElasticBlockStore",
        "awsElasticBlockStore",
        &["volumeID"],
    ),
    ("iscsi", "iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", "glusterfs", &["endpoints", "path"]),
    (
        "persistentVolumeClaim",
        "persistentVolumeClaim",
        &["claimName"],
    ),
    ("rbd", "rbd", &["monitors", "image"]),
    ("cinder", "cinder", &["volumeID"]),
    ("cephfs", "cephfs", &["monitors"]),
    ("quobyte", "quobyte", &["volume"]),
    ("flexVolume", "flexVolume", &["driver"]),
    ("azureFile", "azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", "vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", "photonPersistentDisk", &["pdID"]),
    ("portworxVolume", "portworxVolume", &["volumeID"]),
    ("azureDisk", "azureDisk", &["diskName", "diskURI"]),
    ("storageos", "storageos", &["volumeName"]),
    ("scaleIO", "scaleIO", &["gateway", "system", "volumeName"]),
    ("ephemeral", "ephemeral", &["volumeClaimTemplate"]),
];
const HOSTS: &str = "must be a host:port pair or multiple pairs separated by commas";

/// Checks the volumes of a pod, and returns the names and types of those that are right: nothing can mount the others.
/// Those that are claimed for each pod come first, and take the place of their namesakes.
pub(super) fn volumes<'a>(
    list: &Field<'a>,
    claimed: &BTreeSet<&'a str>,
    causes: &mut CauseList,
) -> BTreeMap<&'a str, &'static str> {
    let of_claim = |name: &&'a str| (*name, "persistentVolumeClaim");
    let mut known: BTreeMap<_, _> = claimed.iter().map(of_claim).collect();
    for volume in list.items() {
        let (name, before) = (volume.child("name"), causes.len());
        if claimed.contains(name.text()) {
            continue;
        }
        let kind = source(&volume, causes);
        if name.is_empty() {
            causes.push_with(|| name.required(""));
        } else {
            name.refuse(names::label(name.text()).err(), causes);
        }
        if known.contains_key(name.text()) {
            causes.push_with(|| name.duplicate());
        }
        if let Some(kind) = kind.filter(|_| causes.len() == before) {
            known.insert(name.text(), kind);
        }
    }
    known
}

/// Checks where a volume is, and returns its type.
fn source(volume: &Field<'_>, causes: &mut CauseList) -> Option<&'static str> {
    let is_there = |row: &&(&str, &str)| !volume.child(row.0).is_absent();
    let mut there = TYPES.iter().filter(is_there);
    let Some((first, _)) = there.next() else {
        causes.push_with(|| volume.required("must specify a volume type"));
        return None;
    };
    one_source(first, volume, causes);
    for (_, called) in there {
        let why = "may not specify more than 1 volume type";
        causes.push_with(|| volume.child(called).forbidden(why));
    }
    Some(first)
}

fn one_source(kind: &str, volume: &Field<'_>, causes: &mut CauseList) {
    let source = volume.child(kind);
    if let Some((_, called, members)) = NEEDED.iter().find(|row| row.0 == kind) {
        let path = format!("{}.{called}", volume.path);
        let place = Field {
            path,
            ..source.clone()
        };
        for member in *members {
            needed(&place.child(member), causes);
        }
    }
    match kind {
        "emptyDir" => {
            let limit = source.child("sizeLimit");
            let size = quantity::read(limit.value).ok().flatten();
            if size.is_some_and(|(size, _)| size.sign() < 0) {
                let why = "SizeLimit field must be a valid resource quantity";
                causes.push_with(|| limit.forbidden(why));
            }
        }
        "hostPath" => host_path(&source, causes),
        "secret" => files(&source, "secretName", causes),
        "configMap" => files(&source, "name", causes),
        "nfs" => nfs(&source, causes),
        "csi" => storage::driver_name(&source.child("driver"), causes),
        "downwardAPI" => projected::downward(&source, causes),
        "projected" => projected::projected(&source, causes),
        "gitRepo" => descends(&source.child("directory"), causes),
        "ephemeral" => {
            let template = source.child("volumeClaimTemplate");
            if !template.is_absent() {
                storage::claim_spec(&template.child("spec"), causes);
            }
        }
        _ => of_old(kind, &source, causes),
    }
}

/// Checks types of volumes of which little more is known than what they must have.
fn of_old(kind: &str, source: &Field<'_>, causes: &mut CauseList) {
    let lacks = |member: &str| source.child(member).is_empty();
    match kind {
        "iscsi" => {
            let (lun, secret) = (source.child("lun"), source.child("secretRef"));
            if !(0..=LUN_MAX).contains(&lun.number()) {
                causes.push_with(|| lun.invalid("must be between 0 and 255, inclusive"));
            }
            let asks = !lacks("chapAuthDiscovery") || !lacks("chapAuthSession");
            if asks && secret.is_absent() {
                causes.push_with(|| secret.required(""));
            }
        }
        "quobyte" if lacks("registry") => {
            causes.push_with(|| source.child("registry").required(HOSTS));
        }
        "flocker" if lacks("datasetName") && lacks("datasetUUID") => {
            let why = "one of datasetName and datasetUUID is required";
            causes.push_with(|| source.required(why));
        }
        "fc" if lacks("targetWWNs") && lacks("wwids") => {
            let why = "must specify either targetWWNs or wwids, but not both";
            causes.push_with(|| source.child("targetWWNs").required(why));
        }
        _ => {}
    }
}

pub(super) fn needed(place: &Field<'_>, causes: &mut CauseList) {
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

pub(super) fn stays_below(path: &Field<'_>, causes: &mut CauseList) {
    if path.text().split('/').any(|part| part == "..") {
        causes.push_with(|| path.invalid(BACKSTEPS));
    }
}

/// Source: `validateLocalDescendingPath`.
pub(super) fn descends(path: &Field<'_>, causes: &mut CauseList) {
    if path.text().starts_with('/') {
        causes.push_with(|| path.invalid("must be a relative path"));
    }
    stays_below(path, causes);
}

/// A path in a volume whose files are written for the pod. Source: `ValidateLocalNonReservedPath`.
pub(super) fn file(path: &Field<'_>, causes: &mut CauseList) {
    descends(path, causes);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        causes.push_with(|| path.invalid("must not start with '..'"));
    }
}

/// Checks a source that consists of files.
fn files(source: &Field<'_>, name: &str, causes: &mut CauseList) {
    needed(&source.child(name), causes);
    mode(&source.child("defaultMode"), causes);
    items(source, causes);
}

/// Source: `validateKeyToPath`.
pub(super) fn items(source: &Field<'_>, causes: &mut CauseList) {
    for item in source.child("items").items() {
        let path = item.child("path");
        needed(&item.child("key"), causes);
        needed(&path, causes);
        file(&path, causes);
        mode(&item.child("mode"), causes);
    }
}

pub(super) fn mode(place: &Field<'_>, causes: &mut CauseList) {
    if !(0..=MODE_MAX).contains(&place.number()) {
        causes.push_with(|| place.invalid(MODE));
    }
}
