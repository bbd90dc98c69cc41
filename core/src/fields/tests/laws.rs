//! Properties that hold for every set, every object and every sequence of writes; and that no input
//! of a client can crash the process.

use super::sets::schema;
use super::updates::{Single, id};
use crate::fields::compare::{Comparison, compare};
use crate::fields::merge::merge;
use crate::fields::{FieldSet, Managers, Owned, Updater, check, set_of};
use crate::schema::Schema;
use crate::testing::Dice;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

const ROUNDS: u64 = 1_000;

impl Dice {
    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let sides = u64::try_from(all.len()).expect("a length");
        all[usize::try_from(self.below(sides)).expect("an index")]
    }

    /// Some of the letters, each at most once, in random order.
    fn some_letters(&mut self) -> Vec<&'static str> {
        let mut all = vec!["a", "b", "c", "d"];
        let mut chosen = Vec::new();
        for _ in 0..self.below(4) {
            let at = self.below(all.len() as u64);
            chosen.push(all.remove(usize::try_from(at).expect("an index")));
        }
        chosen
    }

    /// At least one letter, since an empty list that is owned item by item is not a field itself.
    fn names(&mut self) -> Vec<&'static str> {
        Some(self.some_letters())
            .filter(|letters| !letters.is_empty())
            .unwrap_or_else(|| vec!["a"])
    }

    /// A spec in which each member of the schema is absent, null or has a value.
    fn spec(&mut self) -> Value {
        let members = [
            "count", "text", "point", "whole", "labels", "points", "args", "set", "items", "free",
        ];
        let mut spec = Map::new();
        for name in members {
            match self.below(4) {
                0 | 1 => {}
                2 if self.below(4) == 0 => drop(spec.insert(name.into(), Value::Null)),
                _ => drop(spec.insert(name.into(), self.member(name))),
            }
        }
        Value::Object(spec)
    }

    fn member(&mut self, name: &str) -> Value {
        match name {
            "count" => json!(self.below(3)),
            "text" => json!(self.one_of(&["x", "y"])),
            "point" | "whole" => self.point(),
            "args" => json!(self.some_letters()),
            "set" => json!(self.names()),
            "labels" => self.map(|dice| json!(dice.below(2).to_string())),
            "points" => self.map(Self::point),
            "free" => self.map(|dice| {
                let inner = dice.map(|dice| json!(dice.below(2)));
                [json!(1), json!([1, dice.below(2)]), inner, json!({})]
                    .into_iter()
                    .nth(usize::try_from(dice.below(4)).expect("an index"))
                    .unwrap_or_default()
            }),
            _ => self.some_items(),
        }
    }

    fn map(&mut self, value: impl Fn(&mut Self) -> Value) -> Value {
        let names = self.some_letters().into_iter();
        let members = names.map(|name| (name.to_owned(), value(self)));
        Value::Object(members.collect())
    }

    fn point(&mut self) -> Value {
        let mut point = json!({});
        for name in ["x", "y"] {
            if self.below(2) == 0 {
                point[name] = json!(self.below(2));
            }
        }
        point
    }

    fn some_items(&mut self) -> Value {
        let names = self.names().into_iter();
        let items = names.map(|name| {
            let mut item = json!({"name": name});
            if self.below(2) == 0 {
                item["image"] = json!(self.one_of(&["i", "j"]));
            }
            if self.below(2) == 0 {
                item["limits"] = self.map(|dice| json!(dice.below(2).to_string()));
            }
            if self.below(3) == 0 {
                item["ports"] = json!([{"port": self.below(2)}, {"port": 7, "protocol": "UDP"}]);
            }
            item
        });
        items.collect()
    }

    fn object(&mut self) -> Value {
        json!({"apiVersion": "v1", "metadata": {"name": "n", "labels": self.map(|_| json!("x"))},
            "spec": self.spec()})
    }

    /// Any value that the decoder accepts.
    fn anything(&mut self, depth: u64) -> Value {
        const NAMES: [&str; 18] = [
            "f:spec",
            "f:items",
            "k:{\"name\":\"a\"}",
            "k:{",
            "v:1",
            "v:",
            "i:1",
            "i:-",
            ".",
            "",
            "x:",
            "f:",
            "spec",
            "items",
            "name",
            "metadata",
            "ports",
            "set",
        ];
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(3)),
            3 => json!(0.5),
            4 => json!(self.one_of(&["a", "", "\u{2028}<"])),
            5 => (0..self.below(4))
                .map(|_| self.anything(depth - 1))
                .collect(),
            _ => {
                let members = (0..self.below(5))
                    .map(|_| (self.one_of(&NAMES).to_owned(), self.anything(depth - 1)));
                Value::Object(members.collect())
            }
        }
    }
}

