//! What a write makes of an object and of its managers.

use super::sets::{read, schema};
use crate::fields::{FieldSet, ManagerId, Managers, Updater, Version, Versions};
use crate::schema::Schema;
use serde_json::{Map, Value, json};

/// A kind with one version.
#[derive(Debug)]
pub(super) struct Single(pub(super) Schema);

impl Versions for Single {
    fn version(&self, api_version: &str) -> Option<Version<'_>> {
        let schema = Some(&self.0);
        (api_version == "v1").then_some(Version { schema })
    }

    fn convert(&self, object: &Value, _api_version: &str) -> Value {
        object.clone()
    }
}

/// An object and the managers of its fields.
struct World<'a> {
    versions: &'a dyn Versions,
    live: Value,
    managers: Managers,
}

pub(super) fn id(name: &str, api_version: Option<&str>) -> ManagerId {
    ManagerId {
        manager: name.into(),
        applied: api_version.is_none(),
        api_version: api_version.map(Into::into),
        subresource: "".into(),
    }
}

impl<'a> World<'a> {
    fn new(versions: &'a dyn Versions) -> Self {
        Self {
            versions,
            live: json!(null),
            managers: Managers::new(),
        }
    }

    fn apply(&mut self, name: &str, config: &Value, force: bool) -> String {
        let who = id(name, None);
        let updater = self.updater(config, &who);
        let live = self.in_version(config);
        match updater.apply(&live, config, self.managers.clone(), force) {
            Ok((live, managers)) => {
                (self.live, self.managers) = (live, managers);
                self.live["spec"].to_string()
            }
            Err(conflicts) => {
                let told = conflicts.iter().flat_map(|one| {
                    let paths = one.fields.paths((usize::MAX, usize::MAX)).into_iter();
                    paths.map(move |path| format!("{} {path}", one.manager.manager))
                });
                told.collect::<Vec<_>>().join("; ")
            }
        }
    }

    fn update(&mut self, name: &str, new: Value) -> String {
        let who = id(name, new["apiVersion"].as_str());
        let live = self.in_version(&new);
        let updater = self.updater(&new, &who);
        self.managers = updater.update(&live, &new, self.managers.clone());
        self.live = new;
        self.live["spec"].to_string()
    }

    fn updater<'u>(&'u self, object: &'u Value, who: &'u ManagerId) -> Updater<'u> {
        Updater {
            api_version: object["apiVersion"].as_str().expect("a version"),
            versions: self.versions,
            unowned: &[],
            who,
        }
    }

    fn in_version(&self, object: &Value) -> Value {
        let wanted = object["apiVersion"].as_str().expect("a version");
        if self.live.is_null() {
            return json!({"apiVersion": wanted, "metadata": {}});
        }
        self.versions.convert(&self.live, wanted)
    }

    /// What a manager owns in the spec, through updates and applies alike.
    fn held(&self, name: &str) -> String {
        let own = self.managers.iter().filter(|(id, _)| &*id.manager == name);
        let sets = own.map(|(_, owned)| owned.set.to_fields_v1());
        let of_specs = sets.map(|set| set["f:spec"].to_string());
        of_specs.collect::<Vec<_>>().join(" ")
    }
}

/// Each paragraph is a title and steps: a verb (`apply`, `force` for a forced apply, `update` or
/// `holds`), a manager, the spec that is sent, and the resulting spec, the conflicts or the set.
const STEPS: &str = r#"
a field that nobody says any more goes
apply a {"count": 1, "text": "x"} => {"count": 1, "text": "x"}
apply a {"text": "x"} => {"text": "x"}
holds a => {"f:text": {}}

a field that two say stays until neither does
apply a {"count": 1, "text": "a"} => {"count": 1, "text": "a"}
apply b {"count": 1, "on": true} => {"count": 1, "text": "a", "on": true}
apply a {"text": "a"} => {"count": 1, "text": "a", "on": true}
holds a => {"f:text": {}}
holds b => {"f:count": {}, "f:on": {}}
apply b {"on": true} => {"text": "a", "on": true}

