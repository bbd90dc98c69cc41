//! Writes a history as the lines of a scenario, with what its end should look like.

use super::{Comparison, Id, New, Owner, Place, Who};
use crate::naive;
use crate::reference::{Refusal, Thing};
use serde_json::{Value, json};

impl Comparison {
    pub(super) fn script_creation(&mut self, id: Id, new: &New, made: Result<(), Refusal>) {
        let at = (new.kind, new.namespace.clone(), new.name.clone());
        let mut more =
            json!({"metadata": {"ownerReferences": self.scenario_references(&new.owners)}});
        if let Some(spec) = new.spec() {
            more["spec"] = spec;
        }
        let step = format!(
            "create  {} as=c{id} finalizers={} with {more}",
            place(&at),
            new.finalizers.join(","),
        );
        self.script_step(step, made.err().map(Refusal::text));
        self.places.push(at);
    }

    pub(super) fn script_step(&mut self, step: String, refusal: Option<&str>) {
        self.script.push(match refusal {
            None => step,
            Some(why) => format!("refuse  {step} \"{why}\""),
        });
    }

    /// References as a scenario spells them: UIDs by the name of the creation.
    pub(super) fn scenario_references(&self, owners: &[Owner]) -> Value {
        let mut list = naive::references(&self.references(owners));
        for (index, owner) in owners.iter().enumerate() {
            if let Who::Made(id) = owner.who
                && self.uids.contains_key(&id)
            {
                list[index]["uid"] = format!("$c{id}").into();
            }
        }
        if list.is_null() { json!([]) } else { list }
    }

    /// The requests, and what the oracle expects at their end.
    pub fn scenario(mut self) -> String {
        let expected = (self.oracle)(&self.naive);
        self.places.sort();
        self.places.dedup();
        for at in &self.places {
            // Objects of a kind that is not served cannot be read.
            if !self.naive.is_served(at.0) {
                continue;
            }
            let same = |one: &&Thing| (one.kind, &one.namespace, &one.name) == (at.0, &at.1, &at.2);
            let state = expected
                .iter()
                .find(same)
                .map_or("absent".into(), expectation);
            self.script.push(format!("expect  {} {state}", place(at)));
        }
        self.script.join("\n") + "\n"
    }
}

fn expectation(thing: &Thing) -> String {
    let state = if thing.deleting { "deleting" } else { "live" };
    let owners: Vec<&str> = thing.owners.iter().map(|one| one.name.as_str()).collect();
    let (finalizers, owners) = (thing.finalizers.join(","), owners.join(","));
    format!("{state} finalizers={finalizers} owner={owners}")
}

pub(super) fn place((kind, namespace, name): &Place) -> String {
    let kind = naive::spelled(*kind).1;
    if namespace.is_empty() {
        return format!("{kind} {name}");
    }
    format!("{kind} {name} in={namespace}")
}
