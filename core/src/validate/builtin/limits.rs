//! Limits of namespaces. Source: `ValidateLimitRange` of upstream's `pkg/apis/core/validation`.

use super::{Field, Subject, amounts};
use crate::quantity::{self, Quantity};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::qualified_name;
use std::collections::BTreeSet;

const FOR_PODS: &str = "may not be specified when `type` is 'Pod'";
const KINDS: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];
const MAPS: [&str; 5] = [
    "max",
    "min",
    "default",
    "defaultRequest",
    "maxLimitRequestRatio",
];

/// Checks the limits of a namespace.
pub(super) fn limits(list: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let mut kinds = BTreeSet::new();
    for limit in list.items() {
        let kind = limit.child("type");
        kind_of_limit(&kind, causes);
        if !kinds.insert(kind.text()) {
            causes.push_with(|| kind.duplicate());
        }
        let mut resources = BTreeSet::new();
        for map in MAPS {
            let place = limit.child(map);
            let is_default = map.starts_with("default");
            if map == "maxLimitRequestRatio" && kind.text() == "PersistentVolumeClaim" {
                storage(&limit, causes);
            }
            if is_default && kind.text() == "Pod" {
                if !place.is_empty() {
                    causes.push_with(|| place.forbidden(FOR_PODS));
                }
                continue;
            }
            amounts::names_of(&place, matches!(kind.text(), "Pod" | "Container"), causes);
            resources.extend(place.entries().map(|(name, _)| name));
        }
        for resource in resources {
            let limit = &limit;
            Amounts { limit, resource }.check(causes);
        }
    }
}

fn kind_of_limit(kind: &Field<'_>, causes: &mut CauseList) {
    let name = kind.text();
    let problems = qualified_name(name);
    let quoted = format!("{name:?}");
    if problems.is_empty() && !name.contains('/') && !KINDS.contains(&name) {
        let why = "must be a standard limit type or fully qualified";
        causes.push_with(|| kind.invalid_as(&quoted, why));
    }
    causes.extend(problems.iter().map(|why| kind.invalid_as(&quoted, why)));
}

fn storage(limit: &Field<'_>, causes: &mut CauseList) {
    if limit.at("min.storage").is_absent() && limit.at("max.storage").is_absent() {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        causes.push_with(|| limit.child("limits").required(why));
    }
}

/// An amount, and how it is written.
type Amount = Option<(Quantity, String)>;

/// The amounts of a resource in the maps of a limit.
struct Amounts<'a> {
    limit: &'a Field<'a>,
    resource: &'a str,
}

impl Amounts<'_> {
    fn of(&self, map: &str) -> Amount {
        let is_pod = self.limit.child("type").text() == "Pod";
        let value = self.limit.child(map).value.get(self.resource)?;
        let has = !(is_pod && map.starts_with("default"));
        quantity::read(value).ok().flatten().filter(|_| has)
    }

    fn refused(&self, map: &str, shown: &str, why: &str) -> FieldCause {
        let field = format!("{}.{map}[{}]", self.limit.path, self.resource);
        FieldCause::invalid(field, &shown.into(), why)
    }

    fn check(&self, causes: &mut CauseList) {
        // The two maps and what their amounts are called, the one that is named, and the one that is shown.
        for [low, low_name, high, high_name, named, shown] in [
            ["min", "min", "max", "max", "min", "min"],
            [
                "min",
                "min",
                "defaultRequest",
                "default request",
                "defaultRequest",
                "defaultRequest",
            ],
            [
                "defaultRequest",
                "default request",
                "max",
                "max",
                "defaultRequest",
                "defaultRequest",
            ],
            [
                "defaultRequest",
                "default request",
                "default",
                "default limit",
                "defaultRequest",
                "defaultRequest",
            ],
            ["min", "min", "default", "default", "default", "min"],
            ["default", "default", "max", "max", "default", "max"],
        ] {
            if let (Some(least), Some(most)) = (self.of(low), self.of(high))
                && least.0 > most.0
            {
                let why = format!(
                    "{low_name} value {} is greater than {high_name} value {}",
                    least.1, most.1
                );
                let shown = if shown == low { &least.1 } else { &most.1 };
                causes.push_with(|| self.refused(named, shown, &why));
            }
        }
        self.ratio(causes);
        if let (Some(default), Some(request)) = (self.of("default"), self.of("defaultRequest"))
            && !amounts::has_overcommit(self.resource)
            && default.0 != request.0
        {
            let why = format!(
                "default value {} must equal to defaultRequest value {} in {}",
                default.1, request.1, self.resource
            );
            causes.push_with(|| self.refused("defaultRequest", &request.1, &why));
        }
    }

    fn ratio(&self, causes: &mut CauseList) {
        let map = "maxLimitRequestRatio";
        let Some((ratio, text)) = self.of(map) else {
            return;
        };
        if ratio < Quantity::whole(1) {
            causes.push_with(|| self.refused(map, &text, &format!("ratio {text} is less than 1")));
        }
        if let (Some((min, _)), Some((max, _))) = (self.of("min"), self.of("max")) {
            let most = max.approximate() / min.approximate();
            if ratio.approximate() > most {
                let why = format!("ratio {text} is greater than max/min = {most:.6}");
                causes.push_with(|| self.refused(map, &text, &why));
            }
        }
    }
}
