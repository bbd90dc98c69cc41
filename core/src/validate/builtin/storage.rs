//! Claims of volumes, and the drivers of nodes. Source: `ValidatePersistentVolumeClaim` and its update of
//! upstream's `pkg/apis/core/validation`, and `ValidateCSINode` and its update of
//! `pkg/apis/storage/validation`.

use super::selector::label_selector;
use super::{Field, IMMUTABLE, Subject, shown};
use crate::quantity::{self, Quantity};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{names, qualified_name};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_with;

const FROZEN: &str = "spec is immutable after creation except resources.requests and \
     volumeAttributesClassName for bound claims";
const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const REQUESTED: &str = "resources.requests.storage";
const CLASS: &str = "volumeAttributesClassName";
const NODE_ID_MAX: usize = 256;
const DRIVER_NAME_MAX: usize = 63;

/// Checks how volumes are used.
pub(super) fn modes(list: &Field<'_>, causes: &mut CauseList) {
    for mode in list.items().filter(|mode| !MODES.contains(&mode.text())) {
        let field = list.path.as_str();
        causes.push_with(|| FieldCause::not_supported(field, mode.text(), &MODES));
    }
    let all: Vec<&str> = list.items().map(|mode| mode.text()).collect();
    let others = all
        .iter()
        .any(|mode| MODES.contains(mode) && *mode != "ReadWriteOncePod");
    if others && all.contains(&"ReadWriteOncePod") {
        let why = "may not use ReadWriteOncePod with other access modes";
        causes.push_with(|| list.forbidden(why));
    }
}

/// Checks members that claims and volumes have in common.
pub(super) fn class_and_mode(spec: &Field<'_>, causes: &mut CauseList) {
    spec.child("storageClassName").check_subdomain(causes);
    let mode = spec.child("volumeMode");
    if !mode.is_absent() && !VOLUME_MODES.contains(&mode.text()) {
        causes.push_with(|| mode.not_supported(&VOLUME_MODES));
    }
}

pub(super) fn size_of(value: &Value) -> Option<Quantity> {
    quantity::read(value).ok().flatten().map(|(size, _)| size)
}

/// Refuses amounts that are not above zero.
pub(super) fn positive(amount: &Field<'_>, causes: &mut CauseList) {
    if size_of(amount.value).is_some_and(|size| size.sign() <= 0) {
        causes.push_with(|| amount.invalid("must be greater than zero"));
    }
}

pub(super) fn claim(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    claim_spec(spec, causes);
    if let Some(old) = &subject.old {
        claim_update(old, spec, subject, causes);
    }
}

/// A claim that a stateful set makes for each of its pods. It cannot change, so it is looked at once. Source:
/// `ValidateVolumeClaimTemplates`.
pub(super) fn claim_template(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if subject.old.is_none() {
        claim_spec(spec, causes);
    }
}

/// Source: `ValidatePersistentVolumeClaimSpec`.
pub(super) fn claim_spec(spec: &Field<'_>, causes: &mut CauseList) {
    let list = spec.child("accessModes");
    if list.is_empty() {
        causes.push_with(|| list.required("at least 1 access mode is required"));
    }
    label_selector(&spec.child("selector"), causes);
    modes(&list, causes);
    let path = format!("{}.resources[storage]", spec.path);
    let asked = spec.at(REQUESTED);
    if asked.is_absent() {
        causes.push_with(|| FieldCause::required(path, ""));
    } else {
        positive(&Field { path, ..asked }, causes);
    }
    class_and_mode(spec, causes);
    let source = spec.child("dataSource");
    for member in ["name", "kind"].map(|name| source.child(name)) {
        if !source.is_absent() && member.is_empty() {
            causes.push_with(|| member.required(""));
        }
    }
    same_sources(spec, causes);
}

/// A claim has one source, though two members name it.
fn same_sources(spec: &Field<'_>, causes: &mut CauseList) {
    let (older, newer) = (spec.child("dataSource"), spec.child("dataSourceRef"));
    if older.is_absent() || newer.is_absent() {
        return;
    }
    let differs = |member: &str| older.child(member).text() != newer.child(member).text();
    if ["apiGroup", "kind", "name"].into_iter().any(differs) {
        let shown = json!(older.path).to_string();
        causes.push_with(|| spec.invalid_as(&shown, "must match dataSourceRef"));
    }
}

