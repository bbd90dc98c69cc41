//! What the strategies of pods and jobs do to new objects.

use crate::document::{metadata_mut, object_or_insert};
use crate::quantity::Quantity;
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{self, JOB_LABELS};
use serde_json::{Map, Value, json};

const JOB_UID: &str = "batch.kubernetes.io/controller-uid";
/// Resources that decide the quality of service.
const COMPUTED: [&str; 2] = ["cpu", "memory"];

/// The status of a new pod.
pub(super) fn pending(pod: &Map<String, Value>, now: &str) -> Value {
    let gates = pod.get("spec").and_then(|spec| spec.get("schedulingGates"));
    let is_gated = gates
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty());
    let mut status = Map::new();
    status.insert("phase".into(), "Pending".into());
    status.insert("qosClass".into(), quality(pod).into());
    if is_gated {
        status.insert("conditions".into(), json!([waits_at_gates(now)]));
    }
    status.into()
}

/// The condition of a pod that waits at scheduling gates. Source: upstream's
/// `applySchedulingGatedCondition`.
fn waits_at_gates(now: &str) -> Value {
    json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "lastTransitionTime": now,
        "message": "Scheduling is blocked due to non-empty scheduling gates"})
}

/// The quality of service: guaranteed if every container has limits equal to its requests, best effort if
/// none has any, burstable otherwise. Resources of the pod as a whole stand for those of its containers.
///
/// Source: upstream's `qos.ComputePodQOS`.
fn quality(pod: &Map<String, Value>) -> &'static str {
    let spec = pod.get("spec");
    let own = spec.and_then(|spec| spec.get("resources"));
    let own = own.filter(|own| own.is_object());
    let resources: Vec<&Value> = match own {
        Some(own) => vec![own],
        None => containers(spec).collect(),
    };
    let each = || {
        resources
            .iter()
            .flat_map(|of| COMPUTED.map(|name| (*of, name)))
    };
    if !each().any(|(of, name)| limits_or_asks(of, name)) {
        "BestEffort"
    } else if each().all(|(of, name)| is_guaranteed(of, name)) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// The resources of each regular and init container.
fn containers(spec: Option<&Value>) -> impl Iterator<Item = &Value> {
    let lists = ["initContainers", "containers"].into_iter();
    let lists = lists.filter_map(move |list| spec?.get(list)?.as_array());
    lists
        .flatten()
        .map(|container| container.get("resources").unwrap_or(&Value::Null))
}

fn amount(resources: &Value, kind: &str, name: &str) -> Option<Quantity> {
    Quantity::parse(resources.get(kind)?.get(name)?.as_str()?)
}

fn limits_or_asks(resources: &Value, name: &str) -> bool {
    let amounts = ["limits", "requests"].map(|kind| amount(resources, kind, name));
    amounts.into_iter().flatten().any(|one| one.sign() > 0)
}

/// Whether the request equals the limit; a missing request equals the limit.
fn is_guaranteed(resources: &Value, name: &str) -> bool {
    let limit = amount(resources, "limits", name).filter(|limit| limit.sign() > 0);
    let request = amount(resources, "requests", name).or(limit);
    limit.is_some() && request == limit
}

/// Labels the pods of a job so that no other job selects them, and sets its selector accordingly, unless
/// the job has a manual selector. If `shares_labels`, the job itself gets the labels of its template, too.
///
/// Source: upstream's `generateSelector` of the job strategy.
pub(super) fn select_own_pods(job: &mut Value, shares_labels: bool) {
    let text = |at: &str| job.pointer(at).cloned().unwrap_or_default();
    let (of_job, uid) = (JOB_LABELS.map(|(_, at)| text(at)), text("/metadata/uid"));
    let Some(spec) = job.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let Some(labels) = made(spec, &["template", "metadata", "labels"]) else {
        return;
    };
    for ((label, _), value) in JOB_LABELS.into_iter().zip(of_job) {
        labels.entry(label).or_insert(value);
    }
    let labels = labels.clone();
    if let Some(selected) = made(spec, &["selector", "matchLabels"]) {
        selected.entry(JOB_UID).or_insert(uid);
    }
    if let Some(metadata) = metadata_mut(job)
        && shares_labels
    {
        metadata.insert("labels".into(), labels.into());
    }
}

/// What is wrong with how a new job will select its pods.
///
/// Source: upstream's `ValidateJob`, which sees jobs as its strategy labelled them.
pub(super) fn wrong_selection(job: &Value, shares_labels: bool) -> Vec<FieldCause> {
    let mut job = job.clone();
    select_own_pods(&mut job, shares_labels);
    let mut causes = CauseList::default();
    let is_manual = job.pointer("/spec/manualSelector") == Some(&Value::Bool(true));
    if let Some(labels) = job.pointer("/metadata/labels")
        && shares_labels
        && !is_manual
    {
        validate::labels(labels, "metadata.labels", &mut causes);
    }
    validate::of_new_job(&job, &mut causes);
    causes.into_causes()
}

