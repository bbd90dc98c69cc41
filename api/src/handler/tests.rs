//! What holds for every answer.

use super::*;
use crate::backend::fake::Fake;
use http_body_util::Full;

#[test]
fn no_client_may_take_what_it_was_told_before_for_the_newest() {
    let api = Api::new(Arc::new(Fake::new()), Arc::new(Admission::default()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let known = Some(Arc::new(Actor::new("admin")));
    for (path, accepted, actor, code) in [
        ("/livez", "", None, 200),
        ("/api", discovery::AGGREGATED, known.clone(), 200),
        ("/apis/apps/v1", "", known.clone(), 200),
        ("/openapi/v2", "application/json", known.clone(), 200),
        ("/openapi/v3/api/v1", "", known.clone(), 200),
        ("/api/v1/configmaps", "", known.clone(), 200),
        ("/api/v1/configmaps?watch=1", "", known.clone(), 200),
        ("/api/v1/namespaces/missing", "", known.clone(), 404),
        ("/nowhere", "", known, 404),
        ("/api", "", None, 401),
    ] {
        let request = Request::get(path).header(header::ACCEPT, accepted);
        let request = request.body(Full::<Bytes>::default()).expect("a request");
        let answer = runtime.block_on(api.handle(request, actor));
        assert_eq!(answer.status().as_u16(), code, "{path}");
        let cached = answer.headers().get(header::CACHE_CONTROL);
        assert_eq!(cached.expect("a header"), "no-cache, private", "{path}");
    }
}