fn claim_update(old: &Field<'_>, spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let bound = subject.new.at("status.phase").text() == "Bound";
    let before = old.child("spec");
    if frozen(&before, spec, bound) != frozen(spec, spec, bound) {
        causes.push_with(|| spec.forbidden(FROZEN));
    }
    let size = |place: &Field<'_>| size_of(place.value);
    let asked = spec.at(REQUESTED);
    let has = size(&old.at("status.capacity.storage")).unwrap_or(Quantity::whole(0));
    let now = size(&asked).unwrap_or(Quantity::whole(0));
    if size(&before.at(REQUESTED)).is_some_and(|before| now < before) && now <= has {
        causes.push_with(|| asked.forbidden("field can not be less than status.capacity"));
    }
    let mode = spec.child("volumeMode");
    if subject.changes(&mode) {
        causes.push_with(|| FieldCause::invalid("volumeMode", mode.value, IMMUTABLE));
    }
    let (class, current) = (spec.child(CLASS), "status.currentVolumeAttributesClassName");
    if subject.new.at(current).is_absent() || before.child(CLASS).is_absent() {
        return;
    }
    let what = if class.is_absent() {
        "nil"
    } else if class.is_empty() {
        "empty string"
    } else {
        return;
    };
    let why = format!(
        "update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    );
    causes.push_with(|| class.forbidden(&why));
}

/// The part of the spec that an update may not change. A volume may be named once, and a class if none was
/// named, be it the empty one.
fn frozen(old: &Field<'_>, new: &Field<'_>, bound: bool) -> Value {
    let mut spec = old.value.clone();
    let Some(members) = spec.as_object_mut() else {
        return spec;
    };
    let named = [
        ("volumeName", old.child("volumeName").is_empty()),
        (
            "storageClassName",
            old.child("storageClassName").value.is_null(),
        ),
    ];
    for (once, _) in named.iter().filter(|(_, is_open)| *is_open) {
        let name = new.child(once).value;
        if name.is_null() {
            members.remove(*once);
        } else {
            members.insert((*once).into(), name.clone());
        }
    }
    if !bound {
        return spec;
    }
    members.remove(CLASS);
    let requests = spec.pointer_mut("/resources/requests");
    if let Some(requests) = requests.and_then(Value::as_object_mut) {
        requests.remove("storage");
    }
    spec
}

/// Checks the drivers of a node.
pub(super) fn csi_node(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let mut known = BTreeSet::new();
    for driver in spec.child("drivers").items() {
        if causes.is_full() {
            return;
        }
        driver_name(&driver.child("name"), causes);
        let id = driver.child("nodeID");
        if id.is_empty() {
            causes.push_with(|| id.required(""));
        }
        if id.text().len() > NODE_ID_MAX {
            causes.push_with(|| id.invalid(&format!("must be {NODE_ID_MAX} characters or less")));
        }
        driver.at("allocatable.count").at_least(0, causes);
        let name = driver.child("name");
        if !known.insert(name.text()) {
            causes.push_with(|| name.duplicate());
        }
        topology_keys(&driver, causes);
    }
    csi_node_update(spec, subject, causes);
}

/// Source: `ValidateCSIDriverName` of `pkg/apis/core/validation`.
pub(super) fn driver_name(name: &Field<'_>, causes: &mut CauseList) {
    let text = name.text();
    if text.is_empty() {
        causes.push_with(|| name.required(""));
    }
    if text.len() > DRIVER_NAME_MAX {
        causes.push_with(|| FieldCause::too_long(name.path.as_str(), DRIVER_NAME_MAX));
    }
    let why = names::subdomain(&text.to_lowercase()).err();
    causes.extend(why.map(|why| name.invalid_as(&json!(text).to_string(), &why)));
}

/// Upstream names the driver as the place of a key.
fn topology_keys(driver: &Field<'_>, causes: &mut CauseList) {
    let mut known = BTreeSet::new();
    for key in driver.child("topologyKeys").items() {
        let path = driver.path.clone();
        let key = Field { path, ..key };
        if key.is_empty() {
            causes.push_with(|| key.required(""));
        }
        if !known.insert(key.text()) {
            causes.push_with(|| key.duplicate());
        }
        key.refuse(qualified_name(key.text()), causes);
    }
}

/// A driver of a node keeps everything but the number of volumes that it can attach.
fn csi_node_update(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let mut drivers: BTreeMap<Option<&str>, Vec<(Value, usize)>> = BTreeMap::new();
    for driver in spec.child("drivers").items() {
        let (name, driver) = fixed(&driver);
        let called_so = drivers.entry(name).or_default();
        match called_so.last_mut() {
            Some((last, count)) if *last == driver => *count += 1,
            _ => called_so.push((driver, 1)),
        }
    }
    let old = subject.old.iter();
    for old in old.flat_map(|old| old.at("spec.drivers").items()) {
        if causes.is_full() {
            return;
        }
        let (name, before) = fixed(&old);
        let called_so = drivers.get(&name).into_iter().flatten();
        for (new, count) in called_so.filter(|(new, _)| *new != before) {
            let shown = || shown::object(new, shown::NODE_DRIVER);
            let cause = || FieldCause::invalid_as("spec.drivers", &shown(), IMMUTABLE);
            causes.extend(repeat_with(cause).take(*count));
        }
    }
}

/// The name of a driver, and what it keeps.
fn fixed<'a>(driver: &Field<'a>) -> (Option<&'a str>, Value) {
    let mut fixed = driver.value.clone();
    if let Some(members) = fixed.as_object_mut() {
        members.remove("allocatable");
    }
    (driver.child("name").value.as_str(), fixed)
}
