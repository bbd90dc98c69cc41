//! Volumes whose files are made of what the pod says of itself and of other objects. Source:
//! `validateDownwardAPIVolumeSource` and `validateProjectedVolumeSource` of upstream's `pkg/apis/core/validation`.

use super::Field;
use super::volumes::{file, items, mode, needed};
use crate::rejection::CauseList;
use serde_json::json;
use std::collections::BTreeSet;

const KINDS: [&str; 6] = [
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
];
const SECONDS_MIN: i64 = 600;
const SECONDS_MAX: i64 = 1 << 32;

pub(super) fn downward(source: &Field<'_>, causes: &mut CauseList) {
    mode(&source.child("defaultMode"), causes);
    for item in source.child("items").items() {
        said(source, &item, causes);
    }
}

/// One file of what a pod says of itself. Upstream's reports do not say which.
fn said(source: &Field<'_>, item: &Field<'_>, causes: &mut CauseList) {
    let item = Field {
        path: source.path.clone(),
        value: item.value,
    };
    let path = item.child("path");
    needed(&path, causes);
    file(&path, causes);
    let (field, resource) = (item.child("fieldRef"), item.child("resourceFieldRef"));
    if !field.is_absent() {
        needed(&field.child("fieldPath"), causes);
        if !resource.is_absent() {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            causes.push_with(|| item.invalid_as("\"resource\"", why));
        }
    } else if resource.is_absent() {
        causes.push_with(|| item.required("one of fieldRef and resourceFieldRef is required"));
    } else {
        let members = ["containerName", "resource"].map(|member| resource.child(member));
        let missing = members.iter().find(|member| member.is_empty());
        if let Some(missing) = missing {
            needed(missing, causes);
        }
    }
    mode(&item.child("mode"), causes);
}

pub(super) fn projected(volume: &Field<'_>, causes: &mut CauseList) {
    mode(&volume.child("defaultMode"), causes);
    let mut paths = Paths {
        volume,
        taken: BTreeSet::new(),
    };
    for source in volume.child("sources").items() {
        if causes.is_full() {
            return;
        }
        let there: Vec<_> = KINDS.map(|kind| (kind, source.child(kind))).into();
        let there = there.iter().filter(|(_, from)| !from.is_absent());
        for (kind, from) in there.clone() {
            paths.of_source(kind, from, causes);
        }
        if there.count() > 1 {
            let why = "may not specify more than 1 volume type per source";
            causes.push_with(|| source.forbidden(why));
        }
    }
}

/// The paths of files in a volume, each of which has one source.
struct Paths<'a> {
    volume: &'a Field<'a>,
    taken: BTreeSet<&'a str>,
}

impl<'a> Paths<'a> {
    fn of_source(&mut self, kind: &str, from: &Field<'a>, causes: &mut CauseList) {
        let paths = from.select("items[].path");
        let paths = paths.iter().map(Field::text);
        match kind {
            "secret" | "configMap" => {
                let name = from.child("name");
                needed(&name, causes);
                items(from, causes);
                for path in paths.filter(|path| !path.is_empty()) {
                    self.take(path, name.text(), causes);
                }
            }
            "downwardAPI" => {
                for item in from.child("items").items() {
                    said(from, &item, causes);
                }
                for path in paths.filter(|path| !path.is_empty()) {
                    self.take(path, path, causes);
                }
            }
            "serviceAccountToken" => self.token(from, causes),
            "clusterTrustBundle" => {
                let path = from.child("path");
                if from.child("name").is_absent() && from.child("signerName").is_absent() {
                    let why = "either name or signerName must be specified";
                    causes.push_with(|| from.required(why));
                }
                needed(&path, causes);
                file(&path, causes);
                self.take(path.text(), path.text(), causes);
            }
            _ => {}
        }
    }

    fn take(&mut self, path: &'a str, shown: &str, causes: &mut CauseList) {
        if !self.taken.insert(path) {
            let shown = json!(shown).to_string();
            let why = "conflicting duplicate paths";
            causes.push_with(|| self.volume.invalid_as(&shown, why));
        }
    }

    /// Upstream looks for the path in the volume.
    fn token(&self, token: &Field<'_>, causes: &mut CauseList) {
        let seconds = token.child("expirationSeconds");
        if seconds.number() < SECONDS_MIN {
            causes.push_with(|| seconds.invalid("may not specify a duration less than 10 minutes"));
        }
        if seconds.number() > SECONDS_MAX {
            let why = "may not specify a duration larger than 2^32 seconds";
            causes.push_with(|| seconds.invalid(why));
        }
        let path = Field {
            path: format!("{}.path", self.volume.path),
            ..token.child("path")
        };
        needed(&path, causes);
        file(&path, causes);
    }
}