/// Returns the fields that have no fields below them.
fn leaves(set: &FieldSet) -> FieldSet {
    let mut found = FieldSet::default();
    for node in set.nodes() {
        let member = node.member && node.below.is_empty();
        found.insert(node.element.clone(), member, leaves(&node.below));
    }
    found
}

fn is_within(part: &FieldSet, whole: &FieldSet) -> bool {
    part.difference(whole).is_empty()
}

#[test]
fn sets_obey_the_laws_of_sets_and_survive_their_form_for_clients() {
    let schema = schema();
    let mut dice = Dice(1);
    for _ in 0..ROUNDS {
        let [a, b, c] = [(); 3].map(|()| set_of(&dice.object(), Some(&schema)));
        assert_eq!(a.union(&b), b.union(&a));
        assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        assert_eq!(a.intersection(&b), b.intersection(&a));
        assert_eq!(a.union(&b).difference(&b), a.difference(&b));
        assert_eq!(a.difference(&a.difference(&b)), a.intersection(&b));
        assert_eq!(a.difference(&b).union(&a.intersection(&b)), a);
        assert_eq!(
            a.count(),
            a.difference(&b).count() + a.intersection(&b).count()
        );
        assert_eq!(FieldSet::from_fields_v1(&a.to_fields_v1()), Some(a));
    }
}

#[test]
fn what_is_merged_holds_what_was_said_and_nothing_merges_with_itself() {
    let schema: Schema = schema();
    let known = Some(&schema);
    let mut dice = Dice(2);
    for _ in 0..ROUNDS {
        let [live, config] = [dice.object(), dice.object()];
        assert_eq!(check(&config, known), Ok(()));
        assert_eq!(merge(&live, &live, known), live);
        assert_eq!(compare(&live, &live, known), Comparison::default());
        let merged = merge(&live, &config, known);
        assert_eq!(merge(&merged, &config, known), merged, "{live} {config}");
        let change = compare(&live, &merged, known);
        let said = set_of(&config, known);
        let changed = leaves(&change.added.union(&change.modified));
        assert!(is_within(&changed, &said), "{live} {config}");
        let back = compare(&merged, &live, known);
        assert_eq!(
            (back.removed, back.modified),
            (change.added, change.modified)
        );
    }
}

/// An apply with `force`.
fn forced(
    versions: &Single,
    name: &str,
    (live, managers): (&Value, &Managers),
    config: &Value,
) -> (Value, Managers) {
    let who = id(name, None);
    let updater = Updater {
        api_version: "v1",
        versions,
        unowned: &[],
        who: &who,
    };
    let applied = updater.apply(live, config, managers.clone(), true);
    applied.expect("force has no conflicts")
}

#[test]
fn an_apply_repeated_changes_nothing_and_what_nobody_says_any_more_is_gone() {
    let versions = Single(schema());
    let mut dice = Dice(3);
    for _ in 0..ROUNDS / 10 {
        let mut live = json!({"apiVersion": "v1", "metadata": {}});
        let mut managers = Managers::new();
        let names = ["a", "b", "c"];
        let apply = |live: &mut Value, managers: &mut Managers, name: &str, config: &Value| {
            (*live, *managers) = forced(&versions, name, (live, managers), config);
        };
        for _ in 0..8 {
            let (name, config) = (dice.one_of(&names), dice.object());
            apply(&mut live, &mut managers, name, &config);
            let before = (live.clone(), managers.clone());
            apply(&mut live, &mut managers, name, &config);
            assert_eq!((live.clone(), managers.clone()), before, "{config}");
            let all = managers
                .values()
                .fold(FieldSet::default(), |all, owned| all.union(&owned.set));
            let there = set_of(&live, Some(&versions.0));
            assert!(is_within(&leaves(&there), &all), "{live}");
        }
        for name in names {
            apply(&mut live, &mut managers, name, &json!({"apiVersion": "v1"}));
        }
        assert_eq!(live, json!({"apiVersion": "v1", "metadata": {"name": "n"}}));
        assert_eq!(managers, Managers::new());
    }
}

