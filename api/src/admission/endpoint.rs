//! Where a webhook is called: at its URL, or at an address of its service. There is no proxy here, so endpoints
//! are preferred to a cluster IP, which may not be routable.

use super::caller::Call;
use bytes::Bytes;
use hindsight_core::webhook::{Service, Webhook};
use hindsight_core::{GroupResource, ObjectKey, State};
use serde_json::Value;
use std::time::Duration;

/// The call, or the URL that was meant and why it cannot be called.
pub(super) fn call(
    state: &State,
    webhook: &Webhook,
    limit: Duration,
    body: Bytes,
) -> Result<Call, Unresolved> {
    let client = &webhook.client;
    let begun = u64::from(limit.subsec_nanos() > 0);
    let timeout = format!("timeout={}s", limit.as_secs() + begun);
    let (base, address) = match (&client.service, &client.url) {
        (Some(service), _) => {
            let host = format!("{}.{}.svc", service.name, service.namespace);
            let url = format!("https://{host}:{}{}", service.port, service.path);
            match resolve(state, service) {
                Ok(address) => (url, Some(address)),
                Err(why) => return Err(Unresolved { url, why }),
            }
        }
        (None, Some(url)) => (url.clone(), None),
        (None, None) => {
            let why = "the webhook has neither a URL nor a service".into();
            let url = String::new();
            return Err(Unresolved { url, why });
        }
    };
    let separator = if base.contains('?') { '&' } else { '?' };
    Ok(Call {
        url: format!("{base}{separator}{timeout}"),
        address,
        ca_bundle: client.ca_bundle.clone(),
        body,
    })
}

/// A webhook whose address cannot be determined.
pub(super) struct Unresolved {
    pub(super) url: String,
    pub(super) why: String,
}

fn resolve(state: &State, service: &Service) -> Result<String, String> {
    let (namespace, name) = (&*service.namespace, &*service.name);
    let find = |resource: &str| {
        let key = ObjectKey::new(GroupResource::new("", resource), namespace, name);
        state.get(&key).map(|object| object.document())
    };
    let found = find("services").ok_or_else(|| format!("service \"{name}\" not found"))?;
    let text = |member: &str| found.pointer(member).and_then(Value::as_str).unwrap_or("");
    if text("/spec/type") == "ExternalName" {
        return Ok(join(text("/spec/externalName"), service.port));
    }
    let is_meant = |port: &&Value| number(port, "port") == Some(service.port);
    let mut ports = items(&found, "/spec/ports").iter();
    let port = ports.find(is_meant).ok_or_else(|| {
        format!(
            "no service port {} found for service \"{name}\"",
            service.port
        )
    })?;
    let endpoint = find("endpoints").and_then(|found| endpoint(&found, port));
    if let Some(address) = endpoint.or_else(|| in_slices(state, service, port)) {
        return Ok(address);
    }
    match text("/spec/clusterIP") {
        "" | "None" => Err(format!("no endpoints available for service \"{name}\"")),
        address => Ok(join(address, service.port)),
    }
}

/// The first ready address in the endpoints, with the target port of the service's port; the two are matched by
/// the port's name.
fn endpoint(endpoints: &Value, port: &Value) -> Option<String> {
    items(endpoints, "/subsets").iter().find_map(|subset| {
        let target = target(subset, port)?;
        let address = items(subset, "/addresses").first()?.get("ip")?.as_str()?;
        Some(join(address, target))
    })
}

/// The same from the endpoint slices of the service.
fn in_slices(state: &State, service: &Service, port: &Value) -> Option<String> {
    let resource = GroupResource::new("discovery.k8s.io", "endpointslices");
    let slices = state.list(&resource, Some(&service.namespace));
    let mut own = slices.filter(|slice| {
        let of = slice.meta.labels.get("kubernetes.io/service-name");
        of.is_some_and(|of| **of == *service.name)
    });
    let is_ready = |one: &&Value| one.pointer("/conditions/ready") != Some(&Value::Bool(false));
    own.find_map(|slice| {
        let slice = slice.document();
        let endpoint = items(&slice, "/endpoints").iter().find(is_ready)?;
        let address = items(endpoint, "/addresses").first()?.as_str()?;
        Some(join(address, target(&slice, port)?))
    })
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
