//! Members that say the same in two ways. Source, unless a function says otherwise: upstream's
//! `pkg/apis/core/v1/conversion.go`, which reads both into one field and writes both from it.

use super::{insert_empty, is_empty, objects};
use serde_json::{Map, Value, json};

/// The account of a pod has an older name, which counts where the newer one is missing. Source:
/// `Convert_v1_PodSpec_To_core_PodSpec`.
pub(super) fn account(spec: &mut Value) {
    let Some(members) = spec.as_object_mut() else {
        return;
    };
    let (name, alias) = ("serviceAccountName", "serviceAccount");
    if !is_empty(members, alias) {
        let account = members.get(alias).cloned().unwrap_or_default();
        insert_empty(members, name, account);
    }
    if !is_empty(members, name) {
        let account = members.get(name).cloned().unwrap_or_default();
        members.insert(alias.into(), account);
    }
}

/// The address of a pod is the first of its addresses. Source: `Convert_v1_PodStatus_To_core_PodStatus`.
pub(super) fn addresses(document: &mut Value) {
    let item = |address: &str| json!({"ip": address});
    for status in objects(document, &["status"]) {
        in_step(status, ["podIP", "podIPs"], "/0/ip", item);
    }
}

/// The range of a node is the first of its ranges. Source: `Convert_v1_NodeSpec_To_core_NodeSpec`.
pub(super) fn ranges(document: &mut Value) {
    for spec in objects(document, &["spec"]) {
        in_step(spec, ["podCIDR", "podCIDRs"], "/0", |range| range.into());
    }
}

/// What a claim is filled from has an older member, for sources in its own namespace. Source:
/// `NormalizeDataSources` of upstream's `pkg/api/persistentvolumeclaim`.
pub(super) fn sources(document: &mut Value) {
    for spec in objects(document, &["spec"]) {
        let told = |member: &str| spec.get(member).filter(|told| told.is_object());
        let missing = match (told("dataSource"), told("dataSourceRef")) {
            (Some(older), None) => Some(("dataSourceRef", older.clone())),
            (None, Some(newer)) => Some(("dataSource", newer.clone())),
            _ => None,
        };
        let Some((member, mut source)) = missing else {
            continue;
        };
        let namespace = source
            .as_object_mut()
            .and_then(|one| one.remove("namespace"));
        if namespace.is_none_or(|namespace| namespace == "" || namespace.is_null()) {
            spec.insert(member.into(), source);
        }
    }
}

/// Keeps a member in step with the first of a list. The member is the older one, and wins: whoever does not
/// know of the list leaves it as it was.
fn in_step(
    members: &mut Map<String, Value>,
    [one, all]: [&str; 2],
    first: &str,
    item: impl Fn(&str) -> Value,
) {
    let listed = members.get(all).and_then(|list| list.pointer(first));
    let listed = listed.and_then(Value::as_str);
    match (members.get(one).and_then(Value::as_str), listed) {
        (Some(told), _) if !told.is_empty() && listed != Some(told) => {
            let list = json!([item(told)]);
            members.insert(all.into(), list);
        }
        (None | Some(""), Some(listed)) => {
            let told = Value::from(listed);
            members.insert(one.into(), told);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newer_name_of_an_account_wins() {
        for (sent, name) in [
            (json!({"serviceAccountName": "a"}), "a"),
            (json!({"serviceAccount": "b"}), "b"),
            (
                json!({"serviceAccountName": "", "serviceAccount": "b"}),
                "b",
            ),
            (
                json!({"serviceAccountName": "a", "serviceAccount": "b"}),
                "a",
            ),
            (
                json!({"serviceAccountName": "a", "serviceAccount": null}),
                "a",
            ),
        ] {
            let mut spec = sent;
            account(&mut spec);
            let both = json!({"serviceAccountName": name, "serviceAccount": name});
            assert_eq!(spec, both);
        }
        let mut none = json!({});
        account(&mut none);
        assert_eq!(none, json!({}));
    }

    #[test]
    fn what_an_older_client_tells_alone_is_the_first_of_all() {
        let both = |one: &str, all: &[&str]| json!({"spec": {"podCIDR": one, "podCIDRs": all}});
        for (sent, told) in [
            (json!({"podCIDR": "a"}), both("a", &["a"])),
            (json!({"podCIDRs": ["a", "b"]}), both("a", &["a", "b"])),
            (
                json!({"podCIDR": "a", "podCIDRs": ["a", "b"]}),
                both("a", &["a", "b"]),
            ),
            (
                json!({"podCIDR": "c", "podCIDRs": ["a", "b"]}),
                both("c", &["c"]),
            ),
            (json!({"podCIDR": "", "podCIDRs": ["a"]}), both("a", &["a"])),
            (json!({}), json!({"spec": {}})),
        ] {
            let mut node = json!({"spec": sent});
            ranges(&mut node);
            assert_eq!(node, told);
        }
    }
}
