//! Any number of webhooks may be configured.

use super::*;
use crate::backend::fake::beside;

const HOOKS: u32 = 50;

#[test]
fn others_are_answered_between_the_conditions_of_two_webhooks() {
    for configurations in [
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
    ] {
        let scene = Scene::new(configurations, &["DELETE"], |_| None);
        let hook = |at: u32| {
            json!({"name": format!("w{at}.example.com"), "admissionReviewVersions": ["v1"],
                "sideEffects": "None", "clientConfig": {"url": "https://w.example.com"},
                "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
                    "resources": ["*"]}],
                "matchConditions": [{"name": "never", "expression": "false"}]})
        };
        let hooks: Vec<Value> = (0..HOOKS).map(hook).collect();
        let configuration = json!({"metadata": {"name": "many"}, "webhooks": hooks});
        let group = "admissionregistration.k8s.io";
        scene.write(create(group, configurations, "", &configuration));
        let api = Api::new(Arc::clone(&scene.fake) as _, Arc::default());
        let request = Request::post(MAPS).body(Full::<Bytes>::from(named("a").to_string()));
        let asks = api.handle(request.expect("a request"), Some(actor()));
        let (answer, turns) = crate::testing::runtime().block_on(beside(asks));
        assert_eq!(answer.status(), 201, "{configurations}");
        assert!(turns >= HOOKS, "{configurations}: {turns}");
    }
}
