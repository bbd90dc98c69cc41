//! What a claim may be filled from. Source: `EnforceDataSourceBackwardsCompatibility` and
//! `DropDisabledFields` of upstream's `pkg/api/persistentvolumeclaim`.

use serde_json::Value;

/// Kinds, with their groups, that the older member may name.
const OLDER: [(&str, &str); 2] = [
    ("PersistentVolumeClaim", ""),
    ("VolumeSnapshot", "snapshot.storage.k8s.io"),
];

/// Drops sources that the API server ignores: a `dataSourceRef` to another namespace, which needs a feature gate,
/// unless the claim had one before; and a `dataSource` of another kind than those above without a `dataSourceRef`,
/// unless the claim had any source before.
pub(super) fn drop_sources(old: Option<&Value>, next: &mut Value) {
    let is_told = |spec: Option<&Value>, member: &str| {
        let told = spec.and_then(|spec| spec.get(member));
        told.is_some_and(|told| !told.is_null())
    };
    let before = old.and_then(|old| old.get("spec"));
    let (had, had_ref) = (
        is_told(before, "dataSource"),
        is_told(before, "dataSourceRef"),
    );
    let elsewhere = next.pointer("/spec/dataSourceRef/namespace");
    let is_elsewhere = elsewhere.is_some_and(|namespace| !text(Some(namespace)).is_empty());
    let Some(spec) = next.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if is_elsewhere && !had_ref {
        spec.remove("dataSourceRef");
    }
    let has_ref = spec.get("dataSourceRef").is_some_and(|one| !one.is_null());
    let is_older = spec.get("dataSource").is_some_and(is_of_older_kind);
    if !(had || had_ref || has_ref || is_older) {
        spec.remove("dataSource");
    }
}

fn is_of_older_kind(source: &Value) -> bool {
    let (kind, group) = (text(source.get("kind")), text(source.get("apiGroup")));
    OLDER.contains(&(kind, group))
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}