an empty map that is said is there, and so is an empty list
apply a {"point": {"x": 1}, "set": ["s"]} => {"point": {"x": 1}, "set": ["s"]}
apply a {"point": {}, "set": []} => {"point": {}, "set": []}
apply a {"point": {}, "set": []} => {"point": {}, "set": []}
holds a => {"f:point": {}}

a map that somebody else holds stays when it is empty
update u {"point": {}, "points": {"a": {}}} => {"point": {}, "points": {"a": {}}}
apply a {"point": {"x": 1}, "points": {"a": {"x": 1}}} => {"point": {"x": 1}, "points": {"a": {"x": 1}}}
apply a null => {"point": {}, "points": {"a": {}}}
holds u => {".": {}, "f:point": {}, "f:points": {".": {}, "f:a": {}}}

the last field of all goes with what is above it
apply a {"point": {"x": 1}} => {"point": {"x": 1}}
apply a null => null
holds a =>

a field of others is refused, and forced
apply a {"count": 1, "text": "a"} => {"count": 1, "text": "a"}
apply b {"count": 1} => {"count": 1, "text": "a"}
apply c {"count": 2, "text": "c"} => a .spec.count; a .spec.text; b .spec.count
holds c =>
force c {"count": 2, "text": "c"} => {"count": 2, "text": "c"}
holds a =>
holds b =>
holds c => {"f:count": {}, "f:text": {}}

what changes under an applier is no longer its own
apply a {"count": 1, "text": "a"} => {"count": 1, "text": "a"}
update u {"count": 2, "text": "a"} => {"count": 2, "text": "a"}
holds a => {"f:text": {}}
holds u => {"f:count": {}}
apply a {"count": 1, "text": "a"} => u .spec.count
apply a {"text": "a"} => {"count": 2, "text": "a"}
apply a {"count": 2, "text": "a"} => {"count": 2, "text": "a"}
holds a => {"f:count": {}, "f:text": {}}
holds u => {"f:count": {}}

an update that changes nothing holds nothing
apply a {"labels": {"x": "1"}} => {"labels": {"x": "1"}}
update u {"labels": {"x": "1"}} => {"labels": {"x": "1"}}
holds u =>

what an update removes nobody holds
apply a {"labels": {"x": "1", "y": "1"}} => {"labels": {"x": "1", "y": "1"}}
update u {"labels": {"x": "1"}} => {"labels": {"x": "1"}}
holds a => {"f:labels": {"f:x": {}}}
holds u =>

a map loses what its applier said, not what others added
apply a {"labels": {"x": "1"}} => {"labels": {"x": "1"}}
update u {"labels": {"x": "1", "y": "1"}} => {"labels": {"x": "1", "y": "1"}}
apply a {"count": 1} => {"labels": {"y": "1"}, "count": 1}
holds u => {"f:labels": {"f:y": {}}}

a part that others added keeps what is above it
apply a {"point": {"x": 1}} => {"point": {"x": 1}}
update u {"point": {"x": 1, "y": 1}} => {"point": {"x": 1, "y": 1}}
apply a {"point": {}} => {"point": {"y": 1}}
holds a => {"f:point": {}}

an item goes with what was added to it
apply a {"items": [{"name": "a"}, {"name": "b"}]} => {"items": [{"name": "a"}, {"name": "b"}]}
update u {"items": [{"name": "a"}, {"name": "b", "image": "i"}]} => {"items": [{"name": "a"}, {"name": "b", "image": "i"}]}
holds u => {"f:items": {"k:{\"name\":\"b\"}": {"f:image": {}}}}
apply a {"items": [{"name": "a"}]} => {"items": [{"name": "a"}]}
holds u =>

