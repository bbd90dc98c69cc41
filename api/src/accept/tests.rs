//! What clients send, and what they get for it.

use super::*;
use http::HeaderValue;

fn headers(accepted: &str) -> HeaderMap {
    let value = HeaderValue::from_str(accepted).expect("a header");
    HeaderMap::from_iter([(header::ACCEPT, value)])
}

#[test]
fn the_aggregate_is_for_those_who_want_it_most() {
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
        // The order of the parameters says nothing, nor does a space between them.
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
        // What is about something else.
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
fn what_is_wanted_most_and_known_is_what_is_shown() {
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
