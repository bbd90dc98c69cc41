//! What is answered without asking who is there.

use crate::Backend;
use crate::body::{ApiBody, Syntax};
use crate::respond;
use http::Response;
use serde_json::json;

pub(crate) fn respond(path: &str, backend: &dyn Backend) -> Option<Response<ApiBody>> {
    match path.trim_end_matches('/') {
        "/livez" => Some(respond::text(200, "ok")),
        "/readyz" | "/healthz" => Some(match backend.unready() {
            None => respond::text(200, "ok"),
            Some(reason) => respond::text(500, &format!("[-]{reason}\nreadyz check failed\n")),
        }),
        "/version" => Some(respond::json(200, &version(), Syntax::Json)),
        _ => None,
    }
}

fn version() -> serde_json::Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": concat!("v1.36.0+hindsight.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}
