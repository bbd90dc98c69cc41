//! What containers use of what their pod holds: volumes, as files or as devices, and claims of devices. Source:
//! `ValidateVolumeMounts`, `ValidateVolumeDevices` and `validateResourceClaimNames` of upstream's
//! `pkg/apis/core/validation`, and `volumesToAddForTemplates` of `pkg/apis/apps/validation`.

use super::volumes::{self, descends, needed};
use super::{Field, Subject};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::names;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const PROPAGATIONS: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
const RECURSIONS: [&str; 3] = ["Disabled", "Enabled", "IfPossible"];
const BLOCKS: [&str; 2] = ["persistentVolumeClaim", "ephemeral"];
/// Where the containers of a template name volumes.
const MOUNTED: [&str; 4] = [
    "initContainers[].volumeMounts[].name",
    "initContainers[].volumeDevices[].name",
    "containers[].volumeMounts[].name",
    "containers[].volumeDevices[].name",
];
const UNDECLARED: &str = "must be one of the names in pod.spec.resourceClaims";

/// What a pod holds.
pub(super) struct Held<'a> {
    /// The names of its volumes, and their types.
    volumes: BTreeMap<&'a str, &'static str>,
    /// Whether others may be mounted: an update leaves a set as wrong as it was.
    is_open: bool,
    /// The names of its claims of devices.
    claims: BTreeSet<&'a str>,
}

impl<'a> Held<'a> {
    /// Checks the volumes of a pod.
    pub(super) fn of(spec: &Field<'a>, subject: &Subject<'a>, causes: &mut CauseList) -> Self {
        let claims_volumes = subject.kind.strategy.claims_volumes;
        let claimed = if claims_volumes {
            claimed(&subject.new)
        } else {
            BTreeSet::new()
        };
        let old = subject.old.as_ref().filter(|_| claims_volumes);
        let claims = spec.select("resourceClaims[].name");
        let claims = claims.iter().map(Field::text);
        Self {
            volumes: volumes::volumes(&spec.child("volumes"), &claimed, causes),
            is_open: old.is_some_and(|old| mounts_nothing(old, &spec.path)),
            claims: claims.filter(|name| !name.is_empty()).collect(),
        }
    }
}

/// The names of the volumes that are claimed for each pod.
fn claimed<'a>(set: &Field<'a>) -> BTreeSet<&'a str> {
    let names = set.select("spec.volumeClaimTemplates[].metadata.name");
    names.iter().map(Field::text).collect()
}

/// Whether some container of the pods at this path mounts what is not declared.
fn mounts_nothing(set: &Field<'_>, path: &str) -> bool {
    let spec = set.at(path);
    let mut declared = claimed(set);
    declared.extend(spec.select("volumes[].name").iter().map(Field::text));
    let mounted = MOUNTED.map(|way| spec.select(way));
    let mut mounted = mounted.iter().flatten();
    mounted.any(|name| !declared.contains(name.text()))
}

/// What a list says a container uses, and where: of several with one name, at the path of the last.
struct Uses<'a> {
    names: BTreeSet<&'a str>,
    paths: BTreeSet<&'a str>,
}

impl<'a> Uses<'a> {
    fn of(list: &Field<'a>, member: &str) -> Self {
        let place = |one: Field<'a>| (one.child("name").text(), one.child(member).text());
        let places: BTreeMap<&str, &str> = list.items().map(place).collect();
        Self {
            names: places.keys().copied().collect(),
            paths: places.into_values().collect(),
        }
    }
}

fn quoted(place: &Field<'_>, why: &str) -> FieldCause {
    place.invalid_as(&json!(place.text()).to_string(), why)
}

/// Checks where a container mounts volumes.
pub(super) fn mounts(container: &Field<'_>, held: &Held<'_>, causes: &mut CauseList) {
    let list = container.child("volumeMounts");
    let devices = Uses::of(&container.child("volumeDevices"), "devicePath");
    let mut paths = BTreeSet::new();
    for mount in list.items() {
        let (name, path) = (mount.child("name"), mount.child("mountPath"));
        needed(&name, causes);
        if !held.is_open && !held.volumes.contains_key(name.text()) {
            let text = name.text().into();
            causes.push_with(|| FieldCause::not_found(name.path.as_str(), &text));
        }
        needed(&path, causes);
        if !paths.insert(path.text()) {
            causes.push_with(|| quoted(&path, "must be unique"));
        }
        if devices.names.contains(name.text()) {
            causes.push_with(|| quoted(&name, "must not already exist in volumeDevices"));
        }
        if devices.paths.contains(path.text()) {
            let why = "must not already exist as a path in volumeDevices";
            causes.push_with(|| quoted(&path, why));
        }
        let (below, expression) = (mount.child("subPath"), mount.child("subPathExpr"));
        descends(&somewhere(&list, &below), causes);
        if !below.is_empty() && !expression.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            causes.push_with(|| expression.invalid(why));
        }
        descends(&somewhere(&list, &expression), causes);
        propagates(&list, &mount, container, causes);
        recurses(&list, &mount, causes);
    }
}

