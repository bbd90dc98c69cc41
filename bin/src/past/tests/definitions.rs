//! What definitions leave to the states that are kept for pages.

use super::super::kept::REPLACED_MAX;
use super::{ask, page, revision_of, write};
use crate::ControlPlane;
use crate::testing::plane;
use hindsight_core::Revision;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// A definition of which each property has some 25 bytes here, and some 600 as a schema.
fn definition_of_many_properties() -> Value {
    definition_of(4_000, &json!({"type": "string"}))
}

fn definition_of(properties: usize, each: &Value) -> Value {
    let property = |at: usize| (format!("p{at}"), each.clone());
    let properties: serde_json::Map<String, Value> = (0..properties).map(property).collect();
    let schema = json!({"type": "object", "properties": properties});
    json!({"metadata": {"name": "things.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }})
}

async fn write_definition(plane: &ControlPlane, method: &str, definition: &Value) -> Value {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let path = match method {
        "PUT" => format!("{DEFINITIONS}/things.example.com"),
        _ => DEFINITIONS.to_owned(),
    };
    let written = ask(plane, method, &path, definition.to_string()).await;
    let code = written.status();
    let body = written
        .into_body()
        .collect()
        .await
        .expect("read")
        .to_bytes();
    assert!(code.is_success(), "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).expect("JSON")
}

/// A control plane with this definition and a list whose next page is still to be asked for: its state is kept until more
/// than so many bytes are replaced. Also returns the definition as it is stored, and the revision of the list.
async fn begun(left: usize, definition: &Value) -> (ControlPlane, Value, Revision) {
    let plane = plane();
    for name in ["a", "b"] {
        write(&plane, "POST", name, "0").await;
    }
    let stored = write_definition(&plane, "POST", definition).await;
    let (_, first) = page(&plane, None).await;
    plane
        .pasts()
        .kept
        .replaced(REPLACED_MAX - left, Instant::now());
    (plane, stored, revision_of(&first))
}

/// Changes the schema of a definition; returns what is stored.
async fn describe(plane: &ControlPlane, mut stored: Value, at: usize) -> Value {
    let schema = &mut stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["description"] = json!(at.to_string());
    write_definition(plane, "PUT", &stored).await
}

#[test]
fn a_state_is_not_kept_for_pages_while_the_schemas_of_a_definition_are_replaced_again_and_again() {
    /// Less than two versions of the schemas take, and more than a dozen of the definition itself.
    const LEFT: usize = 4 << 20;
    Runtime::new().expect("a runtime").block_on(async {
        let (plane, mut stored, revision) = begun(LEFT, &definition_of_many_properties()).await;
        let pasts = plane.pasts();
        for at in 0..4 {
            stored["metadata"]["labels"] = json!({"at": at.to_string()});
            stored = write_definition(&plane, "PUT", &stored).await;
        }
        assert!(
            pasts.kept(revision).is_some(),
            "its schemas are still the same"
        );
        for at in 0..3 {
            stored = describe(&plane, stored, at).await;
        }
        assert!(pasts.kept(revision).is_none());
    });
}

/// Of ten bytes, a literal of a rule may be compiled to a megabyte.
#[test]
fn a_state_is_not_kept_for_pages_while_regular_expressions_of_rules_are_replaced() {
    const LEFT: usize = 9 << 20;
    Runtime::new().expect("a runtime").block_on(async {
        let rule = json!({"rule": "self.matches('a')"});
        let property =
            json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule]});
        let (plane, mut stored, revision) = begun(LEFT, &definition_of(5, &property)).await;
        let pasts = plane.pasts();
        for (at, is_kept) in [true, false].into_iter().enumerate() {
            stored = describe(&plane, stored, at).await;
            assert_eq!(pasts.kept(revision).is_some(), is_kept, "{at}");
        }
    });
}
