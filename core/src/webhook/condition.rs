//! `matchConditions`: expressions that decide whether a webhook is called. Source: upstream's
//! `plugin/webhook/matchconditions` and `plugin/cel`.

use super::Webhook;
use crate::cel::{
    self, Access, Allowance, Authority, Env, Fault, Member, Meter, Program, Record, Type, Value,
};
use crate::object::Name;
use crate::schema::{WEIGHT_MAX, WORK_MAX, Work, pattern_bytes_max};
use serde_json::Value as Json;
use std::sync::Arc;

/// Cost limit of all conditions of one webhook together. Source: upstream's
/// `RuntimeCELCostBudgetMatchConditions`.
const BUDGET: u64 = 2_500_000;
/// How many steps the conditions of all webhooks of one write may take together. Each may take what upstream
/// allows one webhook, but there may be any number of them.
const BUDGET_OF_WRITE: u64 = 10_000_000;
/// How much work regular expressions may be in all conditions of one webhook together: as large a part of what they may
/// be in those of a write.
const WORK: u64 = WORK_MAX / (BUDGET_OF_WRITE / BUDGET);
/// How many literal regular expressions all conditions of one configuration may contain, where a large one counts as
/// several.
const PATTERNS_MAX: usize = 64;

/// The most bytes that so many literal regular expressions of one configuration take.
pub(super) fn literals_bytes_max(count: usize) -> usize {
    pattern_bytes_max(count.min(PATTERNS_MAX / WEIGHT_MAX))
}

/// One condition, compiled when its configuration is stored.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Its name.
    pub name: Name,
    expression: Name,
    program: Arc<Result<Program, String>>,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.expression == other.expression
    }
}

impl Eq for Condition {}

/// A write, as conditions see it.
#[derive(Debug)]
pub struct ConditionInputs<'a> {
    /// The object as it would be stored.
    pub object: Option<&'a Json>,
    /// The object as it is stored now.
    pub old: Option<&'a Json>,
    /// The members of `AdmissionRequest`, without the objects.
    pub request: &'a Json,
    /// Answers the permission checks of conditions.
    pub authority: &'a dyn Authority,
    /// The written resource, as permission checks name it (`authorizer.requestResource`).
    pub resource: Access,
}

/// What the conditions of all webhooks of one write may still cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionBudget {
    pub(super) steps: u64,
    /// How much work regular expressions may still be.
    pub(super) work: u64,
}

impl Default for ConditionBudget {
    fn default() -> Self {
        Self {
            steps: BUDGET_OF_WRITE,
            work: WORK_MAX,
        }
    }
}

static GROUP_VERSION_KIND: Record = Record {
    name: "kubernetes.GroupVersionKind",
    members: &[
        ("group", Member::Written("string")),
        ("version", Member::Written("string")),
        ("kind", Member::Written("string")),
    ],
};
static GROUP_VERSION_RESOURCE: Record = Record {
    name: "kubernetes.GroupVersionResource",
    members: &[
        ("group", Member::Written("string")),
        ("version", Member::Written("string")),
        ("resource", Member::Written("string")),
    ],
};
static USER_INFO: Record = Record {
    name: "kubernetes.UserInfo",
    members: &[
        ("username", Member::Written("string")),
        ("uid", Member::Written("string")),
        ("groups", Member::Written("list(string)")),
        ("extra", Member::Written("map(string, list(string))")),
    ],
};
static REQUEST: Record = Record {
    name: "kubernetes.AdmissionRequest",
    members: &[
        ("uid", Member::Written("string")),
        ("kind", Member::Record(&GROUP_VERSION_KIND)),
        ("resource", Member::Record(&GROUP_VERSION_RESOURCE)),
        ("subResource", Member::Written("string")),
        ("requestKind", Member::Record(&GROUP_VERSION_KIND)),
        ("requestResource", Member::Record(&GROUP_VERSION_RESOURCE)),
        ("requestSubResource", Member::Written("string")),
        ("name", Member::Written("string")),
        ("namespace", Member::Written("string")),
        ("operation", Member::Written("string")),
        ("userInfo", Member::Record(&USER_INFO)),
        ("dryRun", Member::Written("bool")),
        ("options", Member::Written("dyn")),
    ],
};

