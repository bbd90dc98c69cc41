//! The requests that the workloads send.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// One request to send.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
}

pub(crate) fn name(index: usize) -> String {
    format!("c{index:06}")
}

pub(crate) fn config_map(index: usize, owners: &Value, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name(index), "ownerReferences": owners},
        "data": {"key": value},
    })
}

pub(crate) fn create(index: usize) -> Request {
    let value = "a value of about forty bytes, more or less";
    Request {
        method: Method::POST,
        path: MAPS.into(),
        body: config_map(index, &Value::Null, value).to_string().into(),
    }
}

pub(crate) fn get(index: usize) -> Request {
    Request {
        method: Method::GET,
        path: format!("{MAPS}/{}", name(index)),
        body: Bytes::new(),
    }
}

pub(crate) fn page(_: usize) -> Request {
    Request {
        method: Method::GET,
        path: format!("{MAPS}?limit=100"),
        body: Bytes::new(),
    }
}

/// A replace without a `resourceVersion`: the last writer wins.
pub(crate) fn replace(index: usize) -> Request {
    Request {
        method: Method::PUT,
        path: format!("{MAPS}/{}", name(index)),
        body: config_map(index, &Value::Null, "another value")
            .to_string()
            .into(),
    }
}

/// A create of a `ConfigMap` in this collection.
pub(crate) fn create_in(collection: &str, name: &str) -> Request {
    let map = json!({"metadata": {"name": name}, "data": {"key": "value"}});
    Request {
        method: Method::POST,
        path: collection.into(),
        body: map.to_string().into(),
    }
}

/// A create of a dependent of the `ConfigMap` with the name `owner` and this uid, which it blocks.
pub(crate) fn dependent(collection: &str, index: usize, owner: &str) -> Request {
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner,
        "blockOwnerDeletion": true}]);
    Request {
        path: collection.into(),
        body: config_map(index, &owners, "dependent").to_string().into(),
        ..create(index)
    }
}

/// A read of the first object of this collection.
pub(crate) fn read(collection: &str) -> Request {
    Request {
        method: Method::GET,
        path: format!("{collection}?limit=1"),
        body: Bytes::new(),
    }
}
