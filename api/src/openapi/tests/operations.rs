//! Every operation that is served has its place in the documents, with what it takes and answers.

use super::*;

const METHODS: [(&str, &str); 8] = [
    ("create", "post"),
    ("delete", "delete"),
    ("deletecollection", "delete"),
    ("get", "get"),
    ("list", "get"),
    ("patch", "patch"),
    ("update", "put"),
    ("watch", "get"),
];

/// The path of a resource of discovery, whose name may be that of a subresource, and whose verb may be about many.
fn path_of(base: &str, resource: &Value, verb: &str) -> String {
    let scope = if resource["namespaced"] == true {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let name = resource["name"].as_str().expect("a name");
    let (name, subresource) = name.split_once('/').unwrap_or((name, ""));
    let collection = format!("{base}{scope}/{name}");
    match verb {
        _ if !subresource.is_empty() => format!("{collection}/{{name}}/{subresource}"),
        "create" | "deletecollection" | "list" | "watch" => collection,
        _ => format!("{collection}/{{name}}"),
    }
}

/// Each group and version, as part of a path.
fn group_versions(state: &State) -> Vec<(String, String, String)> {
    let all = groups(state).into_iter().flat_map(|group| {
        let versions = versions(state, &group).into_iter();
        versions.map(move |version| {
            let base = format!("/apis/{group}/{version}");
            (group.clone(), version, base)
        })
    });
    let core = (String::new(), "v1".to_owned(), "/api/v1".to_owned());
    std::iter::once(core).chain(all).collect()
}

/// The parameters of an operation and those of its path, by name.
fn parameters(document: &Value, path: &str, method: &str) -> Map<String, Value> {
    let item = &document["paths"][path];
    let all = [&item["parameters"], &item[method]["parameters"]];
    let all = all.into_iter().filter_map(|list| list.as_array()).flatten();
    let named = all.map(|one| {
        let name = one["name"].as_str().expect("a name");
        (name.to_owned(), one.clone())
    });
    named.collect()
}

#[tokio::test]
async fn what_discovery_lists_has_its_path_and_method() {
    let api = Api::new(Arc::new(Fake::new()), Arc::default());
    let state = State::new(builtin_kinds());
    let whole = two(&state);
    let mut seen = 0;
    for (group, version, base) in group_versions(&state) {
        let own = three(&state, &group, &version);
        let told: Value = serde_json::from_slice(&read(&api, &base).await).expect("JSON");
        for resource in told["resources"].as_array().expect("resources") {
            for verb in resource["verbs"].as_array().expect("verbs") {
                let verb = verb.as_str().expect("a verb");
                let (_, method) = METHODS
                    .iter()
                    .find(|(known, _)| *known == verb)
                    .expect(verb);
                let path = path_of(&base, resource, verb);
                for document in [&whole, &own] {
                    let operation = &document["paths"][&path][*method];
                    assert!(operation.is_object(), "{verb} {path}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

/// Source: upstream's `APIInstaller`.
#[test]
fn a_deletion_takes_selectors_and_options() {
    let state = State::new(builtin_kinds());
    let options = "DeleteOptions";
    let path = "/api/v1/namespaces/{namespace}/pods";
    let (whole, core) = (two(&state), three(&state, "", "v1"));
    for (path, selects) in [(path.to_owned(), true), (format!("{path}/{{name}}"), false)] {
        for document in [&whole, &core] {
            let taken = parameters(document, &path, "delete");
            for name in [
                "fieldSelector",
                "labelSelector",
                "limit",
                "continue",
                "timeoutSeconds",
            ] {
                assert_eq!(taken.contains_key(name), selects, "{name} {path}");
            }
            for name in [
                "dryRun",
                "orphanDependents",
                "propagationPolicy",
                "pretty",
                "namespace",
            ] {
                assert!(taken.contains_key(name), "{name} {path}");
            }
            assert!(!taken.contains_key("watch"), "{path}");
        }
        let body = parameters(&whole, &path, "delete").remove("body");
        let body = body.expect("a body");
        assert_ne!(body["required"], true, "{body}");
        let named = body["schema"]["$ref"].as_str().expect("a reference");
        assert!(named.ends_with(options), "{named}");
        let body = &core["paths"][&path]["delete"]["requestBody"];
        assert_ne!(body["required"], true, "{body}");
        let named = &body["content"]["application/json"]["schema"]["$ref"];
        assert!(
            named.as_str().is_some_and(|named| named.ends_with(options)),
            "{body}"
        );
    }
    let definition =
        &whole["definitions"][format!("io.k8s.apimachinery.pkg.apis.meta.v1.{options}")];
    assert!(
        definition["properties"]["preconditions"]["$ref"].is_string(),
        "{definition}"
    );
}

#[test]
fn each_list_that_is_defined_is_the_answer_of_an_operation() {
    let state = State::new(builtin_kinds());
    let mut all = vec![(two(&state), "definitions", "/definitions/")];
    for (group, version, _) in group_versions(&state) {
        all.push((
            three(&state, &group, &version),
            "components",
            "/components/schemas/",
        ));
    }
    for (document, place, root) in all {
        let mut defined = &document[place];
        if place == "components" {
            defined = &defined["schemas"];
        }
        let paths = document["paths"].to_string();
        let names = defined.as_object().expect("definitions").keys();
        for name in names.filter(|name| name.ends_with("List")) {
            assert!(paths.contains(&format!("#{root}{name}\"")), "{name}");
        }
    }
}

#[test]
fn every_reference_of_every_document_leads_somewhere() {
    let state = State::new(builtin_kinds());
    for (group, version, _) in group_versions(&state) {
        assert!(references(&three(&state, &group, &version)) > 5, "{group}");
    }
}

/// Operations of the path of a version: method, path, ID, what is answered, codes.
///
/// Source: upstream's `APIInstaller` and its `api/openapi-spec`.
const NAMED: &str = "
/api/v1
delete namespaces/{namespace}/pods deleteCoreV1CollectionNamespacedPod META.Status 200
post namespaces/{namespace}/pods createCoreV1NamespacedPod core.v1.Pod 200,201,202
delete namespaces/{namespace}/pods/{name} deleteCoreV1NamespacedPod core.v1.Pod 200,202
post namespaces/{namespace}/pods/{name}/eviction createCoreV1NamespacedPodEviction policy.v1.Eviction 200,201,202
post namespaces/{namespace}/pods/{name}/binding createCoreV1NamespacedPodBinding core.v1.Binding 200,201,202
delete namespaces/{namespace}/configmaps/{name} deleteCoreV1NamespacedConfigMap META.Status 200,202
put namespaces/{name}/finalize replaceCoreV1NamespaceFinalize core.v1.Namespace 200,201
/apis/apps/v1
get namespaces/{namespace}/deployments/{name}/scale readAppsV1NamespacedDeploymentScale autoscaling.v1.Scale 200
put namespaces/{namespace}/deployments/{name}/scale replaceAppsV1NamespacedDeploymentScale autoscaling.v1.Scale 200,201
patch namespaces/{namespace}/deployments/{name}/scale patchAppsV1NamespacedDeploymentScale autoscaling.v1.Scale 200,201
/apis/certificates.k8s.io/v1
put certificatesigningrequests/{name}/approval replaceCertificatesV1CertificateSigningRequestApproval \
certificates.v1.CertificateSigningRequest 200,201
/apis/rbac.authorization.k8s.io/v1
get clusterroles/{name} readRbacAuthorizationV1ClusterRole rbac.v1.ClusterRole 200
";

#[test]
fn an_operation_is_named_and_answers_as_upstream_has_it() {
    let document = two(&State::new(builtin_kinds()));
    let mut base = "";
    for line in NAMED.trim().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [method, path, id, answer, codes] = words[..] else {
            base = line;
            continue;
        };
        let operation = &document["paths"][format!("{base}/{path}")][method];
        assert_eq!(operation["operationId"], id, "{line}");
        let answers = operation["responses"].as_object().expect("answers");
        assert!(answers.keys().eq(codes.split(',')), "{line}");
        let definition = match answer.strip_prefix("META.") {
            Some(kind) => format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"),
            None => format!("io.k8s.api.{answer}"),
        };
        let wanted = format!("#/definitions/{definition}");
        for one in answers.values() {
            assert_eq!(one["schema"]["$ref"], wanted, "{line}");
        }
    }
    let log = "/api/v1/namespaces/{namespace}/pods/{name}/log";
    let log = &document["paths"][log]["get"];
    assert_eq!(log["responses"]["200"]["schema"], json!({"type": "string"}));
    assert_eq!(log["operationId"], "readCoreV1NamespacedPodLog");
}
