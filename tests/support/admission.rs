//! A control plane with an admission webhook beside it.

use crate::http::{Answer as Answered, Client, JSON, MAPS, MERGE};
use crate::webhook::{Answer, Webhook};
use hindsight::{Config, ControlPlane};
use serde_json::{Value, json};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A control plane, a client of it, and a webhook.
#[derive(Debug)]
pub struct Scene {
    /// The control plane.
    pub plane: ControlPlane,
    /// The administrator's client.
    pub client: Client,
    /// The webhook, not configured yet.
    pub webhook: Webhook,
}

impl Scene {
    /// Starts all three; the webhook answers by path and request.
    pub fn new(handler: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static) -> Self {
        Self::with(Config::default(), handler)
    }

    /// Starts all three without collectors, so that what is marked for deletion stays to be looked
    /// at.
    pub fn without_collectors(
        handler: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let config = Config {
            collectors: false,
            ..Config::default()
        };
        Self::with(config, handler)
    }

    fn with(
        config: Config,
        handler: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let plane = ControlPlane::open(config).expect("it opens");
        Self {
            client: Client::new(&plane),
            plane,
            webhook: Webhook::start(handler),
        }
    }

    /// Configures webhooks, each called at its path, with these members merged over the defaults.
    pub fn configure(&self, kind: &str, hooks: &[(&str, Value)]) {
        let hook = |(path, members): &(&str, Value)| {
            let mut hook = json!({
                "name": format!("{}.example.com", path.trim_matches('/').replace('/', ".")),
                "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": self.webhook.client_config(path), "timeoutSeconds": 5,
                "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
                    "resources": ["configmaps"]}],
            });
            let all = hook.as_object_mut().expect("an object");
            all.extend(members.as_object().expect("an object").clone());
            hook
        };
        let hooks: Vec<Value> = hooks.iter().map(hook).collect();
        let body = json!({"metadata": {"name": "x"}, "webhooks": hooks});
        let path = format!("{GROUP}/{}webhookconfigurations", kind.to_lowercase());
        self.client.send("DELETE", &format!("{path}/x"), "", "");
        self.ok("POST", &path, &body);
    }

    /// Sends one request with a JSON body; a PATCH is a merge patch.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answered {
        let media = if method == "PATCH" { MERGE } else { JSON };
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.client.send(method, path, media, &text)
    }

    /// Sends one request that must succeed.
    pub fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.send(method, path, body);
        assert!(answer.code < 300, "{method} {path}: {}", answer.text);
        answer.json()
    }

    /// Creates a ConfigMap.
    pub fn create(&self, name: &str) -> Answered {
        self.send("POST", MAPS, &map(name))
    }
}

/// A ConfigMap.
pub fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

/// An answer that adds a label to those that the object has.
pub fn label(request: &Value, key: &str, value: &str) -> Answer {
    let mut labels = request["object"]["metadata"]["labels"].clone();
    labels[key] = json!(value);
    Answer::patch(&json!([{"op": "add", "path": "/metadata/labels", "value": labels}]))
}
