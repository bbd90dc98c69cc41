//! Webhook configurations: refuses those that could not be called or could never match. Source:
//! upstream's `ValidateValidatingWebhookConfiguration` and its mutating counterpart. A webhook that
//! has or may have side effects is accepted; only dry runs that would call it are refused.

use super::{Field, Subject, selector};
use crate::cel::Env;
use crate::go;
use crate::rejection::{CauseList, FieldCause};
use crate::validate::names;
use crate::webhook::condition::{self, compile};
use serde_json::Value;
use std::collections::BTreeSet;

const FORM: &str = "; desired format: https://host[/path]";
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
/// The versions in which webhooks can be asked, of admission and of conversion.
pub(crate) const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// Source: `maxMatchConditionsCount`, 64.
const CONDITIONS_MAX: usize = 64;

pub(super) fn check(subject: &Subject<'_>, causes: &mut CauseList) {
    let env = condition::env();
    for webhook in subject.new.child("webhooks").items() {
        name(&webhook.child("name"), causes);
        for entry in webhook.child("rules").items() {
            rule(&entry, causes);
        }
        one_of(&webhook.child("failurePolicy"), &["Fail", "Ignore"], causes);
        one_of(
            &webhook.child("matchPolicy"),
            &["Equivalent", "Exact"],
            causes,
        );
        timeout(&webhook.child("timeoutSeconds"), causes);
        selector::label_selector(&webhook.child("namespaceSelector"), causes);
        selector::label_selector(&webhook.child("objectSelector"), causes);
        one_of(
            &webhook.child("reinvocationPolicy"),
            &["IfNeeded", "Never"],
            causes,
        );
        client(&webhook.child("clientConfig"), causes);
        one_of(&webhook.child("sideEffects"), &SIDE_EFFECTS, causes);
        conditions(&webhook.child("matchConditions"), &env, causes);
        reviews(&webhook.child("admissionReviewVersions"), causes);
    }
}

fn one_of(field: &Field<'_>, known: &[&str], causes: &mut CauseList) {
    if !field.value.is_null() && !known.contains(&field.text()) {
        causes.push_with(|| field.not_supported(known));
    }
}

fn name(name: &Field<'_>, causes: &mut CauseList) {
    if name.is_empty() {
        return;
    }
    if let Err(why) = names::subdomain(name.text()) {
        causes.push_with(|| name.invalid(&why));
    } else if name.text().split('.').count() < 3 {
        causes.push_with(|| {
            name.invalid("should be a domain with at least three segments separated by dots")
        });
    }
}

fn timeout(seconds: &Field<'_>, causes: &mut CauseList) {
    let number = seconds.value.as_i64();
    if number.is_some_and(|number| !(1..=30).contains(&number)) {
        causes.push_with(|| seconds.invalid("the timeout value must be between 1 and 30 seconds"));
    }
}

fn rule(rule: &Field<'_>, causes: &mut CauseList) {
    let operations = rule.child("operations");
    list(&operations, "operations", causes);
    for operation in operations.items() {
        one_of(&operation, &OPERATIONS, causes);
    }
    list(&rule.child("apiGroups"), "API groups", causes);
    list(&rule.child("apiVersions"), "API versions", causes);
    for version in rule.child("apiVersions").items().filter(Field::is_empty) {
        causes.push_with(|| version.required(""));
    }
    resources(&rule.child("resources"), causes);
    one_of(
        &rule.child("scope"),
        &["*", "Cluster", "Namespaced"],
        causes,
    );
}

/// A list is not empty, and if it contains `*`, that is its only item.
fn list(list: &Field<'_>, what: &str, causes: &mut CauseList) {
    if list.is_empty() {
        causes.push_with(|| list.required(""));
    }
    if holds(list, "*") && list.items().count() > 1 {
        causes.push_with(|| {
            list.invalid(&format!("if '*' is present, must not specify other {what}"))
        });
    }
}

fn holds(list: &Field<'_>, text: &str) -> bool {
    list.items().any(|item| item.text() == text)
}

