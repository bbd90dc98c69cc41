//! Members that say the same in two ways. Source: upstream's `pkg/apis/core/v1/conversion.go`, which reads
//! both into one field and writes both from it.

use super::{insert_empty, is_empty};
use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newer_name_of_an_account_wins() {
        for (sent, account) in [
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
            super::account(&mut spec);
            let both = json!({"serviceAccountName": account, "serviceAccount": account});
            assert_eq!(spec, both);
        }
        let mut none = json!({});
        super::account(&mut none);
        assert_eq!(none, json!({}));
    }
}
