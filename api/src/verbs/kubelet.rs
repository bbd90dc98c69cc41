//! What the kubelet of a pod's node would answer: logs, and connections to containers, to pods behind a service and
//! to itself. No node runs pods here, so this says why there is nothing, as far as that can be said without a node.
//! Source: upstream's `pkg/registry/core/pod/strategy.go`, and `ResourceLocation` of services and nodes.

use crate::body::ApiBody;
use crate::params::Params;
use crate::path::{Route, Subpath};
use crate::status::Failure;
use crate::subresources::LOG;
use hindsight_core::{GroupResource, ObjectKey, Rejection, State};
use http::{Method, Response, StatusCode};
use serde_json::Value;

/// The group and version in which these resources are served.
const CORE: (&str, &str) = ("", "v1");
const PROXY: &str = "proxy";
/// Subresources that a kubelet answers over a connection to the pod.
const CONNECTIONS: [&str; 4] = ["exec", "attach", "portforward", PROXY];
/// Those that are about one container.
const OF_A_CONTAINER: [&str; 3] = [LOG, "exec", "attach"];
const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The answer in place of the kubelet's, if the request needs one. A dry run of a connection is refused before
/// the pod is looked up, as in `ConnectResource`.
pub(crate) fn instead(
    state: &State,
    method: &Method,
    route: &Route,
    params: &Params,
) -> Result<Option<Response<ApiBody>>, Failure> {
    let (Some(subpath), Some(named)) = (served(route), route.name.as_deref()) else {
        return Ok(None);
    };
    if subpath != LOG && params.get("dryRun").is_some() {
        return Err(Failure::bad_request("dryRun is not supported"));
    }
    if subpath == LOG && method != Method::GET {
        return Err(Failure::method_not_allowed());
    }
    let name = match subpath {
        PROXY => proxied(&route.resource, named)?,
        _ => named,
    };
    let namespace = route.namespace.as_deref().unwrap_or_default();
    let key = ObjectKey::new(GroupResource::new("", &route.resource), namespace, name);
    let object = state.get(&key).ok_or_else(|| Rejection::not_found(&key))?;
    match &*route.resource {
        "pods" => of_pod(&object.document(), name, subpath, params),
        "services" => Err(unreachable(&format!("service {name} cannot be reached"))),
        _ => Err(unreachable(&format!("node {name} cannot be reached"))),
    }
}

/// The subresource of the path, if a kubelet answers it. What follows `proxy` is a path at the other end.
fn served(route: &Route) -> Option<&str> {
    let Subpath::Unknown(subpath) = &route.subpath else {
        return None;
    };
    let subpath = match subpath.split_once('/') {
        Some((PROXY, _)) => PROXY,
        _ => subpath.as_str(),
    };
    let version = (&*route.group, &*route.version);
    let (is_served, is_namespaced) = match (version, &*route.resource) {
        (CORE, "pods") => (subpath == LOG || CONNECTIONS.contains(&subpath), true),
        (CORE, "services") => (subpath == PROXY, true),
        (CORE, "nodes") => (subpath == PROXY, false),
        _ => (false, false),
    };
    let is_here = route.namespace.is_some() == is_namespaced;
    (is_served && is_here).then_some(subpath)
}

/// The name in what a proxy is asked for: `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. Source: apimachinery's
/// `SplitSchemeNamePort`.
fn proxied<'a>(resource: &str, asked: &'a str) -> Result<&'a str, Failure> {
    let parts: Vec<&str> = asked.split(':').collect();
    let name = match parts[..] {
        [name] | [name, _] | ["" | "http" | "https", name, _] => name,
        _ => "",
    };
    if name.is_empty() {
        let kind = resource.trim_end_matches('s');
        let why = format!("invalid {kind} request {asked:?}");
        return Err(Failure::bad_request(why));
    }
    Ok(name)
}

/// What can be said of a pod without its node.
fn of_pod(
    pod: &Value,
    name: &str,
    subpath: &str,
    params: &Params,
) -> Result<Option<Response<ApiBody>>, Failure> {
    if OF_A_CONTAINER.contains(&subpath) {
        check_container(pod, name, params.get("container").unwrap_or_default())?;
    }
    let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
    match node.filter(|node| !node.is_empty()) {
        None if subpath == LOG => Ok(Some(nothing())),
        None => Err(Failure::bad_request(format!(
            "pod {name} does not have a host assigned"
        ))),
        Some(node) => Err(unreachable(&format!(
            "pod {name} cannot be reached on node {node}"
        ))),
    }
}

fn unreachable(what: &str) -> Failure {
    let why = format!("{what}: no kubelet runs pods for this control plane");
    Failure::new(501, "NotImplemented", why)
}

/// The log of a pod that nothing was ever run of.
fn nothing() -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::full(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// The container must be one of the pod's; a pod with a single one needs no name.
fn check_container(pod: &Value, name: &str, container: &str) -> Result<(), Failure> {
    let [own, init, ephemeral] = LISTS.map(|list| names(pod, list));
    let mut all = own.iter().chain(&init).chain(&ephemeral);
    if !container.is_empty() {
        return if all.any(|one| *one == container) {
            Ok(())
        } else {
            let why = format!("container {container} is not valid for pod {name}");
            Err(Failure::bad_request(why))
        };
    }
    if own.len() == 1 {
        return Ok(());
    }
    let mut why = format!("a container name must be specified for pod {name}");
    if !own.is_empty() {
        why = format!("{why}, choose one of: [{}]", own.join(" "));
        if !init.is_empty() {
            let init = init.join(" ");
            why = format!("{why} or one of the init containers: [{init}]");
        }
    }
    Err(Failure::bad_request(why))
}

fn names<'a>(pod: &'a Value, list: &str) -> Vec<&'a str> {
    let list = pod.pointer(&format!("/spec/{list}"));
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|one| one.get("name")?.as_str()).collect()
}
