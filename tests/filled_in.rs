//! Defaults are filled in once: for every built-in kind, writing back what was read changes nothing,
//! whatever was sent at first.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_core::kind::KindRef;
use hindsight_core::schema::Schema;
use hindsight_tests::dice::{Dice, number};
use hindsight_tests::http::Client;
use serde_json::{Map, Value, json};

/// Objects of each kind.
const OBJECTS: u64 = 40;
/// How deep random members go.
const DEPTH_MAX: usize = 9;
/// One member in this many is generated: the more there are, the more often an object is refused.
const SPARSE: [u64; 3] = [4, 12, 36];
/// How many kinds accept random objects; the others require a certain name, or have a rule of their
/// own.
const KINDS_TAKEN: usize = 45;

/// What an object of a kind needs to be accepted; random members are added to that.
const BASES: &str = r#"
pods {"spec": {"containers": [{"name": "c", "image": "i"}]}}
podtemplates {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
replicationcontrollers {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
deployments {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
replicasets {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
statefulsets {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
daemonsets {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
controllerrevisions {"data": {"a": "b"}}
jobs {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
cronjobs {"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}
services {"spec": {"ports": [{"port": 80}]}}
persistentvolumeclaims {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}}
persistentvolumes {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1024Mi"}, "hostPath": {"path": "/"}}}
horizontalpodautoscalers {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}}
rolebindings {"roleRef": {"kind": "Role", "name": "r"}}
clusterrolebindings {"roleRef": {"kind": "ClusterRole", "name": "r"}}
ingresses {"spec": {"rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}
ingressclasses {"spec": {"controller": "x.io/y"}}
storageclasses {"provisioner": "x/y"}
priorityclasses {"value": 1}
servicecidrs {"spec": {"cidrs": ["10.0.0.0/16"]}}
runtimeclasses {"handler": "h"}
limitranges {"spec": {"limits": [{"type": "Container"}]}}
endpointslices {"addressType": "IPv4", "endpoints": []}
flowschemas {"spec": {"priorityLevelConfiguration": {"name": "p"}}}
"#;

/// The random values of strings.
const TEXTS: [&str; 4] = ["", "a", "v1", "x.io/y"];
const QUANTITIES: [&str; 6] = ["0", "1000m", "1024Mi", "0.5", "1e3", "0.3Gi"];

struct Maker {
    dice: Dice,
    sparse: u64,
}

impl Maker {
    /// A random value that the schema accepts, with `base` in it.
    fn around(&mut self, schema: &Schema, base: Value, depth: usize) -> Value {
        match base {
            Value::Object(members) => self.object(schema, members, depth),
            Value::Array(items) => {
                let each = schema.items.clone().unwrap_or_default();
                let items = items.into_iter();
                items
                    .map(|item| self.around(&each, item, depth + 1))
                    .collect()
            }
            said => said,
        }
    }

    fn object(&mut self, schema: &Schema, base: Map<String, Value>, depth: usize) -> Value {
        let mut members: Map<String, Value> = Map::new();
        for (name, value) in base {
            let known = schema.properties.get(name.as_str());
            let known = known.or(schema.additional.as_ref()).cloned();
            let value = self.around(&known.unwrap_or_default(), value, depth + 1);
            members.insert(name, value);
        }
        for (name, known) in &schema.properties {
            let is_taken = members.contains_key(&**name) || (depth == 0 && is_fixed(name));
            if !is_taken && depth < DEPTH_MAX && self.dice.roll(self.sparse) == 0 {
                members.insert(name.to_string(), self.value(known, depth + 1));
            }
        }
        if let Some(each) = &schema.additional {
            members.insert("k".into(), self.value(each, depth + 1));
        }
        Value::Object(members)
    }

    fn value(&mut self, schema: &Schema, depth: usize) -> Value {
        if schema.quantity {
            return match self.dice.roll(4) {
                0 => json!(self.dice.roll(3000)),
                _ => json!(self.dice.pick(&QUANTITIES)),
            };
        }
        if schema.int_or_string {
            return self
                .dice
                .pick(&[json!(0), json!(1), json!("25%"), json!("")]);
        }
        match &*schema.type_name {
            "string" if schema.format.is_some() => Value::Null,
            "string" => json!(self.dice.pick(&TEXTS)),
            "integer" | "number" => json!(self.dice.roll(3)),
            "boolean" => json!(self.dice.roll(2) == 0),
            "array" => {
                let each = schema.items.clone().unwrap_or_default();
                let count = self.dice.roll(3);
                (0..count).map(|_| self.value(&each, depth + 1)).collect()
            }
            "object" => self.object(schema, Map::new(), depth),
            _ => Value::Null,
        }
    }
}

fn is_fixed(name: &str) -> bool {
    ["apiVersion", "kind", "metadata"].contains(&name)
}

fn base(resource: &str) -> Value {
    let mut rows = BASES.lines().filter_map(|row| row.split_once(' '));
    let row = rows.find(|row| row.0 == resource);
    row.map_or(json!({}), |row| serde_json::from_str(row.1).expect("JSON"))
}

fn collection(kind: &KindRef, version: &str) -> String {
    let (group, plural) = (&kind.resource.group, &kind.resource.resource);
    let root = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    if kind.is_namespaced() {
        format!("{root}/namespaces/default/{plural}")
    } else {
        format!("{root}/{plural}")
    }
}

/// Creates the object, reads it and writes back what was read; returns whether the object was
/// accepted.
fn sent_and_sent_again(client: &Client, path: &str, object: &Value) -> bool {
    let created = client.send("POST", path, "application/json", &object.to_string());
    if created.code != 201 {
        assert!(
            (400..500).contains(&created.code),
            "{object}: {}",
            created.text
        );
        return false;
    }
    let (name, created) = (&object["metadata"]["name"], created.json());
    let one = format!("{path}/{}", name.as_str().expect("a name"));
    let read = client.send("GET", &one, "", "");
    assert_eq!(read.json(), created, "{object}");
    let again = client.send("PUT", &one, "application/json", &read.text);
    assert_eq!(again.code, 200, "{object}: {}", again.text);
    assert_eq!(again.json(), created, "{object}");
    true
}

#[test]
fn what_was_read_is_no_change_of_any_built_in_kind() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let client = Client::new(&plane);
    let kinds = plane.state().kinds.clone();
    let dice = Dice(number("HINDSIGHT_SEED", 1));
    let mut maker = Maker { dice, sparse: 1 };
    let mut taken = Vec::new();
    for kind in kinds.iter().filter(|kind| !kind.strategy.review) {
        let version = kind.storage_version().expect("a version");
        let schema = kinds.schema(kind, &version.name).expect("a schema");
        let path = collection(kind, &version.name);
        let mut count = 0;
        for object in 0..OBJECTS {
            // The first object has nothing but what it needs.
            let mut document = base(&kind.resource.resource);
            if object > 0 {
                maker.sparse = maker.dice.pick(&SPARSE);
                document = maker.around(schema, document, 0);
            }
            document["metadata"] = json!({"name": format!("n{object}")});
            count += u64::from(sent_and_sent_again(&client, &path, &document));
        }
        println!("{}: {count} of {OBJECTS} were taken", kind.resource);
        taken.extend((count > 0).then_some(&kind.kind));
    }
    assert!(
        taken.len() >= KINDS_TAKEN,
        "{} of {}: {taken:?}",
        taken.len(),
        kinds.iter().count()
    );
}
