//! A patch that is computed from two documents, as clients do, turns the first into the second.

use super::patched;
use crate::testing::Dice;
use serde_json::{Map, Value, json};

impl Dice {
    /// Some of the letters, each at most once, in random order.
    fn letters(&mut self) -> Vec<&'static str> {
        let mut all = vec!["a", "b", "c", "d", "e"];
        let mut chosen = Vec::new();
        for _ in 0..self.below(5) {
            let at = self.below(all.len() as u64);
            chosen.push(all.remove(usize::try_from(at).expect("a small number")));
        }
        chosen
    }

    fn items(&mut self) -> Value {
        let one = |name: &&str, dice: &mut Self| {
            let mut item = json!({"name": name});
            if dice.below(2) == 0 {
                item["image"] = json!(dice.below(3).to_string());
            }
            if dice.below(2) == 0 {
                let names = dice.letters();
                let values = names
                    .iter()
                    .map(|name| json!({"name": name, "value": dice.below(3).to_string()}));
                item["env"] = values.collect();
            }
            item
        };
        let names = self.letters();
        names.iter().map(|name| one(name, self)).collect()
    }

    fn document(&mut self) -> Value {
        let mut document = json!({});
        if self.below(4) > 0 {
            document["items"] = self.items();
        }
        if self.below(4) > 0 {
            document["set"] = json!(self.letters());
        }
        if self.below(3) > 0 {
            document["whole"] = json!([{"a": self.below(2)}]);
        }
        for name in self.letters() {
            document["labels"][name] = json!(self.below(2).to_string());
        }
        document
    }
}

/// The patch with which a client turns one map into another.
fn difference(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let mut change = Map::new();
    for name in from.keys().filter(|name| !to.contains_key(*name)) {
        change.insert(name.clone(), Value::Null);
    }
    for (name, new) in to {
        match (from.get(name), new) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                change.insert(name.clone(), difference(old, new).into());
            }
            (Some(Value::Array(old)), Value::Array(new)) if name != "whole" => {
                lists(name, old, new, &mut change);
            }
            (_, new) => drop(change.insert(name.clone(), new.clone())),
        }
    }
    change
}

fn lists(name: &str, old: &[Value], new: &[Value], change: &mut Map<String, Value>) {
    let keyed = name != "set";
    let id = |item: &Value| {
        if keyed {
            item["name"].clone()
        } else {
            item.clone()
        }
    };
    let find = |list: &[Value], wanted: &Value| list.iter().find(|one| id(one) == *wanted).cloned();
    let mut sent = Vec::new();
    let mut gone = Vec::new();
    for item in new {
        match find(old, &id(item)) {
            None => sent.push(item.clone()),
            Some(old) if keyed => {
                let (Some(old), Some(new)) = (old.as_object(), item.as_object()) else {
                    continue;
                };
                let mut difference = difference(old, new);
                if !difference.is_empty() {
                    difference.insert("name".into(), id(item));
                    sent.push(difference.into());
                }
            }
            Some(_) => {}
        }
    }
    for item in old.iter().filter(|item| find(new, &id(item)).is_none()) {
        if keyed {
            gone.push(json!({"name": id(item), "$patch": "delete"}));
        } else {
            gone.push(item.clone());
        }
    }
    let order: Vec<Value> = new
        .iter()
        .map(|item| {
            if keyed {
                json!({"name": id(item)})
            } else {
                item.clone()
            }
        })
        .collect();
    change.insert(format!("$setElementOrder/{name}"), order.into());
    if keyed {
        sent.extend(gone);
    } else if !gone.is_empty() {
        change.insert(format!("$deleteFromPrimitiveList/{name}"), gone.into());
    }
    if !sent.is_empty() {
        change.insert(name.into(), sent.into());
    }
}

#[test]
fn a_difference_turns_one_document_into_the_other_and_changes_it_no_more() {
    let mut dice = Dice(1);
    for turn in 0..500 {
        let (from, to) = (dice.document(), dice.document());
        let (Some(old), Some(new)) = (from.as_object(), to.as_object()) else {
            panic!("documents are maps");
        };
        let change = Value::Object(difference(old, new));
        let once = patched(&from, &change);
        assert_eq!(once.as_ref(), Ok(&to), "{turn}: {from} {change}");
        let again = once.and_then(|once| patched(&once, &change));
        assert_eq!(again, Ok(to), "{turn}: {from} {change}");
    }
}

/// Elements that the patch names come in its order, the others in their old order.
#[test]
fn a_plain_patch_keeps_both_orders_and_every_item() {
    let mut dice = Dice(2);
    for _ in 0..500 {
        let (old, sent) = (dice.letters(), dice.letters());
        let merged = patched(&json!({"set": old}), &json!({"set": sent}));
        let merged = merged.expect("it applies")["set"].take();
        let merged: Vec<&str> = merged
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let only = |list: &[&'static str], keep: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
            list.iter().copied().filter(|one| keep(one)).collect()
        };
        let of_patch: Vec<&str> = merged
            .iter()
            .copied()
            .filter(|one| sent.contains(one))
            .collect();
        let others: Vec<&str> = merged
            .iter()
            .copied()
            .filter(|one| !sent.contains(one))
            .collect();
        assert_eq!(of_patch, sent);
        assert_eq!(others, only(&old, &|one| !sent.contains(&one)));
    }
}
