//! Where a command comes from: a user, and a request.

use crate::object::Name;

/// An authenticated identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor {
    /// `system:serviceaccount:...`, `admin`, ...
    pub user: Name,
    /// The uid of the user, often empty.
    pub uid: Name,
    /// The groups that the user is in.
    pub groups: Vec<Name>,
}

impl Actor {
    /// A user who is in no group.
    pub fn new(user: &str) -> Self {
        Self {
            user: user.into(),
            uid: "".into(),
            groups: Vec::new(),
        }
    }
}

/// The request that a command came with. It is recorded in the log; no decision depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Kubernetes verb: `create`, `deletecollection`, ...; empty for the server's own work.
    pub verb: String,
    /// Path and query as sent; empty for the server's own work.
    pub uri: String,
    /// The `User-Agent` header.
    pub user_agent: String,
}

impl Request {
    /// The subresource that its path names, such as `eviction`; empty if it names none.
    ///
    /// Source: `NewRequestInfo` in upstream's `requestinfo.go`.
    pub fn subresource(&self) -> &str {
        let path = self.uri.split('?').next().unwrap_or_default();
        // Earlier versions recorded the scheme and the host of requests over HTTP/2 too.
        let path = match path.split_once("://") {
            Some((_, rest)) => rest.split_once('/').map_or("", |(_host, path)| path),
            None => path,
        };
        let mut parts = path.trim_start_matches('/').split('/');
        match parts.next() {
            Some("api") => drop(parts.next()),
            Some("apis") => drop(parts.nth(1)),
            Some(_) | None => return "",
        }
        let parts: Vec<&str> = parts.collect();
        let parts = match *parts {
            ["namespaces", _, "status" | "finalize"] | ["namespaces", _] => &parts[..],
            ["namespaces", _, ..] => parts.get(2..).unwrap_or_default(),
            _ => &parts[..],
        };
        parts.get(2).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Request;

    #[test]
    fn a_subresource_is_the_part_behind_the_name() {
        for (uri, expected) in [
            (
                "/api/v1/namespaces/n/pods/p/eviction?dryRun=All",
                "eviction",
            ),
            (
                "https://[::1]:6443/api/v1/namespaces/n/pods/p/eviction",
                "eviction",
            ),
            ("https://[::1]:6443", ""),
            ("/api/v1/namespaces/n/pods/p", ""),
            ("/api/v1/namespaces/n/pods", ""),
            ("/api/v1/namespaces/n", ""),
            ("/api/v1/namespaces/n/status", "status"),
            ("/api/v1/namespaces/n/finalize", "finalize"),
            ("/api/v1/nodes/m/status", "status"),
            ("/apis/apps/v1/namespaces/n/deployments/d/scale", "scale"),
            ("/apis/example.com/v1/widgets/w/status", "status"),
            ("/apis/example.com/v1/widgets/w", ""),
            ("/hindsight/v1/why", ""),
            ("/apis", ""),
            ("", ""),
        ] {
            let request = Request {
                uri: uri.into(),
                ..Request::default()
            };
            assert_eq!(request.subresource(), expected, "{uri}");
        }
    }
}
