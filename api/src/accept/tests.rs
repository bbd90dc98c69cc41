//! What clients send in `Accept`, and which form they get for it.

use super::*;
use http::HeaderValue;

fn headers(accepted: &str) -> HeaderMap {
    let value = HeaderValue::from_str(accepted).expect("a header");
    HeaderMap::from_iter([(header::ACCEPT, value)])
}

/// Source: kube-openapi's `handler` and `handler3`.
#[test]
fn openapi_is_served_in_the_form_that_is_wanted_most_or_not_at_all() {
    const BINARY: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (text, binary) = (Some(OpenApi::Json), Some(OpenApi::Binary));
    for (accepted, wanted, without_binary) in [
        ("", text, text),
        ("*", text, text),
        ("*/*", text, text),
        ("*/json", text, text),
        ("application/*", text, text),
        ("application/json", text, text),
        ("application/yaml", None, None),
        ("text/html", None, None),
        ("text/json", None, None),
        ("json", None, None),
        ("text/html,BINARY", binary, None),
        ("BINARY", binary, None),
        ("BINARY,application/json", binary, text),
        ("BINARY;q=0.5,application/json", text, text),
        ("application/json,BINARY", text, text),
        ("*/*,BINARY", binary, text),
        ("application/proto-openapi", None, None),
    ] {
        let headers = headers(&accepted.replace("BINARY", BINARY));
        let subtypes = ["com.github.proto-openapi.spec.v2@v1.0+protobuf"];
        assert_eq!(accept_openapi(&headers, &subtypes), wanted, "{accepted}");
        assert_eq!(accept_openapi(&headers, &[]), without_binary, "{accepted}");
    }
}

#[test]
fn aggregated_discovery_is_served_to_clients_that_prefer_it() {
    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const V2_BETA: &str =
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    let no_peer = format!("{V2};profile=nopeer");
    for (accepted, wanted) in [
        // kubectl, client-go and kube.
        (format!("{V2},{V2_BETA},application/json"), true),
        (format!("{V2},application/json"), true),
        (format!("{no_peer},{V2},application/json"), true),
        (format!("{V2_BETA},application/json"), false),
        ("application/json, */*".into(), false),
        ("application/json".into(), false),
        ("*/*".into(), false),
        (String::new(), false),
        // Neither the order of the parameters nor a space between them matters.
        (
            "application/json; as=APIGroupDiscoveryList; g=apidiscovery.k8s.io; v=v2".into(),
            true,
        ),
        (
            "application/json;as=APIGroupDiscoveryList;v=v2".into(),
            false,
        ),
        (V2.replace("apidiscovery", "another"), false),
        (V2.replace("application/json", "text/html"), false),
        // Alternatives that are about something else.
        (
            "application/json;as=Table;g=meta.k8s.io;v=v2,application/json".into(),
            false,
        ),
        ("text/html;v=v2,application/json".into(), false),
        (format!("application/json,{V2}"), false),
        (format!("application/json;q=0.9,{V2}"), true),
        (format!("*/*,{V2}"), true),
        (format!("{V2};q=0.5,application/json"), false),
    ] {
        assert_eq!(wants_aggregate(&headers(&accepted)), wanted, "{accepted}");
    }
    assert!(!wants_aggregate(&HeaderMap::new()));
}

#[test]
fn the_most_preferred_known_form_is_served() {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for (accepted, wanted) in [
        ("", Some((View::Object, Syntax::Json))),
        ("*/*", Some((View::Object, Syntax::Json))),
        (
            &*format!("{table},application/json"),
            Some((View::Table, Syntax::Json)),
        ),
        (
            &*format!("{table};q=0.1,application/json"),
            Some((View::Object, Syntax::Json)),
        ),
        (
            "application/json;as=Other,application/yaml",
            Some((View::Object, Syntax::Yaml)),
        ),
        (
            "application/vnd.kubernetes.protobuf,application/json",
            Some((View::Object, Syntax::Json)),
        ),
        (
            "application/json;q=0.8,application/yaml;q=0.9",
            Some((View::Object, Syntax::Yaml)),
        ),
        (
            "application/json;q=x,application/yaml;q=0.1",
            Some((View::Object, Syntax::Yaml)),
        ),
        ("*/*,application/yaml", Some((View::Object, Syntax::Yaml))),
        ("text/html,*/*;q=0.1", Some((View::Object, Syntax::Json))),
        ("text/html", None),
        ("application/json;as=Other", None),
    ] {
        let found = accept(&headers(accepted)).ok();
        let found = found.map(|one| (one.view, one.syntax));
        assert_eq!(found, wanted, "{accepted}");
    }
    let either = headers(&format!("{table},application/yaml"));
    let object = accept_object(&either).expect("an object");
    assert_eq!((object.view, object.syntax), (View::Object, Syntax::Yaml));
}

