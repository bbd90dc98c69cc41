//! What a watch keeps of its request.

use super::*;
use crate::body::Bodies;

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

#[test]
fn long_selectors_of_watches_have_room_until_they_end() {
    const TEXT_BYTES: usize = 800 * 61;
    let fake = Arc::new(Fake::new());
    let api = Api::new(fake as _, Arc::new(Admission::default()));
    // Each budget has 3 MiB.
    let api = api.with_bodies(Bodies::bounded(0, Duration::from_secs(30)));
    let values: Vec<String> = (0..800).map(|at| format!("{at:060}")).collect();
    let selecting = |by: &str| format!("/api/v1/configmaps?watch=1&resourceVersion=0&{by}");
    let long = selecting(&format!("labelSelector=a+in+({})", values.join(",")));
    let short = selecting("labelSelector=a&fieldSelector=metadata.name%3Da");
    paused().block_on(async {
        let open = async |path: &str| api.handle(get(path), Some(Arc::new(administrator()))).await;
        let mut open_ones = Vec::new();
        while let Some(watch) = Some(open(&long).await).filter(|watch| watch.status() == 200) {
            open_ones.push(watch);
            assert!(open_ones.len() < 100, "there is an end");
        }
        assert_eq!(
            open_ones.len(),
            (3 << 20) / (4 * (TEXT_BYTES + "a in ()".len() - 1))
        );
        assert_eq!(open(&long).await.status(), 429);
        assert_eq!(open(&short).await.status(), 200);
        open_ones.pop();
        assert_eq!(open(&long).await.status(), 200);
    });
}
