//! Parses a request's path: which resource, object and subresource it names, and at which point in time.

use crate::backend::AsOf;
use crate::status::Failure;
use hindsight_core::kind::{Subresource, Version};

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Route {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    /// Whether the place of the namespace is empty, which means all namespaces.
    pub(crate) everywhere: bool,
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) subpath: Subpath,
    /// Whether the path has the older `/watch/` form.
    pub(crate) watch: bool,
}

/// What a path names after an object's name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Subpath {
    #[default]
    Nothing,
    Known(Subresource),
    /// A subresource that no kind serves, such as `log`.
    Unknown(String),
}

impl Subpath {
    fn of(segments: &[&str]) -> Self {
        let text = segments.join("/");
        match Subresource::named(&text) {
            Some(known) => Self::Known(known),
            None if text.is_empty() => Self::Nothing,
            None => Self::Unknown(text),
        }
    }

    /// What this version serves at that place: a subresource, or `None` for the object itself.
    pub(crate) fn served(&self, version: &Version) -> Result<Option<Subresource>, Failure> {
        let subresource = match self {
            Self::Nothing => None,
            Self::Known(known) => Some(*known),
            Self::Unknown(_) => return Err(Failure::no_such_resource()),
        };
        if version.serves(subresource) {
            return Ok(subresource);
        }
        Err(Failure::no_such_resource())
    }
}

