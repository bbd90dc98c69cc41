//! What a watch keeps of its request.

use super::*;

#[test]
fn a_watch_does_not_keep_the_head_of_its_request() {
    let fake = Arc::new(Fake::new());
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    let mut request = get("/api/v1/configmaps?watch=1&resourceVersion=0");
    let head = Arc::new(());
    request.extensions_mut().insert(Arc::clone(&head));
    let watch = paused().block_on(api.handle(request, Some(Arc::new(administrator()))));
    assert_eq!(watch.status(), 200);
    assert_eq!(Arc::strong_count(&head), 1);
    drop(watch);
}