/// A member of some mount: upstream's reports do not say of which.
fn somewhere<'a>(list: &Field<'a>, member: &Field<'a>) -> Field<'a> {
    let name = member.path.rsplit('.').next().unwrap_or_default();
    Field {
        path: format!("{}.{name}", list.path),
        value: member.value,
    }
}

/// Source: `validateMountPropagation`.
fn propagates(list: &Field<'_>, mount: &Field<'_>, container: &Field<'_>, causes: &mut CauseList) {
    let propagation = somewhere(list, &mount.child("mountPropagation"));
    if propagation.is_absent() {
        return;
    }
    if !PROPAGATIONS.contains(&propagation.text()) {
        causes.push_with(|| propagation.not_supported(&PROPAGATIONS));
    }
    let is_privileged = container.at("securityContext.privileged").is_true();
    if propagation.text() == "Bidirectional" && !is_privileged {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        causes.push_with(|| propagation.forbidden(why));
    }
}

/// Source: `validateMountRecursiveReadOnly`.
fn recurses(list: &Field<'_>, mount: &Field<'_>, causes: &mut CauseList) {
    let recursion = somewhere(list, &mount.child("recursiveReadOnly"));
    match recursion.text() {
        _ if recursion.is_absent() => {}
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.child("readOnly").is_true() {
                let why = "may only be specified when readOnly is true";
                causes.push_with(|| recursion.forbidden(why));
            }
            let propagation = mount.child("mountPropagation");
            if !propagation.is_absent() && propagation.text() != "None" {
                let why = "may only be specified when mountPropagation is None or not specified";
                causes.push_with(|| recursion.forbidden(why));
            }
        }
        _ => causes.push_with(|| recursion.not_supported(&RECURSIONS)),
    }
}

/// Checks which volumes a container uses as devices.
pub(super) fn devices(container: &Field<'_>, held: &Held<'_>, causes: &mut CauseList) {
    let mounts = Uses::of(&container.child("volumeMounts"), "mountPath");
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for device in container.child("volumeDevices").items() {
        let (name, path) = (device.child("name"), device.child("devicePath"));
        needed(&name, causes);
        if !name.is_empty() && !names.insert(name.text()) {
            causes.push_with(|| quoted(&name, "must be unique"));
        }
        match held.volumes.get(name.text()) {
            Some(kind) if BLOCKS.contains(kind) => {}
            Some(_) => {
                let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                causes.push_with(|| quoted(&name, why));
            }
            None if held.is_open => {}
            None => {
                let text = name.text().into();
                causes.push_with(|| FieldCause::not_found(name.path.as_str(), &text));
            }
        }
        needed(&path, causes);
        let has_backsteps = path.text().split('/').any(|part| part == "..");
        if has_backsteps {
            causes.push_with(|| quoted(&path, "can not contain backsteps ('..')"));
        } else if !paths.insert(path.text()) {
            causes.push_with(|| quoted(&path, "must be unique"));
        }
        if mounts.names.contains(name.text()) {
            causes.push_with(|| quoted(&name, "must not already exist in volumeMounts"));
        }
        if mounts.paths.contains(path.text()) {
            let why = "must not already exist as a path in volumeMounts";
            causes.push_with(|| quoted(&path, why));
        }
    }
}

/// Checks which claims of devices a container uses.
pub(super) fn claims(list: &Field<'_>, held: &Held<'_>, causes: &mut CauseList) {
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    for claim in list.items() {
        let (name, request) = (claim.child("name"), claim.child("request"));
        if name.is_empty() {
            causes.push_with(|| claim.required(""));
            continue;
        }
        let entry = (name.text(), request.text());
        let is_whole = used.contains(&(name.text(), ""));
        if !is_whole && !request.is_empty() {
            request.refuse(names::label_problems(request.text()), causes);
        }
        let duplicate = match entry {
            (name, "") if is_used(&used, name) => Some(name.to_owned()),
            (name, _) if is_whole => Some(name.to_owned()),
            (name, request) => used.contains(&entry).then(|| format!("{name}/{request}")),
        };
        if let Some(shown) = duplicate {
            let field = claim.path.as_str();
            causes.push_with(|| FieldCause::duplicate(field, &json!(shown)));
        }
        used.insert(entry);
        if !held.claims.contains(name.text()) {
            causes.push_with(|| undeclared(&claim, name.text(), held));
        }
    }
}

/// Whether a claim is used, as a whole or for one of its requests.
fn is_used(used: &BTreeSet<(&str, &str)>, name: &str) -> bool {
    let first = used.range((name, "")..).next();
    first.is_some_and(|(used, _)| *used == name)
}

fn undeclared(claim: &Field<'_>, name: &str, held: &Held<'_>) -> FieldCause {
    let mut cause = FieldCause::not_found(claim.path.as_str(), &json!(name));
    let declared: Vec<&str> = held.claims.iter().copied().collect();
    let declared = match declared.join(", ") {
        none if none.is_empty() => " which is empty".to_owned(),
        declared => format!(": {declared}"),
    };
    cause.message = format!("{}: {UNDECLARED}{declared}", cause.message);
    cause
}