fn resources(list: &Field<'_>, causes: &mut CauseList) {
    if list.is_empty() {
        causes.push_with(|| list.required(""));
    }
    for item in list.items().filter(Field::is_empty) {
        causes.push_with(|| item.required(""));
    }
    subresources(list, causes);
    if holds(list, "*/*") && list.items().count() > 1 {
        causes.push_with(|| list.invalid("if '*/*' is present, must not specify other resources"));
    }
    let is_plain = |item: Field<'_>| item.text() != "*" && !item.text().contains('/');
    if holds(list, "*") && list.items().any(is_plain) {
        let why = "if '*' is present, must not specify other resources without subresources";
        causes.push_with(|| list.invalid(why));
    }
}

/// No subresource is named that one before it, with a wildcard, names already.
fn subresources(list: &Field<'_>, causes: &mut CauseList) {
    let (mut all_of, mut of_all) = (BTreeSet::new(), BTreeSet::new());
    for item in list.items() {
        let Some((resource, subresource)) = item.text().split_once('/') else {
            continue;
        };
        for (is_named, wildcard) in [
            (all_of.contains(resource), format!("{resource}/*")),
            (of_all.contains(subresource), format!("*/{subresource}")),
        ] {
            if is_named {
                let named = item.text();
                let why = format!("if '{wildcard}' is present, must not specify {named}");
                causes.push_with(|| item.invalid(&why));
            }
        }
        if subresource == "*" {
            all_of.insert(resource.to_owned());
        }
        if resource == "*" {
            of_all.insert(subresource.to_owned());
        }
    }
}

/// What is wrong with the `clientConfig` of a webhook at this path.
pub(crate) fn webhook_client(path: &str, config: &Value, causes: &mut CauseList) {
    let path = path.into();
    client(
        &Field {
            path,
            value: config,
        },
        causes,
    );
}

fn client(client: &Field<'_>, causes: &mut CauseList) {
    let (url_field, service_field) = (client.child("url"), client.child("service"));
    match (url_field.value.is_null(), service_field.value.is_null()) {
        (false, true) => url(&url_field, causes),
        (true, false) => service(&service_field, causes),
        _ => causes.push_with(|| client.required("exactly one of url or service is required")),
    }
}

/// Source: `ValidateWebhookURL`.
fn url(field: &Field<'_>, causes: &mut CauseList) {
    let parts = match go::url::parts(field.text()) {
        Ok(parts) => parts,
        Err(why) => {
            let why = format!("url must be a valid URL: {why}{FORM}");
            return causes.push_with(|| field.required(&why));
        }
    };
    let mut refuse = |part: &str, why: &str| {
        causes.push_with(|| FieldCause::invalid(field.path.as_str(), &part.into(), why));
    };
    if parts.scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        refuse(&parts.scheme, &why);
    }
    if parts.host.is_empty() {
        refuse("", &format!("host must be provided{FORM}"));
    }
    if let Some(user) = &parts.user {
        refuse(user, "user information is not permitted in the URL");
    }
    if !parts.fragment.is_empty() {
        refuse(&parts.fragment, "fragments are not permitted in the URL");
    }
    if let Some(query) = parts.query.filter(|query| !query.is_empty()) {
        refuse(query, "query parameters are not permitted in the URL");
    }
}

fn service(service: &Field<'_>, causes: &mut CauseList) {
    for (member, why) in [
        ("name", "service name is required"),
        ("namespace", "service namespace is required"),
    ] {
        let field = service.child(member);
        if field.is_empty() {
            causes.push_with(|| field.required(why));
        }
    }
    let port = service.child("port");
    let number = port.value.as_i64();
    if number.is_some_and(|number| !(1..=65_535).contains(&number)) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push_with(|| port.invalid(why));
    }
    service_path(&service.child("path"), causes);
}

/// Source: `ValidateWebhookService`.
fn service_path(path: &Field<'_>, causes: &mut CauseList) {
    if path.is_empty() || path.text() == "/" {
        return;
    }
    let Some(rest) = path.text().strip_prefix('/') else {
        return causes.push_with(|| path.invalid("must start with a '/'"));
    };
    let segments = rest.strip_suffix('/').unwrap_or(rest).split('/');
    for (at, segment) in segments.enumerate() {
        if segment.is_empty() {
            causes.push_with(|| path.invalid(&format!("segment[{at}] may not be empty")));
            continue;
        }
        for why in names::subdomain_problems(segment) {
            causes.push_with(|| path.invalid(&format!("segment[{at}]: {why}")));
        }
    }
}

