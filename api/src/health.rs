//! Health checks and the version, which are answered without authentication.

use crate::body::{ApiBody, Syntax};
use crate::params::Params;
use crate::status::Failure;
use crate::{Backend, respond};
use hindsight_core::Check;
use http::{Method, Response, Uri};
use serde_json::json;

/// The answer, if the path is one of these. Checks answer every method, as upstream's do.
pub(crate) fn respond(
    method: &Method,
    uri: &Uri,
    backend: &dyn Backend,
) -> Option<Result<Response<ApiBody>, Failure>> {
    let path = uri.path().trim_end_matches('/').strip_prefix('/')?;
    if path == "version" {
        return Some(version(method));
    }
    let (probe, part) = match path.split_once('/') {
        Some((probe, part)) => (probe, Some(part)),
        None => (path, None),
    };
    let ping = Check {
        name: "ping",
        failure: None,
    };
    let mut checks = vec![ping];
    match probe {
        "livez" => {}
        "readyz" | "healthz" => checks.extend(backend.checks()),
        _ => return None,
    }
    let Some(part) = part else {
        let params = Params::parse(uri.query());
        return Some(params.map(|params| probe_response(probe, &checks, &params)));
    };
    let found = checks.into_iter().find(|check| check.name == part);
    found.map(|check| Ok(check_response(check.failure)))
}

/// Source: upstream's `adaptCheckToHandler`.
fn check_response(failure: Option<String>) -> Response<ApiBody> {
    match failure {
        None => respond::text(200, "ok"),
        Some(reason) => respond::text(500, &format!("internal server error: {reason}\n")),
    }
}

/// Source: upstream's `handleRootHealth`, which keeps reasons for its log.
fn probe_response(probe: &str, checks: &[Check], params: &Params) -> Response<ApiBody> {
    let is_excluded = |name: &str| params.all("exclude").any(|one| one == name);
    let mut lines: Vec<String> = Vec::new();
    let mut code = 200;
    for Check { name, failure } in checks {
        lines.push(match failure {
            _ if is_excluded(name) => format!("[+]{name} excluded: ok"),
            None => format!("[+]{name} ok"),
            Some(reason) => {
                code = 500;
                format!("[-]{name} failed: {reason}")
            }
        });
    }
    let is_unknown = |one: &&str| checks.iter().all(|check| check.name != *one);
    let unknown = params.all("exclude").filter(is_unknown);
    let unknown: Vec<String> = unknown.map(|one| format!("{one:?}")).collect();
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        lines.push(format!(
            "warn: some health checks cannot be excluded: no matches for {unknown}"
        ));
    }
    let end = if code == 200 { "passed" } else { "failed" };
    lines.push(format!("{probe} check {end}\n"));
    if code == 200 && params.get("verbose").is_none() {
        return respond::text(200, "ok");
    }
    respond::text(code, &lines.join("\n"))
}

/// The version, for `GET` alone. Source: the route of upstream's `routes.Version`.
pub(crate) fn version(method: &Method) -> Result<Response<ApiBody>, Failure> {
    if method != Method::GET {
        return Err(Failure::method_not_allowed());
    }
    let version = json!({
        "major": "1",
        "minor": "36",
        "gitVersion": concat!("v1.36.0+hindsight.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    Ok(respond::json(200, &version, Syntax::Json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::fake::Fake;
    use http_body_util::BodyExt;

    const STUCK: &str = "writes wait";

    fn asked(path: &str, is_well: bool) -> Option<(u16, String)> {
        let fake = Fake::new();
        if !is_well {
            *fake.failed.lock().expect("a lock") = Some(("writes", STUCK));
        }
        let uri = path.parse().expect("a path");
        let answer = match respond(&Method::GET, &uri, &fake)? {
            Ok(answer) => answer,
            Err(failure) => return Some((failure.code, String::new())),
        };
        let code = answer.status().as_u16();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let body = runtime
            .expect("a runtime")
            .block_on(answer.into_body().collect());
        let bytes = body.expect("a body").to_bytes();
        Some((code, String::from_utf8(bytes.to_vec()).expect("text")))
    }

    /// Source: upstream's `TestMultipleChecks` in `healthz_test.go`.
    #[test]
    fn probes_tell_of_their_parts() {
        let all = "[+]ping ok\n[+]log ok\n[+]writes ok\n[+]collectors ok\n";
        let failed =
            format!("[+]ping ok\n[+]log ok\n[-]writes failed: {STUCK}\n[+]collectors ok\n");
        let without = "[+]ping ok\n[+]log ok\n[+]writes excluded: ok\n[+]collectors ok\n";
        let unknown = "warn: some health checks cannot be excluded: no matches for \"a\", \"b\"\n";
        for (path, is_well, code, body) in [
            ("/livez", false, 200, "ok".into()),
            (
                "/livez?verbose",
                false,
                200,
                "[+]ping ok\nlivez check passed\n".into(),
            ),
            ("/livez/ping", false, 200, "ok".into()),
            ("/readyz/", true, 200, "ok".into()),
            (
                "/readyz?verbose",
                true,
                200,
                format!("{all}readyz check passed\n"),
            ),
            (
                "/healthz?verbose=",
                true,
                200,
                format!("{all}healthz check passed\n"),
            ),
            (
                "/readyz",
                false,
                500,
                format!("{failed}readyz check failed\n"),
            ),
            ("/readyz/log", false, 200, "ok".into()),
            (
                "/readyz/writes",
                false,
                500,
                format!("internal server error: {STUCK}\n"),
            ),
            ("/readyz?exclude=writes", false, 200, "ok".into()),
            (
                "/readyz?verbose&exclude=writes",
                false,
                200,
                format!("{without}readyz check passed\n"),
            ),
            (
                "/readyz?verbose&exclude=a&exclude=b",
                true,
                200,
                format!("{all}{unknown}readyz check passed\n"),
            ),
            ("/readyz?exclude=%zz", true, 400, String::new()),
        ] {
            assert_eq!(asked(path, is_well), Some((code, body)), "{path}");
        }
        for path in [
            "/readyz/nothing",
            "/livez/log",
            "/readyz/log/more",
            "/ready",
            "/",
        ] {
            assert_eq!(asked(path, true), None, "{path}");
        }
    }
}
