//! Where a webhook is called: at its URL, or at an address of its service. There is no proxy here, so endpoints
//! are preferred to a cluster IP, which may not be routable.

use super::caller::Call;
use bytes::Bytes;
use hindsight_core::webhook::{Service, Webhook};
use hindsight_core::{GroupResource, Object, ObjectKey, State};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The call, or the URL that was meant and why it cannot be called. The draw says which endpoint of a service is
/// tried first.
pub(super) fn call(
    state: &State,
    webhook: &Webhook,
    limit: Duration,
    body: Bytes,
    draw: u8,
) -> Result<Call, Unresolved> {
    let client = &webhook.client;
    let begun = u64::from(limit.subsec_nanos() > 0);
    let timeout = format!("timeout={}s", limit.as_secs() + begun);
    let (base, mut addresses) = match (&client.service, &client.url) {
        (Some(service), _) => {
            let host = format!("{}.{}.svc", service.name, service.namespace);
            let url = format!("https://{host}:{}{}", service.port, service.path);
            match resolve(state, service) {
                Ok(addresses) => (url, addresses),
                Err(why) => return Err(Unresolved { url, why }),
            }
        }
        (None, Some(url)) => (url.clone(), Vec::new()),
        (None, None) => {
            let why = "the webhook has neither a URL nor a service".into();
            let url = String::new();
            return Err(Unresolved { url, why });
        }
    };
    let first = usize::from(draw).checked_rem(addresses.len());
    addresses.rotate_left(first.unwrap_or_default());
    let separator = if base.contains('?') { '&' } else { '?' };
    Ok(Call {
        url: format!("{base}{separator}{timeout}"),
        addresses,
        ca_bundle: client.ca_bundle.clone(),
        body,
        limit,
    })
}

/// A webhook whose address cannot be determined.
pub(super) struct Unresolved {
    pub(super) url: String,
    pub(super) why: String,
}

fn resolve(state: &State, service: &Service) -> Result<Vec<String>, String> {
    let (namespace, name) = (&*service.namespace, &*service.name);
    let find = |resource: &str| {
        let key = ObjectKey::new(GroupResource::new("", resource), namespace, name);
        state.get(&key).map(|object| object.document())
    };
    let found = find("services").ok_or_else(|| format!("service \"{name}\" not found"))?;
    let text = |member: &str| found.pointer(member).and_then(Value::as_str).unwrap_or("");
    if text("/spec/type") == "ExternalName" {
        return Ok(vec![join(text("/spec/externalName"), service.port)]);
    }
    let is_meant = |port: &&Value| number(port, "port") == Some(service.port);
    let mut ports = items(&found, "/spec/ports").iter();
    let port = ports.find(is_meant).ok_or_else(|| {
        format!(
            "no service port {} found for service \"{name}\"",
            service.port
        )
    })?;
    let mut ready = find("endpoints").map_or_else(Vec::new, |found| in_endpoints(&found, port));
    if ready.is_empty() {
        ready = in_slices(state, service, port);
    }
    if !ready.is_empty() {
        return Ok(ready);
    }
    match text("/spec/clusterIP") {
        "" | "None" => Err(format!("no endpoints available for service \"{name}\"")),
        address => Ok(vec![join(address, service.port)]),
    }
}

/// The ready addresses in the endpoints, with the target port of the service's port; the two are matched by the port's
/// name.
fn in_endpoints(endpoints: &Value, port: &Value) -> Vec<String> {
    let of_subset = |subset: &Value| {
        let target = target(subset, port)?;
        let ips = items(subset, "/addresses").iter();
        let ips = ips.filter_map(|address| address.get("ip")?.as_str());
        Some(ips.map(|ip| join(ip, target)).collect::<Vec<_>>())
    };
    let subsets = items(endpoints, "/subsets").iter();
    subsets.filter_map(of_subset).flatten().collect()
}

/// The same from the endpoint slices of the service.
fn in_slices(state: &State, service: &Service, port: &Value) -> Vec<String> {
    let resource = GroupResource::new("discovery.k8s.io", "endpointslices");
    let slices = state.list(&resource, Some(&service.namespace));
    let own = slices.filter(|slice| {
        let of = slice.meta.labels.get("kubernetes.io/service-name");
        of.is_some_and(|of| **of == *service.name)
    });
    let is_ready = |one: &&Value| one.pointer("/conditions/ready") != Some(&Value::Bool(false));
    let of_slice = |slice: &Arc<Object>| {
        let slice = slice.document();
        let target = target(&slice, port)?;
        let ready = items(&slice, "/endpoints").iter().filter(is_ready);
        let first = ready.filter_map(|one| items(one, "/addresses").first()?.as_str());
        Some(first.map(|ip| join(ip, target)).collect::<Vec<_>>())
    };
    own.filter_map(of_slice).flatten().collect()
}

/// The port to which the service's port leads, in a list of ports.
fn target(listed: &Value, port: &Value) -> Option<u64> {
    let name = |port: &Value| {
        port.get("name")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    let name_of_port = name(port);
    let mut ports = items(listed, "/ports").iter();
    number(ports.find(|one| name(one) == name_of_port)?, "port")
}

fn join(host: &str, port: u64) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

fn items<'a>(document: &'a Value, pointer: &str) -> &'a [Value] {
    let list = document.pointer(pointer).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn number(document: &Value, member: &str) -> Option<u64> {
    document.get(member).and_then(Value::as_u64)
}