fn conditions(list: &Field<'_>, env: &Env<'_>, causes: &mut CauseList) {
    let count = list.items().count();
    if count > CONDITIONS_MAX {
        let cause = FieldCause::too_many(list.path.as_str(), count, CONDITIONS_MAX);
        return causes.push_with(|| cause);
    }
    let mut names = BTreeSet::new();
    for item in list.items() {
        condition(&item, env, causes);
        let name = item.child("name");
        if !name.is_empty() && !names.insert(name.text()) {
            causes.push_with(|| FieldCause::duplicate(name.path.as_str(), name.value));
        }
    }
}

fn condition(condition: &Field<'_>, env: &Env<'_>, causes: &mut CauseList) {
    let (name, expression) = (condition.child("name"), condition.child("expression"));
    if expression.text().trim().is_empty() {
        causes.push_with(|| expression.required(""));
    } else if let Err(why) = compile(expression.text(), env) {
        causes.push_with(|| expression.invalid(&why));
    }
    if name.is_empty() {
        causes.push_with(|| name.required(""));
    } else {
        let problems = names::qualified_name(name.text());
        causes.extend(problems.iter().map(|why| name.invalid(why)));
    }
}

fn reviews(versions: &Field<'_>, causes: &mut CauseList) {
    let mut seen = BTreeSet::new();
    for version in versions.items() {
        if !seen.insert(version.text().to_owned()) {
            causes.push_with(|| version.invalid("duplicate version"));
            continue;
        }
        for why in names::label_1035_problems(version.text()) {
            causes.push_with(|| version.invalid(&why));
        }
    }
    let known = |version: Field<'_>| REVIEW_VERSIONS.contains(&version.text());
    if !versions.is_empty() && !versions.items().any(known) {
        causes.push_with(|| versions.invalid("must include at least one of v1, v1beta1"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch;
    use serde_json::json;

    /// `merge patch on a valid webhook | causes`.
    const CASES: &str = r#"
{} |
{"name": "a.b"} | webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots
{"failurePolicy": "Maybe"} | webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"
{"matchPolicy": ""} | webhooks[0].matchPolicy: Unsupported value: "": supported values: "Equivalent", "Exact"
{"reinvocationPolicy": "Always"} | webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"
{"timeoutSeconds": 31} | webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds
{"timeoutSeconds": 0} | webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds
{"admissionReviewVersions": ["v2"]} | webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1
{"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}} | webhooks[0].objectSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator
{"clientConfig": {"url": null}} | webhooks[0].clientConfig: Required value: exactly one of url or service is required
{"clientConfig": {"service": {}}} | webhooks[0].clientConfig: Required value: exactly one of url or service is required
{"clientConfig": {"url": "http://x"}} | webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]
{"clientConfig": {"url": "https://h:x/"}} | webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://h:x/": invalid port ":x" after host; desired format: https://host[/path]
{"clientConfig": {"url": "https:///x"}} | webhooks[0].clientConfig.url: Invalid value: "": host must be provided; desired format: https://host[/path]
{"clientConfig": {"url": "https://u@x/"}} | webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL
{"clientConfig": {"url": "https://x/?a=b"}} | webhooks[0].clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL
{"clientConfig": {"url": "https://x/#a"}} | webhooks[0].clientConfig.url: Invalid value: "a": fragments are not permitted in the URL
{"clientConfig": {"url": null, "service": {"name": "a"}}} | webhooks[0].clientConfig.service.namespace: Required value: service namespace is required
{"clientConfig": {"url": null, "service": {"name": "a", "namespace": "b", "port": 0}}} | webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive
{"clientConfig": {"url": null, "service": {"name": "a", "namespace": "b", "path": "c"}}} | webhooks[0].clientConfig.service.path: Invalid value: "c": must start with a '/'
{"clientConfig": {"url": null, "service": {"name": "a", "namespace": "b", "path": "/x/y.z/"}}} |
{"clientConfig": {"url": null, "service": {"name": "a", "namespace": "b", "path": "//"}}} | webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty
{"admissionReviewVersions": ["v1", "v1"]} | webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version
{"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*", "pods/status"]}]} | webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status
{"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/status", "*/status", "nodes/status"]}]} | webhooks[0].rules[0].resources[2]: Invalid value: "nodes/status": if '*/status' is present, must not specify nodes/status
{"matchConditions": [{"name": "a", "expression": "object.a == 1 && request.userInfo.username != 'x' && authorizer.requestResource.check('x').allowed()"}]} |
{"matchConditions": [{"name": "a.b/c", "expression": "true"}, {"name": "a.b/c", "expression": "true"}]} | webhooks[0].matchConditions[1].name: Duplicate value: "a.b/c"
{"matchConditions": [{}]} | webhooks[0].matchConditions[0].expression: Required value; webhooks[0].matchConditions[0].name: Required value
{"matchConditions": [{"name": "a", "expression": "object.a"}]} | webhooks[0].matchConditions[0].expression: Invalid value: "object.a": must evaluate to bool
{"matchConditions": [{"name": "a", "expression": "request.object == 1"}]} | webhooks[0].matchConditions[0].expression: Invalid value: "request.object == 1": compilation failed: ERROR: <input>:1:8: undefined field 'object'~request.object == 1~.......^
{"matchConditions": [{"name": "a", "expression": "authorizer.path('/x').check('get').allowed()"}]} | webhooks[0].matchConditions[0].expression: Invalid value: "authorizer.path('/x').check('get').allowed()": compilation failed: ERROR: <input>:1:16: undeclared reference to 'path' (in container '')~authorizer.path('/x').check('get').allowed()~...............^
{"rules": [{"operations": [], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]} | webhooks[0].rules[0].operations: Required value
{"rules": [{"operations": ["MAKE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]} | webhooks[0].rules[0].operations[0]: Unsupported value: "MAKE": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"
{"rules": [{"operations": ["*"], "apiGroups": ["*", "apps"], "apiVersions": ["v1"], "resources": ["pods"]}]} | webhooks[0].rules[0].apiGroups: Invalid value: ["*","apps"]: if '*' is present, must not specify other API groups
{"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": [""], "resources": ["pods"]}]} | webhooks[0].rules[0].apiVersions[0]: Required value
{"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*", "pods"]}]} | webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources
{"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*/*", "pods"]}]} | webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources
{"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "World"}]} | webhooks[0].rules[0].scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"
"#;

    fn causes_of(configuration: &Value) -> Vec<FieldCause> {
        let resource = "mutatingwebhookconfigurations";
        let kind = crate::testing::builtin_kind(resource);
        let subject = Subject::new(&kind, configuration, None);
        let mut causes = CauseList::default();
        check(&subject, &mut causes);
        causes.into_causes()
    }

    #[test]
    fn what_cannot_be_called_or_cannot_match_is_refused() {
        let right = json!({"name": "a.b.c", "admissionReviewVersions": ["v1"],
            "sideEffects": "Some", "clientConfig": {"url": "https://[::1]:9443/x"}});
        for line in CASES.lines().filter(|line| !line.is_empty()) {
            let (change, said) = line.split_once(" |").expect(line);
            let change: Value = serde_json::from_str(change).expect(line);
            let webhook = patch::apply(&right, &crate::command::Patch::Merge(change));
            let document = json!({"webhooks": [webhook.expect(line)]});
            let causes = causes_of(&document);
            let found = causes
                .iter()
                .map(|one| format!("{}: {}", one.field, one.message));
            let found = found.collect::<Vec<_>>().join("; ").replace("\n | ", "~");
            assert_eq!(found, said.trim(), "{line}");
        }
    }

    #[test]
    fn the_conditions_of_a_configuration_share_their_regular_expressions() {
        let many = vec!["'a'.matches('a')"; 16].join(" && ");
        let condition = |name: usize, expression: &str| json!({"name": format!("c{name}"), "expression": expression});
        let conditions: Vec<Value> = (0..2).map(|one| condition(one, &many)).collect();
        let webhook = |conditions: Vec<Value>| {
            json!({"name": "a.b.c", "admissionReviewVersions": ["v1"], "matchConditions": conditions,
                "clientConfig": {"url": "https://x/"}})
        };
        let mut last = conditions.clone();
        last.push(condition(2, "'a'.matches('(')"));
        let document = json!({"webhooks": [webhook(conditions), webhook(last)]});
        let causes = causes_of(&document);
        let [cause] = causes.as_slice() else {
            panic!("{causes:?}");
        };
        assert_eq!(cause.field, "webhooks[1].matchConditions[2].expression");
        let why = "all expressions together have more than 64 regular expressions";
        assert!(cause.message.contains(why), "{cause:?}");
    }
}