an item that another applier says stays, with what was added to it
apply a {"items": [{"name": "a"}, {"name": "b", "image": "i"}]} => {"items": [{"name": "a"}, {"name": "b", "image": "i"}]}
apply b {"items": [{"name": "b", "ports": [{"port": 1}]}]} => {"items": [{"name": "a"}, {"name": "b", "image": "i", "ports": [{"port": 1}]}]}
update u {"items": [{"name": "a"}, {"name": "b", "image": "i", "ports": [{"port": 1}], "limits": {"cpu": "1"}}]} => {"items": [{"name": "a"}, {"name": "b", "image": "i", "ports": [{"port": 1}], "limits": {"cpu": "1"}}]}
apply a {"items": [{"name": "a"}]} => {"items": [{"name": "a"}, {"name": "b", "ports": [{"port": 1}], "limits": {"cpu": "1"}}]}

items come in the order of the configuration, and others stay where they are between them
update u {"set": ["a", "b", "c", "d"]} => {"set": ["a", "b", "c", "d"]}
apply a {"set": ["d", "x", "b"]} => {"set": ["a", "c", "d", "x", "b"]}
apply a {"set": ["x", "y", "d"]} => {"set": ["a", "c", "x", "b", "y", "d"]}
apply a {"set": []} => {"set": ["a", "c", "b", "d"]}

the members of a set have owners of their own
apply a {"set": ["a", "b"]} => {"set": ["a", "b"]}
apply b {"set": ["b", "c"]} => {"set": ["a", "b", "c"]}
apply a {"count": 1} => {"set": ["b", "c"], "count": 1}
apply b {"count": 1} => {"count": 1}

