//! Manifests that several tests apply.

use crate::dice::Dice;
use base64::prelude::{BASE64_STANDARD, Engine};

/// A Deployment of two replicas of one container.
pub const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: 'nginx:1'}]}
";

/// A ConfigMap that another one owns.
pub fn dependent(name: &str, owner: &str, uid: &str) -> String {
    let owner = format!("{{apiVersion: v1, kind: ConfigMap, name: {owner}, uid: {uid}}}");
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, ownerReferences: [{owner}]}}\n"
    )
}

/// A ConfigMap of almost a MiB that cannot be compressed.
pub fn incompressible(name: &str, dice: &mut Dice) -> String {
    let noise: Vec<u8> = (0..80_000)
        .flat_map(|_| dice.roll(u64::MAX).to_le_bytes())
        .collect();
    let noise = BASE64_STANDARD.encode(noise);
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{noise: {noise}}}\n"
    )
}

/// A definition of a custom kind with this schema.
pub fn widgets(schema: &str) -> String {
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{plural: widgets, singular: widget, kind: Widget}}
  versions:
  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema}}}}}
"
    )
}
