//! What definitions leave to the states that are kept for pages.

use super::super::kept::REPLACED_MAX;
use super::{ask, page, revision_of, write};
use crate::ControlPlane;
use crate::testing::plane;
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

#[test]
fn a_state_is_not_kept_for_pages_while_the_schemas_of_a_definition_are_replaced_again_and_again() {
    /// Less than two versions of the schemas take, and more than a dozen of the definition itself.
    const LEFT: usize = 4 << 20;
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        for name in ["a", "b"] {
            write(&plane, "POST", name, "0").await;
        }
        let mut stored = write_definition(&plane, "POST", &definition_of_many_properties()).await;
        let (_, first) = page(&plane, None).await;
        let (pasts, revision) = (plane.pasts(), revision_of(&first));
        pasts.kept.replaced(REPLACED_MAX - LEFT, Instant::now());
        for at in 0..4 {
            stored["metadata"]["labels"] = json!({"at": at.to_string()});
            stored = write_definition(&plane, "PUT", &stored).await;
        }
        assert!(
            pasts.kept(revision).is_some(),
            "its schemas are still the same"
        );
        for at in 0..3 {
            let schema = &mut stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            schema["description"] = json!(at.to_string());
            stored = write_definition(&plane, "PUT", &stored).await;
        }
        assert!(pasts.kept(revision).is_none());
    });
}

/// Of ten bytes, a literal of a rule may be compiled to a megabyte.
#[test]
fn a_state_is_not_kept_for_pages_while_regular_expressions_of_rules_are_replaced() {
    const LEFT: usize = 9 << 20;
    Runtime::new().expect("a runtime").block_on(async {
        let plane = plane();
        for name in ["a", "b"] {
            write(&plane, "POST", name, "0").await;
        }
        let rule = json!({"rule": "self.matches('a')"});
        let property =
            json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule]});
        let mut stored = write_definition(&plane, "POST", &definition_of(5, &property)).await;
        let (_, first) = page(&plane, None).await;
        let (pasts, revision) = (plane.pasts(), revision_of(&first));
        pasts.kept.replaced(REPLACED_MAX - LEFT, Instant::now());
        for (at, is_kept) in [true, false].into_iter().enumerate() {
            let schema = &mut stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            schema["description"] = json!(at.to_string());
            stored = write_definition(&plane, "PUT", &stored).await;
            assert_eq!(pasts.kept(revision).is_some(), is_kept, "{at}");
        }
    });
}