/// The object at a path; missing parts are created.
fn made<'a>(
    mut members: &'a mut Map<String, Value>,
    path: &[&str],
) -> Option<&'a mut Map<String, Value>> {
    for step in path {
        members = object_or_insert(members, step)?;
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quality_of_service_is_that_of_upstream() {
        for (spec, expected) in [
            (json!({"containers": [{}]}), "BestEffort"),
            (
                json!({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}),
                "Guaranteed",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}),
                "Burstable",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"},
                    "requests": {"cpu": "500m"}}}]}),
                "Burstable",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}, {}]}),
                "Burstable",
            ),
            (
                json!({"initContainers": [{"resources": {"requests": {"cpu": "1"}}}],
                    "containers": [{}]}),
                "Burstable",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"example.com/gpu": "1"},
                    "requests": {"cpu": "0"}}}]}),
                "BestEffort",
            ),
            (
                json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "containers": [{}]}),
                "Guaranteed",
            ),
            (
                json!({"resources": {}, "containers": [{"resources": {"limits": {"cpu": "1"}}}]}),
                "BestEffort",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"},
                    "requests": {"cpu": "0", "memory": "1Gi"}}}]}),
                "Burstable",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"},
                    "requests": {"memory": "1073741824"}}}]}),
                "Guaranteed",
            ),
        ] {
            let pod = Map::from_iter([("spec".to_owned(), spec)]);
            assert_eq!(quality(&pod), expected, "{pod:?}");
        }
    }

    #[test]
    fn a_job_selects_the_pods_that_it_labels_and_no_others() {
        let metadata = json!({"name": "a", "uid": "u"});
        let mut job = json!({"metadata": metadata, "spec": {"template": {"metadata": {"labels":
            {"app": "x"}}}}});
        select_own_pods(&mut job, true);
        let labels = json!({"app": "x", "job-name": "a", "batch.kubernetes.io/job-name": "a",
            "controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"});
        assert_eq!(job["spec"]["template"]["metadata"]["labels"], labels);
        assert_eq!(job["metadata"]["labels"], labels);
        let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}});
        assert_eq!(job["spec"]["selector"], selector);
        assert_eq!(wrong_selection(&job, true), []);

        let mut labelled = json!({"metadata": {"name": "a", "uid": "u", "labels": {"own": "b"}},
            "spec": {"template": {}}});
        select_own_pods(&mut labelled, false);
        assert_eq!(labelled["metadata"]["labels"], json!({"own": "b"}));

        let manual = json!({"metadata": metadata, "spec": {"manualSelector": true,
            "template": {"metadata": {"labels": {"app": "x"}}},
            "selector": {"matchLabels": {"app": "x"}}}});
        let mut kept = manual.clone();
        select_own_pods(&mut kept, true);
        assert_eq!(kept, manual);
        assert_eq!(wrong_selection(&kept, true), []);
    }

    /// Source: the cases of upstream's `TestValidateJob` and `TestValidateGeneratedSelector`.
    #[test]
    fn a_job_that_would_select_the_pods_of_another_is_refused() {
        let uid = "batch.kubernetes.io/controller-uid";
        let label = |name: &str| format!("spec.template.metadata.labels[{name}]");
        let expression = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let (selector, labels) = ("spec.selector", "spec.template.metadata.labels");
        for (template, selector, fields) in [
            (json!({}), json!({}), vec![]),
            (
                json!({"controller-uid": "u"}),
                json!({"matchLabels": {"job-name": "a"}}),
                vec![],
            ),
            (
                json!({}),
                expression("job-name", "In", json!(["a"])),
                vec![],
            ),
            (
                json!({}),
                expression("controller-uid", "Exists", json!([])),
                vec![],
            ),
            (
                json!({}),
                expression("x", "DoesNotExist", json!([])),
                vec![],
            ),
            (
                json!({}),
                expression("job-name", "NotIn", json!(["a"])),
                vec![selector, labels],
            ),
            (
                json!({"job-name": "b"}),
                json!({}),
                vec![&*label("job-name")],
            ),
            (
                json!({}),
                json!({"matchLabels": {uid: "v"}}),
                vec![selector, labels],
            ),
            (
                json!({"x": "y"}),
                json!({"matchLabels": {"x": "y"}}),
                vec![selector],
            ),
            (json!({"x": "-"}), json!({}), vec!["spec.template.labels"]),
        ] {
            let job = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {
                "template": {"metadata": {"labels": template}}, "selector": selector}});
            let causes = wrong_selection(&job, false);
            let found: Vec<&str> = causes.iter().map(|cause| &*cause.field).collect();
            assert_eq!(found, fields, "{job}");
        }
    }

    #[test]
    fn a_job_that_selects_by_itself_says_what_and_its_pods_have_that() {
        for (selector, fields) in [
            (
                json!(null),
                vec!["spec.selector", "spec.template.metadata.labels"],
            ),
            (
                json!({"matchLabels": {"x": "z"}}),
                vec!["spec.template.metadata.labels"],
            ),
            (json!({"matchLabels": {"x": "y"}}), vec![]),
        ] {
            let job = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {"manualSelector": true,
                "template": {"metadata": {"labels": {"x": "y"}}}, "selector": selector}});
            let causes = wrong_selection(&job, true);
            let found: Vec<&str> = causes.iter().map(|cause| &*cause.field).collect();
            assert_eq!(found, fields, "{job}");
        }
    }

    /// The pods are labelled with it: a label that is not valid would refuse every later write.
    #[test]
    fn the_name_of_a_job_is_no_longer_than_a_label() {
        for (length, shares_labels, wrong) in [(63, true, 0), (64, true, 4), (64, false, 2)] {
            let job = json!({"metadata": {"name": "a".repeat(length), "uid": "u"}, "spec": {"template": {}}});
            let causes = wrong_selection(&job, shares_labels);
            assert_eq!(causes.len(), wrong, "{causes:?}");
        }
    }
}