#[test]
fn a_form_has_a_name_a_version_and_a_group() {
    for (accepted, wanted) in [
        ("application/json;as=Table", None),
        ("application/json;as=Table;v=v1", None),
        ("application/json;as=Table;g=meta.k8s.io", None),
        ("application/json;v=v1", None),
        ("application/json;as=Table;v=v2;g=meta.k8s.io", None),
        ("application/json;as=Table;v=v1;g=x", None),
        ("application/json;as=Table;v=v1beta1;g=x", None),
        ("application/json;as=Other;v=v1;g=meta.k8s.io", None),
        (
            "application/json;as=Table;v=v2;g=meta.k8s.io,application/yaml",
            Some((View::Object, Syntax::Yaml)),
        ),
        (
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Some((View::Metadata, Syntax::Json)),
        ),
        // Sent by kubectl.
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
             application/json",
            Some((View::Table, Syntax::Json)),
        ),
        // Sent by the metadata client of client-go.
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
             application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            Some((View::Metadata, Syntax::Json)),
        ),
    ] {
        let found = accept(&headers(accepted)).ok();
        let found = found.map(|one| (one.view, one.syntax));
        assert_eq!(found, wanted, "{accepted}");
    }
}

fn kind(resource: &str) -> Kind {
    let mut kinds = hindsight_core::builtin::kinds().into_iter();
    let found = kinds.find(|kind| &*kind.resource.resource == resource);
    found.expect("a kind")
}

#[test]
fn a_form_fits_what_is_answered() {
    let form =
        |name: &str| format!("application/json;as={name};v=v1;g=meta.k8s.io,application/json");
    let (one, list) = (
        form("PartialObjectMetadata"),
        form("PartialObjectMetadataList"),
    );
    let streams = "application/json;stream=watch";
    let is_list = "PartialObjectMetadata, but the requested object is a list (PodList)";
    let is_one = "PartialObjectMetadataList, but the requested object is not a list (Pod)";
    for (accepted, wanted) in [
        (&*one, [None, Some(is_list), None]),
        (&*list, [Some(is_one), None, Some(is_one)]),
        (&*form("Table"), [None; 3]),
        ("application/json", [None; 3]),
        ("", [None; 3]),
        ("application/yaml", [None, None, Some(streams)]),
        (
            "application/yaml,application/json",
            [None, None, Some(streams)],
        ),
        ("application/json,application/yaml", [None; 3]),
        ("application/*", [Some("Available representations"); 3]),
        (
            "application/*,application/xml",
            [Some("Available representations"); 3],
        ),
        ("application/*,*/*;q=0.1", [None; 3]),
        ("application/*,application/json", [None; 3]),
    ] {
        let accept = accept(&headers(accepted)).expect("acceptable");
        let answers = [Answer::One, Answer::List, Answer::Events];
        for (answer, wanted) in answers.into_iter().zip(wanted) {
            let refused = accept.check(answer, &kind("pods")).err();
            assert_eq!(refused.is_some(), wanted.is_some(), "{accepted} {answer:?}");
            if let (Some(refused), Some(wanted)) = (refused, wanted) {
                assert_eq!(refused.code, 406);
                let document = refused.to_json();
                let message = document["message"].as_str().expect("a message");
                assert!(message.contains(wanted), "{message}");
            }
        }
    }
}

#[test]
fn of_the_alternatives_the_first_are_looked_at() {
    let unknown = |count: usize| "a/b,".repeat(count);
    let last = |count| accept(&headers(&format!("{}application/json", unknown(count))));
    assert!(last(ALTERNATIVES_MAX - 1).is_ok());
    assert!(last(ALTERNATIVES_MAX).is_err());
}