/// A list for an object's metadata, or null.
fn listed(dice: &mut Dice, item: fn(&str) -> Value) -> (Value, BTreeSet<&'static str>) {
    match dice.below(6) {
        0 => (Value::Null, BTreeSet::new()),
        1 => (json!([]), BTreeSet::new()),
        _ => {
            let names = dice.some_letters();
            let items = names.iter().map(|name| item(name));
            (items.collect(), names.into_iter().collect())
        }
    }
}

#[test]
fn finalizers_and_owners_are_what_is_said_of_them_and_what_nobody_ever_said() {
    let versions = Single(schema());
    let mut dice = Dice(5);
    let finalizer = |name: &str| json!(name);
    let owner = |name: &str| json!({"uid": name, "name": "n", "kind": "K"});
    for _ in 0..ROUNDS {
        let mut live = json!({"apiVersion": "v1", "metadata": {}});
        let mut managers = Managers::new();
        let mut said = BTreeMap::new();
        let own = ["z"].into_iter().filter(|_| dice.below(3) > 0);
        let own: BTreeSet<&str> = own.collect();
        let begin = dice.below(6);
        for round in 0..6 {
            // What the server and admission add is in no manager's set.
            if round == begin && !own.is_empty() {
                for (list, item) in [
                    ("finalizers", finalizer("z")),
                    ("ownerReferences", owner("z")),
                ] {
                    let list = &mut live["metadata"][list];
                    let mut items = list.as_array().cloned().unwrap_or_default();
                    items.insert(
                        usize::try_from(dice.below(items.len() as u64 + 1)).unwrap_or(0),
                        item,
                    );
                    *list = items.into();
                }
            }
            let name = dice.one_of(&["a", "b"]);
            let (finalizers, held) = listed(&mut dice, finalizer);
            let (owners, owning) = listed(&mut dice, owner);
            let mut metadata = json!({});
            for (list, value) in [("finalizers", finalizers), ("ownerReferences", owners)] {
                if value != json!([]) || dice.below(2) == 0 {
                    metadata[list] = value;
                }
            }
            said.insert(name, [held, owning]);
            let config = json!({"apiVersion": "v1", "metadata": metadata});
            (live, managers) = forced(&versions, name, (&live, &managers), &config);
            for (index, list, name_of) in [(0, "finalizers", ""), (1, "ownerReferences", "/uid")] {
                let items = live["metadata"][list].as_array().into_iter().flatten();
                let found = items.filter_map(|item| item.pointer(name_of)?.as_str());
                let of_server = own.iter().filter(|_| round >= begin);
                let of_managers = said.values().flat_map(|lists| &lists[index]);
                let wanted: BTreeSet<&str> = of_managers.chain(of_server).copied().collect();
                assert_eq!(found.collect::<BTreeSet<_>>(), wanted, "{live} {config}");
            }
        }
    }
}

#[test]
fn nothing_that_clients_send_ends_the_process() {
    let versions = Single(schema());
    let mut dice = Dice(4);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let sent = FieldSet::from_fields_v1(&dice.anything(5));
        read += u32::from(sent.is_some());
        let (who, other) = (id("a", None), id("b", None));
        let owned = sent.map(|set| Owned {
            set,
            api_version: "v1".into(),
        });
        let managers = [who.clone(), other].into_iter();
        let managers: Managers = managers
            .filter_map(|id| Some((id, owned.clone()?)))
            .collect();
        let updater = Updater {
            api_version: "v1",
            versions: &versions,
            unowned: &[],
            who: &who,
        };
        let [live, config] = [(); 2].map(|()| dice.anything(6));
        refused += u32::from(check(&config, Some(&versions.0)).is_err());
        let applied = updater.apply(&live, &config, managers.clone(), true);
        let (applied, managers) = applied.expect("force has no conflicts");
        let managers = updater.update(&applied, &live, managers);
        for owned in managers.values() {
            let shown = owned.set.to_fields_v1();
            assert_eq!(FieldSet::from_fields_v1(&shown).as_ref(), Some(&owned.set));
        }
    }
    assert!(read > 100 && refused > 100, "{read} {refused}");
}