/// Splits `/as-of/<revision or time>` off a path.
pub(crate) fn split_time(path: &str) -> Result<(Option<AsOf>, &str), Failure> {
    let Some(rest) = path.strip_prefix("/as-of/") else {
        return Ok((None, path));
    };
    let (point, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let point = unescaped(point)?;
    let parsed = AsOf::parse(&point).ok_or_else(|| {
        Failure::bad_request(format!(
            "{point:?} is neither a revision nor an RFC 3339 time, such as 42 or 2026-01-31T12:00:00Z"
        ))
    })?;
    Ok((Some(parsed), if rest.is_empty() { "/" } else { rest }))
}

/// Parses the path of a resource; `None` if it is not one. Only the segment of a namespace may be empty.
/// Source: upstream's `requestinfo.go` and go-restful, which split a path alike.
pub(crate) fn route(path: &str) -> Result<Option<Route>, Failure> {
    let segments = path.trim_matches('/').split('/');
    let segments = segments.map(unescaped).collect::<Result<Vec<_>, _>>()?;
    let mut rest = segments.iter().map(String::as_str);
    let (group, version) = match (rest.next(), rest.next()) {
        (Some("api"), Some(version)) => ("", version),
        (Some("apis"), Some(group)) => match rest.next() {
            Some(version) => (group, version),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let mut rest: Vec<&str> = rest.collect();
    let mut route = Route {
        group: group.into(),
        version: version.into(),
        ..Route::default()
    };
    if rest.first() == Some(&"watch") {
        route.watch = true;
        rest.remove(0);
    }
    if let ["namespaces", namespace, resource, ..] = rest.as_slice()
        && !matches!(*resource, "status" | "finalize")
    {
        route.namespace = Some((*namespace).to_owned()).filter(|name| !name.is_empty());
        route.everywhere = route.namespace.is_none();
        rest.drain(..2);
    }
    if rest.contains(&"") {
        return Ok(None);
    }
    let Some((resource, rest)) = rest.split_first() else {
        return Ok(None);
    };
    (*resource).clone_into(&mut route.resource);
    route.name = rest.first().map(|name| (*name).to_owned());
    route.subpath = Subpath::of(rest.get(1..).unwrap_or_default());
    if let Some(name) = &route.name {
        check_name(name)?;
    }
    Ok(Some(route))
}

/// Refuses names that no object has. Source: upstream's `NamespaceKeyFunc` and `IsValidPathSegmentName`, which refuses a
/// slash too.
fn check_name(name: &str) -> Result<(), Failure> {
    let why = if matches!(name, "." | "..") {
        format!("may not be '{name}'")
    } else if name.contains('%') {
        "may not contain '%'".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::bad_request(format!(
        "Name parameter invalid: {name:?}: {why}"
    )))
}

/// The group, if a path names just a version of it.
pub(crate) fn group(path: &str) -> Result<Option<String>, Failure> {
    let group = match path.trim_matches('/').split('/').collect::<Vec<_>>()[..] {
        ["api", _] => "",
        ["apis", group, _] if !group.is_empty() => group,
        _ => return Ok(None),
    };
    unescaped(group).map(Some)
}

/// A part of a URL without its escapes.
pub(crate) fn unescaped(text: &str) -> Result<String, Failure> {
    percent_decode(text).map_err(Failure::bad_request)
}

/// Decodes `%xx`. The error says that an escape is invalid, or the result not UTF-8.
pub fn percent_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(format!("invalid URL escape in {text:?}"));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
    }
    String::from_utf8(bytes).map_err(|_| "the URL is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::{Revision, Time};

    #[test]
    fn paths_name_resources_objects_and_subresources() {
        for (path, expected) in [
            ("/api/v1/namespaces/d/configmaps/a", "/v1 d configmaps a "),
            ("/api/v1/namespaces/d", "/v1 - namespaces d "),
            ("/api/v1/namespaces/d/status", "/v1 - namespaces d status"),
            ("/apis/apps/v1/deployments", "apps/v1 - deployments - "),
            (
                "/apis/apps/v1/namespaces/d/deployments/w/scale",
                "apps/v1 d deployments w scale",
            ),
            ("/api/v1/namespaces/d/pods/p/log", "/v1 d pods p log"),
            (
                "/api/v1/namespaces/d/pods/p/proxy/a/b",
                "/v1 d pods p proxy/a/b",
            ),
            ("/api/v1/nodes/n%31", "/v1 - nodes n1 "),
        ] {
            let route = route(path).expect("readable").expect("a resource");
            let or_dash = |text: &Option<String>| text.clone().unwrap_or("-".into());
            let seen = format!(
                "{}/{} {} {} {} {}",
                route.group,
                route.version,
                or_dash(&route.namespace),
                route.resource,
                or_dash(&route.name),
                match &route.subpath {
                    Subpath::Nothing => "",
                    Subpath::Known(known) => known.name(),
                    Subpath::Unknown(text) => text,
                }
            );
            assert_eq!(seen, expected);
        }
        for path in ["/", "/api", "/apis/apps", "/version", "/api/v1"] {
            assert_eq!(route(path).expect("readable"), None, "{path}");
        }
        for (name, told) in [
            ("..", "\"..\": may not be '..'"),
            ("%2e", "\".\": may not be '.'"),
            ("a%25b", "\"a%b\": may not contain '%'"),
        ] {
            let refused = route(&format!("/api/v1/namespaces/d/configmaps/{name}"));
            let status = refused.expect_err(name).to_json();
            assert_eq!(status["message"], format!("Name parameter invalid: {told}"));
            assert_eq!(status["code"], 400, "{name}");
        }
        assert!(route("/api/v1/nodes/%zz").is_err() && route("/api/v1/nodes/%ff").is_err());
    }

    #[test]
    fn a_version_is_named_with_its_group() {
        for (path, expected) in [
            ("/api/v1", Some("")),
            ("/api/v9/", Some("")),
            ("/apis/apps/v%31", Some("apps")),
            ("/apis/example%2ecom/v1", Some("example.com")),
            ("/apis//v1", None),
            ("/apis/apps", None),
            ("/api", None),
            ("/api/v1/pods", None),
        ] {
            let found = group(path).expect("readable");
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_segment_is_empty_at_the_ends_or_where_a_namespace_stands() {
        let read = |path: &str| route(path).expect("readable");
        let all = read("/api/v1/namespaces//configmaps").expect("a resource");
        assert_eq!((all.namespace, all.everywhere), (None, true));
        assert_eq!((&*all.resource, all.name), ("configmaps", None));
        let watched = read("/api/v1/watch/namespaces//pods").expect("a resource");
        assert!(watched.watch && watched.everywhere);
        let plain = read("/api/v1/namespaces/d/configmaps");
        assert_eq!(read("//api/v1/namespaces/d/configmaps//"), plain);
        assert_eq!(read("/api/v1/namespaces//"), read("/api/v1/namespaces"));
        for path in [
            "/api/v1//configmaps",
            "/api/v1/namespaces/d//configmaps",
            "/api/v1/namespaces/d/configmaps//a",
            "/api/v1/namespaces/d/pods//log",
            "/api/v1/namespaces//status",
            "/api/v1/namespaces//finalize",
            "/api/v1/namespaces///configmaps",
        ] {
            assert_eq!(read(path), None, "{path}");
        }
    }

    #[test]
    fn a_point_in_time_stands_before_the_path() {
        let split = |path| split_time(path).expect("readable");
        assert_eq!(split("/api/v1"), (None, "/api/v1"));
        assert_eq!(
            split("/as-of/7/api/v1"),
            (Some(AsOf::Revision(Revision(7))), "/api/v1")
        );
        let time = split("/as-of/1970-01-01T00:00:01Z/api").0;
        assert_eq!(time, Some(AsOf::Time(Time(1_000_000))));
        assert!(split_time("/as-of/soon/api").is_err());
    }
}
