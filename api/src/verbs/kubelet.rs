//! What the kubelet of a pod's node would answer: logs, and connections to containers. No node runs pods here,
//! so this says why there is nothing, as far as that can be said without a node. Source: upstream's
//! `pkg/registry/core/pod/strategy.go`.

use crate::body::ApiBody;
use crate::params::Params;
use crate::path::{Route, Subpath};
use crate::status::Failure;
use crate::subresources::LOG;
use hindsight_core::{GroupResource, ObjectKey, Rejection, State};
use http::{Method, Response, StatusCode};
use serde_json::Value;

/// Subresources that a kubelet answers over a connection to the pod.
const CONNECTIONS: [&str; 4] = ["exec", "attach", "portforward", "proxy"];
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
    let Subpath::Unknown(subpath) = &route.subpath else {
        return Ok(None);
    };
    let subpath = &**subpath;
    let connects = CONNECTIONS.contains(&subpath);
    let of_pod = (&*route.group, &*route.resource) == ("", "pods");
    let needs_kubelet = of_pod && (connects || subpath == LOG);
    let (Some(name), Some(namespace), true) = (
        route.name.as_deref(),
        route.namespace.as_deref(),
        needs_kubelet,
    ) else {
        return Ok(None);
    };
    if connects && params.get("dryRun").is_some() {
        return Err(Failure::bad_request("dryRun is not supported"));
    }
    if subpath == LOG && method != Method::GET {
        return Err(Failure::method_not_allowed());
    }
    let key = ObjectKey::new(GroupResource::new("", "pods"), namespace, name);
    let pod = state.get(&key);
    let pod = pod.ok_or_else(|| Rejection::not_found(&key))?.document();
    if OF_A_CONTAINER.contains(&subpath) {
        check_container(&pod, name, params.get("container").unwrap_or_default())?;
    }
    let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
    match node.filter(|node| !node.is_empty()) {
        None if subpath == LOG => Ok(Some(nothing())),
        None => Err(Failure::bad_request(format!(
            "pod {name} does not have a host assigned"
        ))),
        Some(node) => Err(Failure::new(
            501,
            "NotImplemented",
            format!(
                "pod {name} cannot be reached on node {node}: no kubelet runs pods for this control plane"
            ),
        )),
    }
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