items are told apart by all of their keys, with the defaults of these
apply a {"ports": [{"port": 80}]} => {"ports": [{"port": 80}]}
update u {"ports": [{"port": 80, "protocol": "TCP"}]} => {"ports": [{"port": 80, "protocol": "TCP"}]}
apply b {"ports": [{"port": 80, "protocol": "UDP", "name": "u"}]} => {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP", "name": "u"}]}
apply a {"ports": [{"port": 80, "name": "t"}]} => {"ports": [{"port": 80, "protocol": "TCP", "name": "t"}, {"port": 80, "protocol": "UDP", "name": "u"}]}
apply c {"ports": [{"port": 80, "protocol": "TCP", "name": "c"}]} => a .spec.ports[port=80,protocol="TCP"].name

a list that is one field is replaced as a whole, and so is a map
apply a {"args": ["x"], "whole": {"x": 1}} => {"args": ["x"], "whole": {"x": 1}}
apply b {"args": ["y"], "whole": {"y": 1}} => a .spec.args; a .spec.whole
force b {"args": ["y"], "whole": {"y": 1}} => {"args": ["y"], "whole": {"y": 1}}
holds a =>

null and nothing take nothing away
update u {"labels": {"x": "1"}, "set": ["s"], "point": {"x": 1}, "count": 1} => {"labels": {"x": "1"}, "set": ["s"], "point": {"x": 1}, "count": 1}
apply a {"labels": null, "set": null, "point": {}} => {"labels": {"x": "1"}, "set": ["s"], "point": {"x": 1}, "count": 1}
holds a => {"f:labels": {}, "f:set": {}, "f:point": {}}
apply a {"count": null} => u .spec.count

null is a value where there is no other
apply a {"labels": null, "point": null, "count": null} => {"labels": null, "point": null, "count": null}
apply b {"labels": {}, "count": 1} => a .spec.count; a .spec.labels
apply b {"labels": {"x": "1"}, "point": {"x": 1}} => {"labels": {"x": "1"}, "point": {"x": 1}, "count": null}
apply a null => {"labels": {"x": "1"}, "point": {"x": 1}}

items that are there twice are one field
apply a {"items": [{"name": "a", "image": "i"}, {"name": "b"}]} => {"items": [{"name": "a", "image": "i"}, {"name": "b"}]}
update u {"items": [{"name": "a", "image": "i"}, {"name": "a", "image": "j"}, {"name": "b"}]} => {"items": [{"name": "a", "image": "i"}, {"name": "a", "image": "j"}, {"name": "b"}]}
holds u => {"f:items": {"k:{\"name\":\"a\"}": {}}}
apply c {"count": 1} => {"count": 1, "items": [{"name": "a", "image": "i"}, {"name": "a", "image": "j"}, {"name": "b"}]}
apply b {"items": [{"name": "a", "image": "j"}]} => u .spec.items[name="a"]
apply a {"items": [{"name": "b"}]} => {"count": 1, "items": [{"name": "a", "image": "i"}, {"name": "a", "image": "j"}, {"name": "b"}]}
force b {"items": [{"name": "a", "image": "k"}]} => {"count": 1, "items": [{"name": "a", "image": "k"}, {"name": "b"}]}
holds u =>

the same member twice is one field
update u {"numbers": [1, 1, 3]} => {"numbers": [1, 1, 3]}
apply a {"numbers": [5]} => {"numbers": [1, 1, 3, 5]}
apply a {"numbers": [1, 5]} => u .spec.numbers[=1]
force a {"numbers": [1, 5]} => {"numbers": [1, 3, 5]}
holds a => {"f:numbers": {"v:1": {}, "v:5": {}}}

maps of maps have owners at each level
apply a {"points": {"a": {"x": 1}, "b": {"x": 1}}} => {"points": {"a": {"x": 1}, "b": {"x": 1}}}
apply b {"points": {"a": {"y": 1}}} => {"points": {"a": {"x": 1, "y": 1}, "b": {"x": 1}}}
apply a {"count": 1} => {"points": {"a": {"y": 1}}, "count": 1}

where the schema says nothing maps have owners at each level and lists are one field
apply a {"free": {"list": [1], "map": {"x": 1}, "known": {"a": "1"}}} => {"free": {"list": [1], "map": {"x": 1}, "known": {"a": "1"}}}
apply b {"free": {"list": [2], "map": {"y": 1}}} => a .spec.free.list
force b {"free": {"list": [2], "map": {"y": 1}}} => {"free": {"list": [2], "map": {"x": 1, "y": 1}, "known": {"a": "1"}}}
apply a {"free": {"map": "text"}} => b .spec.free.map
holds a => {"f:free": {"f:map": {".": {}, "f:x": {}}, "f:known": {"f:a": {}}}}

a value may be of several types
apply a {"target": 1} => {"target": 1}
apply b {"target": "http"} => a .spec.target
force b {"target": "http"} => {"target": "http"}

numbers are equal that say the same
apply a {"count": 1} => {"count": 1}
apply b {"count": 1.0} => {"count": 1.0}
holds a => {"f:count": {}}

objects inside of objects have metadata
apply a {"inner": {"apiVersion": "v1", "kind": "A", "metadata": {"finalizers": ["x/y"]}}} => {"inner": {"apiVersion": "v1", "kind": "A", "metadata": {"finalizers": ["x/y"]}}}
apply b {"inner": {"metadata": {"finalizers": ["z/z"]}}} => {"inner": {"apiVersion": "v1", "kind": "A", "metadata": {"finalizers": ["x/y", "z/z"]}}}
apply b {"inner": {"kind": "B"}} => a .spec.inner.kind
"#;

#[test]
fn writes_leave_what_somebody_says() {
    let versions = Single(schema());
    let mut wrong = Vec::new();
    for paragraph in STEPS.trim().split("\n\n") {
        let mut lines = paragraph.lines();
        let title = lines.next().expect("a title");
        let mut world = World::new(&versions);
        for line in lines {
            let (step, expected) = line.split_once(" =>").expect("an arrow");
            let mut words = step.splitn(3, ' ');
            let (verb, name) = words.next().zip(words.next()).expect("a verb and a name");
            let spec = words.next().map_or(Value::Null, read);
            let mut object = json!({"apiVersion": "v1"});
            if !spec.is_null() {
                object["spec"] = spec;
            }
            let found = match verb {
                "update" => world.update(name, object),
                "holds" => world.held(name),
                verb => world.apply(name, &object, verb == "force"),
            };
            let expected = expected.trim();
            let expected = serde_json::from_str(expected).map_or_else(
                |_| expected.to_owned(),
                |expected: Value| expected.to_string(),
            );
            if found != expected {
                wrong.push(format!("{title}: {line}: {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `count` in `v1` is `number` in `v2`.
#[derive(Debug)]
struct Renamed(Schema, Schema);

impl Versions for Renamed {
    fn version(&self, api_version: &str) -> Option<Version<'_>> {
        let schema = match api_version {
            "v1" => &self.0,
            "v2" => &self.1,
            _ => return None,
        };
        Some(Version {
            schema: Some(schema),
        })
    }

    fn convert(&self, object: &Value, api_version: &str) -> Value {
        let mut object = object.clone();
        let (old, new) = match api_version {
            "v1" => ("number", "count"),
            _ => ("count", "number"),
        };
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            && let Some(value) = spec.remove(old)
        {
            spec.insert(new.into(), value);
        }
        object["apiVersion"] = api_version.into();
        object
    }
}

fn renamed() -> Renamed {
    let text = || json!({"type": "string"});
    let kind = |name: &str| {
        let spec = json!({name: {"type": "integer"}, "text": text()});
        crate::schema::parse(&json!({"type": "object", "properties":
            {"spec": {"type": "object", "properties": spec}}}))
    };
    Renamed(kind("count"), kind("number"))
}

fn in_version(api_version: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "spec": spec})
}

fn applied_in_v1(versions: &Renamed) -> World<'_> {
    let mut world = World::new(versions);
    let config = in_version("v1", &json!({"count": 1, "text": "t"}));
    world.apply("a", &config, false);
    world
}

#[test]
fn managers_of_several_versions_hold_the_same_fields() {
    let versions = renamed();
    let mut world = applied_in_v1(&versions);
    let found = world.apply("b", &in_version("v2", &json!({"number": 2})), false);
    assert_eq!(found, "a .spec.count");
    let found = world.apply("b", &in_version("v2", &json!({"number": 1})), false);
    assert_eq!(found, r#"{"number":1,"text":"t"}"#);
    let found = world.apply("a", &in_version("v1", &json!({"text": "t"})), false);
    assert_eq!(found, r#"{"count":1,"text":"t"}"#, "b holds it still");
    let found = world.apply("b", &in_version("v1", &json!({"text": "t"})), false);
    assert_eq!(found, r#"{"text":"t"}"#, "nobody says it any more");
    let held = |name: &str| world.held(name);
    assert_eq!(
        (held("a"), held("b")),
        (r#"{"f:text":{}}"#.into(), r#"{"f:text":{}}"#.into())
    );
}

#[test]
fn an_update_in_another_version_takes_the_field() {
    let versions = renamed();
    let mut world = applied_in_v1(&versions);
    world.update("u", in_version("v2", &json!({"number": 2, "text": "t"})));
    assert_eq!(world.held("a"), r#"{"f:text":{}}"#);
    assert_eq!(world.held("u"), r#"{"f:number":{}}"#);
}

#[test]
fn managers_of_versions_that_are_gone_hold_nothing() {
    let versions = renamed();
    let mut world = World::new(&versions);
    world.apply("a", &in_version("v1", &json!({"count": 1})), false);
    let (id, mut owned) = world.managers.pop_first().expect("a manager");
    owned.api_version = "v0".into();
    world.managers.insert(id, owned);
    let found = world.apply("b", &in_version("v1", &json!({"count": 2})), false);
    assert_eq!(found, r#"{"count":2}"#);
    assert_eq!(world.held("a"), "");
}

#[test]
fn who_held_a_part_of_what_is_one_field_by_now_holds_all_of_it() {
    let [before, after] = ["granular", "atomic"].map(|how| {
        let list = if how == "atomic" { how } else { "set" };
        Single(crate::schema::parse(
            &json!({"type": "object", "properties": {"spec":
            {"type": "object", "properties": {
                "map": {"type": "object", "x-kubernetes-map-type": how,
                    "additionalProperties": {"type": "string"}},
                "list": {"type": "array", "x-kubernetes-list-type": list,
                    "items": {"type": "string"}},
                "text": {"type": "string"}}}}}),
        ))
    });
    let mut world = World::new(&before);
    let config = json!({"map": {"a": "1"}, "list": ["a"], "text": "t"});
    world.apply("a", &in_version("v1", &config), false);
    world.apply("b", &in_version("v1", &json!({"map": {"b": "1"}})), false);
    world.versions = &after;
    let other = in_version("v1", &json!({"map": {"c": "1"}, "list": ["c"]}));
    let found = world.apply("c", &other, false);
    assert_eq!(found, "a .spec.list; a .spec.map; b .spec.map");
    let found = world.apply("b", &in_version("v1", &json!({})), false);
    assert_eq!(
        found,
        r#"{"list":["a"],"map":{"a":"1","b":"1"},"text":"t"}"#
    );
    assert_eq!(world.held("a"), r#"{"f:list":{},"f:map":{},"f:text":{}}"#);
}

#[test]
fn owners_and_finalizers_merge_by_what_they_are() {
    let versions = Single(schema());
    let mut world = World::new(&versions);
    let owner = |uid: &str, name: &str| json!({"uid": uid, "name": name, "kind": "A"});
    let object = |metadata: Value| json!({"apiVersion": "v1", "metadata": metadata});
    let one = json!({"ownerReferences": [owner("1", "a")], "finalizers": ["a/a"]});
    world.apply("a", &object(one), false);
    let other = json!({"ownerReferences": [owner("2", "b")], "finalizers": ["b/b"]});
    world.apply("b", &object(other), false);
    let both = json!({"ownerReferences": [owner("1", "a"), owner("2", "b")],
        "finalizers": ["a/a", "b/b"]});
    assert_eq!(world.live["metadata"], both);
    let renamed = json!({"ownerReferences": [owner("1", "c")]});
    let found = world.apply("b", &object(renamed), false);
    assert_eq!(found, r#"a .metadata.ownerReferences[uid="1"]"#);
    world.apply("a", &object(json!({})), false);
    let left = json!({"ownerReferences": [owner("2", "b")], "finalizers": ["b/b"]});
    assert_eq!(world.live["metadata"], left);
    world.apply("b", &object(json!({})), false);
    assert_eq!(world.live["metadata"], json!({}));
}

#[test]
fn a_create_holds_all_that_it_says_but_what_the_server_keeps() {
    let versions = Single(schema());
    let who = id("u", Some("v1"));
    let updater = Updater {
        api_version: "v1",
        versions: &versions,
        unowned: &[],
        who: &who,
    };
    let new = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "uid": "u",
        "labels": {"a": "b"}, "managedFields": [{}]}, "spec": {"count": 1}});
    let managers = updater.update(&Value::Null, &new, Managers::new());
    let expected = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {".": {}, "f:count": {}}});
    let sets: Vec<Value> = managers
        .values()
        .map(|owned| owned.set.to_fields_v1())
        .collect();
    assert_eq!(sets, [expected]);
    let emptied = updater.update(&new, &json!({"apiVersion": "v1"}), managers);
    assert_eq!(emptied, Managers::new());
}

#[test]
fn a_deep_object_is_told_apart_as_far_as_its_managed_fields_can_be_written() {
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!({"a": deep});
    }
    let set = crate::fields::set_of(&deep, None).to_fields_v1();
    let depth = |mut value: &Value| {
        let mut depth = 0;
        while let Some(below) = value.as_object().and_then(|below| below.get("f:a")) {
            (value, depth) = (below, depth + 1);
        }
        depth
    };
    assert_eq!(depth(&set), usize::from(crate::fields::DEPTH_MAX));
    assert!(FieldSet::from_fields_v1(&set).is_some());
    let mut deeper = set;
    deeper = Value::Object(Map::from_iter([("f:b".to_owned(), deeper)]));
    assert_eq!(FieldSet::from_fields_v1(&json!({"f:c": deeper})), None);
}