const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// The environment in which the conditions of one configuration are compiled.
pub(crate) fn env() -> Env<'static> {
    Env {
        patterns: Allowance::new(PATTERNS_MAX),
        variables: vec![
            ("object", Type::Dyn),
            ("oldObject", Type::Dyn),
            ("request", Type::Record(&REQUEST)),
            ("authorizer", Type::Plain("authorizer")),
            (REQUEST_RESOURCE, Type::Plain("resourceCheck")),
        ],
    }
}

/// Compiles a condition; the error says why it cannot be one.
pub(crate) fn compile(expression: &str, env: &Env<'_>) -> Result<Program, String> {
    Program::condition(expression.trim(), env, "must evaluate to bool")
}

impl Condition {
    pub(super) fn read(document: &Json, env: &Env<'_>) -> Self {
        let text = |member: &str| {
            let text = document.get(member).and_then(Json::as_str);
            Name::from(text.unwrap_or_default())
        };
        let expression = text("expression");
        Self {
            name: text("name"),
            program: Arc::new(compile(&expression, env)),
            expression,
        }
    }

    fn holds<'a>(
        &'a self,
        variables: &[(&'static str, Value<'a>)],
        meter: &mut Meter,
    ) -> Result<bool, Fault> {
        let program = self.program.as_ref().as_ref();
        let program = program.map_err(|why| Fault::Failed(why.clone()))?;
        match program.evaluate(variables, meter) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(_) => Err(Fault::Failed("must evaluate to bool".into())),
            Err(Fault::Exhausted) if meter.is_empty() => Err(Fault::Exhausted),
            Err(fault) => Err(Fault::Failed(format!(
                "expression '{}' resulted in error: {fault}",
                self.expression
            ))),
        }
    }
}

/// The object as a value, or `null` if there is none.
fn seen(json: Option<&Json>) -> Value<'_> {
    json.map_or(Value::Null, Value::of)
}

impl Webhook {
    /// Whether all conditions of the webhook hold. One that is false decides it, even if others
    /// fail. If one cannot be evaluated and none is false, the failure policy decides: the webhook
    /// is not called, or the error says what went wrong.
    /// What that costs is taken from `budget`; no more is spent than is left there.
    pub fn conditions_hold(
        &self,
        inputs: &ConditionInputs<'_>,
        budget: &mut ConditionBudget,
    ) -> Result<bool, String> {
        let resource = Value::resource_check(inputs.authority, inputs.resource.clone());
        let variables = [
            ("object", seen(inputs.object)),
            ("oldObject", seen(inputs.old)),
            ("request", Value::of(inputs.request)),
            ("authorizer", Value::authorizer(inputs.authority)),
            (REQUEST_RESOURCE, resource),
        ];
        let (steps, work) = (BUDGET.min(budget.steps), WORK.min(budget.work));
        let mut meter = Meter::new(steps, Work::new(work));
        let faults = self.faults(&variables, &mut meter);
        budget.steps -= steps - meter.left();
        budget.work -= work - meter.work.left();
        let Some(wrong) = faults else {
            return Ok(false);
        };
        match wrong.as_slice() {
            [] => Ok(true),
            _ if self.ignores_failure => Ok(false),
            [why] => Err(why.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    /// Why conditions cannot be evaluated; `None` if one is false.
    fn faults<'a>(
        &'a self,
        variables: &[(&'static str, Value<'a>)],
        meter: &mut Meter,
    ) -> Option<Vec<String>> {
        let mut wrong = Vec::new();
        for condition in &self.conditions {
            match condition.holds(variables, meter) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(Fault::Exhausted) => return Some(vec![cel::budget_exhausted(meter)]),
                Err(Fault::Failed(why)) => wrong.push(why),
            }
        }
        Some(wrong)
    }
}
